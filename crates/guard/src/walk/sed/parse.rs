//! Scripts of `sed`: addresses and commands.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::replace::{self, ReplacementPart};
use crate::walk::ScriptWalk;
use crate::walk::expression::{Expression, Flavor, Notation, sed_escape};

/// The most commands of a script. A longer one is not followed.
const MOST_COMMANDS: usize = 2048;

/// A place in the input.
#[derive(Debug, Clone)]
pub(super) enum Address {
    Line(usize),
    Last,
    /// `first~step`
    Step(usize, usize),
    Matching(Sought),
}

/// The expression of an address or a substitution.
#[derive(Debug, Clone)]
pub(super) enum Sought {
    Own(Rc<Expression>),
    /// An empty one is the expression that was used last.
    Last,
}

/// The end of a range.
#[derive(Debug, Clone)]
pub(super) enum RangeEnd {
    At(Address),
    /// `+N`
    More(usize),
    /// `~N`
    Multiple(usize),
}

/// `s///`
#[derive(Debug)]
pub(super) struct Substitution {
    pub(super) wanted: Sought,
    pub(super) by: Vec<ReplacementPart>,
    pub(super) is_global: bool,
    /// The first match that is replaced, from 1.
    pub(super) number: usize,
    pub(super) prints: bool,
    pub(super) executes: bool,
    pub(super) file: Option<String>,
}

/// The work of a command.
#[derive(Debug)]
pub(super) enum Verb {
    /// `{`, with the place behind its `}`.
    Block(usize),
    /// `}`, labels and comments.
    Nothing,
    Substitute(Box<Substitution>),
    Translate(BTreeMap<char, char>),
    /// `a`, `i` or `c`
    Text(char, String),
    /// A command without anything behind it.
    Simple(char),
    /// `b`, `t` or `T`, with the place that it leads to.
    Branch(char, usize),
    /// `r`
    Read(String),
    /// `w`, or `W` if only the first line is written.
    Write(String, bool),
    /// `e`: a command, or the text itself.
    Execute(Option<String>),
}

#[derive(Debug)]
pub(super) struct SedCommand {
    pub(super) first: Option<Address>,
    pub(super) second: Option<RangeEnd>,
    /// `0,/x/`: the range is open before the first line.
    pub(super) is_open: bool,
    pub(super) is_negated: bool,
    pub(super) verb: Verb,
}

#[derive(Debug)]
pub(super) struct SedScript {
    pub(super) commands: Vec<SedCommand>,
}

struct SedParser<'p, 'g> {
    walk: &'p mut ScriptWalk<'g>,
    letters: &'p [char],
    at: usize,
    is_extended: bool,
    commands: Vec<SedCommand>,
    /// Blocks that are not closed yet.
    open: Vec<usize>,
    labels: Vec<(String, usize)>,
    /// Branches, and the labels that they lead to.
    branches: Vec<(usize, String)>,
}

impl SedScript {
    /// Reads a script; none if it is not understood.
    pub(super) fn parse(walk: &mut ScriptWalk<'_>, text: &str, is_extended: bool) -> Option<Self> {
        let letters: Vec<char> = text.chars().collect();
        let mut parser = SedParser {
            walk,
            letters: &letters,
            at: 0,
            is_extended,
            commands: Vec::new(),
            open: Vec::new(),
            labels: Vec::new(),
            branches: Vec::new(),
        };
        while parser.command()? {
            if parser.commands.len() > MOST_COMMANDS {
                return None;
            }
        }
        if !parser.open.is_empty() {
            return None;
        }
        let SedParser { mut commands, labels, branches, .. } = parser;
        let end = commands.len();
        for (at, label) in branches {
            let target = if label.is_empty() { end } else { labels.iter().find(|(name, _)| *name == label)?.1 };
            if let Some(SedCommand { verb: Verb::Branch(_, place), .. }) = commands.get_mut(at) {
                *place = target;
            }
        }
        Some(Self { commands })
    }
}

impl SedParser<'_, '_> {
    fn peek(&self) -> Option<char> {
        self.letters.get(self.at).copied()
    }

    fn next(&mut self) -> Option<char> {
        let letter = self.peek()?;
        self.at += 1;
        Some(letter)
    }

    fn skip(&mut self, signs: &str) {
        while self.peek().is_some_and(|letter| signs.contains(letter)) {
            self.at += 1;
        }
    }

    fn digits(&mut self) -> Option<usize> {
        let rest = self.letters.get(self.at..)?;
        let digits: String = rest.iter().take_while(|letter| letter.is_ascii_digit()).collect();
        self.at += digits.len();
        digits.parse().ok()
    }

    /// Reads one command; false at the end of the script.
    fn command(&mut self) -> Option<bool> {
        self.skip(" \t\n;");
        if self.peek().is_none() {
            return Some(false);
        }
        let mut first = if self.is_address() { Some(self.address()?) } else { None };
        let mut second = None;
        self.skip(" \t");
        if first.is_some() && self.peek() == Some(',') {
            self.at += 1;
            self.skip(" \t");
            second = Some(match self.peek()? {
                '+' => {
                    self.at += 1;
                    RangeEnd::More(self.digits()?)
                }
                '~' => {
                    self.at += 1;
                    RangeEnd::Multiple(self.digits()?)
                }
                _ => RangeEnd::At(self.address()?),
            });
        }
        let is_zero = matches!(first, Some(Address::Line(0)));
        if is_zero {
            // Line 0 only makes sense before an expression.
            if !matches!(second, Some(RangeEnd::At(Address::Matching(_)))) {
                return None;
            }
            first = Some(Address::Line(usize::MAX));
        }
        self.skip(" \t");
        let mut is_negated = false;
        while self.peek() == Some('!') {
            is_negated = true;
            self.at += 1;
            self.skip(" \t");
        }
        let verb = self.verb()?;
        // It is an error to leave at more than one line.
        if second.is_some() && matches!(verb, Verb::Simple('q' | 'Q')) {
            return None;
        }
        self.commands.push(SedCommand { first, second, is_open: is_zero, is_negated, verb });
        Some(true)
    }

    /// True if an address begins here.
    fn is_address(&self) -> bool {
        self.peek().is_some_and(|letter| letter.is_ascii_digit() || matches!(letter, '$' | '/' | '\\'))
    }

    fn address(&mut self) -> Option<Address> {
        match self.next()? {
            '$' => Some(Address::Last),
            letter if letter.is_ascii_digit() => {
                self.at -= 1;
                let number = self.digits()?;
                if self.peek() != Some('~') {
                    return Some(Address::Line(number));
                }
                self.at += 1;
                Some(Address::Step(number, self.digits()?))
            }
            sign @ ('/' | '\\') => {
                let delimiter = if sign == '/' { sign } else { self.next()? };
                let text = self.delimited(delimiter, true)?;
                let mut flavor = self.flavor();
                while let Some(flag @ ('I' | 'M')) = self.peek() {
                    self.at += 1;
                    flavor.ignore_case |= flag == 'I';
                    flavor.multi_line |= flag == 'M';
                }
                Some(Address::Matching(self.expression(&text, flavor)?))
            }
            _ => None,
        }
    }

    fn flavor(&self) -> Flavor {
        let notation = if self.is_extended { Notation::Extended } else { Notation::Basic };
        Flavor { escapes: true, ..Flavor::of(notation) }
    }

    fn expression(&mut self, text: &str, flavor: Flavor) -> Option<Sought> {
        if text.is_empty() {
            return Some(Sought::Last);
        }
        self.walk.expression_of(text, flavor).map(Sought::Own)
    }

    /// Text up to the delimiter, which is a letter in a set of an expression. A backslash before the delimiter is left out.
    fn delimited(&mut self, delimiter: char, is_expression: bool) -> Option<String> {
        let mut text = String::new();
        loop {
            let letter = self.next()?;
            match letter {
                '\\' => {
                    let next = self.next()?;
                    if next != delimiter {
                        text.push('\\');
                    }
                    text.push(next);
                    continue;
                }
                _ if letter == delimiter => return Some(text),
                '\n' if is_expression => return None,
                _ => text.push(letter),
            }
            if letter == '[' && is_expression {
                let length = self.set_length();
                let set = self.letters.get(self.at..self.at + length).unwrap_or(&[]);
                let set: String = set.iter().collect();
                text.push_str(&set.replace(&format!("\\{delimiter}"), &delimiter.to_string()));
                self.at += length;
            }
        }
    }

    /// The number of letters of a set behind its bracket, up to the one that closes it; 0 if none does.
    fn set_length(&self) -> usize {
        let rest = self.letters.get(self.at..).unwrap_or(&[]);
        let mut at = match rest {
            ['^', ']', ..] => 2,
            ['^' | ']', ..] => 1,
            _ => 0,
        };
        while let Some(letter) = rest.get(at) {
            match (letter, rest.get(at + 1)) {
                (']', _) => return at + 1,
                ('\n', _) => return 0,
                ('[', Some(kind @ (':' | '.' | '='))) => {
                    let inside = rest.get(at + 2..).unwrap_or(&[]);
                    let end = inside.windows(2).position(|pair| matches!(pair, [mark, ']'] if mark == kind));
                    at += end.map_or(1, |end| end + 4);
                }
                _ => at += 1,
            }
        }
        0
    }

    fn verb(&mut self) -> Option<Verb> {
        let letter = self.next()?;
        let verb = match letter {
            '#' => {
                self.line();
                return Some(Verb::Nothing);
            }
            '{' => {
                self.open.push(self.commands.len());
                return Some(Verb::Block(0));
            }
            '}' => {
                let start = self.open.pop()?;
                let end = self.commands.len() + 1;
                if let Some(SedCommand { verb: Verb::Block(place), .. }) = self.commands.get_mut(start) {
                    *place = end;
                }
                Verb::Nothing
            }
            ':' => {
                self.skip(" \t");
                let name = self.word(" \t\n;");
                self.labels.push((name, self.commands.len()));
                return Some(Verb::Nothing);
            }
            'b' | 't' | 'T' => {
                self.skip(" \t");
                let label = self.word(" \t\n;}");
                self.branches.push((self.commands.len(), label));
                Verb::Branch(letter, 0)
            }
            's' => Verb::Substitute(Box::new(self.substitution()?)),
            'y' => Verb::Translate(self.translation()?),
            'a' | 'i' | 'c' => return self.text().map(|text| Verb::Text(letter, text)),
            'r' | 'w' | 'W' => {
                self.skip(" \t");
                let path = self.line();
                if path.is_empty() {
                    return None;
                }
                return Some(if letter == 'r' { Verb::Read(path) } else { Verb::Write(path, letter == 'W') });
            }
            'e' => {
                self.skip(" \t");
                let command = self.line();
                return Some(Verb::Execute(Some(command).filter(|command| !command.is_empty())));
            }
            'q' | 'Q' => {
                self.skip(" \t");
                self.digits();
                Verb::Simple(letter)
            }
            'd' | 'D' | 'p' | 'P' | 'n' | 'N' | 'g' | 'G' | 'h' | 'H' | 'x' | '=' | 'z' | 'F' | 'l' => {
                Verb::Simple(letter)
            }
            _ => return None,
        };
        self.ends_command().then_some(verb)
    }

    /// True if nothing but the next command follows.
    fn ends_command(&mut self) -> bool {
        self.skip(" \t");
        matches!(self.peek(), None | Some('\n' | ';' | '#' | '}'))
    }

    /// The rest of a line.
    fn line(&mut self) -> String {
        let line = self.word("\n");
        self.at += 1;
        line
    }

    fn word(&mut self, ends: &str) -> String {
        let rest = self.letters.get(self.at..).unwrap_or(&[]);
        let word: String = rest.iter().take_while(|letter| !ends.contains(**letter)).collect();
        self.at += word.chars().count();
        word
    }

    /// The text of `a`, `i` and `c`, in the form of POSIX or on the same line.
    fn text(&mut self) -> Option<String> {
        self.skip(" \t");
        if self.peek() == Some('\\') {
            self.at += 1;
            let start = self.at;
            self.skip(" \t");
            if self.peek() == Some('\n') {
                self.at += 1;
            } else {
                // Blanks behind the backslash are kept.
                self.at = start;
            }
        } else if self.peek().is_none_or(|letter| letter == '\n') {
            return None;
        }
        let mut text = String::new();
        while let Some(letter) = self.next() {
            match letter {
                '\n' => break,
                '\\' => {
                    let rest = self.letters.get(self.at..)?;
                    let is_code = matches!(rest.first(), Some('t' | 'f' | 'v' | 'a' | 'x' | 'o' | 'd'));
                    if let Some((decoded, taken)) = Some(rest).filter(|_| is_code).and_then(sed_escape) {
                        text.push(decoded);
                        self.at += taken;
                    } else {
                        text.extend(self.next());
                    }
                }
                other => text.push(other),
            }
        }
        // A lone backslash adds nothing but the end of the line before.
        if !text.is_empty() {
            text.push('\n');
        }
        Some(text)
    }

    fn substitution(&mut self) -> Option<Substitution> {
        let delimiter = self.next().filter(|letter| !matches!(letter, '\n' | '\\'))?;
        let wanted = self.delimited(delimiter, true)?;
        let by = replace::parsed(&self.delimited(delimiter, false)?)?;
        let mut flavor = self.flavor();
        let mut substitution = Substitution {
            wanted: Sought::Last,
            by,
            is_global: false,
            number: 1,
            prints: false,
            executes: false,
            file: None,
        };
        loop {
            match self.peek() {
                Some('g') => substitution.is_global = true,
                Some('p') => substitution.prints = true,
                Some('i' | 'I') => flavor.ignore_case = true,
                Some('m' | 'M') => flavor.multi_line = true,
                Some('e') => substitution.executes = true,
                Some('w') => {
                    self.at += 1;
                    self.skip(" \t");
                    substitution.file = Some(self.word("\n"));
                    break;
                }
                Some(letter) if letter.is_ascii_digit() => {
                    substitution.number = self.digits().filter(|number| *number > 0)?;
                    continue;
                }
                _ => break,
            }
            self.at += 1;
        }
        substitution.wanted = self.expression(&wanted, flavor)?;
        Some(substitution)
    }

    /// The pairs of `y/abc/xyz/`.
    fn translation(&mut self) -> Option<BTreeMap<char, char>> {
        let delimiter = self.next().filter(|letter| !matches!(letter, '\n' | '\\'))?;
        let (from, to) = (self.delimited(delimiter, false)?, self.delimited(delimiter, false)?);
        let letters = |text: &str| -> Option<Vec<char>> {
            let mut out = Vec::new();
            let mut letters = text.chars();
            while let Some(letter) = letters.next() {
                out.push(match letter {
                    '\\' => match letters.next()? {
                        'n' => '\n',
                        't' => '\t',
                        '\\' => '\\',
                        _ => return None,
                    },
                    other => other,
                });
            }
            Some(out)
        };
        let (from, to) = (letters(&from)?, letters(&to)?);
        // The first of several pairs counts.
        (from.len() == to.len()).then(|| from.into_iter().zip(to).rev().collect())
    }
}
