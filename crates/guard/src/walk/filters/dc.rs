//! `dc`, for whole numbers: a stack, registers, and numbers that hide text (`P`).

use std::collections::BTreeMap;

use super::calc::in_base;
use super::options::{Exact, Inexact, OrUnknown, text_of};
use crate::walk::{LONGEST_TEXT, ScriptWalk};

#[derive(Clone)]
enum DcValue {
    Number(i128),
    /// A number that is too large to calculate with, as bytes.
    Large(Vec<u8>),
    Text(String),
}

pub(super) fn dc(walk: &mut ScriptWalk<'_>, _: &str, arguments: &[String]) -> Exact<String> {
    let mut program = String::new();
    let mut is_given = false;
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        let added = match word.as_str() {
            "-e" => words.next().cloned().or_unknown()?,
            "-f" => walk.exact_text(words.next().or_unknown()?)?.to_string(),
            flag if flag.starts_with("-e") => flag.get(2..).unwrap_or("").to_owned(),
            flag if flag.starts_with("--expression=") => flag.split_once('=').map_or("", |(_, code)| code).to_owned(),
            flag if flag.starts_with('-') => return Err(Inexact::Unknown),
            path => walk.exact_text(path)?.to_string(),
        };
        program.push_str(&added);
        program.push('\n');
        is_given = true;
    }
    if !is_given {
        program = walk.exact_text("-")?.to_string();
    }
    if crate::marks::has_mark(&program) {
        return Err(Inexact::Marked);
    }
    let mut machine =
        DcMachine { stack: Vec::new(), registers: BTreeMap::new(), input: 10, output: 10, out: Vec::new() };
    machine.run(walk, &program)?;
    text_of(machine.out)
}

struct DcMachine {
    stack: Vec<DcValue>,
    registers: BTreeMap<char, Vec<DcValue>>,
    input: i128,
    output: i128,
    out: Vec<u8>,
}

impl DcMachine {
    fn run(&mut self, walk: &mut ScriptWalk<'_>, program: &str) -> Exact<()> {
        let mut rest = program;
        while let Some(letter) = rest.chars().next() {
            walk.work(1)?;
            if self.out.len() > LONGEST_TEXT || self.stack.len() > 1000 {
                return Err(Inexact::Unknown);
            }
            let digits =
                rest.find(|letter: char| !letter.is_ascii_digit() && !('A'..='F').contains(&letter) && letter != '_');
            let digits = digits.unwrap_or(rest.len());
            if digits > 0 {
                let (number, after) = rest.split_at(digits);
                walk.work(digits.saturating_mul(digits) / 4096)?;
                self.push_number(number, after)?;
                rest = after;
                continue;
            }
            rest = rest.get(letter.len_utf8()..).unwrap_or("");
            match letter {
                ' ' | '\t' | '\n' => {}
                '#' => rest = rest.split_once('\n').map_or("", |(_, rest)| rest),
                '[' => {
                    let end = closing(rest).or_unknown()?;
                    self.stack.push(DcValue::Text(rest.get(..end).unwrap_or("").to_owned()));
                    rest = rest.get(end + 1..).unwrap_or("");
                }
                's' | 'l' | 'S' | 'L' => {
                    let name = rest.chars().next().or_unknown()?;
                    rest = rest.get(name.len_utf8()..).unwrap_or("");
                    self.register(letter, name)?;
                }
                'x' => {
                    let DcValue::Text(code) = self.stack.pop().or_unknown()? else { return Err(Inexact::Unknown) };
                    if !walk.budget.enter() {
                        return Err(Inexact::Unknown);
                    }
                    let outcome = self.run(walk, &code);
                    walk.budget.leave();
                    outcome?;
                }
                'q' => return Ok(()),
                _ => self.command(letter)?,
            }
        }
        Ok(())
    }

    fn push_number(&mut self, digits: &str, after: &str) -> Exact<()> {
        if after.starts_with('.') || digits.trim_start_matches('_').contains('_') {
            return Err(Inexact::Unknown);
        }
        let (is_negative, digits) = digits.strip_prefix('_').map_or((false, digits), |digits| (true, digits));
        let base = u32::try_from(self.input).map_err(|_| Inexact::Unknown)?;
        let mut bytes: Vec<u8> = Vec::new();
        for letter in digits.chars() {
            let mut carry = letter.to_digit(16).or_unknown()?;
            for byte in bytes.iter_mut().rev() {
                carry += u32::from(*byte) * base;
                *byte = u8::try_from(carry & 0xff).unwrap_or(0);
                carry >>= 8;
            }
            while carry > 0 {
                bytes.insert(0, u8::try_from(carry & 0xff).unwrap_or(0));
                carry >>= 8;
            }
            if bytes.len() > 2048 {
                return Err(Inexact::Unknown);
            }
        }
        let number = if bytes.len() < 16 {
            let number = bytes.iter().fold(0_i128, |number, byte| number << 8 | i128::from(*byte));
            DcValue::Number(if is_negative { -number } else { number })
        } else if is_negative {
            return Err(Inexact::Unknown);
        } else {
            DcValue::Large(bytes)
        };
        self.stack.push(number);
        Ok(())
    }

    fn register(&mut self, command: char, name: char) -> Exact<()> {
        match command {
            's' => {
                let value = self.stack.pop().or_unknown()?;
                let register = self.registers.entry(name).or_default();
                register.pop();
                register.push(value);
            }
            'S' => {
                let value = self.stack.pop().or_unknown()?;
                self.registers.entry(name).or_default().push(value);
            }
            'l' => {
                let value = self.registers.get(&name).and_then(|values| values.last()).cloned();
                self.stack.push(value.unwrap_or(DcValue::Number(0)));
            }
            _ => {
                let value = self.registers.get_mut(&name).and_then(Vec::pop).or_unknown()?;
                self.stack.push(value);
            }
        }
        Ok(())
    }

    fn number(&mut self) -> Exact<i128> {
        match self.stack.pop().or_unknown()? {
            DcValue::Number(number) => Ok(number),
            _ => Err(Inexact::Unknown),
        }
    }

    fn shown(&self, value: &DcValue) -> Exact<String> {
        match value {
            DcValue::Number(number) => in_base(*number, self.output),
            DcValue::Text(text) => Ok(text.clone()),
            DcValue::Large(_) => Err(Inexact::Unknown),
        }
    }

    /// A number is printed as the bytes that it is made of.
    fn print_bytes(&mut self) -> Exact<()> {
        match self.stack.pop().or_unknown()? {
            DcValue::Text(text) => self.out.extend(text.bytes()),
            DcValue::Large(bytes) => self.out.extend(bytes),
            DcValue::Number(number) => {
                let bytes = number.unsigned_abs().to_be_bytes();
                let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
                self.out.extend(bytes.get(zeros..).unwrap_or(&[]));
            }
        }
        Ok(())
    }

    fn calculate(&mut self, sign: char) -> Exact<()> {
        let (right, left) = (self.number()?, self.number()?);
        let value = match sign {
            '+' => left.checked_add(right),
            '-' => left.checked_sub(right),
            '*' => left.checked_mul(right),
            '/' => left.checked_div(right),
            '%' => left.checked_rem(right),
            _ => u32::try_from(right).ok().and_then(|power| left.checked_pow(power)),
        };
        self.stack.push(DcValue::Number(value.or_unknown()?));
        Ok(())
    }

    fn command(&mut self, letter: char) -> Exact<()> {
        match letter {
            'p' | 'n' => {
                let value = self.stack.last().cloned().or_unknown()?;
                self.out.extend(self.shown(&value)?.bytes());
                if letter == 'p' {
                    self.out.push(b'\n');
                } else {
                    self.stack.pop();
                }
            }
            'f' => {
                for value in self.stack.iter().rev() {
                    let line = self.shown(value)?;
                    self.out.extend(format!("{line}\n").bytes());
                }
            }
            'P' => self.print_bytes()?,
            'd' => {
                let value = self.stack.last().cloned().or_unknown()?;
                self.stack.push(value);
            }
            'r' => {
                let (top, below) = (self.stack.pop().or_unknown()?, self.stack.pop().or_unknown()?);
                self.stack.extend([top, below]);
            }
            'c' => self.stack.clear(),
            'a' => {
                let number = self.number()?;
                let letter = u8::try_from(number & 0xff).ok().filter(u8::is_ascii).or_unknown()?;
                self.stack.push(DcValue::Text(char::from(letter).to_string()));
            }
            'i' => self.input = Some(self.number()?).filter(|base| (2..=16).contains(base)).or_unknown()?,
            'o' => self.output = Some(self.number()?).filter(|base| (2..=16).contains(base)).or_unknown()?,
            'k' => {
                if self.number()? != 0 {
                    return Err(Inexact::Unknown);
                }
            }
            'z' => {
                let depth = i128::try_from(self.stack.len()).map_err(|_| Inexact::Unknown)?;
                self.stack.push(DcValue::Number(depth));
            }
            '+' | '-' | '*' | '/' | '%' | '^' => self.calculate(letter)?,
            _ => return Err(Inexact::Unknown),
        }
        Ok(())
    }
}

/// The place of the bracket that closes a text.
fn closing(text: &str) -> Option<usize> {
    let mut open = 0_usize;
    for (at, letter) in text.char_indices() {
        match letter {
            '[' => open += 1,
            ']' => match open.checked_sub(1) {
                Some(left) => open = left,
                None => return Some(at),
            },
            _ => {}
        }
    }
    None
}
