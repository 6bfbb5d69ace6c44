//! The row checkpoint at start: believed, probed, or set aside.

use crate::Error;
use journal::{Disk, Lsn, RowCheckpoint, RowOptions, RowsFound, discard_snapshots, set_aside};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tracing::warn;

/// Longest time a probe may take.
const PROBE_MAX: Duration = Duration::from_secs(120);

/// Pause between two looks at a running probe.
const PROBE_PAUSE: Duration = Duration::from_millis(5);

/// How the rows of a node that was stopped hard are examined.
#[derive(Clone, Debug)]
pub enum Prober {
    /// By this program, run with `probe-rows DIR`: what is damaged may end a process.
    Child(PathBuf),
    /// In this process; only where damage cannot be, in a demonstration or a test.
    Here,
}

impl Prober {
    /// The running program itself.
    ///
    /// *Errors*: the system does not tell which one it is.
    pub fn own_program() -> Result<Self, Error> {
        let program = std::env::current_exe();
        program.map(Self::Child).map_err(|error| Error::Failed(format!("cannot tell which program runs: {error}")))
    }

    fn is_sound(&self, dir: &Path) -> bool {
        match self {
            Self::Here => journal::probe(dir).is_ok(),
            Self::Child(program) => runs_well(program, dir).unwrap_or_else(|error| {
                warn!(program = %program.display(), "cannot run the probe of the rows: {error}");
                false
            }),
        }
    }
}

fn runs_well(program: &Path, dir: &Path) -> std::io::Result<bool> {
    let mut child = Command::new(program);
    child.arg("probe-rows").arg(dir).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = child.spawn()?;
    let deadline = Instant::now() + PROBE_MAX;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status.success());
        }
        if Instant::now() >= deadline {
            child.kill()?;
            child.wait()?;
            return Ok(false);
        }
        std::thread::sleep(PROBE_PAUSE);
    }
}

/// Opens the row checkpoint of a journal that holds the positions `kept`; rows that cannot be trusted are set aside, and come from
/// the journal instead.
///
/// *Errors*: rows that must be set aside while the journal does not reach back to its beginning, or a disk that refuses.
pub(crate) fn open_rows(
    options: &RowOptions,
    prober: &Prober,
    kept: (Lsn, Lsn),
    disk: Arc<dyn Disk>,
) -> Result<RowCheckpoint, Error> {
    let failed = |error: journal::Error| Error::Failed(error.to_string());
    let found = match RowsFound::look(options, &*disk) {
        Err(journal::Error::Marker { path, reason }) => {
            warn!("{}: checkpoint marker: {reason}", path.display());
            put_away(options, &*disk)?;
            RowsFound { marker: None, was_clean: true }
        }
        found => found.map_err(failed)?,
    };
    let dir = options.rows_dir();
    let is_sound = found.was_clean || !dir.exists() || prober.is_sound(&dir) || {
        discard_snapshots(&dir).map_err(failed)? > 0 && prober.is_sound(&dir)
    };
    let is_believed = is_sound && found.marker.is_none_or(|marker| marker <= kept.1);
    if !is_believed {
        put_away(options, &*disk)?;
    }
    let from = found.marker.filter(|_| is_believed).unwrap_or(Lsn::ZERO);
    if kept.0 > from {
        return Err(Error::Failed(format!(
            "{}: the rows hold up to position {from} and the journal begins at {}; set the data directory aside and let the node \
             start anew",
            options.dir.display(),
            kept.0
        )));
    }
    RowCheckpoint::open(options, disk).map_err(failed)
}

fn put_away(options: &RowOptions, disk: &dyn Disk) -> Result<(), Error> {
    let place = set_aside(options, disk).map_err(|error| Error::Failed(error.to_string()))?;
    if let Some(place) = place {
        warn!("the rows cannot be trusted: set aside as {}, rebuilding them from the journal", place.display());
    }
    Ok(())
}
