//! The row checkpoint: rows on sled behind a thread, and the marker that says up to where they hold.
//!
//! ```text
//! rows.marker  | magic 8| format 4| position 8| owner 32| crc32 4|      beside the sled directory
//! rows.clean   empty: sled was closed in order
//! ```

use crate::disk::{Disk, OpenMode, read_whole};
use crate::poison::Poison;
use crate::{Error, Lsn, RowChange, Rows};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::{self, JoinHandle};

const MAGIC: &[u8; 8] = b"accordM\n";
const FORMAT: u32 = 1;
const MARKER_SIZE: usize = 56;

/// What an order costs beside its bytes, so that orders without any are bounded too.
const ORDER_COST: usize = 64;

/// Settings of the row checkpoint.
#[derive(Clone, Debug)]
pub struct RowOptions {
    /// Directory that holds the sled directory `rows` and the marker.
    pub dir: PathBuf,
    /// Digest of cluster and node; a marker with another one is refused.
    pub owner: [u8; 32],
    /// sled's page cache in bytes, default 16 MiB: rows are served from memory above it.
    pub cache_bytes: u64,
    /// Bytes of changes that may wait for the thread, default 64 MiB.
    pub pending_max: usize,
}

impl RowOptions {
    /// Defaults for this directory and node.
    pub fn new(dir: &Path, owner: [u8; 32]) -> Self {
        Self { dir: dir.to_path_buf(), owner, cache_bytes: 16 << 20, pending_max: 64 << 20 }
    }

    /// The sled directory.
    pub fn rows_dir(&self) -> PathBuf {
        self.dir.join("rows")
    }

    pub(crate) fn marker(&self) -> PathBuf {
        self.dir.join("rows.marker")
    }

    fn clean(&self) -> PathBuf {
        self.dir.join("rows.clean")
    }

    /// Removes the marker durably: the rows do not count any more.
    pub(crate) fn remove_marker(&self, disk: &dyn Disk) -> Result<(), Error> {
        remove_if_there(disk, &self.marker())?;
        remove_if_there(disk, &self.clean())?;
        disk.sync_dir(&self.dir).map_err(Error::io("sync", &self.dir))
    }
}

/// What a start finds before it opens sled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowsFound {
    /// The journal position up to which the rows hold (they may hold more); `None`: no checkpoint, rebuild.
    pub marker: Option<Lsn>,
    /// Whether sled was closed in order. If not, probe in a child process first.
    pub was_clean: bool,
}

impl RowsFound {
    /// Reads the marker files.
    ///
    /// # Errors
    /// `Marker` if it is damaged, `Foreign`, `Unknown` (newer format), `Io`.
    pub fn look(options: &RowOptions, disk: &dyn Disk) -> Result<Self, Error> {
        disk.make_dir(&options.dir).map_err(Error::io("create", &options.dir))?;
        let was_clean = exists(disk, &options.clean())?;
        let path = options.marker();
        let bytes = match disk.open(&path, OpenMode::Read).and_then(|file| read_whole(&*file, 4096)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self { marker: None, was_clean }),
            read => read.map_err(Error::io("read", &path))?,
        };
        Ok(Self { marker: Some(decode_marker(&bytes, &path, &options.owner)?), was_clean })
    }
}

fn encode_marker(position: Lsn, owner: &[u8; 32]) -> Vec<u8> {
    let mut out = Vec::with_capacity(MARKER_SIZE);
    out.extend_from_slice(MAGIC);
    out.extend_from_slice(&FORMAT.to_be_bytes());
    out.extend_from_slice(&position.0.to_be_bytes());
    out.extend_from_slice(owner);
    let crc = crc32fast::hash(&out);
    out.extend_from_slice(&crc.to_be_bytes());
    out
}

fn decode_marker(bytes: &[u8], path: &Path, owner: &[u8; 32]) -> Result<Lsn, Error> {
    let refuse = |reason: &str| Error::Marker { path: path.to_path_buf(), reason: reason.to_owned() };
    let (body, crc) = bytes.split_last_chunk::<4>().ok_or(refuse("it is too short"))?;
    if crc32fast::hash(body).to_be_bytes() != *crc {
        return Err(refuse("its checksum does not match"));
    }
    let rest = body.strip_prefix(MAGIC).ok_or(refuse("it does not start with the marker's magic"))?;
    let (format, rest) = rest.split_first_chunk::<4>().ok_or(refuse("it is too short"))?;
    let found = u64::from(u32::from_be_bytes(*format));
    if found != u64::from(FORMAT) {
        return Err(Error::Unknown { path: path.to_path_buf(), what: "marker format", found, known: "1" });
    }
    let (position, of) = rest.split_first_chunk::<8>().ok_or(refuse("it is too short"))?;
    if of != owner {
        return Err(refuse("it was written by another cluster or node"));
    }
    Ok(Lsn(u64::from_be_bytes(*position)))
}

/// Replaces a small file so that a power cut leaves the old or the new one.
fn replace_durably(disk: &dyn Disk, dir: &Path, path: &Path, bytes: &[u8]) -> Result<(), Error> {
    let fresh = path.with_extension("new");
    remove_if_there(disk, &fresh)?;
    let mut file = disk.open(&fresh, OpenMode::CreateNew).map_err(Error::io("create", &fresh))?;
    file.write_at(0, bytes).map_err(Error::io("write", &fresh))?;
    file.sync_data().map_err(Error::io("sync", &fresh))?;
    disk.rename(&fresh, path).map_err(Error::io("rename to", path))?;
    disk.sync_dir(dir).map_err(Error::io("sync", dir))
}

fn remove_if_there(disk: &dyn Disk, path: &Path) -> Result<(), Error> {
    match disk.remove(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed.map_err(Error::io("remove", path)),
    }
}

fn exists(disk: &dyn Disk, path: &Path) -> Result<bool, Error> {
    match disk.open(path, OpenMode::Read) {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(Error::io("open", path)(error)),
    }
}

/// Takes the position that is now checkpointed; called on the row thread.
pub type CheckpointDone = Box<dyn FnOnce(Result<Lsn, Error>) + Send>;

type RowAnswer = Box<dyn FnOnce(Result<Option<Vec<u8>>, Error>) + Send>;

enum RowOrder {
    Apply(Vec<RowChange>),
    Get(Vec<u8>, RowAnswer),
    Checkpoint(Lsn, CheckpointDone),
}

impl RowOrder {
    fn cost(&self) -> usize {
        ORDER_COST
            + match self {
                Self::Apply(changes) => changes.iter().map(RowChange::size).sum(),
                Self::Get(key, _) => key.len(),
                Self::Checkpoint(..) => 0,
            }
    }
}

/// The handle of the row thread. Dropping it applies what is queued and waits for the thread.
pub struct RowCheckpoint {
    orders: Option<Sender<RowOrder>>,
    pending: Arc<AtomicUsize>,
    pending_max: usize,
    rows: Rows,
    poison: Poison,
    thread: Option<JoinHandle<()>>,
}

impl RowCheckpoint {
    /// Opens sled and starts the thread. Look with [`RowsFound::look`] first, and probe after an unclean stop.
    ///
    /// # Errors
    /// `Rows`, `Io`.
    pub fn open(options: &RowOptions, disk: Arc<dyn Disk>) -> Result<Self, Error> {
        disk.make_dir(&options.dir).map_err(Error::io("create", &options.dir))?;
        remove_if_there(&*disk, &options.clean())?;
        disk.sync_dir(&options.dir).map_err(Error::io("sync", &options.dir))?;
        let rows = Rows::open(&options.rows_dir(), options.cache_bytes)?;
        let (orders, inbox) = mpsc::channel();
        let (pending, poison) = (Arc::new(AtomicUsize::new(0)), Poison::default());
        let work = RowThread {
            rows: rows.clone(),
            options: options.clone(),
            disk,
            pending: pending.clone(),
            poison: poison.clone(),
        };
        let thread = thread::Builder::new()
            .name("rows".to_owned())
            .spawn(move || work.run(&inbox))
            .map_err(Error::io("start a thread for", &options.dir))?;
        let (orders, thread) = (Some(orders), Some(thread));
        Ok(Self { orders, pending, pending_max: options.pending_max, rows, poison, thread })
    }

    /// Hands over all rows on the calling thread, for the start; changes handed over meanwhile may or may not be seen.
    ///
    /// # Errors
    /// `Rows`.
    pub fn load_all(&self, row: impl FnMut(&[u8], &[u8])) -> Result<(), Error> {
        self.rows.load_all(row)
    }

    /// Hands over changes; applied in order. Never blocks.
    ///
    /// # Errors
    /// `RowsFull` (nothing is taken), `Poisoned`, `Closed`.
    pub fn apply(&self, changes: Vec<RowChange>) -> Result<(), Error> {
        self.send(RowOrder::Apply(changes))
    }

    /// Asks for a row as of all changes handed over so far; answered on the row thread.
    ///
    /// # Errors
    /// Those of [`apply`](Self::apply).
    pub fn get(
        &self,
        key: &[u8],
        answer: impl FnOnce(Result<Option<Vec<u8>>, Error>) + Send + 'static,
    ) -> Result<(), Error> {
        self.send(RowOrder::Get(key.to_vec(), Box::new(answer)))
    }

    /// Makes all changes handed over so far durable, then the marker; `position` is the journal position they reflect,
    /// which must be durable in the journal. Only after `done(Ok)` may the journal forget below it.
    ///
    /// # Errors
    /// Those of [`apply`](Self::apply).
    pub fn checkpoint(&self, position: Lsn, done: CheckpointDone) -> Result<(), Error> {
        self.send(RowOrder::Checkpoint(position, done))
    }

    fn send(&self, order: RowOrder) -> Result<(), Error> {
        self.poison.check()?;
        let (more, max) = (order.cost(), self.pending_max);
        let pending = self.pending.fetch_add(more, Ordering::Relaxed);
        let closed = || Error::Closed("row checkpoint");
        let sent = if pending.saturating_add(more) > max {
            Err(Error::RowsFull { pending, more, max })
        } else {
            self.orders.as_ref().ok_or_else(closed).and_then(|orders| orders.send(order).map_err(|_| closed()))
        };
        if sent.is_err() {
            self.pending.fetch_sub(more, Ordering::Relaxed);
        }
        sent
    }

    /// Bytes handed over and not yet applied.
    pub fn pending_bytes(&self) -> usize {
        self.pending.load(Ordering::Relaxed)
    }

    /// Size of sled's files, in bytes.
    ///
    /// # Errors
    /// `Rows`.
    pub fn size_on_disk(&self) -> Result<u64, Error> {
        self.rows.size_on_disk()
    }

    /// Applies what is queued, syncs, notes that the stop was in order and ends the thread.
    ///
    /// # Errors
    /// `Poisoned` if anything failed; `Closed` if the thread panicked.
    pub fn close(mut self) -> Result<(), Error> {
        self.stop()?;
        self.poison.check()
    }

    fn stop(&mut self) -> Result<(), Error> {
        self.orders = None;
        let joined = self.thread.take().map_or(Ok(()), JoinHandle::join);
        joined.map_err(|_| Error::Closed("row checkpoint"))
    }
}

impl Drop for RowCheckpoint {
    fn drop(&mut self) {
        let _ = self.stop();
    }
}

struct RowThread {
    rows: Rows,
    options: RowOptions,
    disk: Arc<dyn Disk>,
    pending: Arc<AtomicUsize>,
    poison: Poison,
}

impl RowThread {
    fn run(self, inbox: &Receiver<RowOrder>) {
        for order in inbox {
            let cost = order.cost();
            match order {
                RowOrder::Apply(changes) => {
                    let _ = self.guard(|| self.rows.apply(&changes));
                }
                RowOrder::Get(key, answer) => answer(self.guard(|| self.rows.get(&key))),
                RowOrder::Checkpoint(position, done) => done(self.guard(|| self.checkpoint(position))),
            }
            self.pending.fetch_sub(cost, Ordering::Relaxed);
        }
        let _ = self.guard(|| {
            self.rows.sync()?;
            replace_durably(&*self.disk, &self.options.dir, &self.options.clean(), &[])
        });
    }

    fn checkpoint(&self, position: Lsn) -> Result<Lsn, Error> {
        self.rows.sync()?;
        let marker = encode_marker(position, &self.options.owner);
        replace_durably(&*self.disk, &self.options.dir, &self.options.marker(), &marker)?;
        Ok(position)
    }

    /// Runs one step; the first failure ends all later ones, so that a marker never moves over lost rows.
    fn guard<T>(&self, step: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
        self.poison.check()?;
        step().inspect_err(|error| {
            self.poison.set(error);
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FaultDisk;

    #[test]
    fn the_marker_is_the_old_or_the_new_one_after_any_power_cut() {
        let options = RowOptions::new(Path::new("data"), [3; 32]);
        let mut seen = std::collections::BTreeSet::new();
        for seed in 0..64 {
            let disk = FaultDisk::new(seed);
            let mount = disk.mount();
            let write = |position| {
                let marker = encode_marker(position, &options.owner);
                replace_durably(&*mount, &options.dir, &options.marker(), &marker)
            };
            write(Lsn(7)).expect("first");
            if seed % 2 == 0 {
                disk.fail_write(1);
                write(Lsn(8)).expect_err("no space");
            }
            disk.cut_power();
            let found = RowsFound::look(&options, &*disk.mount()).expect("readable");
            assert_eq!(found.marker, Some(Lsn(7)));
            // A rename whose directory was not synced: either name is right, a mixture is not.
            let mount = disk.mount();
            let fresh = options.marker().with_extension("new");
            remove_if_there(&*mount, &fresh).expect("remove");
            let mut file = mount.open(&fresh, OpenMode::CreateNew).expect("create");
            file.write_at(0, &encode_marker(Lsn(9), &options.owner)).expect("write");
            file.sync_data().expect("sync");
            mount.rename(&fresh, &options.marker()).expect("rename");
            disk.cut_power();
            let found = RowsFound::look(&options, &*disk.mount()).expect("readable").marker;
            seen.insert(found);
        }
        assert!(seen.contains(&Some(Lsn(7))) && seen.contains(&Some(Lsn(9))), "{seen:?}");
        assert!(seen.iter().all(|found| [Some(Lsn(7)), Some(Lsn(9))].contains(found)), "{seen:?}");
    }

    #[test]
    fn a_damaged_or_foreign_marker_is_refused() {
        let options = RowOptions::new(Path::new("data"), [3; 32]);
        let good = encode_marker(Lsn(7), &options.owner);
        assert_eq!(good.len(), MARKER_SIZE);
        let read = |bytes: &[u8]| decode_marker(bytes, &options.marker(), &options.owner);
        assert_eq!(read(&good).expect("good"), Lsn(7));
        for size in 0..good.len() {
            assert!(read(&good[..size]).is_err(), "{size} bytes were believed");
        }
        assert!(read(&encode_marker(Lsn(7), &[4; 32])).is_err());
    }
}
