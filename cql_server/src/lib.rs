//! The client port: the CQL native protocol in front of one node.
//!
//! Bytes of a socket become envelopes (`codec`, `segment`, `envelope`), these become requests (`request`), a `session` answers
//! them from the system tables or hands them to the node through [`Backend`], and the answers gather on the `line` of the
//! connection until its task writes them at once. Everything stays on one thread; nothing here decides about the protocol of the
//! cluster.
//!
//! Not here yet: roles and logins, compression, BATCH, paging, tracing sessions, DESCRIBE.

#[cfg(test)]
extern crate self as cql_server;

mod admission;
mod backend;
mod clock_cache;
mod codec;
mod config;
mod connection;
mod envelope;
mod error;
mod files;
#[doc(hidden)]
pub mod fuzzing;
mod line;
mod payload;
mod port;
mod reply;
mod request;
mod response;
mod schema_events;
mod segment;
mod server;
mod session;
mod statement;
mod statements;
mod system;
mod watch;
mod wire;
mod wire_type;

#[cfg(test)]
#[path = "../tests/one_node/mod.rs"]
mod one_node;
#[cfg(test)]
mod port_tests;

pub use backend::{Answer, Backend, Field, NewTxn, NodeInfo, Reason, VirtualRow, VirtualTable};
pub use config::PortConfig;
pub use error::Error;
pub use port::{ClientPort, PortHandle};
