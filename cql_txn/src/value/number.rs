//! Numbers: reading, adding, and the two that have no fixed width.

use super::Type;
use num_bigint::BigInt;
use std::cmp::Ordering;

/// Whether `+=` and `-=` count on it.
pub(crate) fn is_number(ty: &Type) -> bool {
    use Type::{BigInt, Decimal, Double, Float, Int, SmallInt, TinyInt, VarInt};
    matches!(ty, BigInt | Int | SmallInt | TinyInt | VarInt | Decimal | Double | Float)
}

/// A big-endian two's complement number of one, two, four or eight bytes.
pub(super) fn integer(bytes: &[u8]) -> i64 {
    match bytes {
        [a, b, c, d] => i32::from_be_bytes([*a, *b, *c, *d]).into(),
        [a, b] => i16::from_be_bytes([*a, *b]).into(),
        [a] => (*a as i8).into(),
        bytes => bytes.try_into().map(i64::from_be_bytes).unwrap_or_default(),
    }
}

pub(super) fn double(bytes: &[u8]) -> f64 {
    bytes.try_into().map(f64::from_be_bytes).unwrap_or_default()
}

pub(super) fn float(bytes: &[u8]) -> f32 {
    bytes.try_into().map(f32::from_be_bytes).unwrap_or_default()
}

/// `old + operand`, or `old - operand`: fixed widths wrap around, text is appended.
pub(crate) fn add(ty: &Type, old: &[u8], operand: &[u8], subtract: bool) -> Result<Vec<u8>, String> {
    let wrapped = || {
        let (old, operand) = (integer(old), integer(operand));
        if subtract { old.wrapping_sub(operand) } else { old.wrapping_add(operand) }
    };
    Ok(match ty {
        Type::BigInt => wrapped().to_be_bytes().to_vec(),
        Type::Int => (wrapped() as i32).to_be_bytes().to_vec(),
        Type::SmallInt => (wrapped() as i16).to_be_bytes().to_vec(),
        Type::TinyInt => (wrapped() as i8).to_be_bytes().to_vec(),
        Type::Double => {
            let (old, operand) = (double(old), double(operand));
            (if subtract { old - operand } else { old + operand }).to_be_bytes().to_vec()
        }
        Type::Float => {
            let (old, operand) = (float(old), float(operand));
            (if subtract { old - operand } else { old + operand }).to_be_bytes().to_vec()
        }
        Type::VarInt => {
            let (old, operand) = (BigInt::from_signed_bytes_be(old), BigInt::from_signed_bytes_be(operand));
            (if subtract { old - operand } else { old + operand }).to_signed_bytes_be()
        }
        Type::Decimal => add_decimals(old, operand, subtract)?,
        _ => [old, operand].concat(),
    })
}

/// Most digits that adding two decimals of different scale may produce.
const ALIGN_MAX: u32 = 10_000;

fn add_decimals(old: &[u8], operand: &[u8], subtract: bool) -> Result<Vec<u8>, String> {
    let ((one, scale), (other, other_scale)) = (decimal(old), decimal(operand));
    let wanted = scale.max(other_scale);
    let gap = |scale: i32| u32::try_from(i64::from(wanted) - i64::from(scale)).unwrap_or(u32::MAX);
    if gap(scale).max(gap(other_scale)) > ALIGN_MAX {
        return Err(format!("the two decimals lie more than {ALIGN_MAX} digits apart"));
    }
    let aligned = |value: BigInt, scale: i32| value * BigInt::from(10).pow(gap(scale));
    let (one, other) = (aligned(one, scale), aligned(other, other_scale));
    Ok(put_decimal(&(if subtract { one - other } else { one + other }), wanted))
}

/// Unscaled value and scale.
pub(super) fn decimal(bytes: &[u8]) -> (BigInt, i32) {
    let (scale, unscaled) = bytes.split_first_chunk().unwrap_or((&[0; 4], &[0]));
    (BigInt::from_signed_bytes_be(unscaled), i32::from_be_bytes(*scale))
}

pub(super) fn put_decimal(unscaled: &BigInt, scale: i32) -> Vec<u8> {
    let mut out = scale.to_be_bytes().to_vec();
    out.extend(unscaled.to_signed_bytes_be());
    out
}

/// A decimal by its sign, the exponent of its first digit, and its digits without zeros at either end.
pub(super) fn normal(bytes: &[u8]) -> (Ordering, i64, String) {
    let (unscaled, scale) = decimal(bytes);
    let sign = unscaled.sign();
    let digits = unscaled.magnitude().to_string();
    let exponent = digits.len() as i64 - i64::from(scale);
    let digits = digits.trim_end_matches('0').to_owned();
    match sign {
        num_bigint::Sign::Minus => (Ordering::Less, exponent, digits),
        num_bigint::Sign::NoSign => (Ordering::Equal, 0, String::new()),
        num_bigint::Sign::Plus => (Ordering::Greater, exponent, digits),
    }
}

/// Digits with perhaps a point and an exponent as a decimal.
pub(super) fn decimal_from(text: &str) -> Option<Vec<u8>> {
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().ok()?),
        None => (text, 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let scale = i32::try_from(fraction.len()).ok()?.checked_sub(exponent)?;
    Some(put_decimal(&varint_from(&format!("{whole}{fraction}"))?, scale))
}

/// Most digits of a number in a text.
const DIGITS_MAX: usize = 20_000;

pub(super) fn varint_from(digits: &str) -> Option<BigInt> {
    let value = digits.strip_prefix('-').unwrap_or(digits);
    let fits = !value.is_empty() && value.len() <= DIGITS_MAX && value.bytes().all(|byte| byte.is_ascii_digit());
    if fits { digits.parse().ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_wrap_and_text_is_appended() {
        let wrap = |ty, old: &[u8], operand: &[u8], subtract| add(&ty, old, operand, subtract).unwrap();
        assert_eq!(wrap(Type::Int, &i32::MAX.to_be_bytes(), &1i32.to_be_bytes(), false), i32::MIN.to_be_bytes());
        assert_eq!(wrap(Type::BigInt, &i64::MIN.to_be_bytes(), &1i64.to_be_bytes(), true), i64::MAX.to_be_bytes());
        assert_eq!(wrap(Type::TinyInt, &[127], &[1], false), [0x80]);
        assert_eq!(wrap(Type::Text, b"ab", b"c", false), b"abc");
        assert_eq!(wrap(Type::VarInt, &[0x7f], &[1], false), [0, 0x80]);
    }

    #[test]
    fn decimals_are_aligned_before_they_are_added() {
        let of = |text| decimal_from(text).unwrap();
        assert_eq!(add(&Type::Decimal, &of("1.35"), &of("0.5"), false), Ok(of("1.85")));
        assert_eq!(add(&Type::Decimal, &of("1"), &of("0.25"), true), Ok(of("0.75")));
        assert!(add(&Type::Decimal, &of("1e2000000000"), &of("1"), false).is_err());
        assert_eq!(normal(&of("1.50")), normal(&of("15e-1")));
    }
}
