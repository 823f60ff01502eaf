//! Installs pinned packages of npm and `PyPI` into directories of their own.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use bashful_testkit::agents::Package;
use serde_json::{Map, json};

use crate::{Done, cargo, print};

/// The Node and the npm that `.ci/setup` installs. Debian's Node may be too old.
pub(crate) fn node_tools() -> PathBuf {
    cargo::root().join("target/clients/python/bin")
}

/// Installs a package to a directory, unless this version is there. No install script of a package runs.
///
/// `overrides` pins dependencies of an npm package that its own range would not find, as name and version.
pub(crate) fn install(package: Package, prefix: &Path, overrides: &[(&str, &str)]) -> Done {
    if package.check_installed(prefix).is_ok() {
        return Ok(());
    }
    print::talk(&format!("xtask: installing {}", package.text()));
    if prefix.exists() {
        std::fs::remove_dir_all(prefix)?;
    }
    std::fs::create_dir_all(prefix)?;
    match package {
        Package::Npm(text) => install_from_npm(text, prefix, overrides)?,
        Package::Pypi(text) => install_from_pypi(text, prefix)?,
    }
    std::fs::write(prefix.join("installed"), format!("{}\n", package.text()))?;
    Ok(())
}

fn install_from_npm(text: &str, prefix: &Path, overrides: &[(&str, &str)]) -> Done {
    if !overrides.is_empty() {
        let overrides: Map<_, _> =
            overrides.iter().map(|(name, version)| ((*name).to_owned(), json!(version))).collect();
        std::fs::write(prefix.join("package.json"), json!({ "private": true, "overrides": overrides }).to_string())?;
    }
    let options = ["install", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error", text, "--prefix"];
    run(npm(&options)?.arg(prefix))
}

/// A call of the npm that `.ci/setup` installs.
pub(crate) fn npm(arguments: &[&str]) -> Result<Command, Box<dyn Error>> {
    let tools = node_tools();
    if !tools.join("npm").exists() {
        return Err(format!("no npm in {}: run .ci/setup", tools.display()).into());
    }
    // npm is a script that looks for Node on the PATH.
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::join_paths(std::iter::once(tools.clone()).chain(std::env::split_paths(&path)))?;
    let mut command = Command::new(tools.join("npm"));
    command.env("PATH", path).args(arguments);
    Ok(command)
}

fn install_from_pypi(text: &str, prefix: &Path) -> Done {
    run(Command::new("python3").args(["-m", "venv"]).arg(prefix))?;
    let options = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"];
    run(Command::new(prefix.join("bin/python")).args(options).args(text.split_whitespace()))
}

fn run(command: &mut Command) -> Result<(), Box<dyn Error>> {
    let status = command.stdin(Stdio::null()).stdout(Stdio::null()).status()?;
    if status.success() { Ok(()) } else { Err(format!("{command:?} failed: {status}").into()) }
}
