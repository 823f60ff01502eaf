//! The program at the command line: arguments, help, output, exit codes and the examples of the documents.

mod condense;
mod examples;
mod golden;
mod inspection;
mod person;
mod program;
mod rewrite;
mod surroundings;
mod visible;

const BASHFUL: &str = env!("CARGO_BIN_EXE_bashful");
