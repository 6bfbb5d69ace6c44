//! Latencies of one kind of request: a bounded histogram and its summary.

use std::time::Duration;

use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Serializer, V2DeflateSerializer};
use serde::Serialize;

const MICROS_MAX: u64 = 600_000_000;

/// Latencies from 1 µs to 600 s with three significant digits; anything outside counts at the border.
#[derive(Debug, Clone)]
pub(crate) struct Latencies {
    micros: Histogram<u64>,
}

impl Latencies {
    pub(crate) fn new() -> Self {
        Self { micros: Histogram::new_with_bounds(1, MICROS_MAX, 3).expect("constant bounds in the allowed range") }
    }

    pub(crate) fn record(&mut self, latency: Duration) {
        let micros = u64::try_from(latency.as_micros()).unwrap_or(u64::MAX);
        self.micros.saturating_record(micros.max(1));
    }

    pub(crate) fn add(&mut self, other: &Self) {
        // Both have the same bounds, so there is nothing that could not be added.
        let _ = self.micros.add(&other.micros);
    }

    pub(crate) fn clear(&mut self) {
        self.micros.reset();
    }

    /// Percentile in milliseconds; 0 if nothing was recorded.
    pub(crate) fn percentile_ms(&self, percentile: f64) -> f64 {
        self.micros.value_at_quantile(percentile / 100.0) as f64 / 1e3
    }

    pub(crate) fn max_ms(&self) -> f64 {
        self.micros.max() as f64 / 1e3
    }

    pub(crate) fn summary(&self) -> Summary {
        let mean = if self.micros.is_empty() { 0.0 } else { self.micros.mean() / 1e3 };
        Summary {
            mean,
            p50: self.percentile_ms(50.0),
            p90: self.percentile_ms(90.0),
            p95: self.percentile_ms(95.0),
            p99: self.percentile_ms(99.0),
            p999: self.percentile_ms(99.9),
            max: self.max_ms(),
            hdr: self.encoded(),
        }
    }

    /// The whole histogram in the interchange form: V2, deflated, base64.
    fn encoded(&self) -> String {
        let mut raw = Vec::new();
        match V2DeflateSerializer::new().serialize(&self.micros, &mut raw) {
            Ok(_) => base64(&raw),
            // Only writing can fail, and a vector takes everything.
            Err(_) => String::new(),
        }
    }
}

/// Latencies in milliseconds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Summary {
    pub mean: f64,
    pub p50: f64,
    pub p90: f64,
    pub p95: f64,
    pub p99: f64,
    pub p999: f64,
    pub max: f64,
    /// The histogram in microseconds, HdrHistogram V2 deflated, in base64.
    pub hdr: String,
}

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

fn base64(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let bits = (0..3).fold(0u32, |bits, at| bits << 8 | u32::from(group.get(at).copied().unwrap_or(0)));
        for at in 0..4 {
            let sign = ALPHABET[(bits >> (18 - 6 * at) & 63) as usize];
            out.push(if at <= group.len() { char::from(sign) } else { '=' });
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_matches_the_standards_examples() {
        let pairs = [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")];
        for (plain, coded) in pairs {
            assert_eq!(base64(plain.as_bytes()), coded);
        }
    }

    #[test]
    fn an_empty_histogram_sums_up_to_zeros() {
        let summary = Latencies::new().summary();
        assert_eq!((summary.mean, summary.p99, summary.max), (0.0, 0.0, 0.0));
    }

    #[test]
    fn percentiles_hold_to_three_digits_and_extremes_are_clipped() {
        let mut latencies = Latencies::new();
        for millis in 1..=1000 {
            latencies.record(Duration::from_millis(millis));
        }
        assert!((latencies.percentile_ms(99.0) / 990.0 - 1.0).abs() < 1e-3);
        latencies.record(Duration::ZERO);
        latencies.record(Duration::from_secs(1_000_000));
        assert!((latencies.max_ms() / 600_000.0 - 1.0).abs() < 1e-3);
    }

    #[test]
    fn the_encoded_form_reads_back() {
        let mut latencies = Latencies::new();
        latencies.record(Duration::from_micros(777));
        let mut raw = Vec::new();
        V2DeflateSerializer::new().serialize(&latencies.micros, &mut raw).expect("written");
        let back: Histogram<u64> =
            hdrhistogram::serialization::Deserializer::new().deserialize(&mut raw.as_slice()).expect("read");
        assert_eq!((back.len(), back.max()), (1, 777));
    }
}
