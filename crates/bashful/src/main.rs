//! The `bashful` program.

mod allow;
mod artifacts;
mod as_dialect;
mod check;
mod cli;
mod config;
mod direct;
mod doctor;
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
mod run;
mod schema;
mod sessions;
mod settings;
mod setup;
mod signals;

use std::process::ExitCode;

fn main() -> ExitCode {
    // Before anything else: this process may have been started to watch over a command.
    bashful_engine::keeper_main();
    // Commands run as the same user, and would find in `/proc` what is withheld from them. Where the system does not know
    // this, everything works all the same.
    let _ = bashful_engine::forbid_inspection();
    // A file that may not grow any more is an error to tell, not a signal to die of.
    bashful_sys::signal::ignore(bashful_sys::signal::Signal::XFSZ);
    cli::main()
}
