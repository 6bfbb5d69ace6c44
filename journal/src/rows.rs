//! Rows on sled: a checkpoint that can be rebuilt, never the truth.

use crate::Error;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

/// A row as it is to be, in the caller's encoding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowChange {
    /// Sorts as bytes.
    pub key: Vec<u8>,
    /// The new value; `None` deletes.
    pub value: Option<Vec<u8>>,
}

impl RowChange {
    /// Key and value, in bytes.
    pub fn size(&self) -> usize {
        self.key.len() + self.value.as_ref().map_or(0, Vec::len)
    }
}

/// An open sled directory. Its calls block; clones share it.
#[derive(Clone)]
pub struct Rows {
    dir: PathBuf,
    db: sled::Db,
}

impl Rows {
    /// Opens or creates the directory with a page cache of this many bytes.
    ///
    /// sled panics on some damage: after an unclean stop run [`probe`](crate::probe) in a child process first.
    ///
    /// # Errors
    /// `Rows`.
    pub fn open(dir: &Path, cache_bytes: u64) -> Result<Self, Error> {
        // No background flusher: a checkpoint flushes, and only it counts.
        let config = sled::Config::new().path(dir).cache_capacity(cache_bytes).flush_every_ms(None);
        let db = config.open().map_err(Error::rows(dir))?;
        Ok(Self { dir: dir.to_path_buf(), db })
    }

    /// Applies changes in order; not durable before [`sync`](Self::sync).
    ///
    /// # Errors
    /// `Rows`.
    pub fn apply(&self, changes: &[RowChange]) -> Result<(), Error> {
        // Single puts: sled's batches cost more per row (limits.md) and atomicity is not needed, since replay repeats.
        for change in changes {
            let done = match &change.value {
                Some(value) => self.db.insert(&change.key, value.as_slice()),
                None => self.db.remove(&change.key),
            };
            done.map_err(Error::rows(&self.dir))?;
        }
        Ok(())
    }

    /// The value of a key.
    ///
    /// # Errors
    /// `Rows`; final for the directory.
    pub fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, Error> {
        let found = self.db.get(key).map_err(Error::rows(&self.dir))?;
        Ok(found.map(|value| value.to_vec()))
    }

    /// Hands over all rows in key order.
    ///
    /// # Errors
    /// `Rows`; rows handed over before it are not to be trusted.
    pub fn load_all(&self, mut row: impl FnMut(&[u8], &[u8])) -> Result<(), Error> {
        for pair in self.db.iter() {
            let (key, value) = pair.map_err(Error::rows(&self.dir))?;
            row(&key, &value);
        }
        Ok(())
    }

    /// Makes all applied changes durable: sled's flush (no fsync on Linux), then fsync of its files and directories.
    ///
    /// # Errors
    /// `Rows`, `Io`; final, as with any failed fsync.
    pub fn sync(&self) -> Result<(), Error> {
        self.db.flush().map_err(Error::rows(&self.dir))?;
        sync_tree(&self.dir)
    }

    pub(crate) fn db(&self) -> &sled::Db {
        &self.db
    }

    pub(crate) fn dir(&self) -> &Path {
        &self.dir
    }

    /// Size of the directory's files, in bytes.
    ///
    /// # Errors
    /// `Rows`.
    pub fn size_on_disk(&self) -> Result<u64, Error> {
        self.db.size_on_disk().map_err(Error::rows(&self.dir))
    }
}

/// Syncs every file below a directory, then the directories from the leaves up.
fn sync_tree(dir: &Path) -> Result<(), Error> {
    for entry in fs::read_dir(dir).map_err(Error::io("list", dir))? {
        let path = entry.map_err(Error::io("list", dir))?.path();
        if path.is_dir() {
            sync_tree(&path)?;
            continue;
        }
        match File::open(&path).and_then(|file| file.sync_all()) {
            // sled replaces its snapshots at will; a file that is gone needs no sync.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            synced => synced.map_err(Error::io("sync", &path))?,
        }
    }
    File::open(dir).and_then(|dir| dir.sync_all()).map_err(Error::io("sync", dir))
}
