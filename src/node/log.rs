//! The node's log as its stores see it: one journal, one batch per go of a store.

use super::failpoint;
use command_store::actor::{Loaded, Log, Position};
use journal::{Batch, Error, Journal, Kind, Lsn, Stats, Stored};
use protocol::{Command, CommandDiff, Status, StoreId, TxnId, codec};

/// Version of a delta record for the journal; the delta carries its own as well.
const DELTA_VERSION: u8 = 1;

/// The journal in the hands of the stores of one thread.
pub(crate) struct NodeLog {
    /// Gone once the node has closed it.
    journal: Option<Journal>,
    batch: Batch,
    buffer: Vec<u8>,
}

impl NodeLog {
    pub(crate) fn new(journal: Journal) -> Self {
        Self { batch: journal.batch(), journal: Some(journal), buffer: Vec::new() }
    }

    /// The journal, to be closed; stores that still run are told that it is gone.
    pub(crate) fn take(&mut self) -> Option<Journal> {
        self.journal.take()
    }

    /// Asks for a clock reservation; the position at which it is durable.
    pub(crate) fn reserve(&mut self, upto: u64) -> Result<Position, String> {
        let reserved = self.open().and_then(|journal| journal.reserve_hlc(upto));
        reserved.map(position).map_err(|error| error.to_string())
    }

    /// Position after the last append.
    pub(crate) fn appended(&self) -> Position {
        self.journal.as_ref().map_or(Position(0), |journal| position(journal.appended()))
    }

    /// Bytes that wait for the disk.
    pub(crate) fn pending_bytes(&self) -> usize {
        self.journal.as_ref().map_or(0, Journal::pending_bytes)
    }

    /// Figures of the journal; `None` once it is closed.
    pub(crate) fn stats(&self) -> Option<Stats> {
        self.journal.as_ref().map(Journal::stats)
    }

    fn open(&mut self) -> Result<&mut Journal, Error> {
        self.journal.as_mut().ok_or(Error::Closed("journal"))
    }
}

fn position(lsn: Lsn) -> Position {
    Position(lsn.0)
}

impl Log for NodeLog {
    fn push(&mut self, store: StoreId, txn_id: TxnId, diff: &CommandDiff) -> Result<(), String> {
        match diff.status {
            Some(Status::PreAccepted) => failpoint::hit("store-pre-accept"),
            Some(Status::PreApplied) => failpoint::hit("store-apply"),
            _ => {}
        }
        self.buffer.clear();
        codec::encode_diff(diff, &mut self.buffer);
        let id = txn_id.as_timestamp().to_bytes();
        let pushed = self.batch.push(Kind::COMMAND_DELTA, DELTA_VERSION, store.0, &id, &self.buffer);
        pushed.map_err(|error| format!("{txn_id}: {error}"))
    }

    fn commit(&mut self) -> Result<Position, String> {
        let mut batch = std::mem::take(&mut self.batch);
        let appended = self.open().and_then(|journal| journal.append(&mut batch));
        self.batch = batch;
        appended.map(position).map_err(|error| error.to_string())
    }

    fn load(&mut self, store: StoreId, txn_id: TxnId, answer: Loaded) -> Result<bool, String> {
        let id = txn_id.as_timestamp().to_bytes();
        let answer = Box::new(move |read: Result<Vec<Stored>, Error>| {
            answer(read.map_err(|error| error.to_string()).and_then(|records| fold(txn_id, &records)));
        });
        match self.open().and_then(|journal| journal.read(store.0, &id, answer)) {
            Ok(()) => Ok(true),
            Err(Error::ReadsFull { .. }) => Ok(false),
            Err(error) => Err(error.to_string()),
        }
    }
}

/// The command that is the fold of its records.
fn fold(txn_id: TxnId, records: &[Stored]) -> Result<Command, String> {
    let mut command = Command::default();
    for record in records.iter().filter(|record| record.kind == Kind::COMMAND_DELTA) {
        let diff = codec::decode_diff(&record.payload);
        command.fold(&diff.map_err(|error| format!("{txn_id}: delta in the journal: {error}"))?);
    }
    Ok(command)
}
