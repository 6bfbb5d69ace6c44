//! Running a plan over what it has read: conditions, then writes; the result shows the state before.

use super::slots::Slots;
use crate::ast::Comparison;
use crate::error::{At, Error};
use crate::plan::{Assigned, ColumnRef, Op, Plan, PlanWrite, Returning, Test, Value, WriteKind};
use crate::result;
use crate::row::{RowWrite, Write};
use protocol::{Blob, Bytes, Execution, Key};
use std::borrow::Cow;
use std::cmp::Ordering;

/// *Errors*: the transaction is rejected and writes nothing.
pub(super) fn run(plan: &Plan<'_>, data: &[(Key, Bytes)]) -> Result<Execution, Error> {
    let slots = Slots::open(plan, data)?;
    let mut building = Building { plan, slots: &slots, writes: Vec::new(), warnings: Vec::new() };
    if plan.steps.conditions.iter().all(|(at, test)| holds(&slots, *at, *test)) {
        plan.steps.writes.iter().try_for_each(|write| building.statement(write))?;
    }
    let Building { mut writes, warnings, .. } = building;
    writes.sort_by_key(|(key, _)| *key);
    let writes = writes.into_iter().map(|(key, write)| (data[key].0.clone(), encode_sorted(write).into())).collect();
    Ok(Execution { writes, result: returned(plan, &slots, &warnings) })
}

fn encode_sorted(mut write: Write) -> Vec<u8> {
    write.rows.sort_by(|left, right| left.clustering.cmp(&right.clustering));
    write.rows.iter_mut().for_each(|row| row.cells.sort_by_key(|(column, _)| *column));
    write.encode()
}

/// Null equals nothing: a comparison with a null column is false, except that `!=` is true. *Source*: [CQL 1.4].
fn holds(slots: &Slots<'_>, at: ColumnRef, test: Test<'_>) -> bool {
    let (comparison, right) = match test {
        Test::Null => return slots.is_null(at),
        Test::NotNull => return !slots.is_null(at),
        Test::Compare(comparison, right) => (comparison, right),
    };
    let (Some(left), Some(column)) = (slots.value(at), at.column) else { return comparison == Comparison::Ne };
    let order = slots.type_of(at.read, column).compare(&left, right);
    match comparison {
        Comparison::Eq => order == Ordering::Equal,
        Comparison::Ne => order != Ordering::Equal,
        Comparison::Lt => order == Ordering::Less,
        Comparison::Le => order != Ordering::Greater,
        Comparison::Gt => order == Ordering::Greater,
        Comparison::Ge => order != Ordering::Less,
    }
}

fn returned(plan: &Plan<'_>, slots: &Slots<'_>, warnings: &[String]) -> Blob {
    let mut out = result::begin(warnings);
    match &plan.steps.returning {
        Returning::Nothing => return result::void(warnings),
        Returning::Rows { read, columns } => {
            let rows = slots.rows(*read);
            result::put_rows_head(&mut out, columns.iter().count(), rows.len());
            for row in rows {
                columns.iter().for_each(|column| {
                    result::put_value(&mut out, slots.value_in(*read, column, row).as_deref());
                });
            }
        }
        Returning::References(references) => {
            result::put_rows_head(&mut out, references.len(), 1);
            references.iter().for_each(|at| result::put_value(&mut out, slots.value(*at).as_deref()));
        }
    }
    result::blob(out)
}

struct Building<'p> {
    plan: &'p Plan<'p>,
    slots: &'p Slots<'p>,
    /// By index of the key, in order of first use.
    writes: Vec<(usize, Write)>,
    warnings: Vec<String>,
}

impl<'p> Building<'p> {
    fn statement(&mut self, write: &PlanWrite<'p>) -> Result<(), Error> {
        let mut cells = Vec::with_capacity(write.assignments.len());
        for assigned in &write.assignments {
            if let Some(value) = self.assigned(write, assigned)? {
                let table = &self.plan.tables[self.plan.steps.keys[write.key].table];
                cells.push((table.columns[assigned.column].id, value.map(Cow::into_owned)));
            }
        }
        match write.kind {
            WriteKind::DeletePartition => self.partition(write.key).delete = true,
            WriteKind::DeleteRow => self.row(write).delete = true,
            WriteKind::Insert => {
                let row = self.row(write);
                row.live = true;
                row.cells.append(&mut cells);
            }
            WriteKind::Update if cells.is_empty() => {}
            WriteKind::Update => self.row(write).cells.append(&mut cells),
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

    fn row(&mut self, write: &PlanWrite<'_>) -> &mut RowWrite {
        let rows = &mut self.partition(write.key).rows;
        let at = rows.iter().position(|row| *row.clustering == *write.clustering).unwrap_or_else(|| {
            rows.push(RowWrite { clustering: write.clustering.to_vec(), ..RowWrite::default() });
            rows.len() - 1
        });
        &mut rows[at]
    }

    /// The new value: `None` if nothing is to be written, `Some(None)` if the cell is to be cleared.
    fn assigned(
        &mut self,
        write: &PlanWrite<'p>,
        assigned: &Assigned<'p>,
    ) -> Result<Option<Option<Cow<'p, [u8]>>>, Error> {
        let value = match assigned.value {
            Value::Null => None,
            Value::Bytes(bytes) => Some(Cow::Borrowed(bytes)),
            Value::Reference(at) => self.slots.value(at),
        };
        let (read, subtract) = match assigned.op {
            Op::Set => return Ok(Some(value)),
            Op::Add(read) => (read, false),
            Op::Subtract(read) => (read, true),
        };
        let table = &self.plan.tables[self.plan.steps.keys[write.key].table];
        let column = &table.columns[assigned.column];
        let place = || format!("{}.{}", table.name, column.name);
        let Some(old) = self.slots.value(ColumnRef { read, column: Some(assigned.column) }) else {
            let sign = if subtract { "-=" } else { "+=" };
            self.warnings.push(format!("{sign} on {} wrote nothing: the row or its value does not exist", place()));
            return Ok(None);
        };
        match value {
            Some(operand) => Ok(Some(Some(Cow::Owned(column.ty.add(&old, &operand, subtract))))),
            None => Err(Error::invalid(At::NOWHERE, format!("null cannot be added to or subtracted from {}", place()))),
        }
    }
}
