//! The program at the terminal of a person: tmux types, and reads the screen.

mod attended;
mod console;
mod live;

const BASHFUL: &str = env!("CARGO_BIN_EXE_bashful");
