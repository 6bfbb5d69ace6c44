use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::Notify;

use crate::queue::{Admission, Queue};
use crate::{Endpoint, Error, LinkCounters, LinkTask};

/// Why a message did not enter a link's queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SendError {
    #[error("queue to the peer is full")]
    Full,
    #[error("message of {len} bytes does not fit a frame, at most {max} do")]
    TooLong { len: usize, max: usize },
    #[error("link is closed")]
    Closed,
}

/// The sending end towards one peer; closing or dropping it ends its [`LinkTask`].
///
/// Sending copies the message into the queue and never waits. What is queued in one turn of the event loop leaves as one
/// frame in one write. Messages are dropped and counted when the peer is lost or cannot be reached.
#[derive(Debug)]
pub struct Link {
    peer: u32,
    shared: Arc<Shared>,
}

#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) queue: Queue,
    /// Something waits.
    pub(crate) wake: Notify,
    /// The handle was closed.
    pub(crate) stop: Notify,
    pub(crate) counters: LinkCounters,
    status: Mutex<Status>,
}

#[derive(Debug, Default)]
struct Status {
    incarnation: Option<u64>,
    failure: Option<String>,
}

/// Makes the two halves of a link: the handle to send with, and the task to be spawned.
///
/// *Shape*: `address` is `host:port` and is resolved anew on each attempt.
///
/// *Errors*: `peer` is not in the key ring.
pub fn link(endpoint: Arc<Endpoint>, peer: u32, address: String) -> Result<(Link, LinkTask), Error> {
    if !endpoint.ring().is_peer(peer) {
        return Err(Error::UnknownPeer(peer));
    }
    let settings = &endpoint.settings;
    let shared = Arc::new(Shared {
        queue: Queue::new(settings.queue_max, settings.payload_max()),
        wake: Notify::new(),
        stop: Notify::new(),
        counters: LinkCounters::default(),
        status: Mutex::default(),
    });
    let task = LinkTask::new(endpoint, peer, address, Arc::clone(&shared));
    Ok((Link { peer, shared }, task))
}

impl Link {
    /// Queues a message that belongs to work already begun (replies, commits): bounded by one frame only.
    ///
    /// *Errors*: the message is then dropped, as if the network had lost it, and counted.
    pub fn send(&self, message: &[u8]) -> Result<(), SendError> {
        self.push(message, Admission::Begun).inspect_err(|_| {
            self.shared.counters.refused_full.add(1);
        })
    }

    /// Queues a message that begins new work: refused once `queue_max` bytes wait or are being written.
    pub fn try_send(&self, message: &[u8]) -> Result<(), SendError> {
        self.push(message, Admission::New).inspect_err(|_| {
            self.shared.counters.refused_new.add(1);
        })
    }

    fn push(&self, message: &[u8], admission: Admission) -> Result<(), SendError> {
        if self.shared.queue.push(message, admission)? {
            self.shared.wake.notify_one();
        }
        Ok(())
    }

    pub const fn peer(&self) -> u32 {
        self.peer
    }

    /// Bytes waiting or being written, length prefixes included.
    pub fn queued_bytes(&self) -> usize {
        self.shared.queue.len()
    }

    /// The peer's incarnation while connected.
    pub fn connected_to(&self) -> Option<u64> {
        self.shared.status().incarnation
    }

    /// What went wrong last, until the next success: for status pages.
    pub fn failure(&self) -> Option<String> {
        self.shared.status().failure.clone()
    }

    pub fn counters(&self) -> &LinkCounters {
        &self.shared.counters
    }

    /// Takes no more messages; the task writes what is queued (or gives up after `write_timeout`) and ends.
    pub fn close(&self) {
        self.shared.queue.close();
        self.shared.stop.notify_one();
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        self.close();
    }
}

impl Shared {
    pub(crate) fn set_up(&self, incarnation: u64) {
        *self.status() = Status { incarnation: Some(incarnation), failure: None };
    }

    /// True if this is another failure than the last one, worth a line in the log.
    pub(crate) fn set_down(&self, failure: String) -> bool {
        let mut status = self.status();
        status.incarnation = None;
        let is_new = status.failure.as_ref() != Some(&failure);
        status.failure = Some(failure);
        is_new
    }

    fn status(&self) -> std::sync::MutexGuard<'_, Status> {
        self.status.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
