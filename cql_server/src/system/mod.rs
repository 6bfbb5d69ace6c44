//! The system tables: what drivers read to learn of nodes and schema. Answered from memory, of this node only, never through Accord.
//!
//! *Source*: [CQL 4.8].

mod rows;
mod select;
mod tables;

pub(crate) use rows::{CQL_VERSION, View};
pub(crate) use select::SystemSelect;
pub(crate) use tables::is_system_keyspace;
