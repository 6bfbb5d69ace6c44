//! What is wrong with a statement, where, and how a client is told.

use serde::{Deserialize, Serialize};

/// A place in a statement's text.
///
/// *Units*: lines and columns count from one, columns in bytes. Line zero means "no place": the error is about a bound value or
/// about the state of the schema.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct At {
    /// Line, from one; zero if there is no place to point at.
    pub line: u32,
    /// Column in bytes, from one.
    pub column: u32,
}

impl At {
    /// No place.
    pub const NOWHERE: Self = Self { line: 0, column: 0 };
}

/// The family of an error, which decides its code on the client port. *Source*: [CQL 1.8].
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Class {
    /// The text does not follow the grammar (0x2000).
    Syntax,
    /// The role may not do this (0x2100).
    Unauthorized,
    /// The text is well formed but means nothing here (0x2200).
    Invalid,
    /// An option of a keyspace or table has a value that cannot be (0x2300).
    Config,
    /// The keyspace or table exists (0x2400); `table` is empty for a keyspace.
    AlreadyExists {
        /// The keyspace.
        keyspace: String,
        /// The table, or nothing.
        table: String,
    },
    /// Bytes that this build cannot read (0x0000).
    Server,
}

/// Why a statement was refused.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error, Serialize, Deserialize)]
#[non_exhaustive]
#[error("{}{message}", self.place())]
pub struct Error {
    /// The family.
    pub class: Class,
    /// A plain sentence: what is wrong and what to do.
    pub message: String,
    /// Where.
    pub at: At,
}

impl Error {
    /// An error of `class` at `at`.
    pub fn new(class: Class, at: At, message: impl Into<String>) -> Self {
        Self { class, message: message.into(), at }
    }

    /// Line of the mistake, from one; zero if it has no place in the text.
    pub fn line(&self) -> u32 {
        self.at.line
    }

    /// Column of the mistake in bytes, from one; zero if it has no place in the text.
    pub fn column(&self) -> u32 {
        self.at.column
    }

    pub(crate) fn syntax(at: At, message: impl Into<String>) -> Self {
        Self::new(Class::Syntax, at, message)
    }

    pub(crate) fn invalid(at: At, message: impl Into<String>) -> Self {
        Self::new(Class::Invalid, at, message)
    }

    pub(crate) fn config(at: At, message: impl Into<String>) -> Self {
        Self::new(Class::Config, at, message)
    }

    pub(crate) fn server(message: impl Into<String>) -> Self {
        Self::new(Class::Server, At::NOWHERE, message)
    }

    fn place(&self) -> String {
        match self.at {
            At { line: 0, .. } => String::new(),
            At { line, column } => format!("[{line}:{column}] "),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_prints_its_place_only_if_it_has_one() {
        assert_eq!(Error::syntax(At { line: 2, column: 7 }, "no").to_string(), "[2:7] no");
        assert_eq!(Error::server("no").to_string(), "no");
    }
}
