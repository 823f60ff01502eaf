//! Options of programs, as `getopt` reads them, and the reasons for which output is not known exactly.

use crate::marks::{has_mark, without_marks};

/// The reason why the output of a program is not known letter by letter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::walk) enum Inexact {
    /// A mark takes part, so that the text is carried through as [`super::marked`] does.
    Marked,
    /// An option or a form that is not understood.
    Unknown,
}

/// A result that is exact.
pub(in crate::walk) type Exact<T> = Result<T, Inexact>;

/// Makes a missing value an unknown one.
pub(in crate::walk) trait OrUnknown<T> {
    /// The value, or [`Inexact::Unknown`].
    fn or_unknown(self) -> Exact<T>;
}

impl<T> OrUnknown<T> for Option<T> {
    fn or_unknown(self) -> Exact<T> {
        self.ok_or(Inexact::Unknown)
    }
}

/// The options of a call by their letters, in order, and the other words.
#[derive(Debug, Default)]
pub(in crate::walk) struct Given<'w> {
    options: Vec<(char, String)>,
    /// Marks in options are no hindrance.
    takes_marks: bool,
    pub(in crate::walk) operands: Vec<&'w str>,
}

impl<'w> Given<'w> {
    /// Reads the arguments. `letters` is as for `getopt`: a colon takes a value, two an attached one. Each long name has the letter
    /// that it stands for.
    pub(in crate::walk) fn read(arguments: &'w [String], letters: &str, long_names: &[(&str, char)]) -> Exact<Self> {
        Self::default().filled(arguments, letters, long_names)
    }

    /// The same for a program that reads marks in its options as letters.
    pub(in crate::walk) fn read_with_marks(
        arguments: &'w [String],
        letters: &str,
        long_names: &[(&str, char)],
    ) -> Exact<Self> {
        Self { takes_marks: true, ..Self::default() }.filled(arguments, letters, long_names)
    }

    fn filled(mut self, arguments: &'w [String], letters: &str, long_names: &[(&str, char)]) -> Exact<Self> {
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            if word == "--" {
                self.operands.extend(words.map(String::as_str));
                break;
            }
            match word.strip_prefix('-') {
                None | Some("") => self.operands.push(word),
                Some(_) if has_mark(word) && !self.takes_marks => return Err(Inexact::Marked),
                Some(flags) => match flags.strip_prefix('-') {
                    Some(long) => self.note_long(long, letters, long_names, &mut words)?,
                    None => self.note_cluster(flags, letters, &mut words)?,
                },
            }
        }
        Ok(self)
    }

    fn note_long(
        &mut self,
        long: &str,
        letters: &str,
        long_names: &[(&str, char)],
        words: &mut std::slice::Iter<'_, String>,
    ) -> Exact<()> {
        let (name, attached) = long.split_once('=').map_or((long, None), |(name, value)| (name, Some(value)));
        let exact = long_names.iter().find(|(known, _)| *known == name);
        let mut similar = long_names.iter().filter(|(known, _)| known.starts_with(name));
        let (_, letter) = match (exact, similar.next(), similar.next()) {
            (Some(exact), ..) => exact,
            (None, Some(only), None) => only,
            _ => return Err(Inexact::Unknown),
        };
        let value = match (takes(letters, *letter).or_unknown()?, attached) {
            (0, Some(_)) => return Err(Inexact::Unknown),
            (_, Some(value)) => value.to_owned(),
            (1, None) => words.next().cloned().or_unknown()?,
            (_, None) => String::new(),
        };
        self.note(*letter, value)
    }

    fn note_cluster(&mut self, flags: &str, letters: &str, words: &mut std::slice::Iter<'_, String>) -> Exact<()> {
        for (at, letter) in flags.char_indices() {
            let attached = flags.get(at + letter.len_utf8()..).unwrap_or("");
            match takes(letters, letter).or_unknown()? {
                0 => self.note(letter, String::new())?,
                1 if attached.is_empty() => return self.note(letter, words.next().cloned().or_unknown()?),
                _ => return self.note(letter, attached.to_owned()),
            }
        }
        Ok(())
    }

    fn note(&mut self, letter: char, value: String) -> Exact<()> {
        if has_mark(&value) && !self.takes_marks {
            return Err(Inexact::Marked);
        }
        self.options.push((letter, value));
        Ok(())
    }

    /// True if the option is given.
    pub(in crate::walk) fn has(&self, letter: char) -> bool {
        self.options.iter().any(|(own, _)| *own == letter)
    }

    /// The last value of an option.
    pub(in crate::walk) fn value(&self, letter: char) -> Option<&str> {
        self.options.iter().rev().find(|(own, _)| *own == letter).map(|(_, value)| value.as_str())
    }

    /// The last value of an option as a number; unknown if it is none.
    pub(in crate::walk) fn number(&self, letter: char) -> Exact<Option<usize>> {
        self.value(letter).map(|value| value.trim().parse().map_err(|_| Inexact::Unknown)).transpose()
    }

    /// All options with their values, in order.
    pub(in crate::walk) fn options(&self) -> impl Iterator<Item = (char, &str)> {
        self.options.iter().map(|(letter, value)| (*letter, value.as_str()))
    }
}

/// The number of colons behind a letter; none if there is no such option.
fn takes(letters: &str, letter: char) -> Option<usize> {
    let (_, after) = letters.split_once(letter).filter(|_| letter != ':')?;
    Some(after.chars().take_while(|next| *next == ':').count())
}

/// The lines of a text without their ends.
pub(in crate::walk) fn lines_of(text: &str, end: char) -> Vec<&str> {
    text.split_terminator(end).collect()
}

/// The end of a line, by the option `-z`.
pub(in crate::walk) fn line_end(given: &Given<'_>) -> char {
    if given.has('z') { '\0' } else { '\n' }
}

/// Bytes as text, without anything that could be taken for a mark; unknown if they are none.
pub(in crate::walk) fn text_of(bytes: Vec<u8>) -> Exact<String> {
    let text = String::from_utf8(bytes).map_err(|_| Inexact::Unknown)?;
    Ok(without_marks(&text).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_read_in_every_spelling() {
        let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let long_names = [("lines", 'n'), ("quiet", 'q'), ("suffix", 's')];
        for call in ["-qn5 a", "-q -n 5 a", "--lines=5 --quiet a", "a --li 5 -q", "-n5 -q -- a"] {
            let words = words(call);
            let given = Given::read(&words, "n:qs::", &long_names).expect(call);
            assert_eq!((given.value('n'), given.has('q'), given.operands.as_slice()), (Some("5"), true, &["a"][..]));
        }
        for call in ["-x", "--other", "-n"] {
            assert_eq!(Given::read(&words(call), "n:q", &long_names).err(), Some(Inexact::Unknown), "{call}");
        }
    }
}
