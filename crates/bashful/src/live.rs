//! What a person at a terminal sees while a command runs: the newest lines and the time, erased when it is over.

use std::io::{IsTerminal, Write, stderr, stdout};
use std::time::Duration;

use bashful_engine::Live;
use tokio::sync::watch;
use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at};
use unicode_width::UnicodeWidthChar;

use crate::print;

/// Nothing is shown of commands that end sooner than this.
const AFTER: Duration = Duration::from_millis(300);

/// How often the time is brought up to date.
const EVERY: Duration = Duration::from_millis(200);

/// So many lines of output are shown.
const LINES: usize = 8;

/// The newest lines, on a terminal; nothing anywhere else.
pub(crate) struct LiveTail {
    shown: Option<LiveScreen>,
}

struct LiveScreen {
    output: watch::Receiver<Live>,
    /// From the start of the command on.
    ticking: Option<Ticking>,
    /// Lines that are on the screen now.
    lines: usize,
}

struct Ticking {
    began: Instant,
    ticks: Interval,
}

impl Ticking {
    fn new() -> Self {
        let began = Instant::now();
        let mut ticks = interval_at(began + AFTER, EVERY);
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

    /// True if there is a terminal to show something on.
    pub(crate) fn is_shown(&self) -> bool {
        self.shown.is_some()
    }

    /// Waits until there is something new to show. The first word about the command comes when it has started: before that,
    /// the user may be asked something on the same terminal.
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
        let newest: Vec<String> = text.lines().rev().take(LINES).map(|line| fit(line, width)).collect();
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

/// Moves up over so many lines, and clears from there on.
fn erase(lines: usize) -> String {
    if lines == 0 { String::new() } else { format!("\x1b[{lines}A\r\x1b[J") }
}

/// One line of the screen: no control characters, no more than fits.
fn fit(line: &str, width: usize) -> String {
    let mut columns = 0;
    line.chars()
        .map(|char| if char.is_control() { ' ' } else { char })
        // Counted one by one, a cluster of characters is never narrower than it is drawn.
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
