//! Durations and sizes, each a type named after its role.

use std::fmt;
use std::time::Duration;

use bashful_keeper::duration_text;

/// Time that one call waits before it returns a job that still runs, or reports that the command never began.
///
/// Patience counts from the call; the lifetime of a command counts from its start. Running out of patience never harms the
/// command; see [`Lifetime`] for that.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Patience(pub Duration);

/// Time that a command may run before it is stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Lifetime(pub Duration);

/// Time between `SIGTERM` and `SIGKILL` when a process tree is stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Grace(pub Duration);

impl fmt::Display for Lifetime {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&duration_text(self.0))
    }
}

impl fmt::Display for Grace {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&duration_text(self.0))
    }
}

/// A number of bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ByteSize(pub u64);

impl ByteSize {
    /// This many times 1024 bytes.
    pub const fn kib(count: u64) -> Self {
        Self(count * 1024)
    }

    /// This many times 1024 KiB.
    pub const fn mib(count: u64) -> Self {
        Self::kib(count * 1024)
    }

    /// The size as a `usize`, at most `usize::MAX`.
    pub fn in_memory(self) -> usize {
        usize::try_from(self.0).unwrap_or(usize::MAX)
    }
}

/// `900B`, `128KB`, `38.1MB`: units of 1024, with one decimal if it is not zero.
impl fmt::Display for ByteSize {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [&str; 4] = ["KB", "MB", "GB", "TB"];
        if self.0 < 1024 {
            return write!(out, "{}B", self.0);
        }
        let mut unit = 0;
        let mut divisor = 1024_u64;
        while self.0 / divisor >= 1024 && unit + 1 < UNITS.len() {
            divisor *= 1024;
            unit += 1;
        }
        let (whole, tenth) = (self.0 / divisor, (self.0 % divisor) * 10 / divisor);
        if tenth == 0 { write!(out, "{whole}{}", UNITS[unit]) } else { write!(out, "{whole}.{tenth}{}", UNITS[unit]) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_short_to_read() {
        let said = |millis| Lifetime(Duration::from_millis(millis)).to_string();
        assert_eq!(said(30_000), "30s");
        assert_eq!(said(900_000), "15m");
        assert_eq!(said(5_400_000), "1h30m");
        assert_eq!(said(1_500), "1.5s");
        assert_eq!(said(0), "0s");
    }

    #[test]
    fn sizes_are_short_to_read() {
        let said = |bytes| ByteSize(bytes).to_string();
        assert_eq!(said(0), "0B");
        assert_eq!(said(1023), "1023B");
        assert_eq!(said(131_072), "128KB");
        assert_eq!(said(39_999_999), "38.1MB");
        assert_eq!(said(u64::MAX), "16777215.9TB");
    }
}
