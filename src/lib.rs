//! The map of the house: this crate joins the rooms and decides nothing.
//!
//! * [`config`]: the file that a cluster is described in.
//! * [`node`]: one node, all rooms joined.
//! * [`command`]: one module per sub-command of the binary.

pub mod clock;
pub mod command;
pub mod config;
pub mod entropy;
mod error;
mod logging;
pub mod node;

pub use error::Error;
