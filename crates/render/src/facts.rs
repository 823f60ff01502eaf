//! The footer of a card: state, time, exit and the rest of the facts.

use std::time::Duration;

use bashful_screen::Style;

use crate::card::{Card, CardExit, CardState};
use crate::line::{self, Line};
use crate::look::{self, DIM, Look, WARNING};
use crate::page::Page;
use crate::visible;

/// Adds the facts, as many on a line as fit.
pub(crate) fn add(page: &mut Page, card: &Card, look: &Look) {
    let state = (format!("{} {}", look.sign(card.state), card.state.word()), look::style(card.state));
    let facts = [Some(state)].into_iter().chain(facts(card)).flatten();
    let mut line = Line::default();
    let mut columns = 0;
    for (text, style) in facts {
        let separator = if columns == 0 { "" } else { look.separator() };
        let needed = line::width(separator) + line::width(&text);
        if columns > 0 && columns + needed > page.width {
            page.lines.push(std::mem::take(&mut line));
            columns = 2;
            line.push("  ", DIM);
        } else {
            line.push(separator, DIM);
            columns += line::width(separator);
        }
        let fitted = fit(&text, page.width - columns, look);
        columns += line::width(&fitted);
        line.push(&fitted, style);
    }
    page.lines.push(line);
}

fn facts(card: &Card) -> impl Iterator<Item = Option<(String, Style)>> {
    let plain = |text: String| (text, DIM);
    let timeout_style = if card.state == CardState::TimedOut { WARNING } else { DIM };
    [
        card.elapsed.map(|elapsed| plain(wall_time(elapsed))),
        card.exit.map(|exit| plain(exit_text(exit))),
        card.timeout.map(|timeout| (format!("timeout {}", exact(timeout)), timeout_style)),
        card.line_count.map(|lines| plain(if lines == 1 { "1 line".to_owned() } else { format!("{lines} lines") })),
        card.size.map(|size| plain(size_text(size))),
        card.job.as_ref().map(|job| plain(format!("job {}", on_one_line(job)))),
        card.artifact.as_ref().map(|artifact| plain(format!("artifact://{}", on_one_line(artifact)))),
        card.directory.as_ref().map(|directory| plain(format!("in {}", on_one_line(directory)))),
        card.origin.as_ref().map(|origin| plain(format!("by {}", on_one_line(origin)))),
        card.hint.as_ref().map(|hint| plain(on_one_line(hint))),
    ]
    .into_iter()
}

/// A text without tabs, whose width depends on their place.
fn on_one_line(text: &str) -> String {
    visible(text).replace('\t', " ")
}

fn exit_text(exit: CardExit) -> String {
    match exit {
        CardExit::Code(code) => format!("exit {code}"),
        CardExit::Signal(number) => format!("signal {number}"),
    }
}

/// A text cut to so many columns at a character, with an ellipsis.
fn fit(text: &str, columns: usize, look: &Look) -> String {
    if line::width(text) <= columns {
        return text.to_owned();
    }
    let mut left = columns.saturating_sub(line::width(look.ellipsis()));
    let kept = text.chars().take_while(|c| {
        let width = line::width(c.encode_utf8(&mut [0; 4]));
        let fits = width <= left;
        left = left.saturating_sub(width);
        fits
    });
    let mut kept: String = kept.collect();
    kept.push_str(look.ellipsis());
    kept
}

/// Time with tenths of a second up to ten seconds, then in full seconds.
fn wall_time(elapsed: Duration) -> String {
    if elapsed < Duration::from_secs(10) {
        format!("{}.{}s", elapsed.as_secs(), elapsed.subsec_millis() / 100)
    } else {
        exact(Duration::from_secs(elapsed.as_secs()))
    }
}

/// `30s`, `15m`, `1h30m`, `0.5s`.
fn exact(duration: Duration) -> String {
    let seconds = duration.as_secs();
    let part = |number: u64, unit: &str| if number > 0 { format!("{number}{unit}") } else { String::new() };
    let rest = match (seconds % 60, duration.subsec_millis()) {
        (0, 0) if seconds > 0 => String::new(),
        (rest, 0) => format!("{rest}s"),
        (rest, millis) => format!("{}s", format!("{rest}.{millis:03}").trim_end_matches('0')),
    };
    format!("{}{}{rest}", part(seconds / 3600, "h"), part(seconds % 3600 / 60, "m"))
}

fn size_text(bytes: u64) -> String {
    const UNITS: [&str; 4] = ["KB", "MB", "GB", "TB"];
    if bytes < 1024 {
        return format!("{bytes}B");
    }
    let mut unit = 0;
    let mut divisor = 1024_u64;
    while bytes / divisor >= 1024 && unit + 1 < UNITS.len() {
        divisor *= 1024;
        unit += 1;
    }
    let (whole, tenth) = (bytes / divisor, bytes % divisor * 10 / divisor);
    if tenth == 0 { format!("{whole}{}", UNITS[unit]) } else { format!("{whole}.{tenth}{}", UNITS[unit]) }
}
