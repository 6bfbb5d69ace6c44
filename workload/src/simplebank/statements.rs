//! SimpleBank in CQL: schema, texts and bound values.

use client::{Error, RequestOptions, Response, Session, Statement, Value, bigint};

use crate::mix::Kind;
use crate::simplebank::plan::{Account, Transaction};

pub(crate) fn create_keyspace(keyspace: &str, rf: u8) -> String {
    format!(
        "CREATE KEYSPACE IF NOT EXISTS {keyspace} \
         WITH replication = {{'class': 'SimpleStrategy', 'replication_factor': {rf}}}"
    )
}

pub(crate) fn create_table(keyspace: &str) -> String {
    format!(
        "CREATE TABLE IF NOT EXISTS {keyspace}.accounts \
         (id bigint, kind text, balance bigint, PRIMARY KEY (id, kind)) WITH transactional_mode = 'full'"
    )
}

pub(crate) fn insert_row(keyspace: &str) -> String {
    format!("INSERT INTO {keyspace}.accounts (id, kind, balance) VALUES (?, ?, ?)")
}

pub(crate) fn select_customer(keyspace: &str) -> String {
    format!("SELECT kind, balance FROM {keyspace}.accounts WHERE id = ?")
}

/// The text of a transaction; `id(n)` is what stands for the n-th customer: a marker or a number.
///
/// *Shape*: customers come in the order of [`markers`].
fn transaction_text(kind: Kind, keyspace: &str, id: impl Fn(usize) -> String) -> String {
    let row = |at: usize, account: Account| format!("WHERE id = {} AND kind = '{}'", id(at), account.name());
    let read = |name: &str, at, account| {
        format!("LET {name} = (SELECT balance FROM {keyspace}.accounts {}); ", row(at, account))
    };
    let add = |at, account, amount: i64| {
        let sign = if amount < 0 { '-' } else { '+' };
        let amount = amount.abs();
        format!("UPDATE {keyspace}.accounts SET balance {sign}= {amount} {}; ", row(at, account))
    };
    let body = match kind {
        Kind::Balance => {
            let reads = read("chk", 0, Account::Checking) + &read("sav", 0, Account::Savings);
            reads + "SELECT chk.balance, sav.balance; "
        }
        Kind::Audit => {
            let reads = read("a1", 0, Account::Checking) + &read("a2", 1, Account::Checking);
            reads + "SELECT a1.balance, a2.balance; "
        }
        Kind::Transfer => add(0, Account::Checking, -1) + &add(0, Account::Savings, 1),
        Kind::Payment => add(0, Account::Checking, -1) + &add(1, Account::Checking, 1),
        Kind::Payroll => (1..4).fold(add(0, Account::Checking, -3), |text, at| text + &add(at, Account::Checking, 1)),
    };
    format!("BEGIN TRANSACTION {body}COMMIT TRANSACTION")
}

/// Which customer each marker of a transaction stands for, in text order.
fn markers(kind: Kind) -> &'static [usize] {
    match kind {
        Kind::Balance | Kind::Transfer => &[0, 0],
        Kind::Audit | Kind::Payment => &[0, 1],
        Kind::Payroll => &[0, 1, 2, 3],
    }
}

/// How transactions reach the server.
#[derive(Debug)]
pub(crate) enum Issue {
    /// Statements in the order of [`Kind::ALL`], `None` for types not in the mix.
    Prepared(Box<[Option<Statement>; 5]>),
    /// Texts with the values in them.
    Literals { keyspace: String },
}

impl Issue {
    /// Prepares the statement of each of `kinds`.
    pub(crate) async fn prepare(
        session: &Session,
        keyspace: &str,
        kinds: impl Iterator<Item = Kind>,
    ) -> Result<Self, Error> {
        let mut statements = [(); 5].map(|()| None);
        for kind in kinds {
            let text = transaction_text(kind, keyspace, |_| "?".to_owned());
            statements[kind.index()] = Some(session.prepare(&text).await?);
        }
        Ok(Self::Prepared(Box::new(statements)))
    }

    /// Sends a transaction, once.
    pub(crate) async fn send(
        &self,
        session: &Session,
        transaction: &Transaction,
        options: &RequestOptions,
    ) -> Result<Response, Error> {
        let ids = transaction.ids.as_slice();
        match self {
            Self::Prepared(statements) => {
                let Some(statement) = &statements[transaction.kind.index()] else {
                    let reason = format!("no statement was prepared for {}", transaction.kind.name());
                    return Err(Error::Options { reason });
                };
                let values: Vec<Value> = markers(transaction.kind).iter().map(|at| bigint(ids[*at] as i64)).collect();
                session.execute(statement, &values, options).await
            }
            Self::Literals { keyspace } => {
                let text = transaction_text(transaction.kind, keyspace, |at| ids[at].to_string());
                session.query(&text, &[], options).await
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_the_workloads() {
        let text = |kind| transaction_text(kind, "bank", |at| format!("<{at}>"));
        assert_eq!(
            text(Kind::Payment),
            "BEGIN TRANSACTION \
             UPDATE bank.accounts SET balance -= 1 WHERE id = <0> AND kind = 'CHECKING'; \
             UPDATE bank.accounts SET balance += 1 WHERE id = <1> AND kind = 'CHECKING'; \
             COMMIT TRANSACTION"
        );
        assert_eq!(
            text(Kind::Balance),
            "BEGIN TRANSACTION \
             LET chk = (SELECT balance FROM bank.accounts WHERE id = <0> AND kind = 'CHECKING'); \
             LET sav = (SELECT balance FROM bank.accounts WHERE id = <0> AND kind = 'SAVINGS'); \
             SELECT chk.balance, sav.balance; \
             COMMIT TRANSACTION"
        );
        assert!(text(Kind::Payroll).contains("balance -= 3 WHERE id = <0>"));
    }

    #[test]
    fn markers_come_in_text_order() {
        for kind in Kind::ALL {
            let text = transaction_text(kind, "bank", |at| format!("<{at}>"));
            let order: Vec<usize> = text.split('<').skip(1).map(|rest| rest[..1].parse().expect("a digit")).collect();
            assert_eq!(order, markers(kind));
        }
    }
}
