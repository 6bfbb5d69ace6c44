//! Reads records by (store, id): as a plain call, and on a thread of its own.

use crate::disk::{Disk, DiskFile, OpenMode};
use crate::log::Placement;
use crate::record::{self, Head, Kind, RECORD_HEADER_SIZE, RecordId, known_kind};
use crate::{Error, Index, Location, Log, Lsn, segment};
use std::collections::{BTreeMap, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, TrySendError};

/// Segment files kept open for reading.
const OPEN_FILES_MAX: usize = 16;

/// First read of a record, in bytes: most records need no second one.
const FIRST_READ: usize = 2048;

/// A record as a read finds it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stored {
    /// What it is about.
    pub kind: Kind,
    /// The payload's own version.
    pub version: u8,
    /// The opaque contents.
    pub payload: Vec<u8>,
}

/// Takes the records of a (store, id) in append order; called on the reader's thread.
pub type Answer = Box<dyn FnOnce(Result<Vec<Stored>, Error>) + Send>;

/// Reads records at known places.
pub struct RecordReader {
    dir: PathBuf,
    disk: Arc<dyn Disk>,
    /// Most recently used last.
    files: Vec<(u64, Box<dyn DiskFile>)>,
}

impl RecordReader {
    /// A reader of the log in `dir`.
    pub fn new(dir: &Path, disk: Arc<dyn Disk>) -> Self {
        Self { dir: dir.to_path_buf(), disk, files: Vec::new() }
    }

    /// All records of this (store, id) that the index knows, in append order.
    ///
    /// # Errors
    /// `Corrupt` if a record does not match its checksum, `Io`.
    pub fn read(&mut self, index: &Index, store: u16, id: &RecordId) -> Result<Vec<Stored>, Error> {
        let mut found = Vec::new();
        for at in index.locations(store, id) {
            found.extend(self.read_at(at, store, id)?);
        }
        Ok(found)
    }

    /// Closes the files of segments below this number.
    pub fn forget_below(&mut self, first_segment: u64) {
        self.files.retain(|(number, _)| *number >= first_segment);
    }

    /// The record at a place; `None` if it is another id's with the same fingerprint.
    fn read_at(&mut self, at: Location, store: u16, id: &RecordId) -> Result<Option<Stored>, Error> {
        let path = segment::path(&self.dir, at.segment);
        let corrupt = |reason| Error::Corrupt { path: path.clone(), offset: u64::from(at.offset), position: 0, reason };
        let file = self.file(at.segment, &path)?;
        let mut bytes = vec![0; FIRST_READ];
        let read = file.read_at(u64::from(at.offset), &mut bytes).map_err(Error::io("read", &path))?;
        bytes.truncate(read);
        let head = Head::peek(&bytes).ok_or_else(|| corrupt("no record header".to_owned()))?;
        if head.size() > bytes.len() {
            // A damaged length must not become an allocation: the file says how much can be there.
            let end = u64::from(at.offset) + head.size() as u64;
            if end > file.size().map_err(Error::io("read", &path))? {
                return Err(corrupt(format!("record of {} bytes passes the end of the file", head.size())));
            }
            let have = bytes.len();
            bytes.resize(head.size(), 0);
            let read = file.read_at(u64::from(at.offset) + have as u64, &mut bytes[have..]);
            let read = read.map_err(Error::io("read", &path))?;
            bytes.truncate(have + read);
        }
        let (head, _) = record::decode(&bytes).map_err(|damage| corrupt(damage.reason()))?;
        let kind = known_kind(&head, &path)?;
        if head.store != store || head.id != *id {
            return Ok(None);
        }
        bytes.truncate(head.size());
        bytes.drain(..RECORD_HEADER_SIZE);
        Ok(Some(Stored { kind, version: head.version, payload: bytes }))
    }

    fn file(&mut self, number: u64, path: &Path) -> Result<&dyn DiskFile, Error> {
        let entry = match self.files.iter().position(|(open, _)| *open == number) {
            Some(place) => self.files.remove(place),
            None => (number, self.disk.open(path, OpenMode::Read).map_err(Error::io("open", path))?),
        };
        if self.files.len() >= OPEN_FILES_MAX {
            self.files.remove(0);
        }
        self.files.push(entry);
        let last = self.files.len() - 1;
        Ok(&*self.files[last].1)
    }
}

/// What the reader's thread is told.
pub(crate) enum ReaderOrder {
    Written {
        placements: Vec<Placement>,
        upto: Lsn,
    },
    Read(Read),
    Forget {
        first_segment: u64,
        segments: Vec<u64>,
        done: Box<dyn FnOnce(Result<(), Error>) + Send>,
    },
    Failed(Arc<str>),
    /// The writer has ended: nothing more will be written.
    Ended,
}

pub(crate) struct Read {
    store: u16,
    id: RecordId,
    after: Lsn,
    answer: Answer,
}

/// A handle to ask the reader's thread; clones ask the same thread.
#[derive(Clone)]
pub struct Reader {
    orders: SyncSender<ReaderOrder>,
    waiting: Arc<AtomicUsize>,
    reads_max: usize,
}

impl Reader {
    pub(crate) fn new(orders: SyncSender<ReaderOrder>, reads_max: usize) -> Self {
        Self { orders, waiting: Arc::default(), reads_max }
    }

    pub(crate) fn waiting(&self) -> Arc<AtomicUsize> {
        self.waiting.clone()
    }

    /// Asks for the records of a (store, id), in append order, as soon as all up to `after` is written (not: synced).
    ///
    /// A read that meets the end of the journal may be dropped without an answer.
    /// Pass the position of the last append that concerns the id; `Lsn::ZERO` does not wait. Never blocks.
    ///
    /// # Errors
    /// `ReadsFull` if too many reads wait (the answer is dropped), `Closed` after the journal has ended.
    pub fn read(&self, store: u16, id: &RecordId, after: Lsn, answer: Answer) -> Result<(), Error> {
        let pending = self.waiting.fetch_add(1, Ordering::Relaxed);
        let sent = if pending < self.reads_max {
            let order = ReaderOrder::Read(Read { store, id: *id, after, answer });
            self.orders.try_send(order).map_err(|refused| match refused {
                TrySendError::Full(_) => Error::ReadsFull { max: self.reads_max },
                TrySendError::Disconnected(_) => Error::Closed("journal reader"),
            })
        } else {
            Err(Error::ReadsFull { max: self.reads_max })
        };
        if sent.is_err() {
            self.waiting.fetch_sub(1, Ordering::Relaxed);
        }
        sent
    }
}

/// The reader's thread: owns the index.
pub(crate) struct ReaderThread {
    pub(crate) index: Index,
    pub(crate) records: RecordReader,
    pub(crate) written: Lsn,
    pub(crate) waiting: Arc<AtomicUsize>,
    pub(crate) ready: VecDeque<Read>,
    pub(crate) early: BTreeMap<Lsn, Vec<Read>>,
    pub(crate) failed: Option<Arc<str>>,
    pub(crate) index_bytes: Arc<AtomicUsize>,
}

impl ReaderThread {
    pub(crate) fn new(
        index: Index,
        records: RecordReader,
        written: Lsn,
        reader: &Reader,
        bytes: Arc<AtomicUsize>,
    ) -> Self {
        bytes.store(index.memory_bytes(), Ordering::Relaxed);
        Self {
            index,
            records,
            written,
            waiting: reader.waiting(),
            ready: VecDeque::new(),
            early: BTreeMap::new(),
            failed: None,
            index_bytes: bytes,
        }
    }

    /// Serves until every handle is gone or the writer has ended.
    pub(crate) fn run(mut self, orders: &Receiver<ReaderOrder>) {
        loop {
            // Index updates go before reads, so that a writer never waits behind more than one read.
            let order = if self.ready.is_empty() {
                orders.recv().map_err(|_| TryRecvError::Disconnected)
            } else {
                orders.try_recv()
            };
            match order {
                Ok(ReaderOrder::Ended) | Err(TryRecvError::Disconnected) => break,
                Ok(order) => self.take(order),
                Err(TryRecvError::Empty) => self.serve_one(),
            }
        }
        orders.try_iter().for_each(|order| self.take(order));
        self.refuse_rest();
    }

    fn take(&mut self, order: ReaderOrder) {
        match order {
            ReaderOrder::Written { placements, upto } => {
                placements.iter().for_each(|placement| self.index.insert(placement));
                self.index_bytes.store(self.index.memory_bytes(), Ordering::Relaxed);
                self.written = upto;
                let later = self.early.split_off(&Lsn(upto.0.saturating_add(1)));
                let ripe = std::mem::replace(&mut self.early, later);
                self.ready.extend(ripe.into_values().flatten());
            }
            ReaderOrder::Read(read) if read.after <= self.written || self.failed.is_some() => {
                self.ready.push_back(read)
            }
            ReaderOrder::Read(read) => self.early.entry(read.after).or_default().push(read),
            ReaderOrder::Forget { first_segment, segments, done } => {
                self.index.forget_below(first_segment);
                self.index_bytes.store(self.index.memory_bytes(), Ordering::Relaxed);
                self.records.forget_below(first_segment);
                done(Log::remove(&self.records.dir, &*self.records.disk, &segments));
            }
            ReaderOrder::Failed(text) => {
                self.failed = Some(text);
                self.ready.extend(std::mem::take(&mut self.early).into_values().flatten());
            }
            ReaderOrder::Ended => {}
        }
    }

    fn serve_one(&mut self) {
        let Some(read) = self.ready.pop_front() else { return };
        let found = match &self.failed {
            // A record that was never written would be missing from the answer.
            Some(text) if read.after > self.written => Err(Error::Poisoned(text.clone())),
            _ => self.records.read(&self.index, read.store, &read.id),
        };
        self.waiting.fetch_sub(1, Ordering::Relaxed);
        (read.answer)(found);
    }

    fn refuse_rest(&mut self) {
        while !self.ready.is_empty() {
            self.serve_one();
        }
        for read in std::mem::take(&mut self.early).into_values().flatten() {
            self.waiting.fetch_sub(1, Ordering::Relaxed);
            (read.answer)(Err(Error::Closed("journal reader")));
        }
    }
}

/// What the writer uses to keep the reader current.
pub(crate) fn tell(reader: &SyncSender<ReaderOrder>, order: ReaderOrder) -> Result<(), Error> {
    reader.send(order).map_err(|_| Error::Closed("journal reader"))
}
