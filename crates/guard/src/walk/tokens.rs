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
    let mut tokens = Vec::new();
    let letters: Vec<char> = code.chars().collect();
    let mut at = 0;
    while let Some(letter) = letters.get(at).copied() {
        match letter {
            '#' if !matches!(language, "node" | "nodejs" | "bun" | "deno" | "lua") => {
                while letters.get(at).is_some_and(|letter| *letter != '\n') {
                    at += 1;
                }
            }
            '/' if letters.get(at + 1) == Some(&'/')
                && matches!(language, "node" | "nodejs" | "bun" | "deno" | "php") =>
            {
                while letters.get(at).is_some_and(|letter| *letter != '\n') {
                    at += 1;
                }
            }
            '"' | '\'' | '`' => {
                let (text, next) = string(&letters, at);
                let script = matches!(language, "node" | "nodejs" | "bun" | "deno" | "tsx" | "ts-node");
                if letter == '`' && !script {
                    tokens.push(CodeToken::Sign('`'));
                }
                let fills = match language {
                    "perl" | "php" | "ruby" | "groovy" | "julia" | "elixir" => letter != '\'',
                    _ if script => letter == '`',
                    // An `f` before the quote.
                    _ => {
                        matches!(tokens.last(), Some(CodeToken::Name(prefix)) if ["f", "F", "rf", "fr"].contains(&prefix.as_str()))
                    }
                };
                tokens.push(if fills && text.contains(['$', '{']) {
                    CodeToken::Template(text)
                } else {
                    CodeToken::Text(text)
                });
                at = next;
            }
            _ if letter.is_alphabetic() || letter == '_' || letter == '$' || letter == '@' => {
                let start = at;
                while letters.get(at).is_some_and(|l| l.is_alphanumeric() || matches!(l, '_' | '.' | '$' | '@'))
                    || at > start && letters.get(at) == Some(&':') && letters.get(at + 1) == Some(&':')
                    || at > start && letters.get(at) == Some(&':') && letters.get(at - 1) == Some(&':')
                {
                    at += 1;
                }
                let name: String = letters.get(start..at).unwrap_or(&[]).iter().collect();
                // Perl and Ruby have more ways to quote.
                let opener = letters.get(at).copied();
                if matches!(name.as_str(), "q" | "qq" | "qx") && opener.is_some_and(|o| "{([<|/!".contains(o)) {
                    let (text, next) = enclosed(&letters, at);
                    if name == "qx" {
                        tokens.push(CodeToken::Sign('`'));
                    }
                    tokens.push(CodeToken::Text(text));
                    at = next;
                } else if name == "qw" && opener.is_some_and(|o| "{([<|/!".contains(o)) {
                    let (text, next) = enclosed(&letters, at);
                    tokens.extend(words(&text));
                    at = next;
                } else {
                    tokens.push(CodeToken::Name(name));
                }
            }
            '%' if matches!(letters.get(at + 1), Some('w' | 'W'))
                && letters.get(at + 2).is_some_and(|o| "{([<|/!".contains(*o)) =>
            {
                let (text, next) = enclosed(&letters, at + 2);
                tokens.extend(words(&text));
                at = next;
            }
            '%' if letters.get(at + 1) == Some(&'x') && letters.get(at + 2).is_some_and(|o| "{([<|/!".contains(*o)) => {
                let (text, next) = enclosed(&letters, at + 2);
                tokens.push(CodeToken::Sign('`'));
                tokens.push(CodeToken::Text(text));
                at = next;
            }
            ' ' | '\t' | '\r' => at += 1,
            _ => {
                tokens.push(CodeToken::Sign(letter));
                at += 1;
            }
        }
    }
    tokens
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

/// Text between brackets, and where the code goes on.
fn enclosed(letters: &[char], start: usize) -> (String, usize) {
    let opener = letters.get(start).copied().unwrap_or('(');
    let closer = match opener {
        '(' => ')',
        '{' => '}',
        '[' => ']',
        '<' => '>',
        other => other,
    };
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
