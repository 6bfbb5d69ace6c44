//! A prepared plan: a plan whose values may still be bind markers, and what filling them in yields.

mod expand;
mod source;

pub use source::Value;
pub(crate) use source::{KeyPart, Source};

use crate::ast::{Comparison, Function};
use crate::encoding::put_count;
use crate::error::{At, Error};
use crate::plan::{
    Assigned, ColumnRef, Columns, Item, Op, Part, PlanKey, PlanTable, PlanWrite, Read, Returning, Steps, Test,
    Value as PlanValue, WriteKind,
};
use protocol::{Key, TableId};
use source::Filled;
use std::borrow::Cow;

#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Template {
    pub(crate) tables: Vec<TableUse>,
    /// The tables as the body has them.
    pub(crate) encoded_tables: Vec<u8>,
    pub(crate) partitions: Vec<PartitionUse>,
    pub(crate) reads: Vec<ReadUse>,
    pub(crate) conditions: Vec<ConditionUse>,
    pub(crate) returning: ReturningUse,
    pub(crate) writes: Vec<WriteUse>,
    /// Statements follow each other: of two that assign one cell the later one wins.
    pub(crate) is_batch: bool,
}

/// What a key and a check after a schema change need to know of a table.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct TableUse {
    pub(crate) id: TableId,
    pub(crate) group: u8,
    pub(crate) keyspace: String,
    pub(crate) name: String,
    /// Those of its columns that are static.
    pub(crate) statics: Vec<usize>,
}

/// The partitions that a statement names: one, or several by IN.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct PartitionUse {
    pub(crate) table: usize,
    pub(crate) parts: Vec<KeyPart>,
}

/// The rows that a statement names within each of its partitions.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct RowsUse {
    /// Clustering columns given by `=` or IN, from the first.
    pub(crate) prefix: Vec<KeyPart>,
    /// Bounds of the clustering column after them.
    pub(crate) bounds: Vec<(Comparison, KeyPart)>,
}

#[derive(Clone, PartialEq, Debug)]
pub(crate) struct ReadUse {
    pub(crate) partition: usize,
    pub(crate) rows: RowsUse,
    /// One read for each row instead of one for each partition: the old values of a write.
    pub(crate) by_row: bool,
    pub(crate) limit: Option<LimitUse>,
    pub(crate) backwards: bool,
    pub(crate) columns: Columns<'static>,
}

#[derive(Clone, PartialEq, Debug)]
pub(crate) struct LimitUse {
    pub(crate) source: Source,
    pub(crate) must_be_one: bool,
    pub(crate) at: At,
}

#[derive(Clone, PartialEq, Debug)]
pub(crate) struct ConditionUse {
    pub(crate) column: ReferenceUse,
    pub(crate) test: TestUse,
    pub(crate) at: At,
}

#[derive(Clone, PartialEq, Debug)]
pub(crate) struct ReferenceUse {
    pub(crate) read: usize,
    pub(crate) column: Option<usize>,
    pub(crate) part: PartUse,
    pub(crate) at: At,
}

#[derive(Clone, PartialEq, Debug)]
pub(crate) enum PartUse {
    Whole,
    Element(Source),
    Field(u16),
}

#[derive(Clone, PartialEq, Debug)]
pub(crate) enum TestUse {
    Null,
    NotNull,
    Compare(Comparison, Source),
    /// Of a single statement, where null may be compared: it is a test for null.
    CompareOrNull(Comparison, Source),
}

#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) enum ReturningUse {
    #[default]
    Nothing,
    Rows {
        read: usize,
        items: Vec<ItemUse>,
    },
    References(Vec<ReferenceUse>),
    Applied {
        read: Option<usize>,
        columns: Columns<'static>,
    },
}

#[derive(Clone, PartialEq, Debug)]
pub(crate) struct ItemUse {
    pub(crate) function: Option<Function>,
    pub(crate) column: Option<usize>,
    pub(crate) part: PartUse,
    pub(crate) at: At,
}

#[derive(Clone, PartialEq, Debug)]
pub(crate) struct WriteUse {
    pub(crate) partition: usize,
    pub(crate) kind: WriteKind,
    pub(crate) rows: RowsUse,
    pub(crate) shown: Option<Source>,
    pub(crate) assignments: Vec<AssignmentUse>,
    pub(crate) at: At,
}

#[derive(Clone, PartialEq, Debug)]
pub(crate) struct AssignmentUse {
    pub(crate) column: usize,
    pub(crate) op: Op,
    pub(crate) operand: OperandUse,
    /// The read of the old value.
    pub(crate) read: Option<usize>,
    /// Whether the column is static, so that its old value is read once for each partition.
    pub(crate) is_static: bool,
    pub(crate) part: PartUse,
    pub(crate) at: At,
}

#[derive(Clone, PartialEq, Debug)]
pub(crate) enum OperandUse {
    Value(Source),
    Reference(ReferenceUse),
}

/// What bound values make of the parts of a template: where the keys and reads of each have come to stand.
struct Filling<'f> {
    values: &'f [Value<'f>],
    /// By partition use: places among the keys, in the order of the values of the key.
    places: Vec<expand::Places>,
    /// By read use: its first read.
    first_reads: Vec<usize>,
}

impl Template {
    pub(crate) fn is_read_only(&self) -> bool {
        self.writes.is_empty()
    }

    /// Encodes the tables once for all bindings.
    pub(crate) fn seal(&mut self, tables: &[PlanTable<'_>]) {
        put_count(&mut self.encoded_tables, tables.len());
        tables.iter().for_each(|table| table.put(&mut self.encoded_tables));
    }

    /// The keys, sorted and unique, and the body.
    pub(crate) fn fill(&self, values: &[Value<'_>]) -> Result<(Vec<Key>, Vec<u8>), Error> {
        let (keys, places) = expand::keys(&self.partitions, &self.tables, values)?;
        let mut filling = Filling { values, places, first_reads: Vec::with_capacity(self.reads.len()) };
        let mut reads: Vec<Read<'_>> = Vec::with_capacity(self.reads.len());
        for read in &self.reads {
            filling.first_reads.push(reads.len());
            read.fill(&filling, &mut reads)?;
        }
        let mut writes = Vec::with_capacity(self.writes.len());
        let mut statements = Vec::with_capacity(self.writes.len());
        for (statement, write) in self.writes.iter().enumerate() {
            write.fill(&filling, &mut writes)?;
            statements.resize(writes.len(), statement);
        }
        if !self.is_batch && self.writes.len() > 1 {
            self.refuse_overlap(&writes, &statements, &keys)?;
        }
        let returning = self.returning.fill(&filling, &reads, &self.reads)?;
        let steps = Steps {
            keys: keys.iter().map(|key| self.plan_key(key)).collect(),
            reads,
            conditions: self.conditions.iter().map(|of| of.fill(&filling)).collect::<Result<_, _>>()?,
            returning,
            writes,
        };
        let body = steps.encode(&self.encoded_tables);
        drop(steps);
        Ok((keys, body))
    }

    fn plan_key<'k>(&self, key: &'k Key) -> PlanKey<'k> {
        PlanKey { table: self.table_of(key), partition: Cow::Borrowed(&key.partition) }
    }

    fn table_of(&self, key: &Key) -> usize {
        self.tables.iter().position(|table| table.id == key.table).unwrap_or_default()
    }

    /// Two statements may not assign one cell: there is no order between them. *Source*: [CQL 1.6, duplicate rule].
    fn refuse_overlap(&self, writes: &[PlanWrite<'_>], statements: &[usize], keys: &[Key]) -> Result<(), Error> {
        let mut cells: Vec<(usize, &[u8], usize, usize)> = Vec::with_capacity(writes.len() * 2);
        for (write, statement) in writes.iter().zip(statements) {
            let statics = &self.tables[self.table_of(&keys[write.key])].statics;
            for assigned in &write.assignments {
                let is_static = statics.contains(&assigned.column);
                let clustering = if is_static { &[][..] } else { &*write.clustering };
                cells.push((write.key, clustering, assigned.column, *statement));
            }
        }
        cells.sort_unstable();
        let is_double = |pair: &&[(usize, &[u8], usize, usize)]| {
            let [one, other] = pair else { return false };
            (one.0, one.1, one.2) == (other.0, other.1, other.2) && one.3 != other.3
        };
        if let Some(pair) = cells.windows(2).find(is_double) {
            let message = "this statement assigns a column that an earlier statement of the transaction assigns \
                           in the same row; make it one statement";
            return Err(Error::invalid(self.writes[pair[1].3].at, message));
        }
        Ok(())
    }
}

impl ReadUse {
    fn fill<'v>(&'v self, filling: &Filling<'v>, out: &mut Vec<Read<'v>>) -> Result<(), Error> {
        let limit = match &self.limit {
            Some(limit) => Some(limit.fill(filling.values)?),
            None => None,
        };
        let read = |key, slices| {
            let columns = self.columns.borrowed();
            Read { key, slices, limit, backwards: self.backwards, columns }
        };
        let slices = self.rows.slices(filling.values)?;
        for key in &filling.places[self.partition] {
            if self.by_row {
                out.extend(slices.iter().map(|slice| read(*key, vec![slice.clone()])));
            } else {
                out.push(read(*key, slices.clone()));
            }
        }
        Ok(())
    }
}

impl LimitUse {
    /// LIMIT 1.
    pub(crate) fn one() -> Self {
        Self { source: Source::Bytes(1i32.to_be_bytes().to_vec()), must_be_one: false, at: At::NOWHERE }
    }

    /// Refuses a constant that can never do.
    pub(crate) fn check(&self) -> Result<(), Error> {
        self.fill(&[]).map(|_| ())
    }

    fn fill(&self, values: &[Value<'_>]) -> Result<u32, Error> {
        let limit = match self.source.value(values, self.at)? {
            Filled::Bytes(bytes) => (&*bytes).try_into().map(i32::from_be_bytes).unwrap_or_default(),
            Filled::Null | Filled::NotSet => return Err(Error::invalid(self.at, "LIMIT needs a value")),
        };
        if self.must_be_one && limit != 1 {
            let message = "LET reads one row: restrict every primary key column by '=' or say LIMIT 1";
            return Err(Error::invalid(self.at, message));
        }
        u32::try_from(limit)
            .ok()
            .filter(|limit| *limit > 0)
            .ok_or_else(|| Error::invalid(self.at, format!("LIMIT must be above zero, not {limit}")))
    }
}

impl PartUse {
    fn fill<'v>(&'v self, filling: &Filling<'v>, at: At) -> Result<Part<'v>, Error> {
        match self {
            Self::Whole => Ok(Part::Whole),
            Self::Field(number) => Ok(Part::Field(*number)),
            Self::Element(source) => match source.value(filling.values, at)? {
                Filled::Bytes(key) => Ok(Part::Element(key)),
                Filled::Null | Filled::NotSet => {
                    Err(Error::invalid(at, "the index or key of an element may not be null or unset"))
                }
            },
        }
    }
}

impl ReferenceUse {
    fn fill<'v>(&'v self, filling: &Filling<'v>) -> Result<ColumnRef<'v>, Error> {
        let read = filling.first_reads.get(self.read).copied().unwrap_or_default();
        Ok(ColumnRef { read, column: self.column, part: self.part.fill(filling, self.at)? })
    }
}

impl ConditionUse {
    fn fill<'v>(&'v self, filling: &Filling<'v>) -> Result<(ColumnRef<'v>, Test<'v>), Error> {
        let test = match &self.test {
            TestUse::Null => Test::Null,
            TestUse::NotNull => Test::NotNull,
            TestUse::Compare(comparison, source) | TestUse::CompareOrNull(comparison, source) => {
                let may_be_null = matches!(self.test, TestUse::CompareOrNull(..));
                match (source.value(filling.values, self.at)?, comparison) {
                    (Filled::Bytes(bytes), comparison) => Test::Compare(*comparison, bytes),
                    (Filled::Null, Comparison::Eq) if may_be_null => Test::Null,
                    (Filled::Null, Comparison::Ne) if may_be_null => Test::NotNull,
                    (Filled::Null, _) => return Err(compared_with_null(self.at)),
                    (Filled::NotSet, _) => return Err(Error::invalid(self.at, "a compared value may not be unset")),
                }
            }
        };
        Ok((self.column.fill(filling)?, test))
    }
}

pub(crate) fn compared_with_null(at: At) -> Error {
    Error::invalid(at, "nothing can be compared with null; use IS NULL or IS NOT NULL")
}

impl ReturningUse {
    fn fill<'v>(&'v self, filling: &Filling<'v>, reads: &[Read<'_>], uses: &[ReadUse]) -> Result<Returning<'v>, Error> {
        Ok(match self {
            Self::Nothing => Returning::Nothing,
            Self::Rows { read, items } => {
                let first = filling.first_reads[*read];
                let end = if read + 1 < uses.len() { filling.first_reads[read + 1] } else { reads.len() };
                let limit = reads.get(first).and_then(|read| read.limit);
                let items = items.iter().map(|item| {
                    let (function, column) = (item.function, item.column);
                    Ok(Item { function, column, part: item.part.fill(filling, item.at)? })
                });
                Returning::Rows { first, reads: end - first, limit, items: items.collect::<Result<_, Error>>()? }
            }
            Self::References(references) => {
                Returning::References(references.iter().map(|of| of.fill(filling)).collect::<Result<_, _>>()?)
            }
            Self::Applied { read, columns } => {
                Returning::Applied { read: read.map(|read| filling.first_reads[read]), columns: columns.borrowed() }
            }
        })
    }
}

impl WriteUse {
    fn fill<'v>(&'v self, filling: &Filling<'v>, out: &mut Vec<PlanWrite<'v>>) -> Result<(), Error> {
        let shown = match &self.shown {
            Some(source) => match source.value(filling.values, self.at)? {
                Filled::Bytes(bytes) => (&*bytes).try_into().ok().map(i64::from_be_bytes),
                Filled::Null | Filled::NotSet => None,
            },
            None => None,
        };
        let places = &filling.places[self.partition];
        let is_whole = matches!(self.kind, WriteKind::DeletePartition | WriteKind::DeleteFound(_));
        let rows = if is_whole { std::iter::once(Vec::new()).collect() } else { self.rows.prefixes(filling.values)? };
        let count = rows.len();
        for (partition, key) in places.iter().enumerate() {
            for (row, clustering) in rows.iter().enumerate() {
                let (by_row, by_partition) = (partition * count + row, partition);
                let mut assignments = Vec::with_capacity(self.assignments.len());
                for assignment in &self.assignments {
                    assignments.extend(assignment.fill(filling, by_row, by_partition)?);
                }
                let kind = match self.kind {
                    WriteKind::DeleteFound(read) => WriteKind::DeleteFound(filling.first_reads[read] + by_partition),
                    kind => kind,
                };
                let clustering = Cow::Owned(clustering.clone());
                out.push(PlanWrite { key: *key, kind, clustering, shown, assignments });
            }
        }
        Ok(())
    }
}

impl AssignmentUse {
    /// `None` if the bound value is unset, so that the column is left alone.
    fn fill<'v>(
        &'v self,
        filling: &Filling<'v>,
        by_row: usize,
        by_partition: usize,
    ) -> Result<Option<Assigned<'v>>, Error> {
        let value = match &self.operand {
            OperandUse::Reference(at) => PlanValue::Reference(at.fill(filling)?),
            OperandUse::Value(source) => match source.value(filling.values, self.at)? {
                Filled::Bytes(bytes) => PlanValue::Bytes(bytes),
                Filled::NotSet => return Ok(None),
                Filled::Null if matches!(self.op, Op::Set | Op::Put) => PlanValue::Null,
                Filled::Null => return Err(Error::invalid(self.at, "null cannot be added or subtracted")),
            },
        };
        let step = if self.is_static { by_partition } else { by_row };
        let read = self.read.map(|read| filling.first_reads[read] + step);
        Ok(Some(Assigned { column: self.column, op: self.op, value, read, part: self.part.fill(filling, self.at)? }))
    }
}
