//! What every read of a run must show, where the mix leaves something constant.

use client::{Payload, Response, TXN_ID_KEY};

use crate::args::{Pairing, RunArgs};
use crate::error::Error;
use crate::mix::Kind;
use crate::simplebank::ledger::Ledger;
use crate::simplebank::plan::{Account, Transaction};

/// An invariant that single reads can break.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LiveCheck {
    None,
    /// Transfers only move money within a customer: every balance sees twice the initial one.
    Balance,
    /// Payments only move money within a pair: every audit of it sees twice the initial balance.
    Audit,
}

impl LiveCheck {
    /// The check this mix allows, given what the books say of earlier runs; and why there is none, if that is worth saying.
    pub(crate) fn of(args: &RunArgs, ledger: &Ledger) -> (Self, Option<String>) {
        let mix = args.mix();
        let only = |allowed: &[Kind]| mix.kinds().all(|kind| allowed.contains(&kind));
        let has = |kind| mix.kinds().any(|other| other == kind);
        let (check, even) = if only(&[Kind::Balance, Kind::Transfer]) && has(Kind::Balance) {
            (Self::Balance, ledger.keeps_customers_even())
        } else if args.pairing == Pairing::Closed
            && only(&[Kind::Payment, Kind::Audit, Kind::Balance])
            && has(Kind::Audit)
        {
            (Self::Audit, ledger.keeps_pairs_even())
        } else {
            return (Self::None, None);
        };
        if even {
            return (check, None);
        }
        let why = "reads are not verified: by the ledger, earlier runs moved money across what this mix keeps constant";
        (Self::None, Some(why.to_owned()))
    }

    pub(crate) fn kind(self) -> Option<Kind> {
        match self {
            Self::None => None,
            Self::Balance => Some(Kind::Balance),
            Self::Audit => Some(Kind::Audit),
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Balance => "balance_sees_both_accounts_at_once",
            Self::Audit => "audit_sees_both_customers_at_once",
        }
    }
}

/// The two numbers a read returns.
///
/// *Errors*: [`Error::MissingRow`] for a null, [`Error::Answer`] for anything but one row of two bigints.
pub(crate) fn numbers(transaction: &Transaction, response: &Response) -> Result<[i64; 2], Error> {
    let ids = transaction.ids.as_slice();
    let strange =
        |got: String| Error::Answer { what: format!("{} of customers {ids:?}", transaction.kind.name()), got };
    let row = response.rows().and_then(|rows| rows.row(0)).ok_or_else(|| strange("no row".to_owned()))?;
    let places = match transaction.kind {
        Kind::Balance => [(ids[0], Account::Checking), (ids[0], Account::Savings)],
        _ => [(ids[0], Account::Checking), (ids[1 % ids.len()], Account::Checking)],
    };
    let mut numbers = [0; 2];
    for (at, (id, account)) in places.into_iter().enumerate() {
        let number = row.bigint(at).map_err(|error| strange(error.to_string()))?;
        numbers[at] = number.ok_or_else(|| Error::MissingRow { id, account: account.name() })?;
    }
    Ok(numbers)
}

/// Describes a read that broke the invariant.
pub(crate) fn violation(cycle: u64, transaction: &Transaction, numbers: [i64; 2], payload: &Payload) -> String {
    let ids = transaction.ids.as_slice();
    let txn_id = payload.text(TXN_ID_KEY).unwrap_or("not told");
    let [first, second] = numbers;
    format!(
        "cycle {cycle}: {} of customers {ids:?} returned {first} and {second}, transaction {txn_id}",
        transaction.kind.name()
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simplebank::plan::Plan;

    fn args(mix: &str, pairing: Pairing) -> RunArgs {
        let mut args = RunArgs { mix: mix.parse().expect("a mix"), pairing, ..RunArgs::default() };
        args.target.customers = 10;
        args
    }

    #[test]
    fn only_a_mix_that_keeps_something_constant_is_checked() {
        let books = Ledger::new("bank", 10, 1000).expect("small");
        let of = |mix, pairing| LiveCheck::of(&args(mix, pairing), &books).0;
        assert_eq!(of("balance=1,transfer=1", Pairing::Open), LiveCheck::Balance);
        assert_eq!(of("balance=1,payment=1", Pairing::Open), LiveCheck::None);
        assert_eq!(of("audit=1,payment=1", Pairing::Open), LiveCheck::None);
        assert_eq!(of("audit=1,payment=1", Pairing::Closed), LiveCheck::Audit);
        assert_eq!(of("audit=1,payment=1,transfer=1", Pairing::Closed), LiveCheck::None);
        assert_eq!(of("transfer=1", Pairing::Open), LiveCheck::None);
    }

    #[test]
    fn earlier_payments_switch_the_check_off_and_say_so() {
        let books = Ledger::new("bank", 10, 1000).expect("small");
        let payments = Plan::new(&args("payment=1", Pairing::Open)).expect("valid");
        books.acknowledge(&payments.transaction(0));
        let (check, why) = LiveCheck::of(&args("balance=1,transfer=1", Pairing::Open), &books);
        assert_eq!(check, LiveCheck::None);
        assert!(why.is_some_and(|why| why.contains("earlier runs")));
    }
}
