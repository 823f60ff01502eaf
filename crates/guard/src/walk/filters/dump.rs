//! Programs that show bytes as numbers: `od`, `hexdump`, `xxd`, and back.

use std::fmt::Write as _;

use super::lines::count_of;
use super::options::{Exact, Given, Inexact, OrUnknown, text_of};
use crate::walk::{LONGEST_TEXT, ScriptWalk};

/// One unit of `od`: bytes, kind and width.
#[derive(Clone, Copy)]
struct Unit {
    kind: char,
    size: usize,
    width: usize,
}

impl Unit {
    /// `x1`, `o2`, `u4`, `c` …
    fn named(text: &str) -> Option<Self> {
        let mut letters = text.chars();
        let kind = letters.next()?;
        if matches!(kind, 'a' | 'c') {
            return letters.as_str().is_empty().then_some(Self { kind, size: 1, width: 4 });
        }
        let size: usize = match letters.as_str() {
            "1" | "C" => 1,
            "2" | "S" => 2,
            "" | "4" | "I" => 4,
            "8" | "L" => 8,
            _ => return None,
        };
        let widths: [usize; 4] = match kind {
            'x' => [3, 5, 9, 17],
            'o' => [4, 7, 12, 23],
            'u' => [4, 6, 11, 21],
            'd' => [5, 7, 12, 21],
            _ => return None,
        };
        let width = widths.get(usize::try_from(size.trailing_zeros()).ok()?).copied()?;
        Some(Self { kind, size, width })
    }

    fn shown(self, bytes: &[u8]) -> String {
        let number = bytes.iter().rev().fold(0_u64, |number, byte| number << 8 | u64::from(*byte));
        let digits = self.width - 1;
        match self.kind {
            'x' => format!("{number:0digits$x}"),
            'o' => format!("{number:0digits$o}"),
            'u' => number.to_string(),
            'd' => {
                let bits = 64 - 8 * u32::try_from(self.size).unwrap_or(8);
                (number.wrapping_shl(bits).cast_signed() >> bits).to_string()
            }
            'a' => named_byte(bytes.first().copied().unwrap_or(0)),
            _ => escaped_byte(bytes.first().copied().unwrap_or(0)),
        }
    }
}

/// A byte as `od -c` shows it.
fn escaped_byte(byte: u8) -> String {
    match byte {
        0 => "\\0".to_owned(),
        7 => "\\a".to_owned(),
        8 => "\\b".to_owned(),
        9 => "\\t".to_owned(),
        10 => "\\n".to_owned(),
        11 => "\\v".to_owned(),
        12 => "\\f".to_owned(),
        13 => "\\r".to_owned(),
        b' '..=b'~' => char::from(byte).to_string(),
        _ => format!("{byte:03o}"),
    }
}

/// A byte as `od -a` shows it.
fn named_byte(byte: u8) -> String {
    const NAMES: [&str; 33] = [
        "nul", "soh", "stx", "etx", "eot", "enq", "ack", "bel", "bs", "ht", "nl", "vt", "ff", "cr", "so", "si", "dle",
        "dc1", "dc2", "dc3", "dc4", "nak", "syn", "etb", "can", "em", "sub", "esc", "fs", "gs", "rs", "us", "sp",
    ];
    let byte = byte & 0x7f;
    match NAMES.get(usize::from(byte)) {
        Some(name) => (*name).to_owned(),
        None if byte == 127 => "del".to_owned(),
        None => char::from(byte).to_string(),
    }
}

pub(super) fn od(walk: &mut ScriptWalk<'_>, _: &str, arguments: &[String]) -> Exact<String> {
    let long_names = [
        ("address-radix", 'A'),
        ("format", 't'),
        ("skip-bytes", 'j'),
        ("read-bytes", 'N'),
        ("width", 'w'),
        ("output-duplicates", 'v'),
    ];
    let given = Given::read(arguments, "A:t:j:N:w::vabcdosx", &long_names)?;
    let text = walk.exact_input(&given.operands)?;
    let unit = unit_asked(&given).or_unknown()?;
    let size = |letter: char| match given.value(letter) {
        Some(value) => count_of(value).map(|(_, count)| Some(count)).or_unknown(),
        None => Ok(None),
    };
    let (skipped, most) = (size('j')?.unwrap_or(0), size('N')?.unwrap_or(usize::MAX));
    let width: usize = match given.value('w') {
        None => 16,
        Some("") => 32,
        Some(number) => number.parse().map_err(|_| Inexact::Unknown)?,
    };
    if width == 0 || !width.is_multiple_of(unit.size) {
        return Err(Inexact::Unknown);
    }
    let bytes: Vec<u8> = text.bytes().skip(skipped).take(most).collect();
    let address: fn(usize) -> String = match given.value('A').unwrap_or("o") {
        "n" => |_| String::new(),
        "d" => |at| format!("{at:07}"),
        "o" => |at| format!("{at:07o}"),
        "x" => |at| format!("{at:06x}"),
        _ => return Err(Inexact::Unknown),
    };
    let mut out = String::new();
    let mut last: Option<&[u8]> = None;
    for (row, chunk) in bytes.chunks(width).enumerate() {
        // Lines like the one before are a star, whatever their number.
        if !given.has('v') && last == Some(chunk) && chunk.len() == width {
            if !out.ends_with("\n*\n") {
                out.push_str("*\n");
            }
            continue;
        }
        last = Some(chunk);
        out.push_str(&address(skipped + row * width));
        for part in chunk.chunks(unit.size) {
            let _ = write!(out, "{:>width$}", unit.shown(part), width = unit.width);
        }
        out.push('\n');
        if out.len() > LONGEST_TEXT {
            return Err(Inexact::Unknown);
        }
    }
    if given.value('A') != Some("n") {
        let _ = writeln!(out, "{}", address(skipped + bytes.len()));
    }
    Ok(out)
}

/// The unit that the options of `od` ask for.
fn unit_asked(given: &Given<'_>) -> Option<Unit> {
    let mut kinds = given.options().filter_map(|(letter, value)| match letter {
        't' => Some(value),
        'a' => Some("a"),
        'b' => Some("o1"),
        'c' => Some("c"),
        'd' => Some("u2"),
        'o' => Some("o2"),
        's' => Some("d2"),
        'x' => Some("x2"),
        _ => None,
    });
    let kind = kinds.next().unwrap_or("o2");
    // Several kinds at once make columns as wide as the widest.
    if kinds.next().is_some() { None } else { Unit::named(kind) }
}

fn visible(byte: u8) -> char {
    if (b' '..=b'~').contains(&byte) { char::from(byte) } else { '.' }
}

/// `hexdump`, in its usual forms, and with a format for every byte.
pub(super) fn hexdump(walk: &mut ScriptWalk<'_>, name: &str, arguments: &[String]) -> Exact<String> {
    let given = Given::read(arguments, "Cve:", &[("canonical", 'C'), ("no-squeezing", 'v')])?;
    let text = walk.exact_input(&given.operands)?;
    if let Some(format) = given.value('e') {
        return formatted_bytes(&text, format).or_unknown();
    }
    let rows: Vec<&[u8]> = text.as_bytes().chunks(16).collect();
    if !given.has('v') && rows.windows(2).any(|pair| matches!(pair, [one, other] if one == other)) {
        return Err(Inexact::Unknown);
    }
    let mut out = String::new();
    let is_canonical = given.has('C') || name == "hd";
    for (at, row) in rows.iter().enumerate() {
        if is_canonical {
            let mut shown = String::new();
            for (place, byte) in row.iter().enumerate() {
                shown.push_str(if place == 8 { "  " } else { " " });
                let _ = write!(shown, "{byte:02x}");
            }
            let letters: String = row.iter().map(|byte| visible(*byte)).collect();
            let _ = writeln!(out, "{:08x} {shown:<49}  |{letters}|", at * 16);
        } else {
            let unit = Unit { kind: 'x', size: 2, width: 5 };
            let shown: String = row.chunks(2).flat_map(|part| [" ".to_owned(), unit.shown(part)]).collect();
            let _ = writeln!(out, "{:07x}{shown:<40}", at * 16);
        }
    }
    if !rows.is_empty() {
        let width = if is_canonical { 8 } else { 7 };
        let _ = writeln!(out, "{:0width$x}", text.len());
    }
    Ok(out)
}

/// `1/1 "%02x "`: the same for every byte.
fn formatted_bytes(text: &str, format: &str) -> Option<String> {
    let (count, rest) = format.trim().split_once('/')?;
    let inside = rest.strip_prefix('1')?.trim().strip_prefix('"')?.strip_suffix('"')?;
    if !matches!(count.trim(), "" | "1") || inside.contains(['"', '\\']) {
        return None;
    }
    let (before, rest) = inside.split_once('%')?;
    let end = rest.find(|letter: char| letter.is_ascii_alphabetic())?;
    let (flags, rest) = rest.split_at(end);
    let mut letters = rest.chars();
    let kind = letters.next()?;
    let digits = flags.trim_start_matches(['0', '.']);
    let width = if digits.is_empty() { 0 } else { digits.parse::<usize>().ok().filter(|width| *width < 16)? };
    let shown = |byte: u8| {
        Some(match (kind, flags.starts_with(['0', '.']) || flags.is_empty()) {
            ('x', true) => format!("{byte:0width$x}"),
            ('X', true) => format!("{byte:0width$X}"),
            ('o', true) => format!("{byte:0width$o}"),
            ('d' | 'u', true) if byte < 128 => format!("{byte:0width$}"),
            ('d' | 'u', false) if byte < 128 => format!("{byte:width$}"),
            _ => return None,
        })
    };
    let after = letters.as_str();
    let mut out = String::new();
    for byte in text.bytes() {
        out.push_str(before);
        out.push_str(&shown(byte)?);
        out.push_str(after);
    }
    // The blank behind the last byte is left out.
    if after.ends_with(' ') && !text.is_empty() {
        return None;
    }
    Some(out)
}

/// The options of `xxd`, which has a way of its own to write them.
#[derive(Default)]
struct XxdOptions<'w> {
    is_plain: bool,
    is_upper: bool,
    is_reverse: bool,
    columns: Option<usize>,
    group: Option<usize>,
    most: Option<usize>,
    start: Option<usize>,
    operands: Vec<&'w str>,
}

impl<'w> XxdOptions<'w> {
    fn read(arguments: &'w [String]) -> Exact<Self> {
        let mut options = Self::default();
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            if crate::marks::has_mark(word) && word.starts_with('-') {
                return Err(Inexact::Marked);
            }
            match word.as_str() {
                "-p" | "-ps" | "-plain" | "-postscript" => options.is_plain = true,
                "-r" | "-revert" => options.is_reverse = true,
                "-u" => options.is_upper = true,
                // Versions differ about these.
                "-rp" | "-pr" => return Err(Inexact::Marked),
                flag if flag.starts_with('-') && flag.len() > 1 => {
                    let (letter, attached) = flag.get(1..2).zip(flag.get(2..)).or_unknown()?;
                    let value = if attached.is_empty() { words.next().or_unknown()?.as_str() } else { attached };
                    let number = Some(value.parse().map_err(|_| Inexact::Unknown)?);
                    match letter {
                        "c" => options.columns = number,
                        "g" => options.group = number,
                        "l" => options.most = number,
                        "s" => options.start = number,
                        _ => return Err(Inexact::Unknown),
                    }
                }
                operand => options.operands.push(operand),
            }
        }
        Ok(options)
    }

    fn dump(&self, bytes: &[u8]) -> String {
        let hexadecimal = |byte: &u8| if self.is_upper { format!("{byte:02X}") } else { format!("{byte:02x}") };
        let mut out = String::new();
        if self.is_plain {
            let columns = self.columns.filter(|columns| *columns > 0).unwrap_or(30);
            for row in bytes.chunks(columns) {
                out.extend(row.iter().map(hexadecimal));
                out.push('\n');
            }
            return out;
        }
        let columns = self.columns.filter(|columns| *columns > 0).unwrap_or(16).min(256);
        let group = self.group.unwrap_or(2).min(columns);
        let gaps = if group == 0 { 0 } else { columns.div_ceil(group) };
        for (row, chunk) in bytes.chunks(columns).enumerate() {
            let mut shown = String::new();
            for (at, byte) in chunk.iter().enumerate() {
                if at > 0 && group > 0 && at.is_multiple_of(group) {
                    shown.push(' ');
                }
                shown.push_str(&hexadecimal(byte));
            }
            let width = 2 * columns + gaps.saturating_sub(1);
            let letters: String = chunk.iter().map(|byte| visible(*byte)).collect();
            let address = self.start.unwrap_or(0) + row * columns;
            let _ = writeln!(out, "{address:08x}: {shown:<width$}  {letters}");
        }
        out
    }
}

pub(super) fn xxd(walk: &mut ScriptWalk<'_>, _: &str, arguments: &[String]) -> Exact<String> {
    let options = XxdOptions::read(arguments)?;
    let text = walk.exact_text(options.operands.first().copied().unwrap_or("-"))?;
    let out = match (options.is_reverse, options.is_plain) {
        (true, true) => text_of(plain_bytes(&text))?,
        (true, false) => text_of(dumped_bytes(&text)?)?,
        _ => {
            let bytes = text.as_bytes();
            let start = options.start.unwrap_or(0).min(bytes.len());
            let end = start.saturating_add(options.most.unwrap_or(usize::MAX)).min(bytes.len());
            options.dump(bytes.get(start..end).unwrap_or(&[]))
        }
    };
    match options.operands.get(1) {
        Some(path) => {
            walk.write_file(path, &out, false);
            Ok(String::new())
        }
        None => Ok(out),
    }
}

/// Digits in pairs, with blanks anywhere. Other letters end a line's digits.
fn plain_bytes(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    for line in text.lines() {
        let digits: Vec<u32> =
            line.chars().filter(|letter| !letter.is_whitespace()).map_while(|letter| letter.to_digit(16)).collect();
        bytes.extend(digits.chunks(2).filter_map(|pair| match pair {
            [high, low] => u8::try_from(high * 16 + low).ok(),
            _ => None,
        }));
    }
    bytes
}

/// The bytes of a full dump, if its addresses follow each other.
fn dumped_bytes(text: &str) -> Exact<Vec<u8>> {
    let mut bytes = Vec::new();
    for line in text.lines().filter(|line| !line.is_empty()) {
        let (address, rest) = line.split_once(':').or_unknown()?;
        let address = usize::from_str_radix(address.trim(), 16).map_err(|_| Inexact::Unknown)?;
        if address != bytes.len() {
            return Err(Inexact::Unknown);
        }
        let rest = rest.strip_prefix(' ').unwrap_or(rest);
        let digits = rest.split("  ").next().unwrap_or("");
        bytes.extend(plain_bytes(digits).into_iter().take(16));
    }
    Ok(bytes)
}
