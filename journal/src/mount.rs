//! How a process sees the faulty disk.

use crate::disk::{Disk, DiskFile, OpenMode};
use crate::fault_disk::{AfterFailure, Change, Contents, NameChange, Shared, State};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, MutexGuard, PoisonError};

/// The disk as seen by one run of a process: every call fails once the power was cut or the process killed.
#[derive(Clone)]
pub struct Mount {
    shared: Arc<Shared>,
    run: u64,
}

impl Mount {
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        let run = shared.lock().run;
        Self { shared, run }
    }

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
