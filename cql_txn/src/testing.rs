//! A small bank for the tests of this room.

use crate::bind::{Action, Bound};
use crate::ddl::{Ddl, apply_ddl};
use crate::schema::Schema;

pub(crate) const ACCOUNTS: &str = "CREATE TABLE accounts (id bigint, kind text, balance bigint, PRIMARY KEY (id, kind)) \
     WITH transactional_mode = 'full'";

pub(crate) const SIMPLE_BANK: [&str; 5] = [
    "BEGIN TRANSACTION
       LET chk = (SELECT balance FROM accounts WHERE id=1 AND kind='CHECKING');
       LET sav = (SELECT balance FROM accounts WHERE id=1 AND kind='SAVINGS');
       SELECT chk.balance, sav.balance;
     COMMIT TRANSACTION;",
    "BEGIN TRANSACTION
       UPDATE accounts SET balance -= 1 WHERE id=1 AND kind='CHECKING';
       UPDATE accounts SET balance += 1 WHERE id=1 AND kind='SAVINGS';
     COMMIT TRANSACTION;",
    "BEGIN TRANSACTION
       LET a1 = (SELECT balance FROM accounts WHERE id=1 AND kind='CHECKING');
       LET a2 = (SELECT balance FROM accounts WHERE id=2 AND kind='CHECKING');
       SELECT a1.balance, a2.balance;
     COMMIT TRANSACTION;",
    "BEGIN TRANSACTION
       UPDATE accounts SET balance -= 1 WHERE id=1 AND kind='CHECKING';
       UPDATE accounts SET balance += 1 WHERE id=2 AND kind='CHECKING';
     COMMIT TRANSACTION;",
    "BEGIN TRANSACTION
       UPDATE accounts SET balance -= 3 WHERE id=1 AND kind='CHECKING';
       UPDATE accounts SET balance += 1 WHERE id=2 AND kind='CHECKING';
       UPDATE accounts SET balance += 1 WHERE id=3 AND kind='CHECKING';
       UPDATE accounts SET balance += 1 WHERE id=4 AND kind='CHECKING';
     COMMIT TRANSACTION;",
];

pub(crate) fn ddl(schema: &Schema, text: &str) -> Ddl {
    match crate::prepare(&crate::parse(text).unwrap(), schema, Some("bank")).unwrap().action() {
        Action::Ddl(ddl) => ddl.clone(),
        other => panic!("{text} is {other:?}"),
    }
}

pub(crate) fn schema() -> Schema {
    let keyspace = "CREATE KEYSPACE bank WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 3}";
    [keyspace, ACCOUNTS].iter().fold(Schema::new(3), |schema, text| apply_ddl(&schema, &ddl(&schema, text)).unwrap().0)
}

pub(crate) fn bound(schema: &Schema, text: &str) -> Bound {
    crate::prepare(&crate::parse(text).unwrap(), schema, Some("bank")).unwrap().bind(&[], schema).unwrap()
}
