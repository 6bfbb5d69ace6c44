//! Types and values: names, wire forms, order, arithmetic, and the bytes under which clustering keys are sorted.
//!
//! *Source*: [CQL 2, types].

mod calendar;
mod code;
mod collection;
mod form;
mod number;
mod order;
mod scalar;

pub(crate) use code::DEPTH_MAX;
pub(crate) use collection::{composite, element, field, parts};
pub(crate) use number::{add, is_number};
pub(crate) use scalar::{ScalarText, from_text};

use crate::encoding::Reader;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// The type of a column.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
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
    /// Seven-bit text.
    Ascii,
    /// Any bytes.
    Blob,
    /// A counter; no table of mode `full` has one.
    Counter,
    /// Days, unsigned, 2^31 is 1970-01-01.
    Date,
    /// Scale (4 bytes) and unscaled two's complement.
    Decimal,
    /// IEEE 754, 8 bytes.
    Double,
    /// IEEE 754, 4 bytes.
    Float,
    /// An address of 4 or 16 bytes.
    Inet,
    /// Signed, 2 bytes.
    SmallInt,
    /// Nanoseconds of a day, 8 bytes.
    Time,
    /// Milliseconds since 1970, signed, 8 bytes.
    Timestamp,
    /// A uuid of version 1.
    TimeUuid,
    /// Signed, 1 byte.
    TinyInt,
    /// 16 bytes.
    Uuid,
    /// Two's complement in as few bytes as possible.
    VarInt,
    /// Elements in the order given.
    List(Box<Self>),
    /// Elements sorted, each once.
    Set(Box<Self>),
    /// Entries sorted by key, each key once.
    Map(Box<(Self, Self)>),
    /// So many components, each perhaps null.
    Tuple(Vec<Self>),
    /// Named components, each perhaps null.
    User(Box<UserType>),
    /// One value as a whole: no part of it is changed alone.
    Frozen(Box<Self>),
}

/// A type made by CREATE TYPE.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct UserType {
    /// Its keyspace.
    pub keyspace: String,
    /// Its name.
    pub name: String,
    /// Its fields in order.
    pub fields: Vec<(String, Type)>,
}

impl Type {
    /// The type called `name`, lower case, in a statement; types with parameters are none of these.
    pub fn named(name: &str) -> Option<Self> {
        SIMPLE.iter().find(|(_, known, _)| *known == name).map(|(ty, _, _)| ty.clone()).or(match name {
            "varchar" => Some(Self::Text),
            _ => None,
        })
    }

    /// How CQL and the schema tables write it.
    pub fn cql_name(&self) -> Cow<'static, str> {
        if let Some((_, name, _)) = SIMPLE.iter().find(|(ty, _, _)| ty == self) {
            return Cow::Borrowed(name);
        }
        Cow::Owned(match self {
            Self::List(of) => format!("list<{}>", of.cql_name()),
            Self::Set(of) => format!("set<{}>", of.cql_name()),
            Self::Map(of) => format!("map<{}, {}>", of.0.cql_name(), of.1.cql_name()),
            Self::Tuple(of) => {
                format!("tuple<{}>", of.iter().map(|ty| ty.cql_name()).collect::<Vec<_>>().join(", "))
            }
            Self::User(of) => of.name.clone(),
            Self::Frozen(of) => format!("frozen<{}>", of.cql_name()),
            _ => String::new(),
        })
    }

    /// Its option id in the native protocol.
    pub fn option_id(&self) -> u16 {
        match self.thawed() {
            Self::List(_) => 0x20,
            Self::Map(_) => 0x21,
            Self::Set(_) => 0x22,
            Self::User(_) => 0x30,
            Self::Tuple(_) => 0x31,
            simple => SIMPLE.iter().find(|(ty, _, _)| ty == simple).map_or(0, |(_, _, id)| *id),
        }
    }

    /// Without the word `frozen` around it.
    pub fn thawed(&self) -> &Self {
        match self {
            Self::Frozen(of) => of.thawed(),
            ty => ty,
        }
    }

    /// A collection or user type whose parts can be changed alone.
    pub(crate) fn is_open(&self) -> bool {
        matches!(self, Self::List(_) | Self::Set(_) | Self::Map(_) | Self::User(_))
    }

    /// A list, set or map that can be changed in parts: empty is null.
    pub(crate) fn is_open_collection(&self) -> bool {
        matches!(self, Self::List(_) | Self::Set(_) | Self::Map(_))
    }

    /// Whether a value of type `from` may be assigned to it.
    pub(crate) fn accepts(&self, from: &Self) -> bool {
        match (self.thawed(), from.thawed()) {
            (Self::List(to), Self::List(from)) | (Self::Set(to), Self::Set(from)) => to.accepts(from),
            (Self::Map(to), Self::Map(from)) => to.0.accepts(&from.0) && to.1.accepts(&from.1),
            (Self::Tuple(to), Self::Tuple(from)) => {
                to.len() == from.len() && to.iter().zip(from).all(|(to, from)| to.accepts(from))
            }
            (Self::Uuid, Self::TimeUuid) | (Self::Text, Self::Ascii) | (Self::Blob, Self::Blob) => true,
            (to, from) => to == from,
        }
    }
}

/// Types without parameters, their names and option ids.
const SIMPLE: [(Type, &str, u16); 19] = [
    (Type::BigInt, "bigint", 0x2),
    (Type::Int, "int", 0x9),
    (Type::Text, "text", 0xd),
    (Type::Boolean, "boolean", 0x4),
    (Type::Ascii, "ascii", 0x1),
    (Type::Blob, "blob", 0x3),
    (Type::Counter, "counter", 0x5),
    (Type::Date, "date", 0x11),
    (Type::Decimal, "decimal", 0x6),
    (Type::Double, "double", 0x7),
    (Type::Float, "float", 0x8),
    (Type::Inet, "inet", 0x10),
    (Type::SmallInt, "smallint", 0x13),
    (Type::Time, "time", 0x12),
    (Type::Timestamp, "timestamp", 0xb),
    (Type::TimeUuid, "timeuuid", 0xf),
    (Type::TinyInt, "tinyint", 0x14),
    (Type::Uuid, "uuid", 0xc),
    (Type::VarInt, "varint", 0xe),
];

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

    #[test]
    fn components_of_a_composite_key_are_found() {
        let key = [0, 4, 0, 0, 0, 1, 0, 0, 1, b'x', 0];
        assert_eq!(partition_component(&key, 0, 2).as_deref(), Some(&[0, 0, 0, 1][..]));
        assert_eq!(partition_component(&key, 1, 2).as_deref(), Some(&b"x"[..]));
        assert_eq!(partition_component(&key, 2, 3), None);
    }
}
