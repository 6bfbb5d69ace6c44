//! What a transaction shows of the state before it.

use super::slots::{Found, Slots, part_of};
use crate::ast::Function;
use crate::plan::{Item, Part, Plan, Returning, WRITE_TIME};
use crate::result;
use crate::value::{Type, add};
use protocol::Blob;
use std::borrow::Cow;
use std::cmp::Ordering;

pub(super) fn result(plan: &Plan<'_>, slots: &Slots<'_>, is_applied: bool, warnings: &[String]) -> Blob {
    let mut out = result::begin(warnings);
    match &plan.steps.returning {
        Returning::Nothing => return result::void(warnings),
        Returning::Rows { first, reads, limit, items } => {
            let limit = limit.map_or(usize::MAX, |limit| limit as usize);
            let rows = (*first..first + reads).flat_map(|read| slots.rows(read).map(move |row| (read, row)));
            if items.iter().any(|item| item.function.is_some_and(|function| function != Function::WriteTime)) {
                put_aggregates(slots, rows.collect(), items, &mut out);
            } else {
                put_rows(slots, rows.take(limit).collect(), items, &mut out);
            }
        }
        Returning::References(references) => {
            result::put_rows_head(&mut out, references.len(), 1);
            references.iter().for_each(|at| result::put_value(&mut out, slots.value(at).as_deref()));
        }
        Returning::Applied { read, columns } => {
            let row = read.and_then(|read| slots.rows(read).next().map(|row| (read, row)));
            let row = row.filter(|_| !is_applied);
            result::put_rows_head(&mut out, 1 + row.map_or(0, |_| columns.len()), 1);
            result::put_value(&mut out, Some(&[u8::from(is_applied)]));
            for (column, (read, row)) in columns.iter().zip(std::iter::repeat(row).map_while(|row| row)) {
                result::put_value(&mut out, slots.value_in(read, column, row).as_deref());
            }
        }
    }
    result::blob(out)
}

type Rows<'p> = Vec<(usize, Found<'p>)>;

fn put_rows(slots: &Slots<'_>, rows: Rows<'_>, items: &[Item<'_>], out: &mut Vec<u8>) {
    result::put_rows_head(out, items.len(), rows.len());
    for (read, row) in rows {
        items.iter().for_each(|item| result::put_value(out, value(slots, read, row, item).as_deref()));
    }
}

fn value<'p>(slots: &Slots<'p>, read: usize, row: Found<'p>, item: &Item<'_>) -> Option<Cow<'p, [u8]>> {
    let column = item.column?;
    if item.function == Some(Function::WriteTime) {
        return slots.value_in(read, column | usize::from(WRITE_TIME), row);
    }
    let value = slots.value_in(read, column, row)?;
    if item.part == Part::Whole {
        return Some(value);
    }
    part_of(slots.type_of(read, column), value, &item.part)
}

/// One row for all rows; beside a function a plain column shows its first value.
fn put_aggregates(slots: &Slots<'_>, rows: Rows<'_>, items: &[Item<'_>], out: &mut Vec<u8>) {
    result::put_rows_head(out, items.len(), 1);
    for item in items {
        let mut values = rows.iter().filter_map(|(read, row)| value(slots, *read, *row, item));
        let ty =
            item.column.zip(rows.first()).map_or(&Type::BigInt, |(column, (read, _))| slots.type_of(*read, column));
        let better = |wanted: Ordering| {
            move |best: Cow<'_, [u8]>, next: Cow<'_, [u8]>| {
                if ty.compare(&next, &best) == wanted { next.into_owned().into() } else { best.into_owned().into() }
            }
        };
        let shown: Option<Cow<'_, [u8]>> = match item.function {
            Some(Function::Count) => {
                let count = if item.column.is_some() { values.count() } else { rows.len() };
                Some(Cow::Owned((count as i64).to_be_bytes().to_vec()))
            }
            Some(Function::Min) => values.reduce(better(Ordering::Less)),
            Some(Function::Max) => values.reduce(better(Ordering::Greater)),
            Some(Function::Sum) => values
                .reduce(|sum, next| add(ty, &sum, &next, false).map_or_else(|_| sum.into_owned().into(), Cow::Owned)),
            Some(Function::WriteTime) | None => values.next(),
        };
        result::put_value(out, shown.as_deref());
    }
}
