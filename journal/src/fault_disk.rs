//! A disk in memory that forgets what was not synced.
//!
//! Each file has a durable image, a list of changes since its last sync and the view that reads see. A power cut decides
//! for every change (and every create, rename and remove whose directory was not synced) whether it is kept, lost or torn
//! at 512-byte sectors; a size may be kept without the data. A failed sync leaves its changes clean but not durable, and
//! the next sync succeeds without them, as real kernels do.

use crate::Mount;
use std::collections::BTreeMap;
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

pub(crate) struct Shared {
    pub(crate) state: Mutex<State>,
    pub(crate) changed: Condvar,
}

pub(crate) struct State {
    pub(crate) chance: u64,
    pub(crate) run: u64,
    pub(crate) files: BTreeMap<u64, Contents>,
    pub(crate) names: BTreeMap<PathBuf, u64>,
    pub(crate) durable_names: BTreeMap<PathBuf, u64>,
    pub(crate) name_changes: Vec<NameChange>,
    pub(crate) next_file: u64,
    pub(crate) syncs: u64,
    pub(crate) sync_failure: Option<(u64, AfterFailure)>,
    pub(crate) writes: u64,
    pub(crate) write_failure: Option<u64>,
    pub(crate) syncs_held: bool,
    pub(crate) syncs_waiting: usize,
}

#[derive(Default)]
pub(crate) struct Contents {
    pub(crate) view: Vec<u8>,
    pub(crate) durable: Vec<u8>,
    pub(crate) changes: Vec<Change>,
}

pub(crate) enum Change {
    Write { offset: usize, bytes: Vec<u8> },
    Size(usize),
}

pub(crate) struct NameChange {
    pub(crate) dir: PathBuf,
    pub(crate) removed: Option<PathBuf>,
    pub(crate) added: Option<(PathBuf, u64)>,
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
        Arc::new(Mount::new(self.shared.clone()))
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
    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
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

    pub(crate) fn add_file(&mut self, path: &Path) -> u64 {
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
    pub(crate) fn apply(&self, image: &mut Vec<u8>) {
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
    pub(crate) fn apply(self, names: &mut BTreeMap<PathBuf, u64>) {
        if let Some(path) = self.removed {
            names.remove(&path);
        }
        if let Some((path, file)) = self.added {
            names.insert(path, file);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Disk, DiskFile, OpenMode};

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
