//! Days, times of day and moments as CQL writes them, in UTC.

const DAY_MS: i64 = 86_400_000;
const DAY_NS: i64 = DAY_MS * 1_000_000;

/// `yyyy-mm-dd` of a number of days since 1970-01-01.
///
/// *Source*: the proleptic Gregorian calendar; an era is 400 years of 146,097 days, and a year is taken to begin in March so that
/// the leap day is its last.
pub(crate) fn date(days: i64) -> String {
    let days = days.saturating_add(719_468);
    let (era, of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let (month, next_year) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    let year = year + era * 400 + next_year;
    let sign = if year < 0 { "-" } else { "" };
    format!("{sign}{:04}-{month:02}-{day:02}", year.unsigned_abs())
}

/// `hh:mm:ss.nnnnnnnnn` of nanoseconds since midnight; `None` if the day has fewer.
pub(crate) fn time(nanoseconds: i64) -> Option<String> {
    if !(0..DAY_NS).contains(&nanoseconds) {
        return None;
    }
    let (seconds, rest) = (nanoseconds / 1_000_000_000, nanoseconds % 1_000_000_000);
    Some(format!("{:02}:{:02}:{:02}.{rest:09}", seconds / 3600, seconds / 60 % 60, seconds % 60))
}

/// `yyyy-mm-dd hh:mm:ss.mmm+0000` of milliseconds since 1970.
pub(crate) fn timestamp(milliseconds: i64) -> String {
    let (days, rest) = (milliseconds.div_euclid(DAY_MS), milliseconds.rem_euclid(DAY_MS));
    let (seconds, rest) = (rest / 1000, rest % 1000);
    let clock = format!("{:02}:{:02}:{:02}.{rest:03}", seconds / 3600, seconds / 60 % 60, seconds % 60);
    format!("{} {clock}+0000", date(days))
}

/// Months, days and nanoseconds in units, such as `1y2mo3d4h5m6s7ns`; a negative one has one sign in front.
pub(crate) fn duration(months: i64, days: i64, nanoseconds: i64) -> String {
    let sign = if months < 0 || days < 0 || nanoseconds < 0 { "-" } else { "" };
    let [months, days, nanoseconds] = [months, days, nanoseconds].map(i64::unsigned_abs);
    let units = [
        (months / 12, "y"),
        (months % 12, "mo"),
        (days, "d"),
        (nanoseconds / 3_600_000_000_000, "h"),
        (nanoseconds / 60_000_000_000 % 60, "m"),
        (nanoseconds / 1_000_000_000 % 60, "s"),
        (nanoseconds / 1_000_000 % 1000, "ms"),
        (nanoseconds / 1000 % 1000, "us"),
        (nanoseconds % 1000, "ns"),
    ];
    let text: String =
        units.iter().filter(|(count, _)| *count > 0).map(|(count, unit)| format!("{count}{unit}")).collect();
    if text.is_empty() { "0s".to_owned() } else { format!("{sign}{text}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn dates_of_known_days() {
        let known = [(0, "1970-01-01"), (-1, "1969-12-31"), (19_782, "2024-02-29"), (11_016, "2000-02-29")];
        for (days, text) in known {
            assert_eq!(date(days), text);
        }
        assert_eq!(date(-719_528), "0000-01-01");
        assert_eq!(date(-719_529), "-0001-12-31");
    }

    #[test]
    fn moments_before_1970_count_forwards() {
        assert_eq!(timestamp(-1), "1969-12-31 23:59:59.999+0000");
        assert_eq!(timestamp(1_700_000_000_123), "2023-11-14 22:13:20.123+0000");
    }

    #[test]
    fn time_stays_within_a_day() {
        assert_eq!(time(DAY_NS - 1).as_deref(), Some("23:59:59.999999999"));
        assert_eq!((time(DAY_NS), time(-1)), (None, None));
    }

    #[test]
    fn durations_name_their_units() {
        assert_eq!(duration(14, 3, 3_723_004_005_006), "1y2mo3d1h2m3s4ms5us6ns");
        assert_eq!(duration(-1, 0, -2), "-1mo2ns");
        assert_eq!(duration(0, 0, 0), "0s");
    }

    proptest! {
        #[test]
        fn law_dates_grow_with_days(days in -1_000_000i64..2_000_000) {
            let (one, next) = (date(days), date(days + 1));
            prop_assert_ne!(&one, &next);
            if !one.starts_with('-') {
                prop_assert!(one < next, "{} {}", one, next);
            }
        }

        #[test]
        fn law_no_number_panics(number: i64) {
            prop_assert!(!date(number).is_empty() && !timestamp(number).is_empty());
            prop_assert!(!duration(number, number, number).is_empty());
            prop_assert_eq!(time(number).is_some(), (0..DAY_NS).contains(&number));
        }
    }
}
