//! The schema as a value: keyspaces, tables, columns, and the numbers that outlive their names.
//!
//! One reserved key holds it; a DDL statement is a write on that key (README section 4). Numbers of tables and columns are never
//! used twice, so a transaction that was bound before a DROP and CREATE of the same name cannot touch the new table.

use crate::error::Error;
use crate::value::{Type, UserType};
use protocol::{Key, TableId, Token};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The table number of the schema itself.
pub const SCHEMA_TABLE: TableId = TableId(0);

/// Table numbers below this one are kept for tables of the house.
const FIRST_TABLE: u32 = 64;

/// First byte of a stored schema.
const FORMAT: u8 = 1;

/// Format byte and version.
const HEAD_BYTES: usize = 9;

/// The key under which the schema lives, replicated on every node of the group that spans the cluster.
pub fn schema_key(largest_group: u8) -> Key {
    Key::with_token(largest_group, Token(0), SCHEMA_TABLE, b"schema")
}

/// All keyspaces at one version.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Schema {
    /// How many DDL statements have changed it.
    pub version: u64,
    /// The largest replication factor there can be: the number of nodes when the cluster was made.
    pub largest_group: u8,
    /// The keyspaces by name.
    pub keyspaces: BTreeMap<String, Keyspace>,
    pub(crate) next_keyspace: u32,
    pub(crate) next_table: u32,
}

/// A keyspace: how its tables are replicated.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Keyspace {
    /// Its number, never reused.
    pub id: u32,
    /// Its name.
    pub name: String,
    /// How many replicas each row has, and how that was written.
    pub replication: Replication,
    /// Kept because drivers ask for it.
    pub durable_writes: bool,
    /// The tables by name.
    pub tables: BTreeMap<String, Table>,
    /// The types by name.
    pub types: BTreeMap<String, UserType>,
}

/// The replication of a keyspace.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Replication {
    /// Number of replicas = group of the keys.
    pub factor: u8,
    /// The map as the schema tables show it: `class` and the rest.
    pub options: BTreeMap<String, String>,
}

/// A table.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Table {
    /// Its number, never reused.
    pub id: TableId,
    /// Its name.
    pub name: String,
    /// Columns in the order of `SELECT *`: partition key, clustering, static by name, regular by name.
    pub columns: Vec<Column>,
    /// Number given to the next column.
    pub next_column: u16,
    /// Whether rows go through Accord.
    pub transactional_mode: TransactionalMode,
    /// Other options, as text.
    pub options: BTreeMap<String, String>,
}

/// A column.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Column {
    /// Its number within the table, never reused.
    pub id: u16,
    /// Its name.
    pub name: String,
    /// Its type.
    pub ty: Type,
    /// Its role.
    pub kind: ColumnKind,
    /// Whether rows run from the highest value down (clustering columns only).
    pub descending: bool,
}

/// The role of a column, in the order of `SELECT *`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub enum ColumnKind {
    /// Part of the partition key.
    PartitionKey,
    /// Orders rows within a partition.
    Clustering,
    /// One value per partition.
    Static,
    /// One value per row.
    Regular,
}

/// Whether a table is transactional.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub enum TransactionalMode {
    /// Not: outside Accord.
    Off,
    /// Every read and write is a transaction.
    Full,
}

impl TransactionalMode {
    /// As the schema tables show it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Full => "full",
        }
    }
}

impl Schema {
    /// The schema of a new cluster whose largest replication group is `largest_group`.
    pub fn new(largest_group: u8) -> Self {
        Self { version: 0, largest_group, keyspaces: BTreeMap::new(), next_keyspace: 1, next_table: FIRST_TABLE }
    }

    /// Table `name` of `keyspace`.
    pub fn table(&self, keyspace: &str, name: &str) -> Option<&Table> {
        self.keyspaces.get(keyspace)?.tables.get(name)
    }

    /// How many tables there are in all keyspaces.
    pub(crate) fn table_count(&self) -> usize {
        self.keyspaces.values().map(|keyspace| keyspace.tables.len()).sum()
    }

    /// The stored form: format, version, MessagePack.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = vec![FORMAT];
        bytes.extend_from_slice(&self.version.to_be_bytes());
        rmp_serde::encode::write(&mut bytes, self).expect("a schema is plain data and a vector takes any length");
        bytes
    }

    /// Reads the stored form.
    ///
    /// *Errors*: [`crate::Class::Server`] if the bytes are not exactly one schema of a known format.
    pub fn decode(bytes: &[u8]) -> Result<Self, Error> {
        let schema = || -> Option<Self> {
            let version = stored_version(bytes)?;
            let schema: Self = decode_exactly(&bytes[HEAD_BYTES..])?;
            let is_sound = schema.keyspaces.values().all(|keyspace| keyspace.tables.values().all(Table::is_sound));
            (schema.version == version && is_sound).then_some(schema)
        };
        schema().ok_or_else(|| Error::server(format!("the stored schema of {} bytes cannot be read", bytes.len())))
    }
}

impl Table {
    /// The column called `name`.
    pub fn column(&self, name: &str) -> Option<&Column> {
        self.columns.iter().find(|column| column.name == name)
    }

    /// Columns of the partition key, in order.
    pub fn partition_key(&self) -> &[Column] {
        &self.columns[..self.count(ColumnKind::PartitionKey)]
    }

    /// Clustering columns, in order.
    pub fn clustering(&self) -> &[Column] {
        let start = self.count(ColumnKind::PartitionKey);
        &self.columns[start..start + self.count(ColumnKind::Clustering)]
    }

    fn count(&self, kind: ColumnKind) -> usize {
        self.columns.iter().filter(|column| column.kind == kind).count()
    }

    /// What everything else takes for granted about a table.
    pub(crate) fn is_sound(&self) -> bool {
        let mut ids: Vec<u16> = self.columns.iter().map(|column| column.id).collect();
        ids.sort_unstable();
        ids.dedup();
        ids.len() == self.columns.len()
            && ids.last().is_some_and(|last| *last < self.next_column)
            && self.columns.is_sorted_by_key(|column| column.kind)
            && (1..=KEY_COLUMNS_MAX).contains(&self.count(ColumnKind::PartitionKey))
            && self.count(ColumnKind::Clustering) <= KEY_COLUMNS_MAX
    }
}

/// Most columns of a partition key, and most clustering columns.
pub(crate) const KEY_COLUMNS_MAX: usize = 100;

/// The version of a stored schema without reading the rest.
pub(crate) fn stored_version(bytes: &[u8]) -> Option<u64> {
    let (format, rest) = bytes.split_first()?;
    let version = rest.first_chunk()?;
    (*format == FORMAT).then(|| u64::from_be_bytes(*version))
}

/// One MessagePack value and nothing after it.
pub(crate) fn decode_exactly<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> Option<T> {
    let mut rest = bytes;
    let mut deserializer = rmp_serde::Deserializer::new(&mut rest);
    deserializer.set_max_depth(96);
    let value = T::deserialize(&mut deserializer).ok()?;
    rest.is_empty().then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_schema_comes_back_and_a_byte_more_is_refused() {
        let schema = crate::testing::schema();
        let mut bytes = schema.encode();
        assert_eq!(Schema::decode(&bytes).unwrap(), schema);
        assert_eq!(stored_version(&bytes), Some(schema.version));
        bytes.push(0);
        assert!(Schema::decode(&bytes).is_err());
        bytes.truncate(bytes.len() - 2);
        assert!(Schema::decode(&bytes).is_err());
    }

    proptest! {
        #[test]
        fn law_garbage_is_no_schema(noise: Vec<u8>, at in 0usize..300, byte: u8) {
            prop_assert!(Schema::decode(&noise).is_err());
            let mut bytes = crate::testing::schema().encode();
            let at = at % bytes.len();
            bytes[at] = byte;
            let _ = Schema::decode(&bytes);
        }
    }
}
