//! The words of Tcl: commands, lists and what quotes them.

/// A word of a command, before anything in it is replaced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TclWord {
    pub(super) text: String,
    /// In braces nothing is replaced.
    pub(super) is_braced: bool,
    /// `{*}`: the word is a list, and each element is a word.
    pub(super) expands: bool,
}

/// The commands of a script, each as its words.
pub(super) fn commands(code: &str) -> Vec<Vec<TclWord>> {
    let letters: Vec<char> = code.chars().collect();
    let mut reader = TclReader { letters: &letters, at: 0 };
    let mut commands = Vec::new();
    while reader.ahead().is_some() {
        let command = reader.command();
        if !command.is_empty() {
            commands.push(command);
        }
    }
    commands
}

/// The letters that an escape means, and the length of its spelling behind the backslash.
pub(super) fn unescaped(after: &str) -> (String, usize) {
    let Some(letter) = after.chars().next() else { return ("\\".to_owned(), 0) };
    // A line goes on: all blanks are one.
    if letter == '\n' {
        let blanks = after.len() - after.trim_start().len();
        return (" ".to_owned(), blanks);
    }
    let (taken, meant) = crate::syntax::unescape(after, true);
    match meant.filter(|_| taken > 0) {
        Some(meant) => (meant.to_string(), taken),
        None => (letter.to_string(), letter.len_utf8()),
    }
}

/// The name of the variable that begins here, and the text behind it.
pub(super) fn variable(text: &str) -> (&str, &str) {
    if let Some(braced) = text.strip_prefix('{') {
        return braced.split_once('}').unwrap_or((braced, ""));
    }
    let is_part = |letter: char| letter.is_alphanumeric() || letter == '_';
    let mut end = 0;
    loop {
        let rest = text.get(end..).unwrap_or("");
        let next = rest.find(|letter| !is_part(letter)).unwrap_or(rest.len());
        end += next;
        if text.get(end..).is_some_and(|rest| rest.starts_with("::")) {
            end += 2;
        } else {
            break;
        }
    }
    // `$env(HOME)`, `$table([name])`
    if end > 0 && text.get(end..).is_some_and(|rest| rest.starts_with('(')) {
        let inside = text.get(end + 1..).unwrap_or("");
        let mut open = 0_usize;
        for (at, letter) in inside.char_indices() {
            match letter {
                '[' | '(' => open += 1,
                ')' if open == 0 => {
                    end += at + 2;
                    break;
                }
                ']' | ')' => open = open.saturating_sub(1),
                _ => {}
            }
        }
    }
    text.split_at_checked(end).unwrap_or((text, ""))
}

/// The place of the bracket that closes the one before this text, or the end of the text.
pub(super) fn closing(text: &str) -> usize {
    let mut open = 1_usize;
    let mut is_escaped = false;
    for (at, letter) in text.char_indices() {
        match letter {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '[' => open += 1,
            ']' => open -= 1,
            _ => {}
        }
        if open == 0 {
            return at;
        }
    }
    text.len()
}

struct TclReader<'c> {
    letters: &'c [char],
    at: usize,
}

impl TclReader<'_> {
    fn ahead(&self) -> Option<char> {
        self.letters.get(self.at).copied()
    }

    /// Reads a command and the sign that ends it.
    fn command(&mut self) -> Vec<TclWord> {
        let mut words = Vec::new();
        while let Some(letter) = self.ahead() {
            match letter {
                '\n' | ';' => {
                    self.at += 1;
                    break;
                }
                // Every blank ends a word, so one that was left here would begin an empty word again and again.
                blank if blank.is_whitespace() => self.at += 1,
                '\\' if self.letters.get(self.at + 1) == Some(&'\n') => self.at += 2,
                '#' if words.is_empty() => {
                    while self.ahead().is_some_and(|letter| letter != '\n') {
                        self.at += 1;
                    }
                }
                _ => words.push(self.word()),
            }
        }
        words
    }

    fn word(&mut self) -> TclWord {
        let expands = self.letters.get(self.at..self.at + 3) == Some(&['{', '*', '}']);
        if expands {
            self.at += 3;
        }
        match self.ahead() {
            Some('{') => TclWord { text: self.nested('{', '}'), is_braced: true, expands },
            Some('"') => {
                self.at += 1;
                let text = self.until(|letter| letter == '"');
                self.at += 1;
                TclWord { text, is_braced: false, expands }
            }
            _ => {
                let text = self.until(|letter| letter.is_whitespace() || letter == ';');
                TclWord { text, is_braced: false, expands }
            }
        }
    }

    /// The text up to a letter outside of brackets.
    fn until(&mut self, ends: impl Fn(char) -> bool) -> String {
        let mut text = String::new();
        while let Some(letter) = self.ahead() {
            match letter {
                '\\' => {
                    text.push(letter);
                    text.extend(self.letters.get(self.at + 1));
                    self.at += 2;
                }
                '[' => {
                    let inside = self.nested('[', ']');
                    text.push('[');
                    text.push_str(&inside);
                    text.push(']');
                }
                _ if ends(letter) => break,
                _ => {
                    text.push(letter);
                    self.at += 1;
                }
            }
        }
        text
    }

    /// The text between brackets, which begin here. Goes on behind them.
    fn nested(&mut self, opener: char, closer: char) -> String {
        let mut text = String::new();
        let mut open = 0_usize;
        while let Some(letter) = self.ahead() {
            self.at += 1;
            if letter == '\\' {
                text.push(letter);
                text.extend(self.ahead());
                self.at += 1;
                continue;
            }
            if letter == opener {
                open += 1;
                if open == 1 {
                    continue;
                }
            } else if letter == closer {
                open -= 1;
                if open == 0 {
                    break;
                }
            }
            text.push(letter);
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brackets_quotes_and_braces_keep_a_word_together() {
        let found = commands("set a {b c}; puts \"x [list d \"e\"] y\" # no\n# remark\nexec {*}$a [f g]");
        let texts: Vec<Vec<&str>> =
            found.iter().map(|command| command.iter().map(|word| word.text.as_str()).collect()).collect();
        assert_eq!(
            texts,
            [vec!["set", "a", "b c"], vec!["puts", "x [list d \"e\"] y", "#", "no"], vec!["exec", "$a", "[f g]"]]
        );
    }
}
