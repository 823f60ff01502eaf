//! From the notations of POSIX to that of the crate `regex`.

use super::{Flavor, Notation};

/// The deepest groups. Deeper ones are not followed.
const DEEPEST: usize = 64;

/// An expression in the notation of the crate, and what it has in it.
#[derive(Debug, Default)]
pub(super) struct Translated {
    pub(super) text: String,
    pub(super) has_references: bool,
    pub(super) has_alternatives: bool,
    /// It looks at the letters beside the match.
    pub(super) has_edges: bool,
}

/// Translates an expression; none if it is not understood.
pub(super) fn translated(text: &str, flavor: Flavor) -> Option<Translated> {
    match flavor.notation {
        Notation::Fixed => {
            let alternatives: Vec<String> = text.split('\n').map(regex::escape).collect();
            let has_alternatives = alternatives.len() > 1;
            Some(Translated { text: alternatives.join("|"), has_alternatives, ..Translated::default() })
        }
        Notation::Perl => Some(Translated { text: text.to_owned(), ..Translated::default() }),
        Notation::Basic | Notation::Extended => {
            let letters: Vec<char> = text.chars().collect();
            let mut translation = Translation {
                letters: &letters,
                at: 0,
                is_extended: flavor.notation == Notation::Extended,
                flavor,
                out: Translated::default(),
                opened: Vec::new(),
                beginnings: vec![Vec::new()],
                is_beginning: true,
                atom: None,
                is_repeated: false,
            };
            translation.run()?;
            Some(translation.out)
        }
    }
}

struct Translation<'t> {
    letters: &'t [char],
    at: usize,
    is_extended: bool,
    flavor: Flavor,
    out: Translated,
    /// Where the open groups begin in the translation.
    opened: Vec<usize>,
    /// The first letters of the alternatives of each open group, and of the whole; none for anything but a letter.
    beginnings: Vec<Vec<Option<char>>>,
    /// An alternative has begun, and nothing of it has been read.
    is_beginning: bool,
    /// Where the last atom begins, if there is one to repeat.
    atom: Option<usize>,
    /// The atom has been repeated already.
    is_repeated: bool,
}

impl Translation<'_> {
    fn run(&mut self) -> Option<()> {
        while let Some(letter) = self.letters.get(self.at).copied() {
            self.at += 1;
            match letter {
                '\\' => self.escaped()?,
                '[' => self.bracketed()?,
                '.' => self.push_atom("."),
                '*' => self.repeat("*")?,
                '^' => self.caret(),
                '$' => self.dollar(),
                // Lines are alternatives to `grep`, and letters to `sed`.
                '\n' if !self.flavor.escapes => self.alternative(),
                '(' if self.is_extended => self.open()?,
                // Without a group to close it stands for itself.
                ')' if self.is_extended && !self.opened.is_empty() => self.close()?,
                '|' if self.is_extended => self.alternative(),
                '+' if self.is_extended => self.repeat("+")?,
                '?' if self.is_extended => self.repeat("?")?,
                '{' if self.is_extended => self.interval()?,
                other => self.push_letter(other),
            }
        }
        self.end_alternatives();
        self.opened.is_empty().then_some(())
    }

    /// Notes how an alternative begins.
    fn begin(&mut self, letter: Option<char>) {
        if std::mem::take(&mut self.is_beginning)
            && let Some(letters) = self.beginnings.last_mut()
        {
            letters.push(letter.map(|letter| letter.to_ascii_lowercase()));
        }
    }

    /// The end of a group. Alternatives that all begin with other letters have no longer match than the first one.
    fn end_alternatives(&mut self) {
        self.begin(None);
        let mut letters = self.beginnings.pop().unwrap_or_default();
        let count = letters.len();
        letters.sort_unstable();
        letters.dedup();
        if count > 1 && (letters.len() < count || letters.contains(&None)) {
            self.out.has_alternatives = true;
        }
    }

    fn push_atom(&mut self, text: &str) {
        self.begin(None);
        self.atom = Some(self.out.text.len());
        self.is_repeated = false;
        self.out.text.push_str(text);
    }

    fn push_letter(&mut self, letter: char) {
        self.begin(Some(letter));
        let mut buffer = [0; 4];
        let escaped = regex::escape(letter.encode_utf8(&mut buffer));
        self.push_atom(&escaped);
    }

    fn push_edge(&mut self, text: &str) {
        self.begin(None);
        self.out.has_edges = true;
        self.out.text.push_str(text);
        self.atom = None;
    }

    fn open(&mut self) -> Option<()> {
        if self.opened.len() >= DEEPEST {
            return None;
        }
        self.begin(None);
        self.beginnings.push(Vec::new());
        self.is_beginning = true;
        self.opened.push(self.out.text.len());
        self.out.text.push('(');
        self.atom = None;
        Some(())
    }

    fn close(&mut self) -> Option<()> {
        self.atom = Some(self.opened.pop()?);
        self.end_alternatives();
        self.is_repeated = false;
        self.out.text.push(')');
        Some(())
    }

    fn alternative(&mut self) {
        self.begin(None);
        self.is_beginning = true;
        self.out.text.push('|');
        self.atom = None;
    }

    /// A repetition. Where there is nothing to repeat, a star of a basic expression is a letter.
    fn repeat(&mut self, sign: &str) -> Option<()> {
        let Some(atom) = self.atom else {
            if self.is_extended {
                return None;
            }
            self.push_letter(sign.chars().next()?);
            return Some(());
        };
        // A letter that may be missing is no beginning.
        if let Some(last) = self.beginnings.last_mut().and_then(|letters| letters.last_mut())
            && sign != "+"
        {
            *last = None;
        }
        // A second sign would mean something else here.
        if self.is_repeated {
            if self.out.text.len() > 1 << 14 {
                return None;
            }
            self.out.text.insert_str(atom, "(?:");
            self.out.text.push(')');
        }
        self.out.text.push_str(sign);
        self.is_repeated = true;
        Some(())
    }

    /// `{2}`, `{2,}`, `{,3}`, `{2,3}`
    fn interval(&mut self) -> Option<()> {
        let rest = self.letters.get(self.at..)?;
        let length = rest.iter().take(16).position(|letter| *letter == '}');
        let inside: Option<String> = length.and_then(|length| rest.get(..length)).map(|inside| inside.iter().collect());
        let inside = inside.map(|inside| {
            if self.is_extended {
                inside
            } else {
                inside.strip_suffix('\\').map_or_else(|| "-".to_owned(), str::to_owned)
            }
        });
        let is_number = |text: &str| text.parse::<u16>().is_ok_and(|number| number <= 1000);
        let bounds = inside.as_deref().and_then(|inside| match inside.split_once(',') {
            Some(("", "")) => Some("{0,}".to_owned()),
            Some(("", most)) => is_number(most).then(|| format!("{{0,{most}}}")),
            Some((least, "")) => is_number(least).then(|| format!("{{{least},}}")),
            Some((least, most)) => (is_number(least) && is_number(most)).then(|| format!("{{{least},{most}}}")),
            None => is_number(inside).then(|| format!("{{{inside}}}")),
        });
        match (bounds, length) {
            (Some(bounds), Some(length)) if self.atom.is_some() => {
                self.at += length + 1;
                self.repeat(&bounds)
            }
            _ if self.is_extended => {
                self.push_letter('{');
                Some(())
            }
            _ => None,
        }
    }

    fn is_start(&self) -> bool {
        let before: &str = &self.out.text;
        let behind_open = self.opened.last() == Some(&before.len().saturating_sub(1)) && before.ends_with('(');
        before.is_empty() || behind_open || before.ends_with('|') && self.atom.is_none()
    }

    fn caret(&mut self) {
        if self.is_extended || self.is_start() {
            self.push_edge("^");
        } else {
            self.push_letter('^');
        }
    }

    fn dollar(&mut self) {
        let next = self.letters.get(self.at..).unwrap_or(&[]);
        let is_end = matches!(next, [] | ['\\', ')' | '|', ..]) || next.first() == Some(&'\n') && !self.flavor.escapes;
        if self.is_extended || is_end {
            self.push_edge("$");
        } else {
            self.push_letter('$');
        }
    }

    fn escaped(&mut self) -> Option<()> {
        let letter = self.letters.get(self.at).copied()?;
        self.at += 1;
        match letter {
            '(' if !self.is_extended => self.open()?,
            ')' if !self.is_extended => self.close()?,
            '{' if !self.is_extended => self.interval()?,
            '|' if !self.is_extended => self.alternative(),
            '+' if !self.is_extended => self.repeat("+")?,
            '?' if !self.is_extended => self.repeat("?")?,
            'w' => self.push_atom("[A-Za-z0-9_]"),
            'W' => self.push_atom("[^A-Za-z0-9_]"),
            's' => self.push_atom("[\\t-\\r ]"),
            'S' => self.push_atom("[^\\t-\\r ]"),
            'b' => self.push_edge("(?-u:\\b)"),
            'B' => self.push_edge("\\B"),
            '<' => self.push_edge("(?-u:\\b{start})"),
            '>' => self.push_edge("(?-u:\\b{end})"),
            '`' => self.push_edge("\\A"),
            '\'' => self.push_edge("\\z"),
            '1'..='9' => {
                self.out.has_references = true;
                self.push_atom(&format!("(?:\\{letter})"));
            }
            'n' | 't' | 'f' | 'v' | 'a' | 'r' | 'd' | 'o' | 'x' | 'c' if self.flavor.escapes => {
                let (decoded, taken) = sed_escape(self.letters.get(self.at - 1..)?)?;
                self.at += taken - 1;
                self.push_letter(decoded);
            }
            other => self.push_letter(other),
        }
        Some(())
    }

    /// A set in brackets, letter by letter.
    fn bracketed(&mut self) -> Option<()> {
        let rest = self.letters.get(self.at..)?;
        let mut at = 0;
        let is_negated = rest.first() == Some(&'^');
        at += usize::from(is_negated);
        let first = at;
        let mut set = String::from(if is_negated { "[^" } else { "[" });
        loop {
            let letter = rest.get(at).copied()?;
            at += 1;
            match letter {
                ']' if at > first + 1 => break,
                '[' if matches!(rest.get(at), Some(':' | '=' | '.')) => {
                    let kind = rest.get(at).copied()?;
                    let inside = rest.get(at + 1..)?;
                    let end = inside.windows(2).position(|pair| matches!(pair, [mark, ']'] if *mark == kind))?;
                    let name: String = inside.get(..end)?.iter().collect();
                    if kind == ':' {
                        set.push_str(class(&name)?);
                    } else {
                        push_plain(&mut set, single(&name)?);
                    }
                    at += end + 3;
                }
                _ => {
                    let (from, taken) = self.set_letter(letter, rest.get(at..)?)?;
                    at += taken;
                    let range = rest.get(at..).and_then(|rest| match rest {
                        ['-', ']', ..] | [] => None,
                        ['-', to, ..] => Some(*to),
                        _ => None,
                    });
                    push_plain(&mut set, from);
                    if let Some(to) = range {
                        let (to, taken) = match to {
                            '[' => return None,
                            to => self.set_letter(to, rest.get(at + 2..)?)?,
                        };
                        if to < from {
                            return None;
                        }
                        set.push('-');
                        push_plain(&mut set, to);
                        at += 2 + taken;
                    }
                }
            }
        }
        set.push(']');
        self.at += at;
        self.push_atom(&set);
        Some(())
    }

    /// A letter of a set, and the letters that it takes more. A backslash stands for itself, but for `\n` and the like in `sed`.
    fn set_letter(&self, letter: char, rest: &[char]) -> Option<(char, usize)> {
        if letter == '\\'
            && self.flavor.escapes
            && matches!(rest.first(), Some('n' | 't' | 'f' | 'v' | 'r' | 'x' | 'o' | 'd'))
        {
            return sed_escape(rest);
        }
        Some((letter, 0))
    }
}

/// An escape of `sed` behind its backslash, and its length.
pub(in crate::walk) fn sed_escape(rest: &[char]) -> Option<(char, usize)> {
    let number = |radix: u32, most: usize| {
        let digits: String = rest.iter().skip(1).take(most).take_while(|letter| letter.is_digit(radix)).collect();
        let number = u32::from_str_radix(&digits, radix).ok().filter(|number| (1..128).contains(number))?;
        Some((char::from_u32(number)?, 1 + digits.len()))
    };
    match rest.first()? {
        'n' => Some(('\n', 1)),
        't' => Some(('\t', 1)),
        'f' => Some(('\u{c}', 1)),
        'v' => Some(('\u{b}', 1)),
        'a' => Some(('\u{7}', 1)),
        'r' => Some(('\r', 1)),
        'd' => number(10, 3),
        'o' => number(8, 3),
        'x' => number(16, 2),
        _ => None,
    }
}

fn push_plain(set: &mut String, letter: char) {
    if letter.is_ascii_punctuation() {
        set.push('\\');
        set.push(letter);
    } else {
        set.push(letter);
    }
}

fn single(name: &str) -> Option<char> {
    let mut letters = name.chars();
    letters.next().filter(|_| letters.as_str().is_empty())
}

fn class(name: &str) -> Option<&'static str> {
    Some(match name {
        "alpha" => "A-Za-z",
        "digit" => "0-9",
        "alnum" => "A-Za-z0-9",
        "lower" => "a-z",
        "upper" => "A-Z",
        "space" => "\\t-\\r ",
        "blank" => "\\t ",
        "punct" => "!-/:-@\\[-`\\{-~",
        "print" => " -~",
        "graph" => "!-~",
        "cntrl" => "\\x00-\\x1f\\x7f",
        "xdigit" => "0-9A-Fa-f",
        _ => return None,
    })
}
