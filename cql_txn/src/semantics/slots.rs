//! What a plan reads: gathered where the rows are, looked up where the plan runs.
//!
//! Data of one key: a byte (1, or 0 if the rows could not be read), then for each read of that key, in the order of the plan, a
//! count of rows and of each its clustering key and the values of the read's columns.

use crate::encoding::{Reader, put_bytes, put_count, put_nullable};
use crate::error::Error;
use crate::plan::{ColumnRef, Part, Plan, PlanTable, Read, Slice, WRITE_TIME};
use crate::row::{Partition, Row};
use crate::value::{Type, element, field, partition_component, parts};
use protocol::{Bytes, Key};
use std::borrow::Cow;

/// Data of `key` for every read of `plan`; empty if it reads nothing there.
pub(super) fn collect(plan: &Plan<'_>, key: &Key, rows: Option<&[u8]>) -> Vec<u8> {
    let is_it = |of: &Read<'_>| {
        let known = &plan.steps.keys[of.key];
        plan.tables[known.table].id == key.table && *known.partition == *key.partition
    };
    let mut reads = plan.steps.reads.iter().filter(|read| is_it(read)).peekable();
    if reads.peek().is_none() {
        return Vec::new();
    }
    let Some(partition) = Partition::open(rows) else { return vec![UNREADABLE] };
    let mut out = vec![READ];
    for read in reads {
        put_rows(&plan.tables[plan.steps.keys[read.key].table], read, partition, &mut out);
    }
    out
}

fn put_rows(table: &PlanTable<'_>, read: &Read<'_>, partition: Partition<'_>, out: &mut Vec<u8>) {
    let limit = read.limit.map_or(usize::MAX, |limit| limit as usize);
    let is_row = |row: &Row<'_>| table.clustering_count == 0 || !row.clustering.is_empty();
    let rows = || read.slices.iter().flat_map(|slice| partition.rows(slice)).filter(is_row);
    let statics = if table.clustering_count == 0 { None } else { partition.static_row() };
    let mut found: Vec<Row<'_>> = Vec::new();
    if read.backwards {
        found.extend(rows());
        found.reverse();
        found.truncate(limit);
    } else {
        found.extend(rows().take(limit));
    }
    let is_whole = read.slices.contains(&Slice::Prefix(Cow::Borrowed(&[])));
    // A partition that has nothing but static values shows itself as one row.
    found.extend(statics.filter(|_| found.is_empty() && is_whole));
    put_count(out, found.len());
    for row in found {
        put_bytes(out, row.clustering);
        for column in read.columns.iter() {
            put_column(table, column, row, statics, out);
        }
    }
}

fn put_column(table: &PlanTable<'_>, column: usize, row: Row<'_>, statics: Option<Row<'_>>, out: &mut Vec<u8>) {
    let known = &table.columns[column & !usize::from(WRITE_TIME)];
    let is_static_row = table.clustering_count > 0 && row.clustering.is_empty();
    let from = if known.is_static { statics } else { Some(row).filter(|_| !is_static_row) };
    if column & usize::from(WRITE_TIME) == 0 {
        put_nullable(out, from.and_then(|row| row.value(known.id)));
    } else {
        put_nullable(out, from.and_then(|row| row.write_time(known.id)).as_ref().map(|time| &time[..]));
    }
}

/// All that a plan has read.
pub(super) struct Slots<'p> {
    plan: &'p Plan<'p>,
    slots: Vec<Slot<'p>>,
}

impl<'p> Found<'p> {
    pub(super) fn clustering(&self) -> &'p [u8] {
        self.clustering
    }
}

/// What one read has found.
#[derive(Clone, Copy, Default)]
struct Slot<'p> {
    count: usize,
    rows: &'p [u8],
}

/// One row that was read.
#[derive(Clone, Copy)]
pub(super) struct Found<'p> {
    clustering: &'p [u8],
    values: &'p [u8],
}

impl<'p> Slots<'p> {
    /// Takes apart `data`, one entry for each key of the plan in the same order.
    pub(super) fn open(plan: &'p Plan<'p>, data: &'p [(Key, Bytes)]) -> Result<Self, Error> {
        let keys = &plan.steps.keys;
        let is_same = |(key, known): (&Key, &crate::plan::PlanKey<'_>)| {
            key.table == plan.tables[known.table].id && *key.partition == *known.partition
        };
        if keys.len() != data.len() || !data.iter().map(|(key, _)| key).zip(keys).all(is_same) {
            return Err(Error::server("the data read does not belong to the keys of this transaction"));
        }
        let mut rest: Vec<Reader<'p>> = data.iter().map(|(_, bytes)| Reader(bytes)).collect();
        let mut slots = Vec::with_capacity(plan.steps.reads.len());
        let mut begun = vec![false; keys.len()];
        for read in &plan.steps.reads {
            let from = &mut rest[read.key];
            if !std::mem::replace(&mut begun[read.key], true) && from.u8() != Some(READ) {
                return Err(Error::server("the stored rows cannot be read by this build"));
            }
            slots.push(take_slot(from, read).ok_or_else(|| Error::server("the data read is damaged"))?);
        }
        Ok(Self { plan, slots })
    }

    /// The rows of a read, in clustering order.
    pub(super) fn rows(&self, read: usize) -> impl ExactSizeIterator<Item = Found<'p>> {
        let Slot { count, rows } = self.slots[read];
        let columns = self.plan.steps.reads[read].columns.iter().count();
        let mut rest = Reader(rows);
        (0..count).map(move |_| take_row(&mut rest, columns).unwrap_or(Found { clustering: &[], values: &[] }))
    }

    /// The value of a reference; `None` is null. A reference to a row is never asked for its value.
    pub(super) fn value(&self, of: &ColumnRef<'_>) -> Option<Cow<'p, [u8]>> {
        let column = of.column?;
        let value = self.value_in(of.read, column, self.rows(of.read).next()?)?;
        part_of(self.type_of(of.read, column), value, &of.part)
    }

    /// A column of a row of a read.
    pub(super) fn value_in(&self, read: usize, column: usize, row: Found<'p>) -> Option<Cow<'p, [u8]>> {
        let read = &self.plan.steps.reads[read];
        let key = &self.plan.steps.keys[read.key];
        let table = &self.plan.tables[key.table];
        if column < table.partition_count {
            return partition_component(&key.partition, column, table.partition_count);
        }
        if let Some(position) = column.checked_sub(table.partition_count).filter(|at| *at < table.clustering_count) {
            return clustering_component(table, position, row.clustering).map(Cow::Owned);
        }
        let position = read.columns.iter().position(|fetched| fetched == column)?;
        let mut values = Reader(row.values);
        for _ in 0..position {
            values.nullable()?;
        }
        values.nullable()?.map(Cow::Borrowed)
    }

    /// Whether a reference is null. A row that shows nothing but static values does not exist.
    pub(super) fn is_null(&self, of: &ColumnRef<'_>) -> bool {
        match of.column {
            None => self.rows(of.read).next().is_none_or(|row| self.is_static_only(of.read, row)),
            Some(_) => self.value(of).is_none(),
        }
    }

    /// Whether a row stands for the static values of a partition without rows.
    pub(super) fn is_static_only(&self, read: usize, row: Found<'_>) -> bool {
        self.table_of(read).clustering_count > 0 && row.clustering.is_empty()
    }

    pub(super) fn table_of(&self, read: usize) -> &'p PlanTable<'p> {
        &self.plan.tables[self.plan.steps.keys[self.plan.steps.reads[read].key].table]
    }

    /// The type of a column of the table of a read.
    pub(super) fn type_of(&self, read: usize, column: usize) -> &'p Type {
        &self.table_of(read).columns[column].ty
    }

    /// The type of what a reference to a column names.
    pub(super) fn type_of_part(&self, of: &ColumnRef<'_>) -> Option<&'p Type> {
        let ty = self.type_of(of.read, of.column?);
        match (&of.part, ty.thawed()) {
            (Part::Whole, _) => Some(ty),
            (Part::Element(_), Type::List(of) | Type::Set(of)) => Some(of),
            (Part::Element(_), Type::Map(of)) => Some(&of.1),
            (Part::Field(number), ty) => parts(ty).get(usize::from(*number)).copied(),
            _ => None,
        }
    }
}

/// A part of a value of type `ty`.
pub(super) fn part_of<'v>(ty: &Type, value: Cow<'v, [u8]>, part: &Part<'_>) -> Option<Cow<'v, [u8]>> {
    fn cut<'b>(ty: &Type, value: &'b [u8], part: &Part<'_>) -> Option<&'b [u8]> {
        match part {
            Part::Whole => Some(value),
            Part::Element(key) => element(ty, value, key),
            Part::Field(number) => field(ty, value, usize::from(*number)),
        }
    }
    match value {
        Cow::Borrowed(value) => cut(ty, value, part).map(Cow::Borrowed),
        Cow::Owned(value) => cut(ty, &value, part).map(|part| Cow::Owned(part.to_vec())),
    }
}

fn clustering_component(table: &PlanTable<'_>, position: usize, clustering: &[u8]) -> Option<Vec<u8>> {
    let columns = table.columns.get(table.partition_count..)?;
    let mut from = Reader(clustering);
    for column in columns.get(..position)? {
        column.ty.take_ordered(&mut from, column.descending)?;
    }
    let column = columns.get(position)?;
    column.ty.take_ordered(&mut from, column.descending)
}

fn take_slot<'p>(from: &mut Reader<'p>, read: &Read<'_>) -> Option<Slot<'p>> {
    let columns = read.columns.iter().count();
    let count = from.count_of(1)?;
    let rows = from.0;
    for _ in 0..count {
        take_row(from, columns)?;
    }
    Some(Slot { count, rows: &rows[..rows.len() - from.0.len()] })
}

fn take_row<'p>(from: &mut Reader<'p>, columns: usize) -> Option<Found<'p>> {
    let clustering = from.bytes()?;
    let values = from.0;
    for _ in 0..columns {
        from.nullable()?;
    }
    Some(Found { clustering, values: &values[..values.len() - from.0.len()] })
}

const UNREADABLE: u8 = 0;
const READ: u8 = 1;
