//! Texts and bytes from outside: never a panic, always a sentence with a place. Field case C07.

mod world;

use cql_txn::{Class, CqlSemantics, parse};
use proptest::prelude::*;
use protocol::{Blob, Bytes, Epoch, Hlc, Key, NodeId, Semantics, TableId, Timestamp, TxnId};

const LET: &str = "LET a = (SELECT w FROM t WHERE p = 1);";
const UPDATE: &str = "UPDATE t SET w = 1 WHERE p = 1;";

fn syntax_errors() -> Vec<String> {
    let txn = |body: &str| format!("BEGIN TRANSACTION {body} COMMIT TRANSACTION");
    let inner = [
        format!("{LET} IF a.w = 1 OR a.w = 2 THEN {UPDATE} END IF"),
        format!("{LET} IF a.w IN (1, 2) THEN {UPDATE} END IF"),
        format!("{LET} IF a.w = 1 THEN IF a.w = 2 THEN {UPDATE} END IF END IF"),
        format!("{LET} IF a.w = 1 THEN {UPDATE}"),
        format!("{LET} IF a.w = 1 THEN {UPDATE} END IF;"),
        format!("{LET} IF (a.w = 1) THEN {UPDATE} END IF"),
        format!("{LET} IF a.w = a.w THEN {UPDATE} END IF"),
        format!("{LET} IF NOT a.w = 1 THEN {UPDATE} END IF"),
        format!("{LET} IF a.w = 1 THEN {UPDATE} ELSE {UPDATE} END IF"),
        format!("{UPDATE} {LET}"),
        format!("{UPDATE} SELECT * FROM t WHERE p = 1;"),
        format!("{LET} {LET} UPDATE t SET w = a.w + 1 WHERE p = 1;"),
        format!("{LET} UPDATE t SET w = w + a.w WHERE p = 1;"),
        format!("{LET} UPDATE t SET w = z + 1 WHERE p = 1;"),
        format!("{LET} UPDATE t SET w = 1 WHERE p = a.w;"),
        format!("{LET} INSERT INTO t (p, w) VALUES (1, a.w + 1);"),
        "LET \"A\" = (SELECT w FROM t WHERE p = 1); SELECT a.w;".to_owned(),
        "LET user = (SELECT w FROM t WHERE p = 1); SELECT user.w;".to_owned(),
        "LET a = (SELECT w FROM t LIMIT 1); SELECT a.w;".to_owned(),
        "LET a = SELECT w FROM t WHERE p = 1; SELECT a.w;".to_owned(),
        "LET a = (SELECT w AS v FROM t WHERE p = 1); SELECT a.w;".to_owned(),
        "LET a = (SELECT w FROM t WHERE p = 1 ORDER BY q); SELECT a.w;".to_owned(),
        "SELECT a.w, b.w FROM t WHERE p = 1;".to_owned(),
        "UPDATE t SET w = 1 WHERE p = 1".to_owned(),
        "TRUNCATE t;".to_owned(),
        format!("; {UPDATE}"),
    ];
    let mut texts: Vec<String> = inner.iter().map(|body| txn(body)).collect();
    texts.extend(
        [
            "",
            ";",
            "SELECT",
            "SELEC 1",
            "SELECT a.w, b.w",
            "UPDATE t SET w = a.w WHERE p = 1",
            "SELECT * FROM t WHERE p = 'open",
            "SELECT * FROM \0t",
            "INSERT INTO t (p) VALUES (1) nonsense",
            "SELECT * FROM select",
            "SELECT * FROM t WHERE p = 1;;x",
            "BEGIN TRANSACTION UPDATE t SET w = 1 WHERE p = 1;",
            "BEGIN TRANSACTION UPDATE t SET w = 1 WHERE p = 1; APPLY BATCH",
            "BEGIN TRANSACTION UPDATE t SET w = 1 WHERE p = 1; ROLLBACK",
            "CREATE TABLE t (a int PRIMARY KEY",
            "DROP",
            "/* open",
        ]
        .map(str::to_owned),
    );
    texts
}

#[test]
fn what_the_grammar_excludes_is_a_syntax_error_with_a_place() {
    for text in syntax_errors() {
        let error = parse(&text).expect_err(&text);
        assert!(error.class == Class::Syntax && error.line() >= 1 && error.column() >= 1, "{text}: {error:?}");
        assert!(error.message.len() < 250, "{error}");
    }
}

#[test]
fn what_is_not_offered_is_said_plainly() {
    for text in [
        "ALTER TYPE x ADD a int",
        "BEGIN COUNTER BATCH INSERT INTO t (p) VALUES (1); APPLY BATCH",
        "SELECT * FROM t PER PARTITION LIMIT 1",
        "SELECT JSON * FROM t WHERE p = 1",
        "SELECT * FROM t WHERE (p, q) > (1, 2)",
        "SELECT * FROM t WHERE p CONTAINS 1",
        "INSERT INTO t (p) VALUES (now())",
        "GRANT SELECT ON t TO x",
    ] {
        let error = parse(text).expect_err(text);
        assert!(error.class == Class::Invalid && error.message.contains("not supported yet"), "{text}: {error:?}");
    }
}

#[test]
fn columns_may_be_called_like_most_words() {
    for text in [
        "SELECT json, distinct, key, list, transaction, commit, \"select\" FROM t WHERE type = 1",
        "SELECT json FROM t WHERE p = 1",
        "UPDATE t SET exists = 1, end = 2, then = 3, let = 4 WHERE user = 1 IF exists = 3",
        "SELECT * FROM t WHERE p = 1 -- done",
        "/* a */ begin transaction select * from t where p = $$x$$ ; apply transaction ; ; // b",
    ] {
        parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
    }
}

#[test]
fn depth_and_length_cost_no_stack() {
    let deep = "(".repeat(10_000);
    for text in [
        format!("SELECT * FROM t WHERE {deep}"),
        format!("INSERT INTO t (p) VALUES ({deep}"),
        format!("BEGIN TRANSACTION {LET} IF {deep}a.w = 1 THEN {UPDATE} END IF COMMIT TRANSACTION"),
        format!("INSERT INTO t (p) VALUES ({}", "[{".repeat(10_000)),
        "frozen<".repeat(100_000),
        format!("SELECT * FROM t WHERE p = '{}'", "x".repeat(17 << 20)),
        format!("SELECT {}a FROM t", "a, ".repeat(10_000)),
        format!("INSERT INTO t (p) VALUES ({}1)", "?, ".repeat(10_000)),
    ] {
        let error = parse(&text).expect_err("too deep or too long");
        assert!(error.line() == 1 && error.message.len() < 250);
    }
    let long = "x".repeat(5 << 20);
    parse(&format!("SELECT * FROM t WHERE p = '{long}'")).expect("a long constant is one token");
    assert!(parse(&long).unwrap_err().message.len() < 400);
}

#[test]
fn every_truncation_of_a_transaction_is_a_syntax_error() {
    let text = format!(
        "BEGIN TRANSACTION {LET} SELECT a.w; IF a.w != 1 AND 2 > a.w THEN UPDATE t SET w += ? WHERE p = :x; \
         INSERT INTO t (p, w) VALUES (1, a.w); DELETE w FROM t WHERE p = 1; END IF COMMIT TRANSACTION"
    );
    parse(&text).unwrap();
    for end in 0..text.len() {
        let error = parse(&text[..end]).expect_err(&text[..end]);
        assert_eq!(error.class, Class::Syntax, "{}", &text[..end]);
    }
}

fn a_piece() -> impl Strategy<Value = String> {
    let words = "begin transaction let a = ( ) select balance , from accounts where id = 1 and kind = 'a' ; balance if then end commit update set += -= + - insert \
                 into values ? :x . is not null delete 1 -2 'x' \"Y\" create table keyspace with replication { } : primary key \
                 int text true in limit drop use exists desc clustering order by using timestamp 0x12 1.5 $$ /* -- < >= !=";
    let words: Vec<String> = words.split_whitespace().map(str::to_owned).collect();
    prop_oneof![8 => prop::sample::select(words), 1 => any::<String>()]
}

proptest! {
    #[test]
    fn law_token_soup_never_panics(pieces in prop::collection::vec(a_piece(), 0..40), in_txn: bool) {
        let start = if in_txn { "begin transaction " } else { "" };
        let text = format!("{start}{}", pieces.join(" "));
        if let Ok(statement) = parse(&text) {
            let _ = cql_txn::prepare(&statement, &world::World::new().schema(), Some("bank"));
        }
    }

    #[test]
    fn law_foreign_bytes_never_panic(kind in 0u8..5, body: Vec<u8>, data: Vec<u8>, rows: Vec<u8>, table in 0u32..2) {
        let at = Timestamp::new(Epoch(1), Hlc(1), 0, NodeId(1));
        let blob = Blob { kind, version: 1, bytes: body.clone().into() };
        let key = Key::new(3, TableId(table), b"k");
        let _ = CqlSemantics.read(&blob, &key, Some(&rows), at);
        let _ = CqlSemantics.execute(&blob, TxnId::NONE, at, &[(key.clone(), Bytes::copy_of(&data))]);
        let _ = CqlSemantics.apply(&key, at, &data, Some(&rows));
        let _ = CqlSemantics.apply(&key, at, &data, None);
    }

    #[test]
    fn law_a_damaged_body_or_damaged_data_never_panics(which in 0usize..3, place: prop::sample::Index, byte: u8, of_data: bool) {
        let mut world = world::World::new();
        world.ok("INSERT INTO accounts (id, kind, balance) VALUES (1, 'a', 5)");
        let text = [
            "BEGIN TRANSACTION LET r = (SELECT * FROM accounts WHERE id = 1 AND kind = 'a'); SELECT r.balance, r.kind; \
             IF r.balance > 3 THEN UPDATE accounts SET balance += r.id WHERE id = 1 AND kind = 'a'; END IF COMMIT TRANSACTION",
            "SELECT * FROM accounts WHERE id = 1",
            "DELETE FROM accounts WHERE id = 1",
        ][which];
        let bound = world.prepare(text).unwrap().bind(&[], &world.schema()).unwrap();
        let at = Timestamp::new(Epoch(1), Hlc(99), 0, NodeId(1));
        let key = &bound.keys[0];
        let rows = world.rows.get(key).unwrap();
        let mut data = CqlSemantics.read(&bound.body, key, Some(rows), at);
        let mut body = bound.body.bytes.to_vec();
        let damaged = if of_data { &mut data } else { &mut body };
        if !damaged.is_empty() {
            let place = place.index(damaged.len());
            damaged[place] = byte;
        }
        let blob = Blob { bytes: body.into(), ..bound.body };
        let _ = CqlSemantics.read(&blob, key, Some(rows), at);
        let execution = CqlSemantics.execute(&blob, TxnId::NONE, at, &[(key.clone(), data.into())]);
        prop_assert!(cql_txn::decode_result(&execution.result).is_ok());
    }
}
