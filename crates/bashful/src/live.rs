//! Live output on a terminal: the newest lines and the time, erased when the command ends.

use std::io::{IsTerminal, Write, stderr, stdout};
use std::time::Duration;

use bashful_engine::Live;
use tokio::sync::watch;
use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at};
use unicode_width::UnicodeWidthChar;

use crate::print;

/// Shorter commands show nothing.
const SHOWN_AFTER: Duration = Duration::from_millis(300);

/// Interval at which the shown time is updated.
const REDRAW_INTERVAL: Duration = Duration::from_millis(200);

/// Most lines of output on the screen.
const LINES_SHOWN: usize = 8;

/// The newest lines, on a terminal; nothing anywhere else.
pub(crate) struct LiveTail {
    shown: Option<LiveScreen>,
}

struct LiveScreen {
    output: watch::Receiver<Live>,
    /// None until the command starts.
    ticking: Option<Ticking>,
    /// Lines on the screen, which the next update erases.
    lines: usize,
}

struct Ticking {
    began: Instant,
    ticks: Interval,
}

impl Ticking {
    fn new() -> Self {
        let began = Instant::now();
        let mut ticks = interval_at(began + SHOWN_AFTER, REDRAW_INTERVAL);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
        Self { began, ticks }
    }
}

impl LiveTail {
    /// Shows it only if `wanted`: not where the command itself has the terminal.
    pub(crate) fn new(output: watch::Receiver<Live>, wanted: bool) -> Self {
        let is_shown = wanted && stderr().is_terminal() && stdout().is_terminal();
        Self { shown: is_shown.then(|| LiveScreen { output, ticking: None, lines: 0 }) }
    }

    /// True if there is a terminal.
    pub(crate) fn is_shown(&self) -> bool {
        self.shown.is_some()
    }

    /// Waits until the screen is due for an update. Nothing is shown before the command starts, because the guard may
    /// ask the user on the same terminal.
    pub(crate) async fn next(&mut self) {
        let Some(shown) = &mut self.shown else { return std::future::pending().await };
        if shown.ticking.is_none() {
            if shown.output.changed().await.is_err() {
                return std::future::pending().await;
            }
            shown.ticking = Some(Ticking::new());
        }
        if let Some(ticking) = &mut shown.ticking {
            ticking.ticks.tick().await;
        }
    }

    pub(crate) fn draw(&mut self) {
        let Some(shown) = &mut self.shown else { return };
        let Some(Ticking { began, .. }) = shown.ticking else { return };
        let width = print::columns(stderr()).unwrap_or(80);
        let live = shown.output.borrow_and_update().clone();
        let text = String::from_utf8_lossy(&live.newest);
        let newest: Vec<String> = text.lines().rev().take(LINES_SHOWN).map(|line| fit(line, width)).collect();
        let lines = if live.lines == 1 { "line" } else { "lines" };
        let status = format!("[running {}s, {} {lines}, Ctrl-C stops it]", began.elapsed().as_secs(), live.lines);
        let mut screen = erase(shown.lines);
        for line in newest.iter().rev().chain([&fit(&status, width)]) {
            screen.push_str(line);
            screen.push('\n');
        }
        shown.lines = newest.len() + 1;
        let _ = stderr().write_all(screen.as_bytes());
    }

    pub(crate) fn clear(&mut self) {
        if let Some(shown) = &mut self.shown {
            let _ = stderr().write_all(erase(shown.lines).as_bytes());
            shown.lines = 0;
        }
    }
}

/// The escape sequence that erases the last lines.
fn erase(lines: usize) -> String {
    if lines == 0 { String::new() } else { format!("\x1b[{lines}A\r\x1b[J") }
}

/// A line cut to the width of the screen, without control characters.
fn fit(line: &str, width: usize) -> String {
    let mut columns = 0;
    line.chars()
        .map(|char| if char.is_control() { ' ' } else { char })
        // The sum of character widths is never less than the drawn width of a cluster.
        .take_while(|char| {
            columns += char.width().unwrap_or(0);
            columns < width
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_characters_take_two_columns() {
        assert_eq!(fit("abcdef", 4), "abc");
        assert_eq!(fit("漢字漢字", 6), "漢字");
        assert_eq!(fit("漢字", 5), "漢字");
        assert_eq!(fit("a\tb\x1b", 80), "a b ");
    }
}
