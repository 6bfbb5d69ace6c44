//! Which operation must precede which, as a graph of linear size.
//!
//! Nodes `0..op_count` are operations by their position in the history; behind them lies one auxiliary node per known
//! completion, in time order. A chain through these auxiliary nodes carries the whole real-time order (quadratic in pairs)
//! in three edges per operation: an op leads to the node of its own completion, each such node to the next, and the last
//! one before an invocation to the op invoked.

use super::anomaly::{Anomaly, EdgeKind};
use super::history::{History, Op, Outcome};
use super::lists::Lists;

#[derive(Clone, Copy)]
struct Edge {
    from: u32,
    to: u32,
    kind: EdgeKind,
}

/// Edges by source node: those of node `n` lie at `starts[n]..starts[n + 1]`.
pub(crate) struct Graph {
    op_count: usize,
    starts: Vec<usize>,
    targets: Vec<u32>,
    kinds: Vec<EdgeKind>,
}

impl Graph {
    /// *Errors*: a read that is no prefix of its list, or a lost update.
    pub(crate) fn build(history: &History, lists: &Lists<'_>) -> Result<Self, Anomaly> {
        let mut edges = Vec::new();
        push_write_edges(lists, &mut edges);
        push_read_edges(history, lists, &mut edges)?;
        let op_count = history.ops.len();
        let completion_count = push_realtime_edges(history, lists, &mut edges);
        Ok(Self::from_edges(op_count, op_count + completion_count, &edges))
    }

    /// Counting sort of the edges by source.
    fn from_edges(op_count: usize, node_count: usize, edges: &[Edge]) -> Self {
        let mut starts = vec![0usize; node_count + 1];
        for edge in edges {
            starts[edge.from as usize + 1] += 1;
        }
        for node in 0..node_count {
            starts[node + 1] += starts[node];
        }
        let mut next = starts.clone();
        let mut targets = vec![0u32; edges.len()];
        let mut kinds = vec![EdgeKind::Realtime; edges.len()];
        for edge in edges {
            let slot = &mut next[edge.from as usize];
            targets[*slot] = edge.to;
            kinds[*slot] = edge.kind;
            *slot += 1;
        }
        Self { op_count, starts, targets, kinds }
    }

    pub(crate) fn node_count(&self) -> usize {
        self.starts.len() - 1
    }

    pub(crate) fn edge_count(&self) -> usize {
        self.targets.len()
    }

    pub(crate) fn is_op(&self, node: u32) -> bool {
        (node as usize) < self.op_count
    }

    /// Half-open range of the edge numbers that leave `node`.
    pub(crate) fn edge_range(&self, node: u32) -> std::ops::Range<usize> {
        self.starts[node as usize]..self.starts[node as usize + 1]
    }

    pub(crate) fn edge(&self, number: usize) -> (u32, EdgeKind) {
        (self.targets[number], self.kinds[number])
    }
}

fn push_write_edges(lists: &Lists<'_>, edges: &mut Vec<Edge>) {
    for ordinal in 0..lists.list_count() {
        let pairs = lists.writers(ordinal).windows(2);
        edges.extend(pairs.map(|pair| Edge { from: pair[0], to: pair[1], kind: EdgeKind::WriteWrite }));
    }
}

fn push_read_edges(history: &History, lists: &Lists<'_>, edges: &mut Vec<Edge>) -> Result<(), Anomaly> {
    for (position, op) in history.ops.iter().enumerate() {
        if op.outcome != Outcome::Ok {
            continue;
        }
        let reader = position as u32;
        for read in &op.reads {
            let len = lists.observe(op, read)?;
            lists.check_own_append(position, read.key, len)?;
            let writers = lists.writers_of_key(read.key);
            if len > 0 {
                edges.push(Edge { from: writers[len - 1], to: reader, kind: EdgeKind::WriteRead });
            }
            if let Some(&next) = writers.get(len).filter(|&&next| next != reader) {
                edges.push(Edge { from: reader, to: next, kind: EdgeKind::ReadWrite });
            }
        }
    }
    Ok(())
}

/// Returns the number of auxiliary nodes.
fn push_realtime_edges(history: &History, lists: &Lists<'_>, edges: &mut Vec<Edge>) -> usize {
    let op_count = history.ops.len();
    let done = |(position, op): (usize, &Op)| op.known_done().map(|at| (at, position as u32));
    let mut completions: Vec<(u64, u32)> = history.ops.iter().enumerate().filter_map(done).collect();
    completions.sort_unstable();
    let auxiliary = |i: usize| (op_count + i) as u32;
    for (i, &(_, op)) in completions.iter().enumerate() {
        edges.push(Edge { from: op, to: auxiliary(i), kind: EdgeKind::Realtime });
        if i + 1 < completions.len() {
            edges.push(Edge { from: auxiliary(i), to: auxiliary(i + 1), kind: EdgeKind::Realtime });
        }
    }
    for (position, op) in history.ops.iter().enumerate() {
        let earlier = completions.partition_point(|&(at, _)| at < op.invoke);
        if earlier > 0 && lists.is_present(position) {
            edges.push(Edge { from: auxiliary(earlier - 1), to: position as u32, kind: EdgeKind::Realtime });
        }
    }
    completions.len()
}
