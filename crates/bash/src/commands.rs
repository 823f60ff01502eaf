//! Lists, pipelines and simple commands.

use std::cell::OnceCell;
use std::rc::Rc;

use super::ast::{
    AndOrList, Assign, AssignedValue, Element, Joint, List, PipeSign, Pipeline, Redirect, RedirectKind, ShellCommand,
    ShellWord, SimpleCommand, WordPiece,
};
use super::recover::MatchedGroup;
use super::words::WordEnd;
use super::{ParseResult, ParseStop, Parser, PendingDocument};

/// Words that end a list, where a command could stand.
pub(super) const CLOSERS: [&str; 8] = ["then", "do", "done", "fi", "elif", "else", "esac", "}"];

impl Parser<'_> {
    /// Commands up to something that closes the list, which is left for the caller to look at.
    pub(super) fn list(&mut self) -> ParseResult<List> {
        let mut items = Vec::new();
        loop {
            self.skip_lines()?;
            if self.closes_list() {
                return Ok(List { items });
            }
            items.push(self.item()?);
        }
    }

    fn closes_list(&self) -> bool {
        match self.peek() {
            None | Some(b')') => true,
            Some(b';') => matches!(self.ahead(1), Some(b';' | b'&')),
            Some(_) => CLOSERS.contains(&self.reserved_word()),
        }
    }

    pub(super) fn item(&mut self) -> ParseResult<AndOrList> {
        self.count_part()?;
        let first = self.pipeline()?;
        let mut rest = Vec::new();
        let mut spans_lines = false;
        loop {
            self.skip_blanks();
            let sign = self.at;
            let joint = if self.take("&&") {
                Joint::And
            } else if self.take("||") {
                Joint::Or
            } else {
                break;
            };
            self.note_joint(sign);
            self.skip_blanks();
            spans_lines |= matches!(self.peek(), Some(b'\n' | b'#'));
            self.skip_lines()?;
            rest.push((joint, self.pipeline()?));
        }
        let mut background = false;
        match (self.peek(), self.ahead(1)) {
            (Some(b';'), Some(b';' | b'&')) | (None | Some(b'\n' | b')'), _) => {}
            (Some(b';'), _) => self.at += 1,
            (Some(b'&'), _) => {
                self.at += 1;
                background = true;
            }
            _ if CLOSERS.contains(&self.reserved_word()) => {}
            _ => return Err(ParseStop::Syntax),
        }
        Ok(AndOrList { first, rest, spans_lines, background })
    }

    fn pipeline(&mut self) -> ParseResult<Pipeline> {
        let mut prefixed = false;
        self.skip_blanks();
        let start = self.at;
        loop {
            self.skip_blanks();
            let word = self.reserved_word();
            if word == "!" {
                self.at += 1;
            } else if word == "time" {
                self.at += word.len();
                self.skip_blanks();
                while self.starts_with("-") && ["-p", "--"].contains(&self.reserved_word()) {
                    self.at += 2;
                    self.skip_blanks();
                }
            } else {
                break;
            }
            prefixed = true;
        }
        if prefixed && matches!(self.peek(), None | Some(b'\n' | b';' | b')')) {
            let stages = vec![ShellCommand::Simple(SimpleCommand::default())];
            return Ok(Pipeline { stages, pipes: Vec::new(), prefixed, extent: self.extent(start) });
        }
        let mut stages = vec![self.command()?];
        let mut pipes = Vec::new();
        loop {
            let extent = self.extent(start);
            self.skip_blanks();
            let pipe = self.at;
            if self.starts_with("||") || !self.take("|") {
                return Ok(Pipeline { stages, pipes, prefixed, extent });
            }
            let both = self.take("&");
            self.note_joint(pipe);
            pipes.push(PipeSign { extent: self.extent(pipe), both });
            self.skip_lines()?;
            stages.push(self.command()?);
        }
    }

    /// The characters up to a blank, an operator or a quote: enough to know a reserved word.
    pub(super) fn bare_word(&self) -> &str {
        let rest = self.rest();
        let end = rest
            .bytes()
            .take(128)
            .position(|byte| {
                matches!(
                    byte,
                    b' ' | b'\t'
                        | b'\r'
                        | b'\n'
                        | b';'
                        | b'&'
                        | b'|'
                        | b'<'
                        | b'>'
                        | b'('
                        | b')'
                        | b'"'
                        | b'\''
                        | b'\\'
                ) || matches!(byte, b'$' | b'`')
            })
            .unwrap_or(rest.len().min(128));
        rest.get(..end).unwrap_or("")
    }

    /// The next word, if it could be a reserved one: nothing with quotes or an expansion attached is.
    pub(super) fn reserved_word(&self) -> &str {
        let word = self.bare_word();
        let mut after = self.rest().get(word.len()..).unwrap_or("");
        let is_joined = after.starts_with("\\\n");
        while let Some(joined) = after.strip_prefix("\\\n") {
            after = joined;
        }
        let ends = match after.bytes().next() {
            None => true,
            Some(b'"' | b'\'' | b'\\' | b'$' | b'`') => false,
            Some(byte) => !is_joined || b" \t\r\n;&|<>()".contains(&byte),
        };
        if ends { word } else { "" }
    }

    pub(super) fn command(&mut self) -> ParseResult<ShellCommand> {
        self.deeper(|parser| {
            parser.skip_blanks();
            if let Some(compound) = parser.compound()? {
                return Ok(compound);
            }
            if CLOSERS.contains(&parser.reserved_word()) {
                return Err(ParseStop::Syntax);
            }
            if let Some(function) = parser.function()? {
                return Ok(function);
            }
            let simple = parser.simple()?;
            // A name with quotes in it.
            if parser.peek() == Some(b'(')
                && let (true, true, [name]) = (simple.assigns.is_empty(), simple.redirects.is_empty(), &*simple.words)
            {
                let name = name.literal().unwrap_or_default();
                parser.at += 1;
                parser.skip_blanks();
                parser.expect(")")?;
                return parser.function_body(name);
            }
            Ok(ShellCommand::Simple(simple))
        })
    }

    /// `name() body`
    fn function(&mut self) -> ParseResult<Option<ShellCommand>> {
        let name = self.bare_word();
        let after = self.rest().get(name.len()..).unwrap_or("").trim_start_matches([' ', '\t']);
        let Some(inside) = after.strip_prefix('(') else { return Ok(None) };
        let Some(body) = inside.trim_start_matches([' ', '\t']).strip_prefix(')') else { return Ok(None) };
        if name.is_empty() || name.contains('=') {
            return Ok(None);
        }
        let name = name.to_owned();
        self.at = self.end - body.len();
        self.function_body(name).map(Some)
    }

    pub(super) fn function_body(&mut self, name: String) -> ParseResult<ShellCommand> {
        self.skip_lines()?;
        let body = self.command()?;
        if matches!(body, ShellCommand::Simple(_)) {
            return Err(ParseStop::Syntax);
        }
        Ok(ShellCommand::Function { name, body: Rc::new(body) })
    }

    fn simple(&mut self) -> ParseResult<SimpleCommand> {
        let start = self.at;
        let mut simple = SimpleCommand::default();
        let mut end = self.at;
        loop {
            self.skip_blanks();
            if let Some(redirect) = self.redirect()? {
                simple.redirects.push(redirect);
            } else if simple.words.is_empty()
                && let Some(assign) = self.assign()?
            {
                simple.assigns.push(assign);
            } else if simple.words.is_empty()
                && let Some(word) = self.word_with_index()?
            {
                simple.words.push(word);
            } else if self.at_word() {
                simple.words.push(self.word()?);
            } else {
                break;
            }
            end = self.at;
        }
        if end == start {
            return Err(ParseStop::Syntax);
        }
        let after = std::mem::replace(&mut self.at, end);
        simple.extent = self.extent(start);
        self.at = after;
        Ok(simple)
    }

    /// True if a word starts here.
    pub(super) fn at_word(&self) -> bool {
        match self.peek() {
            None | Some(b'\n' | b';' | b'&' | b'|' | b'(' | b')') => false,
            Some(b'<' | b'>') => self.ahead(1) == Some(b'('),
            Some(_) => true,
        }
    }

    /// An ordinary word.
    pub(super) fn word(&mut self) -> ParseResult<ShellWord> {
        let start = self.at;
        let pieces = self.pieces(WordEnd::WORD)?;
        if self.at == start {
            return Err(ParseStop::Syntax);
        }
        Ok(ShellWord { pieces, extent: self.extent(start) })
    }

    pub(super) fn redirects(&mut self) -> ParseResult<Vec<Redirect>> {
        let mut redirects = Vec::new();
        loop {
            self.skip_blanks();
            match self.redirect()? {
                Some(redirect) => redirects.push(redirect),
                None => return Ok(redirects),
            }
        }
    }

    fn redirect(&mut self) -> ParseResult<Option<Redirect>> {
        let rest = self.rest();
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let mut prefix = digits;
        let mut descriptor = rest.get(..digits).and_then(|number| number.parse().ok());
        let mut variable = None;
        // `{name}>file` picks a descriptor by itself.
        if digits == 0 && rest.starts_with('{') {
            let name = rest.bytes().skip(1).take_while(|byte| byte.is_ascii_alphanumeric() || *byte == b'_').count();
            if name > 0 && rest.as_bytes().get(name + 1) == Some(&b'}') {
                prefix = name + 2;
                descriptor = Some(u32::MAX);
                variable = rest.get(1..=name).map(str::to_owned);
            }
        }
        let operator = rest.get(prefix..).unwrap_or("");
        // bash joins lines before it looks for operators.
        let starts_sign = operator.starts_with(['<', '>', '&']);
        let is_joined = starts_sign && operator.as_bytes().iter().take(8).any(|byte| *byte == b'\\');
        let joined = is_joined.then(|| joined_sign(operator));
        let sign = joined.as_deref().unwrap_or(operator);
        let Some((text, kind)) = redirect_operator(sign, prefix == 0) else { return Ok(None) };
        self.at += prefix;
        for _ in 0..text.len() {
            while self.take("\\\n") {}
            self.at += 1;
        }
        self.skip_blanks();
        if !self.at_word() {
            return Err(ParseStop::Syntax);
        }
        let target = self.word()?;
        let kind = match kind {
            RedirectKind::HereDoc(body) => {
                let literal = target.plain().is_none();
                let mark = target.literal().unwrap_or_else(|| self.slice(&target).to_owned());
                let strip_tabs = text == "<<-";
                // The mark is no word: it has to be the same at the end.
                if let Some(stretches) = &mut self.stretches {
                    stretches.retain(|stretch| stretch.range.start < target.extent.start);
                }
                self.pending.push(PendingDocument { mark, literal, strip_tabs, body: Rc::clone(&body) });
                RedirectKind::HereDoc(body)
            }
            other => other,
        };
        Ok(Some(Redirect { descriptor, kind, variable, target }))
    }

    fn slice(&self, word: &ShellWord) -> &str {
        self.source.get(word.extent.start..word.extent.end).unwrap_or("")
    }

    /// `name=…`, if an assignment starts here.
    fn assign(&mut self) -> ParseResult<Option<Assign>> {
        let start = self.at;
        let rest = self.rest();
        let length = rest.bytes().take_while(|byte| byte.is_ascii_alphanumeric() || *byte == b'_').count();
        if length == 0 || rest.as_bytes().first().is_some_and(u8::is_ascii_digit) {
            return Ok(None);
        }
        let Some(after) = rest.as_bytes().get(length).copied() else { return Ok(None) };
        let indexed = after == b'[';
        if indexed {
            if !self.index_is_assigned(length)? {
                return Ok(None);
            }
        } else if !(after == b'=' || rest.get(length..).is_some_and(|after| after.starts_with("+="))) {
            return Ok(None);
        }
        let name = rest.get(..length).unwrap_or("").to_owned();
        self.at += length;
        let index = if indexed { Some(self.index()?) } else { None };
        let append = self.take("+");
        self.expect("=")?;
        while self.take("\\\n") {}
        let value = if self.take("(") {
            AssignedValue::Array(self.elements()?)
        } else {
            let value_start = self.at;
            let pieces = self.pieces(WordEnd::WORD)?;
            AssignedValue::Scalar(ShellWord { pieces, extent: self.extent(value_start) })
        };
        Ok(Some(Assign { name, index, append, value, extent: self.extent(start) }))
    }

    /// True if `[…]` at this distance is followed by `=`; otherwise it is a glob.
    fn index_is_assigned(&mut self, distance: usize) -> ParseResult<bool> {
        let end = self.behind_matching(self.at + distance + 1, MatchedGroup::Bracket)?;
        let after = end.and_then(|end| self.source.get(end..self.end)).unwrap_or("");
        Ok(after.starts_with('=') || after.starts_with("+="))
    }

    /// `name[…]…` in the place of a command: blanks and operators between the brackets belong to the word.
    fn word_with_index(&mut self) -> ParseResult<Option<ShellWord>> {
        let start = self.at;
        let rest = self.rest();
        let length = rest.bytes().take_while(|byte| byte.is_ascii_alphanumeric() || *byte == b'_').count();
        let is_name = length > 0 && !rest.starts_with(|first: char| first.is_ascii_digit());
        if !is_name || rest.as_bytes().get(length) != Some(&b'[') {
            return Ok(None);
        }
        if self.behind_matching(self.at + length + 1, MatchedGroup::Bracket)?.is_none() {
            return Ok(None);
        }
        let name = rest.get(..=length).unwrap_or("").to_owned();
        self.at += length;
        let index = self.index()?;
        let mut pieces = vec![WordPiece::Text(name)];
        pieces.extend(index.pieces);
        pieces.push(WordPiece::Text("]".to_owned()));
        pieces.extend(self.pieces(WordEnd::WORD)?);
        Ok(Some(ShellWord { pieces, extent: self.extent(start) }))
    }

    /// `[…]`
    pub(super) fn index(&mut self) -> ParseResult<ShellWord> {
        self.expect("[")?;
        let start = self.at;
        let pieces = self.deeper(|parser| parser.pieces(WordEnd::INDEX))?;
        let word = ShellWord { pieces, extent: self.extent(start) };
        self.expect("]")?;
        Ok(word)
    }

    /// The elements of an array, after its `(`.
    pub(super) fn elements(&mut self) -> ParseResult<Vec<Element>> {
        self.deeper(|parser| {
            let mut elements = Vec::new();
            loop {
                parser.skip_lines()?;
                if parser.take(")") {
                    return Ok(elements);
                }
                let index = if parser.peek() == Some(b'[') && parser.index_is_assigned(0)? {
                    let index = parser.index()?;
                    parser.take("+");
                    parser.expect("=")?;
                    Some(index)
                } else {
                    None
                };
                let start = parser.at;
                let pieces = parser.pieces(WordEnd::WORD)?;
                if pieces.is_empty() && index.is_none() {
                    return Err(ParseStop::Syntax);
                }
                elements.push(Element { index, value: ShellWord { pieces, extent: parser.extent(start) } });
            }
        })
    }
}

/// The first letters of a text, as they are when lines are joined.
fn joined_sign(text: &str) -> String {
    text.chars().take(16).collect::<String>().replace("\\\n", "")
}

/// The redirection at the start of `text`.
fn redirect_operator(text: &str, bare: bool) -> Option<(&'static str, RedirectKind)> {
    let document = || RedirectKind::HereDoc(Rc::new(OnceCell::new()));
    Some(match text.as_bytes() {
        [b'<', b'<', b'<', ..] => ("<<<", RedirectKind::HereString),
        [b'<', b'<', b'-', ..] => ("<<-", document()),
        [b'<', b'<', ..] => ("<<", document()),
        [b'<', b'>', ..] => ("<>", RedirectKind::InOut),
        [b'<', b'&', ..] => ("<&", RedirectKind::CopyIn),
        [b'>', b'>', ..] => (">>", RedirectKind::Append),
        [b'>', b'|', ..] => (">|", RedirectKind::Out),
        [b'>', b'&', ..] => (">&", RedirectKind::CopyOut),
        [b'<' | b'>', b'(', ..] => return None,
        [b'<', ..] => ("<", RedirectKind::In),
        [b'>', ..] => (">", RedirectKind::Out),
        [b'&', b'>', b'>', ..] if bare => ("&>>", RedirectKind::Both),
        [b'&', b'>', ..] if bare => ("&>", RedirectKind::Both),
        _ => return None,
    })
}
