//! Bytes of a value cut into what they are made of. Everything is checked: the bytes come from outside.

use client::ColumnType;

/// A part of a collection, tuple or user-defined type.
pub(crate) type Part<'a> = (&'a ColumnType, Option<&'a [u8]>);

/// The elements of a list or set, or keys and values of a map in turn; `None` if the bytes are no such value.
pub(crate) fn elements<'a>(kinds: &[&'a ColumnType], raw: &'a [u8]) -> Option<Vec<Part<'a>>> {
    let (count, mut rest) = raw.split_first_chunk::<4>()?;
    let count = usize::try_from(i32::from_be_bytes(*count)).ok()?.checked_mul(kinds.len())?;
    // each part has four bytes of length at least
    if count > rest.len() / 4 {
        return None;
    }
    let mut found = Vec::with_capacity(count);
    for kind in kinds.iter().cycle().take(count) {
        found.push((*kind, part(&mut rest)?));
    }
    rest.is_empty().then_some(found)
}

/// The components of a tuple or user-defined type; those the value does not have are null.
pub(crate) fn components<'a>(kinds: impl Iterator<Item = &'a ColumnType>, mut raw: &'a [u8]) -> Option<Vec<Part<'a>>> {
    let mut found = Vec::new();
    for kind in kinds {
        let component = if raw.is_empty() { None } else { part(&mut raw)? };
        found.push((kind, component));
    }
    raw.is_empty().then_some(found)
}

/// Cuts a length and as many bytes off; the inner `None` is null.
fn part<'a>(raw: &mut &'a [u8]) -> Option<Option<&'a [u8]>> {
    let (length, rest) = raw.split_first_chunk::<4>()?;
    let Ok(length) = usize::try_from(i32::from_be_bytes(*length)) else {
        *raw = rest;
        return Some(None);
    };
    let (part, rest) = rest.split_at_checked(length)?;
    *raw = rest;
    Some(Some(part))
}

/// Months, days and nanoseconds of a duration.
pub(crate) fn duration(mut raw: &[u8]) -> Option<(i64, i64, i64)> {
    let found = (signed_vint(&mut raw)?, signed_vint(&mut raw)?, signed_vint(&mut raw)?);
    raw.is_empty().then_some(found)
}

/// A number of one to nine bytes: the leading ones of the first tell how many follow, zigzag keeps small negatives short.
fn signed_vint(raw: &mut &[u8]) -> Option<i64> {
    let (first, rest) = raw.split_first()?;
    let extra = first.leading_ones() as usize;
    let (more, rest) = rest.split_at_checked(extra)?;
    *raw = rest;
    let own = u64::from(*first) & 0xff_u64.checked_shr(extra as u32 + 1).unwrap_or(0);
    let zigzag = more.iter().fold(own, |number, byte| number << 8 | u64::from(*byte));
    Some((zigzag >> 1) as i64 ^ -((zigzag & 1) as i64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn map_is_keys_and_values_in_turn() {
        let raw = [0, 0, 0, 1, 0, 0, 0, 1, 7, 255, 255, 255, 255];
        let kinds = [&ColumnType::Tinyint, &ColumnType::Text];
        assert_eq!(elements(&kinds, &raw), Some(vec![(kinds[0], Some(&raw[8..9])), (kinds[1], None)]));
        assert_eq!(elements(&kinds, &raw[..9]), None);
        assert_eq!(elements(&kinds, &[0x7f, 255, 255, 255]), None);
    }

    #[test]
    fn short_tuple_ends_in_nulls() {
        let kinds = [ColumnType::Tinyint, ColumnType::Text];
        let raw = [0, 0, 0, 1, 7];
        assert_eq!(components(kinds.iter(), &raw), Some(vec![(&kinds[0], Some(&raw[4..])), (&kinds[1], None)]));
        assert_eq!(components(kinds[..1].iter(), &[0; 9]), None);
    }

    #[test]
    fn durations_are_three_signed_numbers() {
        assert_eq!(duration(&[0x02, 0x04, 0x06]), Some((1, 2, 3)));
        assert_eq!(duration(&[0x01, 0x03, 0x82, 0x00]), Some((-1, -2, 256)));
        let longest = [[0, 0].as_slice(), &[255; 9]].concat();
        assert_eq!(duration(&longest), Some((0, 0, i64::MIN)));
        assert_eq!(duration(&[0, 0]), None);
        assert_eq!(duration(&[0, 0, 0, 0]), None);
    }

    proptest! {
        #[test]
        fn law_no_bytes_panic(raw: Vec<u8>) {
            let kinds = [ColumnType::Int, ColumnType::Text];
            elements(&[&kinds[0], &kinds[1]], &raw);
            components(kinds.iter(), &raw);
            duration(&raw);
        }
    }
}
