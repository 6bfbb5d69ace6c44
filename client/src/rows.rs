//! Rows of a result, kept as the bytes that came, with the place of each cell.

use std::ops::Range;
use std::sync::Arc;

use crate::column::{Column, decode_columns};
use crate::error::Error;
use crate::value::{decode_bigint, decode_boolean, decode_int, decode_text};
use crate::wire::Reader;

mod flag {
    pub(super) const GLOBAL_TABLE: i32 = 0x01;
    pub(super) const MORE_PAGES: i32 = 0x02;
    pub(super) const NO_METADATA: i32 = 0x04;
    pub(super) const METADATA_CHANGED: i32 = 0x08;
}

/// Rows of a SELECT.
#[derive(Debug, Clone)]
pub struct Rows {
    columns: Arc<[Column]>,
    bytes: Vec<u8>,
    cells: Vec<Option<Range<usize>>>,
    row_count: usize,
    pub(crate) changed_metadata_id: Option<Vec<u8>>,
    paging_state: Option<Vec<u8>>,
}

impl Rows {
    /// Columns in order.
    pub fn columns(&self) -> &Arc<[Column]> {
        &self.columns
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.row_count
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.row_count == 0
    }

    /// Opaque state to ask for the next page with, if there is one.
    pub fn paging_state(&self) -> Option<&[u8]> {
        self.paging_state.as_deref()
    }

    /// The row at `index`.
    pub fn row(&self, index: usize) -> Option<Row<'_>> {
        (index < self.row_count).then_some(Row { rows: self, index })
    }

    /// The rows in order.
    pub fn iter(&self) -> impl Iterator<Item = Row<'_>> {
        (0..self.row_count).map(|index| Row { rows: self, index })
    }
}

/// One row; cells are looked up by position or name.
#[derive(Debug, Clone, Copy)]
pub struct Row<'a> {
    rows: &'a Rows,
    index: usize,
}

impl<'a> Row<'a> {
    /// Bytes of the cell at `position`; `None` for null and for a position out of range.
    pub fn bytes(&self, position: usize) -> Option<&'a [u8]> {
        let width = self.rows.columns.len();
        if position >= width {
            return None;
        }
        let range = self.rows.cells.get(self.index * width + position)?.clone()?;
        self.rows.bytes.get(range)
    }

    /// Position of the column called `name`.
    pub fn position(&self, name: &str) -> Option<usize> {
        self.rows.columns.iter().position(|column| column.name == name)
    }

    /// A bigint cell; `None` for null.
    pub fn bigint(&self, position: usize) -> Result<Option<i64>, Error> {
        self.bytes(position).map(decode_bigint).transpose()
    }

    /// An int cell; `None` for null.
    pub fn int(&self, position: usize) -> Result<Option<i32>, Error> {
        self.bytes(position).map(decode_int).transpose()
    }

    /// A boolean cell; `None` for null.
    pub fn boolean(&self, position: usize) -> Result<Option<bool>, Error> {
        self.bytes(position).map(decode_boolean).transpose()
    }

    /// A text cell; `None` for null.
    pub fn text(&self, position: usize) -> Result<Option<&'a str>, Error> {
        self.bytes(position).map(decode_text).transpose()
    }
}

/// Metadata in front of rows, also at the end of a PREPARE's answer.
#[derive(Debug)]
pub(crate) struct Metadata {
    pub(crate) columns: Option<Vec<Column>>,
    count: usize,
    paging_state: Option<Vec<u8>>,
    changed_id: Option<Vec<u8>>,
}

pub(crate) fn decode_metadata(reader: &mut Reader<'_>) -> Result<Metadata, Error> {
    let flags = reader.i32("metadata flags")?;
    let count = reader.count("column count")?;
    let paging_state = if flags & flag::MORE_PAGES != 0 { reader.bytes("paging state")? } else { None };
    let paging_state = paging_state.map(<[u8]>::to_vec);
    let changed_id = match flags & flag::METADATA_CHANGED {
        0 => None,
        _ => Some(reader.short_bytes("metadata id")?.to_vec()),
    };
    let columns = match flags & flag::NO_METADATA {
        0 => Some(decode_columns(reader, count, flags & flag::GLOBAL_TABLE != 0)?),
        _ => None,
    };
    Ok(Metadata { columns, count, paging_state, changed_id })
}

/// Reads metadata and cells off the end of `body`, starting where `reader` stands.
///
/// *Shape*: `known` are the columns of the prepared statement, used when the server leaves them out.
pub(crate) fn decode_rows(body: &[u8], reader: &mut Reader<'_>, known: Option<&Arc<[Column]>>) -> Result<Rows, Error> {
    let at = reader.at();
    let metadata = decode_metadata(reader)?;
    let columns: Arc<[Column]> = match (metadata.columns, known) {
        (Some(columns), _) => columns.into(),
        (None, Some(known)) => known.clone(),
        (None, None) => return Err(Error::Decode { what: "rows without column metadata", at }),
    };
    if columns.len() != metadata.count {
        return Err(Error::Decode { what: "column count that differs from the statement's", at });
    }
    let row_count = decode_row_count(reader, columns.len())?;
    let mut cells = Vec::with_capacity((row_count * columns.len()).min(reader.left() / 4 + 1));
    for _ in 0..row_count * columns.len() {
        let start = reader.at() + 4;
        cells.push(reader.bytes("cell")?.map(|cell| start..start + cell.len()));
    }
    let bytes = body.to_vec();
    Ok(Rows {
        columns,
        bytes,
        cells,
        row_count,
        changed_metadata_id: metadata.changed_id,
        paging_state: metadata.paging_state,
    })
}

fn decode_row_count(reader: &mut Reader<'_>, width: usize) -> Result<usize, Error> {
    let at = reader.at();
    let count = reader.i32("row count")?;
    let count = usize::try_from(count).map_err(|_| Error::Decode { what: "row count", at })?;
    // Each cell takes at least its length field, so a larger count cannot be honest.
    if width > 0 && count > reader.left() / 4 / width {
        return Err(Error::Decode { what: "row count", at });
    }
    Ok(count)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body() -> Vec<u8> {
        let mut raw = vec![0, 0, 0, 1, 0, 0, 0, 2, 0, 2, b'k', b's', 0, 1, b't'];
        raw.extend_from_slice(&[0, 1, b'a', 0, 2, 0, 1, b'b', 0, 0x0d]);
        raw.extend_from_slice(&[0, 0, 0, 2]);
        raw.extend_from_slice(&[0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0, 1, b'x']);
        raw.extend_from_slice(&[0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0]);
        raw
    }

    #[test]
    fn cells_null_and_empty_are_told_apart() {
        let body = body();
        let rows = decode_rows(&body, &mut Reader::new(&body), None).expect("well formed");
        let (first, second) = (rows.row(0).unwrap(), rows.row(1).unwrap());
        assert_eq!((first.bigint(0).unwrap(), first.text(1).unwrap()), (Some(7), Some("x")));
        assert_eq!((second.bigint(0).unwrap(), second.text(1).unwrap()), (None, Some("")));
        assert_eq!(first.position("b"), Some(1));
        assert!(rows.row(2).is_none() && first.bytes(2).is_none());
    }

    #[test]
    fn any_truncation_is_an_error_and_no_panic() {
        let body = body();
        for length in 0..body.len() {
            assert!(decode_rows(&body[..length], &mut Reader::new(&body[..length]), None).is_err(), "{length}");
        }
    }

    #[test]
    fn a_dishonest_row_count_reserves_nothing() {
        let mut body = body();
        body[25..29].copy_from_slice(&i32::MAX.to_be_bytes());
        assert!(decode_rows(&body, &mut Reader::new(&body), None).is_err());
    }

    #[test]
    fn left_out_metadata_comes_from_the_statement() {
        let body = [0, 0, 0, 4, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 9];
        assert!(decode_rows(&body, &mut Reader::new(&body), None).is_err());
        let column =
            Column { keyspace: "k".into(), table: "t".into(), name: "c".into(), kind: crate::column::ColumnType::Blob };
        let known: Arc<[Column]> = vec![column].into();
        let rows = decode_rows(&body, &mut Reader::new(&body), Some(&known)).expect("well formed");
        assert_eq!(rows.row(0).unwrap().bytes(0), Some(&[9][..]));
    }
}
