//! Tarjan's strongly connected components, without recursion: a run may have millions of operations in one chain.

use super::anomaly::EdgeKind;
use super::graph::Graph;

const UNSEEN: u32 = 0;
const CLOSED: u32 = u32::MAX;

/// Components with two or more operations; each is a set of operations that no order can satisfy.
///
/// *Shape*: nodes as in [`Graph`], auxiliary ones included; without `realtime` the clock's edges are left out.
/// Time is linear in nodes and edges.
pub(crate) fn offending_components(graph: &Graph, realtime: bool) -> Vec<Vec<u32>> {
    let node_count = graph.node_count();
    let mut search = Search {
        graph,
        realtime,
        order: vec![UNSEEN; node_count],
        low: vec![0; node_count],
        seen_count: 0,
        open: Vec::new(),
        frames: Vec::new(),
        offending: Vec::new(),
    };
    for node in 0..node_count as u32 {
        if search.order[node as usize] == UNSEEN {
            search.run(node);
        }
    }
    search.offending
}

struct Search<'g> {
    graph: &'g Graph,
    realtime: bool,
    /// Visit number from 1; `CLOSED` once the component of the node is complete.
    order: Vec<u32>,
    /// Smallest visit number reachable through open nodes.
    low: Vec<u32>,
    seen_count: u32,
    open: Vec<u32>,
    /// Node and the next edge to follow from it.
    frames: Vec<(u32, usize)>,
    offending: Vec<Vec<u32>>,
}

impl Search<'_> {
    fn run(&mut self, root: u32) {
        self.enter(root);
        while let Some(frame) = self.frames.last_mut() {
            let node = frame.0;
            if frame.1 < self.graph.edge_range(node).end {
                let (target, kind) = self.graph.edge(frame.1);
                frame.1 += 1;
                if self.realtime || kind != EdgeKind::Realtime {
                    self.follow(node, target);
                }
            } else {
                self.frames.pop();
                self.leave(node);
            }
        }
    }

    fn enter(&mut self, node: u32) {
        self.seen_count += 1;
        self.order[node as usize] = self.seen_count;
        self.low[node as usize] = self.seen_count;
        self.open.push(node);
        self.frames.push((node, self.graph.edge_range(node).start));
    }

    fn follow(&mut self, node: u32, target: u32) {
        match self.order[target as usize] {
            UNSEEN => self.enter(target),
            CLOSED => {}
            order => self.lower(node, order),
        }
    }

    fn lower(&mut self, node: u32, order: u32) {
        let low = &mut self.low[node as usize];
        *low = (*low).min(order);
    }

    fn leave(&mut self, node: u32) {
        let low = self.low[node as usize];
        if low == self.order[node as usize] {
            self.close_component(node);
        }
        if let Some(&(parent, _)) = self.frames.last() {
            self.lower(parent, low);
        }
    }

    fn close_component(&mut self, head: u32) {
        let start = self.open.iter().rposition(|&node| node == head).unwrap_or(0);
        let component = &self.open[start..];
        for &node in component {
            self.order[node as usize] = CLOSED;
        }
        if component.iter().filter(|&&node| self.graph.is_op(node)).count() >= 2 {
            self.offending.push(component.to_vec());
        }
        self.open.truncate(start);
    }
}
