//! CQL with transactions: text to plan, plan to reads, writes and rows.
//!
//! The way of a statement: [`parse`] (grammar) → [`prepare`] (names and types) → [`Prepared::bind`] (values; keys and body) → the
//! protocol → [`CqlSemantics`] at the replicas and the coordinator → [`decode_result`].
//!
//! Pure: no clock, no randomness, no threads, no hashing order. *Source*: [CQL 1, 2].
#![deny(missing_docs)]

/// The parsed form of statements.
pub mod ast;
mod bind;
mod ddl;
mod encoding;
mod error;
mod keyword;
mod lexer;
mod parser;
mod plan;
mod print;
mod result;
mod row;
mod schema;
mod semantics;
mod template;
#[cfg(test)]
mod testing;
mod value;

pub use bind::{Action, Bound, ColumnSpec, Prepared, TableAccess, prepare};
pub use ddl::{Change, ChangeKind, Ddl, TableChange, apply_ddl};
pub use error::{At, Class, Error};
pub use parser::{TEXT_MAX, parse};
pub use result::{Outcome, TxnResult, decode_result};
pub use schema::{
    Column, ColumnKind, Keyspace, Replication, SCHEMA_TABLE, Schema, Table, TransactionalMode, schema_key,
};
pub use semantics::{CqlSemantics, rows_are_readable};
pub use template::Value;
pub use value::{Type, UserType};

/// Kind of a body that is a plan.
pub const BLOB_PLAN: u8 = 1;

/// Kind of a result.
pub const BLOB_RESULT: u8 = 2;

/// Kind of a body that is a DDL statement.
pub const BLOB_DDL: u8 = 3;

/// Version of every kind.
pub const BLOB_VERSION: u8 = 1;
