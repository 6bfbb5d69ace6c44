//! A circle of operations in words.

use super::anomaly::{Anomaly, Class, CycleKind, EdgeKind};
use super::cycle::Step;
use super::history::{History, Outcome};
use super::lists::Lists;

/// Operations named in the text.
const NAMED_MAX: usize = 16;

fn classify(steps: &[Step]) -> Class {
    let count = |kind| steps.iter().filter(|step| step.kind == kind).count();
    let kind = match (count(EdgeKind::ReadWrite), count(EdgeKind::WriteRead)) {
        (0, 0) => CycleKind::G0,
        (0, _) => CycleKind::G1c,
        (1, _) => CycleKind::GSingle,
        _ => CycleKind::G2,
    };
    Class::Cycle { kind, realtime: count(EdgeKind::Realtime) > 0 }
}

/// The anomaly of a circle, with the key behind each of its edges.
pub(crate) fn describe(history: &History, lists: &Lists<'_>, steps: &[Step]) -> Anomaly {
    let id = |position: u32| history.ops[position as usize].id;
    let mut text = String::from("no order fits");
    for (i, step) in steps.iter().enumerate().take(NAMED_MAX) {
        let to = steps[(i + 1) % steps.len()].from;
        let key = edge_key(history, lists, *step, to).map_or_else(String::new, |key| format!(" key {key}"));
        text.push_str(&format!(" op {} -{}{key}->", id(step.from), step.kind.label()));
    }
    match (steps.len().checked_sub(NAMED_MAX), steps.first()) {
        (None | Some(0), Some(first)) => text.push_str(&format!(" op {}", id(first.from))),
        (hidden, _) => text.push_str(&format!(" and {} more back to the first", hidden.unwrap_or(0))),
    }
    let mut anomaly = Anomaly::new(classify(steps), steps.iter().map(|step| id(step.from)).collect(), text);
    anomaly.edges = steps.iter().map(|step| step.kind).collect();
    anomaly
}

/// The key that made the edge, looked up again since edges do not carry it.
fn edge_key(history: &History, lists: &Lists<'_>, step: Step, to: u32) -> Option<u32> {
    let adjacent = |key: u32| lists.writers_of_key(key).windows(2).any(|pair| pair == [step.from, to]);
    let read_of = |op: u32, offset: usize, writer: u32| {
        let op = &history.ops[op as usize];
        let mut reads = op.reads.iter().filter(|_| op.outcome == Outcome::Ok);
        let is_edge = |key: u32, len: usize| {
            len.checked_sub(offset).and_then(|at| lists.writers_of_key(key).get(at)) == Some(&writer)
        };
        reads.find(|read| is_edge(read.key, read.list.element_count())).map(|read| read.key)
    };
    match step.kind {
        EdgeKind::WriteWrite => history.ops[to as usize].appends.iter().copied().find(|&key| adjacent(key)),
        EdgeKind::WriteRead => read_of(to, 1, step.from),
        EdgeKind::ReadWrite => read_of(step.from, 0, to),
        EdgeKind::Realtime => None,
    }
}
