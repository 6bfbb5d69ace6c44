//! Everything a node shows of itself, gathered from whoever owns it. Changes nothing.

use super::backend::NodeBackend;
use super::counters::Counters;
use super::durability::Durability;
use super::log::NodeLog;
use super::metrics::{self, Sample};
use super::tables;
use crate::clock::Clock;
use actix::Addr;
use command_store::actor::{ActorLook, CommandStoreActor, Look as StoreLook};
use coordinator::CoordinatorLook;
use coordinator::actor::{CoordinatorActor, Look};
use cql_server::{VirtualRow, VirtualTable};
use protocol::{Now, TxnId};
use std::rc::{Rc, Weak};
use std::sync::Arc;
use tokio::sync::watch;
use transport::ListenerCounters;

/// Rows of a list of transactions, at most.
pub(crate) const LIST_MAX: usize = 1000;

/// Asks the parts of a node.
pub(crate) struct Observer {
    /// The backend holds its observer.
    pub(crate) backend: Weak<NodeBackend>,
    pub(crate) time: Clock,
    pub(crate) counters: Rc<Counters>,
    pub(crate) stores: Vec<Addr<CommandStoreActor<NodeLog>>>,
    pub(crate) coordinator: Addr<CoordinatorActor>,
    pub(crate) inbound: Arc<ListenerCounters>,
    pub(crate) news: watch::Receiver<Durability>,
}

/// A node at one moment, but for what its parts did while they were asked.
pub(crate) struct Seen {
    pub(crate) now: Now,
    pub(crate) backend: Rc<NodeBackend>,
    pub(crate) counters: Rc<Counters>,
    pub(crate) stores: Vec<ActorLook>,
    pub(crate) coordinator: CoordinatorLook,
    pub(crate) inbound: Arc<ListenerCounters>,
    pub(crate) durability: Durability,
}

impl Observer {
    /// Looks at everything; `most` bounds each list. `None` while the node goes down.
    pub(crate) async fn see(&self, most: usize) -> Option<Seen> {
        let mut stores = Vec::with_capacity(self.stores.len());
        for store in &self.stores {
            stores.push(store.send(StoreLook { most }).await.ok()?);
        }
        Some(Seen {
            stores,
            coordinator: self.coordinator.send(Look { most }).await.ok()?,
            now: self.time.now(),
            backend: self.backend.upgrade()?,
            counters: Rc::clone(&self.counters),
            inbound: Arc::clone(&self.inbound),
            durability: self.news.borrow().clone(),
        })
    }

    /// The rows of a table; none while the node goes down.
    pub(crate) async fn rows(&self, table: VirtualTable) -> Vec<VirtualRow> {
        let is_list = matches!(table, VirtualTable::Transactions | VirtualTable::BlockedBy);
        let seen = self.see(if is_list { LIST_MAX } else { 0 }).await;
        seen.map_or_else(Vec::new, |seen| tables::rows(&seen, table))
    }

    pub(crate) async fn samples(&self) -> Vec<Sample> {
        self.see(0).await.map_or_else(Vec::new, |seen| metrics::samples(&seen))
    }

    /// Why clients had better go to another node; `None` if all is well. Also red while the node goes down.
    pub(crate) fn not_ready(&self) -> Option<String> {
        match self.backend.upgrade() {
            Some(backend) => backend.not_ready(),
            None => Some("the node is stopping".to_owned()),
        }
    }

    /// Why the node must not go on, if it must not.
    pub(crate) fn fatal(&self) -> Option<String> {
        let backend = self.backend.upgrade()?;
        backend.health.fatal()
    }
}

impl Seen {
    /// Time since `id` was given out, by the own wall clock. *Units*: microseconds.
    pub(crate) fn age_us(&self, id: TxnId) -> u64 {
        self.now.wall.0.saturating_sub(id.hlc().0)
    }

    /// The sum of a figure of all stores.
    pub(crate) fn sum(&self, of: impl Fn(&ActorLook) -> usize) -> u64 {
        self.stores.iter().map(|store| of(store) as u64).sum()
    }

    /// The lowest id that waits for others.
    pub(crate) fn oldest_blocked(&self) -> Option<TxnId> {
        self.stores.iter().filter_map(|store| store.machine.oldest_blocked).min()
    }
}
