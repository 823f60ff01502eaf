//! Tables of what the programs of a GNU system really print, made by running them on harmless text in the locale `C.UTF-8`.
//!
//! A case is a line with the script (`$`), one with its input (`<`) if it has any, and one with its output (`>`).

use crate::guard::{Guard, Prelude};
use crate::marks::{STAR, UNKNOWN};
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

/// These two are not everywhere, so the table is by their manuals.
#[test]
fn dc_and_m4_print_what_their_manuals_say() {
    for (script, input, output) in [
        ("dc -e '2 3 + p 4 * p'", "", "5\n20\n"),
        ("dc -e '16 o 255 p'", "", "FF\n"),
        ("dc", "16i 6769 P", "gi"),
        ("dc -e '29537 P'", "", "sa"),
        ("dc -e '[git add -A]p'", "", "git add -A\n"),
        ("dc -e '[2p]sx lx x lx x'", "", "2\n2\n"),
        ("dc -e '103 a n 105 a n 116 a n'", "", "git"),
        ("dc -e '7 2 / p _5 p 2 10 ^ p 7 3 % p'", "", "3\n-5\n1024\n1\n"),
        ("m4", "define(`X', `git')X status\n", "git status\n"),
        ("m4", "define(`f', `$2 $1')dnl\nf(a, b)\n", "b a\n"),
        ("m4 -DV=add", "git V `V'\n", "git add V\n"),
        ("m4", "ifelse(a, b, no, yes) len(abc) substr(abcdef, 2, 3) eval(2 * 3) index(hay, y)\n", "yes 3 cde 6 2\n"),
        ("m4", "translit(GIT, A-Z, a-z) # X len(a)\n", "git # X len(a)\n"),
        ("m4", "changequote([, ])define([x], [y])x\n", "y\n"),
        ("m4", "esyscmd(`echo hi')ok\n", "hi\nok\n"),
    ] {
        assert_eq!(printed(script, input), output, "{script} of {input}");
    }
}

#[test]
fn listings_stay_listings() {
    for filter in [
        "sort -r",
        "uniq -c",
        "tac",
        "rev",
        "head -n 3",
        "tail -n +2",
        "cut -c1-",
        "tr a b",
        "sed 1d",
        "sed '/x/d'",
        "sed -n '2,$p'",
        "sed 's/^//'",
        "grep -v x",
        "nl",
        "column -t",
        "fold",
        "shuf",
        "cat -n",
        "expand",
        "sed 5q",
        "sed -n '/x/p'",
    ] {
        let text = printed(&format!("ls | {filter}"), "");
        assert!(text.contains(STAR) || filter.contains("/x/p"), "{filter}: {text:?}");
        assert!(text.contains(crate::marks::is_mark), "{filter}: {text:?}");
    }
}

#[test]
fn unknown_text_never_becomes_known() {
    for filter in [
        "sort",
        "sed 's/a/b/'",
        "sed -n 's/a/b/p'",
        "tr a-z A-Z",
        "head -n 1",
        "base64",
        "wc -l",
        "od -c",
        "xxd -p",
        "cut -d: -f1",
    ] {
        let text = printed(&format!("cat elsewhere | {filter}"), "");
        assert!(text.contains(crate::marks::is_mark), "{filter}: {text:?}");
    }
    for script in [
        "sort --by-magic",
        "sort -R",
        "shuf",
        "sed --magic p",
        "sed l",
        "sed 'k'",
        "cut -f",
        "tr a",
        "od -t x1 -t c",
        "bc --magic",
        "grep -E '(?=a)'",
        "numfmt --to=what 5",
        "sed ':a;ba'",
        "seq 1 100000000",
    ] {
        let text = printed(script, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\nb\n");
        assert!(text.contains(UNKNOWN) || text == format!("{}\n", crate::marks::SOME), "{script}: {text:?}");
    }
}
