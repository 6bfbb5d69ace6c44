//! Coming back from disk: lock, journal, rows, and the fold of every store.

use super::durability::{self, Durability};
use super::row_check::open_rows;
use super::{NodeSetup, failpoint, row_key};
use crate::Error;
use crate::clock::Clock;
use command_store::actor::Rows;
use command_store::{CommandStore, Replay, Slices, StoreConfig};
use cql_txn::{CqlSemantics, SCHEMA_TABLE, rows_are_readable};
use journal::{DirLock, Journal, Kind, RealDisk, Replayed, RowCheckpoint};
use protocol::{Bytes, CommandDiff, Hlc, Key, NoHooks, NodeId, StoreId, Timestamp, Topology, TxnId, codec};
use std::path::Path;
use std::sync::Arc;
use tokio::sync::watch;
use tracing::{info, warn};

/// Version of the node's own facts in the journal.
const META_VERSION: u8 = 1;

/// A node's state as it was at the last durable position.
pub(crate) struct Recovered {
    pub(crate) lock: DirLock,
    pub(crate) journal: Journal,
    pub(crate) news: watch::Receiver<Durability>,
    pub(crate) checkpoint: RowCheckpoint,
    pub(crate) stores: Vec<(CommandStore<NoHooks>, Rows)>,
    /// The node's clock goes on above this.
    pub(crate) resume_at: Hlc,
}

/// Opens everything in the data directory and folds the log.
///
/// *Errors*: a directory that is locked, foreign, damaged or of another shape; each says what to do.
pub(crate) fn recover(setup: &NodeSetup, topology: &Arc<Topology>) -> Result<Recovered, Error> {
    let dir = &setup.data_dir;
    std::fs::create_dir_all(dir)
        .map_err(|error| Error::Failed(format!("{}: cannot create the data directory: {error}", dir.display())))?;
    let lock = DirLock::acquire(dir).map_err(failed)?;
    let owner = owner(setup);
    let options = setup.config.journal_options(owner, crate::entropy::number()?);
    let (tell, news) = durability::channel();
    let disk = Arc::new(RealDisk);
    let (mut journal, replay) = Journal::open(&dir.join("journal"), &options, disk.clone(), tell).map_err(failed)?;
    for warning in replay.warnings() {
        warn!("{warning}");
    }
    is_whole(dir, &replay)?;
    let row_options = setup.config.row_options(dir, owner);
    let checkpoint = open_rows(&row_options, &setup.prober, (replay.first(), replay.end()), disk)?;
    let mut folding = Folding::new(setup, topology);
    folding.load_rows(&checkpoint)?;
    folding.resume_at = Hlc(replay.hlc_reserved().unwrap_or(0));
    let is_new = replay.end() == journal::Lsn::ZERO;
    let mut count = 0u64;
    for record in replay {
        count += 1;
        folding.take(&record.map_err(failed)?)?;
    }
    if is_new {
        note_shape(&mut journal, setup.config.node.stores)?;
    } else {
        info!(records = count, rows = folding.row_count(), "replayed the journal");
    }
    let resume_at = folding.resume_at;
    Ok(Recovered { lock, journal, news, checkpoint, stores: folding.finish(setup.clock), resume_at })
}

/// Refuses a log that has lost what it must begin with: a node that forgot its votes must not vote again.
fn is_whole(dir: &Path, replay: &journal::Replay) -> Result<(), Error> {
    let has_rows = dir.join("rows.marker").exists() || dir.join("rows").exists();
    let lost = if replay.end() == journal::Lsn::ZERO && has_rows {
        "there are rows and no log"
    } else if replay.first() > journal::Lsn::ZERO {
        "the log does not begin with its first record"
    } else {
        return Ok(());
    };
    let dir = dir.display();
    Err(Error::Failed(format!(
        "{dir}: {lost}, so this node may have forgotten its votes; restore its journal from this very disk"
    )))
}

/// What tells this node's files from another's: cluster, then node.
fn owner(setup: &NodeSetup) -> [u8; 32] {
    let mut owner = [0; 32];
    owner[..16].copy_from_slice(&setup.config.cluster_id().0);
    owner[16..20].copy_from_slice(&setup.id.0.to_be_bytes());
    owner
}

fn failed(error: journal::Error) -> Error {
    Error::Failed(error.to_string())
}

/// Writes down how many stores the deltas are split over: they cannot be read back under another number.
fn note_shape(journal: &mut Journal, stores: u16) -> Result<(), Error> {
    let mut batch = journal.batch();
    batch.push(Kind::NODE_META, META_VERSION, 0, &[0; 20], &stores.to_be_bytes()).map_err(failed)?;
    journal.append(&mut batch).map(|_| ()).map_err(failed)
}

/// Configuration of store `store` of a node.
fn store_config(setup: &NodeSetup, topology: &Arc<Topology>, store: StoreId) -> StoreConfig {
    let config = &setup.config;
    StoreConfig {
        node: setup.id,
        store,
        slices: Slices::new(config.node.stores),
        topology: Arc::clone(topology),
        pre_accept_timeout: config.pre_accept_timeout(),
        max_clock_skew: config.max_clock_skew(),
        elide: config.paths.elide_deps,
        evict: config.limits.evict_finished,
        progress: config.progress_config(),
    }
}

/// The stores of a node on their way back.
struct Folding {
    node: NodeId,
    slices: Slices,
    stores: Vec<(Replay<NoHooks>, Rows)>,
    resume_at: Hlc,
}

impl Folding {
    fn new(setup: &NodeSetup, topology: &Arc<Topology>) -> Self {
        let slices = Slices::new(setup.config.node.stores);
        let store = |store| {
            let config = store_config(setup, topology, StoreId(store));
            (Replay::new(config, Arc::new(CqlSemantics), NoHooks), Rows::default())
        };
        let stores = (0..slices.count()).map(store).collect();
        Self { node: setup.id, slices, stores, resume_at: Hlc(0) }
    }

    fn row_count(&self) -> usize {
        self.stores.iter().map(|(_, rows)| rows.len()).sum()
    }

    fn load_rows(&mut self, checkpoint: &RowCheckpoint) -> Result<(), Error> {
        let mut bad = 0u64;
        let loaded = checkpoint.load_all(|key, rows| match row_key::decode(key).filter(|key| is_readable(key, rows)) {
            Some(key) => {
                let store = self.slices.store_of(key.routing);
                self.stores[usize::from(store.0)].1.load(key, Bytes::copy_of(rows));
            }
            None => bad += 1,
        });
        loaded.map_err(failed)?;
        if bad > 0 {
            return Err(Error::Failed(format!(
                "{bad} rows of the checkpoint cannot be read by this build; move the directory `rows` and the file `rows.marker` \
                 away, and the node rebuilds them from its journal"
            )));
        }
        Ok(())
    }

    fn take(&mut self, record: &Replayed) -> Result<(), Error> {
        if record.kind == Kind::NODE_META {
            return self.check_shape(&record.payload);
        }
        if record.kind != Kind::COMMAND_DELTA {
            return Ok(());
        }
        let bad = |what: &str| {
            Error::Failed(format!(
                "journal segment {}, byte {}: {what}; set the data directory aside and let the node start anew",
                record.segment, record.offset
            ))
        };
        let id = Timestamp::from_bytes(&record.id).ok().and_then(TxnId::from_timestamp);
        let id = id.ok_or_else(|| bad("a delta of no transaction"))?;
        let diff = codec::decode_diff(&record.payload).map_err(|error| bad(&error.to_string()))?;
        let store = self.stores.get_mut(usize::from(record.store));
        let (replay, rows) = store.ok_or_else(|| bad("a delta of a store that this node does not have"))?;
        failpoint::hit("replay");
        replay.fold(id, &diff, rows);
        self.resume_at = self.resume_at.max(own_reading(self.node, &diff));
        Ok(())
    }

    fn check_shape(&self, payload: &[u8]) -> Result<(), Error> {
        let stored = payload.try_into().map(u16::from_be_bytes).unwrap_or(0);
        if stored == self.slices.count() {
            return Ok(());
        }
        Err(Error::Config(format!(
            "[node] stores = {}: this data directory was written with {stored} and cannot be split anew; set it back to {stored}",
            self.slices.count()
        )))
    }

    fn finish(self, clock: Clock) -> Vec<(CommandStore<NoHooks>, Rows)> {
        let now = clock.now().mono;
        self.stores.into_iter().map(|(replay, rows)| (replay.finish(now), rows)).collect()
    }
}

fn is_readable(key: &Key, rows: &[u8]) -> bool {
    if key.table == SCHEMA_TABLE { cql_txn::Schema::decode(rows).is_ok() } else { rows_are_readable(rows) }
}

/// The highest value of this node's own clock that a delta shows.
fn own_reading(node: NodeId, diff: &CommandDiff) -> Hlc {
    let times = [diff.execute_at, diff.promised.map(|ballot| ballot.as_timestamp())];
    times.into_iter().flatten().filter(|time| time.node() == node).map(|time| time.hlc()).max().unwrap_or_default()
}
