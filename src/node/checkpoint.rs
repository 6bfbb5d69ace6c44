//! The row checkpoint: now and then, and at the end, what changed goes to sled.

use super::durability::{Durability, wait_for};
use super::log::NodeLog;
use super::row_key;
use crate::Error;
use actix::Addr;
use command_store::actor::{CommandStoreActor, Position, TakeDirty};
use journal::{Journal, Lsn, RowChange, RowCheckpoint};
use protocol::{Bytes, Key};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;
use tokio::sync::{Notify, oneshot, watch};
use tokio::time::timeout;
use tracing::{debug, error};

/// Changes handed over at once.
const CHUNK: usize = 1024;

/// Pause before changes are handed over again that the row thread had no room for.
const FULL_PAUSE: Duration = Duration::from_millis(5);

/// Brings rows of the stores to the row thread.
pub(crate) struct Checkpointer {
    pub(crate) checkpoint: RowCheckpoint,
    pub(crate) stores: Vec<Addr<CommandStoreActor<NodeLog>>>,
    pub(crate) log: Rc<RefCell<NodeLog>>,
    pub(crate) news: watch::Receiver<Durability>,
    /// Rings when the node stops.
    pub(crate) end: Notify,
    /// Rows were taken from the stores and did not arrive: a marker would vouch for what is not there.
    pub(crate) has_failed: Cell<bool>,
}

/// Rows that changed, and the positions between which they were taken.
struct Taken {
    rows: Vec<(Key, Option<Bytes>)>,
    /// Every write up to here is among them.
    from: Position,
    /// No write beyond this is among them.
    upto: Position,
}

impl Checkpointer {
    /// Takes a checkpoint every `period` until it fails or the node stops; a failed one costs time at the next start, and nothing else.
    ///
    /// Must not be dropped half-way, since rows are taken from the stores only once.
    pub(crate) async fn run(self: Rc<Self>, period: Duration) {
        while timeout(period, self.end.notified()).await.is_err() {
            match self.take_one().await {
                Ok(rows) => debug!(rows, "row checkpoint"),
                Err(error) => {
                    self.has_failed.set(true);
                    return error!("no more row checkpoints, so the next start replays more of the journal: {error}");
                }
            }
        }
    }

    async fn take_one(&self) -> Result<usize, Error> {
        let taken = self.take().await?;
        let count = taken.rows.len();
        wait_for(&mut self.news.clone(), taken.upto).await.map_err(Error::Failed)?;
        self.hand_over(taken).await?;
        Ok(count)
    }

    async fn take(&self) -> Result<Taken, Error> {
        let from = self.log.borrow().appended();
        let mut rows = Vec::new();
        for store in &self.stores {
            let dirty = store.send(TakeDirty).await;
            rows.extend(dirty.map_err(|error| Error::Failed(format!("a store does not answer: {error}")))?);
        }
        let upto = self.log.borrow().appended();
        Ok(Taken { rows, from, upto })
    }

    /// Must not be called before the log is durable up to `taken.upto`.
    async fn hand_over(&self, taken: Taken) -> Result<(), Error> {
        let change = |(key, rows): &(Key, Option<Bytes>)| RowChange {
            key: row_key::encode(key),
            value: rows.as_ref().map(|rows| rows.to_vec()),
        };
        for chunk in taken.rows.chunks(CHUNK) {
            loop {
                match self.checkpoint.apply(chunk.iter().map(change).collect()) {
                    Err(journal::Error::RowsFull { .. }) if self.checkpoint.pending_bytes() > 0 => {
                        tokio::time::sleep(FULL_PAUSE).await;
                    }
                    applied => break applied.map_err(failed)?,
                }
            }
        }
        let (done, waiting) = oneshot::channel();
        let done = Box::new(move |result| {
            // whoever waited may have been stopped
            let _ = done.send(result);
        });
        self.checkpoint.checkpoint(Lsn(taken.from.0), done).map_err(failed)?;
        let reached = waiting.await.map_err(|_| Error::Failed("the row thread has ended".to_owned()))?;
        reached.map(|_| ()).map_err(failed)
    }

    /// The end: the last rows are taken, the journal is closed, and then the rows.
    pub(crate) async fn finish(self) -> Result<(), Error> {
        let taken = self.take().await?;
        let journal = self.log.borrow_mut().take();
        journal.map_or(Ok(()), Journal::close).map_err(failed)?;
        if self.has_failed.get() {
            return Ok(());
        }
        self.hand_over(taken).await?;
        self.checkpoint.close().map_err(failed)
    }
}

fn failed(error: journal::Error) -> Error {
    Error::Failed(error.to_string())
}
