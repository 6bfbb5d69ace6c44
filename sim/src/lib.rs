//! A whole cluster in one thread: the very machines of a real node under virtual time, a network and a log that fail, and checkers
//! that know everything.
//!
//! One `u64` decides everything: topology, workload, faults, timers. The same seed gives the same trace in any process.

pub mod checker;
mod ghost;
mod hooks;
mod island;
mod judge;
mod list_append;
mod network;
mod node;
mod options;
mod report;
mod script;
mod workload;
mod world;

pub use hooks::SimHooks;
pub use options::{Generator, Layout, Options, Overrides};
pub use protocol::Mutant;
pub use report::{Counters, SeedReport, Summary, Violation};
pub use script::{Ruling, Script, Sent, Setting};
pub use world::run_seed;
