//! The log as plain calls: write, sync, forget. The journal's thread drives it, and so does the simulator.

use crate::disk::{Disk, DiskFile, OpenMode};
use crate::poison::Poison;
use crate::record::{Head, Kind, RecordId};
use crate::segment::{self, MARK_SIZE, Mark, SEGMENT_HEADER_SIZE, SegmentHeader};
use crate::survey::{Extent, Last, Survey};
use crate::{Batch, Error, Index, Lsn, Options, Replay, SyncMode, Warning};
use std::collections::{BTreeMap, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Where an indexed record was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placement {
    /// The command store.
    pub store: u16,
    /// The transaction.
    pub id: RecordId,
    /// Number of the segment.
    pub segment: u64,
    /// Byte of the record in the segment file.
    pub offset: u32,
}

/// The newest clock reservation, marker and node facts, which no forgetting may take away.
#[derive(Debug, Default)]
pub(crate) struct Keepers(BTreeMap<(Kind, u16, RecordId), u64>);

impl Keepers {
    pub(crate) fn note(&mut self, kind: Kind, head: &Head, segment: u64) {
        self.0.insert((kind, head.store, head.id), segment);
    }

    fn lowest(&self) -> u64 {
        self.0.values().copied().min().unwrap_or(u64::MAX)
    }
}

/// What [`Log::open`] found.
pub struct Opened {
    /// The log, ready to append.
    pub log: Log,
    /// Where the records of each (store, id) are.
    pub index: Index,
    /// All records.
    pub replay: Replay,
}

/// The outcome of a [`Log::forget_below`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Forgotten {
    /// Number of the lowest segment that is kept.
    pub first_segment: u64,
    /// Segments given up; their files are to be removed in this order.
    pub segments: Vec<u64>,
    /// Whether segments below the position were kept because they hold the newest reservation, marker or node fact:
    /// append those again, then forget again.
    pub is_held: bool,
}

/// An open log directory. All errors of writes and syncs are final ([`Error::Poisoned`]).
pub struct Log {
    dir: PathBuf,
    options: Options,
    disk: Arc<dyn Disk>,
    file: Box<dyn DiskFile>,
    salt: u64,
    segments: VecDeque<Extent>,
    buffer: Vec<u8>,
    appended: Lsn,
    synced: Lsn,
    /// Highest synced position that a mark on disk attests.
    attested: Lsn,
    keepers: Keepers,
    poison: Poison,
}

impl Log {
    /// Opens or creates a log: checks every record, cuts a torn tail, makes all that is found durable.
    ///
    /// # Errors
    /// `Corrupt` for damage that is no torn tail, `Foreign`, `Unknown` (newer format), `Setting`, `Io`.
    pub fn open(dir: &Path, options: &Options, disk: Arc<dyn Disk>) -> Result<Opened, Error> {
        options.validate()?;
        disk.make_dir(dir).map_err(Error::io("create", dir))?;
        let mut survey = Survey::read(dir, options, &*disk)?;
        if let Some(number) = survey.unfinished {
            let path = segment::path(dir, number);
            disk.remove(&path).map_err(Error::io("remove", &path))?;
        }
        let (file, salt) = match (&survey.last, survey.extents.last()) {
            (Some(last), Some(extent)) => (repair(dir, extent, last, &*disk)?, last.salt),
            _ => Self::reopen_or_create(dir, options, &*disk, &mut survey)?,
        };
        disk.sync_dir(dir).map_err(Error::io("sync", dir))?;
        if let SyncMode::Periodic { interval } = options.sync {
            survey.warnings.push(Warning::PeriodicSync { interval });
        }
        let Survey { extents, end, index, keepers, hlc, warnings, .. } = survey;
        let replay = Replay::new(dir.to_path_buf(), disk.clone(), &extents, end, hlc, warnings);
        let log = Self {
            dir: dir.to_path_buf(),
            options: options.clone(),
            disk,
            file,
            salt,
            segments: extents.into(),
            buffer: Vec::new(),
            appended: end,
            synced: end,
            attested: Lsn::ZERO,
            keepers,
            poison: Poison::default(),
        };
        Ok(Opened { log, index, replay })
    }

    /// No last segment to repair: the directory is empty, or its last segment was unfinished.
    fn reopen_or_create(
        dir: &Path,
        options: &Options,
        disk: &dyn Disk,
        survey: &mut Survey,
    ) -> Result<(Box<dyn DiskFile>, u64), Error> {
        // The number of the removed file is free again; a sealed segment before it stays sealed.
        let number = survey.unfinished.or_else(|| Some(survey.extents.last()?.number + 1)).unwrap_or(1);
        let header = SegmentHeader { number, base: survey.end, salt: options.salt, owner: options.owner };
        let file = create(dir, disk, &header)?;
        survey.extents.push(Extent { number, base: survey.end, size: SEGMENT_HEADER_SIZE as u64 });
        Ok((file, options.salt))
    }

    /// Writes batches behind each other, one write per segment touched; durable only after [`sync`](Self::sync).
    ///
    /// Returns where the records that reads can find were put.
    ///
    /// # Errors
    /// `RecordTooLarge` (nothing is written), `Poisoned`, `Io` (final).
    pub fn write(&mut self, batches: &[Batch]) -> Result<Vec<Placement>, Error> {
        self.poison.check()?;
        let (size, max) = (batches.iter().map(Batch::largest).max().unwrap_or(0), self.options.record_max());
        if size > max {
            return Err(Error::RecordTooLarge { size, max });
        }
        let written = self.write_records(batches);
        self.poison_on_error(written)
    }

    fn write_records(&mut self, batches: &[Batch]) -> Result<Vec<Placement>, Error> {
        let mut placements = Vec::new();
        for batch in batches {
            let mut rest = batch.as_bytes();
            while let Some(head) = Head::peek(rest) {
                let Some((record, after)) = rest.split_at_checked(head.size()) else { break };
                let (segment, offset) = self.make_room(head.size())?;
                match Kind::from_byte(head.kind) {
                    Some(kind) if !kind.is_indexed() => self.keepers.note(kind, &head, segment),
                    _ => placements.push(Placement { store: head.store, id: head.id, segment, offset }),
                }
                self.buffer.extend_from_slice(record);
                self.appended = self.appended.plus(record.len());
                rest = after;
            }
        }
        self.flush()?;
        Ok(placements)
    }

    /// Goes to a new segment if a record of this size does not fit; returns where it will stand.
    fn make_room(&mut self, size: usize) -> Result<(u64, u32), Error> {
        let mark = if self.buffer.is_empty() { MARK_SIZE } else { 0 };
        if self.current().size as usize + self.buffer.len() + mark + size > self.options.segment_size as usize {
            self.flush()?;
            self.roll()?;
        }
        if self.buffer.is_empty() {
            Mark { synced: self.synced, start: self.appended }.encode(self.salt, &mut self.buffer);
        }
        let extent = self.current();
        Ok((extent.number, extent.size as u32 + self.buffer.len() as u32))
    }

    fn flush(&mut self) -> Result<(), Error> {
        if self.buffer.is_empty() {
            return Ok(());
        }
        let path = segment::path(&self.dir, self.current().number);
        self.file.write_at(self.current().size, &self.buffer).map_err(Error::io("write", &path))?;
        let written = self.buffer.len() as u64;
        self.buffer.clear();
        if let Some(extent) = self.segments.back_mut() {
            extent.size += written;
        }
        self.attested = self.attested.max(self.synced);
        Ok(())
    }

    /// Seals the current segment (durably, so that only the last one can have a torn tail) and starts the next.
    fn roll(&mut self) -> Result<(), Error> {
        self.sync_file()?;
        let number = self.current().number + 1;
        let salt = self.salt.rotate_left(7) ^ self.options.salt.wrapping_add(number);
        let header = SegmentHeader { number, base: self.appended, salt, owner: self.options.owner };
        self.file = create(&self.dir, &*self.disk, &header)?;
        self.salt = salt;
        self.segments.push_back(Extent { number, base: self.appended, size: SEGMENT_HEADER_SIZE as u64 });
        Ok(())
    }

    /// Makes all that was written durable and returns the position.
    ///
    /// # Errors
    /// `Poisoned`, `Io` (final).
    pub fn sync(&mut self) -> Result<Lsn, Error> {
        self.poison.check()?;
        let synced = if self.synced < self.appended { self.sync_file() } else { Ok(()) };
        self.poison_on_error(synced)?;
        Ok(self.synced)
    }

    fn sync_file(&mut self) -> Result<(), Error> {
        let path = segment::path(&self.dir, self.current().number);
        self.file.sync_data().map_err(Error::io("sync", &path))?;
        self.synced = self.appended;
        Ok(())
    }

    /// Writes down what is known synced, if no mark says so yet: rot in the last batch is then told from a torn tail.
    ///
    /// # Errors
    /// `Poisoned`, `Io` (final).
    pub fn attest(&mut self) -> Result<(), Error> {
        self.poison.check()?;
        let has_room = self.current().size as usize + MARK_SIZE <= self.options.segment_size as usize;
        if !self.needs_attest() {
            return Ok(());
        }
        if !has_room {
            // The next segment's first mark will say it.
            self.attested = self.synced;
            return Ok(());
        }
        Mark { synced: self.synced, start: self.appended }.encode(self.salt, &mut self.buffer);
        let written = self.flush();
        self.poison_on_error(written)
    }

    /// Whether [`attest`](Self::attest) has something to say.
    pub fn needs_attest(&self) -> bool {
        self.attested < self.synced && self.synced > Lsn::ZERO
    }

    /// Gives up the leading segments that lie wholly below `position`; the caller vouches that nothing in them is needed.
    ///
    /// Only the bookkeeping: drop the index entries below `first_segment`, then remove the files with
    /// [`remove`](Self::remove). A crash in between leaves files that the next open reads again.
    pub fn forget_below(&mut self, position: Lsn) -> Forgotten {
        let mut forgotten = Forgotten { first_segment: 0, segments: Vec::new(), is_held: false };
        while self.segments.get(1).is_some_and(|next| next.base <= position) {
            if self.segments[0].number >= self.keepers.lowest() {
                forgotten.is_held = true;
                break;
            }
            forgotten.segments.extend(self.segments.pop_front().map(|extent| extent.number));
        }
        forgotten.first_segment = self.segments.front().map_or(0, |extent| extent.number);
        forgotten
    }

    /// Removes segment files, lowest first and each durably, so that a power cut leaves no gap.
    ///
    /// # Errors
    /// `Io`; the files not yet removed stay.
    pub fn remove(dir: &Path, disk: &dyn Disk, segments: &[u64]) -> Result<(), Error> {
        for number in segments {
            let path = segment::path(dir, *number);
            disk.remove(&path).map_err(Error::io("remove", &path))?;
            disk.sync_dir(dir).map_err(Error::io("sync", dir))?;
        }
        Ok(())
    }

    /// Position after the last record written.
    pub fn appended(&self) -> Lsn {
        self.appended
    }

    /// Position known durable.
    pub fn synced(&self) -> Lsn {
        self.synced
    }

    /// Bytes in live segments.
    pub fn live_bytes(&self) -> u64 {
        self.segments.iter().map(|extent| extent.size).sum()
    }

    /// Number of live segments.
    pub fn segment_count(&self) -> usize {
        self.segments.len()
    }

    pub(crate) fn poison(&self) -> Poison {
        self.poison.clone()
    }

    fn current(&self) -> Extent {
        // Never empty: open creates the first segment and forgetting keeps the last.
        self.segments.back().cloned().unwrap_or(Extent { number: 0, base: self.appended, size: 0 })
    }

    fn poison_on_error<T>(&self, result: Result<T, Error>) -> Result<T, Error> {
        result.inspect_err(|error| {
            self.poison.set(error);
        })
    }
}

/// Creates a segment whose header and name are durable before a record can follow.
fn create(dir: &Path, disk: &dyn Disk, header: &SegmentHeader) -> Result<Box<dyn DiskFile>, Error> {
    let path = segment::path(dir, header.number);
    let mut file = disk.open(&path, OpenMode::CreateNew).map_err(Error::io("create", &path))?;
    file.write_at(0, &header.encode()).map_err(Error::io("write", &path))?;
    file.sync_data().map_err(Error::io("sync", &path))?;
    disk.sync_dir(dir).map_err(Error::io("sync", dir))?;
    Ok(file)
}

/// Cuts the torn tail of the last segment and makes the rest of it durable.
///
/// The bytes that no mark attests are written again: if an earlier process died of a failed sync, the system's cache may
/// show them and call them clean, and a sync alone would not bring them to the disk.
fn repair(dir: &Path, extent: &Extent, last: &Last, disk: &dyn Disk) -> Result<Box<dyn DiskFile>, Error> {
    let path = segment::path(dir, extent.number);
    let mut file = disk.open(&path, OpenMode::Write).map_err(Error::io("open", &path))?;
    if last.is_torn {
        file.truncate(extent.size).map_err(Error::io("cut the torn tail of", &path))?;
    }
    let suspect = last.bytes.get(last.suspect_from..extent.size as usize).unwrap_or_default();
    if !suspect.is_empty() {
        file.write_at(last.suspect_from as u64, suspect).map_err(Error::io("rewrite", &path))?;
    }
    file.sync_data().map_err(Error::io("sync", &path))?;
    Ok(file)
}
