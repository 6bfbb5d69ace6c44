//! Types and values: names, wire forms, order, arithmetic, and the bytes under which clustering keys are sorted.
//!
//! *Source*: [CQL 2, types].

use crate::encoding::Reader;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::cmp::Ordering;

/// The type of a column.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Type {
    /// Signed, 8 bytes big-endian.
    BigInt,
    /// Signed, 4 bytes big-endian.
    Int,
    /// UTF-8.
    Text,
    /// One byte, zero or not.
    Boolean,
}

impl Type {
    /// The type called `name`, lower case, in a statement.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "bigint" => Some(Self::BigInt),
            "int" => Some(Self::Int),
            "text" | "varchar" => Some(Self::Text),
            "boolean" => Some(Self::Boolean),
            _ => None,
        }
    }

    /// How CQL and the schema tables write it.
    pub fn cql_name(self) -> &'static str {
        match self {
            Self::BigInt => "bigint",
            Self::Int => "int",
            Self::Text => "text",
            Self::Boolean => "boolean",
        }
    }

    /// Its option id in the native protocol.
    pub fn option_id(self) -> u16 {
        match self {
            Self::BigInt => 0x2,
            Self::Boolean => 0x4,
            Self::Int => 0x9,
            Self::Text => 0xd,
        }
    }

    pub(crate) fn from_option_id(id: u8) -> Option<Self> {
        [Self::BigInt, Self::Boolean, Self::Int, Self::Text].into_iter().find(|ty| ty.option_id() == u16::from(id))
    }

    /// Whether `bytes` are a value of this type; the error says why not.
    pub fn check(self, bytes: &[u8]) -> Result<(), String> {
        let width = match self {
            Self::BigInt => 8,
            Self::Int => 4,
            Self::Boolean => 1,
            Self::Text if std::str::from_utf8(bytes).is_ok() => return Ok(()),
            Self::Text => return Err("text must be valid UTF-8".to_owned()),
        };
        if bytes.len() == width {
            return Ok(());
        }
        Err(format!("a value of type {} has {width} bytes, not {}", self.cql_name(), bytes.len()))
    }

    /// Whether `+=` and `-=` count on it.
    pub(crate) fn is_number(self) -> bool {
        matches!(self, Self::BigInt | Self::Int)
    }

    /// The order of two valid values.
    pub fn compare(self, left: &[u8], right: &[u8]) -> Ordering {
        match self {
            Self::BigInt | Self::Int => integer(left).cmp(&integer(right)),
            Self::Boolean => left.iter().any(|b| *b != 0).cmp(&right.iter().any(|b| *b != 0)),
            Self::Text => left.cmp(right),
        }
    }

    /// `old + operand`, or `old - operand`; numbers wrap around, text is appended.
    pub(crate) fn add(self, old: &[u8], operand: &[u8], subtract: bool) -> Vec<u8> {
        if self == Self::Text {
            return [old, operand].concat();
        }
        let (old, operand) = (integer(old), integer(operand));
        let sum = if subtract { old.wrapping_sub(operand) } else { old.wrapping_add(operand) };
        if self == Self::Int { (sum as i32).to_be_bytes().to_vec() } else { sum.to_be_bytes().to_vec() }
    }

    /// Appends the bytes that sort as `value` does, or the other way round if `descending`.
    ///
    /// No value's bytes are the beginning of another's, so keys of several components compare as one byte string.
    pub(crate) fn put_ordered(self, out: &mut Vec<u8>, value: &[u8], descending: bool) {
        let start = out.len();
        match self {
            Self::BigInt | Self::Int => {
                out.extend_from_slice(value);
                if let Some(sign) = out.get_mut(start) {
                    *sign ^= 0x80;
                }
            }
            Self::Boolean => out.push(u8::from(value.iter().any(|b| *b != 0))),
            Self::Text => {
                for piece in value.split_inclusive(|byte| *byte == 0) {
                    out.extend_from_slice(piece);
                    if piece.ends_with(&[0]) {
                        out.push(0xff);
                    }
                }
                out.extend_from_slice(&[0, 0]);
            }
        }
        if descending {
            out[start..].iter_mut().for_each(|byte| *byte = !*byte);
        }
    }

    /// Takes back a value written by [`Self::put_ordered`].
    pub(crate) fn take_ordered(self, from: &mut Reader<'_>, descending: bool) -> Option<Vec<u8>> {
        let flip = if descending { 0xff } else { 0 };
        match self {
            Self::BigInt | Self::Int => {
                let mut value = from.take(if self == Self::Int { 4 } else { 8 })?.to_vec();
                value.iter_mut().for_each(|byte| *byte ^= flip);
                value[0] ^= 0x80;
                Some(value)
            }
            Self::Boolean => Some(vec![from.u8()? ^ flip]).filter(|value| value[0] <= 1),
            Self::Text => take_text(from, flip),
        }
    }
}

fn take_text(from: &mut Reader<'_>, flip: u8) -> Option<Vec<u8>> {
    let mut value = Vec::new();
    loop {
        let run = from.0.iter().position(|byte| byte ^ flip == 0)?;
        value.extend(from.take(run)?.iter().map(|byte| byte ^ flip));
        from.u8()?;
        match from.u8()? ^ flip {
            0 => return Some(value),
            0xff => value.push(0),
            _ => return None,
        }
    }
}

/// A big-endian two's complement number of up to eight bytes.
fn integer(bytes: &[u8]) -> i64 {
    match bytes {
        [a, b, c, d] => i32::from_be_bytes([*a, *b, *c, *d]).into(),
        bytes => bytes.try_into().map(i64::from_be_bytes).unwrap_or_default(),
    }
}

/// One component of a serialized partition key; `count` is how many there are.
///
/// A single column is its value; several are length (2 bytes), value, zero byte each, as they are hashed for the token.
pub(crate) fn partition_component(partition: &[u8], position: usize, count: usize) -> Option<Cow<'_, [u8]>> {
    if count == 1 {
        return Some(Cow::Borrowed(partition));
    }
    let mut reader = Reader(partition);
    for _ in 0..position {
        let length = reader.u16()?;
        reader.take(usize::from(length) + 1)?;
    }
    let length = reader.u16()?;
    reader.take(usize::from(length)).map(Cow::Borrowed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn a_value() -> impl Strategy<Value = (Type, Vec<u8>, Vec<u8>)> {
        prop_oneof![
            any::<(i64, i64)>().prop_map(|(a, b)| (Type::BigInt, a.to_be_bytes().to_vec(), b.to_be_bytes().to_vec())),
            any::<(i32, i32)>().prop_map(|(a, b)| (Type::Int, a.to_be_bytes().to_vec(), b.to_be_bytes().to_vec())),
            any::<(bool, bool)>().prop_map(|(a, b)| (Type::Boolean, vec![a.into()], vec![b.into()])),
            ("[\0\u{1}ab\u{ff}]{0,6}", "[\0\u{1}ab\u{ff}]{0,6}").prop_map(|(a, b)| (
                Type::Text,
                a.into_bytes(),
                b.into_bytes()
            )),
        ]
    }

    proptest! {
        #[test]
        fn law_ordered_bytes_sort_as_the_values_and_come_back((ty, left, right) in a_value(), descending: bool) {
            let (mut l, mut r) = (Vec::new(), Vec::new());
            ty.put_ordered(&mut l, &left, descending);
            ty.put_ordered(&mut r, &right, descending);
            let order = ty.compare(&left, &right);
            prop_assert_eq!(l.cmp(&r), if descending { order.reverse() } else { order });
            let mut reader = Reader(&l);
            prop_assert_eq!(ty.take_ordered(&mut reader, descending), Some(left));
            prop_assert!(reader.is_empty());
            prop_assert!(l == r || !r.starts_with(&l));
        }
    }

    #[test]
    fn numbers_wrap_and_text_is_appended() {
        assert_eq!(Type::Int.add(&i32::MAX.to_be_bytes(), &1i32.to_be_bytes(), false), i32::MIN.to_be_bytes());
        assert_eq!(Type::BigInt.add(&i64::MIN.to_be_bytes(), &1i64.to_be_bytes(), true), i64::MAX.to_be_bytes());
        assert_eq!(Type::Text.add(b"ab", b"c", false), b"abc");
    }

    #[test]
    fn widths_and_utf8_are_checked() {
        assert!(Type::BigInt.check(&[0; 8]).is_ok() && Type::BigInt.check(&[]).is_err());
        assert!(Type::Int.check(&[0; 8]).is_err() && Type::Text.check(&[0xff]).is_err());
    }

    #[test]
    fn components_of_a_composite_key_are_found() {
        let key = [0, 4, 0, 0, 0, 1, 0, 0, 1, b'x', 0];
        assert_eq!(partition_component(&key, 0, 2).as_deref(), Some(&[0, 0, 0, 1][..]));
        assert_eq!(partition_component(&key, 1, 2).as_deref(), Some(&b"x"[..]));
        assert_eq!(partition_component(&key, 2, 3), None);
    }
}
