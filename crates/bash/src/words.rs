//! Words: quotes, escapes and expansions.

use std::rc::Rc;

use super::ast::{List, ShellWord, WordPiece};
use super::outline::Quoting;
use super::recover::MatchedGroup;
use super::{ParseResult, ParseStop, Parser};

/// The letters at which a run of pieces ends.
#[derive(Clone, Copy)]
pub(super) struct WordEnd {
    /// Blanks and operators end it.
    operators: bool,
    /// Blanks end it, outside of parentheses.
    blanks: bool,
    /// Any of these ends it, where no bracket is open.
    ends: &'static [u8],
    /// Brackets that have to be closed before `ends` counts.
    nest: Option<(u8, u8)>,
    /// Single quotes mean nothing, as inside of `"${x:-…}"`.
    quoted: bool,
}

impl WordEnd {
    const NONE: Self = Self { operators: false, blanks: false, ends: b"", nest: None, quoted: false };
    /// An ordinary word.
    pub(super) const WORD: Self = Self { operators: true, ..Self::NONE };
    /// Between `[` and `]`.
    pub(super) const INDEX: Self = Self { ends: b"]", nest: Some((b'[', b']')), ..Self::NONE };
    /// After `=~`.
    pub(super) const REGEX: Self = Self { blanks: true, nest: Some((b'(', b')')), ..Self::NONE };
    /// Before `))`.
    pub(super) const ARITHMETIC: Self = Self { ends: b")", nest: Some((b'(', b')')), ..Self::NONE };
    /// One of the options of `@(…|…)`.
    const OPTION: Self = Self { ends: b"|)", nest: Some((b'(', b')')), ..Self::NONE };
    /// Inside of `${…}`.
    pub(super) const BRACE: Self = Self { ends: b"}", ..Self::NONE };
    /// The pattern of `${x/…/…}`.
    pub(super) const PATTERN: Self = Self { ends: b"/}", ..Self::NONE };
    /// The offset of `${x:…:…}`.
    pub(super) const OFFSET: Self = Self { ends: b":}", nest: Some((b'(', b')')), ..Self::NONE };

    /// The same inside of double quotes.
    pub(super) fn in_quotes(self, quoted: bool) -> Self {
        Self { quoted, ..self }
    }
}

impl Parser<'_> {
    /// Pieces up to where they end, which is left for the caller.
    pub(super) fn pieces(&mut self, until: WordEnd) -> ParseResult<Vec<WordPiece>> {
        self.count_part()?;
        if until.operators || until.blanks {
            self.noting_word(|parser| parser.pieces_until(until))
        } else {
            self.pieces_until(until)
        }
    }

    fn pieces_until(&mut self, until: WordEnd) -> ParseResult<Vec<WordPiece>> {
        let mut pieces = Vec::new();
        let mut open = 0_usize;
        while let Some(byte) = self.peek() {
            if let Some((opener, closer)) = until.nest {
                if byte == opener {
                    open += 1;
                } else if byte == closer && open > 0 {
                    open -= 1;
                    text(&mut pieces, char::from(byte));
                    self.at += 1;
                    continue;
                }
            }
            if open == 0 && until.ends.contains(&byte) {
                break;
            }
            // A pattern behind `=~` may have bars and, in parentheses, blanks.
            if until.blanks && open == 0 && matches!(byte, b' ' | b'\t' | b'\n' | b';' | b'&' | b'<' | b'>' | b')') {
                break;
            }
            match byte {
                b' ' | b'\t' | b'\r' | b'\n' | b';' | b'&' | b'|' | b')' if until.operators => break,
                b'<' | b'>' if until.operators => {
                    if self.ahead(1) != Some(b'(') {
                        break;
                    }
                    self.at += 2;
                    let list = self.substituted()?;
                    pieces.push(if byte == b'<' { WordPiece::Input(list) } else { WordPiece::Output(list) });
                }
                b'(' if until.operators => match pieces.last_mut() {
                    Some(WordPiece::Text(before)) if before.ends_with(['?', '*', '+', '@', '!']) => {
                        let kind = before.pop().unwrap_or('@');
                        let options = self.options()?;
                        pieces.push(WordPiece::Extended { kind, options });
                    }
                    Some(WordPiece::Text(before)) if before.ends_with('=') => {
                        self.at += 1;
                        let elements = self.elements()?;
                        pieces.push(WordPiece::Array(elements));
                    }
                    _ => break,
                },
                b'\'' if until.quoted => self.quoted_apostrophes(&mut pieces)?,
                b'\'' => pieces.push(self.single_quoted(until.operators)?),
                b'"' => pieces.push(self.double_quoted()?),
                b'\\' => self.escape(&mut pieces, until.quoted),
                b'$' => self.dollar(&mut pieces, until.quoted)?,
                b'`' => pieces.push(self.backquoted(until.quoted)?),
                _ => {
                    let start = self.at;
                    self.run(&mut pieces);
                    if until.operators {
                        self.note(start, Quoting::Bare);
                    }
                }
            }
        }
        Ok(pieces)
    }

    /// A run of characters without meaning, at least one.
    fn run(&mut self, pieces: &mut Vec<WordPiece>) {
        let rest = self.rest();
        let special = |byte: u8| {
            !(byte.is_ascii_alphanumeric() || byte >= 0x80 || matches!(byte, b'-' | b'_' | b'.' | b',' | b'=' | b'~'))
        };
        let length = rest.bytes().skip(1).position(special).map_or(rest.len(), |found| found + 1);
        // Never in the middle of a character: its first byte may be all that has been looked at.
        let length = (length..=rest.len()).find(|end| rest.is_char_boundary(*end)).unwrap_or(rest.len());
        push_text(pieces, rest.get(..length).unwrap_or(""));
        self.at += length;
    }

    fn escape(&mut self, pieces: &mut Vec<WordPiece>, quoted: bool) {
        self.at += 1;
        let Some(next) = self.rest().chars().next() else {
            text(pieces, '\\');
            return;
        };
        self.at += next.len_utf8();
        match next {
            '\n' => {}
            '$' | '`' | '"' | '\\' | '}' => pieces.push(WordPiece::Quoted(next.to_string())),
            _ if quoted => pieces.push(WordPiece::Quoted(format!("\\{next}"))),
            _ => pieces.push(WordPiece::Quoted(next.to_string())),
        }
    }

    fn single_quoted(&mut self, is_noted: bool) -> ParseResult<WordPiece> {
        let inside = self.rest().get(1..).unwrap_or("");
        let Some(length) = inside.find('\'') else { return self.unclosed() };
        let start = self.at + 1;
        self.at = start + length;
        if is_noted && length > 0 {
            self.note(start, Quoting::Single);
        }
        self.at += 1;
        Ok(WordPiece::Quoted(inside.get(..length).unwrap_or("").to_owned()))
    }

    /// `'…'` inside of `"${x:-…}"`: the quotes are text, but they come in pairs, and no brace between them counts.
    fn quoted_apostrophes(&mut self, pieces: &mut Vec<WordPiece>) -> ParseResult<()> {
        let inside = self.rest().get(1..).unwrap_or("");
        let Some(length) = inside.find('\'') else { return self.unclosed() };
        let end = self.at + 1 + length;
        text(pieces, '\'');
        self.at += 1;
        let inner = self.bounded(end, |parser| parser.deeper(|parser| parser.quoted_pieces(false)))?;
        pieces.extend(inner);
        self.at = end + 1;
        text(pieces, '\'');
        Ok(())
    }

    fn double_quoted(&mut self) -> ParseResult<WordPiece> {
        self.count_part()?;
        self.at += 1;
        let pieces = self.deeper(|parser| parser.quoted_pieces(true))?;
        self.expect("\"")?;
        Ok(WordPiece::Double(pieces))
    }

    /// The body of a here-document that is expanded.
    pub(super) fn here_document_pieces(&mut self) -> ParseResult<Vec<WordPiece>> {
        let pieces = self.deeper(|parser| parser.quoted_pieces(false))?;
        Ok(vec![WordPiece::Double(pieces)])
    }

    fn quoted_pieces(&mut self, until_quote: bool) -> ParseResult<Vec<WordPiece>> {
        let mut pieces = Vec::new();
        while let Some(byte) = self.peek() {
            match byte {
                b'"' if until_quote => break,
                b'\\' => {
                    self.at += 1;
                    let Some(next) = self.rest().chars().next() else {
                        text(&mut pieces, '\\');
                        break;
                    };
                    self.at += next.len_utf8();
                    match next {
                        '\n' => {}
                        '$' | '`' | '\\' => text(&mut pieces, next),
                        '"' if until_quote => text(&mut pieces, next),
                        _ => {
                            text(&mut pieces, '\\');
                            text(&mut pieces, next);
                        }
                    }
                }
                b'$' | b'`' if !until_quote => self.document_expansion(&mut pieces)?,
                b'$' => self.dollar(&mut pieces, true)?,
                b'`' => pieces.push(self.backquoted(true)?),
                _ => {
                    let rest = self.rest();
                    let length = rest.find(['"', '\\', '$', '`']).unwrap_or(rest.len()).max(1);
                    push_text(&mut pieces, rest.get(..length).unwrap_or(""));
                    let start = self.at;
                    self.at += length;
                    if until_quote {
                        self.note(start, Quoting::Double);
                    }
                }
            }
        }
        Ok(pieces)
    }

    /// An expansion in a here-document. bash has read the body as lines, so a fault in one ends nothing.
    fn document_expansion(&mut self, pieces: &mut Vec<WordPiece>) -> ParseResult<()> {
        let (start, noted) = (self.at, self.noted());
        let parsed = match self.peek() {
            Some(b'`') => self.backquoted(true).map(|piece| pieces.push(piece)),
            _ => self.dollar(pieces, true),
        };
        if parsed != Err(ParseStop::Syntax) {
            return parsed;
        }
        self.pay(self.at.saturating_sub(start))?;
        self.forget_since(noted);
        self.at = start + 1;
        pieces.push(WordPiece::Unknown);
        Ok(())
    }

    fn dollar(&mut self, pieces: &mut Vec<WordPiece>, quoted: bool) -> ParseResult<()> {
        match self.ahead(1) {
            Some(b'\'') if !quoted => {
                self.at += 2;
                pieces.push(WordPiece::Quoted(self.ansi_quoted()?));
            }
            Some(b'"') if !quoted => {
                self.at += 1;
                pieces.push(self.double_quoted()?);
            }
            Some(b'(') => {
                self.at += 1;
                pieces.push(if self.starts_with("((") {
                    self.double_parenthesis()?
                } else {
                    self.at += 1;
                    WordPiece::Command(self.substituted()?)
                });
            }
            Some(b'[') => {
                self.at += 1;
                pieces.push(WordPiece::Arith(self.index()?.pieces));
            }
            Some(b'{') => {
                self.at += 2;
                let param = self.deeper(|parser| parser.braced(quoted))?;
                pieces.push(param.map_or(WordPiece::Unknown, |param| WordPiece::Param(Box::new(param))));
            }
            _ => {
                if let Some(param) = self.named() {
                    pieces.push(WordPiece::Param(Box::new(param)));
                } else {
                    self.at += 1;
                    text(pieces, '$');
                }
            }
        }
        Ok(())
    }

    /// `((…))` or `((…) …)` after a dollar. bash looks into either only when it gets there.
    fn double_parenthesis(&mut self) -> ParseResult<WordPiece> {
        let (start, noted) = (self.at, self.noted());
        let parsed = if self.is_arithmetic()? {
            self.at += 2;
            self.arithmetic().map(WordPiece::Arith)
        } else {
            self.at += 1;
            self.substituted().map(WordPiece::Command)
        };
        if !matches!(parsed, Err(ParseStop::Syntax)) {
            return parsed;
        }
        self.forget_since(noted);
        self.at = start + 1;
        self.skip_group(MatchedGroup::Parenthesis)?;
        Ok(WordPiece::Unknown)
    }

    /// The commands of a substitution, after its `(`.
    fn substituted(&mut self) -> ParseResult<Rc<List>> {
        let list = self.deeper(Self::list)?;
        self.expect(")")?;
        Ok(Rc::new(list))
    }

    fn backquoted(&mut self, quoted: bool) -> ParseResult<WordPiece> {
        let start = self.at;
        let inside = self.rest().get(1..).unwrap_or("");
        let mut code = String::new();
        let mut escaped = false;
        let mut letters = inside.char_indices();
        let length = loop {
            let Some((at, letter)) = letters.next() else { return self.unclosed() };
            match letter {
                '`' => break at,
                '\\' => {
                    let Some((_, next)) = letters.next() else { return self.unclosed() };
                    escaped = true;
                    if !(matches!(next, '`' | '\\' | '$') || quoted && next == '"') {
                        code.push('\\');
                    }
                    code.push(next);
                }
                _ => code.push(letter),
            }
        };
        let list = if escaped {
            self.at += length + 2;
            let from = self.extent(start);
            self.aside(&code, from)?
        } else {
            let end = start + 1 + length;
            self.at += 1;
            let list = self.bounded(end, |parser| parser.deeper(Self::lenient_list))?;
            self.at = end + 1;
            list
        };
        Ok(WordPiece::Command(Rc::new(list)))
    }

    /// The options of an extended pattern, after its kind.
    fn options(&mut self) -> ParseResult<Vec<ShellWord>> {
        self.at += 1;
        self.deeper(|parser| {
            let mut options = Vec::new();
            loop {
                let start = parser.at;
                let pieces = parser.pieces(WordEnd::OPTION)?;
                options.push(ShellWord { pieces, extent: parser.extent(start) });
                if parser.take(")") {
                    return Ok(options);
                }
                parser.expect("|")?;
            }
        })
    }

    /// The text of `$'…'`, after its quote.
    fn ansi_quoted(&mut self) -> ParseResult<String> {
        let mut out = String::new();
        let inside = self.rest();
        let mut letters = inside.char_indices();
        while let Some((at, letter)) = letters.next() {
            match letter {
                '\'' => {
                    self.at += at + 1;
                    return Ok(out);
                }
                '\\' => {
                    let (taken, decoded) = unescape(letters.as_str(), true);
                    out.extend(decoded);
                    for _ in inside.get(at + 1..at + 1 + taken).unwrap_or("").chars() {
                        letters.next();
                    }
                }
                _ => out.push(letter),
            }
        }
        self.unclosed()
    }
}

/// Decodes the letters behind a backslash in `$'…'` (`ansi`), `echo -e` and `printf`. Returns the bytes taken and the letter meant.
pub fn unescape(after: &str, ansi: bool) -> (usize, Option<char>) {
    let Some(kind) = after.chars().next() else { return (0, Some('\\')) };
    let digits = |from: usize, most: usize, radix: u32| {
        let text = after.get(from..).unwrap_or("");
        let length = text.chars().take(most).take_while(|letter| letter.is_digit(radix)).count();
        let number = u32::from_str_radix(text.get(..length).unwrap_or(""), radix).unwrap_or(0);
        (length, number)
    };
    let simple = |decoded: char| (kind.len_utf8(), Some(decoded));
    match kind {
        'a' => simple('\u{7}'),
        'b' => simple('\u{8}'),
        'e' | 'E' => simple('\u{1b}'),
        'f' => simple('\u{c}'),
        'n' => simple('\n'),
        'r' => simple('\r'),
        't' => simple('\t'),
        'v' => simple('\u{b}'),
        '\\' => simple('\\'),
        '\'' | '"' | '?' if ansi => simple(kind),
        'c' if ansi => match after.chars().nth(1) {
            Some(letter) => (
                1 + letter.len_utf8(),
                u32::from(letter).checked_rem(32).and_then(char::from_u32).filter(|c| *c != '\0'),
            ),
            None => (1, None),
        },
        '0'..='7' => {
            // `echo -e` wants a zero before its digits, the others do not.
            let most = if kind == '0' && !ansi { 4 } else { 3 };
            let (length, number) = digits(0, most, 8);
            (length, char::from_u32(number & 0xff).filter(|letter| *letter != '\0'))
        }
        'x' | 'u' | 'U' => {
            let (length, number) = digits(
                1,
                if kind == 'x' {
                    2
                } else if kind == 'u' {
                    4
                } else {
                    8
                },
                16,
            );
            if length == 0 {
                return (0, Some('\\'));
            }
            (1 + length, char::from_u32(number).filter(|letter| *letter != '\0' && !super::MARKS.contains(letter)))
        }
        _ => (0, Some('\\')),
    }
}

fn text(pieces: &mut Vec<WordPiece>, letter: char) {
    if let Some(WordPiece::Text(before)) = pieces.last_mut() {
        before.push(letter);
    } else {
        pieces.push(WordPiece::Text(letter.to_string()));
    }
}

fn push_text(pieces: &mut Vec<WordPiece>, more: &str) {
    if let Some(WordPiece::Text(before)) = pieces.last_mut() {
        before.push_str(more);
    } else if !more.is_empty() {
        pieces.push(WordPiece::Text(more.to_owned()));
    }
}
