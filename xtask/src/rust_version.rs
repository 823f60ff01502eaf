//! The oldest compiler that builds this: `rust-version` in `Cargo.toml`, the toolchain of the workflows, and the README agree on
//! it, and the code compiles with it.

use std::error::Error;
use std::process::{Command, Stdio};

use crate::{Done, cargo, print, workflows};

/// Checks the texts, and the code if that compiler is installed.
pub(crate) fn main() -> Done {
    let version = stated()?;
    print::talk(&format!("xtask: Rust {version} in Cargo.toml, README.md and the workflows"));
    let readme = std::fs::read_to_string(cargo::root().join("README.md"))?;
    let mentions = versions_after(&readme, "Rust ").into_iter().map(|found| ("README.md".to_owned(), found));
    let installed = workflows::commands()?.into_iter().flat_map(|(name, run)| {
        let found = ["rustup toolchain install ", "rustup default "].map(|words| versions_after(&run, words));
        found.into_iter().flatten().map(move |version| (name.clone(), version)).collect::<Vec<_>>()
    });
    compare(&version, &mentions.chain(installed).collect::<Vec<_>>())?;
    check_code(&version)
}

/// `rust-version` of the workspace.
fn stated() -> Result<String, Box<dyn Error>> {
    let manifest: toml::Table = std::fs::read_to_string(cargo::root().join("Cargo.toml"))?.parse()?;
    let version = manifest["workspace"]["package"]["rust-version"].as_str().ok_or("no rust-version in Cargo.toml")?;
    Ok(version.to_owned())
}

/// Requires that every place names this version, and that both kinds of place are there.
fn compare(version: &str, found: &[(String, String)]) -> Done {
    if let Some((place, other)) = found.iter().find(|(_, other)| other != version) {
        return Err(format!("{place} names Rust {other}, and Cargo.toml {version}").into());
    }
    let is_readme = |(place, _): &&(String, String)| place == "README.md";
    if !found.iter().any(|entry| is_readme(&entry)) || found.iter().all(|entry| is_readme(&entry)) {
        return Err(format!("README.md or the workflows name no Rust version; Cargo.toml has {version}").into());
    }
    Ok(())
}

/// The versions that stand behind these words.
fn versions_after(text: &str, words: &str) -> Vec<String> {
    let version = |rest: &str| -> String {
        let end = rest.find(|next: char| !next.is_ascii_digit() && next != '.').unwrap_or(rest.len());
        rest[..end].trim_end_matches('.').to_owned()
    };
    text.split(words).skip(1).map(version).filter(|version| !version.is_empty()).collect()
}

/// Compiles everything with that compiler, if rustup has it. A run under that very compiler does so anyway, in its other steps.
fn check_code(version: &str) -> Done {
    let toolchain = format!("{version}.0");
    if version_of(&mut Command::new("rustc")).is_some_and(|running| running == toolchain) {
        print::talk(&format!("xtask: this is Rust {toolchain}, so lints and tests compile with it"));
        return Ok(());
    }
    if version_of(Command::new("rustup").args(["run", &toolchain, "rustc"])).is_none() {
        print::talk(&format!("xtask: not compiled with Rust {toolchain}: rustup does not have it"));
        return Ok(());
    }
    let arguments = ["run", &toolchain, "cargo", "check", "--workspace", "--all-targets"];
    print::talk(&format!("xtask: rustup {}", arguments.join(" ")));
    let status = Command::new("rustup").args(arguments).current_dir(cargo::root()).status()?;
    if status.success() { Ok(()) } else { Err(format!("it does not compile with Rust {toolchain} ({status})").into()) }
}

/// The version of a compiler, or none if it does not run.
fn version_of(compiler: &mut Command) -> Option<String> {
    let output = compiler.arg("--version").stderr(Stdio::null()).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    text.strip_prefix("rustc ")?.split_whitespace().next().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_found_behind_the_words() {
        assert_eq!(versions_after("Needs Linux, Rust 1.95, bash. Rust is", "Rust "), ["1.95"]);
        assert_eq!(versions_after("rustup default 1.95.0\n", "rustup default "), ["1.95.0"]);
    }

    #[test]
    fn a_place_that_names_another_version_fails() {
        let places = |readme: &str, workflow: &str| {
            vec![("README.md".to_owned(), readme.to_owned()), ("ci.yml".to_owned(), workflow.to_owned())]
        };
        assert!(compare("1.95", &places("1.95", "1.95")).is_ok());
        assert!(compare("1.95", &places("1.94", "1.95")).is_err());
        assert!(compare("1.95", &places("1.95", "1.96")).is_err());
        assert!(compare("1.95", &places("1.95", "1.95")[..1]).is_err());
        assert!(compare("1.95", &[]).is_err());
    }
}
