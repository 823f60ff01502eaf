//! The tokens of code in other languages.

#[derive(Debug, Clone, PartialEq)]
pub(super) enum CodeToken {
    Name(String),
    Text(String),
    /// A string with names in it, for whose values they stand.
    Template(String),
    Sign(char),
}

/// The tokens of some code: names, strings and signs. Comments are left out.
pub(super) fn tokens(language: &str, code: &str) -> Vec<CodeToken> {
    let letters: Vec<char> = code.chars().collect();
    let mut lexer = CodeLexer { language, letters: &letters, at: 0, tokens: Vec::new() };
    while let Some(letter) = lexer.ahead(0) {
        lexer.read(letter);
    }
    lexer.tokens
}

/// Code while its tokens are read.
struct CodeLexer<'c> {
    language: &'c str,
    letters: &'c [char],
    at: usize,
    tokens: Vec<CodeToken>,
}

impl CodeLexer<'_> {
    fn ahead(&self, by: usize) -> Option<char> {
        self.letters.get(self.at + by).copied()
    }

    /// True if brackets begin there in which Perl and Ruby quote.
    fn opens_quote(&self, by: usize) -> bool {
        self.ahead(by).is_some_and(|letter| "{([<|/!".contains(letter))
    }

    /// Reads the token that begins with this letter.
    fn read(&mut self, letter: char) {
        let language = self.language;
        match letter {
            '#' if !matches!(language, "node" | "nodejs" | "bun" | "deno" | "lua") => self.skip_line(),
            '/' if self.ahead(1) == Some('/') && matches!(language, "node" | "nodejs" | "bun" | "deno" | "php") => {
                self.skip_line();
            }
            '"' | '\'' | '`' => self.read_string(letter),
            _ if letter.is_alphabetic() || matches!(letter, '_' | '$' | '@') => self.read_name(),
            '%' if matches!(self.ahead(1), Some('w' | 'W')) && self.opens_quote(2) => {
                let text = self.read_enclosed(2);
                self.tokens.extend(words(&text));
            }
            '%' if self.ahead(1) == Some('x') && self.opens_quote(2) => {
                let text = self.read_enclosed(2);
                self.tokens.extend([CodeToken::Sign('`'), CodeToken::Text(text)]);
            }
            ' ' | '\t' | '\r' => self.at += 1,
            _ => {
                self.tokens.push(CodeToken::Sign(letter));
                self.at += 1;
            }
        }
    }

    fn skip_line(&mut self) {
        while self.ahead(0).is_some_and(|letter| letter != '\n') {
            self.at += 1;
        }
    }

    fn read_string(&mut self, quote: char) {
        let (text, next) = string(self.letters, self.at);
        let is_script = matches!(self.language, "node" | "nodejs" | "bun" | "deno" | "tsx" | "ts-node");
        if quote == '`' && !is_script {
            self.tokens.push(CodeToken::Sign('`'));
        }
        let fills = match self.language {
            "perl" | "php" | "ruby" | "groovy" | "julia" | "elixir" => quote != '\'',
            _ if is_script => quote == '`',
            // An `f` before the quote.
            _ => {
                let is_prefix = |name: &String| ["f", "F", "rf", "fr"].contains(&name.as_str());
                matches!(self.tokens.last(), Some(CodeToken::Name(name)) if is_prefix(name))
            }
        };
        let is_template = fills && text.contains(['$', '{']);
        self.tokens.push(if is_template { CodeToken::Template(text) } else { CodeToken::Text(text) });
        self.at = next;
    }

    fn read_name(&mut self) {
        let start = self.at;
        let is_part = |letter: char| letter.is_alphanumeric() || matches!(letter, '_' | '.' | '$' | '@');
        while self.ahead(0).is_some_and(is_part) || self.at > start && self.is_in_double_colon() {
            self.at += 1;
        }
        let name: String = self.letters.get(start..self.at).unwrap_or(&[]).iter().collect();
        // Perl and Ruby have more ways to quote.
        match name.as_str() {
            "q" | "qq" if self.opens_quote(0) => {
                let text = self.read_enclosed(0);
                self.tokens.push(CodeToken::Text(text));
            }
            "qx" if self.opens_quote(0) => {
                let text = self.read_enclosed(0);
                self.tokens.extend([CodeToken::Sign('`'), CodeToken::Text(text)]);
            }
            "qw" if self.opens_quote(0) => {
                let text = self.read_enclosed(0);
                self.tokens.extend(words(&text));
            }
            _ => self.tokens.push(CodeToken::Name(name)),
        }
    }

    /// True on one of the colons of `::`, of which the second is known by the first.
    fn is_in_double_colon(&self) -> bool {
        let before = self.at.checked_sub(1).and_then(|at| self.letters.get(at));
        self.ahead(0) == Some(':') && (self.ahead(1) == Some(':') || before == Some(&':'))
    }

    /// Reads the text between the brackets that begin there.
    fn read_enclosed(&mut self, by: usize) -> String {
        let (text, next) = enclosed(self.letters, self.at + by);
        self.at = next;
        text
    }
}

/// The words of a list that is written without quotes.
fn words(text: &str) -> impl Iterator<Item = CodeToken> {
    text.split_whitespace().flat_map(|word| [CodeToken::Text(word.to_owned()), CodeToken::Sign(',')])
}

/// A quoted string, and where the code goes on.
fn string(letters: &[char], start: usize) -> (String, usize) {
    let quote = letters.get(start).copied().unwrap_or('"');
    let triple = letters.get(start + 1) == Some(&quote) && letters.get(start + 2) == Some(&quote);
    let width = if triple { 3 } else { 1 };
    let mut text = String::new();
    let mut at = start + width;
    while let Some(letter) = letters.get(at).copied() {
        let closes = if triple {
            letters.get(at..at + 3).is_some_and(|three| three.iter().all(|letter| *letter == quote))
        } else {
            letter == quote
        };
        if closes {
            return (text, at + width);
        }
        if letter == '\\' {
            let rest: String = letters.iter().skip(at + 1).take(9).collect();
            let (taken, decoded) = crate::syntax::unescape(&rest, true);
            if taken > 0 {
                text.extend(decoded);
                at += 1 + rest.get(..taken).unwrap_or("").chars().count();
            } else {
                text.extend(letters.get(at + 1));
                at += 2;
            }
            continue;
        }
        text.push(letter);
        at += 1;
    }
    (text, at)
}

/// The letter that ends a text which begins with this one: a bracket's other half, or the same letter.
pub(super) fn closer_of(opener: char) -> char {
    match opener {
        '(' => ')',
        '{' => '}',
        '[' => ']',
        '<' => '>',
        other => other,
    }
}

/// Text between brackets, and where the code goes on.
fn enclosed(letters: &[char], start: usize) -> (String, usize) {
    let opener = letters.get(start).copied().unwrap_or('(');
    let closer = closer_of(opener);
    let mut text = String::new();
    let mut open = 0_usize;
    for (at, letter) in letters.iter().enumerate().skip(start) {
        if *letter == closer && (opener == closer && open > 0 || open == 1) {
            return (text, at + 1);
        }
        if *letter == opener {
            open += 1;
            if open == 1 {
                continue;
            }
        }
        if *letter == closer {
            open = open.saturating_sub(1);
        }
        text.push(*letter);
    }
    (text, letters.len())
}
