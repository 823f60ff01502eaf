//! Statistics of measured times.

use std::time::Duration;

use serde_json::{Value, json};

/// Times of one variant.
#[derive(Debug, Default)]
pub(crate) struct Times(Vec<Duration>);

impl Times {
    pub(crate) fn add(&mut self, time: Duration) {
        self.0.push(time);
    }

    /// The percentile.
    fn percentile(&self, percent: usize) -> Duration {
        let mut sorted = self.0.clone();
        sorted.sort_unstable();
        let rank = (sorted.len() * percent).div_ceil(100).saturating_sub(1);
        sorted.get(rank).copied().unwrap_or_default()
    }

    /// The median.
    pub(crate) fn median(&self) -> Duration {
        self.percentile(50)
    }

    /// The time in microseconds, the scale of the differences.
    pub(crate) fn as_json(&self) -> Value {
        let micros = |percent| u64::try_from(self.percentile(percent).as_micros()).unwrap_or(u64::MAX);
        json!({ "p50_us": micros(50), "p95_us": micros(95), "rounds": self.0.len() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_is_a_time_that_was_measured() {
        let mut times = Times::default();
        assert_eq!(times.percentile(50), Duration::ZERO);
        for millis in [5, 1, 4, 2, 3] {
            times.add(Duration::from_millis(millis));
        }
        assert_eq!(times.percentile(50), Duration::from_millis(3));
        assert_eq!(times.percentile(95), Duration::from_millis(5));
        assert_eq!(times.percentile(1), Duration::from_millis(1));
    }
}
