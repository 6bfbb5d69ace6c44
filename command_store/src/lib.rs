//! The replica: what one node knows and has promised about the transactions on its keys, and their execution in order.
//!
//! [`CommandStore`] is a pure machine; [`FanIn`] spreads a node's requests over its stores and makes one answer of theirs.
#![deny(missing_docs)]

#[cfg(feature = "actor")]
pub mod actor;
mod cfk;
mod fan_in;
mod machine;
mod progress_log;
mod stores;

pub use cfk::{CommandsForKey, Entry, EntryStatus};
pub use fan_in::FanIn;
pub use machine::{Blocked, CommandStore, Replay, StoreConfig, StoreInput, StoreLook, Unfinished};
pub use progress_log::ProgressConfig;
pub use stores::Slices;
