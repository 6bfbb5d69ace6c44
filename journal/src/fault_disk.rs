//! A disk in memory that forgets what was not synced.
//!
//! Each file has a durable image, a list of changes since its last sync and the view that reads see. A power cut decides
//! for every change (and every create, rename and remove whose directory was not synced) whether it is kept, lost or torn
//! at 512-byte sectors; a size may be kept without the data. A failed sync leaves its changes clean but not durable, and
//! the next sync succeeds without them, as real kernels do.

use crate::disk::{Disk, DiskFile, OpenMode};
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

const SECTOR: usize = 512;

/// What reads see after a failed sync, until the power is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AfterFailure {
    /// The lost bytes, from a cache that calls them clean.
    Keep,
    /// What is durable.
    Revert,
}

/// The machine's disk: survives its own power cuts. Clones are the same disk.
#[derive(Clone)]
pub struct FaultDisk {
    shared: Arc<Shared>,
}

/// The disk as seen by one run of a process: every call fails once the power was cut or the process killed.
#[derive(Clone)]
pub struct Mount {
    shared: Arc<Shared>,
    run: u64,
}

struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    chance: u64,
    run: u64,
    files: BTreeMap<u64, Contents>,
    names: BTreeMap<PathBuf, u64>,
    durable_names: BTreeMap<PathBuf, u64>,
    name_changes: Vec<NameChange>,
    next_file: u64,
    syncs: u64,
    sync_failure: Option<(u64, AfterFailure)>,
    writes: u64,
    write_failure: Option<u64>,
    syncs_held: bool,
    syncs_waiting: usize,
}

#[derive(Default)]
struct Contents {
    view: Vec<u8>,
    durable: Vec<u8>,
    changes: Vec<Change>,
}

enum Change {
    Write { offset: usize, bytes: Vec<u8> },
    Size(usize),
}

struct NameChange {
    dir: PathBuf,
    removed: Option<PathBuf>,
    added: Option<(PathBuf, u64)>,
}

impl FaultDisk {
    /// An empty disk; the seed decides what power cuts keep.
    pub fn new(seed: u64) -> Self {
        let state = State {
            chance: seed,
            run: 0,
            files: BTreeMap::new(),
            names: BTreeMap::new(),
            durable_names: BTreeMap::new(),
            name_changes: Vec::new(),
            next_file: 0,
            syncs: 0,
            sync_failure: None,
            writes: 0,
            write_failure: None,
            syncs_held: false,
            syncs_waiting: 0,
        };
        Self { shared: Arc::new(Shared { state: Mutex::new(state), changed: Condvar::new() }) }
    }

    /// The disk for the process that starts now.
    pub fn mount(&self) -> Arc<Mount> {
        Arc::new(Mount { run: self.shared.lock().run, shared: self.shared.clone() })
    }

    /// Ends all mounts; what was not synced is kept, lost or torn by chance.
    pub fn cut_power(&self) {
        self.shared.lock().cut_power();
        self.shared.changed.notify_all();
    }

    /// Ends all mounts like kill -9: the system keeps every byte written.
    pub fn kill(&self) {
        let mut state = self.shared.lock();
        state.run += 1;
        state.syncs_held = false;
        self.shared.changed.notify_all();
    }

    /// Lets the `nth` file sync from now (1 = the next) fail.
    pub fn fail_sync(&self, nth: u64, after: AfterFailure) {
        let mut state = self.shared.lock();
        state.sync_failure = Some((state.syncs + nth, after));
    }

    /// Lets the `nth` write from now (1 = the next) stop half way for want of space.
    pub fn fail_write(&self, nth: u64) {
        let mut state = self.shared.lock();
        state.write_failure = Some(state.writes + nth);
    }

    /// Lets file syncs wait until [`release_syncs`](Self::release_syncs), a power cut or a kill.
    pub fn hold_syncs(&self) {
        self.shared.lock().syncs_held = true;
    }

    /// Ends [`hold_syncs`](Self::hold_syncs).
    pub fn release_syncs(&self) {
        self.shared.lock().syncs_held = false;
        self.shared.changed.notify_all();
    }

    /// Blocks until a held sync is waiting.
    pub fn await_held_sync(&self) {
        let mut state = self.shared.lock();
        while state.syncs_waiting == 0 {
            state = self.shared.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// How many file syncs were asked for.
    pub fn sync_count(&self) -> u64 {
        self.shared.lock().syncs
    }

    /// What reads see of a file.
    pub fn contents(&self, path: &Path) -> Option<Vec<u8>> {
        let state = self.shared.lock();
        Some(state.files.get(state.names.get(path)?)?.view.clone())
    }

    /// Replaces the contents of a file at rest, durably: rot, cuts, foreign files.
    pub fn replace(&self, path: &Path, bytes: Vec<u8>) {
        let mut state = self.shared.lock();
        let file = match state.names.get(path) {
            Some(file) => *file,
            None => state.add_file(path),
        };
        state.durable_names.insert(path.to_path_buf(), file);
        state.files.insert(file, Contents { view: bytes.clone(), durable: bytes, changes: Vec::new() });
    }

    /// All file names, sorted.
    pub fn names(&self) -> Vec<PathBuf> {
        self.shared.lock().names.keys().cloned().collect()
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// splitmix64: a small generator whose seed may be any number.
    fn draw(&mut self, below: u64) -> u64 {
        self.chance = self.chance.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.chance;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % below
    }

    fn add_file(&mut self, path: &Path) -> u64 {
        let file = self.next_file;
        self.next_file += 1;
        self.names.insert(path.to_path_buf(), file);
        self.files.insert(file, Contents::default());
        file
    }

    fn cut_power(&mut self) {
        self.run += 1;
        self.syncs_held = false;
        for change in std::mem::take(&mut self.name_changes) {
            if self.draw(2) == 0 {
                change.apply(&mut self.durable_names);
            }
        }
        self.names = self.durable_names.clone();
        let mut files = std::mem::take(&mut self.files);
        for contents in files.values_mut() {
            for change in std::mem::take(&mut contents.changes) {
                self.keep_part(&mut contents.durable, change);
            }
            contents.view = contents.durable.clone();
        }
        files.retain(|file, _| self.names.values().any(|named| named == file));
        self.files = files;
    }

    fn keep_part(&mut self, durable: &mut Vec<u8>, change: Change) {
        let Change::Write { offset, bytes } = change else {
            if self.draw(2) == 0 {
                change.apply(durable);
            }
            return;
        };
        let end = offset + bytes.len();
        let sectors = offset / SECTOR..end.div_ceil(SECTOR);
        let first_lost = self.draw(sectors.len() as u64 + 1) as usize;
        let fate = self.draw(4);
        for (nth, sector) in sectors.enumerate() {
            let is_kept = match fate {
                0 => true,
                1 => false,
                2 => nth < first_lost,
                _ => self.draw(2) == 0,
            };
            let (from, to) = ((sector * SECTOR).max(offset), ((sector + 1) * SECTOR).min(end));
            if is_kept && from < to {
                let part = bytes[from - offset..to - offset].to_vec();
                Change::Write { offset: from, bytes: part }.apply(durable);
            }
        }
        if durable.len() < end && self.draw(2) == 0 {
            durable.resize(end, 0);
        }
    }
}

impl Change {
    fn apply(&self, image: &mut Vec<u8>) {
        match self {
            Self::Size(size) => image.resize(*size, 0),
            Self::Write { offset, bytes } => {
                let end = offset + bytes.len();
                if image.len() < end {
                    image.resize(end, 0);
                }
                image[*offset..end].copy_from_slice(bytes);
            }
        }
    }
}

impl NameChange {
    fn apply(self, names: &mut BTreeMap<PathBuf, u64>) {
        if let Some(path) = self.removed {
            names.remove(&path);
        }
        if let Some((path, file)) = self.added {
            names.insert(path, file);
        }
    }
}

impl Mount {
    fn lock(&self) -> io::Result<MutexGuard<'_, State>> {
        let state = self.shared.lock();
        if state.run == self.run { Ok(state) } else { Err(io::Error::other("the power is off")) }
    }
}

fn parent(path: &Path) -> PathBuf {
    path.parent().unwrap_or(Path::new("")).to_path_buf()
}

impl Disk for Mount {
    /// Directories are not modelled: they exist at once and durably.
    fn make_dir(&self, _dir: &Path) -> io::Result<()> {
        self.lock().map(|_| ())
    }

    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Box<dyn DiskFile>> {
        let mut state = self.lock()?;
        let file = match (state.names.get(path).copied(), mode) {
            (Some(_), OpenMode::CreateNew) => return Err(io::ErrorKind::AlreadyExists.into()),
            (Some(file), _) => file,
            (None, OpenMode::CreateNew) => {
                let file = state.add_file(path);
                let added = Some((path.to_path_buf(), file));
                state.name_changes.push(NameChange { dir: parent(path), removed: None, added });
                file
            }
            (None, _) => return Err(io::ErrorKind::NotFound.into()),
        };
        drop(state);
        Ok(Box::new(FaultFile { mount: self.clone(), file }))
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<String>> {
        let state = self.lock()?;
        let inside = state.names.keys().filter(|path| path.parent() == Some(dir));
        Ok(inside.filter_map(|path| Some(path.file_name()?.to_str()?.to_owned())).collect())
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut state = self.lock()?;
        let file = state.names.remove(from).ok_or(io::ErrorKind::NotFound)?;
        state.names.insert(to.to_path_buf(), file);
        let (removed, added) = (Some(from.to_path_buf()), Some((to.to_path_buf(), file)));
        state.name_changes.push(NameChange { dir: parent(to), removed, added });
        Ok(())
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        let mut state = self.lock()?;
        state.names.remove(path).ok_or(io::ErrorKind::NotFound)?;
        let removed = Some(path.to_path_buf());
        state.name_changes.push(NameChange { dir: parent(path), removed, added: None });
        Ok(())
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        let mut state = self.lock()?;
        let state = &mut *state;
        for change in std::mem::take(&mut state.name_changes) {
            if change.dir == dir {
                change.apply(&mut state.durable_names);
            } else {
                state.name_changes.push(change);
            }
        }
        Ok(())
    }
}

struct FaultFile {
    mount: Mount,
    file: u64,
}

impl FaultFile {
    fn with<T>(&self, work: impl FnOnce(&mut Contents) -> T) -> io::Result<T> {
        let mut state = self.mount.lock()?;
        state.files.get_mut(&self.file).map(work).ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn change(&self, change: Change) -> io::Result<()> {
        self.with(|contents| {
            change.apply(&mut contents.view);
            contents.changes.push(change);
        })
    }
}

impl DiskFile for FaultFile {
    fn read_at(&self, offset: u64, out: &mut [u8]) -> io::Result<usize> {
        self.with(|contents| {
            let rest = contents.view.get(offset as usize..).unwrap_or_default();
            let read = rest.len().min(out.len());
            out[..read].copy_from_slice(&rest[..read]);
            read
        })
    }

    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let fails = {
            let mut state = self.mount.lock()?;
            state.writes += 1;
            state.write_failure == Some(state.writes)
        };
        let kept = if fails { &bytes[..bytes.len() / 2] } else { bytes };
        self.change(Change::Write { offset: offset as usize, bytes: kept.to_vec() })?;
        if fails { Err(io::ErrorKind::StorageFull.into()) } else { Ok(()) }
    }

    fn size(&self) -> io::Result<u64> {
        self.with(|contents| contents.view.len() as u64)
    }

    fn truncate(&mut self, size: u64) -> io::Result<()> {
        self.change(Change::Size(size as usize))
    }

    fn sync_data(&mut self) -> io::Result<()> {
        let mut state = self.mount.lock()?;
        state.syncs += 1;
        let this = state.syncs;
        let fails = state.sync_failure.take_if(|(nth, _)| *nth == this).map(|(_, after)| after);
        state.syncs_waiting += 1;
        while state.syncs_held {
            self.mount.shared.changed.notify_all();
            state = self.mount.shared.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.syncs_waiting -= 1;
        if state.run != self.mount.run {
            return Err(io::Error::other("the power is off"));
        }
        let contents = state.files.get_mut(&self.file).ok_or(io::ErrorKind::NotFound)?;
        let changes = std::mem::take(&mut contents.changes);
        match fails {
            None => changes.iter().for_each(|change| change.apply(&mut contents.durable)),
            Some(AfterFailure::Keep) => {}
            Some(AfterFailure::Revert) => contents.view = contents.durable.clone(),
        }
        if fails.is_some() { Err(io::Error::other("injected EIO at sync")) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write_new(disk: &Mount, path: &str, bytes: &[u8]) -> Box<dyn DiskFile> {
        let mut file = disk.open(Path::new(path), OpenMode::CreateNew).expect("create");
        file.write_at(0, bytes).expect("write");
        file
    }

    #[test]
    fn a_synced_file_without_a_synced_name_can_vanish() {
        let survived = |seed, sync_dir| {
            let disk = FaultDisk::new(seed);
            let mount = disk.mount();
            write_new(&mount, "d/a", b"x").sync_data().expect("sync");
            if sync_dir {
                mount.sync_dir(Path::new("d")).expect("sync dir");
            }
            disk.cut_power();
            disk.contents(Path::new("d/a")) == Some(b"x".to_vec())
        };
        assert!((0..32).all(|seed| survived(seed, true)));
        let without = (0..32).filter(|seed| survived(*seed, false)).count();
        assert!((1..32).contains(&without), "{without} of 32 names survived");
    }

    #[test]
    fn unsynced_sectors_are_kept_lost_or_torn() {
        let mut seen = std::collections::BTreeSet::new();
        for seed in 0..200 {
            let disk = FaultDisk::new(seed);
            let mount = disk.mount();
            let mut file = write_new(&mount, "d/a", &[1; 1024]);
            file.sync_data().expect("sync");
            mount.sync_dir(Path::new("d")).expect("sync dir");
            file.write_at(1024, &[2; 1024]).expect("write");
            disk.cut_power();
            let bytes = disk.contents(Path::new("d/a")).expect("named");
            assert_eq!(bytes[..1024], [1; 1024], "synced bytes were touched");
            seen.insert(bytes[1024..].chunks(SECTOR).map(|sector| sector[0]).collect::<Vec<u8>>());
        }
        for shape in [vec![], vec![2], vec![2, 2], vec![0, 2], vec![2, 0], vec![0, 0]] {
            assert!(seen.contains(&shape), "never saw {shape:?}");
        }
    }

    #[test]
    fn after_a_failed_sync_the_next_one_succeeds_without_the_lost_bytes() {
        let disk = FaultDisk::new(1);
        let mount = disk.mount();
        let mut file = write_new(&mount, "d/a", b"lost");
        mount.sync_dir(Path::new("d")).expect("sync dir");
        disk.fail_sync(1, AfterFailure::Keep);
        file.sync_data().expect_err("injected");
        file.sync_data().expect("pretends");
        assert_eq!(disk.contents(Path::new("d/a")), Some(b"lost".to_vec()));
        disk.cut_power();
        assert_eq!(disk.contents(Path::new("d/a")), Some(Vec::new()));
        file.write_at(0, b"x").expect_err("the old run is over");
    }
}
