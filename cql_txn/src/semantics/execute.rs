//! Running a plan over what it has read: conditions, then writes; the result shows the state before.

use super::slots::Slots;
use super::{returned, writes};
use crate::ast::Comparison;
use crate::error::Error;
use crate::plan::{ColumnRef, Plan, Test};
use protocol::{Bytes, Execution, Key};
use std::cmp::Ordering;

/// *Errors*: the transaction is rejected and writes nothing.
pub(super) fn run(plan: &Plan<'_>, data: &[(Key, Bytes)]) -> Result<Execution, Error> {
    let slots = Slots::open(plan, data)?;
    let is_applied = plan.steps.conditions.iter().all(|(at, test)| holds(&slots, at, test));
    let (writes, warnings) = if is_applied { writes::build(plan, &slots)? } else { Default::default() };
    let writes = writes.into_iter().map(|(key, write)| (data[key].0.clone(), write.into())).collect();
    Ok(Execution { writes, result: returned::result(plan, &slots, is_applied, &warnings) })
}

/// Null equals nothing: a comparison with a null column is false, except that `!=` is true. *Source*: [CQL 1.4].
fn holds(slots: &Slots<'_>, at: &ColumnRef<'_>, test: &Test<'_>) -> bool {
    let (comparison, right) = match test {
        Test::Null => return slots.is_null(at),
        Test::NotNull => return !slots.is_null(at),
        Test::Compare(comparison, right) => (*comparison, right),
    };
    let (Some(left), Some(ty)) = (slots.value(at), slots.type_of_part(at)) else { return comparison == Comparison::Ne };
    let order = ty.compare(&left, right);
    match comparison {
        Comparison::Eq => order == Ordering::Equal,
        Comparison::Ne => order != Ordering::Equal,
        Comparison::Lt => order == Ordering::Less,
        Comparison::Le => order != Ordering::Greater,
        Comparison::Gt => order == Ordering::Greater,
        Comparison::Ge => order != Ordering::Less,
    }
}
