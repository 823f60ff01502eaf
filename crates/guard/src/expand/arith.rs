//! Arithmetic, as `$((…))`, `((…))`, `let` and subscripts evaluate it.
//!
//! An operand that is not known makes the result unknown. The rest of the expression is read all the same, because it may assign.

use crate::marks::{SOME, is_mark};
use crate::walk::ScriptWalk;
use crate::walk::state::ShellValue;
use bashful_bash::ast::{ShellWord, WordPiece};

/// The longest expression that is evaluated, in bytes.
const LONGEST: usize = 1024;

/// The deepest nesting of parentheses, operands and variables that hold expressions.
const DEEPEST: usize = 48;

/// Operators with two operands, the weakest first. Operators of one row are equally strong.
const LEVELS: [&[&str]; 10] = [
    &["||"],
    &["&&"],
    &["|"],
    &["^"],
    &["&"],
    &["==", "!="],
    &["<=", ">=", "<", ">"],
    &["<<", ">>"],
    &["+", "-"],
    &["*", "/", "%"],
];

/// Operators that assign. Each begins with the operator whose result is assigned.
const ASSIGNMENTS: [&str; 11] = ["<<=", ">>=", "+=", "-=", "*=", "/=", "%=", "&=", "^=", "|=", "="];

/// The expression is none that bash would evaluate.
struct Malformed;

/// A number, or nothing if it is not known.
type Number = Option<i64>;

impl ScriptWalk<'_> {
    /// The value of an expression as text.
    pub(crate) fn arithmetic(&mut self, pieces: &[WordPiece]) -> String {
        let expression = self.expand_text(&ShellWord { pieces: pieces.to_vec(), ..ShellWord::default() });
        self.number(&expression).map_or_else(|| SOME.to_string(), |number| number.to_string())
    }

    /// The value of an expression, if it can be worked out.
    pub(crate) fn number(&mut self, expression: &str) -> Option<i64> {
        self.number_within(expression, 0)
    }

    fn number_within(&mut self, expression: &str, depth: usize) -> Option<i64> {
        let expression = expression.trim();
        // Most are plain numbers.
        if let Ok(number) = expression.parse::<i64>()
            && !expression.starts_with(['0', '+', '-'])
        {
            return Some(number);
        }
        if expression.is_empty() {
            return Some(0);
        }
        if expression.len() > LONGEST || depth > DEEPEST {
            self.world.certainty.lose();
            return None;
        }
        self.budget.spend(expression.len() / 64);
        let mut reader = ArithReader { rest: expression, depth, is_skipped: false };
        let value = match reader.sequence(self) {
            Ok(value) if reader.rest.trim_start().is_empty() => value,
            _ => None,
        };
        // An assignment may be in it.
        if value.is_none() {
            self.world.certainty.lose();
        }
        value
    }
}

/// Reads an expression from left to right.
struct ArithReader<'t> {
    rest: &'t str,
    depth: usize,
    /// The operand decides nothing, so it assigns nothing: the right side of `0 && x++`.
    is_skipped: bool,
}

/// A variable, or an element of one.
struct Place<'t> {
    name: &'t str,
    key: Option<&'t str>,
}

impl<'t> ArithReader<'t> {
    /// Takes an operator, unless it is the beginning of a longer one.
    fn take(&mut self, operator: &str) -> bool {
        let rest = self.rest.trim_start();
        let Some(after) = rest.strip_prefix(operator) else { return false };
        let is_longer = match operator {
            "|" | "&" | "<" | ">" => after.starts_with(operator) || after.starts_with('='),
            "*" => after.starts_with(['*', '=']),
            "=" | "!" | "+" | "-" | "/" | "%" | "^" | "<<" | ">>" => after.starts_with('='),
            _ => false,
        };
        if is_longer {
            return false;
        }
        self.rest = after;
        true
    }

    /// `a, b`
    fn sequence(&mut self, walk: &mut ScriptWalk<'_>) -> Result<Number, Malformed> {
        let mut value = self.choice(walk)?;
        while self.take(",") {
            value = self.choice(walk)?;
        }
        Ok(value)
    }

    /// `a ? b : c`
    fn choice(&mut self, walk: &mut ScriptWalk<'_>) -> Result<Number, Malformed> {
        let condition = self.operation(walk, 0)?;
        if !self.take("?") {
            return Ok(condition);
        }
        let first = self.skipping(condition == Some(0), |reader| reader.sequence(walk))?;
        if !self.take(":") {
            return Err(Malformed);
        }
        let second = self.skipping(condition.is_some_and(|condition| condition != 0), |reader| reader.choice(walk))?;
        Ok(match condition {
            Some(0) => second,
            Some(_) => first,
            None => None,
        })
    }

    fn skipping<T>(&mut self, skips: bool, read: impl FnOnce(&mut Self) -> T) -> T {
        let before = self.is_skipped;
        self.is_skipped |= skips;
        let result = read(self);
        self.is_skipped = before;
        result
    }

    /// Operators of this level and of stronger ones.
    fn operation(&mut self, walk: &mut ScriptWalk<'_>, level: usize) -> Result<Number, Malformed> {
        let Some(operators) = LEVELS.get(level) else { return self.operand(walk) };
        let mut left = self.operation(walk, level + 1)?;
        while let Some(operator) = operators.iter().find(|operator| self.take(operator)) {
            let is_decided = match *operator {
                "||" => left.is_some_and(|left| left != 0),
                "&&" => left == Some(0),
                _ => false,
            };
            let right = self.skipping(is_decided, |reader| reader.operation(walk, level + 1))?;
            left = if is_decided { Some(i64::from(*operator == "||")) } else { applied(left, operator, right) };
        }
        Ok(left)
    }

    fn operand(&mut self, walk: &mut ScriptWalk<'_>) -> Result<Number, Malformed> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(Malformed);
        }
        let value = self.signed(walk);
        self.depth -= 1;
        value
    }

    fn signed(&mut self, walk: &mut ScriptWalk<'_>) -> Result<Number, Malformed> {
        for (sign, by) in [("++", 1), ("--", -1)] {
            if self.take(sign) {
                let place = self.place().ok_or(Malformed)?;
                let after = self.value_of(walk, &place).map(|number| number.wrapping_add(by));
                self.store(walk, &place, after);
                return Ok(after);
            }
        }
        for sign in ["-", "+", "!", "~"] {
            if self.take(sign) {
                let value = self.operand(walk)?;
                return Ok(value.map(|value| match sign {
                    "-" => value.wrapping_neg(),
                    "!" => i64::from(value == 0),
                    "~" => !value,
                    _ => value,
                }));
            }
        }
        if self.take("(") {
            let value = self.sequence(walk)?;
            return if self.take(")") { Ok(value) } else { Err(Malformed) };
        }
        if let Some(place) = self.place() {
            return self.at_place(walk, &place);
        }
        self.literal()
    }

    /// A variable with what stands behind it: an assignment, `++`, or nothing.
    fn at_place(&mut self, walk: &mut ScriptWalk<'_>, place: &Place<'_>) -> Result<Number, Malformed> {
        if let Some(operator) = ASSIGNMENTS.iter().find(|operator| self.take(operator)) {
            let value = self.choice(walk)?;
            let value = match operator.strip_suffix('=') {
                Some("") | None => value,
                Some(operator) => applied(self.value_of(walk, place), operator, value),
            };
            self.store(walk, place, value);
            return Ok(value);
        }
        let before = self.value_of(walk, place);
        for (sign, by) in [("++", 1), ("--", -1)] {
            if self.take(sign) {
                self.store(walk, place, before.map(|number| number.wrapping_add(by)));
                break;
            }
        }
        Ok(before)
    }

    /// A name, and its subscript.
    fn place(&mut self) -> Option<Place<'t>> {
        let rest = self.rest.trim_start();
        let length = rest.bytes().take_while(|byte| byte.is_ascii_alphanumeric() || *byte == b'_').count();
        let name = rest.get(..length).filter(|name| is_name(name))?;
        let after = rest.get(length..)?;
        let Some(inside) = after.strip_prefix('[') else {
            self.rest = after;
            return Some(Place { name, key: None });
        };
        let mut open = 1_usize;
        let end = inside.find(|letter| {
            match letter {
                '[' => open += 1,
                ']' => open -= 1,
                _ => {}
            }
            open == 0
        })?;
        self.rest = inside.get(end + 1..)?;
        Some(Place { name, key: inside.get(..end) })
    }

    fn value_of(&mut self, walk: &mut ScriptWalk<'_>, place: &Place<'_>) -> Number {
        if self.is_skipped {
            return None;
        }
        let text = match place.key {
            Some(key) => walk.element_text(place.name, key),
            None => walk.scalar(place.name),
        };
        match text {
            Some(text) => {
                walk.run_hidden(&text);
                walk.number_within(&text, self.depth + 1)
            }
            None if walk.world.shell.outside.lacks(place.name) || walk.world.shell.variable(place.name).is_some() => {
                Some(0)
            }
            None => None,
        }
    }

    fn store(&self, walk: &mut ScriptWalk<'_>, place: &Place<'_>, value: Number) {
        if self.is_skipped {
            return;
        }
        let text = value.map_or_else(|| SOME.to_string(), |number| number.to_string());
        match place.key {
            Some(key) => walk.assign_element(place.name, key, text, false, None),
            None => walk.assign(place.name, ShellValue::Scalar(text), None),
        }
    }

    /// A number, or text that is not known.
    fn literal(&mut self) -> Result<Number, Malformed> {
        let rest = self.rest.trim_start();
        let is_part = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '#') || is_mark(letter);
        let end = rest.find(|letter| !is_part(letter)).unwrap_or(rest.len());
        let (word, after) = rest.split_at_checked(end).filter(|(word, _)| !word.is_empty()).ok_or(Malformed)?;
        self.rest = after;
        if word.contains(is_mark) {
            return Ok(None);
        }
        literal_value(word).map(Some).ok_or(Malformed)
    }
}

/// A number as bash writes it: `10`, `010`, `0x10`.
fn literal_value(word: &str) -> Option<i64> {
    if let Some(digits) = word.strip_prefix("0x").or_else(|| word.strip_prefix("0X")) {
        return i64::from_str_radix(digits, 16).ok();
    }
    if word.len() > 1 && word.starts_with('0') {
        return i64::from_str_radix(word, 8).ok();
    }
    word.parse().ok()
}

/// The result of an operator; none if an operand is not known, or there is none.
fn applied(left: Number, operator: &str, right: Number) -> Number {
    let (left, right) = (left?, right?);
    let shift = u32::try_from(right & 63).unwrap_or(0);
    Some(match operator {
        "||" => i64::from(left != 0 || right != 0),
        "&&" => i64::from(left != 0 && right != 0),
        "|" => left | right,
        "^" => left ^ right,
        "&" => left & right,
        "==" => i64::from(left == right),
        "!=" => i64::from(left != right),
        "<=" => i64::from(left <= right),
        ">=" => i64::from(left >= right),
        "<" => i64::from(left < right),
        ">" => i64::from(left > right),
        "<<" => left.wrapping_shl(shift),
        ">>" => left.wrapping_shr(shift),
        "+" => left.wrapping_add(right),
        "-" => left.wrapping_sub(right),
        "*" => left.wrapping_mul(right),
        "/" => left.checked_div(right)?,
        _ => left.checked_rem(right)?,
    })
}

fn is_name(text: &str) -> bool {
    !text.is_empty()
        && !text.starts_with(|letter: char| letter.is_ascii_digit())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

#[cfg(test)]
mod tests {
    use crate::guard::{Guard, Prelude};
    use crate::walk::ScriptWalk;

    #[test]
    fn expressions_have_the_value_that_bash_gives_them() {
        let guard = Guard::default();
        let prelude = Prelude { environment: Some(Vec::new().into_iter().collect()), ..Prelude::default() };
        let mut walk = ScriptWalk::new(&guard, ("", 0), &prelude);
        for (expression, value) in [
            ("1 + 2 * 3", 7),
            ("(1 + 2) * 3", 9),
            ("7 / 2 - 7 % 4", 0),
            ("1 << 4 | 3 & 2 ^ 1", 19),
            ("0x1f + 010", 31 + 8),
            ("!0 + ~0", 0),
            ("3 > 2 && 2 >= 2 || 0", 1),
            ("0 ? 1 : 2 ? 3 : 4", 3),
            ("x = 5, y = x++ + ++x, x * 100 + y", 712),
            ("x += 3", 10),
            ("x <<= 1", 20),
            ("0 && (x = 99)", 0),
            ("x", 20),
            ("a[1 + 1] = 7, a[2] + unset", 7),
            ("1 - -1", 2),
            ("", 0),
        ] {
            assert_eq!(walk.number(expression), Some(value), "{expression}");
        }
        for expression in ["1 / 0", "1 +", "(1", "08", "1 2", "@"] {
            assert_eq!(walk.number(expression), None, "{expression}");
        }
    }
}
