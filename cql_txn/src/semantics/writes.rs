//! The writes of a plan whose conditions hold. *Source*: [CQL 1.6].
//!
//! A collection is stored as one value: a statement that changes a part of it reads the old value and writes the whole. All reads
//! of a transaction see the state at executeAt, so the outcome is that of changing the part alone. What the same transaction
//! deletes is no old value, and an earlier statement of a batch is.

use super::slots::Slots;
use crate::error::{At, Error};
use crate::plan::{Assigned, ColumnRef, Op, Part, Plan, PlanColumn, PlanTable, PlanWrite, Value, WriteKind};
use crate::row::{CellWrite, RowWrite, Write};
use crate::value::add;
use std::borrow::Cow;

/// Encoded writes by index of the key, in its order; warnings.
pub(super) type Built = (Vec<(usize, Vec<u8>)>, Vec<String>);

pub(super) fn build(plan: &Plan<'_>, slots: &Slots<'_>) -> Result<Built, Error> {
    let mut building = Building { plan, slots, writes: Vec::new(), warnings: Vec::new() };
    plan.steps.writes.iter().for_each(|write| building.deletion(write));
    plan.steps.writes.iter().try_for_each(|write| building.assignments(write))?;
    let Building { mut writes, warnings, .. } = building;
    writes.sort_by_key(|(key, _)| *key);
    Ok((writes.into_iter().map(|(key, write)| (key, encode_sorted(write))).collect(), warnings))
}

fn encode_sorted(mut write: Write) -> Vec<u8> {
    write.rows.sort_by(|left, right| left.clustering.cmp(&right.clustering));
    write.rows.iter_mut().for_each(|row| row.cells.sort_by_key(|cell| cell.column));
    write.encode()
}

struct Building<'p> {
    plan: &'p Plan<'p>,
    slots: &'p Slots<'p>,
    /// By index of the key, in order of first use.
    writes: Vec<(usize, Write)>,
    warnings: Vec<String>,
}

/// A new value: `None` clears the cell.
type NewValue<'p> = Option<Cow<'p, [u8]>>;

impl<'p> Building<'p> {
    fn deletion(&mut self, write: &PlanWrite<'p>) {
        match write.kind {
            WriteKind::DeletePartition => self.partition(write.key).delete = true,
            WriteKind::DeleteRow => self.row(write.key, &write.clustering).delete = true,
            WriteKind::DeleteFound(read) => {
                for row in self.slots.rows(read).filter(|row| !self.slots.is_static_only(read, *row)) {
                    self.row(write.key, row.clustering()).delete = true;
                }
            }
            WriteKind::Update | WriteKind::Insert => {}
        }
    }

    fn assignments(&mut self, write: &PlanWrite<'p>) -> Result<(), Error> {
        if write.kind == WriteKind::Insert {
            self.row(write.key, &write.clustering).live = true;
        }
        let table = &self.plan.tables[self.plan.steps.keys[write.key].table];
        for assigned in &write.assignments {
            let column = &table.columns[assigned.column];
            let clustering = if column.is_static { &[] } else { &*write.clustering };
            let Some(value) = self.assigned(write.key, clustering, table, assigned)? else { continue };
            const EMPTY: &[u8] = &[0; 4];
            let value = value.filter(|value| !column.ty.is_open_collection() || **value != *EMPTY);
            let cell = CellWrite { column: column.id, value: value.map(Cow::into_owned), shown: write.shown };
            let cells = &mut self.row(write.key, clustering).cells;
            match cells.iter_mut().find(|known| known.column == column.id) {
                Some(known) => *known = cell,
                None => cells.push(cell),
            }
        }
        Ok(())
    }

    fn partition(&mut self, key: usize) -> &mut Write {
        let at = self.writes.iter().position(|(known, _)| *known == key).unwrap_or_else(|| {
            self.writes.push((key, Write::default()));
            self.writes.len() - 1
        });
        &mut self.writes[at].1
    }

    fn row(&mut self, key: usize, clustering: &[u8]) -> &mut RowWrite {
        let rows = &mut self.partition(key).rows;
        let at = rows.iter().position(|row| *row.clustering == *clustering).unwrap_or_else(|| {
            rows.push(RowWrite { clustering: clustering.to_vec(), ..RowWrite::default() });
            rows.len() - 1
        });
        &mut rows[at]
    }

    /// The value that a collection's change starts from.
    fn old_part(&self, key: usize, clustering: &[u8], column: &PlanColumn<'p>, at: &ColumnRef<'p>) -> NewValue<'p> {
        let written = self.writes.iter().find(|(known, _)| *known == key).map(|(_, write)| write);
        let row = written.and_then(|write| write.rows.iter().find(|row| *row.clustering == *clustering));
        if let Some(cell) = row.and_then(|row| row.cells.iter().find(|cell| cell.column == column.id)) {
            return cell.value.clone().map(Cow::Owned);
        }
        let is_deleted = written.is_some_and(|write| write.delete) || row.is_some_and(|row| row.delete);
        if is_deleted { None } else { self.slots.value(at) }
    }

    /// `None` if nothing is to be written.
    fn assigned(
        &mut self,
        key: usize,
        clustering: &[u8],
        table: &PlanTable<'p>,
        assigned: &Assigned<'p>,
    ) -> Result<Option<NewValue<'p>>, Error> {
        let value = match &assigned.value {
            Value::Null => None,
            Value::Bytes(bytes) => Some(bytes.clone()),
            Value::Reference(at) => self.slots.value(at),
        };
        let Some(read) = assigned.read else { return Ok(Some(value)) };
        let column = &table.columns[assigned.column];
        let at = ColumnRef { read, column: Some(assigned.column), part: Part::Whole };
        if column.ty.is_open() {
            let old = self.old_part(key, clustering, column, &at);
            return changed(table, column, assigned, old, value);
        }
        let place = || format!("{}.{}", table.name, column.name);
        let Some(old) = self.slots.value(&at) else {
            let sign = if assigned.op == Op::Subtract { "-=" } else { "+=" };
            self.warnings.push(format!("{sign} on {} wrote nothing: the row or its value does not exist", place()));
            return Ok(None);
        };
        match value {
            Some(operand) => {
                let sum = add(&column.ty, &old, &operand, assigned.op == Op::Subtract);
                sum.map(|sum| Some(Some(Cow::Owned(sum)))).map_err(|why| invalid(format!("{}: {why}", place())))
            }
            None => Err(invalid(format!("null cannot be added to or subtracted from {}", place()))),
        }
    }
}

/// A collection or user type after a change; `None` if there is none.
fn changed<'p>(
    table: &PlanTable<'_>,
    column: &PlanColumn<'_>,
    assigned: &Assigned<'_>,
    old: NewValue<'p>,
    value: NewValue<'p>,
) -> Result<Option<NewValue<'p>>, Error> {
    const EMPTY: &[u8] = &[0; 4];
    let place = || format!("{}.{}", table.name, column.name);
    let ty = &column.ty;
    if assigned.op == Op::Put {
        let field;
        let key: &[u8] = match &assigned.part {
            Part::Element(key) => key,
            Part::Field(number) => {
                field = number.to_be_bytes();
                &field
            }
            Part::Whole => return Ok(None),
        };
        let new = ty.with_part(old.as_deref(), key, value.as_deref());
        return new.map(|new| Some(new.map(Cow::Owned))).map_err(|why| invalid(format!("{}: {why}", place())));
    }
    let Some(operand) = value else { return Ok(None) };
    let start = old.as_deref().unwrap_or(EMPTY);
    let new = match assigned.op {
        Op::Subtract => ty.without(start, &operand),
        op => ty.with(start, &operand, op == Op::Prepend),
    };
    match new {
        Some(new) => Ok(Some(Some(Cow::Owned(new)))),
        None => Err(invalid(format!("{}: the value does not fit the collection", place()))),
    }
}

fn invalid(message: String) -> Error {
    Error::invalid(At::NOWHERE, message)
}
