//! Going on where the parser does not understand a script, because bash may understand it.
//!
//! bash takes `${…}`, backquotes, arithmetic and the bodies of here-documents for opaque text until it expands them. It has
//! run everything before by then. So a fault in one of those is an unknown word here and no end. A fault elsewhere ends
//! bash's own parse, or is a gap of this parser: the walk goes on behind it, and the verdict says so.
//!
//! Invariant: every recovery moves forward, and text that is parsed again is paid for.

use super::ast::List;
use super::commands::CLOSERS;
use super::{ParseResult, ParseStop, Parser};

/// Reserved words behind which a command can start.
const OPENERS: [&str; 10] = ["{", "if", "while", "until", "for", "select", "case", "!", "time", "coproc"];

/// A place where the parser did not understand the script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParseFault {
    /// The first byte of the command.
    pub start: usize,
    /// The byte that does not fit; the end of the text if the command never ends.
    pub at: usize,
    /// True if the text ended inside of the command.
    pub is_open: bool,
}

impl Parser<'_> {
    /// The next commands up to the end of their line, or up to a fault, and that fault. None at the end of the text.
    ///
    /// After a fault, the next call continues behind it. The error is [`ParseStop::Budget`]; nothing can be read after it.
    pub fn line_or_fault(&mut self) -> Result<Option<(List, Option<ParseFault>)>, ParseStop> {
        let mut items = Vec::new();
        let mut start = self.at;
        let line_depth = std::mem::replace(&mut self.line_depth, self.depth);
        self.last_joint = None;
        let stop = loop {
            let parsed = if items.is_empty() { self.skip_lines() } else { Ok(()) };
            if parsed.is_ok() && self.at >= self.end {
                break None;
            }
            start = self.at;
            match parsed.and_then(|()| self.item()) {
                Ok(item) => items.push(item),
                Err(stop) => break Some(stop),
            }
            self.skip_blanks();
            if self.peek() == Some(b'\n') {
                break self.newline().err();
            }
        };
        let joint = self.last_joint.take().filter(|joint| joint.start >= start);
        self.line_depth = line_depth;
        match stop {
            None if items.is_empty() => Ok(None),
            None => Ok(Some((List { items }, None))),
            Some(ParseStop::Budget) => Err(ParseStop::Budget),
            Some(ParseStop::Syntax) => {
                self.has_fault = true;
                let fault = ParseFault { start, at: self.at, is_open: self.at >= self.end };
                match joint {
                    // The commands before the last `&&` or `|` were understood.
                    Some(joint) if self.pay_for_rescan(joint.start - start) => {
                        self.pending.clear();
                        self.at = start;
                        items.extend(self.bounded(joint.start, Self::item));
                        self.at = joint.end;
                    }
                    _ => self.resume_behind(start),
                }
                Ok(Some((List { items }, Some(fault))))
            }
        }
    }

    /// Moves to where a command may start, behind a command that was not understood.
    ///
    /// Behind a word or a sign that opens or closes something that is the next byte, so that the commands inside are
    /// judged. Otherwise it is the next line.
    fn resume_behind(&mut self, start: usize) {
        let failed = self.at;
        self.pending.clear();
        self.at = start;
        if self.pay_for_rescan(failed.saturating_sub(start)) {
            let word = self.reserved_word();
            if OPENERS.contains(&word) || CLOSERS.contains(&word) {
                self.at += word.len();
                return;
            }
            if matches!(self.peek(), Some(b'(' | b')' | b';' | b'&' | b'|')) {
                self.at += 1;
                return;
            }
            // The body of a function is judged where it stands.
            let name = self.bare_word().len();
            let head = self.rest().get(name..).unwrap_or("").trim_start_matches([' ', '\t']);
            if let Some(body) = head.strip_prefix("()") {
                self.at = self.end - body.len();
                return;
            }
        } else {
            self.at = failed.max(start);
        }
        let rest = self.rest();
        self.at += rest.find('\n').map_or(rest.len(), |found| found + 1);
    }

    /// The commands of a text that bash parses only when it gets there: those before a fault, and those that can be read behind it.
    pub(super) fn lenient_list(&mut self) -> ParseResult<List> {
        let mut items = Vec::new();
        while let Some((line, _)) = self.line_or_fault()? {
            items.extend(line.items);
        }
        // Here-documents that were announced on the last line have no body.
        self.pending.clear();
        Ok(List { items })
    }

    /// Notes that `&&`, `||` or `|` of the line itself was passed, which began at `start`.
    pub(super) fn note_joint(&mut self, start: usize) {
        if self.depth == self.line_depth {
            self.last_joint = Some(start..self.at);
        }
    }

    /// Pays for text that is parsed again; false once that is too much.
    fn pay_for_rescan(&mut self, bytes: usize) -> bool {
        self.pay(bytes.saturating_mul(4)).is_ok()
    }

    /// The place behind the sign that closes a group, which began before `from`; none if the text ends first.
    ///
    /// This is how bash finds the end of text that it does not parse yet: it knows quotes, backquotes and nested groups.
    pub(super) fn behind_matching(&mut self, from: usize, group: MatchedGroup) -> ParseResult<Option<usize>> {
        let end = self.source.get(..self.end).and_then(|text| matching(text.as_bytes(), from, group));
        self.pay(end.unwrap_or(self.end).saturating_sub(from))?;
        Ok(end)
    }

    /// Passes the rest of a group that means nothing to this parser.
    pub(super) fn skip_group(&mut self, group: MatchedGroup) -> ParseResult<()> {
        match self.behind_matching(self.at, group)? {
            Some(end) => self.at = end,
            None => return self.unclosed(),
        }
        Ok(())
    }

    /// The fault of something that the text ends inside of.
    pub(super) fn unclosed<T>(&mut self) -> ParseResult<T> {
        self.at = self.end;
        Err(ParseStop::Syntax)
    }
}

/// Text that ends where a sign closes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MatchedGroup {
    /// `${…}`: the first brace closes it.
    Brace,
    /// `(…)` of an expression.
    Parenthesis,
    /// `$(…)`: has comments.
    Command,
    /// `[…]`.
    Bracket,
    Backquote,
    Double,
}

impl MatchedGroup {
    fn closer(self) -> u8 {
        match self {
            Self::Brace => b'}',
            Self::Parenthesis | Self::Command => b')',
            Self::Bracket => b']',
            Self::Backquote => b'`',
            Self::Double => b'"',
        }
    }

    fn opener(self) -> Option<u8> {
        match self {
            Self::Parenthesis | Self::Command => Some(b'('),
            Self::Bracket => Some(b'['),
            Self::Brace | Self::Backquote | Self::Double => None,
        }
    }
}

fn matching(text: &[u8], from: usize, group: MatchedGroup) -> Option<usize> {
    let mut groups = vec![(group, 1_usize)];
    let mut at = from;
    loop {
        let byte = *text.get(at)?;
        let (group, open) = groups.last_mut()?;
        at += 1;
        match byte {
            b'\\' => at += 1,
            _ if byte == group.closer() => {
                *open -= 1;
                if *open == 0 {
                    groups.pop();
                    if groups.is_empty() {
                        return Some(at);
                    }
                }
            }
            // Backquotes are looked into only when they run.
            _ if *group == MatchedGroup::Backquote => {}
            _ if group.opener() == Some(byte) => *open += 1,
            b'\'' if *group != MatchedGroup::Double => {
                let ansi = at >= 2 && text.get(at - 2) == Some(&b'$');
                at = behind_single_quote(text, at, ansi)?;
            }
            b'"' => groups.push((MatchedGroup::Double, 1)),
            b'`' => groups.push((MatchedGroup::Backquote, 1)),
            b'$' => {
                let inner = match text.get(at) {
                    Some(b'(') => MatchedGroup::Command,
                    Some(b'{') => MatchedGroup::Brace,
                    Some(b'[') => MatchedGroup::Bracket,
                    _ => continue,
                };
                at += 1;
                groups.push((inner, 1));
            }
            b'#' if *group == MatchedGroup::Command => {
                let begins_word = text.get(at.saturating_sub(2)).is_some_and(|before| b" \t\n;(&|".contains(before));
                if begins_word {
                    at += text.get(at..)?.iter().position(|byte| *byte == b'\n')?;
                }
            }
            _ => {}
        }
    }
}

fn behind_single_quote(text: &[u8], from: usize, ansi: bool) -> Option<usize> {
    let mut at = from;
    loop {
        match *text.get(at)? {
            b'\'' => return Some(at + 1),
            b'\\' if ansi => at += 2,
            _ => at += 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The plain first words of all commands that are found, and how many faults there are.
    fn found(script: &str) -> (Vec<String>, usize) {
        let (mut names, mut faults) = (Vec::new(), 0);
        let mut parser = Parser::new(script);
        while let Ok(Some((line, fault))) = parser.line_or_fault() {
            crate::visit::each_simple(&line, &mut |simple| {
                names.extend(simple.words.first().and_then(|word| word.plain()).map(str::to_owned));
            });
            faults += usize::from(fault.is_some());
        }
        (names, faults)
    }

    #[test]
    fn commands_around_a_fault_are_found() {
        for script in [
            "x\necho )\nx",
            "x; echo )\nx",
            "{ x; echo ); }\nx",
            "if a; then\nx\necho (\nfi\nx",
            "f() { x; echo ); }\nx",
            "for a in b; do x; ) done\nx",
            "x && (x\n",
        ] {
            let (names, faults) = found(script);
            assert_eq!(names.iter().filter(|name| *name == "x").count(), 2, "{script:?}: {names:?}");
            assert!(faults > 0, "{script:?}");
        }
    }

    #[test]
    fn a_fault_that_bash_meets_late_is_none_here() {
        for script in [
            "a ${b.c}\nx",
            "a ${{ b }} ${} ${b c} ${(%):-%x} ${=b} \"${b.c}\"\nx",
            "a \"explain `if` and `for`\"\nx",
            "a <<E\na ` b\nE\nx",
            "a <<E\na ${ b\nE\nx",
            "a <<E\na $( b\nE\nx",
            "a $((b) && (c))\nx",
            "a $((b c)\nx)",
        ] {
            let (names, faults) = found(script);
            assert_eq!((names.contains(&"x".to_owned()), faults), (true, 0), "{script:?}: {names:?}");
        }
    }

    #[test]
    fn many_faults_take_linear_time() {
        for line in ["if x; then (\n", "{ a\n", "f() {\n", "a 'b\n", "(((\n", "a ${b[$(c)] d\n", "a $((b\n"] {
            found(&line.repeat(2_000));
        }
    }
}
