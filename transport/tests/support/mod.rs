//! Nodes on loopback sockets.
#![allow(dead_code, reason = "each test program uses a part of it")]

pub(crate) mod rings;

use std::cell::RefCell;
use std::future::Future;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use auth::{KeyRing, Verified};
use tokio::sync::Notify;
use tokio::task::{AbortHandle, LocalSet, spawn_local};
use transport::{Batch, Endpoint, Inbound, Link, Listener, ListenerCounters, Settings, link};

/// The sender and the bytes of a message.
type Delivered = (u32, Vec<u8>);

/// Remembers what was delivered.
#[derive(Clone, Default)]
pub(crate) struct Inbox {
    messages: Rc<RefCell<Vec<Delivered>>>,
    arrived: Rc<Notify>,
}

impl Inbound for Inbox {
    fn deliver(&self, from: u32, batch: Verified<Batch<'_>>) {
        assert_eq!(from, batch.from());
        self.messages.borrow_mut().extend(batch.get().iter().map(|message| (from, message.to_vec())));
        self.arrived.notify_one();
    }
}

impl Inbox {
    pub(crate) fn take(&self) -> Vec<Delivered> {
        self.messages.take()
    }

    pub(crate) fn len(&self) -> usize {
        self.messages.borrow().len()
    }

    /// Waits until at least `count` messages are there.
    pub(crate) async fn wait_for(&self, count: usize) {
        while self.len() < count {
            self.arrived.notified().await;
        }
    }
}

/// A listening node.
pub(crate) struct Port {
    pub(crate) address: String,
    pub(crate) counters: Arc<ListenerCounters>,
    pub(crate) inbox: Inbox,
    task: AbortHandle,
}

impl Port {
    /// Listens on `address`; port 0 picks a free one.
    pub(crate) async fn open(endpoint: &Arc<Endpoint>, address: &str) -> Self {
        let listener = Listener::bind(Arc::clone(endpoint), address).await.unwrap();
        let (address, counters) = (listener.local_addr().unwrap().to_string(), listener.counters());
        let inbox = Inbox::default();
        let task = spawn_local(listener.run(inbox.clone())).abort_handle();
        Self { address, counters, inbox, task }
    }

    /// Stops listening and closes every connection.
    pub(crate) async fn close(self) {
        self.task.abort();
        while !self.task.is_finished() {
            tokio::task::yield_now().await;
        }
    }
}

pub(crate) fn endpoint(ring: KeyRing, settings: Settings) -> Arc<Endpoint> {
    let incarnation = 100 + u64::from(ring.own());
    Endpoint::new(ring, incarnation, settings, rings::entropy).unwrap()
}

/// A link whose task runs.
pub(crate) fn connect(endpoint: &Arc<Endpoint>, peer: u32, address: &str) -> Link {
    let (link, task) = link(Arc::clone(endpoint), peer, address.to_owned()).unwrap();
    spawn_local(task.run());
    link
}

/// Lets other tasks run until `condition` holds.
pub(crate) async fn until(condition: impl Fn() -> bool) {
    while !condition() {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

/// Runs a test on one thread; a minute without an end is a failure, not a hang.
pub(crate) fn on_one_thread(test: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let limited = async { tokio::time::timeout(Duration::from_secs(60), test).await };
    let ended = LocalSet::new().block_on(&runtime, limited);
    assert!(ended.is_ok(), "the test did not come to its end");
}

/// Settings that make a test wait less.
pub(crate) fn brisk() -> Settings {
    Settings { backoff: Duration::from_millis(1)..=Duration::from_millis(20), ..Settings::default() }
}
