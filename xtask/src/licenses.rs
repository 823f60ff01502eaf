//! Checks the licenses of all dependencies.
//!
//! Only the manifests count, as `cargo metadata` reports them. A crate without a license fails.

use serde_json::Value;

use crate::{Done, cargo, print};

/// Licenses that ask for no more than their text to be passed on, and the MPL, which is about its own files only.
const ALLOWED: [&str; 17] = [
    "0BSD",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "CDLA-Permissive-2.0",
    "ISC",
    "MIT",
    "MIT-0",
    "MPL-2.0",
    "Unicode-3.0",
    "Unicode-DFS-2016",
    "Unlicense",
    "WTFPL",
    "Zlib",
];

/// Checks all packages, and names those that fail.
pub(crate) fn main() -> Done {
    print::talk("xtask: licenses in cargo metadata");
    let metadata = cargo::metadata(&[])?;
    let packages = metadata["packages"].as_array().ok_or("the list of dependencies has no packages")?;
    let refused: Vec<String> = packages.iter().filter_map(refused).collect();
    if !refused.is_empty() {
        return Err(format!("licenses that are not on our list:\n  {}", refused.join("\n  ")).into());
    }
    Ok(())
}

/// The name and the license of a package that fails.
fn refused(package: &Value) -> Option<String> {
    let license = package["license"].as_str();
    if license.is_some_and(is_allowed) {
        return None;
    }
    let text = |field: &str| package[field].as_str().unwrap_or("?").to_owned();
    Some(format!("{} {}: {}", text("name"), text("version"), license.unwrap_or("none given")))
}

/// True if a license expression allows an accepted choice.
fn is_allowed(expression: &str) -> bool {
    // Older crates write `/` where they mean `OR`.
    let spaced = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let mut rest = words.as_slice();
    either(&mut rest) == Some(true) && rest.is_empty()
}

/// `a OR b`, the loosest kind of expression. None, here and below, for what is no expression.
fn either(words: &mut &[&str]) -> Option<bool> {
    let mut passes = both(words)?;
    while take(words, "OR") {
        passes |= both(words)?;
    }
    Some(passes)
}

/// `a AND b`
fn both(words: &mut &[&str]) -> Option<bool> {
    let mut passes = one(words)?;
    while take(words, "AND") {
        passes &= one(words)?;
    }
    Some(passes)
}

/// A license, perhaps with an exception, or an expression in brackets.
fn one(words: &mut &[&str]) -> Option<bool> {
    if take(words, "(") {
        let passes = either(words)?;
        return take(words, ")").then_some(passes);
    }
    let (license, rest) = words.split_first()?;
    if ["OR", "AND", "WITH", ")"].iter().any(|word| license.eq_ignore_ascii_case(word)) {
        return None;
    }
    *words = rest;
    if !take(words, "WITH") {
        return Some(ALLOWED.contains(license));
    }
    let (exception, rest) = words.split_first()?;
    *words = rest;
    Some(ALLOWED.contains(&format!("{license} WITH {exception}").as_str()))
}

fn take(words: &mut &[&str], word: &str) -> bool {
    match words.split_first() {
        Some((first, rest)) if first.eq_ignore_ascii_case(word) => {
            *words = rest;
            true
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::is_allowed;

    #[track_caller]
    fn check(allowed: bool, expressions: &[&str]) {
        for expression in expressions {
            assert_eq!(is_allowed(expression), allowed, "{expression}");
        }
    }

    #[test]
    fn one_license_passes_if_it_is_on_the_list() {
        check(true, &["MIT", "Zlib", "Apache-2.0 WITH LLVM-exception"]);
        check(
            false,
            &["GPL-3.0-only", "LGPL-2.1-or-later", "AGPL-3.0", "SSPL-1.0", "mine", "GPL-2.0 WITH LLVM-exception"],
        );
    }

    #[test]
    fn of_a_choice_one_side_is_enough() {
        check(true, &["MIT OR GPL-2.0", "GPL-2.0 OR MIT", "MIT/Apache-2.0", "Unlicense/MIT", "GPL-2.0 / MIT"]);
        check(false, &["GPL-2.0 OR AGPL-3.0", "GPL-2.0/LGPL-3.0"]);
    }

    #[test]
    fn of_a_sum_every_side_has_to_pass() {
        check(true, &["MIT AND ISC", "(MIT OR Apache-2.0) AND Unicode-3.0", "Apache-2.0 AND (GPL-2.0 OR ISC)"]);
        check(false, &["MIT AND GPL-2.0", "(MIT OR Apache-2.0) AND GPL-3.0"]);
    }

    #[test]
    fn a_sum_binds_tighter_than_a_choice() {
        check(true, &["MIT OR GPL-2.0 AND GPL-3.0", "GPL-2.0 AND GPL-3.0 OR MIT"]);
        check(false, &["(MIT OR GPL-2.0) AND GPL-3.0"]);
    }

    #[test]
    fn what_is_no_expression_does_not_pass() {
        check(false, &["", "MIT OR", "OR MIT", "MIT MIT", "(MIT", "MIT)", "MIT AND", "()", "MIT WITH"]);
    }
}
