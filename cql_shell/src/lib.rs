//! The shell `accordd cql`: CQL with the real text of transactions, typed, piped or from a file.
//!
//! Text becomes statements (`splitter`, `block`), a statement is a command of the shell or goes to the server (`command`,
//! `shell`, `link`), and rows become a table, JSON or CSV (`grid` and the writers over `scalar`, `parts` and `literal`). Only
//! `link`, `schema`, `shell`, `script`, `interactive` and `run` wait for anything; the rest is pure.

mod args;
mod block;
mod calendar;
mod caret;
mod command;
mod csv;
mod describe;
mod editor;
mod error;
mod escape;
mod failure;
mod footer;
mod grid;
mod interactive;
mod json;
mod link;
mod literal;
mod names;
mod number;
mod parts;
mod run;
mod scalar;
mod schema;
mod script;
mod shell;
mod splitter;
mod table;

pub use args::{Args, Format};
pub use error::Error;
pub use run::run;
