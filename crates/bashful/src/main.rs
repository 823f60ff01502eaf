//! The `bashful` program.

#![warn(clippy::disallowed_methods)]

mod acp;
mod allow;
mod artifacts;
mod as_dialect;
mod attend;
mod check;
mod cli;
mod color;
mod colored;
mod condense;
mod config;
mod console;
mod derivation;
mod direct;
mod doctor;
mod events;
mod exit;
mod explain;
mod guard;
mod hook;
mod http;
mod install;
mod jobs;
mod live;
mod log;
mod mcp;
mod print;
mod ps;
mod report;
mod request;
mod rpc;
mod run;
mod schema;
mod served;
mod sessions;
mod settings;
mod setup;
mod shell_path;
mod shell_settings;
mod signals;
mod state;
mod stores;
mod surroundings;
mod suspend;
mod token_file;
mod umask;

use std::process::ExitCode;

fn main() -> ExitCode {
    abort_on_panic();
    // This process may be a keeper, so this comes before all that only the program needs.
    bashful_engine::keeper_main();
    // Commands run as the same user and could read withheld variables from `/proc`. On systems without this
    // protection everything else works.
    let _ = bashful_engine::forbid_inspection();
    // A file at its size limit should be an error message, not a deadly signal.
    bashful_sys::signal::ignore(bashful_sys::signal::Signal::XFSZ);
    umask::make_usable();
    if is_about_to_start_a_shell() {
        bashful_engine::start_keeper_early();
    }
    with_usual_stack(cli::main)
}

/// Makes every panic end the program at once: nobody knows what it leaves undone. The exception is a panic of the guard, whose
/// threads share nothing with others, and which becomes a question about the script.
fn abort_on_panic() {
    let print = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        print(panic);
        if std::thread::current().name() != Some(bashful_engine::JUDGE_THREAD) {
            std::process::abort();
        }
    }));
}

/// True if the arguments look like a command in a new shell. A wrong guess costs an unused keeper.
fn is_about_to_start_a_shell() -> bool {
    let mut arguments = std::env::args_os().skip(1);
    let runs = arguments.next().is_some_and(|command| command == "run");
    // A session usually has its keeper already.
    runs && !arguments.any(|argument| argument.as_encoded_bytes().starts_with(b"--session"))
}

/// The stack that programs usually have. Deeply nested scripts need much of it.
const USUAL_STACK: usize = 8 << 20;

/// Runs this on a stack of the usual size, also where `ulimit -s` allows the first thread only a few pages.
fn with_usual_stack(work: fn() -> ExitCode) -> ExitCode {
    if bashful_sys::limits::Limit::stack().soft.is_none_or(|limit| limit >= USUAL_STACK as u64) {
        return work();
    }
    match std::thread::Builder::new().stack_size(USUAL_STACK).spawn(work) {
        Ok(thread) => thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
        // Without memory for a thread, the current stack may suffice.
        Err(_) => work(),
    }
}
