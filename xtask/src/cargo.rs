//! Cargo, called by a task.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::print;

/// A call of the same cargo that runs this task, in the root of the workspace.
pub(crate) fn command(arguments: &[&str]) -> Command {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(arguments).current_dir(root());
    command
}

/// The packages of the workspace and all that they need, as `cargo metadata` reports them.
pub(crate) fn metadata(options: &[&str]) -> Result<Value, Box<dyn Error>> {
    let output = command(&["metadata", "--format-version", "1"]).args(options).stderr(Stdio::inherit()).output()?;
    if !output.status.success() {
        return Err("cannot read the list of dependencies".into());
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}

/// The root of the workspace.
pub(crate) fn root() -> &'static Path {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here)
}

/// Builds the one executable of a package as it is installed, and returns its path.
pub(crate) fn build_dist(package: &str) -> Result<PathBuf, Box<dyn Error>> {
    build(package, &["--profile", "dist"])
}

/// Builds a package with further options, and returns the path of the executable of that name.
///
/// Cargo is asked for the place: the directory has the name of the machine's kind in it.
pub(crate) fn build(package: &str, options: &[&str]) -> Result<PathBuf, Box<dyn Error>> {
    let arguments = [&["build", "--package", package, "--message-format", "json-render-diagnostics"], options].concat();
    print::talk(&format!("xtask: cargo {}", arguments.join(" ")));
    let output = command(&arguments).stderr(Stdio::inherit()).output()?;
    if !output.status.success() {
        return Err(format!("cannot build {package}").into());
    }
    String::from_utf8_lossy(&output.stdout)
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .filter(|message| message["target"]["name"] == package)
        .find_map(|message| Some(PathBuf::from(message["executable"].as_str()?)))
        .ok_or_else(|| format!("cargo does not say where it built {package}").into())
}
