//! What can go wrong between a client and this port, and the code under which the client hears of it.
//!
//! *Source*: [CQL 4.5].

use crate::wire::Put;
use cql_txn::Class;

/// A refusal a client is told of.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A bug of ours: never the client's fault.
    #[error("{0}")]
    Server(String),
    /// The bytes break the native protocol.
    #[error("{0}")]
    Protocol(String),
    /// Not applied: no quorum could be reached.
    #[error("{message}")]
    Unavailable {
        /// What was missing.
        message: String,
        /// Replicas needed.
        required: i32,
        /// Replicas believed alive.
        alive: i32,
    },
    /// Not applied: the node refuses new work.
    #[error("{0}")]
    Overloaded(String),
    /// The outcome of a write is unknown; the text names the transaction.
    #[error("{0}")]
    WriteTimeout(String),
    /// A read gave no answer in time.
    #[error("{0}")]
    ReadTimeout(String),
    /// The text is not of the language.
    #[error("{0}")]
    Syntax(String),
    /// Not permitted.
    #[error("{0}")]
    Unauthorized(String),
    /// Well formed and meaningless, or not supported.
    #[error("{0}")]
    Invalid(String),
    /// A bad option of a schema statement.
    #[error("{0}")]
    Config(String),
    /// The keyspace or table is there already.
    #[error("{message}")]
    AlreadyExists {
        /// What exists.
        message: String,
        /// Its keyspace.
        keyspace: String,
        /// Its table, empty when the keyspace itself is meant.
        table: String,
    },
    /// This node does not know the prepared statement; the client prepares it again.
    #[error("no prepared statement has this id here: prepare it again")]
    Unprepared(Vec<u8>),
}

const CONSISTENCY_SERIAL: u16 = 8;

impl Error {
    /// The code of the ERROR message.
    pub fn code(&self) -> i32 {
        match self {
            Self::Server(_) => 0x0000,
            Self::Protocol(_) => 0x000a,
            Self::Unavailable { .. } => 0x1000,
            Self::Overloaded(_) => 0x1001,
            Self::WriteTimeout(_) => 0x1100,
            Self::ReadTimeout(_) => 0x1200,
            Self::Syntax(_) => 0x2000,
            Self::Unauthorized(_) => 0x2100,
            Self::Invalid(_) => 0x2200,
            Self::Config(_) => 0x2300,
            Self::AlreadyExists { .. } => 0x2400,
            Self::Unprepared(_) => 0x2500,
        }
    }

    /// Appends the body of an ERROR message: code, text and what the code carries besides.
    pub(crate) fn put(&self, out: &mut Vec<u8>, version: u8) {
        out.put_i32(self.code());
        out.put_string(&self.to_string());
        match self {
            Self::Unavailable { required, alive, .. } => {
                out.put_u16(CONSISTENCY_SERIAL);
                out.put_i32(*required);
                out.put_i32(*alive);
            }
            Self::WriteTimeout(_) => {
                out.put_u16(CONSISTENCY_SERIAL);
                out.put_i32(0);
                out.put_i32(1);
                out.put_string("CAS");
                if version >= 5 {
                    out.put_u16(0);
                }
            }
            Self::ReadTimeout(_) => {
                out.put_u16(CONSISTENCY_SERIAL);
                out.put_i32(0);
                out.put_i32(1);
                out.push(0);
            }
            Self::AlreadyExists { keyspace, table, .. } => {
                out.put_string(keyspace);
                out.put_string(table);
            }
            Self::Unprepared(id) => out.put_short_bytes(id),
            _ => {}
        }
    }
}

impl From<cql_txn::Error> for Error {
    fn from(error: cql_txn::Error) -> Self {
        let message = error.to_string();
        match error.class {
            Class::Syntax => Self::Syntax(message),
            Class::Unauthorized => Self::Unauthorized(message),
            Class::Invalid => Self::Invalid(message),
            Class::Config => Self::Config(message),
            Class::AlreadyExists { keyspace, table } => Self::AlreadyExists { message, keyspace, table },
            _ => Self::Server(message),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(error: &Error, version: u8) -> Vec<u8> {
        let mut out = Vec::new();
        error.put(&mut out, version);
        out
    }

    #[test]
    fn each_code_carries_its_extras() {
        assert_eq!(body(&Error::Invalid("x".into()), 4), [0, 0, 0x22, 0, 0, 1, b'x']);
        let exists = Error::AlreadyExists { message: "x".into(), keyspace: "k".into(), table: "t".into() };
        assert_eq!(body(&exists, 4), [0, 0, 0x24, 0, 0, 1, b'x', 0, 1, b'k', 0, 1, b't']);
        let unprepared = body(&Error::Unprepared(vec![7; 16]), 5);
        assert_eq!(unprepared[unprepared.len() - 18..], [&[0, 16][..], &[7; 16]].concat());
        let timeout = Error::WriteTimeout("x".into());
        let four = [&[0, 0, 0x11, 0, 0, 1, b'x', 0, 8][..], &[0, 0, 0, 0, 0, 0, 0, 1, 0, 3], b"CAS"].concat();
        assert_eq!(body(&timeout, 4), four);
        assert_eq!(body(&timeout, 5), [&four[..], &[0, 0]].concat());
    }

    #[test]
    fn errors_of_the_language_keep_their_class() {
        let error = cql_txn::parse("SELEC").expect_err("no statement");
        assert_eq!(Error::from(error).code(), 0x2000);
    }
}
