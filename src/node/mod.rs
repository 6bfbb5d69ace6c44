//! One node: the rooms joined, started and stopped in order. It decides nothing.
//!
//! Everything of a node lives on the thread that starts it (an actix arbiter): its stores, its coordinator, the switch between them and
//! the links, the client port. Only the journal, its reader and the row checkpoint have threads of their own.
//!
//! ```text
//! clients ─ ClientPort ─ NodeBackend ─ Desk ─ CoordinatorActor ─┐
//!                                                               SwitchActor ─ Link ─ peers
//!            NodeLog (journal) ─ CommandStoreActor × stores ────┘      ▲ FrameDoor ─ Listener
//! ```
//!
//! `Observer` asks all of them when somebody looks: the tables of keyspace `accord`, `/metrics`, `accordd status`.

mod backend;
mod checkpoint;
mod counters;
mod durability;
mod failpoint;
mod health;
mod http;
mod latency;
mod local;
mod log;
mod metrics;
mod observer;
mod recover;
mod row_check;
mod row_key;
mod schema;
mod setup;
mod start;
mod switch;
mod tables;
mod tasks;
mod thread;

pub use counters::Figures;
pub use local::LocalCluster;
pub use row_check::Prober;
pub use setup::NodeSetup;
pub use start::{Fatal, Node};
pub use thread::{NodeReport, NodeThread};

use std::backtrace::Backtrace;
use tracing::error;

/// Exit code of a process that must not go on.
pub const EXIT_FATAL: i32 = 70;

/// Ends the process: what the stores or the journal found makes going on wrong.
pub fn stop_process(why: &str) {
    last_words(&format!("the node stops: {why}"));
    std::process::exit(EXIT_FATAL);
}

/// From now on a panic anywhere ends the process: an actor that vanished silently would be worse.
pub fn abort_on_panic() {
    std::panic::set_hook(Box::new(|panic| {
        last_words(&format!("a bug, please report it: {panic}\n{}", Backtrace::capture()));
        std::process::abort();
    }));
}

/// The same for the threads of nodes only, in a program that has panics of its own, as tests do.
pub fn abort_on_panic_of_a_node() {
    let before = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        before(panic);
        let thread = std::thread::current();
        if thread.name().is_some_and(|name| name.starts_with("node-") || name.starts_with("journal")) {
            std::process::abort();
        }
    }));
}

/// Why the process ends, whatever the log leaves out.
fn last_words(why: &str) {
    if tracing::enabled!(tracing::Level::ERROR) { error!("{why}") } else { eprintln!("{why}") }
}
