//! Values the files write as text: CQL literals of a type, or text behind `@uuid:`, `@decimal:` and `@varint:`.

use client::ColumnType;
use std::net::IpAddr;

const DAY_NS: i64 = 86_400_000_000_000;

/// Encodes a text for a type; `None` if it is no value of it.
pub(crate) fn parse(text: &str, kind: &ColumnType) -> Option<Vec<u8>> {
    match kind {
        ColumnType::Text | ColumnType::Ascii => Some(text.as_bytes().to_vec()),
        ColumnType::Blob => hex(text.strip_prefix("0x")?),
        ColumnType::Uuid | ColumnType::Timeuuid => {
            let digits = text.strip_prefix("@uuid:").unwrap_or(text).replace('-', "");
            hex(&digits).filter(|raw| raw.len() == 16)
        }
        ColumnType::Varint => text.strip_prefix("@varint:").unwrap_or(text).parse().ok().map(minimal),
        ColumnType::Decimal => decimal(text.strip_prefix("@decimal:").unwrap_or(text)),
        ColumnType::Double => text.parse::<f64>().ok().map(|number| number.to_be_bytes().to_vec()),
        ColumnType::Float => text.parse::<f32>().ok().map(|number| number.to_be_bytes().to_vec()),
        ColumnType::Date => days(text)?.checked_add(1 << 31).map(|days| (days as u32).to_be_bytes().to_vec()),
        ColumnType::Time => nanoseconds(text).map(|time| time.to_be_bytes().to_vec()),
        ColumnType::Timestamp => timestamp(text).map(|time| time.to_be_bytes().to_vec()),
        ColumnType::Inet => match text.parse().ok()? {
            IpAddr::V4(address) => Some(address.octets().to_vec()),
            IpAddr::V6(address) => Some(address.octets().to_vec()),
        },
        _ => None,
    }
}

/// Bytes from pairs of hexadecimal digits.
pub(crate) fn hex(digits: &str) -> Option<Vec<u8>> {
    if !digits.len().is_multiple_of(2) || !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        return None;
    }
    (0..digits.len()).step_by(2).map(|at| u8::from_str_radix(&digits[at..at + 2], 16).ok()).collect()
}

/// The shortest two's complement form of a number.
pub(crate) fn minimal(number: i128) -> Vec<u8> {
    let wide = number.to_be_bytes();
    let fill = if number < 0 { 0xff } else { 0 };
    let is_spare = |at: &usize| wide[*at] == fill && (wide[*at + 1] ^ fill) & 0x80 == 0;
    let spare = (0..wide.len() - 1).take_while(is_spare).count();
    wide[spare..].to_vec()
}

/// A decimal of this scale and unscaled number.
pub(crate) fn decimal_bytes(scale: i32, unscaled: i128) -> Vec<u8> {
    let mut out = scale.to_be_bytes().to_vec();
    out.extend(minimal(unscaled));
    out
}

fn decimal(text: &str) -> Option<Vec<u8>> {
    let (number, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let unscaled: i128 = format!("{whole}{fraction}").parse().ok()?;
    let scale = i32::try_from(fraction.len()).ok()?.checked_sub(exponent.parse().ok()?)?;
    Some(decimal_bytes(scale, unscaled))
}

/// Days since 1970-01-01 of a date `yyyy-mm-dd`.
fn days(text: &str) -> Option<i64> {
    let mut parts = text.splitn(3, '-');
    let mut next = || parts.next()?.parse::<i64>().ok();
    let (year, month, day) = (next()?, next()?, next()?);
    // the year is taken to begin in March, so that a leap day is its last
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let leaps = year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    Some(365 * year + leaps + (153 * month + 2) / 5 + day - 1 - 719_468)
}

/// Nanoseconds of a time `hh:mm[:ss[.fraction]]`.
fn nanoseconds(text: &str) -> Option<i64> {
    let mut parts = text.splitn(3, ':');
    let (hours, minutes): (i64, i64) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
    let (seconds, fraction) = parts.next().map_or(("0", ""), |rest| rest.split_once('.').unwrap_or((rest, "")));
    let seconds: i64 = seconds.parse().ok()?;
    let fraction: i64 = format!("{fraction:0<9}").parse().ok()?;
    Some((hours * 3600 + minutes * 60 + seconds) * 1_000_000_000 + fraction)
}

/// Milliseconds of `date[(T| )time][Z|(+|-)hhmm]`; without a zone it is UTC.
fn timestamp(text: &str) -> Option<i64> {
    let (date, rest) = text.split_at_checked(10)?;
    let rest = rest.trim_start_matches(['T', ' ']).trim_end_matches('Z');
    let (time, zone) = rest.find(['+', '-']).map_or((rest, ""), |at| rest.split_at(at));
    let time = if time.is_empty() { 0 } else { nanoseconds(time)? };
    let zone: i64 = if zone.is_empty() { 0 } else { zone.replace(':', "").parse().ok()? };
    let ahead = (zone / 100 * 60 + zone % 100) * 60_000_000_000;
    (days(date)? * DAY_NS / 1_000_000 + (time - ahead).div_euclid(1_000_000)).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_varint_takes_as_few_bytes_as_it_can() {
        assert_eq!(minimal(0), [0]);
        assert_eq!(minimal(127), [127]);
        assert_eq!(minimal(128), [0, 128]);
        assert_eq!(minimal(-128), [128]);
        assert_eq!(minimal(-129), [255, 127]);
    }

    #[test]
    fn a_decimal_keeps_its_scale() {
        assert_eq!(parse("@decimal:1.35", &ColumnType::Decimal), Some(vec![0, 0, 0, 2, 0, 135]));
        assert_eq!(parse("@decimal:-2e3", &ColumnType::Decimal), Some(vec![255, 255, 255, 253, 254]));
    }

    #[test]
    fn dates_count_from_1970() {
        assert_eq!(days("1970-01-01"), Some(0));
        assert_eq!(days("2024-02-29"), Some(19_782));
        assert_eq!(days("1969-12-31"), Some(-1));
        assert_eq!(parse("1970-01-02", &ColumnType::Date), Some(vec![0x80, 0, 0, 1]));
    }

    #[test]
    fn a_timestamp_may_name_its_zone() {
        assert_eq!(timestamp("1970-01-01T00:00:01.5Z"), Some(1_500));
        assert_eq!(timestamp("1970-01-01 01:00+0100"), Some(0));
        assert_eq!(timestamp("1970-01-02"), Some(86_400_000));
    }

    #[test]
    fn what_is_no_value_is_refused() {
        assert_eq!(parse("0x0g", &ColumnType::Blob), None);
        assert_eq!(parse("abc", &ColumnType::Int), None);
        assert_eq!(parse("@uuid:00", &ColumnType::Uuid), None);
        assert_eq!(parse("1.2.3", &ColumnType::Inet), None);
    }
}
