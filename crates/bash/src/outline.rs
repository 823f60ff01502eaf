//! The outline of a script, for crates that change a part of it and leave every other byte alone.
//!
//! An answer holds for every bash, with any variables and files. It is none if that is in doubt.

use std::ops::Range;

use super::LONGEST_SCRIPT;
use super::Parser;
use super::ast::{
    AndOrList, Joint, List, Param, ParamChange, Pipeline, ShellCommand, ShellWord, SimpleCommand, WordPiece,
};
use super::visit::each_simple;

/// A script that was parsed to its end.
#[derive(Debug)]
pub struct Outline<'a> {
    script: &'a str,
    lines: Vec<List>,
    stretches: Vec<Stretch>,
}

/// Text in a word that means itself, unless it is a pattern or begins with a tilde.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stretch {
    /// Its range in the script, in bytes.
    pub range: Range<usize>,
    /// The quotes around it.
    pub quoting: Quoting,
    /// The whole word around it, quotes included. The value of an assignment is a word of its own. Where bash knows no
    /// words (an index, an arithmetic expression), this is `range`.
    pub word: Range<usize>,
}

/// The quotes around text. Text between `$'` and `'`, in a comment or in a here-document makes no stretch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quoting {
    /// Not at all.
    Bare,
    /// Between double quotes.
    Double,
    /// Between single quotes, where every character means itself.
    Single,
}

impl Quoting {
    /// The quote before and behind such text; empty if there is none.
    pub fn mark(self) -> &'static str {
        match self {
            Self::Bare => "",
            Self::Double => "\"",
            Self::Single => "'",
        }
    }
}

/// A word whose value can be told from its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlainWord {
    /// Its value; with a tilde that stands for the home directory at its beginning, if `tilde` is set.
    pub text: String,
    /// True if it begins with `~` or `~/` that bash would replace.
    pub tilde: bool,
}

/// `words && …`, at the beginning of a script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leading {
    /// The command and its arguments.
    pub words: Vec<PlainWord>,
    /// The text of the command alone.
    pub command: Range<usize>,
    /// From its beginning to that of the command behind `&&`.
    pub range: Range<usize>,
}

/// `… | words`, where that is all that a script does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LastStage {
    /// The command and its arguments.
    pub words: Vec<PlainWord>,
    /// From the `|` to its end.
    pub range: Range<usize>,
    /// True if it is `|&`.
    pub both: bool,
}

impl<'a> Outline<'a> {
    /// Parses a script; none if bash would not accept all of it, or if it is too long or too deep to be sure.
    ///
    /// ```
    /// use bashful_bash::Outline;
    ///
    /// let outline = Outline::of("cd 'my project' && make").expect("it parses");
    /// assert_eq!(outline.leading().expect("there is one").words[1].text, "my project");
    /// assert!(outline.last_stage().is_none());
    /// ```
    pub fn of(script: &'a str) -> Option<Self> {
        // A carriage return is a letter to bash, and was taken for a blank here.
        if script.len() > LONGEST_SCRIPT || script.contains('\r') {
            return None;
        }
        let (outline, is_complete) = Self::parse(script);
        is_complete.then_some(outline)
    }

    /// Parses a script up to its first error, as far as bash would run it. Looks at the first MiB alone.
    pub fn before_error(script: &'a str) -> Self {
        let length = script.floor_char_boundary(LONGEST_SCRIPT);
        Self::parse(script.get(..length).unwrap_or("")).0
    }

    /// The lines before the first error, and true if there is none.
    fn parse(script: &'a str) -> (Self, bool) {
        let mut parser = Parser { stretches: Some(Vec::new()), ..Parser::new(script) };
        let mut lines = Vec::new();
        let is_complete = loop {
            match parser.line() {
                Ok(Some(line)) => lines.push(line),
                Ok(None) => break true,
                Err(_) => break false,
            }
        };
        let mut stretches = parser.stretches.take().unwrap_or_default();
        // The parser may have read a part again, in another way.
        stretches.sort_by_key(|stretch| stretch.range.start);
        let mut end = 0;
        stretches.retain(|stretch| {
            let is_new = stretch.range.start >= end;
            end = end.max(stretch.range.end);
            is_new
        });
        for stretch in stretches.iter_mut().filter(|stretch| stretch.word.is_empty()) {
            stretch.word = stretch.range.clone();
        }
        (Self { script, lines, stretches }, is_complete)
    }

    /// The text in its words, in order.
    pub fn stretches(&self) -> &[Stretch] {
        &self.stretches
    }

    /// The command that the script begins with, if `&&` follows.
    pub fn leading(&self) -> Option<Leading> {
        let item = self.lines.first()?.items.first()?;
        let AndOrList { first, rest, background: false, .. } = item else { return None };
        let (Joint::And, next) = rest.first()? else { return None };
        let ([ShellCommand::Simple(only)], false) = (first.stages.as_slice(), first.prefixed) else { return None };
        let command = only.extent.start..only.extent.end;
        Some(Leading { words: self.plain_words(only)?, range: command.start..next.extent.start, command })
    }

    /// The files that `source` and `.` name anywhere in the script, where the name can be told from the text.
    ///
    /// A leading `$HOME` is told as the tilde that means the same.
    ///
    /// ```
    /// use bashful_bash::Outline;
    ///
    /// let outline = Outline::before_error("[ -r ~/.x ] && . \"$HOME/.x\"");
    /// assert_eq!(outline.sourced_files()[0].text, "~/.x");
    /// ```
    pub fn sourced_files(&self) -> Vec<PlainWord> {
        let mut files = Vec::new();
        let mut note = |simple: &SimpleCommand| {
            let [command, file, ..] = simple.words.as_slice() else { return };
            if matches!(command.literal().as_deref(), Some("." | "source")) {
                files.extend(self.plain_word(&with_tilde_for_home(file)));
            }
        };
        self.lines.iter().for_each(|line| each_simple(line, &mut note));
        files
    }

    /// The last stage, if the script is one pipeline of several.
    pub fn last_stage(&self) -> Option<LastStage> {
        let [line] = self.lines.as_slice() else { return None };
        let [AndOrList { first, rest, background: false, .. }] = line.items.as_slice() else { return None };
        if first.prefixed || !rest.is_empty() || self.starts_with_keyword(first) {
            return None;
        }
        let ([.., before, ShellCommand::Simple(last)], Some(pipe)) = (first.stages.as_slice(), first.pipes.last())
        else {
            return None;
        };
        let between = self.script.get(pipe.extent.end..last.extent.start)?.replace("\\\n", "");
        // The body of a here-document may stand there.
        if matches!(before, ShellCommand::Function { .. }) || !between.trim().is_empty() {
            return None;
        }
        let range = pipe.extent.start..last.extent.end;
        Some(LastStage { words: self.plain_words(last)?, range, both: pipe.both })
    }

    /// The keyword alone tells a coprocess apart from the command that it runs.
    fn starts_with_keyword(&self, pipeline: &Pipeline) -> bool {
        self.script.get(pipeline.extent.start..).is_none_or(|text| text.starts_with("coproc"))
    }

    fn plain_words(&self, simple: &SimpleCommand) -> Option<Vec<PlainWord>> {
        if !simple.assigns.is_empty() || !simple.redirects.is_empty() {
            return None;
        }
        simple.words.iter().map(|word| self.plain_word(word)).collect()
    }

    fn plain_word(&self, word: &ShellWord) -> Option<PlainWord> {
        // The text of `$'…'` depends on the locale.
        if self.script.get(word.extent.start..word.extent.end)?.contains("$'") {
            return None;
        }
        let (mut text, mut tilde) = (String::new(), false);
        for (index, piece) in word.pieces.iter().enumerate() {
            match piece {
                WordPiece::Text(bare) => {
                    let is_home = |bare: &str| bare.starts_with("~/") || (bare == "~" && word.pieces.len() == 1);
                    tilde |= index == 0 && is_home(bare);
                    let rest = if tilde && index == 0 { &bare[1..] } else { bare };
                    if rest.contains(['~', '*', '?', '[', '{']) {
                        return None;
                    }
                    text.push_str(bare);
                }
                WordPiece::Quoted(quoted) => text.push_str(quoted),
                WordPiece::Double(inner) => {
                    for piece in inner {
                        let WordPiece::Text(quoted) = piece else { return None };
                        text.push_str(quoted);
                    }
                }
                _ => return None,
            }
        }
        Some(PlainWord { text, tilde })
    }
}

/// The word with a tilde in the place of a leading `$HOME`, quoted or not, that a slash follows.
fn with_tilde_for_home(word: &ShellWord) -> ShellWord {
    let is_home = |param: &Param| {
        let Param { name, index: None, indirect: false, length: false, change: ParamChange::None } = param else {
            return false;
        };
        name == "HOME"
    };
    let pieces = match word.pieces.as_slice() {
        [WordPiece::Param(param), WordPiece::Text(path), rest @ ..] if is_home(param) && path.starts_with('/') => {
            std::iter::once(WordPiece::Text(format!("~{path}"))).chain(rest.iter().cloned()).collect()
        }
        [WordPiece::Double(inner), rest @ ..] => match (inner.as_slice(), rest) {
            ([WordPiece::Param(param)], [WordPiece::Text(path), rest @ ..])
                if is_home(param) && path.starts_with('/') =>
            {
                std::iter::once(WordPiece::Text(format!("~{path}"))).chain(rest.iter().cloned()).collect()
            }
            ([WordPiece::Param(param), WordPiece::Text(path), more @ ..], rest)
                if is_home(param) && path.starts_with('/') =>
            {
                let below = WordPiece::Text(path.trim_start_matches('/').to_owned());
                let quoted = WordPiece::Double(std::iter::once(below).chain(more.iter().cloned()).collect());
                [WordPiece::Text("~/".to_owned()), quoted].into_iter().chain(rest.iter().cloned()).collect()
            }
            _ => return word.clone(),
        },
        _ => return word.clone(),
    };
    ShellWord { pieces, extent: word.extent }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn leading(script: &str) -> Option<(Vec<String>, &str)> {
        let leading = Outline::of(script)?.leading()?;
        let words = leading.words.into_iter().map(|word| word.text).collect();
        Some((words, &script[leading.range.end..]))
    }

    fn last(script: &str) -> Option<(Vec<String>, &str)> {
        let last = Outline::of(script)?.last_stage()?;
        let words = last.words.into_iter().map(|word| word.text).collect();
        Some((words, &script[..last.range.start]))
    }

    #[test]
    fn the_first_command_is_known_if_and_follows() {
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        assert_eq!(leading("cd a && ls"), Some((words(&["cd", "a"]), "ls")));
        assert_eq!(leading("# go\ncd 'a b'\"c\"\\ d &&\n  ! ls; pwd"), Some((words(&["cd", "a bc d"]), "! ls; pwd")));
        assert_eq!(leading("cd ~/x && ls || b"), Some((words(&["cd", "~/x"]), "ls || b")));
        for not in [
            "cd a || ls",
            "cd a; ls",
            "cd a && ls &",
            "! cd a && ls",
            "cd $a && ls",
            "cd a* && ls",
            "cd {a,b} && ls",
            "cd \"$(x)\" && ls",
            "cd a > b && ls",
            "A=b cd a && ls",
            "cd $'a' && ls",
            "cd a | b && ls",
            "(cd a && ls)",
            "cd a\r && ls",
            "cd a && 'open",
        ] {
            assert_eq!(leading(not), None, "{not}");
        }
    }

    #[test]
    fn a_tilde_is_only_one_where_bash_replaces_it() {
        let tilde = |script: &str| Outline::of(script)?.leading()?.words.get(1).map(|word| word.tilde);
        assert_eq!(tilde("cd ~ && ls"), Some(true));
        assert_eq!(tilde("cd ~/\"x y\" && ls"), Some(true));
        assert_eq!(tilde("cd '~/x' && ls"), Some(false));
        assert_eq!(tilde("cd \\~/x && ls"), Some(false));
        for unknown in ["cd ~root && ls", "cd ~\"/x\" && ls", "cd x=~/y && ls", "cd ~+ && ls"] {
            assert_eq!(tilde(unknown), None, "{unknown}");
        }
    }

    #[test]
    fn the_last_stage_is_known_if_there_is_nothing_else() {
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        assert_eq!(last("a 2>&1 | head -5"), Some((words(&["head", "-5"]), "a 2>&1 ")));
        assert_eq!(last("a | b |& tail  -n '3' ; # so"), Some((words(&["tail", "-n", "3"]), "a | b ")));
        assert_eq!(last("{ a; b; } |\n\\\n head"), Some((words(&["head"]), "{ a; b; } ")));
        assert_eq!(last("cat <<E | head -2\nx\nE\n"), Some((words(&["head", "-2"]), "cat <<E ")));
        for not in [
            "a",
            "a; b | head",
            "a && b | head",
            "a\nb | head",
            "a | head &",
            "! a | head",
            "time a | head",
            "a | head > f",
            "a | X=y head",
            "a | head $n",
            "a | (head)",
            "coproc a | head",
            "cat <<E |\nx\nE\nhead -2",
            "f() { a; } | head",
            "a | head # '\n'",
            "a || head",
        ] {
            assert_eq!(last(not), None, "{not}");
        }
    }

    #[test]
    fn text_is_told_with_its_quotes_and_without_what_is_none() {
        use Quoting::{Bare, Double, Single};
        let texts = |script: &'static str| -> Vec<(&str, Quoting)> {
            let outline = Outline::of(script).expect("it parses");
            outline.stretches().iter().map(|stretch| (&script[stretch.range.clone()], stretch.quoting)).collect()
        };
        assert_eq!(texts("cat a://b \"c d\" # no"), [("cat", Bare), ("a://b", Bare), ("c d", Double)]);
        assert_eq!(texts("'a \"b'\"c\"'' $'no'"), [("a \"b", Single), ("c", Double)]);
        assert_eq!(texts("x=a://b <c://d"), [("a://b", Bare), ("c://d", Bare)]);
        assert_eq!(texts("cat <<E\nno $(yes)\nE\n"), [("cat", Bare), ("yes", Bare)]);
        assert_eq!(texts("a \"$(b \"c\")\" `d`"), [("a", Bare), ("b", Bare), ("c", Double), ("d", Bare)]);
        assert_eq!(texts("${x:-no} \"${x:=no}\""), []);
    }

    #[test]
    fn text_that_is_parsed_twice_is_told_once() {
        // The commands in these backticks are not complete, and are read once more to get past them.
        for script in ["`a&&`", "`{#&&`", "`(}a}&&`", "`case x in `a${}"] {
            let outline = Outline::of(script).expect("bash reads it");
            let ranges: Vec<_> = outline.stretches().iter().map(|stretch| stretch.range.clone()).collect();
            assert!(
                !ranges.is_empty() && ranges.windows(2).all(|pair| pair[0].end <= pair[1].start),
                "{script}: {ranges:?}"
            );
        }
    }

    #[test]
    fn text_is_told_with_the_word_around_it() {
        let words = |script: &'static str| -> Vec<&str> {
            let outline = Outline::of(script).expect("it parses");
            outline.stretches().iter().map(|stretch| &script[stretch.word.clone()]).collect()
        };
        assert_eq!(words("a --b=\"c d\"e"), ["a", "--b=\"c d\"e", "--b=\"c d\"e", "--b=\"c d\"e"]);
        assert_eq!(words("x=a y[1]=b z=([2]=c)"), ["a", "b", "c"]);
        assert_eq!(words("\"a $(b \"c\") d\""), ["\"a $(b \"c\") d\"", "b", "\"c\"", "\"a $(b \"c\") d\""]);
        assert_eq!(words("a\\ b\\\nc"), ["a\\ b\\\nc"; 3]);
        assert_eq!(words("[[ a =~ \"b\" ]]"), ["a", "=~", "\"b\""]);
        assert_eq!(words("(( \"a\" ))"), ["a"]);
    }

    #[test]
    fn sourced_files_are_told_where_their_names_are_plain() {
        #[track_caller]
        fn check(script: &str, expected: &[&str]) {
            let files = Outline::before_error(script).sourced_files();
            let texts: Vec<&str> = files.iter().map(|file| file.text.as_str()).collect();
            assert_eq!(texts, expected, "{script}");
            assert!(files.iter().all(|file| file.tilde == file.text.starts_with('~')), "{script}");
        }
        check("if [ -f ~/a ]; then\n    . ~/a\nfi", &["~/a"]);
        check("source \"$HOME/a\"; . '/etc/b'", &["~/a", "/etc/b"]);
        check("\\. ${HOME}/a; . \"$HOME\"/b; . \"$HOME/c d/$x\"", &["~/a", "~/b"]);
        check("f() { x=$(. /etc/a); }", &["/etc/a"]);
        check(". /etc/a\necho 'open\n. /etc/b", &["/etc/a"]);
        check("# . /etc/a\necho '. /etc/b' \". /etc/c\"", &[]);
        check(". \"$X/a\"; . ${HOME:-x}/b; . /etc/*.sh; . <(echo)\nsource", &[]);
    }
}
