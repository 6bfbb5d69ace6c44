//! RESULT and EVENT messages: metadata, rows, prepared statements, schema changes.
//!
//! *Source*: [CQL 4.5].

use crate::wire::Put;
use crate::wire_type::{Cell, ColumnType, digest, inet};
use std::cell::OnceCell;
use std::net::SocketAddr;

const KIND_VOID: i32 = 1;
const KIND_ROWS: i32 = 2;
const KIND_SET_KEYSPACE: i32 = 3;
const KIND_PREPARED: i32 = 4;
const KIND_SCHEMA_CHANGE: i32 = 5;

const GLOBAL_TABLE: i32 = 0x01;
const NO_METADATA: i32 = 0x04;
const METADATA_CHANGED: i32 = 0x08;

/// One column of a result, or one marker of a prepared statement.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ColumnSpec<'a> {
    pub(crate) keyspace: &'a str,
    pub(crate) table: &'a str,
    pub(crate) name: &'a str,
    pub(crate) ty: ColumnType<'a>,
}

/// Columns as they stand on the wire, encoded once and copied into every answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Columns {
    count: i32,
    /// Whether all columns are of one table, named once in front of them.
    global: bool,
    specs: Vec<u8>,
    /// Made when it is first asked for: texts sent as they are never need it.
    id: OnceCell<[u8; 16]>,
}

/// How much of the metadata an answer repeats.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Metadata {
    Full,
    Skipped,
    /// Version 5: the client holds that of another id, so both come.
    Changed,
}

impl Columns {
    pub(crate) fn new(columns: &[ColumnSpec<'_>]) -> Self {
        let table_of = |column: &ColumnSpec<'_>| column.keyspace.to_owned() + "\0" + column.table;
        let first = columns.first().map(table_of);
        let global = first.is_some() && columns.iter().all(|column| Some(table_of(column)) == first);
        let mut specs = Vec::new();
        if let Some(column) = columns.first().filter(|_| global) {
            specs.put_string(column.keyspace);
            specs.put_string(column.table);
        }
        for column in columns {
            if !global {
                specs.put_string(column.keyspace);
                specs.put_string(column.table);
            }
            specs.put_string(column.name);
            column.ty.put(&mut specs);
        }
        Self { count: columns.len() as i32, global, specs, id: OnceCell::new() }
    }

    /// Digest of the columns, the "result metadata id" of version 5.
    pub(crate) fn id(&self) -> [u8; 16] {
        *self.id.get_or_init(|| digest("result metadata", &[&self.specs]))
    }

    fn flags(&self) -> i32 {
        if self.global { GLOBAL_TABLE } else { 0 }
    }

    fn put(&self, out: &mut Vec<u8>, metadata: Metadata) {
        let flags = match metadata {
            Metadata::Full => self.flags(),
            Metadata::Skipped => NO_METADATA,
            Metadata::Changed => self.flags() | METADATA_CHANGED,
        };
        out.put_i32(flags);
        out.put_i32(self.count);
        if metadata == Metadata::Changed {
            out.put_short_bytes(&self.id());
        }
        if metadata != Metadata::Skipped {
            out.extend_from_slice(&self.specs);
        }
    }
}

pub(crate) fn put_void(out: &mut Vec<u8>) {
    out.put_i32(KIND_VOID);
}

pub(crate) fn put_set_keyspace(out: &mut Vec<u8>, keyspace: &str) {
    out.put_i32(KIND_SET_KEYSPACE);
    out.put_string(keyspace);
}

/// Appends a result of rows; every row has as many cells as there are columns.
pub(crate) fn put_rows(out: &mut Vec<u8>, columns: &Columns, metadata: Metadata, rows: &[Vec<Cell>]) {
    out.put_i32(KIND_ROWS);
    columns.put(out, metadata);
    out.put_i32(rows.len() as i32);
    for cell in rows.iter().flatten() {
        out.put_bytes(cell.as_deref());
    }
}

/// A statement that was prepared.
pub(crate) struct PreparedResult<'a> {
    pub(crate) id: [u8; 16],
    pub(crate) markers: &'a Columns,
    /// Which markers make up the partition key, in its order; empty if not all of it is marked.
    pub(crate) key_markers: &'a [u16],
    /// `None` if the statement returns no rows.
    pub(crate) columns: Option<&'a Columns>,
}

/// The id sent for statements that return nothing.
const NO_RESULT_ID: [u8; 16] = *b"no result at all";

pub(crate) fn result_metadata_id(columns: Option<&Columns>) -> [u8; 16] {
    columns.map_or(NO_RESULT_ID, Columns::id)
}

pub(crate) fn put_prepared(out: &mut Vec<u8>, prepared: &PreparedResult<'_>, version: u8) {
    out.put_i32(KIND_PREPARED);
    out.put_short_bytes(&prepared.id);
    if version >= 5 {
        out.put_short_bytes(&result_metadata_id(prepared.columns));
    }
    out.put_i32(prepared.markers.flags());
    out.put_i32(prepared.markers.count);
    out.put_i32(prepared.key_markers.len() as i32);
    prepared.key_markers.iter().for_each(|index| out.put_u16(*index));
    out.extend_from_slice(&prepared.markers.specs);
    match prepared.columns {
        Some(columns) => columns.put(out, Metadata::Full),
        None => {
            out.put_i32(NO_METADATA);
            out.put_i32(0);
        }
    }
}

/// What happened to a keyspace or table.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct SchemaChange {
    /// CREATED, UPDATED or DROPPED.
    pub(crate) change: &'static str,
    pub(crate) keyspace: String,
    /// `None` if the keyspace itself changed.
    pub(crate) table: Option<String>,
}

impl SchemaChange {
    fn put(&self, out: &mut Vec<u8>) {
        out.put_string(self.change);
        out.put_string(if self.table.is_some() { "TABLE" } else { "KEYSPACE" });
        out.put_string(&self.keyspace);
        if let Some(table) = &self.table {
            out.put_string(table);
        }
    }
}

pub(crate) fn put_schema_change(out: &mut Vec<u8>, change: &SchemaChange) {
    out.put_i32(KIND_SCHEMA_CHANGE);
    change.put(out);
}

pub(crate) fn put_schema_event(out: &mut Vec<u8>, change: &SchemaChange) {
    out.put_string("SCHEMA_CHANGE");
    change.put(out);
}

/// *Shape*: the address is the length of the ip, the ip, the port as an int.
pub(crate) fn put_status_event(out: &mut Vec<u8>, node: SocketAddr, is_up: bool) {
    out.put_string("STATUS_CHANGE");
    out.put_string(if is_up { "UP" } else { "DOWN" });
    let ip = inet(node.ip()).unwrap_or_default();
    out.push(ip.len() as u8);
    out.extend_from_slice(&ip);
    out.put_i32(node.port().into());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire_type::WireType;

    const A: ColumnSpec<'static> =
        ColumnSpec { keyspace: "k", table: "t", name: "a", ty: ColumnType::System(WireType::INT) };

    #[test]
    fn one_table_is_named_once() {
        let columns = Columns::new(&[A, ColumnSpec { name: "b", ..A }]);
        let mut out = Vec::new();
        put_rows(&mut out, &columns, Metadata::Full, &[vec![Some(vec![1]), None]]);
        let expected = [
            &[0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 2][..],
            &[0, 1, b'k', 0, 1, b't', 0, 1, b'a', 0, 9, 0, 1, b'b', 0, 9],
            &[0, 0, 0, 1, 0, 0, 0, 1, 1, 0xff, 0xff, 0xff, 0xff],
        ];
        assert_eq!(out, expected.concat());
    }

    #[test]
    fn two_tables_are_named_with_each_column() {
        let columns = Columns::new(&[A, ColumnSpec { table: "u", ..A }]);
        let mut out = Vec::new();
        put_rows(&mut out, &columns, Metadata::Full, &[]);
        let specs = [0, 1, b'k', 0, 1, b't', 0, 1, b'a', 0, 9, 0, 1, b'k', 0, 1, b'u', 0, 1, b'a', 0, 9];
        assert_eq!(out, [&[0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 2][..], &specs, &[0, 0, 0, 0]].concat());
    }

    #[test]
    fn skipped_metadata_keeps_the_count() {
        let mut out = Vec::new();
        put_rows(&mut out, &Columns::new(&[A]), Metadata::Skipped, &[]);
        assert_eq!(out, [0, 0, 0, 2, 0, 0, 0, 4, 0, 0, 0, 1, 0, 0, 0, 0]);
    }

    #[test]
    fn changed_metadata_comes_with_its_id() {
        let columns = Columns::new(&[A]);
        let mut out = Vec::new();
        put_rows(&mut out, &columns, Metadata::Changed, &[]);
        assert_eq!(out[4..14], [0, 0, 0, 9, 0, 0, 0, 1, 0, 16]);
        assert_eq!(out[14..30], columns.id());
    }

    #[test]
    fn metadata_id_tells_columns_apart() {
        let other = Columns::new(&[ColumnSpec { ty: WireType::TEXT.into(), ..A }]);
        assert_ne!(Columns::new(&[A]).id(), other.id());
        assert_ne!(result_metadata_id(None), result_metadata_id(Some(&Columns::new(&[]))));
    }
}
