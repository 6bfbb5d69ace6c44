//! The map of the house: this crate joins the rooms and decides nothing.
//!
//! * [`config`]: the file that a cluster is described in.
//! * [`command`]: one module per sub-command of the binary.

pub mod command;
pub mod config;
pub mod entropy;
mod error;

pub use error::Error;
