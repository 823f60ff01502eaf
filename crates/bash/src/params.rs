//! `$name` and `${…}`.

use super::ast::{Anchor, Index, Param, ParamChange, ShellWord};
use super::recover::MatchedGroup;
use super::words::WordEnd;
use super::{ParseResult, Parser};

impl Parser<'_> {
    /// `$name` or `$1` or one of the special ones; none if the dollar is just a dollar.
    pub(super) fn named(&mut self) -> Option<Param> {
        let rest = self.rest().get(1..)?;
        let length = match rest.as_bytes().first()? {
            b'@' | b'*' | b'#' | b'?' | b'-' | b'$' | b'!' | b'0'..=b'9' => 1,
            byte if byte.is_ascii_alphabetic() || *byte == b'_' => name_length(rest),
            _ => return None,
        };
        let name = rest.get(..length)?.to_owned();
        self.at += 1 + length;
        Some(Param { name, index: None, indirect: false, length: false, change: ParamChange::None })
    }

    /// The inside of `${`, and the brace that closes it.
    ///
    /// None for a bad substitution, which bash meets only when it expands the word; it is passed all the same.
    pub(super) fn braced(&mut self, quoted: bool) -> ParseResult<Option<Param>> {
        let mut length = false;
        let mut indirect = false;
        let next_is_name = |parser: &Self| {
            parser.ahead(1).is_some_and(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'@' | b'*'))
        };
        // `${#}` is a count and `${#x}` a length; `${!}` is a process and `${!x}` goes through another name.
        if self.peek() == Some(b'#') && next_is_name(self) {
            length = true;
            self.at += 1;
        } else if self.peek() == Some(b'!') && (next_is_name(self) || self.starts_with("!#}")) {
            indirect = true;
            self.at += 1;
        }
        let rest = self.rest();
        let size = match rest.as_bytes().first() {
            Some(b'@' | b'*' | b'#' | b'?' | b'-' | b'$' | b'!') => 1,
            Some(b'0'..=b'9') => rest.bytes().take_while(u8::is_ascii_digit).count(),
            Some(_) => name_length(rest),
            None => 0,
        };
        if size == 0 {
            self.skip_group(MatchedGroup::Brace)?;
            return Ok(None);
        }
        let name = rest.get(..size).unwrap_or("").to_owned();
        self.at += size;
        let index = if self.peek() == Some(b'[') {
            // The brace that closes it comes first where the bracket is none: `${x[}`.
            let end = self.behind_matching(self.at, MatchedGroup::Brace)?;
            let has_bracket = self.rest().find(']').is_some_and(|at| end.is_none_or(|end| self.at + at < end));
            if !has_bracket {
                self.skip_group(MatchedGroup::Brace)?;
                return Ok(None);
            }
            Some(if self.take("[@]") {
                Index::All
            } else if self.take("[*]") {
                Index::Joined
            } else {
                Index::At(self.index()?)
            })
        } else {
            None
        };
        let change = self.change(quoted, indirect)?;
        if !self.take("}") {
            self.skip_group(MatchedGroup::Brace)?;
            return Ok(None);
        }
        Ok(Some(Param { name, index, indirect, length, change }))
    }

    fn change(&mut self, quoted: bool, indirect: bool) -> ParseResult<ParamChange> {
        let operand = WordEnd::BRACE.in_quotes(quoted);
        Ok(match (self.peek(), self.ahead(1)) {
            (Some(b':'), Some(kind @ (b'-' | b'=' | b'?' | b'+'))) => {
                self.at += 2;
                ParamChange::Fallback { kind: char::from(kind), empty_too: true, word: self.part(operand)? }
            }
            (Some(kind @ (b'-' | b'=' | b'?' | b'+')), _) => {
                self.at += 1;
                ParamChange::Fallback { kind: char::from(kind), empty_too: false, word: self.part(operand)? }
            }
            (Some(b':'), _) => {
                self.at += 1;
                let offset = self.part(WordEnd::OFFSET)?;
                let length = if self.take(":") { Some(self.part(WordEnd::BRACE)?) } else { None };
                ParamChange::Slice { offset, length }
            }
            (Some(end @ (b'#' | b'%')), next) => {
                let longest = next == Some(end);
                self.at += if longest { 2 } else { 1 };
                ParamChange::Trim { from_end: end == b'%', longest, pattern: self.part(WordEnd::BRACE)? }
            }
            (Some(b'/'), next) => {
                self.at += 1;
                let anchor = match next {
                    Some(b'/') => Anchor::Every,
                    Some(b'#') => Anchor::Start,
                    Some(b'%') => Anchor::End,
                    _ => Anchor::First,
                };
                if anchor != Anchor::First {
                    self.at += 1;
                }
                let pattern = self.part(WordEnd::PATTERN)?;
                let by = if self.take("/") { self.part(operand)? } else { ShellWord::default() };
                ParamChange::Replace { anchor, pattern, by }
            }
            (Some(kind @ (b'^' | b',' | b'~')), next) => {
                let all = next == Some(kind);
                self.at += if all { 2 } else { 1 };
                self.part(WordEnd::BRACE)?;
                ParamChange::Case { kind: char::from(kind), all }
            }
            (Some(b'@' | b'*'), Some(b'}')) if indirect => {
                self.at += 1;
                ParamChange::Names
            }
            (Some(b'@'), Some(kind)) if kind.is_ascii_alphabetic() => {
                self.at += 2;
                ParamChange::Transform(char::from(kind))
            }
            _ => ParamChange::None,
        })
    }

    fn part(&mut self, until: WordEnd) -> ParseResult<ShellWord> {
        let start = self.at;
        let pieces = self.pieces(until)?;
        Ok(ShellWord { pieces, extent: self.extent(start) })
    }
}

fn name_length(text: &str) -> usize {
    text.bytes().take_while(|byte| byte.is_ascii_alphanumeric() || *byte == b'_').count()
}
