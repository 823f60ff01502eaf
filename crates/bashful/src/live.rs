//! What a person at a terminal sees while a command runs: the newest lines and the time, erased when it is over.

use std::io::{IsTerminal, Write, stderr, stdout};
use std::time::Duration;

use bashful_engine::{Job, Live};
use tokio::sync::watch;
use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at};
use unicode_width::UnicodeWidthChar;

/// Nothing is shown of commands that end sooner than this.
const AFTER: Duration = Duration::from_millis(300);

/// How often the time is brought up to date.
const EVERY: Duration = Duration::from_millis(200);

/// So many lines of output are shown.
const LINES: usize = 8;

/// The newest lines, on a terminal; nothing anywhere else.
pub(crate) struct LiveTail {
    shown: Option<Shown>,
}

struct Shown {
    began: Instant,
    output: watch::Receiver<Live>,
    ticks: Interval,
    /// Lines that are on the screen now.
    lines: usize,
}

impl LiveTail {
    pub(crate) fn new(job: &Job) -> Self {
        if !(stderr().is_terminal() && stdout().is_terminal()) {
            return Self { shown: None };
        }
        let began = Instant::now();
        let mut ticks = interval_at(began + AFTER, EVERY);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
        Self { shown: Some(Shown { began, output: job.live(), ticks, lines: 0 }) }
    }

    /// Waits until there is something new to show.
    pub(crate) async fn next(&mut self) {
        match &mut self.shown {
            Some(shown) => drop(shown.ticks.tick().await),
            None => std::future::pending().await,
        }
    }

    pub(crate) fn draw(&mut self) {
        let Some(shown) = &mut self.shown else { return };
        let width =
            rustix::termios::tcgetwinsize(rustix::stdio::stderr()).map_or(80, |size| usize::from(size.ws_col.max(20)));
        let live = shown.output.borrow_and_update().clone();
        let text = String::from_utf8_lossy(&live.newest);
        let newest: Vec<String> = text.lines().rev().take(LINES).map(|line| fit(line, width)).collect();
        let status = format!("[running {}s, {} lines, Ctrl-C stops it]", shown.began.elapsed().as_secs(), live.lines);
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
