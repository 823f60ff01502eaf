//! `bashful rpc` from a Python host, beside `bashful mcp` from the same host.

use std::error::Error;
use std::process::{Command, Stdio};

use serde_json::Value;

use super::host::Host;

/// The host program.
const HOST: &str = include_str!("rpc.py");

/// Calls of which some are always under way.
const CALLS: usize = 1000;

/// Measures all of it.
pub(crate) fn all(host: &Host, rounds: usize) -> Result<Value, Box<dyn Error>> {
    let home = tempfile::tempdir()?;
    let mut command = Command::new("python3");
    command.args(["-c", HOST]).arg(&host.program).args([rounds.to_string(), CALLS.to_string()]);
    command.env_clear().envs(host.variables.iter().cloned()).env("HOME", home.path());
    let output = command.stderr(Stdio::inherit()).output()?;
    if !output.status.success() {
        return Err(format!("the Python host failed ({})", output.status).into());
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}
