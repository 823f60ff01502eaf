//! The last resort: a program that runs a command with a word that is lost, and that holds the words which would make it dangerous.

use crate::marks::is_source;
use crate::walk::files::base_name;

/// True if a command has a word that is lost, and that could make it dangerous.
pub(super) fn is_open(words: &[String], lost: &str) -> bool {
    if !lost.contains(is_source) {
        return false;
    }
    // A script is one word.
    let words: Vec<&str> = words.iter().flat_map(|word| word.split_whitespace()).collect();
    let is_lost = |word: &&str| word.trim_start_matches(['-', '+', '"', '\'']).starts_with(lost);
    let Some(first) = words.first() else { return false };
    let rest = words.get(1..).unwrap_or(&[]);
    match base_name(first) {
        "git" => {
            let verb = rest.iter().find(|word| !word.starts_with('-')).copied().unwrap_or("");
            (matches!(verb, "push" | "add") || is_lost(&verb)) && rest.iter().any(&is_lost)
        }
        "rm" | "sudo" | "env" | "xargs" | "sh" | "bash" => rest.iter().any(&is_lost),
        _ => is_lost(first),
    }
}

/// The texts in quotes of a program.
fn literals(code: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut letters = code.chars();
    while let Some(letter) = letters.next() {
        if !matches!(letter, '"' | '\'' | '`') {
            continue;
        }
        let mut text = String::new();
        while let Some(inside) = letters.next() {
            match inside {
                '\\' => text.extend(letters.next()),
                _ if inside == letter => break,
                _ => text.push(inside),
            }
        }
        found.push(text);
    }
    found
}

/// True if the texts of a program hold the words of a command that the rules refuse.
pub(super) fn holds_danger(code: &str) -> bool {
    let literals = literals(code);
    let words: Vec<&str> = literals.iter().flat_map(|text| text.split_whitespace()).collect();
    let has = |choices: &[&str]| words.iter().any(|word| choices.contains(word));
    let forces = has(&["--force", "-f", "--mirror", "force", "mirror"])
        || words.iter().any(|word| word.len() > 1 && word.starts_with('+'));
    let adds = has(&["-A", "--all", ".", ":/", "all"]);
    let is_critical = |word: &&str| {
        matches!(*word, "/" | "~" | ".." | ".git" | "/etc" | "/usr" | "/home" | "/var" | "HOME" | "$HOME")
    };
    let deletes =
        has(&["rm", "-rf", "-r", "-fr", "rmtree", "rmSync"]) || code.contains("rmtree") || code.contains("rmSync");
    has(&["push"]) && forces || has(&["add"]) && adds || deletes && words.iter().any(is_critical)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_of_a_command_are_found_wherever_they_stand() {
        assert!(holds_danger("run(['git', 'push', pick(['--force'])])"));
        assert!(holds_danger("run('git add ' + f(\"-A\"))"));
        assert!(!holds_danger("run('git push origin main')"));
        assert!(!holds_danger("x = '--force'; run('git status')"));
    }
}
