//! Programs that count or print numbers: `seq`, `wc`, `factor`, `numfmt`.

use super::options::{Exact, Given, Inexact, OrUnknown};
use crate::walk::{LONGEST_TEXT, ScriptWalk};
use std::fmt::Write as _;

/// The most numbers of a sequence.
const MOST_NUMBERS: i128 = 4096;

/// A decimal number as an integer, with the number of its decimals.
fn decimal(text: &str) -> Option<(i128, usize)> {
    let (is_negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let all = format!("{whole}{fraction}");
    if all.is_empty() || all.len() > 24 || !all.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let number = all.parse::<i128>().ok()?;
    Some((if is_negative { -number } else { number }, fraction.len()))
}

/// A number with decimals, padded with zeros to a width.
fn shown(number: i128, decimals: usize, width: usize) -> String {
    let sign = if number < 0 { "-" } else { "" };
    let digits = format!("{:0>least$}", number.unsigned_abs(), least = decimals + 1);
    let (whole, fraction) = digits.split_at(digits.len() - decimals);
    let text = if decimals > 0 { format!("{whole}.{fraction}") } else { whole.to_owned() };
    format!("{sign}{text:0>width$}", width = width.saturating_sub(sign.len()))
}

pub(super) fn seq(walk: &mut ScriptWalk<'_>, _: &str, arguments: &[String]) -> Exact<String> {
    // A negative number is no option.
    let is_number = |word: &String| decimal(word).is_some();
    let start = arguments.iter().position(is_number).unwrap_or(arguments.len());
    let is_value = start.checked_sub(1).and_then(|at| arguments.get(at));
    let is_value = is_value.is_some_and(|word| matches!(word.as_str(), "-s" | "-f" | "--separator" | "--format"));
    let start = if is_value { start.saturating_add(1).min(arguments.len()) } else { start };
    let (options, rest) = arguments.split_at(start);
    let long_names = [("separator", 's'), ("equal-width", 'w'), ("format", 'f')];
    let mut given = Given::read(options, "s:wf:", &long_names)?;
    given.operands.extend(rest.iter().map(String::as_str));
    if given.operands.iter().any(|word| crate::marks::has_mark(word)) {
        return Err(Inexact::Marked);
    }
    let numbers: Vec<(i128, usize)> =
        given.operands.iter().map(|word| decimal(word)).collect::<Option<_>>().or_unknown()?;
    let (first, step, last) = match numbers.as_slice() {
        [last] => ((1, 0), (1, 0), *last),
        [first, last] => (*first, (1, 0), *last),
        [first, step, last] => (*first, *step, *last),
        _ => return Err(Inexact::Unknown),
    };
    let decimals = first.1.max(step.1);
    let scale = decimals.max(last.1);
    let scaled = |(number, own): (i128, usize)| {
        10_i128.checked_pow(u32::try_from(scale - own).ok()?).and_then(|factor| number.checked_mul(factor))
    };
    let (from, by, to) = (scaled(first).or_unknown()?, scaled(step).or_unknown()?, scaled(last).or_unknown()?);
    let count = (to - from).checked_div(by).or_unknown()? + 1;
    if by > 0 && to < from || by < 0 && to > from {
        return Ok(String::new());
    }
    if count > MOST_NUMBERS {
        return Err(Inexact::Unknown);
    }
    walk.work(usize::try_from(count).unwrap_or(0) / 4)?;
    let cut = 10_i128.pow(u32::try_from(scale - decimals).unwrap_or(0));
    let values = (0..count).map(|at| (from + at * by) / cut);
    let plain: Vec<String> = values.clone().map(|value| shown(value, decimals, 0)).collect();
    let texts: Vec<String> = match given.value('f') {
        Some(format) => values.map(|value| with_format(format, value, decimals)).collect::<Option<_>>().or_unknown()?,
        None if given.has('w') => {
            let edges = [shown(from / cut, decimals, 0), shown(to / cut, decimals, 0)];
            let width = edges.iter().map(String::len).max().unwrap_or(0);
            values.map(|value| shown(value, decimals, width)).collect()
        }
        None => plain,
    };
    Ok(format!("{}\n", texts.join(given.value('s').unwrap_or("\n"))))
}

/// `%g`, `%03g`, `%.2f` with text around it.
fn with_format(format: &str, value: i128, decimals: usize) -> Option<String> {
    let at = format.replace("%%", "\0\0").find('%')?;
    let (before, rest) = format.split_at(at);
    let rest = rest.get(1..)?;
    let end = rest.find(|letter: char| letter.is_ascii_alphabetic())?;
    let (flags, after) = rest.split_at(end);
    let kind = after.chars().next()?;
    let (width, precision) = flags.split_once('.').map_or((flags, None), |(width, most)| (width, Some(most)));
    let (is_left, width) = width.strip_prefix('-').map_or((false, width), |width| (true, width));
    let is_zero = width.starts_with('0');
    let width = if width.is_empty() { 0 } else { width.parse::<usize>().ok().filter(|width| *width < 64)? };
    let number = match (kind, precision) {
        ('g', None) => {
            let text = shown(value, decimals, 0);
            let text = if decimals > 0 { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
            (text.trim_start_matches('-').len() <= 6).then(|| text.to_owned())?
        }
        ('f', precision) => {
            let places = precision.map_or(Some(6), |text| text.parse::<usize>().ok()).filter(|places| *places < 12)?;
            let added = u32::try_from(places.checked_sub(decimals)?).ok()?;
            shown(value.checked_mul(10_i128.pow(added))?, places, 0)
        }
        _ => return None,
    };
    let padded = match (is_left, is_zero) {
        (true, _) => format!("{number:<width$}"),
        (_, true) => match number.strip_prefix('-') {
            Some(digits) => format!("-{digits:0>width$}", width = width.saturating_sub(1)),
            None => format!("{number:0>width$}"),
        },
        _ => format!("{number:>width$}"),
    };
    Some(format!("{}{padded}{}", before.replace("%%", "%"), after.get(1..)?.replace("%%", "%")))
}

pub(super) fn wc(walk: &mut ScriptWalk<'_>, _: &str, arguments: &[String]) -> Exact<String> {
    let long_names = [("lines", 'l'), ("words", 'w'), ("bytes", 'c'), ("chars", 'm'), ("max-line-length", 'L')];
    let given = Given::read(arguments, "lwcmL", &long_names)?;
    let asked = |letter: char| given.has(letter) || given.options().next().is_none() && "lwc".contains(letter);
    let paths = if given.operands.is_empty() { &["-"][..] } else { &given.operands };
    let mut rows = Vec::new();
    for path in paths {
        let text = walk.exact_text(path)?;
        let longest = text.split('\n').map(|line| line.chars().count()).max().unwrap_or(0);
        if given.has('L') && !text.bytes().all(|byte| matches!(byte, b'\n' | b' '..=b'~')) {
            return Err(Inexact::Unknown);
        }
        let counts = [
            ('l', text.matches('\n').count()),
            ('w', text.split_ascii_whitespace().count()),
            ('m', text.chars().count()),
            ('c', text.len()),
            ('L', longest),
        ];
        let counts: Vec<usize> =
            counts.into_iter().filter(|(letter, _)| asked(*letter)).map(|(_, count)| count).collect();
        rows.push((counts, if given.operands.is_empty() { "" } else { *path }, text.len()));
    }
    let size: usize = rows.iter().map(|(.., size)| size).sum();
    let is_single = rows.len() == 1 && rows.first().is_some_and(|(counts, ..)| counts.len() == 1);
    let width = match paths {
        _ if is_single => 1,
        paths if paths.contains(&"-") => 7,
        _ => size.to_string().len(),
    };
    if rows.len() > 1 {
        // The longest line of all is no sum.
        if given.has('L') {
            return Err(Inexact::Unknown);
        }
        let sums = rows.iter().map(|(counts, ..)| counts.clone());
        let total = sums.reduce(|sums, counts| sums.iter().zip(&counts).map(|(sum, count)| sum + count).collect());
        rows.push((total.unwrap_or_default(), "total", size));
    }
    let line = |(counts, name, _): &(Vec<usize>, &str, usize)| {
        let mut words: Vec<String> = counts.iter().map(|count| format!("{count:width$}")).collect();
        words.extend(Some((*name).to_owned()).filter(|name| !name.is_empty()));
        format!("{}\n", words.join(" "))
    };
    Ok(rows.iter().map(line).collect())
}

/// The numbers of a call: its operands, or the words of its input.
fn numbers_given(walk: &mut ScriptWalk<'_>, given: &Given<'_>) -> Exact<Vec<String>> {
    if given.operands.is_empty() {
        let text = walk.exact_text("-")?;
        return Ok(text.split_ascii_whitespace().map(str::to_owned).collect());
    }
    if given.operands.iter().any(|word| crate::marks::has_mark(word)) {
        return Err(Inexact::Marked);
    }
    Ok(given.operands.iter().map(|&word| word.to_owned()).collect())
}

pub(super) fn factor(walk: &mut ScriptWalk<'_>, _: &str, arguments: &[String]) -> Exact<String> {
    let given = Given::read(arguments, "", &[])?;
    let mut out = String::new();
    for word in numbers_given(walk, &given)? {
        let number = word.parse::<u64>().ok().filter(|number| *number < 1 << 36).or_unknown()?;
        out.push_str(&number.to_string());
        out.push(':');
        let (mut rest, mut divisor) = (number, 2);
        while divisor * divisor <= rest {
            while rest.is_multiple_of(divisor) {
                let _ = write!(out, " {divisor}");
                rest /= divisor;
            }
            divisor += if divisor == 2 { 1 } else { 2 };
        }
        walk.work(usize::try_from(divisor / 256).unwrap_or(1) + 1)?;
        if out.len() > LONGEST_TEXT {
            return Err(Inexact::Unknown);
        }
        if rest > 1 {
            let _ = write!(out, " {rest}");
        }
        out.push('\n');
    }
    Ok(out)
}

/// `numfmt` of single numbers, from units or to them.
pub(super) fn numfmt(walk: &mut ScriptWalk<'_>, _: &str, arguments: &[String]) -> Exact<String> {
    let given = Given::read(arguments, "f:t:s:", &[("from", 'f'), ("to", 't'), ("suffix", 's')])?;
    let base = |letter: char| -> Exact<Option<u64>> {
        match given.value(letter) {
            None | Some("none") => Ok(None),
            Some("si") => Ok(Some(1000)),
            Some("iec" | "iec-i") => Ok(Some(1024)),
            Some(_) => Err(Inexact::Unknown),
        }
    };
    let (from, to) = (base('f')?, base('t')?);
    let mark = if given.value('t') == Some("iec-i") { "i" } else { "" };
    let mut out = String::new();
    if given.operands.is_empty() && walk.exact_text("-")?.lines().any(|line| line.contains([' ', '\t'])) {
        return Err(Inexact::Unknown);
    }
    for word in numbers_given(walk, &given)? {
        let number = read_unit(&word, from).or_unknown()?;
        let text = match to {
            Some(base) => with_unit(number, base, mark).or_unknown()?,
            None => number.to_string(),
        };
        let _ = writeln!(out, "{text}{}", given.value('s').unwrap_or(""));
    }
    Ok(out)
}

/// `1.5K` as a whole number.
fn read_unit(word: &str, base: Option<u64>) -> Option<u64> {
    let word = word.strip_suffix('i').unwrap_or(word);
    let unit = word.chars().last().filter(char::is_ascii_alphabetic);
    let power = match (unit, base) {
        (None, _) => 0,
        (Some(unit), Some(_)) => "KMGTPE".find(unit)? + 1,
        (Some(_), None) => return None,
    };
    let digits = if unit.is_some() { word.get(..word.len() - 1)? } else { word };
    let factor = base.unwrap_or(1).checked_pow(u32::try_from(power).ok()?)?;
    let (number, decimals) = decimal(digits)?;
    let scaled = number.checked_mul(i128::from(factor))?;
    let cut = 10_i128.checked_pow(u32::try_from(decimals).ok()?)?;
    (scaled % cut == 0).then(|| u64::try_from(scaled / cut).ok())?
}

/// A number with a unit, rounded away from zero, with one decimal below ten.
fn with_unit(number: u64, base: u64, mark: &str) -> Option<String> {
    if number < base {
        return Some(number.to_string());
    }
    let (mut power, mut unit) = (0_usize, 1_u64);
    while number / unit >= base {
        unit = unit.checked_mul(base)?;
        power += 1;
    }
    let tenths = number.checked_mul(10)?.div_ceil(unit);
    let whole = number.div_ceil(unit);
    if whole >= base {
        return None;
    }
    let letter = "KMGTPE".chars().nth(power.checked_sub(1)?)?;
    Some(if tenths < 100 {
        format!("{}.{}{letter}{mark}", tenths / 10, tenths % 10)
    } else {
        format!("{whole}{letter}{mark}")
    })
}
