//! Commands with a terminal of their own: the same promises hold as for commands with pipes.

mod foreground;
mod jobs;
mod pi;

use bashful_engine::{Input, Request, Streams, TerminalRequest, TerminalSize};
use bashful_testkit::request;

/// A request with a terminal of 80 × 24.
fn at_terminal(script: &str) -> Request {
    let size = TerminalSize::new(80, 24);
    let streams = Streams::Terminal(TerminalRequest { size, ..TerminalRequest::default() });
    Request { streams, input: Input::Nothing, ..request(script) }
}
