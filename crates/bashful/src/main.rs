//! The `bashful` program.

mod cli;
mod config;
mod doctor;
mod exit;
mod explain;
mod facts;
mod live;
mod print;
mod run;
mod settings;
mod setup;
mod text;

use std::process::ExitCode;

fn main() -> ExitCode {
    // Before anything else: this process may have been started to watch over a command.
    bashful_engine::keeper_main();
    cli::main()
}
