//! Tasks of this repository, for people and machines alike: `cargo xtask TASK`.

mod agents;
mod bench;
mod cargo;
mod ci;
mod condense;
mod guard;
mod licenses;
mod oracle;
mod print;

use std::error::Error;
use std::process::ExitCode;

/// What every task comes to.
type Done = Result<(), Box<dyn Error>>;

const TASKS: &str = "\
usage: cargo xtask TASK

tasks:
  ci                             all that has to hold before a change goes in
  licenses                       whether every dependency has a license that we can live with
  guard --cases FILE [--benign FILE] [--gray FILE] [--should FILE]
                                 how many labelled scripts the guard refuses, and how many it should not have
  guard --oracle [DIR] [--relabel] [--json FILE]
                                 the same for scripts that are labelled by running them in a world of their own
  condense [--verbose] [DIR...]  how much shorter real outputs get, and what is lost of them
  agents [NAME...]               real agents and SDKs against a scripted model; installs them below target/clients
  bench [--quick] [--json FILE]  speed and memory of the engine, beside a bare `bash -c`
  bench condense [--quick]       only the speed of condensing
";

fn main() -> ExitCode {
    // In the little world of the guard's oracle, this program plays others.
    if let Some(code) = oracle::recorder_main() {
        return code;
    }
    // A benchmark's engine may be asked for a keeper of this very program.
    bashful_engine::keeper_main();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match words.split_first() {
        Some((&"ci", [])) => ci::main(),
        Some((&"licenses", [])) => licenses::main(),
        Some((&"guard", options)) => guard::main(options),
        Some((&"condense", options)) => condense::main(options),
        Some((&"agents", names)) => agents::main(names),
        Some((&"bench", options)) => bench::main(options),
        Some((&bench::PART, rest)) => bench::part(rest),
        _ => Err(TASKS.into()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            print::talk(&error.to_string());
            ExitCode::FAILURE
        }
    }
}
