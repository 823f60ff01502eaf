//! An interceptor that points a model to a tool that does the same as a command, and better.
//!
//! It goes by the words that the guard resolves. It only speaks up if the better tool is there.

mod text_rule;

use bashful_guard::{ResolvedCommand, resolved_commands};
use serde::Serialize;

pub use text_rule::{ExpressionError, TextRule};

use crate::call::Interceptor;

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
///
/// ```
/// use bashful_engine::{Interceptor, ToolAdvice};
///
/// let advice = ToolAdvice { rules: Vec::new(), tools: vec!["read".into()] };
/// let found = advice.intercept(b"cd src && sudo cat main.rs").expect("there is a tool for that");
/// assert_eq!(found.suggested_tool, "read");
/// assert_eq!(advice.intercept(b"echo x > main.rs"), None);
/// assert_eq!(advice.intercept(b"ls | cat"), None);
/// ```
#[derive(Debug, Clone, Default)]
pub struct ToolAdvice {
    /// Rules of the user, looked at before the ones that it comes with.
    pub rules: Vec<TextRule>,
    /// The tools that are there. A rule that leads to another tool says nothing.
    pub tools: Vec<String>,
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

impl Interceptor for ToolAdvice {
    fn intercept(&self, script: &[u8]) -> Option<Interception> {
        if self.tools.is_empty() {
            return None;
        }
        let script = &*String::from_utf8_lossy(script);
        let says = |tool: &str, message: &str| {
            Some(Interception { suggested_tool: tool.into(), message: message.into(), script: script.into() })
        };
        let commands: Vec<ResolvedCommand> =
            resolved_commands(script).into_iter().filter(|command| !command.reads_pipe).collect();
        for rule in self.rules.iter().filter(|rule| self.tools.contains(&rule.tool)) {
            let texts = commands.iter().flat_map(|command| {
                let written = script.get(command.extent.start..command.extent.end).unwrap_or("").to_owned();
                let resolved: Vec<String> = command.words.iter().map(|word| quoted(word)).collect();
                let resolved = Some(resolved.join(" ")).filter(|resolved| *resolved != written);
                std::iter::once(written).chain(resolved)
            });
            // The whole text too: an expression may be about more than one command.
            if rule.matches(std::iter::once(script.trim().to_owned()).chain(texts)) {
                return says(&rule.tool, &rule.message);
            }
        }
        for command in &commands {
            for suggestion in &SUGGESTIONS {
                let tool = suggestion.tools.iter().find(|tool| self.tools.iter().any(|known| known == *tool));
                if let Some(tool) = tool.filter(|_| (suggestion.matches)(command)) {
                    return says(tool, &suggestion.message.replace("{tool}", tool));
                }
            }
        }
        None
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
        "cat" => to_file && command.has_here_text,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn matches(pattern: &str, script: &str) -> bool {
        let rule = TextRule::new(pattern, "", "tool", "message").expect("it can be used");
        ToolAdvice { rules: vec![rule], tools: vec!["tool".to_owned()] }.intercept(script.as_bytes()).is_some()
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
