//! The wire form of a value: is it one, and what is its one canonical form.

use super::collection::{self, entries};
use super::{Type, calendar};
use std::borrow::Cow;

impl Type {
    /// Whether `bytes` are a value of this type; the error says why not.
    pub fn check(&self, bytes: &[u8]) -> Result<(), String> {
        self.canonical(bytes).map(|_| ())
    }

    /// `bytes` in the one form under which equal values have equal bytes: sets and maps sorted, tuples complete.
    ///
    /// *Errors*: why `bytes` are no value of this type.
    pub fn canonical<'v>(&self, bytes: &'v [u8]) -> Result<Cow<'v, [u8]>, String> {
        match self.thawed() {
            Self::List(of) => {
                let items = entries(bytes, 1).ok_or_else(|| self.damaged())?;
                let items = items.iter().map(|item| of.canonical(item)).collect::<Result<Vec<_>, _>>()?;
                Ok(kept(bytes, collection::build(&items, 1)))
            }
            Self::Set(of) => {
                let items = entries(bytes, 1).ok_or_else(|| self.damaged())?;
                let items = items.iter().map(|item| of.canonical(item)).collect::<Result<Vec<_>, _>>()?;
                Ok(kept(bytes, collection::sorted_set(of, items)))
            }
            Self::Map(of) => {
                let items = entries(bytes, 2).ok_or_else(|| self.damaged())?;
                let mut pairs = Vec::with_capacity(items.len() / 2);
                for pair in items.as_chunks::<2>().0 {
                    pairs.push((of.0.canonical(pair[0])?, of.1.canonical(pair[1])?));
                }
                Ok(kept(bytes, collection::sorted_map(&of.0, pairs)))
            }
            Self::Tuple(of) => components(self, of.iter(), bytes),
            Self::User(of) => components(self, of.fields.iter().map(|(_, ty)| ty), bytes),
            scalar => scalar.check_scalar(bytes).map(|()| Cow::Borrowed(bytes)),
        }
    }

    fn check_scalar(&self, bytes: &[u8]) -> Result<(), String> {
        let width = match self {
            Self::BigInt | Self::Counter | Self::Double | Self::Timestamp | Self::Time => 8,
            Self::Int | Self::Float | Self::Date => 4,
            Self::SmallInt => 2,
            Self::Boolean | Self::TinyInt => 1,
            Self::Uuid | Self::TimeUuid => 16,
            Self::Text if std::str::from_utf8(bytes).is_ok() => return Ok(()),
            Self::Text => return Err("text must be valid UTF-8".to_owned()),
            Self::Ascii if bytes.is_ascii() => return Ok(()),
            Self::Ascii => return Err("ascii must have seven-bit characters only".to_owned()),
            Self::Inet if matches!(bytes.len(), 4 | 16) => return Ok(()),
            Self::Inet => return Err(format!("an inet has 4 or 16 bytes, not {}", bytes.len())),
            Self::VarInt | Self::Decimal if bytes.len() > NUMBER_MAX => {
                return Err(format!("a value of type {} has at most {NUMBER_MAX} bytes", self.cql_name()));
            }
            Self::VarInt if is_minimal(bytes) => return Ok(()),
            Self::Decimal if bytes.len() > 4 && is_minimal(&bytes[4..]) => return Ok(()),
            Self::VarInt | Self::Decimal => return Err(self.damaged()),
            _ => return Ok(()),
        };
        if bytes.len() != width {
            return Err(format!("a value of type {} has {width} bytes, not {}", self.cql_name(), bytes.len()));
        }
        match self {
            Self::Time if !calendar::is_time_of_day(bytes) => Err("a time lies between 0 and 24 hours".to_owned()),
            Self::TimeUuid if bytes[6] >> 4 != 1 => Err("a timeuuid must be of version 1".to_owned()),
            _ => Ok(()),
        }
    }

    fn damaged(&self) -> String {
        format!("these bytes are no value of type {}; elements may not be null", self.cql_name())
    }
}

/// Longest varint or decimal: counting with longer ones takes too long.
const NUMBER_MAX: usize = 8192;

/// `old` itself if `new` is the same.
fn kept(old: &[u8], new: Vec<u8>) -> Cow<'_, [u8]> {
    if *old == *new { Cow::Borrowed(old) } else { Cow::Owned(new) }
}

fn components<'v, 't>(
    ty: &Type,
    of: impl ExactSizeIterator<Item = &'t Type>,
    bytes: &'v [u8],
) -> Result<Cow<'v, [u8]>, String> {
    let count = of.len();
    let found = collection::components(bytes, count).ok_or_else(|| ty.damaged())?;
    let mut checked = Vec::with_capacity(count);
    for (ty, value) in of.zip(found) {
        checked.push(match value {
            Some(value) => Some(ty.canonical(value)?),
            None => None,
        });
    }
    Ok(kept(bytes, collection::build_components(&checked)))
}

/// Two's complement without a byte too many.
fn is_minimal(bytes: &[u8]) -> bool {
    match bytes {
        [] => false,
        [0, second, ..] => *second >= 0x80,
        [0xff, second, ..] => *second < 0x80,
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn widths_and_utf8_are_checked() {
        assert!(Type::BigInt.check(&[0; 8]).is_ok() && Type::BigInt.check(&[]).is_err());
        assert!(Type::Int.check(&[0; 8]).is_err() && Type::Text.check(&[0xff]).is_err());
        assert!(Type::TimeUuid.check(&[0; 16]).is_err() && Type::Time.check(&[0xff; 8]).is_err());
        assert!(Type::VarInt.check(&[0, 1]).is_err() && Type::VarInt.check(&[0, 0x80]).is_ok());
        assert!(Type::Ascii.check(&[0x80]).is_err() && Type::Inet.check(&[0; 5]).is_err());
    }

    #[test]
    fn a_set_is_sorted_and_each_element_kept_once() {
        let set = Type::Set(Box::new(Type::TinyInt));
        let bytes = [0, 0, 0, 3, 0, 0, 0, 1, 2, 0, 0, 0, 1, 0xff, 0, 0, 0, 1, 2];
        assert_eq!(*set.canonical(&bytes).unwrap(), [0, 0, 0, 2, 0, 0, 0, 1, 0xff, 0, 0, 0, 1, 2]);
        assert!(set.canonical(&bytes[..18]).is_err() && set.canonical(&[0, 0, 0, 1, 0xff, 0xff, 0xff, 0xff]).is_err());
        assert!(set.canonical(&[0x7f, 0xff, 0xff, 0xff]).is_err());
    }

    #[test]
    fn a_short_tuple_is_filled_with_nulls() {
        let tuple = Type::Tuple(vec![Type::TinyInt, Type::TinyInt]);
        assert_eq!(*tuple.canonical(&[0, 0, 0, 1, 5]).unwrap(), [0, 0, 0, 1, 5, 0xff, 0xff, 0xff, 0xff]);
    }
}
