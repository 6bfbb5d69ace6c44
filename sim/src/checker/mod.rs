//! Judges of a finished run: does one order of all operations explain what every client saw?
//!
//! The history is list-append: a transaction reads whole lists and appends its own id, so a list *is* the version order of
//! its key and the verdict is exact, not only sound. [`check_serializable`] judges transactions, [`check_per_key`] judges
//! reads that promise order per key only, [`brute_force`] is the slow obvious answer for tiny histories, and [`self_test`]
//! holds the first two against the third.
//!
//! *Source*: Kingsbury and Alvaro, "Elle" (the anomaly names and the list-append idea); Adya's thesis (the dependency graph).

mod anomaly;
mod brute;
mod corrupt;
mod cycle;
mod generate;
mod graph;
mod history;
mod id_index;
mod lists;
mod naming;
mod per_key;
mod rng;
mod scc;
mod self_test;
mod serializable;

pub use anomaly::{Anomaly, Class, CycleKind, EdgeKind};
pub use brute::{BRUTE_OPS_MAX, brute_force};
pub use corrupt::corrupt;
pub use generate::{Shape, generate};
pub use history::{EMPTY_PREFIX_HASH, History, Observed, Op, Outcome, Read, extend_prefix_hash, prefix_hash};
pub use per_key::check_per_key;
pub use rng::Rng;
pub use self_test::{Disagreement, SelfTestReport, self_test};
pub use serializable::check_serializable;
