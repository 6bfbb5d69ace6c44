//! The cluster and the bank a command works on.

use client::{Class, ConnectOptions, Credentials, RequestOptions, Response, Session, SessionOptions, Value, Version};
use tokio::time::{Duration, sleep};

use crate::args::TargetArgs;
use crate::error::Error;
use crate::simplebank::ledger::Ledger;

/// Stream ids per connection: enough that a few lost ones do not end it, and no more than the protocol has.
const IN_FLIGHT_MIN: usize = 2048;
const IN_FLIGHT_MAX: usize = 32_768;
const TRIES: u32 = 8;
const PAUSE_MIN: Duration = Duration::from_millis(50);

impl TargetArgs {
    /// *Errors*: [`Error::Usage`] for a keyspace name that would need quotes, or a bank nobody can have.
    pub(crate) fn validate(&self) -> Result<(), Error> {
        let mut letters = self.keyspace.chars();
        let plain = letters.next().is_some_and(|first| first.is_ascii_alphabetic())
            && letters.all(|letter| letter.is_ascii_alphanumeric() || letter == '_');
        if !plain || self.keyspace.len() > 48 {
            return Err(Error::Usage(format!(
                "--keyspace `{}` must be a letter and up to 47 letters, digits or underscores",
                self.keyspace
            )));
        }
        if self.customers == 0 {
            return Err(Error::Usage("--customers must be at least 1".to_owned()));
        }
        // Sums are 128 bits wide, but no single balance may wrap around while the bank runs.
        if self.initial_balance.unsigned_abs() > i64::MAX as u64 / 2 {
            return Err(Error::Usage("--initial-balance must lie within ±4·10^18".to_owned()));
        }
        Ok(())
    }

    /// Connects for as many requests in flight as `in_flight`, even should all of them go to one node.
    pub(crate) async fn connect(&self, in_flight: u32) -> Result<Session, Error> {
        let credentials = self.user.clone().zip(self.password.clone());
        let connect = ConnectOptions {
            version: if self.protocol == 4 { Version::V4 } else { Version::V5 },
            credentials: credentials.map(|(user, password)| Credentials { user, password }),
            request_timeout: self.timeout,
            in_flight_max: (in_flight as usize).clamp(IN_FLIGHT_MIN, IN_FLIGHT_MAX),
            driver_name: "accordd workload".to_owned(),
            ..ConnectOptions::default()
        };
        let contacts = self.contacts.clone();
        let connections_per_node = usize::from(self.connections);
        Session::connect(SessionOptions { contacts, connections_per_node, connect }).await.map_err(Error::Connect)
    }

    /// Empty books of this bank.
    pub fn ledger(&self) -> Result<Ledger, Error> {
        Ledger::new(&self.keyspace, self.customers, self.initial_balance)
    }

    /// *Errors*: [`Error::Usage`] if the books are of another bank.
    pub(crate) fn match_ledger(&self, ledger: &Ledger) -> Result<(), Error> {
        if ledger.is_of(&self.keyspace, self.customers, self.initial_balance) {
            return Ok(());
        }
        Err(Error::Usage(
            "the ledger is of another bank: --keyspace, --customers and --initial-balance must be those it was begun with"
                .to_owned(),
        ))
    }
}

/// A request that may be sent again without harm, whatever became of it: DDL with IF NOT EXISTS, or a read.
pub(crate) enum Harmless<'a> {
    Query(&'a str),
    Execute(&'a client::Statement, &'a [Value]),
}

/// Sends a harmless request until it is answered, with growing pauses, a bounded number of times.
///
/// *Errors*: [`Error::Statement`] at once if the server refuses it for good, or after the last try.
pub(crate) async fn insist(session: &Session, request: Harmless<'_>, what: &str) -> Result<Response, Error> {
    let options = RequestOptions::default();
    let mut pause = PAUSE_MIN;
    for attempt in 1.. {
        let outcome = match &request {
            Harmless::Query(text) => session.query(text, &[], &options).await,
            Harmless::Execute(statement, values) => session.execute(statement, values, &options).await,
        };
        match outcome {
            Ok(response) => return Ok(response),
            Err(error) if attempt < TRIES && may_help(&error) => sleep(pause).await,
            Err(source) => return Err(Error::Statement { what: what.to_owned(), source }),
        }
        pause *= 2;
    }
    Err(Error::Worker(format!("{what}: no attempt was made")))
}

/// Whether sending it again may help: not if the server finds fault with the statement itself.
pub(crate) fn may_help(error: &client::Error) -> bool {
    use crate::outcome::{Failure, FailureClass};
    error.class() == Class::Unknown || Failure::from(error).class != FailureClass::Invalid
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::CheckArgs;

    #[test]
    fn a_keyspace_name_cannot_carry_other_text() {
        for (name, good) in [("bank", true), ("Bank_2", true), ("", false), ("2bank", false), ("b; DROP", false)] {
            let target = TargetArgs { keyspace: name.to_owned(), ..CheckArgs::default().target };
            assert_eq!(target.validate().is_ok(), good, "{name}");
        }
    }

    #[test]
    fn books_of_another_bank_are_refused() {
        let target = TargetArgs { customers: 10, ..CheckArgs::default().target };
        assert!(target.match_ledger(&target.ledger().expect("small")).is_ok());
        assert!(target.match_ledger(&Ledger::new("bank", 11, 1000).expect("small")).is_err());
    }
}
