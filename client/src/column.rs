//! Column descriptions of result and bind metadata.

use std::fmt;

use crate::error::Error;
use crate::wire::Reader;

/// Nesting allowed in a type; a hostile answer must not exhaust the stack.
const DEPTH_MAX: usize = 16;

/// One column of a result, or one marker of a prepared statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    pub keyspace: String,
    pub table: String,
    pub name: String,
    pub kind: ColumnType,
}

/// CQL type of a column.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ColumnType {
    Custom(String),
    Ascii,
    Bigint,
    Blob,
    Boolean,
    Counter,
    Decimal,
    Double,
    Float,
    Int,
    Timestamp,
    Uuid,
    Text,
    Varint,
    Timeuuid,
    Inet,
    Date,
    Time,
    Smallint,
    Tinyint,
    Duration,
    List(Box<Self>),
    Map(Box<Self>, Box<Self>),
    Set(Box<Self>),
    /// A user-defined type: keyspace, name, fields in order.
    Udt(String, String, Vec<(String, Self)>),
    Tuple(Vec<Self>),
}

impl fmt::Display for ColumnType {
    /// The type as CQL writes it; the protocol does not tell frozen from not.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Custom(class) => write!(f, "'{class}'"),
            Self::List(of) => write!(f, "list<{of}>"),
            Self::Set(of) => write!(f, "set<{of}>"),
            Self::Map(key, value) => write!(f, "map<{key}, {value}>"),
            Self::Udt(_, name, _) => f.write_str(name),
            Self::Tuple(of) => {
                f.write_str("tuple<")?;
                for (at, of) in of.iter().enumerate() {
                    write!(f, "{}{of}", if at == 0 { "" } else { ", " })?;
                }
                f.write_str(">")
            }
            plain => f.write_str(&format!("{plain:?}").to_lowercase()),
        }
    }
}

impl ColumnType {
    fn decode(reader: &mut Reader<'_>, depth: usize) -> Result<Self, Error> {
        let at = reader.at();
        if depth == DEPTH_MAX {
            return Err(Error::Decode { what: "type nested too deeply", at });
        }
        let id = reader.u16("type")?;
        if let Some(plain) = Self::plain(id) {
            return Ok(plain);
        }
        let nested = |reader: &mut Reader<'_>| Self::decode(reader, depth + 1);
        match id {
            0x0000 => reader.string("custom type").map(|name| Self::Custom(name.to_owned())),
            0x0020 => Ok(Self::List(Box::new(nested(reader)?))),
            0x0021 => Ok(Self::Map(Box::new(nested(reader)?), Box::new(nested(reader)?))),
            0x0022 => Ok(Self::Set(Box::new(nested(reader)?))),
            0x0030 => Self::decode_udt(reader, depth),
            0x0031 => {
                let count = reader.u16("tuple size")?;
                (0..count).map(|_| nested(reader)).collect::<Result<_, _>>().map(Self::Tuple)
            }
            _ => Err(Error::Decode { what: "unknown type", at }),
        }
    }

    fn decode_udt(reader: &mut Reader<'_>, depth: usize) -> Result<Self, Error> {
        let keyspace = reader.string("type keyspace")?.to_owned();
        let name = reader.string("type name")?.to_owned();
        let count = reader.u16("field count")?;
        let mut fields = Vec::new();
        for _ in 0..count {
            let field = reader.string("field name")?.to_owned();
            fields.push((field, Self::decode(reader, depth + 1)?));
        }
        Ok(Self::Udt(keyspace, name, fields))
    }

    fn plain(id: u16) -> Option<Self> {
        Some(match id {
            0x0001 => Self::Ascii,
            0x0002 => Self::Bigint,
            0x0003 => Self::Blob,
            0x0004 => Self::Boolean,
            0x0005 => Self::Counter,
            0x0006 => Self::Decimal,
            0x0007 => Self::Double,
            0x0008 => Self::Float,
            0x0009 => Self::Int,
            0x000b => Self::Timestamp,
            0x000c => Self::Uuid,
            0x000d => Self::Text,
            0x000e => Self::Varint,
            0x000f => Self::Timeuuid,
            0x0010 => Self::Inet,
            0x0011 => Self::Date,
            0x0012 => Self::Time,
            0x0013 => Self::Smallint,
            0x0014 => Self::Tinyint,
            0x0015 => Self::Duration,
            _ => return None,
        })
    }
}

/// Reads `count` columns, keyspace and table once in front if `global`.
pub(crate) fn decode_columns(reader: &mut Reader<'_>, count: usize, global: bool) -> Result<Vec<Column>, Error> {
    let shared = if global { Some(decode_table(reader)?) } else { None };
    let mut columns = Vec::new();
    for _ in 0..count {
        let (keyspace, table) = match &shared {
            Some(table) => table.clone(),
            None => decode_table(reader)?,
        };
        let name = reader.string("column name")?.to_owned();
        columns.push(Column { keyspace, table, name, kind: ColumnType::decode(reader, 0)? });
    }
    Ok(columns)
}

fn decode_table(reader: &mut Reader<'_>) -> Result<(String, String), Error> {
    Ok((reader.string("keyspace")?.to_owned(), reader.string("table")?.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nested_types_are_read() {
        let raw = [0, 0x21, 0, 0x0d, 0, 0x31, 0, 2, 0, 9, 0, 0x22, 0, 2];
        let tuple = ColumnType::Tuple(vec![ColumnType::Int, ColumnType::Set(Box::new(ColumnType::Bigint))]);
        let expected = ColumnType::Map(Box::new(ColumnType::Text), Box::new(tuple));
        assert_eq!(ColumnType::decode(&mut Reader::new(&raw), 0).expect("well formed"), expected);
    }

    #[test]
    fn types_print_as_cql_writes_them() {
        let tuple = ColumnType::Tuple(vec![ColumnType::Int, ColumnType::Set(Box::new(ColumnType::Timeuuid))]);
        let map = ColumnType::Map(Box::new(ColumnType::Text), Box::new(ColumnType::List(Box::new(tuple))));
        assert_eq!(map.to_string(), "map<text, list<tuple<int, set<timeuuid>>>>");
    }

    #[test]
    fn endless_nesting_is_refused() {
        let raw = [0, 0x20].repeat(10_000);
        assert!(matches!(ColumnType::decode(&mut Reader::new(&raw), 0), Err(Error::Decode { .. })));
    }
}
