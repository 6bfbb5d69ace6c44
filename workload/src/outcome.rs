//! How a transaction ended, as the books and the report need it.

use client::{Class, Error, ErrorCode};

/// Why a transaction failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FailureClass {
    /// Turned away by backlog control.
    Rejected,
    /// No answer in time, from the client's or the coordinator's clock.
    Timeout,
    /// Too few replicas alive to begin.
    Unavailable,
    /// The connection was lost, or there was none.
    Connection,
    /// The server does not take such a statement; ends the run.
    Invalid,
    /// Any other error the server tells, or an answer that cannot be read.
    Server,
}

impl FailureClass {
    /// All classes, in the order of reports.
    pub const ALL: [Self; 6] =
        [Self::Rejected, Self::Timeout, Self::Unavailable, Self::Connection, Self::Invalid, Self::Server];

    /// Position in [`FailureClass::ALL`].
    pub fn index(self) -> usize {
        self as usize
    }

    /// The name used in reports.
    pub fn name(self) -> &'static str {
        ["rejected", "timeout", "unavailable", "connection", "invalid", "server"][self.index()]
    }
}

/// A failed transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Failure {
    pub class: FailureClass,
    /// Whether it may have taken effect all the same.
    pub unknown: bool,
}

impl From<&Error> for Failure {
    fn from(error: &Error) -> Self {
        Self { class: class(error), unknown: error.class() == Class::Unknown }
    }
}

fn class(error: &Error) -> FailureClass {
    match error {
        Error::Server(server) => server_class(server.code),
        Error::Timeout { .. } => FailureClass::Timeout,
        Error::TooLong { .. } | Error::ValueCount { .. } | Error::Options { .. } => FailureClass::Invalid,
        Error::Decode { .. } | Error::Unexpected { .. } | Error::Value { .. } => FailureClass::Server,
        _ => FailureClass::Connection,
    }
}

fn server_class(code: ErrorCode) -> FailureClass {
    match code {
        ErrorCode::Overloaded => FailureClass::Rejected,
        ErrorCode::WriteTimeout | ErrorCode::ReadTimeout | ErrorCode::CasWriteUnknown => FailureClass::Timeout,
        ErrorCode::Unavailable | ErrorCode::IsBootstrapping => FailureClass::Unavailable,
        ErrorCode::SyntaxError
        | ErrorCode::Invalid
        | ErrorCode::Unauthorized
        | ErrorCode::ConfigError
        | ErrorCode::ProtocolError
        | ErrorCode::BadCredentials => FailureClass::Invalid,
        _ => FailureClass::Server,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server(code: i32) -> Failure {
        let error = client::ServerError {
            code: ErrorCode::from_number(code),
            message: String::new(),
            detail: client::Detail::None,
            payload: client::Payload::default(),
            warnings: vec![],
        };
        Failure::from(&Error::Server(Box::new(error)))
    }

    #[test]
    fn a_rejection_is_known_and_a_timeout_is_not() {
        assert_eq!(server(0x1001), Failure { class: FailureClass::Rejected, unknown: false });
        assert_eq!(server(0x1100), Failure { class: FailureClass::Timeout, unknown: true });
        assert_eq!(server(0x1700), Failure { class: FailureClass::Timeout, unknown: true });
        assert_eq!(server(0x0000), Failure { class: FailureClass::Server, unknown: true });
    }

    #[test]
    fn a_lost_connection_is_unknown_only_after_sending() {
        let lost = Error::ConnectionLost { reason: String::new() };
        let unsent = Error::NotSent { reason: String::new() };
        assert_eq!(Failure::from(&lost), Failure { class: FailureClass::Connection, unknown: true });
        assert_eq!(Failure::from(&unsent), Failure { class: FailureClass::Connection, unknown: false });
    }
}
