//! The beginning of a script, for a caller that puts text before the first command or looks for its program.
//!
//! The rest of the script need not parse: bash runs the first line before it reads the next.

use super::LONGEST_SCRIPT;
use super::Parser;
use super::ast::{ShellCommand, SimpleCommand};

/// Reserved words that begin a command. `{` is missing because it begins a group.
const RESERVED: [&str; 11] = ["!", "[[", "case", "coproc", "for", "function", "if", "select", "time", "until", "while"];

/// The first command of a script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Opening<'a> {
    /// The command's first byte, behind blank lines and comments. The length of the script if there is no command.
    pub at: usize,
    /// The kind of the command.
    pub kind: OpeningKind<'a>,
}

/// The kinds of first commands that callers tell apart.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum OpeningKind<'a> {
    /// No command, or only redirections.
    Nothing,
    /// `(…)`, `{ …; }` or `((…))`.
    Group,
    /// `name() …`.
    Function,
    /// `name=value`, with or without a command behind it.
    Assignment,
    /// A reserved word such as `if`, `!` or `[[`.
    Keyword(&'a str),
    /// A builtin or a program.
    Command {
        /// The first word without its quotes; none if bash has to expand the word first.
        name: Option<String>,
        /// The first word as the script spells it.
        spelled: &'a str,
    },
}

impl<'a> Opening<'a> {
    /// Finds the first command of a script.
    ///
    /// ```
    /// use bashful_bash::{Opening, OpeningKind};
    ///
    /// let opening = Opening::of("# build\nFOO=1 make");
    /// assert_eq!((opening.at, opening.kind), (8, OpeningKind::Assignment));
    /// ```
    pub fn of(script: &'a str) -> Self {
        let mut parser = Parser::within(script, 0..script.floor_char_boundary(LONGEST_SCRIPT));
        // Only the body of a here-document makes this fail, and none is announced before the first command.
        let _ = parser.skip_lines();
        let at = parser.at;
        Self { at, kind: Self::kind(script, &mut parser) }
    }

    fn kind(script: &'a str, parser: &mut Parser<'a>) -> OpeningKind<'a> {
        let at = parser.at;
        let spelled = script.get(at..at + parser.bare_word().len()).unwrap_or("");
        if parser.peek() == Some(b'(') || spelled == "{" {
            return OpeningKind::Group;
        }
        if RESERVED.contains(&spelled) {
            return OpeningKind::Keyword(spelled);
        }
        match parser.command() {
            Ok(ShellCommand::Function { .. }) => OpeningKind::Function,
            Ok(ShellCommand::Simple(simple)) => Self::simple(script, &simple),
            // bash stops at the error with its own message; the letters before it are all that can be told.
            Ok(ShellCommand::Compound { .. }) | Err(_) if spelled.is_empty() => OpeningKind::Nothing,
            Ok(ShellCommand::Compound { .. }) | Err(_) => {
                OpeningKind::Command { name: Some(spelled.to_owned()), spelled }
            }
        }
    }

    fn simple(script: &'a str, simple: &SimpleCommand) -> OpeningKind<'a> {
        if !simple.assigns.is_empty() {
            return OpeningKind::Assignment;
        }
        let Some(word) = simple.words.first() else { return OpeningKind::Nothing };
        let spelled = script.get(word.extent.start..word.extent.end).unwrap_or("");
        OpeningKind::Command { name: word.literal(), spelled }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(script: &str, at: usize, kind: OpeningKind<'_>) {
        assert_eq!(Opening::of(script), Opening { at, kind }, "{script:?}");
    }

    fn command<'a>(name: &str, spelled: &'a str) -> OpeningKind<'a> {
        OpeningKind::Command { name: Some(name.to_owned()), spelled }
    }

    #[test]
    fn blank_lines_and_comments_come_before_the_first_command() {
        check("", 0, OpeningKind::Nothing);
        check("# only this", 11, OpeningKind::Nothing);
        check(" \n\t# one\n  # two\n make all", 18, command("make", "make"));
        check("\\\nmake", 2, command("make", "make"));
    }

    #[test]
    fn every_kind_of_command_is_told_apart() {
        for script in ["(a)", "{ a; }", "((1))", "{\na\n}"] {
            check(script, 0, OpeningKind::Group);
        }
        for script in ["f() { a; }", "f () (a)", "f()\n{ a; }"] {
            check(script, 0, OpeningKind::Function);
        }
        for script in ["A=1 make", "a+=(1)", "m[k]=1", "A=", ">f A=1"] {
            check(script, 0, OpeningKind::Assignment);
        }
        for script in ["! a", "[[ a ]]", "case a in", "coproc a", "for x", "function f {", "if true; then", "time"] {
            let word = script.split(' ').next().expect("a word");
            check(script, 0, OpeningKind::Keyword(word));
        }
        check("< file", 0, OpeningKind::Nothing);
        check("make|cat", 0, command("make", "make"));
    }

    #[test]
    fn a_word_is_known_without_its_quotes() {
        check("\"cd\" x", 0, command("cd", "\"cd\""));
        check("'/a b'/c d", 0, command("/a b/c", "'/a b'/c"));
        check(">out \\cd x", 0, command("cd", "\\cd"));
        check("\"if\" x", 0, command("if", "\"if\""));
        check("$HOME/x y", 0, OpeningKind::Command { name: None, spelled: "$HOME/x" });
        // A bracket without an assignment behind it is a pattern.
        check("m[k x", 0, command("m[k", "m[k"));
    }

    #[test]
    fn an_error_behind_the_first_word_hides_nothing() {
        check("cd 'open", 0, command("cd", "cd"));
        check("make\necho 'open", 0, command("make", "make"));
    }

    #[test]
    fn every_reserved_word_is_one_for_bash() {
        for word in RESERVED {
            let told = std::process::Command::new("bash").args(["-c", "type -t -- \"$0\"", word]).output();
            assert_eq!(told.expect("bash runs").stdout, b"keyword\n", "{word}");
        }
    }
}
