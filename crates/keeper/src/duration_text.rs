//! Durations as text for people.

use std::fmt::Write;
use std::time::Duration;

/// Hours, minutes and seconds, exact to the millisecond: `30s`, `15m`, `1h30m`, `0.5s`.
pub fn duration_text(duration: Duration) -> String {
    let seconds = duration.as_secs();
    let (hours, minutes, rest) = (seconds / 3600, seconds % 3600 / 60, seconds % 60);
    let mut text = String::new();
    if hours > 0 {
        let _ = write!(text, "{hours}h");
    }
    if minutes > 0 {
        let _ = write!(text, "{minutes}m");
    }
    let millis = duration.subsec_millis();
    if millis > 0 {
        text.push_str(format!("{rest}.{millis:03}").trim_end_matches('0'));
        text.push('s');
    } else if rest > 0 || seconds == 0 {
        let _ = write!(text, "{rest}s");
    }
    text
}
