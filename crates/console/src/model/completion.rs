//! Completion of paths: the word before the cursor, and what a list of names makes of it.

/// A word that is to be completed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PathWord {
    /// Byte offset of the word in the text.
    pub(crate) start: usize,
    /// The quote that the word begins with.
    pub(crate) quote: Option<char>,
    /// The directory part as typed, unquoted: empty, or up to its last slash.
    pub(crate) directory: String,
    /// The beginning of the name, unquoted.
    pub(crate) name: String,
}

/// A name in the directory of a [`PathWord`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PathName {
    /// The name.
    pub(crate) name: String,
    /// True if it is a directory.
    pub(crate) is_directory: bool,
}

impl PathWord {
    /// The word before the cursor.
    pub(crate) fn before(text: &str) -> Self {
        let mut start = 0;
        let mut quote = None;
        let mut word = String::new();
        let mut characters = text.char_indices().peekable();
        let mut in_word = false;
        while let Some((at, character)) = characters.next() {
            match (character, quote) {
                (blank, None) if blank.is_whitespace() || "|&;<>()!".contains(blank) => {
                    in_word = false;
                    continue;
                }
                ('"' | '\'', None) if !in_word => {
                    (start, quote, in_word) = (at, Some(character), true);
                    word.clear();
                    continue;
                }
                (end, Some(open)) if end == open => {
                    quote = None;
                    continue;
                }
                _ => {}
            }
            if !in_word {
                (start, in_word) = (at, true);
                word.clear();
            }
            if character == '\\' && quote != Some('\'') {
                word.extend(characters.next().map(|(_, escaped)| escaped));
            } else {
                word.push(character);
            }
        }
        if !in_word {
            (start, quote) = (text.len(), None);
            word.clear();
        }
        let name_at = word.rfind('/').map_or(0, |at| at + 1);
        Self { start, quote, directory: word[..name_at].to_owned(), name: word[name_at..].to_owned() }
    }

    /// The text that replaces the word, given the names in its directory, and the names to show if there are several.
    pub(crate) fn complete(&self, names: &[PathName]) -> (Option<String>, Vec<String>) {
        let hidden = self.name.starts_with('.');
        let fits = |entry: &&PathName| entry.name.starts_with(&self.name) && (hidden || !entry.name.starts_with('.'));
        let mut fitting: Vec<&PathName> = names.iter().filter(fits).collect();
        fitting.sort_by(|one, other| one.name.cmp(&other.name));
        match fitting[..] {
            [] => (None, Vec::new()),
            [only] => {
                let word = self.quoted(&format!("{}{}", self.directory, only.name));
                let end = match (only.is_directory, self.quote) {
                    (true, _) => "/".to_owned(),
                    (false, Some(quote)) => format!("{quote} "),
                    (false, None) => " ".to_owned(),
                };
                (Some(word + &end), Vec::new())
            }
            _ => {
                let common = common_beginning(&fitting);
                let word = self.quoted(&format!("{}{common}", self.directory));
                let listed = fitting
                    .iter()
                    .map(|entry| if entry.is_directory { format!("{}/", entry.name) } else { entry.name.clone() });
                (Some(word), listed.collect())
            }
        }
    }

    fn quoted(&self, path: &str) -> String {
        match self.quote {
            Some('"') => {
                let escaped = path.replace('\\', "\\\\").replace('"', "\\\"").replace('$', "\\$").replace('`', "\\`");
                format!("\"{escaped}")
            }
            // A quote cannot stand between single quotes.
            Some(_) if !path.contains('\'') => format!("'{path}"),
            _ => escaped(path),
        }
    }
}

/// The path with a backslash before every character that bash would take for more than text. Bash removes a newline together
/// with its backslash, so control characters stand in `$'…'`.
fn escaped(path: &str) -> String {
    if path.contains(char::is_control) {
        let (home, rest) = path.strip_prefix("~/").map_or(("", path), |rest| ("~/", rest));
        let quoted: String = rest.chars().map(in_ansi_quotes).collect();
        return format!("{home}$'{quoted}'");
    }
    let mut word = String::new();
    for (at, character) in path.char_indices() {
        let is_plain = character.is_alphanumeric() || "/._-+,:@%^=".contains(character) || !character.is_ascii();
        let is_home = at == 0 && character == '~';
        if !is_plain && !is_home {
            word.push('\\');
        }
        word.push(character);
    }
    word
}

fn in_ansi_quotes(character: char) -> String {
    match character {
        '\n' => "\\n".to_owned(),
        '\t' => "\\t".to_owned(),
        '\'' | '\\' => format!("\\{character}"),
        _ if character.is_control() => format!("\\u{:04x}", u32::from(character)),
        _ => character.to_string(),
    }
}

fn common_beginning(names: &[&PathName]) -> String {
    let mut common = names.first().map(|entry| entry.name.clone()).unwrap_or_default();
    for entry in names {
        let same = common.chars().zip(entry.name.chars()).take_while(|(one, other)| one == other);
        common = same.map(|(character, _)| character).collect();
    }
    common
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names() -> Vec<PathName> {
        ["main.rs", "my file", "model", ".hidden"]
            .map(|name| PathName { name: name.to_owned(), is_directory: name == "model" })
            .into()
    }

    #[track_caller]
    fn check(text: &str, completed: &str, listed: &[&str]) {
        let word = PathWord::before(text);
        let (with, shown) = word.complete(&names());
        let with = with.unwrap_or_else(|| text[word.start..].to_owned());
        assert_eq!(
            (format!("{}{with}", &text[..word.start]), shown),
            (completed.to_owned(), listed.iter().map(|name| (*name).to_owned()).collect())
        );
    }

    #[test]
    fn a_name_is_completed_and_quoted() {
        check("cat ma", "cat main.rs ", &[]);
        check("ls src/mo", "ls src/model/", &[]);
        check("cat my", "cat my\\ file ", &[]);
        check("cat my\\ f", "cat my\\ file ", &[]);
        check("cat \"my", "cat \"my file\" ", &[]);
        check("cat 'my f", "cat 'my file' ", &[]);
        check("cat <ma", "cat <main.rs ", &[]);
        check("!ma", "!main.rs ", &[]);
        check("cat .", "cat .hidden ", &[]);
    }

    #[test]
    fn a_name_with_control_characters_is_one_that_bash_reads() {
        let names = [PathName { name: "it's\n\u{1}".to_owned(), is_directory: false }];
        let completed = |text: &str| PathWord::before(text).complete(&names).0;
        assert_eq!(completed("cat i").as_deref(), Some("$'it\\'s\\n\\u0001' "));
        assert_eq!(completed("cat ~/i").as_deref(), Some("~/$'it\\'s\\n\\u0001' "));
    }

    #[test]
    fn several_names_are_completed_as_far_as_they_agree() {
        check("cat m", "cat m", &["main.rs", "model/", "my file"]);
        check("cat ", "cat m", &["main.rs", "model/", "my file"]);
        check("cat x", "cat x", &[]);
    }
}
