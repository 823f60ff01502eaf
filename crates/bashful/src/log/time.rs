//! Times of day as text.

use std::time::Duration;

/// `2026-11-16T02:41:03.250Z`, of a time since 1970.
pub(super) fn text(since: Duration) -> String {
    let seconds = since.as_secs();
    let (year, month, day) = date(seconds / 86_400);
    let (hour, minute, second) = (seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{:03}Z", since.subsec_millis())
}

/// The date so many days after the first of January 1970.
fn date(days: u64) -> (u64, u64, u64) {
    // Counted from the first of March of the year 0, so that a leap day is the last one of its year. Four centuries have
    // 146,097 days; the months from March on take 153 days for every five.
    let days = days + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    (era * 400 + year_of_era + u64::from(month <= 2), month, day)
}

/// `2026-11-16 03:41:03`, of a time since 1970, in the time zone of this machine; in UTC where that is not known.
pub(super) fn local_text(since: Duration) -> String {
    let seconds = since.as_secs();
    let offset = bashful_sys::utc_offset(seconds).unwrap_or_default();
    let local = text(Duration::from_secs(seconds.saturating_add_signed(offset)));
    local[..19].replace('T', " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_day_are_right_across_leap_years() {
        for (seconds, expected) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_399, "2000-02-28T23:59:59.000Z"),
            (951_782_400, "2000-02-29T00:00:00.000Z"),
            (951_868_800, "2000-03-01T00:00:00.000Z"),
            (1_709_164_800, "2024-02-29T00:00:00.000Z"),
            (4_107_542_400, "2100-03-01T00:00:00.000Z"),
            (1_735_689_599, "2024-12-31T23:59:59.000Z"),
        ] {
            assert_eq!(text(Duration::from_secs(seconds)), expected);
        }
    }
}
