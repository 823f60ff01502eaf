//! Tasks of this repository, for people and machines alike: `cargo xtask TASK`.

mod agents;
mod audit;
mod bench;
mod cargo;
mod ci;
mod condense;
mod guard;
mod hunt;
mod licenses;
mod notices;
mod oracle;
mod packages;
mod print;
mod rust_version;
mod screenshots;
mod workflows;

use std::error::Error;
use std::process::ExitCode;

/// The result of a task.
type Done = Result<(), Box<dyn Error>>;

const TASKS: &str = "\
usage: cargo xtask TASK

tasks:
  ci                             all that has to hold before a change goes in
  ci --hunt [--rounds N] [TEST BINARY...]
                                 every test many times, on a busy machine and in odd surroundings; takes hours
  licenses                       whether every dependency has a license that we can live with
  notices                        the licenses and notices of all linked crates, for an archive
  audit                          the locks of the tools that tests run, and what npm knows against them
  workflows                      whether the workflow files are well formed
  rust-version                   whether all name the same oldest Rust, and the code compiles with it
  guard --cases FILE [--benign FILE] [--gray FILE] [--should FILE]
                                 how many labelled scripts the guard refuses, and how many it should not have
  guard --oracle [DIR] [--relabel | --trust] [--json FILE]
                                 the same for scripts that are labelled by running them in a world of their own
  condense [--verbose] [DIR...]  how much shorter real outputs get, and what is lost of them
  screenshots [NAME...]          pictures of the program for the documents, as SVG
  agents [NAME...]               real agents and SDKs against a scripted model; installs them below target/clients
  bench [--quick] [--json FILE]  speed and memory of the engine, beside a bare `bash -c`
  bench peers [--quick] [--json FILE]
                                 the server beside other MCP servers; installs them below target/peers
  bench condense [--quick]       only the speed of condensing
";

fn main() -> ExitCode {
    // In the sandbox of the guard's oracle, this program plays other programs.
    if let Some(code) = oracle::recorder_main() {
        return code;
    }
    // A benchmark's engine may start this program as its keeper.
    bashful_engine::keeper_main();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match words.split_first() {
        Some((&"ci", [])) => ci::main(),
        Some((&"ci", [hunt, options @ ..])) if *hunt == "--hunt" => hunt::main(options),
        Some((&"licenses", [])) => licenses::main(),
        Some((&"notices", [])) => notices::main(),
        Some((&"audit", [])) => audit::main(),
        Some((&"workflows", [])) => workflows::main(),
        Some((&"rust-version", [])) => rust_version::main(),
        Some((&"guard", options)) => guard::main(options),
        Some((&"condense", options)) => condense::main(options),
        Some((&"screenshots", names)) => screenshots::main(names),
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
