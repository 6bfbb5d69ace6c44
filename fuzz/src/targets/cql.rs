//! F2: the text of a statement. No panic, memory in proportion to the text, and what is printed parses to the same statement.

use crate::{Outcome, Target, spent_by};
use cql_txn::ast::Statement;
use cql_txn::{parse, prepare};

use super::operations::schema;

/// See the module.
pub const TARGET: Target = Target { name: "cql", run, seeds, dictionary: DICTIONARY, input_max: 64 << 10 };

const DICTIONARY: &[&[u8]] = &[
    b"BEGIN TRANSACTION ",
    b" COMMIT TRANSACTION",
    b" APPLY TRANSACTION",
    b"LET a = (SELECT balance FROM accounts WHERE id = 1 AND kind = 'a');",
    b" IF ",
    b" THEN ",
    b" END IF ",
    b"SELECT ",
    b" FROM ",
    b" WHERE ",
    b" IS NOT NULL",
    b" IN (",
    b"UPDATE ",
    b" SET ",
    b" += ",
    b" -= ",
    b"INSERT INTO ",
    b" VALUES (",
    b"DELETE ",
    b"CREATE TABLE ",
    b"CREATE KEYSPACE ",
    b" WITH replication = {'class': 'SimpleStrategy'}",
    b" IF NOT EXISTS",
    b" IF EXISTS",
    b" USING TIMESTAMP ",
    b" PRIMARY KEY ((",
    b" LIMIT ",
    b"DROP ",
    b"USE ",
    b"DESCRIBE ",
    b"null",
    b"-1",
    b"9223372036854775808",
    b"1.5",
    b"''",
    b"'x'",
    b"\"Q\"\"q\"",
    b"$$",
    b"?",
    b":name",
    b"/*",
    b"*/",
    b"--",
    b"\n",
    b"((((",
    b"[{",
    b"frozen<",
    b"true",
    b"0x12",
    b"\xc3\xa9",
];

fn run(input: &[u8]) -> Outcome {
    let text = String::from_utf8_lossy(input);
    let (parsed, spent) = spent_by(|| parse(&text));
    assert!(spent.total <= 1024 * text.len() + (64 << 10), "{} bytes for a text of {}", spent.total, text.len());
    let statement = match parsed {
        Ok(statement) => statement,
        Err(error) => {
            assert!(error.line() >= 1 && error.column() >= 1, "{error}");
            return Outcome::of(&format!("{:.48}", error.message));
        }
    };
    prints_as_it_parses(&statement);
    match prepare(&statement, &schema(), Some("bank")) {
        Ok(prepared) => {
            let [markers, columns] =
                [prepared.variables().len(), prepared.result_columns().map_or(0, <[_]>::len)].map(Outcome::letter);
            Outcome::of(&format!("{} {markers} {columns}", kind_of(&statement)))
        }
        Err(error) => Outcome::of(&format!("{} not prepared: {:.40}", kind_of(&statement), error.message)),
    }
}

fn prints_as_it_parses(statement: &Statement) {
    let printed = statement.to_string();
    let again = parse(&printed).unwrap_or_else(|error| panic!("printed {printed:?}: {error}"));
    assert_eq!(again.to_string(), printed, "prints otherwise the second time");
    assert_eq!(without_places(&again), without_places(statement), "{printed:?}");
}

/// The statement without where its parts stood.
fn without_places(statement: &Statement) -> String {
    let shown = format!("{statement:?}");
    let mut parts = shown.split("at: At");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| text + part.find(['}', ')']).map_or(part, |end| &part[end + 1..]))
}

fn kind_of(statement: &Statement) -> String {
    let shown = format!("{:?}", statement.kind);
    shown.split('(').next().unwrap_or_default().to_owned()
}

fn seeds() -> Vec<Vec<u8>> {
    [
        "SELECT id, kind, balance FROM bank.accounts WHERE id = 1 AND kind IN ('a', 'b') LIMIT 3",
        "SELECT * FROM accounts WHERE id = ?",
        "INSERT INTO accounts (id, kind, balance) VALUES (1, 'a', -5) IF NOT EXISTS USING TIMESTAMP 7",
        "INSERT INTO accounts (id, kind, balance) VALUES (:id, $$it's$$, null)",
        "UPDATE accounts SET balance = 3 WHERE id = 1 AND kind = 'a' IF balance > 2 AND kind = 'a'",
        "UPDATE accounts SET balance += ? WHERE id IN (1, 2) AND kind = 'a'",
        "DELETE balance FROM accounts WHERE id = 1 AND kind = 'a' IF EXISTS",
        "CREATE KEYSPACE IF NOT EXISTS k WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 3}",
        "CREATE TABLE k.\"T\" (a int, b text, c boolean STATIC, d bigint, PRIMARY KEY ((a, b), d)) \
         WITH CLUSTERING ORDER BY (d DESC) AND transactional_mode = 'full' AND comment = 'x'",
        "CREATE TABLE t (a int PRIMARY KEY, b text)",
        "DROP TABLE IF EXISTS k.t",
        "DROP KEYSPACE k",
        "USE \"K\"",
        "BEGIN TRANSACTION LET a = (SELECT * FROM accounts WHERE id = 1 AND kind = 'a'); \
         LET b = (SELECT balance FROM accounts WHERE id = 2 LIMIT 1); SELECT a.balance, b.balance; \
         IF a.balance >= 5 AND b IS NOT NULL AND 3 != b.balance THEN \
         UPDATE accounts SET balance -= 5 WHERE id = 1 AND kind = 'a'; \
         UPDATE accounts SET balance = b.balance WHERE id = 2 AND kind = 'a'; \
         INSERT INTO accounts (id, kind, balance) VALUES (3, 'c', a.balance); \
         DELETE FROM accounts WHERE id = 4; END IF COMMIT TRANSACTION",
        "BEGIN TRANSACTION SELECT * FROM accounts WHERE id = 1; UPDATE accounts SET balance = ? \
         WHERE id = :id AND kind = 'x'; APPLY TRANSACTION",
        "/* a */ SELECT json -- b\n FROM t WHERE p = $$x$$ ; ; // c",
    ]
    .map(|text| text.as_bytes().to_vec())
    .into()
}
