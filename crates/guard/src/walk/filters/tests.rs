//! Tables of what the programs of a GNU system really print, made by running them on harmless text in the locale `C.UTF-8`.
//!
//! A case is a line with the script (`$`), one with its input (`<`) if it has any, and one with its output (`>`).

use crate::guard::{Guard, Prelude};
use crate::walk::ScriptWalk;

/// The output of a script over this input.
fn printed(script: &str, input: &str) -> String {
    let (guard, prelude) = (Guard::default(), Prelude::default());
    let mut walk = ScriptWalk::new(&guard, (script, 0), &prelude);
    walk.world.shell.input = input.into();
    walk.capturing(|walk| {
        walk.run_derived(script);
    })
}

fn unescaped(text: &str) -> String {
    let mut out = String::new();
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        let kind = if letter == '\\' { letters.next() } else { None };
        out.push(match kind {
            Some('n') => '\n',
            Some('t') => '\t',
            Some('r') => '\r',
            Some('f') => '\u{c}',
            Some('v') => '\u{b}',
            Some('a') => '\u{7}',
            Some('0') => '\0',
            Some('1') => '\u{1}',
            Some(other) => other,
            None => letter,
        });
    }
    out
}

#[track_caller]
fn check(table: &str) {
    let (mut script, mut input) = (String::new(), String::new());
    let mut wrong = Vec::new();
    for line in table.lines() {
        let (kind, text) = line.split_at(line.len().min(2));
        let text = unescaped(text);
        match kind {
            "$ " => (script, input) = (text, String::new()),
            "< " => input = text,
            "> " | ">" => {
                let found = printed(&script, &input);
                if found != text {
                    wrong.push(format!("{script}\n  of {input:?}\n  is {text:?}\n not {found:?}"));
                }
            }
            _ => panic!("not a case: {line}"),
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn filters_print_what_the_real_programs_print() {
    check(include_str!("printed.txt"));
}

#[test]
fn sed_prints_what_the_real_one_prints() {
    check(include_str!("../sed/printed.txt"));
}
