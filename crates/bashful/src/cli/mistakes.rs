//! Tips for plausible mistakes on the command line.
//!
//! The parser reports the error. These tips add the command that was probably meant.

use std::ffi::OsString;

use bashful_dialect::shell_quoted;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use strsim::damerau_levenshtein;

/// Commands that a mistyped word may stand for.
const COMMANDS: [&str; 21] = [
    "run",
    "jobs",
    "ps",
    "sessions",
    "log",
    "artifacts",
    "mcp",
    "rpc",
    "acp",
    "hook",
    "check",
    "allow",
    "explain",
    "condense",
    "schema",
    "config",
    "console",
    "doctor",
    "completions",
    "man",
    "help",
];

/// Adds a tip to an error, if its arguments look like a known mistake.
pub(super) fn explain(mut error: clap::Error, arguments: impl Iterator<Item = OsString>) -> clap::Error {
    let arguments: Vec<String> = arguments.map(|argument| argument.to_string_lossy().into_owned()).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    if let Some(tip) = tip(error.kind(), &words) {
        // A second guess by the parser would distract.
        error.remove(ContextKind::SuggestedSubcommand);
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
    }
    error
}

fn tip(kind: ErrorKind, words: &[&str]) -> Option<String> {
    match (kind, words) {
        (ErrorKind::InvalidSubcommand, [first, ..]) if !COMMANDS.contains(first) => Some(unknown_command(words)),
        (ErrorKind::InvalidSubcommand, ["jobs", id, ..]) if is_number(id) => {
            Some(format!("to see a job: bashful jobs show {id}"))
        }
        (ErrorKind::InvalidSubcommand, ["artifacts", id, ..]) if is_number(id) => {
            Some(format!("to read an artifact: bashful artifacts show {id}"))
        }
        (ErrorKind::UnknownArgument, ["run", "-c", script @ ..]) if !script.is_empty() => {
            Some(format!("the script is an argument by itself: bashful run {}", shell_quoted(&script.join(" "))))
        }
        (ErrorKind::UnknownArgument, ["run", script @ ..]) if !script.iter().any(|word| word.starts_with('-')) => {
            Some(format!("the script is one argument, so quote it: bashful run {}", shell_quoted(&script.join(" "))))
        }
        _ => None,
    }
}

/// The tip for an unknown first word: a typing error, or a script without `run`.
fn unknown_command(words: &[&str]) -> String {
    let near = |command: &&&str| {
        let distance = damerau_levenshtein(command, words[0]);
        // Short words are similar to everything.
        distance * 3 <= command.len()
    };
    match COMMANDS.iter().filter(near).min_by_key(|command| damerau_levenshtein(command, words[0])) {
        Some(command) => format!("did you mean `bashful {command}`?"),
        None => format!("to run a shell command: bashful run {}", shell_quoted(&words.join(" "))),
    }
}

fn is_number(word: &str) -> bool {
    !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::super::{Cli, Command};
    use super::*;
    use clap::{CommandFactory, Parser};

    #[track_caller]
    fn check(arguments: &[&str], expected: &str) {
        let error = Cli::<Command>::try_parse_from([&["bashful"], arguments].concat()).expect_err("it is a mistake");
        let text = explain(error, arguments.iter().map(OsString::from)).to_string();
        assert!(text.contains(&format!("tip: {expected}\n")), "{text}");
        assert_eq!(text.matches("tip:").count(), 1, "{text}");
    }

    #[test]
    fn a_script_without_run_is_recognized() {
        check(&["echo hi"], "to run a shell command: bashful run 'echo hi'");
        check(&["echo", "hi"], "to run a shell command: bashful run 'echo hi'");
        check(&["ls"], "to run a shell command: bashful run ls");
        check(&["git", "commit", "-m", "it's"], r"to run a shell command: bashful run 'git commit -m it'\''s'");
    }

    #[test]
    fn a_mistyped_command_is_recognized() {
        check(&["rn", "echo"], "did you mean `bashful run`?");
        check(&["jbos"], "did you mean `bashful jobs`?");
        check(&["artifact", "show", "1"], "did you mean `bashful artifacts`?");
        check(&["session", "list"], "did you mean `bashful sessions`?");
    }

    #[test]
    fn a_script_in_pieces_is_put_together() {
        check(&["run", "echo", "hi"], "the script is one argument, so quote it: bashful run 'echo hi'");
        check(&["run", "-c", "echo hi"], "the script is an argument by itself: bashful run 'echo hi'");
    }

    #[test]
    fn a_number_alone_is_something_to_look_at() {
        check(&["jobs", "7"], "to see a job: bashful jobs show 7");
        check(&["artifacts", "7"], "to read an artifact: bashful artifacts show 7");
    }

    #[test]
    fn every_command_is_known_to_the_tips() {
        let command = Cli::<Command>::command();
        let names: Vec<&str> =
            command.get_subcommands().filter(|command| !command.is_hide_set()).map(clap::Command::get_name).collect();
        let known: Vec<&str> = COMMANDS.into_iter().filter(|name| *name != "help").collect();
        let (mut names, mut known) = (names, known);
        names.sort_unstable();
        known.sort_unstable();
        assert_eq!(names, known);
    }
}
