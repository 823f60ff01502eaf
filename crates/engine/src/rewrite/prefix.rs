//! What stands before every command, because the host wants it so.
//!
//! It is text before text, as whoever sets it expects: `nice make; ls` is what becomes of `make; ls`. A program that stands
//! there is given the words behind it, and knows nothing of what is the shell's own. So a command that begins with that runs
//! as it is, and the notice says what to make of its failure.

use super::{Edit, quotable};

/// Keywords of the shell, and builtins for which there is no program of the same name.
const SHELLS_OWN: &str = "\
    ! . : [[ alias bg bind break builtin caller case cd command compgen complete compopt continue coproc declare \
    dirs disown enable eval exec exit export fc fg for function getopts hash history if jobs let local logout \
    mapfile popd pushd read readarray readonly return select set shift shopt source suspend time times trap type \
    typeset ulimit umask unalias unset until wait while";

/// The edit that puts it before the first command, and what to say of it.
pub(super) fn put_before(script: &[u8], prefix: &str) -> (Edit, String) {
    let at = first_command(script);
    let hint = shells_own(&script[at..]).map(|own| {
        format!("; if it failed by that: {own}, which no program can run; `bash -c '…'` runs all of it behind the prefix, and `true; …` without")
    });
    let notice = format!("run with the prefix `{}` of the settings{}", quotable(prefix), hint.unwrap_or_default());
    (Edit { range: at..at, text: format!("{prefix} ").into_bytes() }, notice)
}

/// Where the first command begins.
fn first_command(script: &[u8]) -> usize {
    let mut at = 0;
    loop {
        at += script[at..].iter().take_while(|byte| byte.is_ascii_whitespace()).count();
        if script.get(at) != Some(&b'#') {
            return at;
        }
        at = memchr::memchr(b'\n', &script[at..]).map_or(script.len(), |end| at + end);
    }
}

/// What a command begins with that only the shell understands, in words; none if it looks like a program.
fn shells_own(command: &[u8]) -> Option<String> {
    let ends = |byte: &u8| byte.is_ascii_whitespace() || b";&|<>()".contains(byte);
    let length = command.iter().position(ends).unwrap_or(command.len());
    let (word, rest) = command.split_at(length);
    let word = str::from_utf8(word).ok()?;
    let follows = rest.trim_ascii_start();
    if word.is_empty() && follows.starts_with(b"(") || word == "{" {
        return Some("it begins with a group of commands".to_owned());
    }
    if !word.is_empty() && follows.starts_with(b"(") {
        return Some("it begins with a function".to_owned());
    }
    if is_assignment(word) {
        return Some("it begins with an assignment".to_owned());
    }
    SHELLS_OWN.split(' ').any(|own| own == word).then(|| format!("it begins with `{word}`"))
}

/// `name=`, `name+=` or `name[`.
fn is_assignment(word: &str) -> bool {
    let is_name = |byte: u8| byte == b'_' || byte.is_ascii_alphanumeric();
    let name = word.bytes().take_while(|byte| is_name(*byte)).count();
    let starts_right = word.bytes().next().is_some_and(|first| is_name(first) && !first.is_ascii_digit());
    let behind = &word[name..];
    starts_right && ["=", "+=", "["].iter().any(|sign| behind.starts_with(sign))
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
        ] {
            assert!(shells_own(own.as_bytes()).is_some(), "{own}");
        }
        for program in ["make", "./cd", "cdx", "1=2", "a-b=c", "[ a ]", "git commit", "\"cd\" x", "=x", ""] {
            assert!(shells_own(program.as_bytes()).is_none(), "{program}");
        }
    }

    #[test]
    fn every_name_is_known_to_the_shell() {
        for name in SHELLS_OWN.split(' ') {
            let asked = std::process::Command::new("bash").args(["-c", "type -t -- \"$0\"", name]).output();
            let kind = String::from_utf8(asked.expect("bash runs").stdout).expect("a word");
            assert!(["keyword\n", "builtin\n"].contains(&kind.as_str()), "{name}: {kind}");
        }
    }
}
