//! Values as the protocol carries them: bytes or null, with helpers for the types the drivers of this house use.

use crate::error::Error;

/// A bound or returned value; `None` is null.
pub type Value = Option<Vec<u8>>;

/// Encodes a bigint.
pub fn bigint(value: i64) -> Value {
    Some(value.to_be_bytes().to_vec())
}

/// Encodes an int.
pub fn int(value: i32) -> Value {
    Some(value.to_be_bytes().to_vec())
}

/// Encodes a text.
pub fn text(value: &str) -> Value {
    Some(value.as_bytes().to_vec())
}

/// Encodes a boolean.
pub fn boolean(value: bool) -> Value {
    Some(vec![u8::from(value)])
}

/// Encodes a blob.
pub fn bytes(value: &[u8]) -> Value {
    Some(value.to_vec())
}

/// Decodes a bigint.
///
/// *Errors*: [`Error::Value`] unless it is eight bytes long.
pub fn decode_bigint(raw: &[u8]) -> Result<i64, Error> {
    fixed(raw, "bigint").map(i64::from_be_bytes)
}

/// Decodes an int.
///
/// *Errors*: [`Error::Value`] unless it is four bytes long.
pub fn decode_int(raw: &[u8]) -> Result<i32, Error> {
    fixed(raw, "int").map(i32::from_be_bytes)
}

/// Decodes a boolean; any byte but zero is true.
///
/// *Errors*: [`Error::Value`] unless it is one byte long.
pub fn decode_boolean(raw: &[u8]) -> Result<bool, Error> {
    fixed::<1>(raw, "boolean").map(|[byte]| byte != 0)
}

/// Decodes a text.
///
/// *Errors*: [`Error::Value`] unless it is UTF-8.
pub fn decode_text(raw: &[u8]) -> Result<&str, Error> {
    std::str::from_utf8(raw).map_err(|_| Error::Value { wanted: "text", length: raw.len() })
}

fn fixed<const N: usize>(raw: &[u8], wanted: &'static str) -> Result<[u8; N], Error> {
    raw.try_into().map_err(|_| Error::Value { wanted, length: raw.len() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_bigint_is_eight_bytes_big_endian() {
        assert_eq!(bigint(-2), Some(vec![255, 255, 255, 255, 255, 255, 255, 254]));
    }

    #[test]
    fn a_wrong_length_is_no_number() {
        assert!(decode_bigint(&[0; 4]).is_err());
        assert!(decode_int(&[]).is_err());
        assert!(decode_boolean(&[]).is_err());
        assert!(decode_text(&[0xc3]).is_err());
    }

    proptest! {
        #[test]
        fn law_values_survive_a_round_trip(long: i64, short: i32, flag: bool, string: String) {
            prop_assert_eq!(decode_bigint(&bigint(long).unwrap()).unwrap(), long);
            prop_assert_eq!(decode_int(&int(short).unwrap()).unwrap(), short);
            prop_assert_eq!(decode_boolean(&boolean(flag).unwrap()).unwrap(), flag);
            let encoded = text(&string).unwrap();
            prop_assert_eq!(decode_text(&encoded).unwrap(), string.as_str());
        }
    }
}
