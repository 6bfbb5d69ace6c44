//! The order of values, and bytes that sort as they do.

use super::collection::{build, build_components, components, entries};
use super::number::{decimal, double, float, integer, normal};
use super::{Type, parts};
use crate::encoding::Reader;
use num_bigint::BigInt;
use std::cmp::Ordering;

impl Type {
    /// The order of two valid values.
    pub fn compare(&self, left: &[u8], right: &[u8]) -> Ordering {
        match self.thawed() {
            Self::BigInt
            | Self::Int
            | Self::SmallInt
            | Self::TinyInt
            | Self::Timestamp
            | Self::Time
            | Self::Counter => integer(left).cmp(&integer(right)),
            Self::Boolean => left.iter().any(|b| *b != 0).cmp(&right.iter().any(|b| *b != 0)),
            Self::Double => double(left).total_cmp(&double(right)),
            Self::Float => float(left).total_cmp(&float(right)),
            Self::VarInt => BigInt::from_signed_bytes_be(left).cmp(&BigInt::from_signed_bytes_be(right)),
            Self::Decimal => compare_decimals(left, right),
            Self::Uuid | Self::TimeUuid => uuid_rank(left).cmp(&uuid_rank(right)).then_with(|| left.cmp(right)),
            Self::List(of) | Self::Set(of) => compare_each(&[of], 1, left, right),
            Self::Map(of) => compare_each(&[&of.0, &of.1], 2, left, right),
            Self::Tuple(_) | Self::User(_) => self.compare_components(left, right),
            _ => left.cmp(right),
        }
    }

    fn compare_components(&self, left: &[u8], right: &[u8]) -> Ordering {
        let types = parts(self);
        let (left, right) = (components(left, types.len()), components(right, types.len()));
        let (left, right) = (left.unwrap_or_default(), right.unwrap_or_default());
        let each = types.iter().zip(left.iter().zip(&right)).map(|(ty, pair)| match pair {
            (Some(left), Some(right)) => ty.compare(left, right),
            (left, right) => left.is_some().cmp(&right.is_some()),
        });
        each.fold(Ordering::Equal, Ordering::then)
    }

    /// Appends the bytes that sort as `value` does, or the other way round if `descending`.
    ///
    /// No value's bytes are the beginning of another's, so keys of several components compare as one byte string.
    pub(crate) fn put_ordered(&self, out: &mut Vec<u8>, value: &[u8], descending: bool) {
        let start = out.len();
        self.put_ascending(out, value);
        if descending {
            out[start..].iter_mut().for_each(|byte| *byte = !*byte);
        }
    }

    fn put_ascending(&self, out: &mut Vec<u8>, value: &[u8]) {
        let start = out.len();
        match self.thawed() {
            Self::BigInt
            | Self::Int
            | Self::SmallInt
            | Self::TinyInt
            | Self::Timestamp
            | Self::Time
            | Self::Counter => {
                out.extend_from_slice(value);
                if let Some(sign) = out.get_mut(start) {
                    *sign ^= 0x80;
                }
            }
            Self::Boolean => out.push(u8::from(value.iter().any(|b| *b != 0))),
            Self::Date => out.extend_from_slice(value),
            Self::Double | Self::Float => {
                let flip = if value.first().is_some_and(|sign| *sign >= 0x80) { 0xff } else { 0 };
                out.extend(value.iter().map(|byte| byte ^ flip));
                if let Some(sign) = out.get_mut(start) {
                    *sign ^= if flip == 0 { 0x80 } else { 0 };
                }
            }
            Self::VarInt => put_varint(out, value),
            Self::Decimal => put_decimal(out, value),
            Self::Uuid | Self::TimeUuid => {
                out.extend_from_slice(&uuid_rank(value).to_be_bytes());
                out.extend_from_slice(value);
            }
            Self::List(of) | Self::Set(of) => put_items(out, &[of], value),
            Self::Map(of) => put_items(out, &[&of.0, &of.1], value),
            Self::Tuple(_) | Self::User(_) => {
                let types = parts(self);
                for (ty, value) in types.iter().zip(components(value, types.len()).unwrap_or_default()) {
                    out.push(u8::from(value.is_some()));
                    value.into_iter().for_each(|value| ty.put_ascending(out, value));
                }
            }
            _ => put_bytes(out, value),
        }
    }

    /// Takes back a value written by [`Self::put_ordered`].
    ///
    /// A decimal comes back without zeros at its end.
    pub(crate) fn take_ordered(&self, from: &mut Reader<'_>, descending: bool) -> Option<Vec<u8>> {
        self.take(from, if descending { 0xff } else { 0 })
    }

    fn take(&self, from: &mut Reader<'_>, flip: u8) -> Option<Vec<u8>> {
        match self.thawed() {
            Self::BigInt | Self::Timestamp | Self::Time | Self::Counter => take_integer::<8>(from, flip),
            Self::Int => take_integer::<4>(from, flip),
            Self::SmallInt => take_integer::<2>(from, flip),
            Self::TinyInt => take_integer::<1>(from, flip),
            Self::Boolean => Some(vec![from.u8()? ^ flip]).filter(|value| value[0] <= 1),
            Self::Date => flipped(from, 4, flip),
            Self::Double => take_float(from, 8, flip),
            Self::Float => take_float(from, 4, flip),
            Self::VarInt => take_varint(from, flip),
            Self::Decimal => take_decimal(from, flip),
            Self::Uuid | Self::TimeUuid => {
                from.take(9)?;
                flipped(from, 16, flip)
            }
            Self::List(of) | Self::Set(of) => take_items(from, &[of], flip),
            Self::Map(of) => take_items(from, &[&of.0, &of.1], flip),
            Self::Tuple(_) | Self::User(_) => {
                let mut values = Vec::new();
                for ty in parts(self) {
                    values.push(if from.u8()? ^ flip == 0 { None } else { Some(ty.take(from, flip)?) });
                }
                Some(build_components(&values))
            }
            _ => take_bytes(from, flip),
        }
    }
}

fn compare_each(types: &[&Type], width: usize, left: &[u8], right: &[u8]) -> Ordering {
    let (left, right) = (entries(left, width).unwrap_or_default(), entries(right, width).unwrap_or_default());
    let each = left.iter().zip(&right).enumerate().map(|(at, (left, right))| types[at % width].compare(left, right));
    each.fold(Ordering::Equal, Ordering::then).then(left.len().cmp(&right.len()))
}

fn compare_decimals(left: &[u8], right: &[u8]) -> Ordering {
    let ((sign, exponent, digits), (other, other_exponent, other_digits)) = (normal(left), normal(right));
    let size = exponent.cmp(&other_exponent).then_with(|| digits.cmp(&other_digits));
    sign.cmp(&other).then(if sign == Ordering::Less { size.reverse() } else { size })
}

/// Version in the top byte; below it, for version 1, the time.
///
/// Nine bytes would do; a u128 keeps this readable and only nine of them are written.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct UuidRank(u8, u64);

impl UuidRank {
    fn to_be_bytes(&self) -> [u8; 9] {
        let mut out = [self.0; 9];
        out[1..].copy_from_slice(&self.1.to_be_bytes());
        out
    }
}

fn uuid_rank(value: &[u8]) -> UuidRank {
    let Ok(bytes) = <[u8; 16]>::try_from(value) else { return UuidRank(0, 0) };
    let version = bytes[6] >> 4;
    let [a, b, c, d, e, f, g, h, ..] = bytes;
    UuidRank(version, if version == 1 { u64::from_be_bytes([g & 0x0f, h, e, f, a, b, c, d]) } else { 0 })
}

fn put_bytes(out: &mut Vec<u8>, value: &[u8]) {
    for piece in value.split_inclusive(|byte| *byte == 0) {
        out.extend_from_slice(piece);
        if piece.ends_with(&[0]) {
            out.push(0xff);
        }
    }
    out.extend_from_slice(&[0, 0]);
}

fn take_bytes(from: &mut Reader<'_>, flip: u8) -> Option<Vec<u8>> {
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

fn flipped(from: &mut Reader<'_>, count: usize, flip: u8) -> Option<Vec<u8>> {
    Some(from.take(count)?.iter().map(|byte| byte ^ flip).collect())
}

fn take_integer<const N: usize>(from: &mut Reader<'_>, flip: u8) -> Option<Vec<u8>> {
    let mut value = flipped(from, N, flip)?;
    value[0] ^= 0x80;
    Some(value)
}

fn take_float(from: &mut Reader<'_>, width: usize, flip: u8) -> Option<Vec<u8>> {
    let mut value = flipped(from, width, flip)?;
    if value[0] >= 0x80 {
        value[0] ^= 0x80;
    } else {
        value.iter_mut().for_each(|byte| *byte = !*byte);
    }
    Some(value)
}

/// The length first, counted downwards for what is below zero; then the bytes.
fn put_varint(out: &mut Vec<u8>, value: &[u8]) {
    let length = value.len() as u32;
    let is_negative = value.first().is_some_and(|sign| *sign >= 0x80);
    let rank = if is_negative { (1 << 31) - 1 - length } else { (1 << 31) + length };
    out.extend_from_slice(&rank.to_be_bytes());
    out.extend_from_slice(value);
}

fn take_varint(from: &mut Reader<'_>, flip: u8) -> Option<Vec<u8>> {
    let rank = u32::from_be_bytes(flipped(from, 4, flip)?.try_into().ok()?);
    let length = rank.checked_sub(1 << 31).unwrap_or_else(|| (1 << 31) - 1 - rank);
    flipped(from, length as usize, flip)
}

/// Sign, exponent of the first digit, digits, an end; all but the sign turned round below zero.
fn put_decimal(out: &mut Vec<u8>, value: &[u8]) {
    let (sign, exponent, digits) = normal(value);
    out.push((sign as i8 + 1) as u8);
    if sign == Ordering::Equal {
        return;
    }
    let start = out.len();
    out.extend_from_slice(&(exponent as u64 ^ 1 << 63).to_be_bytes());
    out.extend_from_slice(digits.as_bytes());
    out.push(0);
    if sign == Ordering::Less {
        out[start..].iter_mut().for_each(|byte| *byte = !*byte);
    }
}

fn take_decimal(from: &mut Reader<'_>, flip: u8) -> Option<Vec<u8>> {
    let sign = from.u8()? ^ flip;
    let flip = match sign {
        0 => !flip,
        1 => return Some(super::number::put_decimal(&BigInt::from(0), 0)),
        2 => flip,
        _ => return None,
    };
    let exponent = u64::from_be_bytes(flipped(from, 8, flip)?.try_into().ok()?) ^ 1 << 63;
    let length = from.0.iter().position(|byte| byte ^ flip == 0)?;
    let digits = String::from_utf8(flipped(from, length, flip)?).ok()?;
    from.u8()?;
    let scale = i32::try_from(i64::try_from(digits.len()).ok()?.checked_sub(exponent as i64)?).ok()?;
    let unscaled = super::number::varint_from(&digits)?;
    let value = super::number::put_decimal(&if sign == 0 { -unscaled } else { unscaled }, scale);
    Some(value).filter(|value| decimal(value).1 == scale)
}

fn put_items(out: &mut Vec<u8>, types: &[&Type], value: &[u8]) {
    for (at, item) in entries(value, types.len()).unwrap_or_default().iter().enumerate() {
        out.push(1);
        types[at % types.len()].put_ascending(out, item);
    }
    out.push(0);
}

fn take_items(from: &mut Reader<'_>, types: &[&Type], flip: u8) -> Option<Vec<u8>> {
    let mut items = Vec::new();
    while from.u8()? ^ flip != 0 {
        items.push(types[items.len() % types.len()].take(from, flip)?);
    }
    (items.len() % types.len() == 0).then(|| build(&items, types.len()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn pair(
        ty: Type,
        value: impl Strategy<Value = Vec<u8>> + Clone + 'static,
    ) -> BoxedStrategy<(Type, Vec<u8>, Vec<u8>)> {
        (value.clone(), value).prop_map(move |(a, b)| (ty.clone(), a, b)).boxed()
    }

    fn bytes(lengths: std::ops::Range<usize>) -> impl Strategy<Value = Vec<u8>> + Clone {
        prop::collection::vec(prop_oneof![Just(0u8), Just(0xff), any::<u8>()], lengths)
    }

    fn a_decimal() -> impl Strategy<Value = Vec<u8>> + Clone {
        (-200i64..200, -3i32..3).prop_map(|(unscaled, scale)| {
            let mut unscaled = unscaled;
            let mut scale = scale;
            while unscaled != 0 && unscaled % 10 == 0 {
                (unscaled, scale) = (unscaled / 10, scale - 1);
            }
            super::super::number::put_decimal(&unscaled.into(), if unscaled == 0 { 0 } else { scale })
        })
    }

    fn a_value() -> impl Strategy<Value = (Type, Vec<u8>, Vec<u8>)> {
        let text = "[\0\u{1}ab\u{ff}]{0,6}".prop_map(String::into_bytes);
        let of = |ty: Type, width: usize| pair(ty, bytes(width..width + 1));
        let ints = prop::collection::vec(bytes(1..2), 0..3);
        let list = ints.prop_map(|items| build(&items, 1));
        let tuple = (prop::option::of(bytes(1..2)), prop::option::of(Just(vec![1u8])))
            .prop_map(|(a, b)| build_components(&[a, b]));
        prop_oneof![
            of(Type::BigInt, 8),
            of(Type::Int, 4),
            of(Type::SmallInt, 2),
            of(Type::TinyInt, 1),
            of(Type::Date, 4),
            of(Type::Double, 8),
            of(Type::Float, 4),
            of(Type::Uuid, 16),
            of(Type::Inet, 4),
            pair(Type::Blob, bytes(0..5)),
            pair(Type::Text, text),
            pair(Type::Boolean, any::<bool>().prop_map(|b| vec![b.into()])),
            pair(Type::VarInt, any::<i32>().prop_map(|n| BigInt::from(n >> (n & 31)).to_signed_bytes_be())),
            pair(Type::Decimal, a_decimal()),
            pair(Type::Frozen(Box::new(Type::List(Box::new(Type::TinyInt)))), list),
            pair(Type::Tuple(vec![Type::TinyInt, Type::Boolean]), tuple),
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

        #[test]
        fn law_garbage_is_refused_quietly(noise: Vec<u8>, (ty, _, _) in a_value(), descending: bool) {
            let _ = ty.take_ordered(&mut Reader(&noise), descending);
            let _ = ty.canonical(&noise);
            let _ = ty.compare(&noise, &noise);
        }
    }
}
