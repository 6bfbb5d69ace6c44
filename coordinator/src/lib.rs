//! Coordinations: what becomes of a transaction from its first message to its last, in the hands of the node that drives it.
//!
//! A coordination is a value with one payload per phase; leaving a phase consumes its payload, so a late vote has nowhere to land.
#![deny(missing_docs)]

#[cfg(feature = "actor")]
pub mod actor;
mod machine;
pub mod tracker;

pub use machine::{Coordinator, CoordinatorConfig, CoordinatorInput, CoordinatorLook, UnderWay};
