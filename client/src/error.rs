//! What can go wrong, and what is known of the request's effect when it does.

use std::fmt;
use std::time::Duration;

use crate::payload::Payload;

/// Whether a failed request may have taken effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Class {
    /// It did not, and it will not: the caller may send it again.
    DefiniteNo,
    /// It may have, or it may still: only a read tells.
    Unknown,
}

/// Everything this crate reports.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No TCP connection to the node.
    #[error("{address}: cannot connect: {reason}; is the node up and the address its client port?")]
    Connect { address: String, reason: String },
    /// The server asks for a login and none was given, or it refused the one given.
    #[error("{address}: authentication: {reason}")]
    Auth { address: String, reason: String },
    /// The peer answered the handshake with something else than the protocol allows.
    #[error("{address}: handshake: {reason}")]
    Handshake { address: String, reason: String },
    /// Another cluster than the session's answers at the address.
    #[error("{address}: belongs to cluster {got:?}, not {wanted:?}; has its port been taken over?")]
    OtherCluster { address: String, wanted: String, got: String },
    /// No node of the session has a live connection.
    #[error("no live connection to any of {nodes} nodes; last failure: {last}")]
    NoConnection { nodes: usize, last: String },
    /// The request did not leave this process.
    #[error("request not sent: {reason}")]
    NotSent { reason: String },
    /// The connection ended after the request was written and before its answer.
    #[error("connection lost after the request was sent, outcome unknown: {reason}")]
    ConnectionLost { reason: String },
    /// No answer in time.
    #[error("no answer within {after:?}, outcome unknown")]
    Timeout { after: Duration },
    /// The server answered with an error.
    #[error("{0}")]
    Server(Box<ServerError>),
    /// An answer that does not follow the protocol.
    #[error("malformed answer: {what} at byte {at} of the body")]
    Decode { what: &'static str, at: usize },
    /// Bytes on the socket that are no envelope or segment; the connection is closed.
    #[error("malformed stream: {reason}")]
    Stream { reason: String },
    /// A part of a request is longer than the protocol can carry.
    #[error("{what} of {length} bytes or items exceeds the protocol's limit of {max}")]
    TooLong { what: &'static str, length: usize, max: usize },
    /// An answer of the wrong kind for the request.
    #[error("unexpected answer: {got} where {wanted} was expected")]
    Unexpected { wanted: &'static str, got: &'static str },
    /// A value that is not of the type asked for.
    #[error("value of {length} bytes is no {wanted}")]
    Value { wanted: &'static str, length: usize },
    /// The number of bound values differs from the number of markers.
    #[error("statement has {wanted} markers but {got} values were bound")]
    ValueCount { wanted: usize, got: usize },
    /// An option that makes no sense.
    #[error("session options: {reason}")]
    Options { reason: String },
}

impl Error {
    /// What is known of the effect of the request that failed so.
    pub fn class(&self) -> Class {
        match self {
            Self::Server(error) => error.code.class(),
            // An answer arrived but cannot be read: it may have said "done".
            Self::ConnectionLost { .. }
            | Self::Timeout { .. }
            | Self::Decode { .. }
            | Self::Stream { .. }
            | Self::Unexpected { .. }
            | Self::Value { .. } => Class::Unknown,
            Self::Connect { .. }
            | Self::Auth { .. }
            | Self::Handshake { .. }
            | Self::OtherCluster { .. }
            | Self::NoConnection { .. }
            | Self::NotSent { .. }
            | Self::TooLong { .. }
            | Self::ValueCount { .. }
            | Self::Options { .. } => Class::DefiniteNo,
        }
    }

    /// The server's error, if it was the server that refused.
    pub fn server(&self) -> Option<&ServerError> {
        match self {
            Self::Server(error) => Some(error),
            _ => None,
        }
    }
}

/// An ERROR answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerError {
    /// What kind of error.
    pub code: ErrorCode,
    /// The server's text.
    pub message: String,
    /// The fields after the text, where the code has any and they could be read.
    pub detail: Detail,
    /// Custom payload that came with the error, e.g. the transaction id of an unknown outcome.
    pub payload: Payload,
    /// Warnings that came with the error.
    pub warnings: Vec<String>,
}

impl fmt::Display for ServerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} (0x{:04x}): {}", self.code, self.code.number(), self.message)
    }
}

/// Fields after the text of an ERROR.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Detail {
    /// The code has none, or they were not readable.
    None,
    /// Replicas needed and replicas known to be alive.
    Unavailable { required: i32, alive: i32 },
    /// Answers received and needed before the timeout; the write type is empty for reads.
    Timeout { received: i32, required: i32, write_type: String },
    /// The statement id the server does not know.
    Unprepared { id: Vec<u8> },
    /// What exists already; the table is empty for a keyspace.
    AlreadyExists { keyspace: String, table: String },
}

/// Error code of the native protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorCode {
    ServerError,
    ProtocolError,
    BadCredentials,
    Unavailable,
    Overloaded,
    IsBootstrapping,
    TruncateError,
    WriteTimeout,
    ReadTimeout,
    ReadFailure,
    FunctionFailure,
    WriteFailure,
    CdcWriteFailure,
    CasWriteUnknown,
    SyntaxError,
    Unauthorized,
    Invalid,
    ConfigError,
    AlreadyExists,
    Unprepared,
    /// A code this client does not know.
    Other(i32),
}

const CODES: [(i32, ErrorCode); 20] = [
    (0x0000, ErrorCode::ServerError),
    (0x000a, ErrorCode::ProtocolError),
    (0x0100, ErrorCode::BadCredentials),
    (0x1000, ErrorCode::Unavailable),
    (0x1001, ErrorCode::Overloaded),
    (0x1002, ErrorCode::IsBootstrapping),
    (0x1003, ErrorCode::TruncateError),
    (0x1100, ErrorCode::WriteTimeout),
    (0x1200, ErrorCode::ReadTimeout),
    (0x1300, ErrorCode::ReadFailure),
    (0x1400, ErrorCode::FunctionFailure),
    (0x1500, ErrorCode::WriteFailure),
    (0x1600, ErrorCode::CdcWriteFailure),
    (0x1700, ErrorCode::CasWriteUnknown),
    (0x2000, ErrorCode::SyntaxError),
    (0x2100, ErrorCode::Unauthorized),
    (0x2200, ErrorCode::Invalid),
    (0x2300, ErrorCode::ConfigError),
    (0x2400, ErrorCode::AlreadyExists),
    (0x2500, ErrorCode::Unprepared),
];

impl ErrorCode {
    /// The code of a number on the wire.
    pub fn from_number(number: i32) -> Self {
        CODES.iter().find(|(known, _)| *known == number).map_or(Self::Other(number), |(_, code)| *code)
    }

    /// The number on the wire.
    pub fn number(self) -> i32 {
        match self {
            Self::Other(number) => number,
            known => CODES.iter().find(|(_, code)| *code == known).map_or(0, |(number, _)| *number),
        }
    }

    /// What the code says of the request's effect; a code that does not promise "nothing happened" is unknown.
    pub fn class(self) -> Class {
        match self {
            Self::ProtocolError
            | Self::BadCredentials
            | Self::Unavailable
            | Self::Overloaded
            | Self::IsBootstrapping
            | Self::SyntaxError
            | Self::Unauthorized
            | Self::Invalid
            | Self::ConfigError
            | Self::AlreadyExists
            | Self::Unprepared => Class::DefiniteNo,
            Self::ServerError
            | Self::TruncateError
            | Self::WriteTimeout
            | Self::ReadTimeout
            | Self::ReadFailure
            | Self::FunctionFailure
            | Self::WriteFailure
            | Self::CdcWriteFailure
            | Self::CasWriteUnknown
            | Self::Other(_) => Class::Unknown,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_keeps_its_number() {
        for (number, code) in CODES {
            assert_eq!(ErrorCode::from_number(number), code);
            assert_eq!(code.number(), number);
        }
        assert_eq!(ErrorCode::from_number(0x4242).number(), 0x4242);
    }

    #[test]
    fn only_refusals_before_work_are_a_definite_no() {
        for code in [ErrorCode::Overloaded, ErrorCode::Unavailable, ErrorCode::Invalid, ErrorCode::Unauthorized] {
            assert_eq!(code.class(), Class::DefiniteNo);
        }
        for code in [ErrorCode::WriteTimeout, ErrorCode::CasWriteUnknown, ErrorCode::ServerError, ErrorCode::Other(7)] {
            assert_eq!(code.class(), Class::Unknown);
        }
    }
}
