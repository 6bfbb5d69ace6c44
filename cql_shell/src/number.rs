//! Numbers of any length: two's complement bytes to decimal digits.

/// Longest number turned into digits, in bytes; the work grows with its square.
const BYTES_MAX: usize = 4096;
/// Zeros written out behind or in front of a decimal before an exponent takes over.
const ZEROS_MAX: i64 = 30;

/// The digits of a varint; `None` for no bytes and for more than are reasonable.
pub(crate) fn varint(raw: &[u8]) -> Option<String> {
    if raw.is_empty() || raw.len() > BYTES_MAX {
        return None;
    }
    let is_negative = raw[0] & 0x80 != 0;
    let digits = digits(magnitude(raw, is_negative));
    Some(if is_negative { format!("-{digits}") } else { digits })
}

/// A decimal: four bytes of scale, then the unscaled number; `None` if it is none.
pub(crate) fn decimal(raw: &[u8]) -> Option<String> {
    let (scale, unscaled) = raw.split_first_chunk::<4>()?;
    let scale = i64::from(i32::from_be_bytes(*scale));
    let unscaled = varint(unscaled)?;
    let (sign, digits) = unscaled.strip_prefix('-').map_or(("", unscaled.as_str()), |digits| ("-", digits));
    let point = digits.len() as i64 - scale;
    Some(match scale {
        0 => unscaled,
        1.. if point > 0 => {
            let (whole, fraction) = digits.split_at(point as usize);
            format!("{sign}{whole}.{fraction}")
        }
        1.. if point >= -ZEROS_MAX => format!("{sign}0.{}{digits}", "0".repeat(point.unsigned_abs() as usize)),
        _ => format!("{unscaled}E{:+}", -scale),
    })
}

/// The bytes of the number without its sign, the most significant first.
fn magnitude(raw: &[u8], is_negative: bool) -> Vec<u8> {
    if !is_negative {
        return raw.to_vec();
    }
    let mut carry = true;
    let mut bytes: Vec<u8> = raw
        .iter()
        .rev()
        .map(|byte| {
            let (byte, overflow) = (!byte).overflowing_add(u8::from(carry));
            carry = overflow;
            byte
        })
        .collect();
    bytes.reverse();
    bytes
}

/// Decimal digits, nine at a time.
fn digits(mut bytes: Vec<u8>) -> String {
    let mut groups = Vec::new();
    let mut start = 0;
    while start < bytes.len() {
        let mut rest = 0u64;
        for byte in &mut bytes[start..] {
            rest = rest << 8 | u64::from(*byte);
            *byte = (rest / 1_000_000_000) as u8;
            rest %= 1_000_000_000;
        }
        groups.push(rest);
        start += bytes[start..].iter().take_while(|byte| **byte == 0).count();
    }
    let mut text = groups.pop().unwrap_or_default().to_string();
    for group in groups.iter().rev() {
        text.push_str(&format!("{group:09}"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn decimals_keep_their_scale() {
        let decimal = |scale: i32, unscaled: &[u8]| decimal(&[&scale.to_be_bytes(), unscaled].concat());
        assert_eq!(decimal(2, &[0, 135]).as_deref(), Some("1.35"));
        assert_eq!(decimal(5, &[0xff]).as_deref(), Some("-0.00001"));
        assert_eq!(decimal(0, &[12]).as_deref(), Some("12"));
        assert_eq!(decimal(-3, &[2]).as_deref(), Some("2E+3"));
        assert_eq!(decimal(i32::MAX, &[2]).as_deref(), Some("2E-2147483647"));
        assert_eq!(decimal(i32::MIN, &[2]).as_deref(), Some("2E+2147483648"));
        assert_eq!(decimal(1, &[]), None);
    }

    #[test]
    fn long_number_has_all_its_digits() {
        let mut raw = vec![0; 26];
        raw[0] = 1;
        assert_eq!(varint(&raw).as_deref(), Some("1606938044258990275541962092341162602522202993782792835301376"));
        assert_eq!(varint(&[0x80, 0]).as_deref(), Some("-32768"));
        assert_eq!(varint(&vec![1; BYTES_MAX + 1]), None);
    }

    proptest! {
        #[test]
        fn law_varint_prints_as_the_number(number: i128) {
            prop_assert_eq!(varint(&number.to_be_bytes()), Some(number.to_string()));
        }

        #[test]
        fn law_no_bytes_panic(raw: Vec<u8>) {
            prop_assert_eq!(varint(&raw).is_some(), !raw.is_empty());
            prop_assert_eq!(decimal(&raw).is_some(), raw.len() > 4);
        }
    }
}
