//! The journal: the log on a thread of its own, with group commit.

use crate::log::{Log, Opened};
use crate::poison::Poison;
use crate::reader::{Answer, Reader, ReaderOrder, ReaderThread, RecordReader, tell};
use crate::record::RecordId;
use crate::{Batch, Disk, Error, Forgotten, HlcReservation, Lsn, Options, Replay, SyncMode};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender, SyncSender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// How long the log is quiet before it writes down what is known synced.
const ATTEST_AFTER: Duration = Duration::from_secs(1);

/// News of durability, given on the journal's thread in the order of positions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Durable {
    /// All records up to here survive a power cut.
    Synced(Lsn),
    /// All records up to here are written but may be lost to a power cut; in mode `Periodic` they count as published.
    Written(Lsn),
    /// A write or sync failed. Said once; no position follows, later appends are refused.
    Failed(Arc<str>),
}

/// Called for each [`Durable`]; must not block.
pub type OnDurable = Box<dyn Fn(Durable) + Send>;

type OnForgotten = Box<dyn FnOnce(Result<Forgotten, Error>) + Send>;

enum WriterOrder {
    Append(Batch),
    Forget(Lsn, OnForgotten),
}

/// Figures of a running journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stats {
    /// Bytes in live segments.
    pub live_bytes: u64,
    /// Live segments.
    pub segment_count: usize,
    /// Bytes appended and not yet published.
    pub pending_bytes: usize,
    /// Batches written so far.
    pub batch_count: u64,
    /// Syncs that published a position so far.
    pub sync_count: u64,
    /// Memory of the index, in bytes.
    pub index_bytes: usize,
}

#[derive(Default)]
struct Gauges {
    live_bytes: AtomicU64,
    segment_count: AtomicUsize,
    pending_bytes: AtomicUsize,
    batch_count: AtomicU64,
    sync_count: AtomicU64,
    index_bytes: Arc<AtomicUsize>,
}

/// The handle of a running journal: one owner appends. Dropping it writes what is queued and waits for the threads.
pub struct Journal {
    orders: Option<Sender<WriterOrder>>,
    reader: Reader,
    appended: Lsn,
    options: Options,
    gauges: Arc<Gauges>,
    poison: Poison,
    threads: Vec<JoinHandle<()>>,
}

impl Journal {
    /// Opens or creates the log in `dir` and starts its threads. All that the replay holds is durable.
    ///
    /// # Errors
    /// Those of [`Log::open`]; `Io` if a thread cannot be started.
    pub fn open(
        dir: &Path,
        options: &Options,
        disk: Arc<dyn Disk>,
        on_durable: OnDurable,
    ) -> Result<(Self, Replay), Error> {
        let Opened { log, index, replay } = Log::open(dir, options, disk.clone())?;
        let gauges = Arc::new(Gauges::default());
        let (reader_orders, reader_inbox) = mpsc::sync_channel(options.reads_max.saturating_mul(2).max(1024));
        let reader = Reader::new(reader_orders.clone(), options.reads_max);
        let records = RecordReader::new(dir, disk);
        let reading = ReaderThread::new(index, records, log.appended(), &reader, gauges.index_bytes.clone());
        let (orders, inbox) = mpsc::channel();
        let (appended, poison) = (log.appended(), log.poison());
        let writing = WriterThread {
            log,
            inbox,
            reader: reader_orders,
            on_durable,
            gauges: gauges.clone(),
            mode: options.sync,
            sync_due: None,
            failure_told: false,
        };
        writing.measure();
        let start = |name: &str, work: Box<dyn FnOnce() + Send>| {
            thread::Builder::new().name(name.to_owned()).spawn(work).map_err(Error::io("start a thread for", dir))
        };
        let threads = vec![
            start("journal-reader", Box::new(move || reading.run(&reader_inbox)))?,
            start("journal", Box::new(move || writing.run()))?,
        ];
        let options = options.clone();
        Ok((Self { orders: Some(orders), reader, appended, options, gauges, poison, threads }, replay))
    }

    /// An empty batch for this journal.
    pub fn batch(&self) -> Batch {
        Batch::new(&self.options)
    }

    /// Queues the records and returns the position after them; never blocks. The batch is emptied.
    ///
    /// # Errors
    /// `Full`, `OverCapacity`, `RecordTooLarge` (the batch keeps its records); `Poisoned` after a failure.
    pub fn append(&mut self, batch: &mut Batch) -> Result<Lsn, Error> {
        self.poison.check()?;
        if batch.is_empty() {
            return Ok(self.appended);
        }
        self.check_room(batch)?;
        let orders = self.orders.as_ref().ok_or(Error::Closed("journal"))?;
        let position = self.appended.plus(batch.size());
        self.gauges.pending_bytes.fetch_add(batch.size(), Ordering::Relaxed);
        orders.send(WriterOrder::Append(batch.take())).map_err(|_| Error::Closed("journal"))?;
        self.appended = position;
        Ok(position)
    }

    fn check_room(&self, batch: &Batch) -> Result<(), Error> {
        let (pending, more, max) = (self.pending_bytes(), batch.size(), self.options.pending_max);
        if pending.saturating_add(more) > max {
            return Err(Error::Full { pending, more, max });
        }
        let (live, max) = (self.gauges.live_bytes.load(Ordering::Relaxed), self.options.max_bytes);
        if live.saturating_add((pending + more) as u64) > max {
            return Err(Error::OverCapacity { live, max });
        }
        let (size, max) = (batch.largest(), self.options.record_max());
        if size > max { Err(Error::RecordTooLarge { size, max }) } else { Ok(()) }
    }

    /// Appends a clock reservation; the clock may use it once the position is durable.
    ///
    /// # Errors
    /// Those of [`append`](Self::append).
    pub fn reserve_hlc(&mut self, upto: u64) -> Result<Lsn, Error> {
        let mut batch = self.batch();
        HlcReservation { upto }.push(&mut batch)?;
        self.append(&mut batch)
    }

    /// Position after the last append.
    pub fn appended(&self) -> Lsn {
        self.appended
    }

    /// Bytes that wait for the disk: admit new work only well below [`Options::pending_max`].
    pub fn pending_bytes(&self) -> usize {
        self.gauges.pending_bytes.load(Ordering::Relaxed)
    }

    /// Asks for the records of a (store, id) with all appends so far; see [`Reader::read`].
    ///
    /// # Errors
    /// Those of [`Reader::read`].
    pub fn read(&self, store: u16, id: &RecordId, answer: Answer) -> Result<(), Error> {
        self.reader.read(store, id, self.appended, answer)
    }

    /// A handle for reads from other threads.
    pub fn reader(&self) -> Reader {
        self.reader.clone()
    }

    /// Removes the leading segments that lie wholly below `position`; the caller vouches that nothing in them is needed
    /// (folded into a durable checkpoint, or appended again). `done` runs when the files are gone.
    ///
    /// # Errors
    /// `Closed` if the journal's thread has ended.
    pub fn forget_below(
        &self,
        position: Lsn,
        done: impl FnOnce(Result<Forgotten, Error>) + Send + 'static,
    ) -> Result<(), Error> {
        let orders = self.orders.as_ref().ok_or(Error::Closed("journal"))?;
        orders.send(WriterOrder::Forget(position, Box::new(done))).map_err(|_| Error::Closed("journal"))
    }

    /// Current figures.
    pub fn stats(&self) -> Stats {
        Stats {
            live_bytes: self.gauges.live_bytes.load(Ordering::Relaxed),
            segment_count: self.gauges.segment_count.load(Ordering::Relaxed),
            pending_bytes: self.pending_bytes(),
            batch_count: self.gauges.batch_count.load(Ordering::Relaxed),
            sync_count: self.gauges.sync_count.load(Ordering::Relaxed),
            index_bytes: self.gauges.index_bytes.load(Ordering::Relaxed),
        }
    }

    /// Writes and syncs what is queued and ends the threads.
    ///
    /// # Errors
    /// `Poisoned` if a write or sync failed at any time; `Closed` if a thread panicked.
    pub fn close(mut self) -> Result<(), Error> {
        self.stop()?;
        self.poison.check()
    }

    fn stop(&mut self) -> Result<(), Error> {
        self.orders = None;
        // The writer first: it tells the reader to end.
        let ended: Vec<_> = self.threads.drain(..).rev().map(JoinHandle::join).collect();
        if ended.iter().all(Result::is_ok) { Ok(()) } else { Err(Error::Closed("journal")) }
    }
}

impl Drop for Journal {
    fn drop(&mut self) {
        let _ = self.stop();
    }
}

struct WriterThread {
    log: Log,
    inbox: Receiver<WriterOrder>,
    reader: SyncSender<ReaderOrder>,
    on_durable: OnDurable,
    gauges: Arc<Gauges>,
    mode: SyncMode,
    /// When the next periodic sync is due; `None` if nothing is unsynced.
    sync_due: Option<Instant>,
    failure_told: bool,
}

impl WriterThread {
    fn run(mut self) {
        loop {
            let first = match self.wait() {
                Ok(order) => Some(order),
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => break,
            };
            let step = match first {
                Some(first) => self.take_queued(first),
                None => self.on_quiet(),
            };
            self.settle(step);
        }
        let end = self.log.sync().and_then(|_| self.log.attest()).and_then(|()| self.log.sync()).map(|_| ());
        self.settle(end);
        let _ = tell(&self.reader, ReaderOrder::Ended);
    }

    /// The next order, or a time-out when a sync is due or the log has been quiet.
    fn wait(&self) -> Result<WriterOrder, RecvTimeoutError> {
        let patience = match self.sync_due {
            Some(due) => due.saturating_duration_since(Instant::now()),
            None if self.log.needs_attest() && !self.failure_told => ATTEST_AFTER,
            None => return self.inbox.recv().map_err(|_| RecvTimeoutError::Disconnected),
        };
        self.inbox.recv_timeout(patience)
    }

    /// Takes all that is queued: one write, one sync.
    fn take_queued(&mut self, first: WriterOrder) -> Result<(), Error> {
        let queued: Vec<WriterOrder> = std::iter::once(first).chain(self.inbox.try_iter()).collect();
        let (mut batches, mut forgets) = (Vec::new(), Vec::new());
        for order in queued {
            match order {
                WriterOrder::Append(batch) => batches.push(batch),
                WriterOrder::Forget(position, done) => forgets.push((position, done)),
            }
        }
        let committed = self.commit(&batches);
        // Room and figures first: whoever hears the news finds them true.
        let size: usize = batches.iter().map(Batch::size).sum();
        self.gauges.pending_bytes.fetch_sub(size, Ordering::Relaxed);
        self.measure();
        if let Some(news) = committed? {
            (self.on_durable)(news);
        }
        let forgotten = forgets.into_iter().try_for_each(|(position, done)| self.forget(position, done));
        self.measure();
        forgotten
    }

    /// Writes the batches and syncs them if it is time; what is to be published.
    fn commit(&mut self, batches: &[Batch]) -> Result<Option<Durable>, Error> {
        if batches.is_empty() {
            return Ok(None);
        }
        let placements = self.log.write(batches)?;
        let upto = self.log.appended();
        tell(&self.reader, ReaderOrder::Written { placements, upto })?;
        self.gauges.batch_count.fetch_add(batches.len() as u64, Ordering::Relaxed);
        if let SyncMode::Periodic { interval } = self.mode {
            let due = *self.sync_due.get_or_insert_with(|| Instant::now() + interval);
            if due > Instant::now() {
                return Ok(Some(Durable::Written(upto)));
            }
        }
        self.sync().map(Some)
    }

    fn sync(&mut self) -> Result<Durable, Error> {
        self.sync_due = None;
        let synced = self.log.sync()?;
        self.gauges.sync_count.fetch_add(1, Ordering::Relaxed);
        Ok(Durable::Synced(synced))
    }

    fn on_quiet(&mut self) -> Result<(), Error> {
        if self.sync_due.is_some() {
            let news = self.sync()?;
            (self.on_durable)(news);
            return Ok(());
        }
        self.log.attest()?;
        self.measure();
        Ok(())
    }

    fn forget(&mut self, position: Lsn, done: OnForgotten) -> Result<(), Error> {
        // What the caller appended again instead must be durable first.
        if let Err(error) = self.log.sync() {
            done(Err(Error::Poisoned(self.log.poison().set(&error))));
            return Err(error);
        }
        let forgotten = self.log.forget_below(position);
        let (first_segment, segments) = (forgotten.first_segment, forgotten.segments.clone());
        let done = Box::new(move |removed: Result<(), Error>| done(removed.map(|()| forgotten)));
        // A reader that has ended drops the callback; the files are read again at the next open.
        let _ = tell(&self.reader, ReaderOrder::Forget { first_segment, segments, done });
        Ok(())
    }

    fn settle(&mut self, step: Result<(), Error>) {
        let Err(error) = step else { return };
        let text = self.log.poison().set(&error);
        self.sync_due = None;
        if !std::mem::replace(&mut self.failure_told, true) {
            let _ = tell(&self.reader, ReaderOrder::Failed(text.clone()));
            (self.on_durable)(Durable::Failed(text));
        }
    }

    fn measure(&self) {
        self.gauges.live_bytes.store(self.log.live_bytes(), Ordering::Relaxed);
        self.gauges.segment_count.store(self.log.segment_count(), Ordering::Relaxed);
    }
}
