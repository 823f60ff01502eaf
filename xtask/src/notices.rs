//! Writes the licenses and notices of all crates that are linked into the program, for the archive of a release.
//!
//! Each crate brings its own files. A text that several crates share is written once, behind their names.

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::path::Path;

use serde_json::Value;

use crate::{Done, cargo, print};

/// Beginnings of the names of files that have to be passed on.
const NAMES: [&str; 6] = ["license", "licence", "copying", "copyright", "notice", "unlicense"];

/// Writes the notices to standard output.
pub(crate) fn main() -> Done {
    print::data(&notices()?);
    Ok(())
}

/// Makes the notices for `cargo xtask ci`, and drops them.
pub(crate) fn check() -> Done {
    print::talk("xtask: notices of the linked crates");
    notices().map(drop)
}

fn notices() -> Result<String, Box<dyn Error>> {
    let mut crates_of: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let target = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
    for package in linked(&cargo::metadata(&["--locked", "--filter-platform", &target])?)? {
        let text = |field: &str| package[field].as_str().unwrap_or("?");
        let name = format!("{} {} ({})", text("name"), text("version"), text("license"));
        let directory = Path::new(text("manifest_path")).parent().ok_or("a manifest without a directory")?;
        for text in texts(directory, text("license")).map_err(|error| format!("{name}: {error}"))? {
            crates_of.entry(text).or_default().insert(name.clone());
        }
    }
    let entries = crates_of.iter().map(|(text, crates)| {
        let crates: Vec<&str> = crates.iter().map(String::as_str).collect();
        format!("{}\n\n{text}\n", crates.join("\n"))
    });
    Ok(entries.collect::<Vec<_>>().join(&format!("\n{}\n\n", "-".repeat(80))))
}

/// The packages from registries whose code is in the program: no procedural macros, and nothing that only builds or tests need.
fn linked(metadata: &Value) -> Result<Vec<&Value>, Box<dyn Error>> {
    let packages = metadata["packages"].as_array().ok_or("no packages")?;
    let nodes = metadata["resolve"]["nodes"].as_array().ok_or("no dependencies")?;
    let program = packages.iter().find(|package| package["name"] == "bashful").ok_or("no package bashful")?;
    let mut found = vec![program];
    let mut seen = 0;
    while let Some(package) = found.get(seen) {
        seen += 1;
        let node = nodes.iter().find(|node| node["id"] == package["id"]).ok_or("a package without its dependencies")?;
        for needed in
            members(&node["deps"]).filter(|needed| members(&needed["dep_kinds"]).any(|kind| kind["kind"].is_null()))
        {
            let package = packages.iter().find(|package| package["id"] == needed["pkg"]).ok_or("a missing package")?;
            if !found.contains(&package) && !is_macro(package) {
                found.push(package);
            }
        }
    }
    found.retain(|package| package["source"].is_string());
    Ok(found)
}

/// True for a package whose code runs in the compiler.
fn is_macro(package: &Value) -> bool {
    members(&package["targets"]).flat_map(|target| members(&target["kind"])).any(|kind| kind == "proc-macro")
}

fn members(list: &Value) -> impl Iterator<Item = &Value> {
    list.as_array().into_iter().flatten()
}

/// The texts that a crate brings. Of the licenses, only the text of Apache-2.0 is the same for everybody.
fn texts(directory: &Path, license: &str) -> Result<Vec<String>, Box<dyn Error>> {
    let mut texts = Vec::new();
    for entry in std::fs::read_dir(directory)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
        if path.is_file() && NAMES.iter().any(|begin| name.starts_with(begin)) {
            texts.push(String::from_utf8_lossy(&std::fs::read(&path)?).replace('\r', "").trim().to_owned());
        }
    }
    if texts.is_empty() && license == "Apache-2.0" {
        texts.push(std::fs::read_to_string(cargo::root().join("LICENSE-APACHE"))?.trim().to_owned());
    }
    if texts.is_empty() { Err("it brings no license".into()) } else { Ok(texts) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_linked_crates_of_others_are_found() {
        let package = |name: &str, kind: &str| json!({ "id": name, "name": name, "targets": [{ "kind": [kind] }], "source": "registry" });
        let mut own = package("bashful", "bin");
        own["source"] = Value::Null;
        let others = [("a", "lib"), ("b", "lib"), ("macro", "proc-macro"), ("below-macro", "lib"), ("test", "lib")];
        let packages: Vec<Value> = std::iter::once(own).chain(others.map(|(name, kind)| package(name, kind))).collect();
        let needs = |pkg: &str, kind: Value| json!({ "pkg": pkg, "dep_kinds": [{ "kind": kind }] });
        let node = |id: &str, deps: Value| json!({ "id": id, "deps": deps });
        let nodes = [
            node("bashful", json!([needs("a", Value::Null), needs("macro", Value::Null), needs("test", json!("dev"))])),
            node("a", json!([needs("b", Value::Null)])),
            node("b", json!([needs("a", Value::Null)])),
            node("macro", json!([needs("below-macro", Value::Null)])),
        ];
        let metadata = json!({ "packages": packages, "resolve": { "nodes": nodes } });
        let names: Vec<&Value> = linked(&metadata).expect("a graph").iter().map(|package| &package["name"]).collect();
        assert_eq!(names, ["a", "b"]);
    }

    #[test]
    fn a_crate_without_a_license_text_is_refused() {
        let directory = tempfile::tempdir().expect("a directory");
        let texts = |license| texts(directory.path(), license);
        std::fs::write(directory.path().join("README.md"), "MIT").expect("it is written");
        assert!(texts("MIT").is_err(), "its text names the owner");
        assert!(texts("Apache-2.0").is_ok_and(|texts| texts[0].contains("Apache License")));
        std::fs::write(directory.path().join("LICENSE-MIT"), "by me\r\n").expect("it is written");
        std::fs::write(directory.path().join("NOTICE"), "thanks").expect("it is written");
        assert!(texts("MIT").is_ok_and(|texts| texts.len() == 2 && texts.contains(&"by me".to_owned())));
    }
}
