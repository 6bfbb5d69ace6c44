//! Days, times and moments in text.

const DAY_NANOS: i64 = 86_400_000_000_000;

const DAY_MILLIS: i64 = 86_400_000;

pub(super) fn is_time_of_day(bytes: &[u8]) -> bool {
    bytes.try_into().map(i64::from_be_bytes).is_ok_and(|nanos| (0..DAY_NANOS).contains(&nanos))
}

/// Days from 1970-01-01 to a day of the Gregorian calendar, counting years from March so that the leap day comes last.
fn days_since_epoch(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

/// `yyyy-mm-dd` as days since 1970.
fn day_number(text: &str) -> Option<i64> {
    let (sign, digits) = text.strip_prefix('-').map_or((1, text), |rest| (-1, rest));
    let mut parts = digits.splitn(3, '-');
    let mut next = |longest: usize| parts.next().filter(|part| part.len() <= longest).and_then(number);
    let (year, month, day) = (sign * next(7)?, next(2)?, next(2)?);
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let length = match month {
        2 if is_leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return None,
    };
    (1..=length).contains(&day).then(|| days_since_epoch(year, month, day))
}

fn number(digits: &str) -> Option<i64> {
    let is_plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    if is_plain { digits.parse().ok() } else { None }
}

/// A date: days with 2^31 for 1970-01-01.
pub(super) fn date(text: &str) -> Option<u32> {
    u32::try_from(day_number(text)?.checked_add(1 << 31)?).ok()
}

/// `hh:mm[:ss[.fraction]]` in nanoseconds.
pub(super) fn time_of_day(text: &str) -> Option<i64> {
    let (clock, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let parts = clock.split(':').map(number).collect::<Option<Vec<_>>>()?;
    let (hour, minute, second) = match parts[..] {
        [hour, minute] => (hour, minute, 0),
        [hour, minute, second] => (hour, minute, second),
        _ => return None,
    };
    if hour > 23 || minute > 59 || second > 59 || fraction.len() > 9 {
        return None;
    }
    let nanos = number(fraction)? * 10i64.pow(9 - fraction.len() as u32);
    Some(((hour * 60 + minute) * 60 + second) * 1_000_000_000 + nanos)
}

/// `yyyy-mm-dd[ hh:mm[:ss[.fff]]][zone]` in milliseconds since 1970; without a zone it is UTC.
pub(super) fn moment(text: &str) -> Option<i64> {
    let (day, rest) = match text.find(['T', ' ']) {
        Some(at) => (&text[..at], text[at + 1..].trim()),
        None => (text, "0:0"),
    };
    let zone = rest.find(['+', '-', 'Z']).unwrap_or(rest.len());
    let (clock, zone) = rest.split_at(zone);
    let millis = time_of_day(clock.trim())? / 1_000_000;
    let offset = match zone {
        "" | "Z" => 0,
        zone => {
            let digits = zone[1..].replace(':', "");
            let value = number(&digits).filter(|_| matches!(digits.len(), 2 | 4))?;
            let (hours, minutes) = if digits.len() == 2 { (value, 0) } else { (value / 100, value % 100) };
            (hours * 60 + minutes) * 60_000 * if zone.starts_with('-') { -1 } else { 1 }
        }
    };
    day_number(day)?.checked_mul(DAY_MILLIS)?.checked_add(millis - offset)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_counted_from_1970() {
        assert_eq!(day_number("1970-01-01"), Some(0));
        assert_eq!(day_number("2000-03-01"), Some(11_017));
        assert_eq!(day_number("1969-12-31"), Some(-1));
        assert_eq!(day_number("2024-02-29"), Some(19_782));
        assert_eq!(day_number("2023-02-29"), None);
        assert_eq!(date("1970-01-01"), Some(1 << 31));
    }

    #[test]
    fn moments_have_zones() {
        assert_eq!(moment("1970-01-01 00:00:01.5+0000"), Some(1500));
        assert_eq!(moment("1970-01-01T01:00:00+01:00"), Some(0));
        assert_eq!(moment("1970-01-02"), Some(DAY_MILLIS));
        assert_eq!(moment("yesterday"), None);
        assert_eq!(time_of_day("23:59:59.999999999"), Some(DAY_NANOS - 1));
        assert_eq!(time_of_day("24:00:00"), None);
    }
}
