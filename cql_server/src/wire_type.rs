//! Column types as the protocol writes them, and the values of the system tables.
//!
//! *Source*: [CQL 2, types].

use crate::wire::Put;
use std::net::IpAddr;

/// A type of a result column.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum WireType {
    /// A type without parameters, under its option id, with its CQL name.
    Simple(u16, &'static str),
    List(&'static Self),
    Set(&'static Self),
    Map(&'static Self, &'static Self),
}

impl WireType {
    pub(crate) const BIGINT: Self = Self::Simple(0x2, "bigint");
    pub(crate) const BLOB: Self = Self::Simple(0x3, "blob");
    pub(crate) const BOOLEAN: Self = Self::Simple(0x4, "boolean");
    pub(crate) const DOUBLE: Self = Self::Simple(0x7, "double");
    pub(crate) const INT: Self = Self::Simple(0x9, "int");
    pub(crate) const UUID: Self = Self::Simple(0xc, "uuid");
    pub(crate) const TEXT: Self = Self::Simple(0xd, "text");
    pub(crate) const INET: Self = Self::Simple(0x10, "inet");
    pub(crate) const TEXT_LIST: Self = Self::List(&Self::TEXT);
    pub(crate) const TEXT_SET: Self = Self::Set(&Self::TEXT);
    pub(crate) const TEXT_MAP: Self = Self::Map(&Self::TEXT, &Self::TEXT);
    pub(crate) const BLOB_MAP: Self = Self::Map(&Self::TEXT, &Self::BLOB);
    pub(crate) const TRUNCATIONS: Self = Self::Map(&Self::UUID, &Self::BLOB);

    /// Appends its option: id, then the options of its parts.
    pub(crate) fn put(self, out: &mut Vec<u8>) {
        match self {
            Self::Simple(id, _) => out.put_u16(id),
            Self::List(of) => {
                out.put_u16(0x20);
                of.put(out);
            }
            Self::Map(key, value) => {
                out.put_u16(0x21);
                key.put(out);
                value.put(out);
            }
            Self::Set(of) => {
                out.put_u16(0x22);
                of.put(out);
            }
        }
    }

    /// How CQL writes it.
    pub(crate) fn cql_name(self) -> String {
        match self {
            Self::Simple(_, name) => name.to_owned(),
            Self::List(of) => format!("list<{}>", of.cql_name()),
            Self::Set(of) => format!("set<{}>", of.cql_name()),
            Self::Map(key, value) => format!("map<{}, {}>", key.cql_name(), value.cql_name()),
        }
    }
}

/// The type of any column: of the system's tables, or of a user's.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ColumnType<'t> {
    System(WireType),
    Language(&'t cql_txn::Type),
}

impl From<WireType> for ColumnType<'_> {
    fn from(ty: WireType) -> Self {
        Self::System(ty)
    }
}

impl ColumnType<'_> {
    /// Appends its option.
    pub(crate) fn put(self, out: &mut Vec<u8>) {
        match self {
            Self::System(ty) => ty.put(out),
            Self::Language(ty) => ty.put_option(out),
        }
    }
}

/// A value of a column, serialized; `None` is null.
pub(crate) type Cell = Option<Vec<u8>>;

pub(crate) fn text(value: impl AsRef<str>) -> Cell {
    Some(value.as_ref().as_bytes().to_vec())
}

pub(crate) fn int(value: i32) -> Cell {
    Some(value.to_be_bytes().to_vec())
}

pub(crate) fn bigint(value: i64) -> Cell {
    Some(value.to_be_bytes().to_vec())
}

pub(crate) fn double(value: f64) -> Cell {
    Some(value.to_be_bytes().to_vec())
}

pub(crate) fn boolean(value: bool) -> Cell {
    Some(vec![u8::from(value)])
}

pub(crate) fn uuid(value: [u8; 16]) -> Cell {
    Some(value.to_vec())
}

pub(crate) fn inet(value: IpAddr) -> Cell {
    Some(match value {
        IpAddr::V4(address) => address.octets().to_vec(),
        IpAddr::V6(address) => address.octets().to_vec(),
    })
}

/// A set or list of text; a set is sorted and without repetition as its type demands.
pub(crate) fn text_list(values: impl ExactSizeIterator<Item = String>) -> Cell {
    let mut out = Vec::new();
    out.put_i32(values.len() as i32);
    values.for_each(|value| out.put_bytes(Some(value.as_bytes())));
    Some(out)
}

pub(crate) fn text_set(mut values: Vec<String>) -> Cell {
    values.sort_unstable();
    values.dedup();
    text_list(values.into_iter())
}

/// A map of text to text; `entries` are sorted here.
pub(crate) fn text_map(entries: &[(&str, &str)]) -> Cell {
    let mut sorted = entries.to_vec();
    sorted.sort_unstable();
    let mut out = Vec::new();
    out.put_i32(sorted.len() as i32);
    for (key, value) in sorted {
        out.put_bytes(Some(key.as_bytes()));
        out.put_bytes(Some(value.as_bytes()));
    }
    Some(out)
}

/// Sixteen bytes printed as a uuid.
pub(crate) fn uuid_from_digest(label: &str, parts: &[&[u8]]) -> [u8; 16] {
    let mut bytes = digest(label, parts);
    // Version 8 (free form), the usual variant: what a reader of uuids expects to find.
    bytes[6] = bytes[6] & 0x0f | 0x80;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    bytes
}

/// The first sixteen bytes of a SHA-256 over `label` and `parts`, each with its length in front.
pub(crate) fn digest(label: &str, parts: &[&[u8]]) -> [u8; 16] {
    use sha2::{Digest, Sha256};
    let mut hasher = Sha256::new();
    for part in std::iter::once(&label.as_bytes()).chain(parts) {
        hasher.update((part.len() as u64).to_be_bytes());
        hasher.update(part);
    }
    let mut first = [0; 16];
    first.copy_from_slice(&hasher.finalize()[..16]);
    first
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_of_a_type_follow_it() {
        let mut out = Vec::new();
        WireType::TEXT_MAP.put(&mut out);
        assert_eq!(out, [0, 0x21, 0, 0x0d, 0, 0x0d]);
        assert_eq!(WireType::TRUNCATIONS.cql_name(), "map<uuid, blob>");
    }

    #[test]
    fn sets_and_maps_are_sorted() {
        let set = text_set(vec!["b".into(), "a".into(), "b".into()]);
        assert_eq!(set.as_deref(), Some(&[0, 0, 0, 2, 0, 0, 0, 1, b'a', 0, 0, 0, 1, b'b'][..]));
        assert_eq!(text_map(&[("b", "1"), ("a", "2")]), text_map(&[("a", "2"), ("b", "1")]));
    }

    #[test]
    fn digest_keeps_its_parts_apart() {
        assert_ne!(digest("l", &[b"ab", b"c"]), digest("l", &[b"a", b"bc"]));
    }
}
