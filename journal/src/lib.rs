//! Everything a node keeps on disk: the log of opaque records (the truth) and the row checkpoint on sled (rebuildable).
//!
//! Two layers. [`Log`], [`Index`] and [`RecordReader`] are plain calls over a [`Disk`]: the simulator drives them under
//! its own faults. [`Journal`] and [`RowCheckpoint`] put them on threads of their own, so that no caller waits for a disk.
//!
//! The order of duties for a caller: [`DirLock::acquire`], [`Journal::open`], fold the [`Replay`], serve; a position may
//! be relied on once [`Durable`] has published it; after [`Durable::Failed`] nothing that is not yet published may leave.

mod batch;
mod checkpoint;
mod disk;
mod error;
mod fault_disk;
mod hlc;
mod index;
mod lock;
mod log;
mod mount;
mod options;
mod poison;
mod position;
mod probe;
mod reader;
mod record;
mod replay;
mod rows;
mod scan;
mod segment;
mod survey;
mod writer;

pub use batch::Batch;
pub use checkpoint::{CheckpointDone, RowCheckpoint, RowOptions, RowsFound};
pub use disk::{Disk, DiskFile, OpenMode, RealDisk};
pub use error::Error;
pub use fault_disk::{AfterFailure, FaultDisk};
pub use hlc::HlcReservation;
pub use index::{Index, Location};
pub use lock::DirLock;
pub use log::{Forgotten, Log, Opened, Placement};
pub use mount::Mount;
pub use options::{Options, SyncMode};
pub use position::Lsn;
pub use probe::{discard_snapshots, probe, set_aside};
pub use reader::{Answer, Reader, RecordReader, Stored};
pub use record::{Kind, RECORD_HEADER_SIZE, RecordId};
pub use replay::{Replay, Replayed, Warning};
pub use rows::{RowChange, Rows};
pub use segment::SEGMENT_HEADER_SIZE;
pub use writer::{Durable, Journal, OnDurable, Stats};
