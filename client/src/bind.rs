//! Bound values of a request in the protocol's full choice: null, unset, and values by marker name.

use crate::error::Error;
use crate::value::Value;
use crate::wire;

/// Length that stands for "leave the column as it is".
const UNSET: i32 = -2;

/// One bound value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Bind {
    Null,
    /// Leaves the column as it is; the server refuses it where that makes no sense.
    Unset,
    Bytes(Vec<u8>),
}

impl From<Value> for Bind {
    fn from(value: Value) -> Self {
        value.map_or(Self::Null, Self::Bytes)
    }
}

/// The values of a request.
#[derive(Clone, Copy, Debug)]
pub enum Binds<'a> {
    /// One per `?`, in text order, none of them unset.
    Values(&'a [Value]),
    /// One per `?`, in text order.
    InOrder(&'a [Bind]),
    /// For `:name` markers, in any order.
    ByName(&'a [(String, Bind)]),
}

impl Binds<'_> {
    /// Number of values.
    pub fn len(&self) -> usize {
        match self {
            Self::Values(values) => values.len(),
            Self::InOrder(values) => values.len(),
            Self::ByName(values) => values.len(),
        }
    }

    /// Whether there is no value.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(crate) fn is_named(&self) -> bool {
        matches!(self, Self::ByName(_)) && !self.is_empty()
    }

    /// Appends the count and the values, each after its name if it has one.
    pub(crate) fn encode(&self, out: &mut Vec<u8>) -> Result<(), Error> {
        out.extend_from_slice(&wire::short_length(self.len(), "bound values")?.to_be_bytes());
        match self {
            Self::Values(values) => values.iter().try_for_each(|value| wire::put_value(out, value.as_deref())),
            Self::InOrder(values) => values.iter().try_for_each(|value| value.encode(out)),
            Self::ByName(values) => values.iter().try_for_each(|(name, value)| {
                wire::put_string(out, name)?;
                value.encode(out)
            }),
        }
    }
}

impl Bind {
    fn encode(&self, out: &mut Vec<u8>) -> Result<(), Error> {
        match self {
            Self::Null => wire::put_value(out, None),
            Self::Bytes(bytes) => wire::put_value(out, Some(bytes)),
            Self::Unset => {
                out.extend_from_slice(&UNSET.to_be_bytes());
                Ok(())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unset_is_length_minus_two_and_null_minus_one() {
        let mut out = Vec::new();
        Binds::InOrder(&[Bind::Unset, Bind::Null, Bind::Bytes(vec![7])]).encode(&mut out).expect("short");
        assert_eq!(out, [0, 3, 255, 255, 255, 254, 255, 255, 255, 255, 0, 0, 0, 1, 7]);
    }

    #[test]
    fn a_named_value_follows_its_name() {
        let mut out = Vec::new();
        let binds = [("n".to_owned(), Bind::from(Some(vec![7])))];
        Binds::ByName(&binds).encode(&mut out).expect("short");
        assert_eq!(out, [0, 1, 0, 1, b'n', 0, 0, 0, 1, 7]);
        assert!(!Binds::ByName(&[]).is_named());
    }
}
