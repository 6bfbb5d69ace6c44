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

/// A table with most kinds of column.
pub(crate) const WIDE_TABLE: &str = "CREATE TABLE wide (p int, q text, r int, s int static, li list<int>, mp map<text, int>, \
     tp tuple<text, int>, n int, PRIMARY KEY (p, q, r)) WITH CLUSTERING ORDER BY (q DESC, r ASC) AND transactional_mode = 'full'";

/// Statements whose plans have every form.
pub(crate) const WIDE: [&str; 6] = [
    "SELECT p, mp['k'], writetime(n), s FROM wide WHERE p IN (2, 1) AND q = 'a' AND r > 1 AND r <= 5 LIMIT 3",
    "SELECT count(*), max(n) FROM wide WHERE p = 1 ORDER BY q ASC",
    "BEGIN TRANSACTION LET a = (SELECT * FROM wide WHERE p = 1 LIMIT 1); SELECT a.li[0], a.mp['x']; \
     IF a.mp['x'] = 1 AND a.s IS NULL THEN UPDATE wide SET li += a.li, mp['y'] = 5, s = 1 WHERE p = 1 AND q = 'a' AND r IN (1, 2); \
     DELETE FROM wide WHERE p = 1 AND q < 'z'; END IF COMMIT TRANSACTION",
    "UPDATE wide SET n = 4 WHERE p = 1 AND q = 'a' AND r = 1 IF n = 3 AND s != null",
    "INSERT INTO wide (p, q, r, tp) VALUES (1, 'a', 1, ('x', 1)) IF NOT EXISTS",
    "BEGIN BATCH USING TIMESTAMP 7 DELETE FROM wide WHERE p = 1; UPDATE wide SET li = [0] + li WHERE p = 1 AND q = '' AND r = 0; \
     DELETE mp['a'], li[0] FROM wide WHERE p = 1 AND q = '' AND r = 0; APPLY BATCH",
];

pub(crate) fn ddl(schema: &Schema, text: &str) -> Ddl {
    match crate::prepare(&crate::parse(text).unwrap(), schema, Some("bank")).unwrap().action() {
        Action::Ddl(ddl) => ddl.clone(),
        other => panic!("{text} is {other:?}"),
    }
}

pub(crate) fn schema() -> Schema {
    let keyspace = "CREATE KEYSPACE bank WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 3}";
    [keyspace, ACCOUNTS, WIDE_TABLE]
        .iter()
        .fold(Schema::new(3), |schema, text| apply_ddl(&schema, &ddl(&schema, text)).unwrap().0)
}

pub(crate) fn bound(schema: &Schema, text: &str) -> Bound {
    crate::prepare(&crate::parse(text).unwrap(), schema, Some("bank")).unwrap().bind(&[], schema).unwrap()
}
