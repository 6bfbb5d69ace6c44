//! The stored partition, and how a write is merged into it.
//!
//! ```text
//! partition  format=1 | flags | [deletion 20] | row*          rows in clustering order
//! row        length u32 | clustering | flags | [liveness 20] | [deletion 20] | cell*
//! cell       column u16 | flags | version 20 | [shown 8] | [value]       cells in column order
//! write      format=1 | flags | row*                          the same without versions: they are the time of execution
//! write row  clustering | flags | cell count | cell*          cell: column u16 | flags | [shown 8] | [value]
//! ```
//! Clustering keys are ordered bytes ([`crate::value::Type::put_ordered`]), so rows are compared without a schema. A cell's full
//! version is (executeAt, sub): sub 0 for a deletion, 1 for an assignment, so an assignment beats a deletion of its own
//! transaction. The higher version wins, whatever the order of arrival; therefore deletions are kept, and everything that a
//! deletion covers is dropped: what is stored and not a tombstone is alive. The time that `writetime()` shows is that of the
//! version unless the client gave another one, which is kept beside it and decides nothing.
//!
//! The static columns of a partition are the row with the empty clustering key, which no other row of such a table can have.

use crate::encoding::{Reader, put_bytes};
use crate::plan::Slice;
use std::cmp::Ordering;

const FORMAT: u8 = 1;

/// The partition or row has a deletion.
const DELETED: u8 = 1;

/// The row was inserted: it exists without cells.
const LIVE: u8 = 2;

/// The cell has a value; otherwise it is a tombstone.
const VALUE: u8 = 1;

/// The cell shows a time of the client's choice.
const SHOWN: u8 = 2;

/// executeAt in its ordered 20 bytes.
pub(crate) type Version = [u8; protocol::TIMESTAMP_BYTES];

/// A stored partition.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Partition<'a> {
    deleted: Option<&'a Version>,
    rows: &'a [u8],
}

/// A stored row.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row<'a> {
    pub(crate) clustering: &'a [u8],
    live: Option<&'a Version>,
    deleted: Option<&'a Version>,
    cells: &'a [u8],
}

#[derive(Clone, Copy)]
struct Cell<'a> {
    column: u16,
    version: &'a Version,
    shown: Option<&'a [u8; 8]>,
    value: Option<&'a [u8]>,
}

impl<'a> Partition<'a> {
    /// Opens stored bytes; `None` bytes are the empty partition, unreadable ones are `None`.
    pub(crate) fn open(bytes: Option<&'a [u8]>) -> Option<Self> {
        let Some(bytes) = bytes else { return Some(Self { deleted: None, rows: &[] }) };
        let mut reader = Reader(bytes);
        if reader.u8()? != FORMAT {
            return None;
        }
        let deleted = match reader.u8()? {
            0 => None,
            DELETED => Some(reader.array()?),
            _ => return None,
        };
        Some(Self { deleted, rows: reader.0 })
    }

    /// The rows that exist, in order, whose clustering key lies in `slice`.
    pub(crate) fn rows(self, slice: &'a Slice<'_>) -> impl Iterator<Item = Row<'a>> {
        let mut rest = Reader(self.rows);
        std::iter::from_fn(move || next_row(&mut rest).map(|(row, _)| row))
            .skip_while(move |row| row.clustering < slice.start())
            .take_while(move |row| slice.reaches(row.clustering))
            .filter(Row::exists)
    }

    /// The static columns, if any has a value.
    pub(crate) fn static_row(self) -> Option<Row<'a>> {
        let (row, _) = next_row(&mut Reader(self.rows))?;
        Some(row).filter(|row| row.clustering.is_empty() && row.exists())
    }
}

/// The next row and all its bytes.
fn next_row<'a>(rest: &mut Reader<'a>) -> Option<(Row<'a>, &'a [u8])> {
    let start = rest.0;
    let length = rest.u32()? as usize;
    let mut body = Reader(rest.take(length)?);
    let clustering = body.bytes()?;
    let flags = body.u8()?;
    let live = if flags & LIVE == 0 { None } else { Some(body.array()?) };
    let deleted = if flags & DELETED == 0 { None } else { Some(body.array()?) };
    Some((Row { clustering, live, deleted, cells: body.0 }, &start[..4 + length]))
}

impl<'a> Row<'a> {
    fn cells(self) -> impl Iterator<Item = Cell<'a>> {
        let mut rest = Reader(self.cells);
        std::iter::from_fn(move || {
            let (column, flags, version) = (rest.u16()?, rest.u8()?, rest.array()?);
            let shown = if flags & SHOWN == 0 { None } else { Some(rest.array()?) };
            let value = if flags & VALUE == 0 { None } else { Some(rest.bytes()?) };
            Some(Cell { column, version, shown, value })
        })
    }

    /// A row exists if it was inserted or has any value.
    fn exists(&self) -> bool {
        self.live.is_some() || self.cells().any(|cell| cell.value.is_some())
    }

    /// The value of the column of this number.
    pub(crate) fn value(&self, column: u16) -> Option<&'a [u8]> {
        self.cells().find(|cell| cell.column == column)?.value
    }

    /// When the value of the column of this number was written, as `writetime()` shows it. *Units*: microseconds.
    pub(crate) fn write_time(&self, column: u16) -> Option<[u8; 8]> {
        let cell = self.cells().find(|cell| cell.column == column && cell.value.is_some())?;
        Some(cell.shown.copied().unwrap_or_else(|| {
            let [_, _, _, _, _, _, hlc @ .., _, _, _, _, _, _] = *cell.version;
            hlc
        }))
    }
}

/// What one transaction does to one partition.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Write {
    /// Everything older goes.
    pub(crate) delete: bool,
    /// By clustering key, each once.
    pub(crate) rows: Vec<RowWrite>,
}

/// What one transaction does to one row.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct RowWrite {
    pub(crate) clustering: Vec<u8>,
    /// Everything older in the row goes.
    pub(crate) delete: bool,
    /// The row exists from now on even without values.
    pub(crate) live: bool,
    /// By column, each once.
    pub(crate) cells: Vec<CellWrite>,
}

/// What one transaction does to one cell.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct CellWrite {
    pub(crate) column: u16,
    /// `None` clears it.
    pub(crate) value: Option<Vec<u8>>,
    /// What `writetime()` shows, if the client chose it. *Units*: microseconds.
    pub(crate) shown: Option<i64>,
}

impl Write {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(64);
        out.extend_from_slice(&[FORMAT, if self.delete { DELETED } else { 0 }]);
        for row in &self.rows {
            put_bytes(&mut out, &row.clustering);
            out.push(if row.delete { DELETED } else { 0 } | if row.live { LIVE } else { 0 });
            crate::encoding::put_count(&mut out, row.cells.len());
            for cell in &row.cells {
                let shown = cell.shown.map(i64::to_be_bytes);
                put_cell(&mut out, cell.column, None, shown.as_ref(), cell.value.as_deref());
            }
        }
        out
    }
}

fn put_cell(out: &mut Vec<u8>, column: u16, version: Option<&Version>, shown: Option<&[u8; 8]>, value: Option<&[u8]>) {
    out.extend_from_slice(&column.to_be_bytes());
    out.push(if value.is_some() { VALUE } else { 0 } | if shown.is_some() { SHOWN } else { 0 });
    out.extend(version.into_iter().flatten());
    out.extend(shown.into_iter().flatten());
    if let Some(value) = value {
        put_bytes(out, value);
    }
}

/// A row of an encoded write.
#[derive(Clone, Copy)]
struct NewRow<'a> {
    clustering: &'a [u8],
    flags: u8,
    count: usize,
    cells: &'a [u8],
}

fn next_new_row<'a>(rest: &mut Reader<'a>) -> Option<NewRow<'a>> {
    let (clustering, flags) = (rest.bytes()?, rest.u8()?);
    let count = rest.count_of(3)?;
    let cells = rest.0;
    for _ in 0..count {
        next_new_cell(rest, &[0; protocol::TIMESTAMP_BYTES])?;
    }
    Some(NewRow { clustering, flags, count, cells: &cells[..cells.len() - rest.0.len()] })
}

fn next_new_cell<'a>(rest: &mut Reader<'a>, version: &'a Version) -> Option<Cell<'a>> {
    let (column, flags) = (rest.u16()?, rest.u8()?);
    let shown = if flags & SHOWN == 0 { None } else { Some(rest.array()?) };
    let value = if flags & VALUE == 0 { None } else { Some(rest.bytes()?) };
    Some(Cell { column, version, shown, value })
}

impl<'a> NewRow<'a> {
    fn cells(self, at: &'a Version) -> impl Iterator<Item = Cell<'a>> {
        let mut rest = Reader(self.cells);
        (0..self.count).map_while(move |_| next_new_cell(&mut rest, at))
    }
}

/// The partition `rows` after `write` at `at`; the inner `None` if nothing remains stored.
///
/// Idempotent, and the same for every order in which several writes arrive. *Errors*: `None` if either is unreadable.
pub(crate) fn merge(rows: Option<&[u8]>, write: &[u8], at: &Version) -> Option<Option<Vec<u8>>> {
    let old = Partition::open(rows)?;
    let mut new_rows = Reader(write);
    if new_rows.u8()? != FORMAT {
        return None;
    }
    let deletes = new_rows.u8()? & DELETED != 0;
    let deleted = old.deleted.max(deletes.then_some(at));
    let mut out = Vec::with_capacity(rows.map_or(0, <[u8]>::len) + write.len() + 96);
    out.extend_from_slice(&[FORMAT, if deleted.is_some() { DELETED } else { 0 }]);
    out.extend(deleted.into_iter().flatten());
    let head = out.len();
    let merging = Merging { at, floor: deleted, is_floor_new: deleted != old.deleted };
    merging.rows(old.rows, new_rows, &mut out)?;
    Some((out.len() > head || deleted.is_some()).then_some(out))
}

struct Merging<'a> {
    at: &'a Version,
    /// Deletion of the whole partition.
    floor: Option<&'a Version>,
    /// Whether stored rows may be covered by it.
    is_floor_new: bool,
}

impl Merging<'_> {
    fn rows(&self, old: &[u8], mut new: Reader<'_>, out: &mut Vec<u8>) -> Option<()> {
        let mut old = Reader(old);
        let mut stored = if old.is_empty() { None } else { Some(next_row(&mut old)?) };
        let mut written = if new.is_empty() { None } else { Some(next_new_row(&mut new)?) };
        loop {
            let order = match (&stored, &written) {
                (None, None) => return Some(()),
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (Some((row, _)), Some(new)) => row.clustering.cmp(new.clustering),
            };
            match stored {
                Some((_, bytes)) if order == Ordering::Less && !self.is_floor_new => out.extend_from_slice(bytes),
                _ => {
                    let row = stored.filter(|_| order != Ordering::Greater).map(|(row, _)| row);
                    self.row(row, written.filter(|_| order != Ordering::Less), out);
                }
            }
            if order != Ordering::Greater {
                stored = if old.is_empty() { None } else { Some(next_row(&mut old)?) };
            }
            if order != Ordering::Less {
                written = if new.is_empty() { None } else { Some(next_new_row(&mut new)?) };
            }
        }
    }

    fn row(&self, old: Option<Row<'_>>, new: Option<NewRow<'_>>, out: &mut Vec<u8>) {
        let has = |flag| new.is_some_and(|row| row.flags & flag != 0).then_some(self.at);
        let deleted = old.and_then(|row| row.deleted).max(has(DELETED)).filter(|at| Some(*at) > self.floor);
        let floor = deleted.max(self.floor);
        let live = old.and_then(|row| row.live).max(has(LIVE)).filter(|at| Some(*at) >= floor);
        let start = out.len();
        out.extend_from_slice(&[0; 4]);
        put_bytes(out, old.map(|row| row.clustering).or(new.map(|row| row.clustering)).unwrap_or_default());
        out.push(if live.is_some() { LIVE } else { 0 } | if deleted.is_some() { DELETED } else { 0 });
        out.extend(live.into_iter().flatten());
        out.extend(deleted.into_iter().flatten());
        let cells_start = out.len();
        self.cells(old, new, floor, out);
        if live.is_none() && deleted.is_none() && out.len() == cells_start {
            out.truncate(start);
            return;
        }
        let length = u32::try_from(out.len() - start - 4).expect("a row is bounded far below 4 GiB");
        out[start..start + 4].copy_from_slice(&length.to_be_bytes());
    }

    fn cells(&self, old: Option<Row<'_>>, new: Option<NewRow<'_>>, floor: Option<&Version>, out: &mut Vec<u8>) {
        let mut old = old.into_iter().flat_map(Row::cells).peekable();
        let mut new = new.into_iter().flat_map(|row| row.cells(self.at)).peekable();
        loop {
            let order = match (old.peek(), new.peek()) {
                (None, None) => return,
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (Some(old), Some(new)) => old.column.cmp(&new.column),
            };
            let stored = if order == Ordering::Greater { None } else { old.next() };
            let written = if order == Ordering::Less { None } else { new.next() };
            let winner = match (stored, written) {
                (Some(old), Some(new)) if new.rank() > old.rank() => Some(new),
                (old, new) => old.or(new),
            };
            if let Some(cell) = winner {
                cell.put_unless_covered(floor, out);
            }
        }
    }
}

impl Cell<'_> {
    /// The full version.
    fn rank(&self) -> (&Version, bool) {
        (self.version, self.value.is_some())
    }

    fn put_unless_covered(self, floor: Option<&Version>, out: &mut Vec<u8>) {
        let is_above = match self.value {
            Some(_) => Some(self.version) >= floor,
            None => Some(self.version) > floor,
        };
        if !is_above {
            return;
        }
        put_cell(out, self.column, Some(self.version), self.shown, self.value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    const ALL: Slice<'static> = Slice::Prefix(std::borrow::Cow::Borrowed(&[]));

    fn version(at: u8) -> Version {
        let mut version = [0; 20];
        version[13] = at;
        version
    }

    fn a_write() -> impl Strategy<Value = Write> {
        let cells = prop::collection::btree_map(0u16..3, prop::option::of(prop::collection::vec(0u8..3, 0..2)), 0..3);
        let row = (0u8..3, prop::bool::weighted(0.2), any::<bool>(), cells);
        (prop::bool::weighted(0.15), prop::collection::vec(row, 0..3)).prop_map(|(delete, rows)| {
            let rows: BTreeMap<_, _> = rows.into_iter().map(|row| (row.0, row)).collect();
            let row = |(ck, delete, live, cells): (u8, bool, bool, BTreeMap<u16, Option<Vec<u8>>>)| RowWrite {
                clustering: vec![ck],
                delete,
                live,
                cells: cells.into_iter().map(|(column, value)| CellWrite { column, value, shown: None }).collect(),
            };
            Write { delete, rows: rows.into_values().map(row).collect() }
        })
    }

    fn merge_all(writes: &[(u8, Vec<u8>)]) -> Option<Vec<u8>> {
        writes.iter().fold(None, |rows, (at, write)| merge(rows.as_deref(), write, &version(*at)).unwrap())
    }

    /// What a reader sees, by the obvious way: for each cell the newest write, unless a newer deletion covers it.
    fn naive(writes: &[(u8, Write)]) -> BTreeMap<u8, BTreeMap<u16, Vec<u8>>> {
        let mut seen = BTreeMap::new();
        for ck in 0..3u8 {
            let rows: Vec<_> = writes.iter().flat_map(|(at, w)| w.rows.iter().map(move |row| (*at, row))).collect();
            let mine: Vec<_> = rows.iter().filter(|(_, row)| row.clustering == [ck]).collect();
            let partition = writes.iter().filter(|(_, w)| w.delete).map(|(at, _)| *at).max();
            let floor = mine.iter().filter(|(_, row)| row.delete).map(|(at, _)| *at).max().max(partition);
            let live = mine.iter().any(|(at, row)| row.live && Some(*at) >= floor);
            let mut cells = BTreeMap::new();
            for column in 0..3u16 {
                let of =
                    |row: &RowWrite| row.cells.iter().find(|cell| cell.column == column).map(|cell| cell.value.clone());
                let newest = mine.iter().filter_map(|(at, row)| of(row).map(|value| (*at, value))).max_by_key(|c| c.0);
                if let Some((at, Some(value))) = newest
                    && Some(at) >= floor
                {
                    cells.insert(column, value);
                }
            }
            if live || !cells.is_empty() {
                seen.insert(ck, cells);
            }
        }
        seen
    }

    proptest! {
        #[test]
        fn law_writes_merge_to_the_same_bytes_in_any_order_and_any_number(
            writes in prop::collection::vec(a_write(), 1..6),
            order in Just((0..12usize).collect::<Vec<_>>()).prop_shuffle(),
        ) {
            let numbered: Vec<_> = writes.iter().enumerate().map(|(at, w)| (at as u8 + 1, w.encode())).collect();
            let straight = merge_all(&numbered);
            let twice: Vec<_> = numbered.iter().chain(&numbered).cloned().collect();
            prop_assert_eq!(&merge_all(&twice), &straight);
            let shuffled: Vec<_> = order.iter().filter_map(|at| twice.get(*at)).cloned().collect();
            let complete = numbered.iter().all(|write| shuffled.contains(write));
            prop_assert!(!complete || merge_all(&shuffled) == straight);

            let numbered: Vec<_> = writes.iter().enumerate().map(|(at, w)| (at as u8 + 1, w.clone())).collect();
            let partition = Partition::open(straight.as_deref()).unwrap();
            let seen: BTreeMap<_, _> = partition.rows(&ALL).map(|row| {
                let cells = (0..3).filter_map(|column| row.value(column).map(|value| (column, value.to_vec())));
                (row.clustering[0], cells.collect::<BTreeMap<_, _>>())
            }).collect();
            prop_assert_eq!(seen, naive(&numbered));
        }

        #[test]
        fn law_garbage_is_refused_quietly(rows: Vec<u8>, write: Vec<u8>, at: u8) {
            let with_head = |bytes: &[u8]| [&[FORMAT, 0][..], bytes].concat();
            let _ = merge(Some(&rows), &write, &version(at));
            let _ = merge(Some(&with_head(&rows)), &with_head(&write), &version(at));
            if let Some(partition) = Partition::open(Some(&with_head(&rows))) {
                partition.rows(&ALL).for_each(drop);
            }
        }
    }

    fn row(ck: u8, live: bool, delete: bool, cells: &[(u16, Option<&[u8]>)]) -> RowWrite {
        let cell = |(column, value): &(u16, Option<&[u8]>)| CellWrite {
            column: *column,
            value: value.map(<[u8]>::to_vec),
            shown: None,
        };
        let cells = cells.iter().map(cell).collect();
        RowWrite { clustering: vec![ck], delete, live, cells }
    }

    #[test]
    fn an_assignment_beats_the_deletion_of_its_own_transaction() {
        let write = Write { delete: true, rows: vec![row(1, true, true, &[(7, Some(b"v"))])] };
        let rows = merge(None, &write.encode(), &version(5)).unwrap();
        let found: Vec<_> = Partition::open(rows.as_deref()).unwrap().rows(&ALL).map(|row| row.value(7)).collect();
        assert_eq!(found, [Some(&b"v"[..])]);
    }

    #[test]
    fn a_row_whose_only_value_is_cleared_is_gone_unless_it_was_inserted() {
        for (live, left) in [(false, 0), (true, 1)] {
            let write = Write { delete: false, rows: vec![row(1, live, false, &[(7, Some(b"v"))])] };
            let rows = merge(None, &write.encode(), &version(1)).unwrap();
            let write = Write { delete: false, rows: vec![row(1, false, false, &[(7, None)])] };
            let rows = merge(rows.as_deref(), &write.encode(), &version(2)).unwrap();
            assert_eq!(Partition::open(rows.as_deref()).unwrap().rows(&ALL).count(), left);
        }
    }

    #[test]
    fn the_time_shown_is_that_of_execution_unless_the_client_chose_one() {
        let cells = vec![
            CellWrite { column: 1, value: Some(vec![1]), shown: None },
            CellWrite { column: 2, value: Some(vec![2]), shown: Some(-7) },
        ];
        let write = Write { delete: false, rows: vec![RowWrite { clustering: vec![1], cells, ..RowWrite::default() }] };
        let rows = merge(None, &write.encode(), &version(9)).unwrap();
        let row = Partition::open(rows.as_deref()).unwrap().rows(&ALL).next().unwrap();
        assert_eq!(row.write_time(1), Some(9u64.to_be_bytes()));
        assert_eq!(row.write_time(2), Some((-7i64).to_be_bytes()));
        assert_eq!(row.write_time(3), None);
    }

    #[test]
    fn an_empty_write_on_nothing_stores_nothing() {
        assert_eq!(merge(None, &Write::default().encode(), &version(1)), Some(None));
    }
}
