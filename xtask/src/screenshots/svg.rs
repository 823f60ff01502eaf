//! A screen as SVG. Every cell's text stays text: it can be searched, copied and read aloud.

use std::fmt::Write;

use bashful_screen::{Attributes, Cell, Color, Screen, Style, Width};

/// Size of the font, in pixels.
const FONT: f64 = 14.0;

/// Columns are this wide: what most monospaced fonts have. `textLength` makes the others fit.
const COLUMN: f64 = FONT * 0.6;

const LINE: f64 = FONT * 1.35;

const MARGIN: f64 = 16.0;

/// Height of the bar with the title.
const BAR: f64 = 30.0;

/// Background, text, frame, and the 16 colors of a terminal, for readers with a light and with a dark background.
const LIGHT: [&str; 19] = [
    "#fdfdfc", "#24292f", "#d0d7de", "#24292f", "#cf222e", "#116329", "#7d4e00", "#0969da", "#8250df", "#1b7c83",
    "#6e7781", "#57606a", "#a40e26", "#1a7f37", "#633c01", "#218bff", "#a475f9", "#3192aa", "#8c959f",
];
const DARK: [&str; 19] = [
    "#0d1117", "#e6edf3", "#30363d", "#484f58", "#ff7b72", "#3fb950", "#d29922", "#58a6ff", "#bc8cff", "#39c5cf",
    "#b1bac4", "#6e7681", "#ffa198", "#56d364", "#e3b341", "#79c0ff", "#d2a8ff", "#56d4dd", "#ffffff",
];

/// Draws a screen below a title.
pub(super) fn picture(screen: &Screen, title: &str) -> String {
    let size = screen.size();
    let width = f64::from(size.columns()) * COLUMN + 2.0 * MARGIN;
    let height = f64::from(size.rows()) * LINE + 2.0 * MARGIN + BAR;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.1} {height:.1}\" width=\"{width:.0}\" role=\"img\" aria-label=\"{0}\">\n\
         <title>{0}</title>\n<style>\n{1}\n@media (prefers-color-scheme: dark) {{\n{2}\n}}\n\
         text {{ font: {FONT}px ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace; fill: var(--text); white-space: pre; }}\n\
         .b {{ font-weight: bold; }} .d {{ opacity: 0.65; }} .i {{ font-style: italic; }}\n\
         .u {{ text-decoration: underline; }} .s {{ text-decoration: line-through; }}\n</style>\n\
         <rect x=\"0.5\" y=\"0.5\" width=\"{3:.1}\" height=\"{4:.1}\" rx=\"8\" fill=\"var(--back)\" stroke=\"var(--frame)\"/>\n\
         <text x=\"{5:.1}\" y=\"20\" text-anchor=\"middle\" class=\"d\">{0}</text>\n",
        escaped(title),
        palette(&LIGHT),
        palette(&DARK),
        width - 1.0,
        height - 1.0,
        width / 2.0,
    );
    for row in 0..size.rows() {
        push_row(&mut svg, screen.cells(row), BAR + MARGIN + f64::from(row) * LINE);
    }
    svg.push_str("</svg>\n");
    svg
}

/// The colors as variables of the style sheet.
fn palette(colors: &[&str; 19]) -> String {
    let [back, text, frame, ansi @ ..] = colors;
    let ansi = ansi.iter().enumerate().fold(String::new(), |all, (index, color)| format!("{all} --c{index}: {color};"));
    format!(":root {{ --back: {back}; --text: {text}; --frame: {frame};{ansi} }}")
}

/// Neighbors in one style.
struct Run {
    column: usize,
    columns: usize,
    text: String,
    style: Style,
}

fn push_row<'a>(svg: &mut String, cells: impl Iterator<Item = Cell<'a>>, top: f64) {
    let mut runs: Vec<Run> = Vec::new();
    for (column, cell) in cells.enumerate() {
        match runs.last_mut() {
            Some(run) if run.style == cell.style || cell.width == Width::Continuation => {
                run.columns += 1;
                cell.push_to(&mut run.text);
            }
            _ => {
                let mut text = String::new();
                cell.push_to(&mut text);
                runs.push(Run { column, columns: 1, text, style: cell.style });
            }
        }
    }
    for run in runs {
        push_run(svg, run, top);
    }
}

fn push_run(svg: &mut String, run: Run, top: f64) {
    let Run { column, mut columns, mut text, style } = run;
    let left = MARGIN + columns_wide(column);
    let (text_color, back) = colors(style);
    if let Some(back) = back {
        let width = columns_wide(columns);
        push(
            svg,
            format_args!(
                "<rect x=\"{left:.1}\" y=\"{top:.1}\" width=\"{width:.1}\" height=\"{LINE:.1}\" fill=\"{back}\"/>\n"
            ),
        );
    }
    if !style.attributes.contains(Attributes::UNDERLINE) {
        let kept = text.trim_end().len();
        columns -= text[kept..].chars().count();
        text.truncate(kept);
    }
    if text.is_empty() {
        return;
    }
    let classes = [
        (Attributes::BOLD, 'b'),
        (Attributes::DIM, 'd'),
        (Attributes::ITALIC, 'i'),
        (Attributes::UNDERLINE, 'u'),
        (Attributes::STRIKEOUT, 's'),
    ];
    let classes: Vec<String> = classes
        .iter()
        .filter(|(attribute, _)| style.attributes.contains(*attribute))
        .map(|(_, class)| class.to_string())
        .collect();
    let class = if classes.is_empty() { String::new() } else { format!(" class=\"{}\"", classes.join(" ")) };
    let fill = text_color.map(|color| format!(" style=\"fill: {color}\"")).unwrap_or_default();
    let (base, length) = (top + FONT, columns_wide(columns));
    push(
        svg,
        format_args!(
            "<text x=\"{left:.1}\" y=\"{base:.1}\" textLength=\"{length:.1}\" xml:space=\"preserve\"{class}{fill}>{}</text>\n",
            escaped(&text)
        ),
    );
}

#[expect(clippy::cast_precision_loss, reason = "a screen has some hundred columns")]
fn columns_wide(columns: usize) -> f64 {
    columns as f64 * COLUMN
}

fn push(svg: &mut String, text: std::fmt::Arguments<'_>) {
    svg.write_fmt(text).expect("a string takes every write");
}

/// Colors of the text and behind it, where they are not the usual ones.
fn colors(style: Style) -> (Option<String>, Option<String>) {
    let (text, back) = (color(style.foreground), color(style.background));
    if style.attributes.contains(Attributes::REVERSE) {
        let text = text.unwrap_or_else(|| "var(--text)".to_owned());
        return (Some(back.unwrap_or_else(|| "var(--back)".to_owned())), Some(text));
    }
    (text, back)
}

fn color(color: Color) -> Option<String> {
    match color {
        Color::Default => None,
        Color::Ansi(index) => Some(format!("var(--c{})", index & 15)),
        Color::Indexed(index @ 232..) => {
            let gray = 8 + 10 * (index - 232);
            Some(format!("rgb({gray},{gray},{gray})"))
        }
        // A cube of six by six by six colors.
        Color::Indexed(index) => {
            let level = |part: u8| if part == 0 { 0 } else { 55 + 40 * part };
            let cube = index.saturating_sub(16);
            Some(format!("rgb({},{},{})", level(cube / 36), level(cube / 6 % 6), level(cube % 6)))
        }
        Color::Rgb(red, green, blue) => Some(format!("rgb({red},{green},{blue})")),
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use bashful_screen::{Budget, Size};

    use super::*;

    fn drawn(output: &str) -> String {
        let mut screen = Screen::new(Size::new(30, 5));
        let _ = screen.feed(output.as_bytes(), Budget::UNLIMITED);
        picture(&screen, "a <title>")
    }

    #[test]
    fn text_stays_text_in_its_place_and_style() {
        let svg = drawn("plain \x1b[1;31mred & bold\x1b[m\r\n\x1b[38;5;208morange");
        assert!(svg.contains("textLength=\"42.0\" xml:space=\"preserve\">plain</text>"), "{svg}");
        assert!(svg.contains("<text x=\"66.4\""), "{svg}");
        assert!(svg.contains(" class=\"b\" style=\"fill: var(--c1)\">red &amp; bold</text>"), "{svg}");
        assert!(svg.contains(" style=\"fill: rgb(255,135,0)\">orange</text>"), "{svg}");
        assert!(svg.contains("<title>a &lt;title&gt;</title>"), "{svg}");
    }

    #[test]
    fn wide_characters_take_two_columns_and_backgrounds_are_drawn() {
        let svg = drawn("漢字\x1b[7mx\x1b[m");
        assert!(svg.contains("textLength=\"33.6\" xml:space=\"preserve\">漢字</text>"), "{svg}");
        assert!(
            svg.contains("<rect x=\"49.6\" y=\"46.0\" width=\"8.4\" height=\"18.9\" fill=\"var(--text)\"/>"),
            "{svg}"
        );
        assert!(svg.contains(" style=\"fill: var(--back)\">x</text>"), "{svg}");
    }
}
