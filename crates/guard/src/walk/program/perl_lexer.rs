//! The tokens of Perl. The name of a variable keeps its sigil: `$x`, `@x`, `%x`.

use crate::walk::program::lexer::Token;
use crate::walk::tokens::closer_of;

/// Signs, longest first.
const SIGNS: [&str; 62] = [
    "<=>", "**=", "||=", "&&=", "//=", "...", "<<=", ">>=", "->", "=>", "==", "!=", "=~", "!~", "<=", ">=", "&&", "||",
    "//", "..", "::", "++", "--", "**", "+=", "-=", "*=", "/=", ".=", "%=", "x=", "&=", "|=", "^=", "<<", ">>", "(",
    ")", "[", "]", "{", "}", ",", ":", ";", ".", "=", "+", "-", "*", "/", "%", "<", ">", "!", "?", "|", "&", "^", "~",
    "\\", "@",
];

/// The name that stands before a script in backquotes.
pub(super) const BACKQUOTE: &str = "`";

/// The tokens of a program; none if it cannot be read.
pub(super) fn tokens(code: &str) -> Option<Vec<Token>> {
    let mut lexer = PerlLexer { rest: code.to_owned(), tokens: Vec::new(), is_fresh: true };
    while !lexer.rest.is_empty() {
        lexer.read()?;
    }
    Some(lexer.tokens)
}

struct PerlLexer {
    rest: String,
    tokens: Vec<Token>,
    /// A line begins here.
    is_fresh: bool,
}

impl PerlLexer {
    fn skip(&mut self, bytes: usize) -> String {
        let rest = self.rest.split_off(bytes.min(self.rest.len()));
        std::mem::replace(&mut self.rest, rest)
    }

    fn read(&mut self) -> Option<()> {
        let letter = self.rest.chars().next()?;
        if std::mem::take(&mut self.is_fresh) {
            if letter == '=' && self.rest.chars().nth(1).is_some_and(char::is_alphabetic) {
                let end = self.rest.find("\n=cut").map_or(self.rest.len(), |end| end + 5);
                self.skip(end);
                return Some(());
            }
            if self.rest.starts_with("__END__") || self.rest.starts_with("__DATA__") {
                self.rest.clear();
                return Some(());
            }
        }
        match letter {
            '\n' => {
                self.skip(1);
                self.is_fresh = true;
            }
            _ if letter.is_whitespace() => drop(self.skip(letter.len_utf8())),
            '#' => {
                let end = self.rest.find('\n').unwrap_or(self.rest.len());
                self.skip(end);
            }
            '"' => {
                let text = self.enclosed(0)?;
                self.tokens.push(Token::Template(text));
            }
            '\'' => {
                let text = self.enclosed(0)?;
                self.tokens.push(Token::Text(plain(&text)));
            }
            '`' => {
                let text = self.enclosed(0)?;
                self.tokens.extend([Token::Name(BACKQUOTE.to_owned()), Token::Template(text)]);
            }
            '/' if !self.follows_value() => {
                self.enclosed(0)?;
                self.skip_flags();
                self.tokens.push(Token::Literal);
            }
            '<' if !self.follows_value() && self.is_reader() => {
                let end = self.rest.find('>')?;
                self.skip(end + 1);
                self.tokens.push(Token::Literal);
            }
            '<' if self.is_document() => self.read_document()?,
            '$' | '@' => self.read_variable(letter)?,
            '%' if !self.follows_value() => self.read_variable(letter)?,
            '&' if !self.follows_value() && self.rest.chars().nth(1).is_some_and(char::is_alphabetic) => {
                self.skip(1);
            }
            _ if letter.is_ascii_digit() => {
                let is_part = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
                let end = self.rest.find(|letter| !is_part(letter)).unwrap_or(self.rest.len());
                let number = self.skip(end).replace('_', "");
                self.tokens.push(number.parse().map_or(Token::Literal, Token::Number));
            }
            _ if letter.is_alphabetic() || letter == '_' => self.read_word()?,
            _ => {
                let sign = SIGNS.iter().find(|sign| self.rest.starts_with(**sign) && **sign != "x=")?;
                self.skip(sign.len());
                self.tokens.push(Token::Sign(sign));
            }
        }
        Some(())
    }

    fn follows_value(&self) -> bool {
        match self.tokens.last() {
            Some(Token::Sign(sign)) => matches!(*sign, ")" | "]" | "}"),
            Some(Token::Name(name)) => name.starts_with(['$', '@', '%']),
            Some(_) => true,
            None => false,
        }
    }

    /// True at `<STDIN>`, `<$file>` and `<*.c>`.
    fn is_reader(&self) -> bool {
        let inside = self.rest.get(1..).and_then(|rest| rest.split_once('>')).map_or("=", |(inside, _)| inside);
        inside.len() < 40 && !inside.contains(['=', ' ', '\n', '(', ';', '<', '"', '\''])
    }

    fn is_document(&self) -> bool {
        let rest = self.rest.strip_prefix("<<").unwrap_or("").trim_start_matches('~');
        self.rest.starts_with("<<")
            && rest.starts_with(|letter: char| letter.is_ascii_uppercase() || matches!(letter, '"' | '\'' | '_'))
    }

    /// Reads a here-document. Its lines stand behind the current one, and are taken away there.
    fn read_document(&mut self) -> Option<()> {
        self.skip(2);
        let is_indented = self.rest.starts_with('~');
        if is_indented {
            self.skip(1);
        }
        let is_plain = self.rest.starts_with('\'');
        let word = if self.rest.starts_with(['"', '\'']) {
            self.enclosed(0)?
        } else {
            let is_part = |letter: char| letter.is_alphanumeric() || letter == '_';
            let end = self.rest.find(|letter| !is_part(letter))?;
            self.skip(end)
        };
        let line_end = self.rest.find('\n')? + 1;
        let mut text = String::new();
        let mut end = line_end;
        for line in self.rest.get(line_end..)?.split_inclusive('\n') {
            end += line.len();
            let bare = if is_indented { line.trim() } else { line.trim_end_matches('\n') };
            if bare == word {
                let rest = self.rest.split_off(end);
                self.rest.truncate(line_end);
                self.rest.push_str(&rest);
                self.tokens.push(if is_plain { Token::Text(text) } else { Token::Template(text) });
                return Some(());
            }
            text.push_str(if is_indented { line.trim_start() } else { line });
        }
        None
    }

    /// Reads a variable, or the sign before a reference.
    fn read_variable(&mut self, sigil: char) -> Option<()> {
        let rest = self.rest.get(1..)?;
        let length = variable_length(rest);
        if length == 0 {
            // `@{$x}`, `@$x`, `$$x`
            let is_reference = rest.starts_with(['{', '$']) || rest.starts_with("#{") || rest.starts_with("#$");
            if !is_reference {
                return None;
            }
            self.skip(1 + usize::from(rest.starts_with('#')));
            self.tokens.push(Token::Name(sigil.to_string()));
            return Some(());
        }
        let name = self.skip(1 + length);
        self.tokens.push(Token::Name(name.replace("::", ".")));
        Some(())
    }

    fn read_word(&mut self) -> Option<()> {
        let is_part = |letter: char| letter.is_alphanumeric() || matches!(letter, '_' | ':');
        let length = self.rest.find(|letter| !is_part(letter)).unwrap_or(self.rest.len());
        // A single colon belongs to `?:` or to a label.
        let word = self.rest.get(..length)?;
        let length = match word.replace("::", "..").find(':') {
            Some(at) => at,
            None => length,
        };
        let word = self.skip(length);
        let after = self.rest.trim_start();
        let is_key = after.starts_with("=>") || after.starts_with(',') || after.starts_with(';');
        let is_tight = self.rest.starts_with(|letter: char| !letter.is_whitespace());
        let opens = !is_key
            && after.starts_with(|letter: char| "{([<|/!'\"#,^~".contains(letter))
            && (is_tight || after.starts_with('{') || after.starts_with('('));
        let follows_arrow = matches!(self.tokens.last(), Some(Token::Sign("->" | "{"))) && after.starts_with('}');
        if !opens || follows_arrow {
            self.tokens.push(Token::Name(word.replace("::", ".")));
            return Some(());
        }
        let blanks = self.rest.len() - after.len();
        match word.as_str() {
            "q" => {
                let text = self.enclosed(blanks)?;
                self.tokens.push(Token::Text(plain(&text)));
            }
            "qq" => {
                let text = self.enclosed(blanks)?;
                self.tokens.push(Token::Template(text));
            }
            "qx" => {
                let text = self.enclosed(blanks)?;
                self.tokens.extend([Token::Name(BACKQUOTE.to_owned()), Token::Template(text)]);
            }
            "qw" => {
                let text = self.enclosed(blanks)?;
                self.tokens.push(Token::Sign("("));
                for word in text.split_whitespace() {
                    self.tokens.extend([Token::Text(word.to_owned()), Token::Sign(",")]);
                }
                self.tokens.push(Token::Sign(")"));
            }
            "m" | "qr" => {
                self.enclosed(blanks)?;
                self.skip_flags();
                self.tokens.push(Token::Literal);
            }
            "s" | "tr" | "y" => {
                let opener = self.rest.chars().nth(blanks);
                self.enclosed(blanks)?;
                // Brackets come in two pairs.
                let second = if matches!(opener, Some('{' | '(' | '[' | '<')) {
                    self.rest.len() - self.rest.trim_start().len()
                } else {
                    self.rest.insert(0, opener?);
                    0
                };
                self.enclosed(second)?;
                self.skip_flags();
                self.tokens.push(Token::Literal);
            }
            _ => self.tokens.push(Token::Name(word.replace("::", "."))),
        }
        Some(())
    }

    fn skip_flags(&mut self) {
        let end = self.rest.find(|letter: char| !letter.is_ascii_lowercase()).unwrap_or(self.rest.len());
        self.skip(end);
    }

    /// Reads text between quotes or brackets that begin behind so many blanks. Escapes stay as they are.
    fn enclosed(&mut self, blanks: usize) -> Option<String> {
        self.skip(blanks);
        let opener = self.rest.chars().next()?;
        let closer = closer_of(opener);
        let mut open = 0_usize;
        let mut is_escaped = false;
        for (at, letter) in self.rest.char_indices() {
            if is_escaped {
                is_escaped = false;
            } else if letter == '\\' {
                is_escaped = true;
            } else if letter == closer && (opener != closer || open > 0) {
                open = open.checked_sub(1)?;
                if open == 0 {
                    let text = self.skip(at + letter.len_utf8());
                    return text.get(opener.len_utf8()..at).map(str::to_owned);
                }
            } else if letter == opener {
                open += 1;
            }
        }
        None
    }
}

/// The length of the name of a variable without its sigil; zero if there is none.
pub(super) fn variable_length(rest: &str) -> usize {
    let is_part = |letter: char| letter.is_alphanumeric() || letter == '_';
    let mut length = rest.find(|letter| !is_part(letter)).unwrap_or(rest.len());
    while length > 0 && rest.get(length..).is_some_and(|rest| rest.starts_with("::")) {
        let more = rest.get(length + 2..).unwrap_or("");
        let next = more.find(|letter| !is_part(letter)).unwrap_or(more.len());
        if next == 0 {
            break;
        }
        length += 2 + next;
    }
    if length == 0 && rest.starts_with(['!', '@', '0', '&', '/', ',', ';', '|']) {
        return 1;
    }
    length
}

/// A text in single quotes: only quotes and backslashes are escaped.
fn plain(text: &str) -> String {
    text.replace("\\'", "'").replace("\\\\", "\\")
}
