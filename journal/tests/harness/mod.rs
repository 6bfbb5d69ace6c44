//! A journal on a disk that can fail, for the case tests.
#![allow(dead_code, reason = "each test program uses a part of it")]

use journal::{Batch, Disk, Durable, Error, FaultDisk, Journal, Kind, Log, Lsn, Opened, Options, Replay, Replayed};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver};

pub(crate) const OWNER: [u8; 32] = [0x5a; 32];

pub(crate) fn dir() -> &'static Path {
    Path::new("data/journal")
}

pub(crate) fn segment(number: u64) -> PathBuf {
    dir().join(format!("segment-{number:06}.log"))
}

/// Small segments, so that tests cross their borders.
pub(crate) fn options() -> Options {
    Options { segment_size: 4096, max_bytes: 64 << 20, pending_max: 1 << 20, ..Options::new(OWNER, 0xfeed) }
}

pub(crate) fn id(number: u64) -> [u8; 20] {
    let mut id = [0; 20];
    id[12..].copy_from_slice(&number.to_be_bytes());
    id
}

/// A command delta of store 1; its id is the number, its payload repeats it.
pub(crate) fn put(batch: &mut Batch, number: u64, payload_size: usize) {
    let payload: Vec<u8> = number.to_be_bytes().into_iter().cycle().take(payload_size).collect();
    batch.push(Kind::COMMAND_DELTA, 1, 1, &id(number), &payload).expect("fits");
}

pub(crate) fn batch_of(options: &Options, number: u64, payload_size: usize) -> Batch {
    let mut batch = Batch::new(options);
    put(&mut batch, number, payload_size);
    batch
}

pub(crate) fn open_log(disk: &FaultDisk, options: &Options) -> Result<Opened, Error> {
    Log::open(dir(), options, disk.mount())
}

/// Writes and syncs one record.
pub(crate) fn write_synced(log: &mut Log, options: &Options, number: u64, payload_size: usize) -> Result<Lsn, Error> {
    log.write(&[batch_of(options, number, payload_size)])?;
    log.sync()
}

pub(crate) fn number_of(record: &Replayed) -> u64 {
    u64::from_be_bytes(record.id[12..].try_into().expect("eight bytes"))
}

/// The numbers of all records, in append order.
pub(crate) fn numbers(replay: Replay) -> Vec<u64> {
    replay.map(|record| number_of(&record.expect("readable"))).collect()
}

pub(crate) struct Running {
    pub(crate) journal: Journal,
    pub(crate) replay: Replay,
    pub(crate) news: Receiver<Durable>,
}

pub(crate) fn open_on(disk: Arc<dyn Disk>, dir: &Path, options: &Options) -> Result<Running, Error> {
    let (tell, news) = mpsc::channel();
    let on_durable = Box::new(move |durable| {
        let _ = tell.send(durable);
    });
    let (journal, replay) = Journal::open(dir, options, disk, on_durable)?;
    Ok(Running { journal, replay, news })
}

pub(crate) fn open(disk: &FaultDisk, options: &Options) -> Running {
    open_on(disk.mount(), dir(), options).expect("opens")
}

impl Running {
    pub(crate) fn append(&mut self, number: u64, payload_size: usize) -> Result<Lsn, Error> {
        let mut batch = self.journal.batch();
        put(&mut batch, number, payload_size);
        self.journal.append(&mut batch)
    }

    /// Waits until the position is durable; the text of the failure if it never will be.
    pub(crate) fn await_durable(&self, position: Lsn) -> Result<(), String> {
        loop {
            match self.news.recv().map_err(|_| "the journal has ended".to_owned())? {
                Durable::Synced(upto) if upto >= position => return Ok(()),
                Durable::Failed(text) => return Err(text.to_string()),
                _ => {}
            }
        }
    }

    /// Reads the payloads of a number's records.
    pub(crate) fn read(&self, number: u64) -> Result<Vec<Vec<u8>>, Error> {
        let (tell, answer) = mpsc::channel();
        self.journal.read(
            1,
            &id(number),
            Box::new(move |found| {
                let _ = tell.send(found);
            }),
        )?;
        let found = answer.recv().expect("answered")?;
        Ok(found.into_iter().map(|stored| stored.payload).collect())
    }
}

/// Syncs wait while it lives: a test that fails meanwhile must not leave the journal's thread waiting.
pub(crate) struct HeldSyncs<'a>(&'a FaultDisk);

impl<'a> HeldSyncs<'a> {
    pub(crate) fn of(disk: &'a FaultDisk) -> Self {
        disk.hold_syncs();
        Self(disk)
    }
}

impl Drop for HeldSyncs<'_> {
    fn drop(&mut self) {
        self.0.release_syncs();
    }
}
