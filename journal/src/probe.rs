//! Judges a row directory after an unclean stop, and sets a damaged one aside.

use crate::disk::Disk;
use crate::{Error, RowOptions, Rows};
use std::fs;
use std::path::{Path, PathBuf};

/// Cache of a probe, in bytes: it reads each page once.
const PROBE_CACHE: u64 = 8 << 20;

/// Directories set aside that may stay around before somebody must clean up.
const SET_ASIDE_MAX: u32 = 1000;

/// Opens a sled directory and reads every tree to the end; a missing directory is fine.
///
/// Run it in a child process with a time limit: on some damage sled panics, which ends a process built with
/// `panic = "abort"`. Any end but `Ok` means: once more after [`discard_snapshots`], else [`set_aside`].
///
/// # Errors
/// `Rows`.
pub fn probe(dir: &Path) -> Result<(), Error> {
    if !dir.exists() {
        return Ok(());
    }
    Rows::open(dir, PROBE_CACHE)?.scan_all()
}

impl Rows {
    fn scan_all(&self) -> Result<(), Error> {
        for name in self.db().tree_names() {
            let tree = self.db().open_tree(&name).map_err(Error::rows(self.dir()))?;
            for pair in tree.iter() {
                pair.map_err(Error::rows(self.dir()))?;
            }
        }
        Ok(())
    }
}

/// Removes sled's snapshot files, which it can do without and which it refuses to open when they are cut short.
///
/// Returns how many there were.
///
/// # Errors
/// `Io`.
pub fn discard_snapshots(dir: &Path) -> Result<usize, Error> {
    let mut removed = 0;
    for entry in fs::read_dir(dir).map_err(Error::io("list", dir))? {
        let entry = entry.map_err(Error::io("list", dir))?;
        if entry.file_name().to_string_lossy().starts_with("snap.") {
            let path = entry.path();
            fs::remove_file(&path).map_err(Error::io("remove", &path))?;
            removed += 1;
        }
    }
    Ok(removed)
}

/// Moves the row directory to `rows.damaged.<n>`, after the marker that vouched for it is durably gone.
///
/// Returns the new place; `None` if there was no directory.
///
/// # Errors
/// `Io`.
pub fn set_aside(options: &RowOptions, disk: &dyn Disk) -> Result<Option<PathBuf>, Error> {
    options.remove_marker(disk)?;
    let rows = options.rows_dir();
    if !rows.exists() {
        return Ok(None);
    }
    let mut places = (1..=SET_ASIDE_MAX).map(|number| options.dir.join(format!("rows.damaged.{number}")));
    let too_many = || Error::Setting {
        section: "node",
        key: "data_dir",
        reason: format!("{SET_ASIDE_MAX} damaged row directories lie there; remove the old ones"),
    };
    let place = places.find(|place| !place.exists()).ok_or_else(too_many)?;
    fs::rename(&rows, &place).map_err(Error::io("set aside", &rows))?;
    disk.sync_dir(&options.dir).map_err(Error::io("sync", &options.dir))?;
    Ok(Some(place))
}
