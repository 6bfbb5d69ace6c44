//! The transaction of each cycle: a pure function of seed and cycle number.

use crate::args::{MixMode, RunArgs};
use crate::error::Error;
use crate::mix::{Kind, Mix};
use crate::random::{Purpose, Random};
use crate::simplebank::customers::{Customers, Ids};

/// One of a customer's two rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Account {
    Checking,
    Savings,
}

impl Account {
    /// The value of the column `kind`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Checking => "CHECKING",
            Self::Savings => "SAVINGS",
        }
    }
}

/// A transaction to issue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Transaction {
    pub(crate) kind: Kind,
    pub(crate) ids: Ids,
}

impl Transaction {
    /// What it adds to which balance; empty for reads. The amounts add up to zero.
    pub(crate) fn deltas(&self) -> impl Iterator<Item = (u64, Account, i64)> {
        let ids = self.ids;
        let amounts: &'static [(usize, Account, i64)] = match self.kind {
            Kind::Balance | Kind::Audit => &[],
            Kind::Transfer => &[(0, Account::Checking, -1), (0, Account::Savings, 1)],
            Kind::Payment => &[(0, Account::Checking, -1), (1, Account::Checking, 1)],
            Kind::Payroll => &[
                (0, Account::Checking, -3),
                (1, Account::Checking, 1),
                (2, Account::Checking, 1),
                (3, Account::Checking, 1),
            ],
        };
        amounts.iter().map(move |(at, account, amount)| (ids.as_slice()[*at], *account, *amount))
    }
}

/// Draws the transaction of any cycle.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    seed: u64,
    mix: Mix,
    mode: MixMode,
    customers: Customers,
}

impl Plan {
    pub(crate) fn new(args: &RunArgs) -> Result<Self, Error> {
        let customers = Customers::new(args)?;
        Ok(Self { seed: args.seed, mix: args.mix(), mode: args.mix_mode, customers })
    }

    pub(crate) fn transaction(&self, cycle: u64) -> Transaction {
        let kind = match self.mode {
            MixMode::Random => self.mix.draw(self.seed, cycle),
            MixMode::Deck => self.mix.deal(self.seed, cycle),
        };
        let ids = self.customers.draw(kind, &mut Random::new(self.seed, cycle, Purpose::Keys));
        Transaction { kind, ids }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(seed: u64) -> Plan {
        Plan::new(&RunArgs { seed, theta: 0.99, ..RunArgs::default() }).expect("valid")
    }

    #[test]
    fn a_cycle_is_the_same_whenever_it_is_drawn() {
        let (forward, backward) = (plan(5), plan(5));
        let series: Vec<_> = (0..500).map(|cycle| forward.transaction(cycle)).collect();
        for cycle in (0..500).rev() {
            assert_eq!(backward.transaction(cycle), series[cycle as usize]);
        }
        assert_ne!(series, (0..500).map(|cycle| plan(6).transaction(cycle)).collect::<Vec<_>>());
    }

    #[test]
    fn every_transaction_moves_money_without_making_any() {
        let plan = plan(1);
        for cycle in 0..2_000 {
            let transaction = plan.transaction(cycle);
            assert_eq!(transaction.deltas().map(|(_, _, amount)| amount).sum::<i64>(), 0);
            assert_eq!(transaction.deltas().count() > 0, transaction.kind.is_write());
        }
    }

    #[test]
    fn the_keys_of_a_type_do_not_depend_on_how_the_type_was_drawn() {
        // Type and keys come from separate sequences: among balances, hot customers are as hot as among all.
        let plan = plan(2);
        let (mut hot, mut all) = (0u32, 0u32);
        for cycle in 0..100_000 {
            let transaction = plan.transaction(cycle);
            if transaction.kind == Kind::Balance {
                all += 1;
                hot += u32::from(transaction.ids.as_slice()[0] == 0);
            }
        }
        let p = 0.07825744; // theta 0.99, 100,000 customers
        let error = (p * (1.0 - p) / f64::from(all)).sqrt();
        assert!((f64::from(hot) / f64::from(all) - p).abs() < 4.0 * error, "{hot} of {all}");
    }
}
