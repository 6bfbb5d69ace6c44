//! The shortest circle of operations inside the components Tarjan found.
//!
//! Circles are mostly tiny and components may be huge, so the search deepens: all circles of two operations, of three, and
//! so on, each from every operation and only along dependencies. The clock is needed at most once, to close a circle: had
//! a shortest circle two edges of the clock, `a` done before `b` begins and `c` done before `d` begins, then `a` would be
//! done before `d` begins or `c` before `b` begins, and that edge would cut the circle short.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::anomaly::EdgeKind;
use super::graph::Graph;
use super::history::Op;

/// Edges looked at, plus this many times all edges, before any circle is good enough.
const EDGES_MAX: usize = 2_000_000;
const EDGES_FACTOR: usize = 4;
const NOWHERE: u32 = u32::MAX;

/// Operations, then of these as few as possible by the clock, by anti-dependency, by read. Compared in this order, so of
/// equally short circles the worst one is reported.
type Cost = [u32; 4];
const UNREACHED: Cost = [u32::MAX; 4];
const BY_CLOCK: Cost = [1, 1, 0, 0];

/// One edge of a circle; a way through auxiliary nodes is one `Realtime` step.
#[derive(Clone, Copy)]
pub(crate) struct Step {
    pub(crate) from: u32,
    pub(crate) kind: EdgeKind,
}

/// A shortest circle in `components`, each of which must hold one and, if `realtime`, none without the clock.
///
/// *Shape*: shortest unless the search grew too long; then it is some circle.
pub(crate) fn shortest_cycle(ops: &[Op], graph: &Graph, components: &[Vec<u32>], realtime: bool) -> Vec<Step> {
    let mut search = Search::new(ops, graph, components, realtime);
    let starts: Vec<u32> = components.iter().flatten().copied().filter(|&node| graph.is_op(node)).collect();
    let budget = EDGES_MAX.saturating_add(EDGES_FACTOR.saturating_mul(graph.edge_count()));
    for length in 2..=starts.len() as u32 {
        search.bound = [length + 1, 0, 0, 0];
        for &start in &starts {
            search.try_start(start);
            if search.edge_count > budget {
                break;
            }
        }
        if !search.best.is_empty() || search.edge_count > budget {
            break;
        }
    }
    if search.best.is_empty() {
        search.follow_clock = realtime;
        search.bound = UNREACHED;
        // Every operation of a component lies on some circle.
        starts.first().into_iter().for_each(|&start| search.try_start(start));
    }
    let mut steps = search.best;
    // One circle, one telling: the operation invoked first leads, whichever one the search set out from.
    let first = (0..steps.len()).min_by_key(|&i| ops[steps[i].from as usize].invoke);
    steps.rotate_left(first.unwrap_or(0));
    steps
}

struct Search<'g> {
    ops: &'g [Op],
    graph: &'g Graph,
    realtime: bool,
    /// Walk through auxiliary nodes too, instead of using the clock only to close the circle.
    follow_clock: bool,
    /// Component of each node, `NOWHERE` for nodes outside all.
    component: Vec<u32>,
    cost: Vec<Cost>,
    parent: Vec<(u32, EdgeKind)>,
    touched: Vec<u32>,
    heap: BinaryHeap<Reverse<(Cost, u32)>>,
    edge_count: usize,
    /// Only a cheaper circle is of interest.
    bound: Cost,
    best: Vec<Step>,
}

impl<'g> Search<'g> {
    fn new(ops: &'g [Op], graph: &'g Graph, components: &[Vec<u32>], realtime: bool) -> Self {
        let node_count = graph.node_count();
        let mut component = vec![NOWHERE; node_count];
        for (number, nodes) in (0u32..).zip(components) {
            for &node in nodes {
                component[node as usize] = number;
            }
        }
        Self {
            ops,
            graph,
            realtime,
            follow_clock: false,
            component,
            cost: vec![UNREACHED; node_count],
            parent: vec![(NOWHERE, EdgeKind::Realtime); node_count],
            touched: Vec::new(),
            heap: BinaryHeap::new(),
            edge_count: 0,
            bound: UNREACHED,
            best: Vec::new(),
        }
    }

    /// Dijkstra from `start` back to itself, cut where it cannot stay below the bound.
    fn try_start(&mut self, start: u32) {
        for node in self.touched.drain(..) {
            self.cost[node as usize] = UNREACHED;
        }
        self.heap.clear();
        // The start itself stays unreached, so that the way back to it is seen as any other.
        self.relax(start, [0; 4]);
        while let Some(Reverse((cost, node))) = self.heap.pop() {
            if node == start {
                self.keep(cost, start, Vec::new());
                return;
            }
            if self.closes_by_clock(node, start) {
                let closing = Step { from: node, kind: EdgeKind::Realtime };
                self.keep(add(cost, BY_CLOCK), start, vec![closing]);
                return;
            }
            if cost == self.cost[node as usize] {
                self.relax(node, cost);
            }
        }
    }

    fn closes_by_clock(&self, node: u32, start: u32) -> bool {
        let closing = self.realtime && !self.follow_clock;
        closing && self.ops[node as usize].known_done().is_some_and(|done| done < self.ops[start as usize].invoke)
    }

    fn relax(&mut self, node: u32, cost: Cost) {
        let remaining = if self.realtime && !self.follow_clock { BY_CLOCK } else { [0; 4] };
        for number in self.graph.edge_range(node) {
            self.edge_count += 1;
            let (target, kind) = self.graph.edge(number);
            let usable = self.follow_clock || kind != EdgeKind::Realtime;
            if !usable || self.component[target as usize] != self.component[node as usize] {
                continue;
            }
            let next = add(cost, step_cost(self.graph.is_op(node), kind));
            if next < self.cost[target as usize] && add(next, remaining) < self.bound {
                self.cost[target as usize] = next;
                self.parent[target as usize] = (node, kind);
                self.touched.push(target);
                self.heap.push(Reverse((next, target)));
            }
        }
    }

    /// Takes the circle that leads from `start` to the last op of `steps`, or back to `start` if there is none.
    fn keep(&mut self, cost: Cost, start: u32, mut steps: Vec<Step>) {
        let mut node = steps.first().map_or(start, |step| step.from);
        loop {
            let (parent, kind) = self.parent[node as usize];
            if self.graph.is_op(parent) {
                steps.push(Step { from: parent, kind });
            }
            node = parent;
            if node == start {
                break;
            }
        }
        steps.reverse();
        self.bound = cost;
        self.best = steps;
    }
}

/// Auxiliary nodes are free to pass: the clock's edge is paid where it leaves an operation.
fn step_cost(from_op: bool, kind: EdgeKind) -> Cost {
    match kind {
        EdgeKind::WriteWrite => [1, 0, 0, 0],
        EdgeKind::WriteRead => [1, 0, 0, 1],
        EdgeKind::ReadWrite => [1, 0, 1, 0],
        EdgeKind::Realtime if from_op => BY_CLOCK,
        EdgeKind::Realtime => [0; 4],
    }
}

fn add(a: Cost, b: Cost) -> Cost {
    std::array::from_fn(|i| a[i].saturating_add(b[i]))
}
