//! Durations as people type them.

use std::time::Duration;

/// Units and their length in seconds. A unit that ends like another one comes before it.
const UNITS: [(&str, f64); 5] = [("ms", 0.001), ("s", 1.0), ("m", 60.0), ("h", 3600.0), ("d", 86_400.0)];

/// A number of seconds: `90`, `2.5`, `90s`, `5m`, `1h`, `2d` or `500ms`. Its range is up to the caller.
pub(crate) fn seconds(text: &str) -> Result<f64, String> {
    let unit = UNITS.iter().find_map(|(unit, length)| Some((text.strip_suffix(unit)?, *length)));
    let (number, length) = unit.unwrap_or((text, 1.0));
    let number: f64 = number.parse().map_err(|_| format!("{text:?} is not a time as in 90, 90s, 5m or 1h"))?;
    Ok(number * length)
}

/// A duration that needs a unit, because a bare number could mean anything: `90s`, `10m`, `2h` or `7d`.
pub(crate) fn span(text: &str) -> Result<Duration, String> {
    if text.parse::<f64>().is_ok() {
        return Err(format!("{text} of what? write {text}s, {text}m, {text}h or {text}d"));
    }
    let wrong = || format!("{text:?} is not a time as in 90s, 10m, 2h or 7d");
    let given = seconds(text).map_err(|_| wrong())?;
    Duration::try_from_secs_f64(given).map_err(|_| wrong())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_may_have_a_unit() {
        for (text, expected) in [
            ("90", 90.0),
            ("2.5", 2.5),
            ("90s", 90.0),
            ("5m", 300.0),
            ("1h", 3600.0),
            ("2d", 172_800.0),
            ("500ms", 0.5),
        ] {
            assert_eq!(seconds(text), Ok(expected), "{text}");
        }
        assert_eq!(seconds("-5"), Ok(-5.0));
        for wrong in ["", "s", "5 m", "5w", "m5", "five"] {
            assert!(seconds(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_span_needs_a_unit_and_says_so() {
        assert_eq!(span("90s"), Ok(Duration::from_secs(90)));
        assert_eq!(span("7d"), Ok(Duration::from_hours(7 * 24)));
        assert_eq!(span("1.5h"), Ok(Duration::from_mins(90)));
        assert_eq!(span("2"), Err("2 of what? write 2s, 2m, 2h or 2d".to_owned()));
        for wrong in ["", "d", "-1h", "1w", "1e400d"] {
            assert!(span(wrong).is_err(), "{wrong}");
        }
    }
}
