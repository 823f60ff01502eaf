//! Commands that hold other commands.

use std::rc::Rc;

use super::ast::{AndOrList, CaseArm, Compound, List, Pipeline, ShellCommand, ShellWord, WordPiece};
use super::recover::MatchedGroup;
use super::words::WordEnd;
use super::{ParseResult, ParseStop, Parser};

impl Parser<'_> {
    /// A compound command or a definition with a keyword, if one starts here.
    pub(super) fn compound(&mut self) -> ParseResult<Option<ShellCommand>> {
        let start = self.at;
        if self.peek() == Some(b'(') {
            let body = self.parenthesis()?;
            return self.finish(start, body).map(Some);
        }
        let keyword = self.reserved_word();
        let length = keyword.len();
        let (is_until, is_select) = (keyword == "until", keyword == "select");
        let body = match keyword {
            "{" => self.after(length, |parser| Ok(Compound::Group(parser.closed_by("}")?)))?,
            "if" => self.after(length, Self::conditional)?,
            "while" | "until" => self.after(length, |parser| {
                let condition = parser.closed_by("do")?;
                Ok(Compound::While { condition, body: parser.closed_by("done")?, is_until })
            })?,
            "for" | "select" => self.after(length, |parser| parser.for_loop(is_select))?,
            "case" => self.after(length, Self::case)?,
            "[[" => self.after(length, Self::test)?,
            "function" => {
                self.at += length;
                return self.keyword_function().map(Some);
            }
            "coproc" => {
                self.at += length;
                return self.coprocess(start).map(Some);
            }
            _ => return Ok(None),
        };
        self.finish(start, body).map(Some)
    }

    fn after(
        &mut self,
        length: usize,
        inner: impl FnOnce(&mut Self) -> ParseResult<Compound>,
    ) -> ParseResult<Compound> {
        self.at += length;
        inner(self)
    }

    fn finish(&mut self, start: usize, body: Compound) -> ParseResult<ShellCommand> {
        let redirects = self.redirects()?;
        Ok(ShellCommand::Compound { body: Box::new(body), redirects, extent: self.extent(start) })
    }

    /// A list and the word that closes it.
    fn closed_by(&mut self, closer: &str) -> ParseResult<List> {
        let list = self.list()?;
        self.keyword(closer)?;
        if list.items.is_empty() { Err(ParseStop::Syntax) } else { Ok(list) }
    }

    fn keyword(&mut self, keyword: &str) -> ParseResult<()> {
        if self.reserved_word() == keyword {
            self.at += keyword.len();
            Ok(())
        } else {
            Err(ParseStop::Syntax)
        }
    }

    fn parenthesis(&mut self) -> ParseResult<Compound> {
        if self.starts_with("((") && self.is_arithmetic()? {
            self.at += 2;
            return Ok(Compound::Arith(self.arithmetic()?));
        }
        self.at += 1;
        let list = self.list()?;
        self.expect(")")?;
        if list.items.is_empty() { Err(ParseStop::Syntax) } else { Ok(Compound::Subshell(list)) }
    }

    fn conditional(&mut self) -> ParseResult<Compound> {
        let mut arms = Vec::new();
        loop {
            let condition = self.closed_by("then")?;
            let body = self.list()?;
            arms.push((condition, body));
            let otherwise = match self.reserved_word() {
                "elif" => {
                    self.at += 4;
                    continue;
                }
                "else" => {
                    self.at += 4;
                    Some(self.list()?)
                }
                _ => None,
            };
            self.keyword("fi")?;
            return Ok(Compound::If { arms, otherwise });
        }
    }

    fn for_loop(&mut self, is_select: bool) -> ParseResult<Compound> {
        self.skip_blanks();
        if self.take("((") {
            let head = self.arithmetic()?;
            self.skip_blanks();
            self.take(";");
            return Ok(Compound::ForArith { head, body: self.loop_body()? });
        }
        let name = self.bare_word().to_owned();
        if name.is_empty() {
            return Err(ParseStop::Syntax);
        }
        self.at += name.len();
        self.skip_lines()?;
        let words = if self.reserved_word() == "in" {
            self.at += 2;
            let mut words = Vec::new();
            loop {
                self.skip_blanks();
                if !self.at_word() {
                    break;
                }
                words.push(self.word()?);
            }
            Some(words)
        } else {
            None
        };
        self.skip_blanks();
        self.take(";");
        Ok(Compound::For { name, is_select, words, body: self.loop_body()? })
    }

    fn loop_body(&mut self) -> ParseResult<List> {
        self.skip_lines()?;
        let closer = match self.reserved_word() {
            "do" => "done",
            "{" => "}",
            _ => return Err(ParseStop::Syntax),
        };
        self.at += if closer == "done" { 2 } else { 1 };
        self.closed_by(closer)
    }

    fn case(&mut self) -> ParseResult<Compound> {
        self.skip_blanks();
        let subject = self.word()?;
        self.skip_lines()?;
        self.keyword("in")?;
        let mut arms = Vec::new();
        loop {
            self.skip_lines()?;
            if self.reserved_word() == "esac" {
                self.at += 4;
                return Ok(Compound::Case { subject, arms });
            }
            self.take("(");
            let mut patterns = Vec::new();
            loop {
                self.skip_blanks();
                patterns.push(self.word()?);
                self.skip_blanks();
                if self.take(")") {
                    break;
                }
                self.expect("|")?;
            }
            let body = self.list()?;
            let falls_through = self.take(";;&") || !self.starts_with(";;") && self.take(";&");
            arms.push(CaseArm { patterns, body, falls_through });
            // The last arm needs no end of its own.
            if !falls_through && !self.take(";;") && self.reserved_word() != "esac" {
                return Err(ParseStop::Syntax);
            }
        }
    }

    /// The words between `[[` and `]]`; operators are left out.
    fn test(&mut self) -> ParseResult<Compound> {
        let mut words: Vec<ShellWord> = Vec::new();
        loop {
            self.skip_lines()?;
            if self.starts_with("]]") && self.reserved_word() == "]]" {
                self.at += 2;
                return Ok(Compound::Test(words));
            }
            let is_regex = words.last().is_some_and(|word| word.plain() == Some("=~"));
            let start = self.at;
            let operators = ["&&", "||", "(", ")"];
            if !is_regex && let Some(operator) = operators.into_iter().find(|operator| self.take(operator)) {
                let pieces = vec![WordPiece::Text(operator.to_owned())];
                words.push(ShellWord { pieces, extent: self.extent(start) });
                continue;
            }
            if !is_regex && (self.starts_with("<") || self.starts_with(">")) && self.ahead(1) != Some(b'(') {
                self.at += 1;
                continue;
            }
            let pieces = self.pieces(if is_regex { WordEnd::REGEX } else { WordEnd::WORD })?;
            if self.at == start {
                return Err(ParseStop::Syntax);
            }
            words.push(ShellWord { pieces, extent: self.extent(start) });
        }
    }

    fn keyword_function(&mut self) -> ParseResult<ShellCommand> {
        self.skip_blanks();
        let name = self.bare_word().to_owned();
        if name.is_empty() {
            return Err(ParseStop::Syntax);
        }
        self.at += name.len();
        self.skip_blanks();
        if self.starts_with("(") {
            let after = self.rest().get(1..).unwrap_or("").trim_start_matches([' ', '\t']);
            if let Some(after) = after.strip_prefix(')') {
                self.at = self.end - after.len();
            }
        }
        self.function_body(name)
    }

    /// `coproc [NAME] command`. The name is only a name before a compound command.
    fn coprocess(&mut self, start: usize) -> ParseResult<ShellCommand> {
        self.skip_blanks();
        let before = self.at;
        let name = self.bare_word().len();
        self.at += name;
        self.skip_blanks();
        let named = name > 0
            && (self.peek() == Some(b'(')
                || ["{", "if", "while", "until", "for", "case", "select", "[["].contains(&self.reserved_word()))
            && !["{", "if", "while", "until", "for", "case", "select", "[["].contains(&self.slice_from(before, name));
        if !named {
            self.at = before;
        }
        let name = if named { self.slice_from(before, name) } else { "COPROC" }.to_owned();
        let stages = vec![self.command()?];
        let extent = self.extent(start);
        let first = Pipeline { stages, pipes: Vec::new(), prefixed: false, extent };
        let body =
            Rc::new(List { items: vec![AndOrList { first, rest: Vec::new(), spans_lines: false, background: false }] });
        let body = Box::new(Compound::Coprocess { name, body });
        Ok(ShellCommand::Compound { body, redirects: Vec::new(), extent })
    }

    fn slice_from(&self, start: usize, length: usize) -> &str {
        self.source.get(start..start + length).unwrap_or("")
    }

    /// True if the inner parenthesis of `((` at this place is closed by `))`; otherwise it is a subshell in a subshell.
    pub(super) fn is_arithmetic(&mut self) -> ParseResult<bool> {
        let end = self.behind_matching(self.at + 2, MatchedGroup::Parenthesis)?;
        Ok(end.is_some_and(|end| end < self.end && self.source.as_bytes().get(end) == Some(&b')')))
    }

    /// An arithmetic expression up to its `))`, which is passed.
    pub(super) fn arithmetic(&mut self) -> ParseResult<Vec<WordPiece>> {
        let pieces = self.deeper(|parser| parser.pieces(WordEnd::ARITHMETIC))?;
        self.expect("))")?;
        Ok(pieces)
    }
}
