//! Puts the host's prefix before every command.
//!
//! The prefix is text before text, as its author expects: `make; ls` becomes `nice make; ls`. A program in the prefix
//! gets the next words as arguments, and knows nothing of the shell's own syntax. So a command that begins with such
//! syntax runs as it is, and the notice explains its failure.

use std::borrow::Cow;

use bashful_bash::{Opening, OpeningKind};

use super::{ScriptEdit, quotable};

/// Builtins without a program of the same name.
const BUILTINS: &str = "\
    . : alias bg bind break builtin caller cd command compgen complete compopt continue declare dirs disown enable \
    eval exec exit export fc fg getopts hash history jobs let local logout mapfile popd pushd read readarray \
    readonly return set shift shopt source suspend times trap type typeset ulimit umask unalias unset wait";

/// Returns the edit that puts the prefix before the first command, and its notice.
pub(super) fn add_prefix(script: &[u8], prefix: &str) -> (ScriptEdit, String) {
    let text = same_length_text(script);
    let opening = Opening::of(&text);
    let hint = shell_syntax(&opening.kind).map(|own| {
        format!("; if it failed by that: {own}, which no program can run; `bash -c '…'` runs all of it behind the prefix, and `true; …` without")
    });
    let notice = format!("run with the prefix `{}` of the settings{}", quotable(prefix), hint.unwrap_or_default());
    (ScriptEdit { range: opening.at..opening.at, text: format!("{prefix} ").into_bytes() }, notice)
}

/// The script with a letter for every byte that is not UTF-8, so that offsets in the text are offsets in the script.
fn same_length_text(script: &[u8]) -> Cow<'_, str> {
    if let Ok(text) = str::from_utf8(script) {
        return Cow::Borrowed(text);
    }
    let chunks = script.utf8_chunks().map(|chunk| chunk.valid().to_owned() + &"_".repeat(chunk.invalid().len()));
    Cow::Owned(chunks.collect())
}

/// Describes syntax at the beginning of a command that only the shell understands; none if it looks like a program.
fn shell_syntax(kind: &OpeningKind<'_>) -> Option<String> {
    let own = match kind {
        OpeningKind::Group => "a group of commands".to_owned(),
        OpeningKind::Function => "a function".to_owned(),
        OpeningKind::Assignment => "an assignment".to_owned(),
        OpeningKind::Keyword(word) => format!("`{word}`"),
        OpeningKind::Command { name: Some(name), .. } if BUILTINS.split(' ').any(|own| own == name) => {
            format!("`{name}`")
        }
        _ => return None,
    };
    Some(format!("it begins with {own}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_only_the_shell_understands_is_told_from_programs() {
        for own in [
            "cd x",
            "export A=1",
            "A=1 make",
            "a+=(1)",
            "m[k]=1",
            "if true; then",
            "(a)",
            "{ a; }",
            "f() { a; }",
            "f () (a)",
            "[[ a ]]",
            "! a",
            ". ./x",
            "((1))",
            "wait",
            "exit;",
            // Quotes do not hide a builtin.
            "\"cd\" x",
            "\\cd x",
            ">out cd x",
        ] {
            assert!(shell_syntax(&Opening::of(own).kind).is_some(), "{own}");
        }
        // Quotes turn a keyword into a word, and a bracket alone makes no assignment.
        for program in
            ["make", "./cd", "cdx", "1=2", "a-b=c", "[ a ]", "git commit", "=x", "", "\"if\" x", "m[k] x", "$cd x"]
        {
            assert!(shell_syntax(&Opening::of(program).kind).is_none(), "{program}");
        }
    }

    #[test]
    fn the_prefix_stands_before_the_first_command() {
        for (script, at) in
            [(&b"make"[..], 0), (b" # a\n\n make", 7), (b"\\\nmake", 2), (b"# a", 3), (b"# \xff\xfe\nmake \xff", 5)]
        {
            assert_eq!(
                add_prefix(script, "nice").0,
                ScriptEdit { range: at..at, text: b"nice ".to_vec() },
                "{script:?}"
            );
        }
    }

    #[test]
    fn every_name_is_known_to_the_shell() {
        for name in BUILTINS.split(' ') {
            let asked = std::process::Command::new("bash").args(["-c", "type -t -- \"$0\"", name]).output();
            let kind = String::from_utf8(asked.expect("bash runs").stdout).expect("a word");
            assert_eq!(kind, "builtin\n", "{name}");
        }
    }
}
