//! Bytes to a plan; every index is checked here, so that nobody else has to.

use super::{
    Assigned, COMPARISONS, ColumnRef, Columns, FIRST_COMPARISON, FUNCTIONS, Item, Op, Part, Plan, PlanColumn, PlanKey,
    PlanTable, PlanWrite, Read, Returning, Slice, Slices, Steps, Test, Value, WRITE_TIME, WriteKind,
};
use crate::encoding::Reader;
use crate::value::Type;
use protocol::TableId;
use std::borrow::Cow;

impl<'a> Plan<'a> {
    /// Reads a body; `None` unless it is exactly one plan whose indices all lead somewhere.
    pub(crate) fn decode(bytes: &'a [u8]) -> Option<Self> {
        let mut from = Reader(bytes);
        let context = Context::take(&mut from)?;
        let conditions = entries(&mut from, 3, |from| Some((context.take_reference(from)?, take_test(from)?)))?;
        let conditions_fit =
            conditions.iter().all(|(at, test)| at.column.is_some() || !matches!(test, Test::Compare(..)));
        let returning = context.take_returning(&mut from)?;
        let writes = entries(&mut from, 5, |from| context.take_write(from))?;
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

impl<'a> Columns<'a> {
    fn take(from: &mut Reader<'a>, bound: usize) -> Option<Self> {
        let count = from.count_of(2)?;
        let columns = Columns(Cow::Borrowed(from.take(count * 2)?));
        let fits = columns.iter().all(|column| column & !usize::from(WRITE_TIME) < bound);
        fits.then_some(columns)
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

fn take_limit(from: &mut Reader<'_>) -> Option<Option<u32>> {
    Some(from.count()?.checked_sub(1).map(|limit| limit as u32))
}

fn take_flag(from: &mut Reader<'_>) -> Option<bool> {
    from.u8().filter(|flag| *flag <= 1).map(|flag| flag == 1)
}

fn take_table<'a>(from: &mut Reader<'a>) -> Option<PlanTable<'a>> {
    let id = TableId(from.u32()?);
    let name = Cow::Borrowed(from.text()?);
    let (partition_count, clustering_count) = (usize::from(from.u8()?), usize::from(from.u8()?));
    let columns = entries(from, 5, |from| {
        let id = from.u16()?;
        let flags = from.u8().filter(|flags| *flags <= 3)?;
        let ty = Type::take_from(from)?;
        let name = Cow::Borrowed(from.text()?);
        Some(PlanColumn { id, ty, descending: flags & 1 != 0, is_static: flags & 2 != 0, name })
    })?;
    let fits = partition_count > 0 && partition_count + clustering_count <= columns.len();
    fits.then_some(PlanTable { id, name, partition_count, clustering_count, columns })
}

fn take_slice<'a>(from: &mut Reader<'a>) -> Option<Slice<'a>> {
    match from.u8()? {
        0 => Some(Slice::Prefix(Cow::Borrowed(from.bytes()?))),
        1 => Some(Slice::Between(Cow::Borrowed(from.bytes()?), from.nullable()?.map(Cow::Borrowed))),
        _ => None,
    }
}

fn take_part<'a>(from: &mut Reader<'a>) -> Option<Part<'a>> {
    match from.u8()? {
        0 => Some(Part::Whole),
        1 => from.bytes().map(|key| Part::Element(Cow::Borrowed(key))),
        2 => from.u16().map(Part::Field),
        _ => None,
    }
}

fn take_test<'a>(from: &mut Reader<'a>) -> Option<Test<'a>> {
    match from.u8()? {
        0 => Some(Test::Null),
        1 => Some(Test::NotNull),
        code => {
            let comparison = COMPARISONS.get(usize::from(code - FIRST_COMPARISON))?;
            Some(Test::Compare(*comparison, Cow::Borrowed(from.bytes()?)))
        }
    }
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
        context.reads = entries(from, 5, |from| context.take_read(from))?;
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
        let count = from.count_of(2)?;
        let slices = (0..count).map(|_| take_slice(from)).collect::<Option<Slices<'a>>>()?;
        let (limit, backwards) = (take_limit(from)?, take_flag(from)?);
        Some(Read { key, slices, limit, backwards, columns: Columns::take(from, self.column_count(key)?)? })
    }

    fn read_columns(&self, read: usize) -> Option<usize> {
        self.column_count(self.reads.get(read)?.key)
    }

    fn take_reference(&self, from: &mut Reader<'a>) -> Option<ColumnRef<'a>> {
        let read = from.count()?;
        let bound = self.read_columns(read)?;
        let Some(column) = from.count()?.checked_sub(1) else {
            return Some(ColumnRef { read, column: None, part: Part::Whole });
        };
        let part = take_part(from)?;
        (column < bound).then_some(ColumnRef { read, column: Some(column), part })
    }

    fn take_returning(&self, from: &mut Reader<'a>) -> Option<Returning<'a>> {
        match from.u8()? {
            0 => Some(Returning::Nothing),
            1 => {
                let (first, reads, limit) = (from.count()?, from.count()?, take_limit(from)?);
                let last = first.checked_add(reads).filter(|end| *end <= self.reads.len());
                let bound = if reads == 0 { 0 } else { self.read_columns(first)? };
                let is_one_table = (first..last?)
                    .all(|read| self.table_of(read).is_some() && self.table_of(read) == self.table_of(first));
                let items = entries(from, 3, |from| take_item(from, bound))?;
                is_one_table.then_some(Returning::Rows { first, reads, limit, items })
            }
            2 => entries(from, 2, |from| self.take_reference(from)).map(Returning::References),
            3 => {
                let read = from.count()?.checked_sub(1);
                let bound = match read {
                    Some(read) => self.read_columns(read)?,
                    None => 0,
                };
                Some(Returning::Applied { read, columns: Columns::take(from, bound)? })
            }
            _ => None,
        }
    }

    fn table_of(&self, read: usize) -> Option<usize> {
        Some(self.keys.get(self.reads.get(read)?.key)?.table)
    }

    fn take_write(&self, from: &mut Reader<'a>) -> Option<PlanWrite<'a>> {
        let key = from.count()?;
        let bound = self.column_count(key)?;
        let kind = match from.u8()? {
            0 => WriteKind::Update,
            1 => WriteKind::Insert,
            2 => WriteKind::DeleteRow,
            3 => WriteKind::DeletePartition,
            4 => WriteKind::DeleteFound(from.count().filter(|read| *read < self.reads.len())?),
            _ => return None,
        };
        let clustering = Cow::Borrowed(from.bytes()?);
        let shown = if take_flag(from)? { Some(from.u64()? as i64) } else { None };
        let assignments = entries(from, 3, |from| self.take_assigned(from, bound))?;
        Some(PlanWrite { key, kind, clustering, shown, assignments })
    }

    fn take_assigned(&self, from: &mut Reader<'a>, bound: usize) -> Option<Assigned<'a>> {
        let column = from.count().filter(|column| *column < bound)?;
        let op = match from.u8()? {
            0 => Op::Set,
            1 => Op::Add,
            2 => Op::Subtract,
            3 => Op::Prepend,
            4 => Op::Put,
            _ => return None,
        };
        let value = match from.u8()? {
            0 => Value::Null,
            1 => Value::Bytes(Cow::Borrowed(from.bytes()?)),
            2 => Value::Reference(self.take_reference(from)?),
            _ => return None,
        };
        let read = match op {
            Op::Set => None,
            _ => Some(from.count().filter(|read| self.read_columns(*read) == Some(bound))?),
        };
        let part = if op == Op::Put { take_part(from)? } else { Part::Whole };
        Some(Assigned { column, op, value, read, part })
    }
}

fn take_item<'a>(from: &mut Reader<'a>, bound: usize) -> Option<Item<'a>> {
    let function = match from.u8()? {
        0 => None,
        kind => Some(*FUNCTIONS.get(usize::from(kind) - 1)?),
    };
    let column = from.count()?.checked_sub(1);
    let part = take_part(from)?;
    let fits = match column {
        Some(column) => column < bound,
        None => function == Some(crate::ast::Function::Count),
    };
    fits.then_some(Item { function, column, part })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encoding::put_count;
    use crate::testing;
    use proptest::prelude::*;

    fn bodies() -> Vec<Vec<u8>> {
        let schema = testing::schema();
        let texts = testing::SIMPLE_BANK.iter().chain(&testing::WIDE);
        texts.map(|text| testing::bound(&schema, text).body.bytes.to_vec()).collect()
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
