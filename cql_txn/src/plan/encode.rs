//! A plan to bytes.

use super::{
    COMPARISONS, ColumnRef, Columns, FIRST_COMPARISON, FUNCTIONS, Item, Op, Part, PlanTable, PlanWrite, Read,
    Returning, Slice, Steps, Test, Value, WriteKind,
};
use crate::encoding::{put_bytes, put_count};

fn put_limit(out: &mut Vec<u8>, limit: Option<u32>) {
    put_count(out, limit.map_or(0, |limit| limit as usize + 1));
}

impl Columns<'_> {
    fn put(&self, out: &mut Vec<u8>) {
        put_count(out, self.len());
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
            out.push(u8::from(column.descending) | u8::from(column.is_static) << 1);
            column.ty.put(out);
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
        self.reads.iter().for_each(|read| read.put(&mut out));
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

impl Read<'_> {
    fn put(&self, out: &mut Vec<u8>) {
        put_count(out, self.key);
        put_count(out, self.slices.len());
        for slice in &self.slices {
            match slice {
                Slice::Prefix(prefix) => {
                    out.push(0);
                    put_bytes(out, prefix);
                }
                Slice::Between(start, end) => {
                    out.push(1);
                    put_bytes(out, start);
                    crate::encoding::put_nullable(out, end.as_deref());
                }
            }
        }
        put_limit(out, self.limit);
        out.push(u8::from(self.backwards));
        self.columns.put(out);
    }
}

impl Part<'_> {
    fn put(&self, out: &mut Vec<u8>) {
        match self {
            Self::Whole => out.push(0),
            Self::Element(key) => {
                out.push(1);
                put_bytes(out, key);
            }
            Self::Field(number) => {
                out.push(2);
                out.extend_from_slice(&number.to_be_bytes());
            }
        }
    }
}

impl ColumnRef<'_> {
    fn put(&self, out: &mut Vec<u8>) {
        put_count(out, self.read);
        put_count(out, self.column.map_or(0, |column| column + 1));
        if self.column.is_some() {
            self.part.put(out);
        }
    }
}

impl Test<'_> {
    fn put(&self, out: &mut Vec<u8>) {
        match self {
            Self::Null => out.push(0),
            Self::NotNull => out.push(1),
            Self::Compare(comparison, value) => {
                let at = COMPARISONS.iter().position(|known| known == comparison).unwrap_or_default();
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
            Self::Rows { first, reads, limit, items } => {
                out.push(1);
                put_count(out, *first);
                put_count(out, *reads);
                put_limit(out, *limit);
                put_count(out, items.len());
                items.iter().for_each(|item| item.put(out));
            }
            Self::References(references) => {
                out.push(2);
                put_count(out, references.len());
                references.iter().for_each(|reference| reference.put(out));
            }
            Self::Applied { read, columns } => {
                out.push(3);
                put_count(out, read.map_or(0, |read| read + 1));
                columns.put(out);
            }
        }
    }
}

impl Item<'_> {
    fn put(&self, out: &mut Vec<u8>) {
        let kind = self.function.and_then(|function| FUNCTIONS.iter().position(|known| *known == function));
        out.push(kind.map_or(0, |kind| kind as u8 + 1));
        put_count(out, self.column.map_or(0, |column| column + 1));
        self.part.put(out);
    }
}

impl PlanWrite<'_> {
    fn put(&self, out: &mut Vec<u8>) {
        put_count(out, self.key);
        match self.kind {
            WriteKind::Update => out.push(0),
            WriteKind::Insert => out.push(1),
            WriteKind::DeleteRow => out.push(2),
            WriteKind::DeletePartition => out.push(3),
            WriteKind::DeleteFound(read) => {
                out.push(4);
                put_count(out, read);
            }
        }
        put_bytes(out, &self.clustering);
        out.push(u8::from(self.shown.is_some()));
        out.extend(self.shown.map(i64::to_be_bytes).into_iter().flatten());
        put_count(out, self.assignments.len());
        for assigned in &self.assignments {
            put_count(out, assigned.column);
            out.push(assigned.op as u8);
            match &assigned.value {
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
            if assigned.op != Op::Set {
                put_count(out, assigned.read.unwrap_or_default());
            }
            if assigned.op == Op::Put {
                assigned.part.put(out);
            }
        }
    }
}
