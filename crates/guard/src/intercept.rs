//! The interceptor: points a model to a tool that does the same as a command, and better.
//!
//! It goes by the same resolved words as the rules. It only speaks up if the better tool is there.

use serde::Serialize;

use crate::guard::{Guard, Prelude};
use crate::marks::{readable, without_marks};
use crate::text_rule::TextRule;
use crate::walk::ScriptWalk;
use crate::walk::trail::CommandWatch;
use bashful_bash::ast::SourceExtent;

/// A command that the script would run by itself, outside of substitutions.
#[derive(Debug, Clone, Default)]
pub(crate) struct ResolvedCommand {
    pub(crate) words: Vec<String>,
    pub(crate) extent: SourceExtent,
    /// It reads the output of another command.
    pub(crate) reads_pipe: bool,
    /// It has a here-document or a here-string.
    pub(crate) here: bool,
    /// The files that its output goes to.
    pub(crate) files: Vec<String>,
}

/// The answer of the interceptor.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Interception {
    /// The tool to use instead.
    pub suggested_tool: String,
    /// Why.
    pub message: String,
    /// The script as it was given.
    pub script: String,
}

impl Interception {
    /// The whole text for the model.
    pub fn text(&self) -> String {
        format!("Blocked: {}\n\nOriginal command: {}", self.message, self.script)
    }
}

/// Points to better tools.
#[derive(Debug, Clone, Default)]
pub struct Interceptor {
    /// Rules of the user, looked at before the ones that it comes with.
    pub own: Vec<TextRule>,
}

/// A built-in rule: the commands that it is about, the names of the better tool, and the message.
struct Suggestion {
    matches: fn(&ResolvedCommand) -> bool,
    tools: &'static [&'static str],
    message: &'static str,
}

const SUGGESTIONS: [Suggestion; 5] = [
    Suggestion {
        matches: writes,
        tools: &["write"],
        message: "Use the `{tool}` tool instead of echo, printf or a here-document to write a file. It shows what was written.",
    },
    Suggestion {
        matches: reads,
        tools: &["read"],
        message: "Use the `{tool}` tool instead of cat, head or tail. It can show parts of a file.",
    },
    Suggestion {
        matches: searches,
        tools: &["search", "grep"],
        message: "Use the `{tool}` tool instead of grep. It leaves out what is ignored and limits its output.",
    },
    Suggestion {
        matches: finds,
        tools: &["find", "glob"],
        message: "Use the `{tool}` tool instead of find. It leaves out what is ignored.",
    },
    Suggestion {
        matches: edits,
        tools: &["edit"],
        message: "Use the `{tool}` tool instead of editing in place. It fails if the text is not there.",
    },
];

impl Interceptor {
    /// Looks at a script; `tools` are the ones that are there.
    ///
    /// ```
    /// use bashful_guard::Interceptor;
    ///
    /// let interceptor = Interceptor::default();
    /// let found = interceptor.intercept("cd src && sudo cat main.rs", &["read"]).expect("there is a tool for that");
    /// assert_eq!(found.suggested_tool, "read");
    /// assert_eq!(interceptor.intercept("cat main.rs", &["write"]), None);
    /// assert_eq!(interceptor.intercept("ls | cat", &["read"]), None);
    /// ```
    pub fn intercept(&self, script: &str, tools: &[&str]) -> Option<Interception> {
        if tools.is_empty() || script.len() > crate::guard::LONGEST_SCRIPT {
            return None;
        }
        let cleaned = without_marks(script);
        let guard = Guard::default();
        let prelude = Prelude::default();
        let mut walk = ScriptWalk::new(&guard, (&cleaned, 0), &prelude);
        walk.trail.watch = Some(CommandWatch::default());
        walk.walk_script();
        let commands = walk.trail.watch.unwrap_or_default().commands;
        for rule in self.own.iter().filter(|rule| tools.contains(&rule.tool.as_str())) {
            let texts = commands.iter().filter(|command| !command.reads_pipe).flat_map(|command| {
                let written = cleaned.get(command.extent.start..command.extent.end).unwrap_or("").to_owned();
                let resolved: Vec<String> = command.words.iter().map(|word| quoted(&readable(word))).collect();
                let resolved = Some(resolved.join(" ")).filter(|resolved| *resolved != written);
                std::iter::once(written).chain(resolved)
            });
            // The whole text too: an expression may be about more than one command.
            if rule.matches(std::iter::once(script.trim().to_owned()).chain(texts)) {
                return Some(self.says(&rule.tool, &rule.message, script));
            }
        }
        for command in commands.iter().filter(|command| !command.reads_pipe) {
            for suggestion in &SUGGESTIONS {
                let tool = suggestion.tools.iter().find(|tool| tools.contains(tool));
                if let Some(tool) = tool.filter(|_| (suggestion.matches)(command)) {
                    return Some(self.says(tool, &suggestion.message.replace("{tool}", tool), script));
                }
            }
        }
        None
    }

    #[expect(clippy::unused_self, reason = "what it says belongs to it")]
    fn says(&self, tool: &str, message: &str, script: &str) -> Interception {
        Interception { suggested_tool: tool.to_owned(), message: message.to_owned(), script: script.to_owned() }
    }
}

/// A word as a person would write it. A letter that is no operator must not look like one (`printf 'server &'`).
fn quoted(word: &str) -> String {
    let is_special = |letter: char| letter.is_whitespace() || ";&|<>()'\"`\\".contains(letter);
    if word.contains(is_special) || word.is_empty() {
        format!("'{}'", word.replace('\'', "'\\''"))
    } else {
        word.to_owned()
    }
}

fn program(command: &ResolvedCommand) -> &str {
    command.words.first().map_or("", String::as_str)
}

fn operands(command: &ResolvedCommand) -> impl Iterator<Item = &String> {
    command.words.iter().skip(1).filter(|word| !word.starts_with('-'))
}

fn has_flag(command: &ResolvedCommand, flags: &[&str]) -> bool {
    command.words.iter().skip(1).any(|word| flags.contains(&word.as_str()))
}

/// Files that are no files.
fn is_sink(path: &str) -> bool {
    matches!(path, "/dev/null" | "/dev/tty" | "/dev/stdout" | "/dev/stderr")
}

fn reads(command: &ResolvedCommand) -> bool {
    matches!(program(command), "cat" | "head" | "tail" | "less" | "more")
        && operands(command).next().is_some()
        && command.files.is_empty()
        // Following a file that grows is something that no other tool does.
        && !has_flag(command, &["-f", "-F", "--follow"])
}

fn searches(command: &ResolvedCommand) -> bool {
    matches!(program(command), "grep" | "egrep" | "fgrep" | "rg" | "ripgrep" | "ag" | "ack")
}

fn finds(command: &ResolvedCommand) -> bool {
    matches!(program(command), "find" | "fd" | "locate")
        && has_flag(command, &["-name", "-iname", "-type", "--type", "-glob", "--glob", "-path", "-t", "-e"])
}

fn edits(command: &ResolvedCommand) -> bool {
    let in_place = |word: &String, letters: &str| {
        word.starts_with("--in-place")
            || word.strip_prefix('-').is_some_and(|flags| {
                !flags.starts_with('-')
                    && flags.split('i').next().is_some_and(|before| before.chars().all(|c| letters.contains(c)))
                    && flags.contains('i')
            })
    };
    let arguments = || command.words.iter().skip(1);
    match program(command) {
        "sed" | "gsed" => arguments().any(|word| in_place(word, "nErsuz")),
        "perl" | "ruby" => arguments().any(|word| in_place(word, "pnlw0")),
        "awk" | "gawk" => has_flag(command, &["inplace"]),
        _ => false,
    }
}

fn writes(command: &ResolvedCommand) -> bool {
    let to_file = command.files.iter().any(|path| !is_sink(path));
    match program(command) {
        "echo" | "printf" => to_file,
        "cat" => to_file && command.here,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn matches(pattern: &str, script: &str) -> bool {
        let rule = TextRule::new(pattern, "", "tool", "message").expect("it can be used");
        Interceptor { own: vec![rule] }.intercept(script, &["tool"]).is_some()
    }

    #[test]
    fn a_users_rule_sees_each_command_as_written_and_as_bash_understands_it() {
        for script in ["git commit", "true; git commit", "sudo \"git\" commit -m x", "( git commit )", "A=b git commit"]
        {
            assert!(matches(r"^\s*git\s+commit", script), "{script}");
        }
        for script in ["echo git commit", "echo 'a; git commit'", "true # git commit", "true | git commit"] {
            assert!(!matches(r"^\s*git\s+commit", script), "{script}");
        }
    }

    #[test]
    fn what_is_quoted_does_not_look_like_an_operator() {
        let in_background = r"(?<!&)&\s*$";
        assert!(matches(in_background, "server &") && matches(in_background, "a && server &"));
        assert!(!matches(in_background, "printf 'server &'") && !matches(in_background, "printf \"server &\""));
    }
}
