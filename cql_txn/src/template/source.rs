//! Where values come from, and what they are once the markers are bound.

use crate::error::{At, Error};
use crate::value::{Type, composite};
use std::borrow::Cow;

/// A bound value, as the native protocol knows them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Value<'a> {
    /// Null.
    Null,
    /// Unset: the column is left alone.
    NotSet,
    /// The serialized value.
    Bytes(&'a [u8]),
}

/// Where a value comes from.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Source {
    Null,
    Bytes(Vec<u8>),
    Marker {
        index: u16,
        ty: Type,
    },
    /// A collection, tuple or user type with markers in it.
    Composite {
        ty: Type,
        parts: Vec<Self>,
    },
}

/// A value of the key, or several by IN, with the name of its column for errors.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct KeyPart {
    /// What it may be, at least one.
    pub(crate) sources: Vec<Source>,
    pub(crate) ty: Type,
    pub(crate) descending: bool,
    pub(crate) name: String,
    pub(crate) at: At,
}

/// A value that is known.
pub(super) enum Filled<'v> {
    Null,
    NotSet,
    Bytes(Cow<'v, [u8]>),
}

/// Longest key or clustering component. *Units*: bytes.
pub(super) const KEY_MAX: usize = 65_535;

impl Source {
    pub(super) fn value<'v>(&'v self, values: &[Value<'v>], at: At) -> Result<Filled<'v>, Error> {
        match self {
            Self::Null => Ok(Filled::Null),
            Self::Bytes(bytes) => Ok(Filled::Bytes(Cow::Borrowed(bytes))),
            Self::Marker { index, ty } => match values.get(usize::from(*index)).copied().unwrap_or(Value::NotSet) {
                Value::Null => Ok(Filled::Null),
                Value::NotSet => Ok(Filled::NotSet),
                Value::Bytes(bytes) => {
                    let place = usize::from(*index) + 1;
                    let value = ty.canonical(bytes);
                    value.map(Filled::Bytes).map_err(|why| Error::invalid(at, format!("bound value {place}: {why}")))
                }
            },
            Self::Composite { ty, parts } => {
                let mut filled = Vec::with_capacity(parts.len());
                for part in parts {
                    filled.push(match part.value(values, at)? {
                        Filled::Bytes(bytes) => Some(bytes),
                        Filled::Null => None,
                        Filled::NotSet => return Err(Error::invalid(at, "a part of a value may not be unset")),
                    });
                }
                let value = composite(ty, filled).map_err(|why| Error::invalid(at, why))?;
                Ok(Filled::Bytes(Cow::Owned(value)))
            }
        }
    }
}

impl KeyPart {
    pub(super) fn value<'v>(&'v self, source: &'v Source, values: &[Value<'v>]) -> Result<Cow<'v, [u8]>, Error> {
        match source.value(values, self.at)? {
            Filled::Bytes(bytes) if bytes.len() <= KEY_MAX => Ok(bytes),
            Filled::Bytes(_) => {
                let message = format!("the value of key column {} has more than {KEY_MAX} bytes", self.name);
                Err(Error::invalid(self.at, message))
            }
            Filled::Null => Err(Error::invalid(self.at, format!("key column {} may not be null", self.name))),
            Filled::NotSet => Err(Error::invalid(self.at, format!("key column {} may not be unset", self.name))),
        }
    }
}
