//! Runs one agent and its scripted model inside a namespace; see `bashful_testkit::agents`.

use std::process::ExitCode;

fn main() -> ExitCode {
    bashful_testkit::agents::stage_main()
}
