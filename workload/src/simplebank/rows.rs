//! Reads a customer's rows by plain single-partition SELECTs.

use client::{Session, Statement, bigint};

use crate::args::TargetArgs;
use crate::error::Error;
use crate::simplebank::plan::Account;
use crate::simplebank::statements;
use crate::simplebank::target::{Harmless, insist};

/// Balances of one customer; `None` where the row is missing or its balance is null.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Customer {
    pub(crate) checking: Option<i64>,
    pub(crate) savings: Option<i64>,
    /// Rows of the partition, whatever they are called.
    pub(crate) row_count: u64,
}

impl Customer {
    /// Both balances.
    ///
    /// *Errors*: [`Error::MissingRow`].
    pub(crate) fn both(&self, id: u64) -> Result<(i64, i64), Error> {
        let missing = |account: Account| Error::MissingRow { id, account: account.name() };
        let checking = self.checking.ok_or_else(|| missing(Account::Checking))?;
        Ok((checking, self.savings.ok_or_else(|| missing(Account::Savings))?))
    }
}

pub(crate) struct Reader {
    session: Session,
    statement: Statement,
}

impl Reader {
    pub(crate) async fn new(session: &Session, target: &TargetArgs) -> Result<Self, Error> {
        let prepared = session.prepare(&statements::select_customer(&target.keyspace)).await;
        let statement = prepared.map_err(|source| Error::Statement { what: "prepare the read".to_owned(), source })?;
        Ok(Self { session: session.clone(), statement })
    }

    /// Reads one customer; a read has no effect, so it is sent again until it is answered.
    pub(crate) async fn read(&self, id: u64) -> Result<Customer, Error> {
        let values = [bigint(id as i64)];
        let what = format!("read customer {id}");
        let response = insist(&self.session, Harmless::Execute(&self.statement, &values), &what).await?;
        let strange = |got: &str| Error::Answer { what: what.clone(), got: got.to_owned() };
        let rows = response.rows().ok_or_else(|| strange("no rows"))?;
        let mut customer = Customer { row_count: rows.len() as u64, ..Customer::default() };
        for row in rows.iter() {
            let (Some(kind), Some(balance)) = (row.position("kind"), row.position("balance")) else {
                return Err(strange("other columns than kind and balance"));
            };
            let balance = row.bigint(balance).map_err(|error| strange(&error.to_string()))?;
            match row.bytes(kind) {
                Some(b"CHECKING") => customer.checking = balance,
                Some(b"SAVINGS") => customer.savings = balance,
                _ => return Err(strange("a row that is neither CHECKING nor SAVINGS")),
            }
        }
        Ok(customer)
    }
}
