//! Checks the lock files of the tools that tests run, and asks npm about known holes in them.
//!
//! A registry that cannot be asked is named, and fails nothing: this also runs where there is no network. A known hole is printed
//! and fails nothing either, because only tests run the tools. The job `audit` of `ci.yml` reads the `RustSec` database.

use std::error::Error;
use std::path::PathBuf;

use serde_json::Value;

use crate::{Done, cargo, packages, print};

/// The answer of a registry: its findings, or why it could not be asked.
type Asked = Result<Vec<String>, String>;

/// Checks the locks of the tools, then asks about what they lock.
pub(crate) fn main() -> Done {
    print::talk("xtask: audit of .ci/lock");
    let mut npm_sets = Vec::new();
    for set in std::fs::read_dir(cargo::root().join(".ci/lock"))? {
        let set = set?.path();
        let named = |error| format!("{}: {error}", set.display());
        if let Ok(text) = std::fs::read_to_string(set.join("requirements.txt")) {
            check_wheels(&text).map_err(named)?;
        } else if let Ok(text) = std::fs::read_to_string(set.join("package-lock.json")) {
            check_npm_lock(&text).map_err(named)?;
            npm_sets.push(set);
        }
    }
    let mut unchecked = vec!["crates, which the job `audit` of ci.yml checks".to_owned(), "wheels".to_owned()];
    match holes_in_npm(&npm_sets)? {
        Ok(holes) if holes.is_empty() => {}
        Ok(holes) => print::talk(&format!("xtask audit: tools of the tests with known holes: {}", holes.join(", "))),
        Err(why) => unchecked.push(format!("packages of npm ({why})")),
    }
    print::talk(&format!("xtask audit: not checked for known holes: {}", unchecked.join("; ")));
    Ok(())
}

fn holes_in_npm(sets: &[PathBuf]) -> Result<Asked, Box<dyn Error>> {
    let mut all = Vec::new();
    for set in sets {
        let output = packages::npm(&["audit", "--json", "--loglevel=silent"])?.current_dir(set).output()?;
        match npm_report(&output.stdout) {
            Ok(holes) => all.extend(holes),
            Err(why) => return Ok(Err(why)),
        }
    }
    Ok(Ok(all))
}

/// The packages that `npm audit --json` reports.
fn npm_report(report: &[u8]) -> Asked {
    let report: Value = serde_json::from_slice(report).map_err(|error| error.to_string())?;
    let Some(holes) = report["vulnerabilities"].as_object() else {
        return Err(report["message"].as_str().unwrap_or("no answer").to_owned());
    };
    Ok(holes.iter().map(|(name, hole)| format!("{name} ({})", hole["severity"]).replace('"', "")).collect())
}

/// Fails for a package of a requirements file without a version or a hash, which pip would refuse.
fn check_wheels(text: &str) -> Result<(), String> {
    text.replace("\\\n", " ").lines().try_for_each(|line| {
        let is_locked = line.contains("==") && line.contains("--hash=sha256:");
        if is_locked { Ok(()) } else { Err(format!("{line} has no version or no hash")) }
    })
}

/// Requires a hash for each package, which npm does not, and no address, which would be that of one person's registry.
fn check_npm_lock(text: &str) -> Result<(), String> {
    let lock: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let packages = lock["packages"].as_object().ok_or("no packages")?;
    for (place, package) in packages.iter().filter(|(place, _)| !place.is_empty()) {
        if !package["integrity"].is_string() {
            return Err(format!("{place} has no hash"));
        }
        if !package["resolved"].is_null() {
            return Err(format!("{place} has the address of a registry: write the lock with .ci/lock/update"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_package_without_a_hash_or_with_an_address_is_refused() {
        let check = |package: Value| check_npm_lock(&json!({ "packages": { "": {}, "a": package } }).to_string());
        assert_eq!(check(json!({ "integrity": "sha512-x" })), Ok(()));
        assert!(check(json!({ "version": "1" })).is_err());
        assert!(check(json!({ "integrity": "sha512-x", "resolved": "https://registry" })).is_err());
        let wheel = "a==1 \\\n    --hash=sha256:0\n";
        assert_eq!(check_wheels(wheel), Ok(()));
        assert!(check_wheels(&format!("{wheel}b==2\n")).is_err());
        assert!(check_wheels("a>=1 --hash=sha256:0\n").is_err());
    }
}
