//! Time zone of this machine.

#![expect(unsafe_code, reason = "only the C library knows the rules of time zones")]

/// Seconds by which local time was ahead of UTC at a Unix time; none if the C library cannot tell.
pub fn utc_offset(unix_seconds: u64) -> Option<i64> {
    let time = libc::time_t::try_from(unix_seconds).ok()?;
    // SAFETY: all fields of this structure are numbers and a pointer that may be null.
    let mut local: libc::tm = unsafe { std::mem::zeroed() };
    // SAFETY: both pointers lead to values on this stack. The call reads `TZ`, which nothing in these programs ever sets.
    let filled = unsafe { libc::localtime_r(&raw const time, &raw mut local) };
    (!filled.is_null()).then_some(local.tm_gmtoff)
}
