//! The node as its client port sees it.

use super::counters::{Counters, End};
use super::health::Health;
use super::log::NodeLog;
use super::observer::Observer;
use super::schema::SchemaBoard;
use super::switch::Links;
use crate::clock::Clock;
use crate::config::Config;
use actix::Recipient;
use coordinator::actor::{Desk, Submitted};
use cql_server::{Answer, Backend, NewTxn, NodeInfo, Reason, VirtualRow, VirtualTable};
use cql_txn::Schema;
use protocol::{ClientOutcome, NodeId, NotApplied, Tell, Topology, TxnId};
use std::cell::{Cell, OnceCell, RefCell};
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;
use tokio::task::spawn_local;

/// What the client port of one node works with.
pub(crate) struct NodeBackend {
    pub(crate) node: NodeId,
    pub(crate) config: Arc<Config>,
    pub(crate) topology: Arc<Topology>,
    pub(crate) schema: Rc<SchemaBoard>,
    pub(crate) links: Links,
    pub(crate) desk: Rc<Desk>,
    pub(crate) coordinator: Recipient<Tell<Submitted>>,
    pub(crate) log: Rc<RefCell<NodeLog>>,
    pub(crate) time: Clock,
    pub(crate) counters: Rc<Counters>,
    pub(crate) health: Rc<Health>,
    /// Set once everything it asks exists.
    pub(crate) observer: OnceCell<Rc<Observer>>,
    /// Bytes waiting for the disk beyond which no new work is begun.
    pub(crate) pending_max: usize,
    pub(crate) is_stopping: Cell<bool>,
    /// Where the port really listens.
    pub(crate) client_address: OnceCell<SocketAddr>,
}

impl NodeBackend {
    /// Whether a node takes part as far as this one can see.
    pub(crate) fn is_live(&self, node: NodeId) -> bool {
        node == self.node || self.links.get(&node).is_some_and(|link| link.connected_to().is_some())
    }

    /// Why clients had better go to another node; `None` if all is well.
    pub(crate) fn not_ready(&self) -> Option<String> {
        if let Some(why) = self.health.fatal() {
            return Some(why);
        }
        if self.is_stopping.get() {
            return Some("the node is stopping".to_owned());
        }
        if self.log.borrow().stats().is_none_or(|stats| stats.live_bytes >= self.config.journal.max_bytes) {
            return Some("the journal is full: raise [journal] max_bytes".to_owned());
        }
        let short = self.topology.shards().iter().filter(|shard| shard.range.group == self.topology.largest_group());
        let mut short = short.filter(|shard| {
            let alive = shard.nodes.iter().filter(|node| self.is_live(*node)).count();
            alive <= shard.nodes.len() / 2
        });
        if short.next().is_some() {
            return Some("too few nodes are connected to this one for a quorum".to_owned());
        }
        let has_caught_up = self.health.has_caught_up();
        (!has_caught_up).then(|| "the node has not caught up with the others since it started".to_owned())
    }

    /// Why `txn` cannot be begun.
    fn refusal(&self, txn: &NewTxn) -> Option<(Reason, String)> {
        if self.is_stopping.get() {
            return Some((Reason::Stopping, "this node is stopping: use another".to_owned()));
        }
        if self.log.borrow().pending_bytes() > self.pending_max {
            let text = "the node's disk does not keep up with its journal; try again shortly";
            return Some((Reason::Overloaded, text.to_owned()));
        }
        let shards = self.topology.voting_groups(&txn.keys);
        let short = shards.iter().find_map(|shard| {
            let alive = shard.nodes.iter().filter(|node| self.is_live(*node)).count();
            (alive < shard.slow_quorum()).then(|| (shard.slow_quorum() as u32, alive as u32))
        });
        short.map(|(required, alive)| {
            let text =
                format!("{required} replicas are needed and {alive} are connected to this node; nothing was sent");
            (Reason::Unavailable { required, alive }, text)
        })
    }
}

impl Backend for NodeBackend {
    fn schema(&self) -> Arc<Schema> {
        self.schema.current()
    }

    fn submit(&self, txn: NewTxn, answer: Box<dyn FnOnce(Answer)>) {
        let began = self.time.now().mono;
        if let Some((reason, text)) = self.refusal(&txn) {
            self.counters.ends.count(End::REFUSED, began, began);
            return answer(Answer::NotApplied { reason, text, txn_id: None });
        }
        let (counters, time) = (Rc::clone(&self.counters), self.time);
        let completion = Box::new(move |txn_id, outcome| {
            counters.ends.count(End::of(&outcome), began, time.now().mono);
            answer(told(txn_id, outcome));
        });
        if self.desk.submit(txn.kind, txn.keys, txn.body, completion) {
            self.coordinator.do_send(Tell(Submitted));
        }
    }

    fn when_schema_agreed(&self, version: u64, agreed: Box<dyn FnOnce()>) {
        self.schema.when_agreed(version, agreed);
    }

    fn nodes(&self) -> Vec<NodeInfo> {
        let info = |entry: &crate::config::NodeEntry| {
            let id = NodeId(entry.id);
            let listed = entry.client_address();
            let address = self.client_address.get().filter(|_| id == self.node).copied().unwrap_or(listed);
            let is_any = address.ip().is_unspecified();
            NodeInfo {
                id,
                address: if is_any { listed.ip() } else { address.ip() },
                port: address.port(),
                peer_port: entry.peer_addr.port(),
                tokens: self
                    .topology
                    .nodes()
                    .iter()
                    .filter(|(node, _)| *node == id)
                    .map(|(_, token)| token.0)
                    .collect(),
                is_up: self.is_live(id),
                schema_version: self.schema.current().version,
                data_centre: self.config.cluster.data_centre.clone(),
                rack: self.config.cluster.rack.clone(),
            }
        };
        self.config.cluster.nodes.iter().map(info).collect()
    }

    fn local_node(&self) -> NodeId {
        self.node
    }

    fn cluster_name(&self) -> String {
        self.config.cluster.name.clone()
    }

    fn look(&self, table: VirtualTable, answer: Box<dyn FnOnce(Vec<VirtualRow>)>) {
        match self.observer.get().map(Rc::clone) {
            Some(observer) => drop(spawn_local(async move { answer(observer.rows(table).await) })),
            None => answer(Vec::new()),
        }
    }
}

/// The end of a transaction in the words of the client port.
fn told(txn_id: Option<TxnId>, outcome: ClientOutcome) -> Answer {
    match (outcome, txn_id) {
        (ClientOutcome::Applied { result, path }, Some(txn_id)) => {
            Answer::Applied { result, txn_id, path: path.name() }
        }
        (ClientOutcome::Unknown, Some(txn_id)) => Answer::Unknown { txn_id },
        (ClientOutcome::NotApplied(why), txn_id) => {
            Answer::NotApplied { reason: reason(why), text: why.to_string(), txn_id }
        }
        (ClientOutcome::Applied { .. } | ClientOutcome::Unknown, None) => Answer::NotApplied {
            reason: Reason::Internal,
            text: "a transaction ended without ever having had an id".to_owned(),
            txn_id: None,
        },
    }
}

fn reason(why: NotApplied) -> Reason {
    match why {
        NotApplied::Overloaded => Reason::Overloaded,
        NotApplied::Invalidated | NotApplied::Rejected => Reason::Invalidated,
        NotApplied::Unavailable => Reason::Unavailable { required: 1, alive: 0 },
        NotApplied::Misplaced => Reason::Refused,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use protocol::{Blob, Epoch, Hlc, Path, TxnShape};

    #[test]
    fn an_unknown_outcome_is_never_told_as_a_failure() {
        let id = TxnId::new(Epoch(1), Hlc(9), NodeId(1), TxnShape::default());
        assert_eq!(told(Some(id), ClientOutcome::Unknown), Answer::Unknown { txn_id: id });
        let applied = ClientOutcome::Applied { result: Blob::default(), path: Path::Medium };
        let answer = told(Some(id), applied);
        assert!(matches!(answer, Answer::Applied { path: "medium", .. }), "{answer:?}");
    }
}
