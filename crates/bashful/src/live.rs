//! Live output on a terminal: the newest lines and the facts, erased when the command ends.
//!
//! Drawn only while this program is in the foreground of the terminal. In the background the terminal belongs to somebody who
//! types there.

use std::io::{IsTerminal, Write, stderr, stdout};
use std::time::Duration;

use bashful_engine::Live;
use bashful_render::{Card, CardKind, Line, Look, Signs, body_lines};
use bashful_sys::terminal;
use tokio::sync::watch;
use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at};

use crate::color;
use crate::colored::ColoredOutput;
use crate::print;

/// Shorter commands show nothing.
const SHOWN_AFTER: Duration = Duration::from_millis(300);

/// Interval at which the shown time is updated.
const REDRAW_INTERVAL: Duration = Duration::from_millis(200);

/// Lines beside those of the output: hidden lines, facts, and the cursor's.
const OTHER_LINES: usize = 4;

/// Said after the first Ctrl-C.
const STOPPING: &str = "stopping; Ctrl-C again kills";

/// The newest lines, on a terminal; nothing anywhere else.
pub(crate) struct LiveTail {
    shown: Option<LiveScreen>,
}

struct LiveScreen {
    output: watch::Receiver<Live>,
    /// The output with colors, if those are wanted.
    colored: Option<ColoredOutput>,
    /// None until the command starts.
    ticking: Option<Ticking>,
    /// Facts that do not change.
    card: Card,
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
    /// Nothing to show: the command itself has the terminal.
    pub(crate) fn nothing() -> Self {
        Self { shown: None }
    }

    pub(crate) fn new(
        output: watch::Receiver<Live>,
        colored: Option<ColoredOutput>,
        timeout: Option<Duration>,
    ) -> Self {
        let is_shown = stderr().is_terminal() && stdout().is_terminal();
        let mut card = Card::new(CardKind::Tool, "");
        card.timeout = timeout;
        card.hint = Some("Ctrl-C stops it".to_owned());
        Self { shown: is_shown.then(|| LiveScreen { output, colored, ticking: None, card, lines: 0 }) }
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
        if let Some(shown) = &mut self.shown {
            shown.draw();
        }
    }

    /// Says that the command is being stopped: at once, and for as long as that takes.
    pub(crate) fn say_stopping(&mut self) {
        match &mut self.shown {
            Some(shown) if shown.ticking.is_some() && is_foreground() => {
                shown.card.hint = Some(STOPPING.to_owned());
                shown.draw();
            }
            _ if stderr().is_terminal() => {
                self.leave_line();
                print::talk(&format!("[{STOPPING}]"));
            }
            _ => {}
        }
    }

    /// Makes room for a message after a key: erases everything, or ends the line on which the terminal has shown `^C` or
    /// `^Z`.
    pub(crate) fn leave_line(&mut self) {
        if self.shown.as_ref().is_some_and(|shown| shown.lines > 0) {
            self.clear();
        } else {
            print::line_end();
        }
    }

    /// Erases everything.
    pub(crate) fn clear(&mut self) {
        let lines = self.shown.as_mut().map_or(0, |shown| std::mem::take(&mut shown.lines));
        if lines > 0 && is_foreground() {
            let _ = stderr().write_all(erase(lines).as_bytes());
        }
    }
}

impl LiveScreen {
    fn draw(&mut self) {
        let Some(Ticking { began, .. }) = self.ticking else { return };
        if !is_foreground() {
            // The lines are no longer the last ones on the screen.
            self.lines = 0;
            return;
        }
        let (columns, rows) = print::screen_size(stderr()).unwrap_or((80, 24));
        let live = self.output.borrow_and_update().clone();
        let card = self.card_now(&live, began.elapsed());
        let tool_lines = Look::default().tool_lines.min(rows.saturating_sub(OTHER_LINES)).max(1);
        let look = Look { signs: signs(), tool_lines, ..Look::default() };
        // A line that fills the last column would wrap on some terminals.
        let lines = body_lines(&card, columns.saturating_sub(1), &look);
        let first = lines.len().saturating_sub(rows.saturating_sub(1));
        let show = if color::on_stderr() { Line::ansi } else { Line::plain };
        let mut screen = erase(self.lines);
        for line in &lines[first..] {
            screen.push_str(&show(line));
            screen.push('\n');
        }
        self.lines = lines.len() - first;
        let _ = stderr().write_all(screen.as_bytes());
    }

    fn card_now(&self, live: &Live, elapsed: Duration) -> Card {
        let mut card = self.card.clone();
        let newest = String::from_utf8_lossy(&live.newest).into_owned();
        card.output = match &self.colored {
            Some(colored) => colored.paint_newest(newest),
            None => newest,
        };
        let held = card.output.matches('\n').count() as u64;
        card.earlier_lines = live.lines.saturating_sub(held);
        card.line_count = Some(live.lines);
        card.size = Some(live.bytes);
        card.elapsed = Some(elapsed);
        card
    }
}

/// The escape sequence that erases the last lines.
fn erase(lines: usize) -> String {
    if lines == 0 { String::new() } else { format!("\x1b[{lines}A\r\x1b[J") }
}

/// True if this program is in the foreground process group of its terminal. A terminal that is not the one of its session has
/// no such group here, and somebody else uses it.
fn is_foreground() -> bool {
    terminal::foreground_group(stderr()) == Some(rustix::process::getpgrp())
}

/// The console of Linux has a font of 512 characters.
fn signs() -> Signs {
    if std::env::var_os("TERM").is_some_and(|term| term == "linux") { Signs::Ascii } else { Signs::Unicode }
}
