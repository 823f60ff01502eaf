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

/// The elements of a list.
pub(super) fn elements(list: &str) -> Vec<String> {
    let flat = list.replace(['\n', ';'], " ");
    let words = commands(&flat).into_iter().flatten();
    words.map(|word| word.text).collect()
}

/// A list of these elements.
pub(super) fn list(elements: &[String]) -> String {
    let quoted = |element: &String| {
        let is_plain = !element.is_empty() && !element.contains([' ', '\t', '\n', '{', '}', '"', ';', '[', '$']);
        if is_plain { element.clone() } else { format!("{{{element}}}") }
    };
    elements.iter().map(quoted).collect::<Vec<_>>().join(" ")
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
                ' ' | '\t' | '\r' => self.at += 1,
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
        assert_eq!(elements("a {b c}\nd"), ["a", "b c", "d"]);
        assert_eq!(elements("} ] \" {"), elements("} ] \" {"), "anything is read to its end");
    }
}
