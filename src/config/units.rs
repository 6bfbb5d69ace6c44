//! Durations and sizes as people write them: `"10s"`, `"64MiB"`.

/// Serde form of a `Duration`: a number and one of us, ms, s, m, h.
pub(crate) mod duration {
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};
    use std::time::Duration;

    const UNITS: [(&str, u64); 5] =
        [("h", 3_600_000_000), ("m", 60_000_000), ("s", 1_000_000), ("ms", 1_000), ("us", 1)];

    pub(crate) fn serialize<S: Serializer>(value: &Duration, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&print(*value))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Duration, D::Error> {
        parse(&String::deserialize(from)?).map_err(D::Error::custom)
    }

    /// The largest unit that holds the value without a fraction.
    pub(crate) fn print(value: Duration) -> String {
        let micros = u64::try_from(value.as_micros()).unwrap_or(u64::MAX);
        let fits = |(_, unit): &&(&str, u64)| micros > 0 && micros.is_multiple_of(*unit);
        let (name, unit) = UNITS.iter().find(fits).unwrap_or(&("s", 1_000_000));
        format!("{}{name}", micros / unit)
    }

    pub(crate) fn parse(text: &str) -> Result<Duration, String> {
        let unit_at = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
        let (number, unit) = text.split_at(unit_at);
        let wrong = || format!("{text:?} is no duration; write a whole number and us, ms, s, m or h, as in \"10s\"");
        let (_, scale) = UNITS.iter().find(|(name, _)| *name == unit).ok_or_else(wrong)?;
        let number: u64 = number.parse().map_err(|_| wrong())?;
        number.checked_mul(*scale).map(Duration::from_micros).ok_or_else(wrong)
    }
}

/// Serde form of a number of bytes: a number and one of B, KiB, MiB, GiB, TiB.
pub(crate) mod size {
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};

    const UNITS: [(&str, u64); 5] = [("TiB", 1 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10), ("B", 1)];

    pub(crate) fn serialize<S: Serializer>(value: &u64, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&print(*value))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<u64, D::Error> {
        parse(&String::deserialize(from)?).map_err(D::Error::custom)
    }

    /// The largest unit that holds the value without a fraction.
    pub(crate) fn print(value: u64) -> String {
        let fits = |(_, unit): &&(&str, u64)| value > 0 && value.is_multiple_of(*unit);
        let (name, unit) = UNITS.iter().find(fits).unwrap_or(&("B", 1));
        format!("{}{name}", value / unit)
    }

    pub(crate) fn parse(text: &str) -> Result<u64, String> {
        let unit_at = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
        let (number, unit) = text.split_at(unit_at);
        let wrong =
            || format!("{text:?} is no size; write a whole number and B, KiB, MiB, GiB or TiB, as in \"64MiB\"");
        let (_, scale) = UNITS.iter().find(|(name, _)| *name == unit).ok_or_else(wrong)?;
        let number: u64 = number.parse().map_err(|_| wrong())?;
        number.checked_mul(*scale).ok_or_else(wrong)
    }
}

#[cfg(test)]
mod tests {
    use super::{duration, size};
    use proptest::prelude::*;
    use std::time::Duration;

    #[test]
    fn common_forms_are_read() {
        assert_eq!(duration::parse("10s"), Ok(Duration::from_secs(10)));
        assert_eq!(duration::parse("250ms"), Ok(Duration::from_millis(250)));
        assert_eq!(duration::parse("2h"), Ok(Duration::from_secs(7200)));
        assert_eq!(size::parse("64MiB"), Ok(64 << 20));
        assert_eq!(size::parse("7B"), Ok(7));
    }

    #[test]
    fn wrong_forms_say_how_to_write_it() {
        for text in ["", "10", "s", "1.5s", "10 s", "-1s", "10sec", "99999999999999999999s", "18446744073709551615h"] {
            let error = duration::parse(text).expect_err(text);
            assert!(error.contains("as in \"10s\""), "{error}");
        }
        for text in ["", "10", "64MB", "64mib", "-1B", "99999999999TiB"] {
            let error = size::parse(text).expect_err(text);
            assert!(error.contains("as in \"64MiB\""), "{error}");
        }
    }

    proptest! {
        #[test]
        fn what_is_printed_reads_back(micros in 0..u64::MAX / 2, bytes: u64) {
            let value = Duration::from_micros(micros);
            prop_assert_eq!(duration::parse(&duration::print(value)), Ok(value));
            prop_assert_eq!(size::parse(&size::print(bytes)), Ok(bytes));
        }
    }
}
