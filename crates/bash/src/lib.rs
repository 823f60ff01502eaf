//! Parses bash, one complete line at a time, as bash itself does.
//!
//! ```
//! use bashful_bash::ast::ShellCommand;
//! use bashful_bash::{Outline, Parser};
//!
//! // bash has run the first line by the time it meets the error in the second.
//! let mut parser = Parser::new("make \"$target\" || exit\necho )");
//! let (line, fault) = parser.line_or_fault()?.expect("there is a first line");
//! let ShellCommand::Simple(make) = &line.items[0].first.stages[0] else { panic!("make is a simple command") };
//! assert_eq!(make.words[0].plain(), Some("make"));
//! assert_eq!(fault, None);
//! let (_, fault) = parser.line_or_fault()?.expect("there is a second line");
//! assert_eq!(fault.expect("the parenthesis does not fit").at, 28);
//!
//! // A program that changes one part of a script asks for the places of the parts.
//! let outline = Outline::of("cd src && make").expect("it parses");
//! assert_eq!(outline.leading().expect("`&&` follows").range, 0..10);
//! # Ok::<(), bashful_bash::ParseStop>(())
//! ```
//!
//! [`Parser`] makes the tree in [`ast`]. [`Outline`], [`Opening`] and [`mentioned_names`] answer the questions of programs
//! that need no tree.
//!
//! The parser is written by hand. The parsers that can be had in Rust are built for well-formed scripts: one takes
//! exponential time over a few dozen unclosed parentheses and overflows the stack on two thousand nested `if`s, others do
//! not know `select`, `for ((;;))` or a here-document without its end. A program that reads the scripts of a model meets
//! exactly those inputs, and has to tell which of the lines before an error would already have run.
//!
//! Pure: no file, no clock, no process, no thread. Invariant: time is linear in the length of the text, the tree is
//! bounded by `MOST_PARTS`, and the stack by `DEEPEST`. There is no backtracking; the few places that look ahead pay for it out of one purse.

pub mod ast;
mod commands;
mod compound;
mod mention;
mod opening;
mod outline;
mod params;
mod recover;
mod visit;
mod words;

pub use mention::mentioned_names;
pub use opening::{Opening, OpeningKind};
pub use outline::{LastStage, Leading, Outline, PlainWord, Quoting, Stretch};
pub use recover::ParseFault;
pub use words::unescape;

use std::cell::OnceCell;
use std::ops::{Range, RangeInclusive};
use std::rc::Rc;

use ast::{List, ShellWord, SourceExtent};

/// The longest script that [`Outline`] and [`Opening`] look at, in bytes. Files written by here-documents are in scripts,
/// and longer ones are no text of a person or a model.
pub const LONGEST_SCRIPT: usize = 1 << 20;

/// Characters of a private area that no escape in a script makes. A caller may use them for marks of its own.
pub const MARKS: RangeInclusive<char> = '\u{10F000}'..='\u{10F01F}';

/// The deepest nesting of commands and expansions. Scripts that people write stay below ten; this many levels need less
/// than half of the smallest stack in use, also without optimization.
const DEEPEST: usize = 64;

/// The most bytes that the parser may read ahead in one text, as a multiple of its length.
const LOOK_AHEAD: usize = 24;

/// The most words, quotes and commands of one text. A tree of so many takes 40 MB and 40 ms. The text of a here-document is one word,
/// and the longest script that fits into an argument has 65,536.
const MOST_PARTS: usize = 80_000;

/// Why parsing ended before the text did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ParseStop {
    /// bash would not accept it either, or stop here for more.
    Syntax,
    /// Too deep, too many words, or too much to look through.
    Budget,
}

/// A part of a script, or why there is none.
type ParseResult<T> = Result<T, ParseStop>;

/// A here-document that was announced on the line being parsed.
#[derive(Debug)]
struct PendingDocument {
    mark: String,
    literal: bool,
    strip_tabs: bool,
    body: Rc<OnceCell<ShellWord>>,
}

/// Reads a script, line by line.
#[derive(Debug)]
pub struct Parser<'a> {
    source: &'a str,
    at: usize,
    /// The end of the part that is being parsed.
    end: usize,
    depth: usize,
    ahead: usize,
    parts_left: usize,
    pending: Vec<PendingDocument>,
    /// The depth of the line that is being parsed, and the last sign that joins two commands at that depth.
    line_depth: usize,
    last_joint: Option<Range<usize>>,
    /// A part of the text was not understood.
    has_fault: bool,
    /// Set if the text is not a part of the script: everything in it is said to be where it came from.
    pinned: Option<SourceExtent>,
    /// The places of words, if the caller asked for them.
    stretches: Option<Vec<Stretch>>,
}

impl<'a> Parser<'a> {
    /// A parser for a whole script.
    pub fn new(source: &'a str) -> Self {
        let ahead = source.len().saturating_mul(LOOK_AHEAD).max(1 << 12);
        Self {
            source,
            at: 0,
            end: source.len(),
            depth: 0,
            ahead,
            parts_left: MOST_PARTS,
            pending: Vec::new(),
            line_depth: 0,
            last_joint: None,
            has_fault: false,
            pinned: None,
            stretches: None,
        }
    }

    /// A parser for a part of a text. Extents count from the beginning of the whole text.
    pub fn within(source: &'a str, range: Range<usize>) -> Self {
        Self { at: range.start, end: range.end, ..Self::new(source) }
    }

    /// A parser for text that the script puts together while it runs.
    pub fn derived(source: &'a str, from: SourceExtent) -> Self {
        Self { pinned: Some(from), ..Self::new(source) }
    }

    /// The next commands up to the end of their line, or none at the end of the text.
    fn line(&mut self) -> ParseResult<Option<List>> {
        self.skip_lines()?;
        if self.at >= self.end {
            return Ok(None);
        }
        let mut items = Vec::new();
        loop {
            items.push(self.item()?);
            self.skip_blanks();
            match self.peek() {
                None => break,
                Some(b'\n') => {
                    self.newline()?;
                    break;
                }
                Some(_) => {}
            }
        }
        Ok(Some(List { items }))
    }

    /// Notes that the letters since `start` are text of a word.
    fn note(&mut self, start: usize, quoting: Quoting) {
        let Some(stretches) = &mut self.stretches else { return };
        match stretches.last_mut() {
            Some(last) if last.range.end == start && last.quoting == quoting => last.range.end = self.at,
            _ => stretches.push(Stretch { range: start..self.at, quoting, word: 0..0 }),
        }
    }

    /// Runs `inner`, which parses one word, and notes that word with every stretch in it.
    ///
    /// A word inside of a substitution has finished by then, and its stretches keep it.
    fn noting_word<T>(&mut self, inner: impl FnOnce(&mut Self) -> ParseResult<T>) -> ParseResult<T> {
        let (start, first) = (self.at, self.stretches.as_ref().map_or(0, Vec::len));
        let parsed = inner(self)?;
        for stretch in self.stretches.iter_mut().flat_map(|stretches| stretches.iter_mut().skip(first)) {
            if stretch.word.is_empty() {
                stretch.word = start..self.at;
            }
        }
        Ok(parsed)
    }

    /// The number of notes so far, for [`Self::forget_since`].
    fn noted(&self) -> (usize, usize) {
        (self.stretches.as_ref().map_or(0, Vec::len), self.pending.len())
    }

    /// Drops the notes of a parse that turned out to be wrong.
    fn forget_since(&mut self, (stretches, pending): (usize, usize)) {
        if let Some(noted) = &mut self.stretches {
            noted.truncate(stretches);
        }
        self.pending.truncate(pending);
    }

    fn extent(&self, start: usize) -> SourceExtent {
        self.extent_of(start, self.at)
    }

    /// A part of this text by its place in the script.
    pub fn extent_of(&self, start: usize, end: usize) -> SourceExtent {
        self.pinned.unwrap_or(SourceExtent { start, end })
    }

    /// The whole text, also if only a part of it is parsed.
    pub fn source(&self) -> &'a str {
        self.source
    }

    fn peek(&self) -> Option<u8> {
        self.ahead(0)
    }

    fn ahead(&self, by: usize) -> Option<u8> {
        let at = self.at + by;
        if at < self.end { self.source.as_bytes().get(at).copied() } else { None }
    }

    fn rest(&self) -> &'a str {
        self.source.get(self.at..self.end).unwrap_or("")
    }

    fn starts_with(&self, text: &str) -> bool {
        self.rest().starts_with(text)
    }

    fn take(&mut self, text: &str) -> bool {
        let found = self.starts_with(text);
        if found {
            self.at += text.len();
        }
        found
    }

    fn expect(&mut self, text: &str) -> ParseResult<()> {
        if self.take(text) { Ok(()) } else { Err(ParseStop::Syntax) }
    }

    /// Runs `inner` one level deeper.
    fn deeper<T>(&mut self, inner: impl FnOnce(&mut Self) -> ParseResult<T>) -> ParseResult<T> {
        if self.depth >= DEEPEST {
            return Err(ParseStop::Budget);
        }
        self.depth += 1;
        let parsed = inner(self);
        self.depth -= 1;
        parsed
    }

    /// Runs `inner` as if the text ended at `end`.
    fn bounded<T>(&mut self, end: usize, inner: impl FnOnce(&mut Self) -> ParseResult<T>) -> ParseResult<T> {
        let before = std::mem::replace(&mut self.end, end);
        let parsed = inner(self);
        self.end = before;
        parsed
    }

    /// Parses another text, all of it, with the depth and the parts that are left.
    fn aside(&mut self, source: &str, from: SourceExtent) -> ParseResult<List> {
        let mut parser = Parser { depth: self.depth, parts_left: self.parts_left, ..Parser::derived(source, from) };
        let parsed = parser.deeper(Parser::lenient_list);
        self.parts_left = parser.parts_left;
        parsed
    }

    /// Pays for bytes that were looked at ahead.
    fn pay(&mut self, bytes: usize) -> ParseResult<()> {
        self.ahead = self.ahead.checked_sub(bytes).ok_or(ParseStop::Budget)?;
        Ok(())
    }

    /// Counts a word, a quoted part or a command.
    fn count_part(&mut self) -> ParseResult<()> {
        self.parts_left = self.parts_left.checked_sub(1).ok_or(ParseStop::Budget)?;
        Ok(())
    }

    /// Skips blanks and joined lines.
    fn skip_blanks(&mut self) {
        loop {
            match self.peek() {
                Some(b' ' | b'\t' | b'\r') => self.at += 1,
                Some(b'\\') if self.ahead(1) == Some(b'\n') => self.at += 2,
                // A comment starts where a word could.
                Some(b'#') => self.at += self.rest().find('\n').unwrap_or(self.rest().len()),
                _ => return,
            }
        }
    }

    /// Skips blanks, comments and ends of lines.
    fn skip_lines(&mut self) -> ParseResult<()> {
        loop {
            self.skip_blanks();
            if self.peek() != Some(b'\n') {
                return Ok(());
            }
            self.newline()?;
        }
    }

    /// Passes the end of a line, and the here-documents that follow it.
    fn newline(&mut self) -> ParseResult<()> {
        self.at += 1;
        for document in std::mem::take(&mut self.pending) {
            let word = self.here_document(&document)?;
            // Each is announced once, so its body is still unset.
            let _ = document.body.set(word);
        }
        Ok(())
    }

    /// A line of a here-document with the lines that backslashes join to it, which are passed; none if there are none.
    fn joined_line(&mut self, line: &str) -> Option<String> {
        let mut joined = line.to_owned();
        while (joined.len() - joined.trim_end_matches('\\').len()) & 1 == 1 && self.at < self.end {
            joined.pop();
            let next = self.rest().split('\n').next().unwrap_or("");
            joined.push_str(next);
            self.at = (self.at + next.len() + 1).min(self.end);
        }
        (joined != line).then_some(joined)
    }

    fn here_document(&mut self, document: &PendingDocument) -> ParseResult<ShellWord> {
        let start = self.at;
        let mut body_end = self.end;
        let mut has_end = false;
        while self.at < self.end {
            let line_start = self.at;
            let line = self.rest().split('\n').next().unwrap_or("");
            self.at = (self.at + line.len() + 1).min(self.end);
            let joined = if document.literal { None } else { self.joined_line(line) };
            let line = joined.as_deref().unwrap_or(line);
            let line = if document.strip_tabs { line.trim_start_matches('\t') } else { line };
            // In a text with carriage returns, the mark has one at both places.
            if line == document.mark || line.strip_suffix('\r') == Some(&document.mark) {
                body_end = line_start;
                has_end = true;
                break;
            }
        }
        // Behind a fault it may be no here-document at all, and then it hides nothing.
        if self.has_fault && !has_end {
            self.at = start;
            return Ok(ShellWord::default());
        }
        let after = self.at;
        if document.literal {
            let mut text = self.source.get(start..body_end).unwrap_or("").to_owned();
            if document.strip_tabs {
                strip_tabs(&mut text, true);
            }
            return Ok(ShellWord { pieces: vec![ast::WordPiece::Quoted(text)], extent: self.extent(start) });
        }
        self.at = start;
        let mut pieces = self.bounded(body_end, Self::here_document_pieces)?;
        if document.strip_tabs {
            let mut begins_line = true;
            for piece in &mut pieces {
                begins_line = match piece {
                    ast::WordPiece::Text(text) | ast::WordPiece::Quoted(text) => strip_tabs(text, begins_line),
                    _ => false,
                };
            }
        }
        // A here-document that a substitution in the body announces ends with the body.
        self.pending.clear();
        self.at = after;
        Ok(ShellWord { pieces, extent: self.extent(start) })
    }
}

/// Takes the tabs at the beginnings of lines away. Says whether the next text would begin a line.
fn strip_tabs(text: &mut String, begins_line: bool) -> bool {
    let mut is_begin = begins_line;
    text.retain(|letter| {
        let is_tab = is_begin && letter == '\t';
        is_begin = is_tab || letter == '\n';
        !is_tab
    });
    is_begin
}

/// Parses a whole text for tests: all of its lines, or why not.
#[cfg(test)]
pub(crate) fn lines(source: &str) -> ParseResult<Vec<List>> {
    let mut parser = Parser::new(source);
    let mut lines = Vec::new();
    while let Some(line) = parser.line()? {
        lines.push(line);
    }
    Ok(lines)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn parses(script: &str) {
        assert!(lines(script).is_ok(), "{script:?} parses");
    }

    #[track_caller]
    fn is_refused(script: &str) {
        assert!(matches!(lines(script), Err(ParseStop::Syntax)), "{script:?} does not parse");
    }

    #[test]
    fn what_other_parsers_stumble_over_parses() {
        parses("for ((i=0; i<3; i++)); do echo $i; done");
        parses("for ((;;)) { break; }");
        parses("select x in a b; do echo $x; done");
        parses("coproc cat");
        parses("coproc NAME { cat; }");
        parses("echo trailing \\");
        parses("cat <<EOF\nnever ends");
        parses("cat <<A <<'B'; echo x\na\nA\nb $(\nB\n");
        parses("cat <<-EOF\n\tbody\n\tEOF\necho after");
        parses("[[ $x =~ ^(a|b)[0-9]+$ && ! -e f || ( -n y ) ]]");
        parses("exec 3<>file {fd}>out &>all");
        parses("case $x in (a|b) echo;; c) ;& *) ;;& esac");
        parses("f() (echo); function g { echo; }; function h() { echo; }");
        parses("if (true) then echo; fi");
        parses("{ { echo a; } }");
        parses("echo ${x:-${y:-`z`}} ${x//a\\/b/c} ${#x} ${!x} ${x[@]:1:2} ${x^^} ${!p@} $[1+2] $((1+(2)))");
        parses("a[1]=2 b+=(x [3]=y) c=() declare");
        parses("echo $( (a); (b) ) $((1)); ((x))");
        parses("while read -r l; do echo \"$l\"; done < <(ls)");
        parses("! ! true | time -p ls |& cat &");
        parses("rm -rf !(keep|that) @(a|b)");
        parses("echo a#b '#' \"#\" # comment ' \" (");
        parses("if a; then b; elif c; then d; else e; fi >x 2>&1 <<<y");
        parses("time");
    }

    #[test]
    fn what_bash_refuses_is_refused() {
        for script in ["echo 'open", "(", "fi", "a | | b", "echo )", "if x; then y", "a && ", "${", "$(", "f() {"] {
            is_refused(script);
        }
    }

    #[test]
    fn deep_nesting_runs_out_of_budget_instead_of_stack() {
        for opener in ["(", "$(", "\"$(", "{ ", "if ", "`", "${x:-", "$((", "((", "a[$(", "<(", "while ", "f() ("] {
            let script = opener.repeat(20_001);
            assert!(lines(&script).is_err(), "{opener:?} is not closed");
        }
        let nested = format!("{}:{}", "if :; then ".repeat(2_000), "; fi".repeat(2_000));
        assert!(matches!(lines(&nested), Err(ParseStop::Budget)));
        let nested = format!("{}:{}", "if :; then ".repeat(30), "; fi".repeat(30));
        parses(&nested);
    }
}
