//! `bc`, for whole numbers: statements, variables, and other bases.

use std::collections::BTreeMap;

use super::options::{Exact, Given, Inexact, OrUnknown};
use crate::walk::{LONGEST_TEXT, ScriptWalk};

/// The deepest nesting of an expression.
const DEEPEST: usize = 32;

pub(super) fn bc(walk: &mut ScriptWalk<'_>, _: &str, arguments: &[String]) -> Exact<String> {
    let given = Given::read(arguments, "lqsw", &[("quiet", 'q'), ("mathlib", 'l')])?;
    let mut text = String::new();
    for path in given.operands.iter().chain(&["-"]) {
        text.push_str(&walk.exact_text(path)?);
    }
    let mut calculator = Calculator::new(&text);
    calculator.has_scale = given.has('l');
    walk.work(text.len() / 16)?;
    calculator.run()?;
    Ok(calculator.out)
}

/// The value of one expression.
pub(super) fn evaluate(text: &str) -> Exact<i128> {
    let mut calculator = Calculator::new(text);
    let value = calculator.either()?;
    calculator.skip_blanks(true);
    if calculator.peek().is_some() { Err(Inexact::Unknown) } else { Ok(value) }
}

/// A number in a base of at most 16.
pub(super) fn in_base(number: i128, base: i128) -> Exact<String> {
    if !(2..=16).contains(&base) {
        return Err(Inexact::Unknown);
    }
    let mut digits = Vec::new();
    let mut rest = number.unsigned_abs();
    loop {
        let digit = u32::try_from(rest % base.unsigned_abs()).unwrap_or(0);
        digits.extend(char::from_digit(digit, 16).map(|digit| digit.to_ascii_uppercase()));
        rest /= base.unsigned_abs();
        if rest == 0 {
            break;
        }
    }
    let sign = if number < 0 { "-" } else { "" };
    Ok(format!("{sign}{}", digits.iter().rev().collect::<String>()))
}

struct Calculator {
    letters: Vec<char>,
    at: usize,
    depth: usize,
    /// Quotients have decimals, which are not followed.
    has_scale: bool,
    variables: BTreeMap<String, i128>,
    out: String,
}

impl Calculator {
    fn new(text: &str) -> Self {
        Self {
            letters: text.chars().collect(),
            at: 0,
            depth: 0,
            has_scale: false,
            variables: BTreeMap::from([("ibase".to_owned(), 10), ("obase".to_owned(), 10)]),
            out: String::new(),
        }
    }

    fn run(&mut self) -> Exact<()> {
        loop {
            self.skip_blanks(true);
            match self.peek() {
                None => return Ok(()),
                Some(';') => self.at += 1,
                Some('"') => {
                    let text = self.quoted().or_unknown()?;
                    self.out.push_str(&text);
                }
                Some(letter) if letter.is_ascii_lowercase() && self.peeked_word() == "quit" => return Ok(()),
                Some(letter) if letter.is_ascii_lowercase() && self.peeked_word() == "print" => {
                    self.at += 5;
                    self.print()?;
                }
                Some(_) => {
                    let start = self.at;
                    let value = self.either()?;
                    if !self.is_assignment(start) {
                        let base = self.variable("obase");
                        let text = in_base(value, base)?;
                        self.out.push_str(&text);
                        self.out.push('\n');
                    }
                    self.skip_blanks(false);
                    if !matches!(self.peek(), None | Some(';' | '\n')) {
                        return Err(Inexact::Unknown);
                    }
                }
            }
            if self.out.len() > LONGEST_TEXT {
                return Err(Inexact::Unknown);
            }
        }
    }

    /// `print "text", number`: without line ends of its own.
    fn print(&mut self) -> Exact<()> {
        loop {
            self.skip_blanks(false);
            if self.peek() == Some('"') {
                let text = self.quoted().or_unknown()?;
                self.out.push_str(
                    &text.replace("\\n", "\n").replace("\\t", "\t").replace("\\q", "\"").replace("\\\\", "\\"),
                );
            } else {
                let value = self.either()?;
                let base = self.variable("obase");
                let text = in_base(value, base)?;
                self.out.push_str(&text);
            }
            self.skip_blanks(false);
            if self.peek() != Some(',') {
                return Ok(());
            }
            self.at += 1;
        }
    }

    fn peek(&self) -> Option<char> {
        self.letters.get(self.at).copied()
    }

    fn skip_blanks(&mut self, lines: bool) {
        loop {
            match self.peek() {
                Some(' ' | '\t') => self.at += 1,
                Some('\n') if lines => self.at += 1,
                Some('#') => {
                    while !matches!(self.peek(), None | Some('\n')) {
                        self.at += 1;
                    }
                }
                _ => return,
            }
        }
    }

    fn peeked_word(&self) -> String {
        let rest = self.letters.get(self.at..).unwrap_or(&[]);
        let is_inside = |letter: &&char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || **letter == '_';
        rest.iter().take_while(is_inside).collect()
    }

    fn quoted(&mut self) -> Option<String> {
        let rest = self.letters.get(self.at + 1..)?;
        let end = rest.iter().position(|letter| *letter == '"')?;
        self.at += end + 2;
        Some(rest.get(..end)?.iter().collect())
    }

    fn variable(&self, name: &str) -> i128 {
        self.variables.get(name).copied().unwrap_or(0)
    }

    /// True if the statement that began there was an assignment, which prints nothing.
    fn is_assignment(&self, start: usize) -> bool {
        let text: String = self.letters.get(start..self.at).unwrap_or(&[]).iter().collect();
        let name = text.trim_start().trim_start_matches(|letter: char| letter.is_ascii_alphanumeric() || letter == '_');
        let sign = name.trim_start();
        text.trim_start().starts_with(|letter: char| letter.is_ascii_lowercase())
            && (sign.starts_with('=') && !sign.starts_with("==")
                || sign.starts_with(['+', '-', '*', '/', '%', '^']) && sign.get(1..2) == Some("="))
    }

    fn sign(&mut self, signs: &[&'static str]) -> Option<&'static str> {
        self.skip_blanks(false);
        let rest = self.letters.get(self.at..).unwrap_or(&[]);
        let found = signs.iter().find(|sign| sign.chars().eq(rest.iter().copied().take(sign.len())))?;
        // `x = 1` is no comparison, and `x += 1` no sum.
        if rest.get(found.len()) == Some(&'=') && !found.ends_with('=') {
            return None;
        }
        self.at += found.len();
        Some(found)
    }

    fn either(&mut self) -> Exact<i128> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(Inexact::Unknown);
        }
        let mut left = self.both()?;
        while self.sign(&["||"]).is_some() {
            let right = self.both()?;
            left = i128::from(left != 0 || right != 0);
        }
        self.depth -= 1;
        Ok(left)
    }

    fn both(&mut self) -> Exact<i128> {
        let mut left = self.negation()?;
        while self.sign(&["&&"]).is_some() {
            let right = self.negation()?;
            left = i128::from(left != 0 && right != 0);
        }
        Ok(left)
    }

    fn negation(&mut self) -> Exact<i128> {
        let mut count = 0;
        while self.sign(&["!"]).is_some() {
            count += 1;
        }
        let value = self.comparison()?;
        Ok(match count {
            0 => value,
            count => i128::from((value == 0) == (count % 2 == 1)),
        })
    }

    fn comparison(&mut self) -> Exact<i128> {
        let mut left = self.sum()?;
        while let Some(sign) = self.sign(&["==", "!=", "<=", ">=", "<", ">"]) {
            let right = self.sum()?;
            left = i128::from(match sign {
                "==" => left == right,
                "!=" => left != right,
                "<=" => left <= right,
                ">=" => left >= right,
                "<" => left < right,
                _ => left > right,
            });
        }
        Ok(left)
    }

    fn sum(&mut self) -> Exact<i128> {
        let mut left = self.product()?;
        while let Some(sign) = self.sign(&["+", "-"]) {
            let right = self.product()?;
            left = self.calculate(left, sign, right)?;
        }
        Ok(left)
    }

    fn product(&mut self) -> Exact<i128> {
        let mut left = self.signed()?;
        while let Some(sign) = self.sign(&["*", "/", "%"]) {
            let right = self.signed()?;
            left = self.calculate(left, sign, right)?;
        }
        Ok(left)
    }

    fn calculate(&self, left: i128, sign: &str, right: i128) -> Exact<i128> {
        let value = match sign {
            "+" => left.checked_add(right),
            "-" => left.checked_sub(right),
            "*" => left.checked_mul(right),
            "/" if !self.has_scale => left.checked_div(right),
            "%" if !self.has_scale => left.checked_rem(right),
            "^" => u32::try_from(right).ok().and_then(|power| left.checked_pow(power)),
            _ => None,
        };
        value.or_unknown()
    }

    /// The sign binds more closely than the power: `-2^2` is 4.
    fn signed(&mut self) -> Exact<i128> {
        let base = self.unary()?;
        if self.sign(&["^"]).is_none() {
            return Ok(base);
        }
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(Inexact::Unknown);
        }
        let power = self.signed()?;
        self.depth -= 1;
        self.calculate(base, "^", power)
    }

    fn unary(&mut self) -> Exact<i128> {
        let is_negative = self.sign(&["-"]).is_some();
        let value = self.primary()?;
        if is_negative { value.checked_neg().or_unknown() } else { Ok(value) }
    }

    fn primary(&mut self) -> Exact<i128> {
        self.skip_blanks(false);
        match self.peek().or_unknown()? {
            '(' => {
                self.at += 1;
                let value = self.either()?;
                self.sign(&[")"]).or_unknown()?;
                Ok(value)
            }
            letter if letter.is_ascii_digit() || letter.is_ascii_uppercase() => self.number(),
            letter if letter.is_ascii_lowercase() => self.named(),
            _ => Err(Inexact::Unknown),
        }
    }

    fn number(&mut self) -> Exact<i128> {
        let rest = self.letters.get(self.at..).unwrap_or(&[]);
        let digits: Vec<char> =
            rest.iter().copied().take_while(|letter| letter.is_ascii_digit() || ('A'..='F').contains(letter)).collect();
        self.at += digits.len();
        if digits.is_empty() || self.peek() == Some('.') {
            return Err(Inexact::Unknown);
        }
        let base = self.variable("ibase");
        let value = |letter: &char| letter.to_digit(16).map_or(0, i128::from);
        // One digit is its own value in every base; of several, none is above the base.
        if let [only] = digits.as_slice() {
            return Ok(value(only));
        }
        let add = |number: i128, letter: &char| number.checked_mul(base)?.checked_add(value(letter).min(base - 1));
        digits.iter().try_fold(0_i128, add).or_unknown()
    }

    /// A variable, an assignment, or a function.
    fn named(&mut self) -> Exact<i128> {
        let name = self.peeked_word();
        self.at += name.len();
        if self.sign(&["("]).is_some() {
            let value = self.either()?;
            self.sign(&[")"]).or_unknown()?;
            return match name.as_str() {
                "length" => i128::try_from(value.unsigned_abs().to_string().len()).map_err(|_| Inexact::Unknown),
                "sqrt" if !self.has_scale => {
                    let root = u128::try_from(value).map_err(|_| Inexact::Unknown)?.isqrt();
                    i128::try_from(root).map_err(|_| Inexact::Unknown)
                }
                _ => Err(Inexact::Unknown),
            };
        }
        let known = ["if", "while", "for", "define", "auto", "return", "break", "continue", "read", "halt", "limits"];
        if known.contains(&name.as_str()) {
            return Err(Inexact::Unknown);
        }
        self.skip_blanks(false);
        let rest: String = self.letters.get(self.at..).unwrap_or(&[]).iter().take(2).collect();
        let signs = ["+", "-", "*", "/", "%", "^"];
        let changed = signs.iter().find(|sign| rest == format!("{sign}="));
        let value = if let Some(sign) = changed {
            self.at += 2;
            let right = self.either()?;
            self.calculate(self.variable(&name), sign, right)?
        } else if rest.starts_with('=') && rest != "==" {
            self.at += 1;
            self.either()?
        } else if rest == "++" || rest == "--" || rest.starts_with('[') {
            return Err(Inexact::Unknown);
        } else {
            return Ok(self.variable(&name));
        };
        if name == "scale" {
            self.has_scale = value != 0;
        }
        if matches!(name.as_str(), "ibase" | "obase") && !(2..=16).contains(&value) {
            return Err(Inexact::Unknown);
        }
        self.variables.insert(name, value);
        Ok(value)
    }
}
