//! A thin client of the Cassandra native protocol, versions 4 and 5.
//!
//! [`Connection`] is one socket with pipelined requests; [`Session`] is several nodes, round robin, with reconnection and
//! prepared statements. Nothing here retries a request whose outcome is unknown: [`Error::class`] says what is known, and
//! the caller decides.

mod bind;
mod column;
mod connection;
mod error;
mod frame;
mod handshake;
mod inbox;
mod keeper;
mod payload;
mod request;
mod response;
mod rows;
mod segment;
mod session;
mod socket;
mod streams;
mod value;
mod wire;

pub use bind::{Bind, Binds};
pub use column::{Column, ColumnType};
pub use connection::{ConnectOptions, Connection, Credentials};
pub use error::{Class, Detail, Error, ErrorCode, ServerError};
pub use frame::Version;
pub use payload::{PATH_KEY, Payload, TRACE_KEY, TXN_ID_KEY};
pub use request::{Consistency, RequestOptions};
pub use response::{Answer, Prepared, Response, SchemaChange};
pub use rows::{Row, Rows};
pub use session::{Session, SessionOptions, Statement};
pub use value::{Value, bigint, boolean, bytes, decode_bigint, decode_boolean, decode_int, decode_text, int, text};
