//! The body of a transaction: everything that executing or recovering it needs, with tables and columns by number and type.
//!
//! ```text
//! body       tables | keys | reads | conditions | returning | writes       each a count and so many entries
//! table      number u32 | name | key columns u8 | clustering columns u8 | column*
//! column     number u16 | type u8, top bit = descending | name
//! key        table | partition key                                         in the order of the transaction's keys
//! read       key | clustering prefix | limit + 1 or 0 | column numbers u16*
//! condition  read | column + 1, or 0 for the row | test u8 | [value]
//! returning  0, or 1 | read | columns u16*, or 2 | references
//! write      key | kind u8 | clustering | assignment*
//! assignment column | op u8 | value | [read of the old value]
//! value      0 null, 1 | bytes, 2 | read | column
//! ```

use crate::ast::Comparison;
use crate::encoding::{Reader, put_bytes, put_count};
use crate::value::Type;
use protocol::TableId;
use std::borrow::Cow;

/// A decoded body; indices within it have been checked.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Plan<'a> {
    pub(crate) tables: Vec<PlanTable<'a>>,
    pub(crate) steps: Steps<'a>,
}

/// All of a plan but its tables, which are encoded once per prepared statement.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Steps<'a> {
    pub(crate) keys: Vec<PlanKey<'a>>,
    pub(crate) reads: Vec<Read<'a>>,
    pub(crate) conditions: Vec<(ColumnRef, Test<'a>)>,
    pub(crate) returning: Returning<'a>,
    pub(crate) writes: Vec<PlanWrite<'a>>,
}

/// A table and those of its columns that the plan names; the columns of its key come first.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct PlanTable<'a> {
    pub(crate) id: TableId,
    /// Keyspace and table, for warnings.
    pub(crate) name: Cow<'a, str>,
    pub(crate) partition_count: usize,
    pub(crate) clustering_count: usize,
    pub(crate) columns: Vec<PlanColumn<'a>>,
}

#[derive(Clone, PartialEq, Debug)]
pub(crate) struct PlanColumn<'a> {
    pub(crate) id: u16,
    pub(crate) ty: Type,
    pub(crate) descending: bool,
    pub(crate) name: Cow<'a, str>,
}

#[derive(Clone, PartialEq, Debug)]
pub(crate) struct PlanKey<'a> {
    pub(crate) table: usize,
    pub(crate) partition: Cow<'a, [u8]>,
}

/// The rows of one key whose clustering key begins with `prefix`.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Read<'a> {
    pub(crate) key: usize,
    pub(crate) prefix: Cow<'a, [u8]>,
    pub(crate) limit: Option<u32>,
    /// Values fetched, none of them part of the key.
    pub(crate) columns: Columns<'a>,
}

/// Indices of columns, two bytes each.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Columns<'a>(pub(crate) Cow<'a, [u8]>);

/// A column of the first row of a read, or the row itself.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct ColumnRef {
    pub(crate) read: usize,
    pub(crate) column: Option<usize>,
}

#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Test<'a> {
    Null,
    NotNull,
    Compare(Comparison, &'a [u8]),
}

#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Returning<'a> {
    Nothing,
    Rows { read: usize, columns: Columns<'a> },
    References(Vec<ColumnRef>),
}

#[derive(Clone, PartialEq, Debug)]
pub(crate) struct PlanWrite<'a> {
    pub(crate) key: usize,
    pub(crate) kind: WriteKind,
    pub(crate) clustering: Cow<'a, [u8]>,
    pub(crate) assignments: Vec<Assigned<'a>>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(crate) enum WriteKind {
    /// Assigns.
    Update = 0,
    /// Assigns and makes the row exist.
    Insert = 1,
    /// Deletes one row.
    DeleteRow = 2,
    /// Deletes the partition.
    DeletePartition = 3,
}

#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Assigned<'a> {
    pub(crate) column: usize,
    pub(crate) op: Op,
    pub(crate) value: Value<'a>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Op {
    Set,
    /// Adds to the value that this read has seen.
    Add(usize),
    /// Subtracts from it.
    Subtract(usize),
}

#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Value<'a> {
    Null,
    Bytes(&'a [u8]),
    Reference(ColumnRef),
}

impl<'a> Columns<'a> {
    pub(crate) fn of(indices: &[u16]) -> Columns<'static> {
        Columns(Cow::Owned(indices.iter().flat_map(|index| index.to_be_bytes()).collect()))
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = usize> {
        self.0.as_chunks().0.iter().map(|pair| usize::from(u16::from_be_bytes(*pair)))
    }

    pub(crate) fn borrowed(&'a self) -> Self {
        Columns(Cow::Borrowed(&self.0))
    }

    fn take(from: &mut Reader<'a>, bound: usize) -> Option<Self> {
        let count = from.count_of(2)?;
        let columns = Columns(Cow::Borrowed(from.take(count * 2)?));
        let fits = columns.iter().all(|column| column < bound);
        fits.then_some(columns)
    }

    fn put(&self, out: &mut Vec<u8>) {
        put_count(out, self.0.len() / 2);
        out.extend_from_slice(&self.0);
    }
}

impl PlanTable<'_> {
    pub(crate) fn put(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.id.0.to_be_bytes());
        put_bytes(out, self.name.as_bytes());
        out.extend_from_slice(&[self.partition_count as u8, self.clustering_count as u8]);
        put_count(out, self.columns.len());
        for column in &self.columns {
            out.extend_from_slice(&column.id.to_be_bytes());
            out.push(column.ty.option_id() as u8 | if column.descending { DESCENDING } else { 0 });
            put_bytes(out, column.name.as_bytes());
        }
    }
}

impl Steps<'_> {
    /// The body; `tables` are encoded by [`PlanTable::put`] after their count.
    pub(crate) fn encode(&self, tables: &[u8]) -> Vec<u8> {
        let mut out =
            Vec::with_capacity(tables.len() + 32 * (self.keys.len() + self.reads.len() + self.writes.len()) + 32);
        out.extend_from_slice(tables);
        put_count(&mut out, self.keys.len());
        for key in &self.keys {
            put_count(&mut out, key.table);
            put_bytes(&mut out, &key.partition);
        }
        put_count(&mut out, self.reads.len());
        for read in &self.reads {
            put_count(&mut out, read.key);
            put_bytes(&mut out, &read.prefix);
            put_count(&mut out, read.limit.map_or(0, |limit| limit as usize + 1));
            read.columns.put(&mut out);
        }
        put_count(&mut out, self.conditions.len());
        for (column, test) in &self.conditions {
            column.put(&mut out);
            test.put(&mut out);
        }
        self.returning.put(&mut out);
        put_count(&mut out, self.writes.len());
        self.writes.iter().for_each(|write| write.put(&mut out));
        out
    }
}

impl ColumnRef {
    fn put(self, out: &mut Vec<u8>) {
        put_count(out, self.read);
        put_count(out, self.column.map_or(0, |column| column + 1));
    }
}

impl Test<'_> {
    fn put(self, out: &mut Vec<u8>) {
        match self {
            Self::Null => out.push(0),
            Self::NotNull => out.push(1),
            Self::Compare(comparison, value) => {
                let at = COMPARISONS.iter().position(|known| *known == comparison).unwrap_or_default();
                out.push(FIRST_COMPARISON + at as u8);
                put_bytes(out, value);
            }
        }
    }
}

impl Returning<'_> {
    fn put(&self, out: &mut Vec<u8>) {
        match self {
            Self::Nothing => out.push(0),
            Self::Rows { read, columns } => {
                out.push(1);
                put_count(out, *read);
                columns.put(out);
            }
            Self::References(references) => {
                out.push(2);
                put_count(out, references.len());
                references.iter().for_each(|reference| reference.put(out));
            }
        }
    }
}

impl PlanWrite<'_> {
    fn put(&self, out: &mut Vec<u8>) {
        put_count(out, self.key);
        out.push(self.kind as u8);
        put_bytes(out, &self.clustering);
        put_count(out, self.assignments.len());
        for assigned in &self.assignments {
            put_count(out, assigned.column);
            let (op, read) = match assigned.op {
                Op::Set => (0, None),
                Op::Add(read) => (1, Some(read)),
                Op::Subtract(read) => (2, Some(read)),
            };
            out.push(op);
            match assigned.value {
                Value::Null => out.push(0),
                Value::Bytes(bytes) => {
                    out.push(1);
                    put_bytes(out, bytes);
                }
                Value::Reference(reference) => {
                    out.push(2);
                    reference.put(out);
                }
            }
            if let Some(read) = read {
                put_count(out, read);
            }
        }
    }
}

impl<'a> Plan<'a> {
    /// Reads a body; `None` unless it is exactly one plan whose indices all lead somewhere.
    pub(crate) fn decode(bytes: &'a [u8]) -> Option<Self> {
        let mut from = Reader(bytes);
        let context = Context::take(&mut from)?;
        let conditions = entries(&mut from, 3, |from| Some((context.take_reference(from)?, context.take_test(from)?)))?;
        let conditions_fit =
            conditions.iter().all(|(at, test)| at.column.is_some() || !matches!(test, Test::Compare(..)));
        let returning = context.take_returning(&mut from)?;
        let writes = entries(&mut from, 4, |from| context.take_write(from))?;
        let Context { tables, keys, reads } = context;
        let steps = Steps { keys, reads, conditions, returning, writes };
        from.end(Self { tables, steps }).filter(|_| conditions_fit)
    }

    /// Only the front of a body: what a replica needs that reads for it. The rest comes out empty.
    pub(crate) fn decode_reads(bytes: &'a [u8]) -> Option<Self> {
        let Context { tables, keys, reads } = Context::take(&mut Reader(bytes))?;
        let steps = Steps { keys, reads, conditions: Vec::new(), returning: Returning::Nothing, writes: Vec::new() };
        Some(Self { tables, steps })
    }
}

/// A count and so many entries of at least `size` bytes.
fn entries<'a, T>(
    from: &mut Reader<'a>,
    size: usize,
    mut entry: impl FnMut(&mut Reader<'a>) -> Option<T>,
) -> Option<Vec<T>> {
    let count = from.count_of(size)?;
    let mut entries = Vec::with_capacity(count);
    for _ in 0..count {
        entries.push(entry(from)?);
    }
    Some(entries)
}

fn take_table<'a>(from: &mut Reader<'a>) -> Option<PlanTable<'a>> {
    let id = TableId(from.u32()?);
    let name = Cow::Borrowed(from.text()?);
    let (partition_count, clustering_count) = (usize::from(from.u8()?), usize::from(from.u8()?));
    let columns = entries(from, 4, |from| {
        let (id, code) = (from.u16()?, from.u8()?);
        let ty = Type::from_option_id(code & !DESCENDING)?;
        Some(PlanColumn { id, ty, descending: code & DESCENDING != 0, name: Cow::Borrowed(from.text()?) })
    })?;
    let fits = partition_count > 0 && partition_count + clustering_count <= columns.len();
    fits.then_some(PlanTable { id, name, partition_count, clustering_count, columns })
}

/// What later entries refer to.
struct Context<'a> {
    tables: Vec<PlanTable<'a>>,
    keys: Vec<PlanKey<'a>>,
    reads: Vec<Read<'a>>,
}

impl<'a> Context<'a> {
    fn take(from: &mut Reader<'a>) -> Option<Self> {
        let mut context = Self { tables: entries(from, 8, take_table)?, keys: Vec::new(), reads: Vec::new() };
        context.keys = entries(from, 2, |from| context.take_key(from))?;
        context.reads = entries(from, 4, |from| context.take_read(from))?;
        Some(context)
    }

    fn take_key(&self, from: &mut Reader<'a>) -> Option<PlanKey<'a>> {
        let table = from.count().filter(|table| *table < self.tables.len())?;
        Some(PlanKey { table, partition: Cow::Borrowed(from.bytes()?) })
    }

    /// How many columns the table of `key` has.
    fn column_count(&self, key: usize) -> Option<usize> {
        Some(self.tables.get(self.keys.get(key)?.table)?.columns.len())
    }

    fn take_read(&self, from: &mut Reader<'a>) -> Option<Read<'a>> {
        let key = from.count()?;
        let prefix = Cow::Borrowed(from.bytes()?);
        let limit = from.count()?.checked_sub(1).map(|limit| limit as u32);
        Some(Read { key, prefix, limit, columns: Columns::take(from, self.column_count(key)?)? })
    }

    fn read_columns(&self, read: usize) -> Option<usize> {
        self.column_count(self.reads.get(read)?.key)
    }

    fn take_reference(&self, from: &mut Reader<'a>) -> Option<ColumnRef> {
        let read = from.count()?;
        let bound = self.read_columns(read)?;
        let column = from.count()?.checked_sub(1);
        column.is_none_or(|column| column < bound).then_some(ColumnRef { read, column })
    }

    fn take_test(&self, from: &mut Reader<'a>) -> Option<Test<'a>> {
        match from.u8()? {
            0 => Some(Test::Null),
            1 => Some(Test::NotNull),
            code => {
                let comparison = COMPARISONS.get(usize::from(code - FIRST_COMPARISON))?;
                Some(Test::Compare(*comparison, from.bytes()?))
            }
        }
    }

    fn take_returning(&self, from: &mut Reader<'a>) -> Option<Returning<'a>> {
        match from.u8()? {
            0 => Some(Returning::Nothing),
            1 => {
                let read = from.count()?;
                Some(Returning::Rows { read, columns: Columns::take(from, self.read_columns(read)?)? })
            }
            2 => entries(from, 2, |from| self.take_reference(from)).map(Returning::References),
            _ => None,
        }
    }

    fn take_write(&self, from: &mut Reader<'a>) -> Option<PlanWrite<'a>> {
        let key = from.count()?;
        let bound = self.column_count(key)?;
        let kind = match from.u8()? {
            0 => WriteKind::Update,
            1 => WriteKind::Insert,
            2 => WriteKind::DeleteRow,
            3 => WriteKind::DeletePartition,
            _ => return None,
        };
        let clustering = Cow::Borrowed(from.bytes()?);
        let assignments = entries(from, 3, |from| self.take_assigned(from, bound))?;
        Some(PlanWrite { key, kind, clustering, assignments })
    }

    fn take_assigned(&self, from: &mut Reader<'a>, bound: usize) -> Option<Assigned<'a>> {
        let column = from.count().filter(|column| *column < bound)?;
        let op = from.u8()?;
        let value = match from.u8()? {
            0 => Value::Null,
            1 => Value::Bytes(from.bytes()?),
            2 => Value::Reference(self.take_reference(from)?),
            _ => return None,
        };
        let op = match op {
            0 => Op::Set,
            1 => Op::Add(from.count().filter(|read| self.read_columns(*read) == Some(bound))?),
            2 => Op::Subtract(from.count().filter(|read| self.read_columns(*read) == Some(bound))?),
            _ => return None,
        };
        Some(Assigned { column, op, value })
    }
}

const DESCENDING: u8 = 0x80;

/// Numbers on the wire: position here plus two.
const COMPARISONS: [Comparison; 6] =
    [Comparison::Eq, Comparison::Ne, Comparison::Lt, Comparison::Le, Comparison::Gt, Comparison::Ge];

const FIRST_COMPARISON: u8 = 2;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use proptest::prelude::*;

    fn bodies() -> Vec<Vec<u8>> {
        let schema = testing::schema();
        testing::SIMPLE_BANK.iter().map(|text| testing::bound(&schema, text).body.bytes.to_vec()).collect()
    }

    #[test]
    fn a_plan_comes_back_from_its_body() {
        for body in bodies() {
            let plan = Plan::decode(&body).expect("our own body");
            let mut tables = Vec::new();
            put_count(&mut tables, plan.tables.len());
            plan.tables.iter().for_each(|table| table.put(&mut tables));
            assert_eq!(plan.steps.encode(&tables), body);
        }
    }

    #[test]
    fn a_body_cut_short_or_lengthened_is_refused() {
        for body in bodies() {
            assert!((0..body.len()).all(|end| Plan::decode(&body[..end]).is_none()));
            assert!(Plan::decode(&[&body[..], &[0]].concat()).is_none());
        }
    }

    proptest! {
        #[test]
        fn law_garbage_is_refused_quietly(noise: Vec<u8>) {
            let _ = Plan::decode(&noise);
        }
    }
}
