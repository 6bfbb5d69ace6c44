//! A prepared plan: a plan whose values may still be bind markers, and what filling them in yields.

use crate::ast::Comparison;
use crate::encoding::put_count;
use crate::error::{At, Error};
use crate::plan::{
    Assigned, ColumnRef, Columns, Op, PlanKey, PlanTable, PlanWrite, Read, Returning, Steps, Test, Value as PlanValue,
    WriteKind,
};
use crate::value::Type;
use protocol::{Key, TableId};
use std::borrow::Cow;

/// A bound value, as the native protocol knows them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Value<'a> {
    /// Null.
    Null,
    /// Unset: the column is left alone.
    NotSet,
    /// The serialized value.
    Bytes(&'a [u8]),
}

/// Where a value comes from.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Source {
    Null,
    Bytes(Vec<u8>),
    Marker { index: u16, ty: Type },
}

/// A value of the key, with the name of its column for errors.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct KeyPart {
    pub(crate) source: Source,
    pub(crate) ty: Type,
    pub(crate) descending: bool,
    pub(crate) name: String,
    pub(crate) at: At,
}

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
}

/// What a key and a check after a schema change need to know of a table.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct TableUse {
    pub(crate) id: TableId,
    pub(crate) group: u8,
    pub(crate) keyspace: String,
    pub(crate) name: String,
}

#[derive(Clone, PartialEq, Debug)]
pub(crate) struct PartitionUse {
    pub(crate) table: usize,
    pub(crate) parts: Vec<KeyPart>,
}

#[derive(Clone, PartialEq, Debug)]
pub(crate) struct ReadUse {
    pub(crate) partition: usize,
    pub(crate) prefix: Vec<KeyPart>,
    pub(crate) limit: Option<LimitUse>,
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
    pub(crate) column: ColumnRef,
    pub(crate) test: TestUse,
    pub(crate) at: At,
}

#[derive(Clone, PartialEq, Debug)]
pub(crate) enum TestUse {
    Null,
    NotNull,
    Compare(Comparison, Source),
}

#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) enum ReturningUse {
    #[default]
    Nothing,
    Rows {
        read: usize,
        columns: Columns<'static>,
    },
    References(Vec<ColumnRef>),
}

#[derive(Clone, PartialEq, Debug)]
pub(crate) struct WriteUse {
    pub(crate) partition: usize,
    pub(crate) kind: WriteKind,
    pub(crate) clustering: Vec<KeyPart>,
    pub(crate) assignments: Vec<AssignmentUse>,
    pub(crate) at: At,
}

#[derive(Clone, PartialEq, Debug)]
pub(crate) struct AssignmentUse {
    pub(crate) column: usize,
    pub(crate) op: Op,
    pub(crate) operand: OperandUse,
    pub(crate) at: At,
}

#[derive(Clone, PartialEq, Debug)]
pub(crate) enum OperandUse {
    Value(Source),
    Reference(ColumnRef),
}

/// Longest key or clustering component. *Units*: bytes.
const KEY_MAX: usize = 65_535;

impl Source {
    fn value<'v>(&'v self, values: &[Value<'v>], at: At) -> Result<Value<'v>, Error> {
        match self {
            Self::Null => Ok(Value::Null),
            Self::Bytes(bytes) => Ok(Value::Bytes(bytes)),
            Self::Marker { index, ty } => {
                let value = values.get(usize::from(*index)).copied().unwrap_or(Value::NotSet);
                if let Value::Bytes(bytes) = value {
                    let place = usize::from(*index) + 1;
                    ty.check(bytes).map_err(|why| Error::invalid(at, format!("bound value {place}: {why}")))?;
                }
                Ok(value)
            }
        }
    }
}

impl KeyPart {
    fn value<'v>(&'v self, values: &[Value<'v>]) -> Result<&'v [u8], Error> {
        match self.source.value(values, self.at)? {
            Value::Bytes(bytes) if bytes.len() <= KEY_MAX => Ok(bytes),
            Value::Bytes(_) => {
                let message = format!("the value of key column {} has more than {KEY_MAX} bytes", self.name);
                Err(Error::invalid(self.at, message))
            }
            Value::Null => Err(Error::invalid(self.at, format!("key column {} may not be null", self.name))),
            Value::NotSet => Err(Error::invalid(self.at, format!("key column {} may not be unset", self.name))),
        }
    }
}

fn clustering<'v>(parts: &'v [KeyPart], values: &[Value<'v>]) -> Result<Cow<'v, [u8]>, Error> {
    let mut out = Vec::with_capacity(parts.len() * 16);
    for part in parts {
        part.ty.put_ordered(&mut out, part.value(values)?, part.descending);
    }
    Ok(Cow::Owned(out))
}

impl PartitionUse {
    fn key(&self, table: &TableUse, values: &[Value<'_>]) -> Result<Key, Error> {
        let [single] = &self.parts[..] else {
            let mut out = Vec::with_capacity(self.parts.len() * 16);
            for part in &self.parts {
                let value = part.value(values)?;
                out.extend_from_slice(&(value.len() as u16).to_be_bytes());
                out.extend_from_slice(value);
                out.push(0);
            }
            if out.len() > KEY_MAX {
                let at = self.parts.first().map_or(At::NOWHERE, |part| part.at);
                return Err(Error::invalid(at, format!("the partition key has more than {KEY_MAX} bytes")));
            }
            return Ok(Key::new(table.group, table.id, &out));
        };
        match single.value(values)? {
            [] => Err(Error::invalid(single.at, format!("key column {} may not be empty", single.name))),
            value => Ok(Key::new(table.group, table.id, value)),
        }
    }
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
        let uses = self.partitions.iter().map(|of| of.key(&self.tables[of.table], values));
        let uses: Vec<Key> = uses.collect::<Result<_, _>>()?;
        let mut keys = uses.clone();
        keys.sort_unstable();
        keys.dedup();
        let places: Vec<usize> = uses.iter().map(|key| keys.binary_search(key).unwrap_or_default()).collect();
        let steps = Steps {
            keys: keys.iter().map(|key| self.plan_key(key)).collect(),
            reads: self.reads.iter().map(|read| read.fill(&places, values)).collect::<Result<_, _>>()?,
            conditions: self.conditions.iter().map(|of| of.fill(values)).collect::<Result<_, _>>()?,
            returning: self.returning.fill(),
            writes: self.writes.iter().map(|write| write.fill(&places, values)).collect::<Result<_, _>>()?,
        };
        self.refuse_overlap(&steps.writes)?;
        let body = steps.encode(&self.encoded_tables);
        Ok((keys, body))
    }

    fn plan_key<'k>(&self, key: &'k Key) -> PlanKey<'k> {
        let table = self.tables.iter().position(|table| table.id == key.table).unwrap_or_default();
        PlanKey { table, partition: Cow::Borrowed(&key.partition) }
    }

    /// Two statements may not assign one cell: there is no order between them. *Source*: [CQL 1.6, duplicate rule].
    fn refuse_overlap(&self, writes: &[PlanWrite<'_>]) -> Result<(), Error> {
        let mut by_row: Vec<usize> = (0..writes.len()).collect();
        let row = |at: &usize| (writes[*at].key, &*writes[*at].clustering);
        by_row.sort_by(|left, right| row(left).cmp(&row(right)).then(left.cmp(right)));
        for same in by_row.chunk_by(|left, right| row(left) == row(right)).filter(|same| same.len() > 1) {
            let mut columns: Vec<(usize, usize)> = same
                .iter()
                .flat_map(|at| writes[*at].assignments.iter().map(|assigned| (assigned.column, *at)))
                .collect();
            columns.sort_unstable();
            if let Some(pair) = columns.windows(2).find(|pair| pair[0].0 == pair[1].0) {
                let message = "this statement assigns a column that an earlier statement of the transaction assigns \
                               in the same row; make it one statement";
                return Err(Error::invalid(self.writes[pair[1].1].at, message));
            }
        }
        Ok(())
    }
}

impl ReadUse {
    fn fill<'v>(&'v self, places: &[usize], values: &[Value<'v>]) -> Result<Read<'v>, Error> {
        let limit = match &self.limit {
            Some(limit) => Some(limit.fill(values)?),
            None => None,
        };
        let prefix = clustering(&self.prefix, values)?;
        Ok(Read { key: places[self.partition], prefix, limit, columns: self.columns.borrowed() })
    }
}

impl LimitUse {
    /// Refuses a constant that can never do.
    pub(crate) fn check(&self) -> Result<(), Error> {
        self.fill(&[]).map(|_| ())
    }

    fn fill(&self, values: &[Value<'_>]) -> Result<u32, Error> {
        let limit = match self.source.value(values, self.at)? {
            Value::Bytes(bytes) => bytes.try_into().map(i32::from_be_bytes).unwrap_or_default(),
            Value::Null | Value::NotSet => return Err(Error::invalid(self.at, "LIMIT needs a value")),
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

impl ConditionUse {
    fn fill<'v>(&'v self, values: &[Value<'v>]) -> Result<(ColumnRef, Test<'v>), Error> {
        let test = match &self.test {
            TestUse::Null => Test::Null,
            TestUse::NotNull => Test::NotNull,
            TestUse::Compare(comparison, source) => match source.value(values, self.at)? {
                Value::Bytes(bytes) => Test::Compare(*comparison, bytes),
                Value::Null => return Err(compared_with_null(self.at)),
                Value::NotSet => return Err(Error::invalid(self.at, "a compared value may not be unset")),
            },
        };
        Ok((self.column, test))
    }
}

pub(crate) fn compared_with_null(at: At) -> Error {
    Error::invalid(at, "nothing can be compared with null; use IS NULL or IS NOT NULL")
}

impl ReturningUse {
    fn fill(&self) -> Returning<'_> {
        match self {
            Self::Nothing => Returning::Nothing,
            Self::Rows { read, columns } => Returning::Rows { read: *read, columns: columns.borrowed() },
            Self::References(references) => Returning::References(references.clone()),
        }
    }
}

impl WriteUse {
    fn fill<'v>(&'v self, places: &[usize], values: &[Value<'v>]) -> Result<PlanWrite<'v>, Error> {
        let mut assignments = Vec::with_capacity(self.assignments.len());
        for assignment in &self.assignments {
            let value = match &assignment.operand {
                OperandUse::Reference(at) => PlanValue::Reference(*at),
                OperandUse::Value(source) => match source.value(values, assignment.at)? {
                    Value::Bytes(bytes) => PlanValue::Bytes(bytes),
                    Value::NotSet => continue,
                    Value::Null if assignment.op == Op::Set => PlanValue::Null,
                    Value::Null => return Err(Error::invalid(assignment.at, "null cannot be added or subtracted")),
                },
            };
            assignments.push(Assigned { column: assignment.column, op: assignment.op, value });
        }
        let clustering = clustering(&self.clustering, values)?;
        Ok(PlanWrite { key: places[self.partition], kind: self.kind, clustering, assignments })
    }
}
