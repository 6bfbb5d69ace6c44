//! The shortest circle of operations inside the components Tarjan found, and its name.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::anomaly::{Anomaly, Class, CycleKind, EdgeKind};
use super::graph::Graph;
use super::history::{History, Outcome};
use super::lists::Lists;

/// Edges looked at before the best circle so far is good enough; only unreadably large components come near it.
const EDGES_MAX: usize = 4_000_000;
/// Operations named in the text.
const NAMED_MAX: usize = 16;
const NOWHERE: u32 = u32::MAX;

/// Operations, then of these as few as possible by the clock, by anti-dependency, by read. Compared in this order, so of
/// equally short circles the worst one is reported.
type Cost = [u32; 4];
const UNREACHED: Cost = [u32::MAX; 4];

/// Names the shortest circle in `components`, each of which must hold one.
pub(crate) fn shortest_cycle(
    history: &History,
    lists: &Lists<'_>,
    graph: &Graph,
    mut components: Vec<Vec<u32>>,
    realtime: bool,
) -> Anomaly {
    components.sort_by_key(Vec::len);
    let mut search = Search::new(graph, &components, realtime);
    for &start in components.iter().flatten() {
        if graph.is_op(start) {
            search.search_cycle_through(start);
        }
        if search.edge_count >= EDGES_MAX || search.best_cost[0] <= 2 && search.best_cost[1..] == [0; 3] {
            break;
        }
    }
    describe(history, lists, &search.best)
}

/// One edge of a circle; a way through auxiliary nodes is one `Realtime` step.
#[derive(Clone, Copy)]
struct Step {
    from: u32,
    kind: EdgeKind,
}

struct Search<'g> {
    graph: &'g Graph,
    realtime: bool,
    /// Component of each node, `NOWHERE` for nodes outside all.
    component: Vec<u32>,
    cost: Vec<Cost>,
    parent: Vec<(u32, EdgeKind)>,
    touched: Vec<u32>,
    heap: BinaryHeap<Reverse<(Cost, u32)>>,
    edge_count: usize,
    best_cost: Cost,
    best: Vec<Step>,
}

impl<'g> Search<'g> {
    fn new(graph: &'g Graph, components: &[Vec<u32>], realtime: bool) -> Self {
        let node_count = graph.node_count();
        let mut component = vec![NOWHERE; node_count];
        for (number, nodes) in (0u32..).zip(components) {
            for &node in nodes {
                component[node as usize] = number;
            }
        }
        Self {
            graph,
            realtime,
            component,
            cost: vec![UNREACHED; node_count],
            parent: vec![(NOWHERE, EdgeKind::Realtime); node_count],
            touched: Vec::new(),
            heap: BinaryHeap::new(),
            edge_count: 0,
            best_cost: UNREACHED,
            best: Vec::new(),
        }
    }

    /// Dijkstra from `start` back to itself, cut where it cannot beat the best.
    fn search_cycle_through(&mut self, start: u32) {
        for node in self.touched.drain(..) {
            self.cost[node as usize] = UNREACHED;
        }
        self.heap.clear();
        self.heap.push(Reverse(([0; 4], start)));
        // The start itself stays unreached, so that the way back to it is seen as any other.
        let mut at_start = true;
        while let Some(Reverse((cost, node))) = self.heap.pop() {
            if node == start && !at_start {
                self.best_cost = cost;
                self.best = self.way_back(start);
                return;
            }
            at_start = false;
            if node == start || cost == self.cost[node as usize] {
                self.relax(node, cost);
            }
        }
    }

    fn relax(&mut self, node: u32, cost: Cost) {
        for number in self.graph.edge_range(node) {
            self.edge_count += 1;
            let (target, kind) = self.graph.edge(number);
            let usable = self.realtime || kind != EdgeKind::Realtime;
            if !usable || self.component[target as usize] != self.component[node as usize] {
                continue;
            }
            let next = add(cost, step_cost(self.graph.is_op(node), kind));
            if next < self.cost[target as usize] && next < self.best_cost {
                self.cost[target as usize] = next;
                self.parent[target as usize] = (node, kind);
                self.touched.push(target);
                self.heap.push(Reverse((next, target)));
            }
        }
    }

    fn way_back(&self, start: u32) -> Vec<Step> {
        let mut steps = Vec::new();
        let mut node = start;
        loop {
            let (parent, kind) = self.parent[node as usize];
            if self.graph.is_op(parent) {
                steps.push(Step { from: parent, kind });
            }
            node = parent;
            if node == start {
                steps.reverse();
                return steps;
            }
        }
    }
}

/// Auxiliary nodes are free to pass: the clock's edge is paid where it leaves an operation.
fn step_cost(from_op: bool, kind: EdgeKind) -> Cost {
    match kind {
        EdgeKind::WriteWrite => [1, 0, 0, 0],
        EdgeKind::WriteRead => [1, 0, 0, 1],
        EdgeKind::ReadWrite => [1, 0, 1, 0],
        EdgeKind::Realtime if from_op => [1, 1, 0, 0],
        EdgeKind::Realtime => [0; 4],
    }
}

fn add(a: Cost, b: Cost) -> Cost {
    std::array::from_fn(|i| a[i].saturating_add(b[i]))
}

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

fn describe(history: &History, lists: &Lists<'_>, steps: &[Step]) -> Anomaly {
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
