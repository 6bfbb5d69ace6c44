//! Counting, and nothing else: trackers know nodes and groups, no messages.

mod fast_path;
mod quorum;

pub use fast_path::{FastPathTracker, Reached};
pub use quorum::QuorumTracker;
