//! SGR parameters: the colors and attributes that output asks for.

use bashful_screen::{Attributes, Color, Style};

use crate::look::PLAIN;

/// Applies the parameters of one sequence, `1;38;5;208` of `ESC [ 1 ; 3 8 ; 5 ; 2 0 8 m`. Parameters without a meaning here
/// are skipped; blinking and hidden text are among them.
pub(crate) fn apply(style: Style, parameters: &str) -> Style {
    let mut style = style;
    let mut fields = parameters.split(';');
    while let Some(field) = fields.next() {
        let mut parts = field.split(':');
        let code = number(parts.next().unwrap_or_default());
        match code {
            Some(38 | 48) => {
                let color = if field.contains(':') { with_colons(parts) } else { with_semicolons(&mut fields) };
                let Some(color) = color else { continue };
                if code == Some(38) { style.foreground = color } else { style.background = color }
            }
            // `4:0` is no underline, `4:3` a wavy one.
            Some(4) if parts.next() == Some("0") => style.attributes = style.attributes.without(Attributes::UNDERLINE),
            Some(code) => apply_one(&mut style, code),
            None => {}
        }
    }
    style
}

fn apply_one(style: &mut Style, code: u16) {
    let on = |style: &mut Style, attribute| style.attributes = style.attributes.with(attribute);
    let off = |style: &mut Style, attribute| style.attributes = style.attributes.without(attribute);
    match code {
        0 => *style = PLAIN,
        1 => on(style, Attributes::BOLD),
        2 => on(style, Attributes::DIM),
        3 => on(style, Attributes::ITALIC),
        4 | 21 => on(style, Attributes::UNDERLINE),
        7 => on(style, Attributes::REVERSE),
        9 => on(style, Attributes::STRIKEOUT),
        22 => off(style, Attributes::BOLD.with(Attributes::DIM)),
        23 => off(style, Attributes::ITALIC),
        24 => off(style, Attributes::UNDERLINE),
        27 => off(style, Attributes::REVERSE),
        29 => off(style, Attributes::STRIKEOUT),
        30..=37 => style.foreground = ansi(code - 30),
        39 => style.foreground = Color::Default,
        40..=47 => style.background = ansi(code - 40),
        49 => style.background = Color::Default,
        90..=97 => style.foreground = ansi(code - 90 + 8),
        100..=107 => style.background = ansi(code - 100 + 8),
        _ => {}
    }
}

/// `5;208` or `2;255;128;0`. The fields are used up even if they make no color, as terminals do.
fn with_semicolons<'a>(fields: &mut impl Iterator<Item = &'a str>) -> Option<Color> {
    let mut next = || fields.next().map(|field| number(field).unwrap_or(0));
    match next()? {
        5 => indexed(next()?),
        2 => {
            let (red, green, blue) = (next()?, next()?, next()?);
            rgb(red, green, blue)
        }
        _ => None,
    }
}

/// `5:208`, `2:255:128:0`, or with a color space before the color: `2::255:128:0`.
fn with_colons<'a>(parts: impl Iterator<Item = &'a str>) -> Option<Color> {
    let parts: Vec<u16> = parts.take(6).map(|part| number(part).unwrap_or(0)).collect();
    match *parts.as_slice() {
        [5, index, ..] => indexed(index),
        [2, red, green, blue] | [2, _, red, green, blue, ..] => rgb(red, green, blue),
        _ => None,
    }
}

/// An absent parameter is 0.
fn number(text: &str) -> Option<u16> {
    if text.is_empty() { Some(0) } else { text.parse().ok() }
}

fn indexed(index: u16) -> Option<Color> {
    let index = u8::try_from(index).ok()?;
    Some(if index < 16 { Color::Ansi(index) } else { Color::Indexed(index) })
}

fn rgb(red: u16, green: u16, blue: u16) -> Option<Color> {
    Some(Color::Rgb(u8::try_from(red).ok()?, u8::try_from(green).ok()?, u8::try_from(blue).ok()?))
}

fn ansi(index: u16) -> Color {
    Color::Ansi(u8::try_from(index).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(parameters: &str, foreground: Color, background: Color, attributes: Attributes) {
        assert_eq!(apply(PLAIN, parameters), Style { foreground, background, attributes }, "{parameters:?}");
    }

    #[test]
    fn colors_of_every_depth_are_read() {
        let none = Attributes::default();
        check("31", Color::Ansi(1), Color::Default, none);
        check("97;104", Color::Ansi(15), Color::Ansi(12), none);
        check("38;5;208", Color::Indexed(208), Color::Default, none);
        check("38;5;9;1", Color::Ansi(9), Color::Default, Attributes::BOLD);
        check("38;2;1;2;3;48;2;4;5;6", Color::Rgb(1, 2, 3), Color::Rgb(4, 5, 6), none);
        check("38:2::1:2:3;4:3", Color::Rgb(1, 2, 3), Color::Default, Attributes::UNDERLINE);
        check("38:2:1:2:3;4;4:0", Color::Rgb(1, 2, 3), Color::Default, none);
    }

    #[test]
    fn attributes_go_on_and_off() {
        let every = apply(PLAIN, "1;2;3;4;7;9");
        for attribute in ["BOLD", "DIM", "ITALIC", "UNDERLINE", "REVERSE", "STRIKEOUT"].iter().zip([
            Attributes::BOLD,
            Attributes::DIM,
            Attributes::ITALIC,
            Attributes::UNDERLINE,
            Attributes::REVERSE,
            Attributes::STRIKEOUT,
        ]) {
            assert!(every.attributes.contains(attribute.1), "{}", attribute.0);
        }
        assert_eq!(apply(every, "22;23;24;27;29"), PLAIN);
        assert_eq!(apply(every, ""), PLAIN);
        assert_eq!(apply(every, "0"), PLAIN);
    }

    #[test]
    fn text_can_be_neither_hidden_nor_blinking() {
        check("8;5;6", Color::Default, Color::Default, Attributes::default());
    }

    #[test]
    fn nonsense_changes_nothing() {
        for parameters in
            ["38", "38;5", "38;2;1;2", "38;5;999", "38;2;256;0;0", "38:5", "38:", "99999999", ":::", "58;5"]
        {
            check(parameters, Color::Default, Color::Default, Attributes::default());
        }
    }
}
