//! The system tables: what drivers read to learn of nodes and schema, and what operators read of a node (keyspace `accord`). Answered
//! from memory, of this node only, never through Accord.
//!
//! *Source*: [CQL 4.8].

mod rows;
mod select;
mod tables;
mod virtual_read;
mod virtual_tables;

pub(crate) use rows::{CQL_VERSION, View};
pub(crate) use select::SystemSelect;
pub(crate) use tables::{Source, is_system_keyspace};
pub(crate) use virtual_read::VirtualRead;
