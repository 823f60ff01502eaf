//! Numbers of awk: read from text, and written as text.

/// The length of the number that a text begins with; zero if it begins with none.
pub(super) fn prefix_length(text: &str) -> usize {
    let bytes = text.as_bytes();
    let digits = |from: usize| bytes.iter().skip(from).take_while(|byte| byte.is_ascii_digit()).count();
    let sign = usize::from(matches!(bytes.first(), Some(b'+' | b'-')));
    let whole = digits(sign);
    let mut end = sign + whole;
    let mut fraction = 0;
    if bytes.get(end) == Some(&b'.') {
        fraction = digits(end + 1);
        end += 1 + fraction;
    }
    if whole + fraction == 0 {
        return 0;
    }
    if matches!(bytes.get(end), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
        let exponent = digits(end + 1 + sign);
        if exponent > 0 {
            end += 1 + sign + exponent;
        }
    }
    end
}

/// The number that a text begins with, behind blanks.
pub(super) fn leading(text: &str) -> f64 {
    let text = text.trim_start();
    text.get(..prefix_length(text)).and_then(|digits| digits.parse().ok()).unwrap_or(0.0)
}

/// True if a text is nothing but a number, with blanks around it.
pub(super) fn looks_numeric(text: &str) -> bool {
    let text = text.trim_matches([' ', '\t', '\n', '\r']);
    !text.is_empty() && prefix_length(text) == text.len()
}

/// The whole part of a number; none if it is too large for one.
#[expect(clippy::cast_possible_truncation, reason = "the range was checked, and the fraction is to go")]
pub(super) fn whole(number: f64) -> Option<i64> {
    (number.abs() < 1e18).then_some(number.trunc() as i64)
}

/// A count as a number.
pub(super) fn counted(count: usize) -> f64 {
    u32::try_from(count).map_or(f64::MAX, f64::from)
}

/// A whole number as one of awk's.
#[expect(clippy::cast_precision_loss, reason = "awk has no other numbers")]
pub(super) fn from_whole(number: i64) -> f64 {
    number as f64
}

/// A number as text: whole ones as they are, others by a format such as `%.6g`.
pub(super) fn shown(number: f64, format: &str) -> String {
    if number.is_nan() {
        return if number.is_sign_negative() { "-nan" } else { "nan" }.to_owned();
    }
    match whole(number) {
        Some(whole) if number.fract() == 0.0 && number.abs() < 1e16 => whole.to_string(),
        _ => {
            let digits = format.strip_prefix("%.").and_then(|format| {
                let kind = format.chars().last()?;
                Some((format.get(..format.len() - kind.len_utf8())?.parse::<usize>().ok()?.min(40), kind))
            });
            match digits {
                Some((digits, 'f')) => format!("{number:.digits$}"),
                Some((digits, 'e')) => scientific(number, digits),
                Some((digits, 'd')) => shown(number.trunc(), &format!("%.{digits}g")),
                Some((digits, _)) => general(number, digits, false),
                None => general(number, 6, false),
            }
        }
    }
}

/// `%e`
pub(super) fn scientific(number: f64, digits: usize) -> String {
    let text = format!("{number:.digits$e}");
    match text.split_once('e') {
        Some((mantissa, exponent)) => {
            let exponent: i32 = exponent.parse().unwrap_or(0);
            let sign = if exponent < 0 { '-' } else { '+' };
            format!("{mantissa}e{sign}{:02}", exponent.unsigned_abs())
        }
        None => text,
    }
}

/// `%g`; zeros at the end stay if `keeps_zeros`.
pub(super) fn general(number: f64, digits: usize, keeps_zeros: bool) -> String {
    if !number.is_finite() {
        return if number.is_nan() {
            "nan"
        } else if number < 0.0 {
            "-inf"
        } else {
            "inf"
        }
        .to_owned();
    }
    let digits = digits.max(1);
    let rounded = scientific(number, digits - 1);
    let exponent: i64 = rounded.split_once('e').and_then(|(_, exponent)| exponent.parse().ok()).unwrap_or(0);
    let trim = |text: &str| {
        let is_open = text.contains('.') && !keeps_zeros;
        if is_open { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text.to_owned() }
    };
    let most = i64::try_from(digits).unwrap_or(6);
    if exponent < -4 || exponent >= most {
        let (mantissa, power) = rounded.split_once('e').unwrap_or((&rounded, "+00"));
        return format!("{}e{power}", trim(mantissa));
    }
    let decimals = usize::try_from(most - 1 - exponent).unwrap_or(0);
    trim(&format!("{number:.decimals$}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_as_awk_does() {
        for (number, text) in [
            (1.0, "1"),
            (-0.5, "-0.5"),
            (2.123_456_789, "2.12346"),
            (1e20, "1e+20"),
            (0.000_012_5, "1.25e-05"),
            (100_000.5, "100000"),
            (1_234_567.8, "1.23457e+06"),
        ] {
            assert_eq!(shown(number, "%.6g"), text);
        }
    }

    #[test]
    fn a_text_is_read_as_far_as_it_is_a_number() {
        for (text, number) in [(" 12abc", 12.0), ("-1.5e2x", -150.0), (".5", 0.5), ("abc", 0.0), ("1e", 1.0), ("", 0.0)]
        {
            assert!((leading(text) - number).abs() < 1e-9, "{text}");
        }
        assert!(looks_numeric(" 12 ") && !looks_numeric("12a") && !looks_numeric(" ") && looks_numeric("+1.e3"));
    }
}
