//! The five transactions of SimpleBank from text to rows, with literals and with markers.

mod world;

use cql_txn::{Outcome, Value};
use protocol::TxnKind;
use world::World;

const UPDATE: &str = "UPDATE accounts SET balance";

fn bank() -> World {
    let mut world = World::new();
    for id in 1..=4 {
        world.ok(&format!("INSERT INTO accounts (id, kind, balance) VALUES ({id}, 'CHECKING', 100)"));
        world.ok(&format!("INSERT INTO accounts (id, kind, balance) VALUES ({id}, 'SAVINGS', 1000)"));
    }
    world
}

fn in_transaction(body: &str) -> String {
    format!("BEGIN TRANSACTION\n{body}\nCOMMIT TRANSACTION;")
}

fn balance_text(id: &str) -> String {
    in_transaction(&format!(
        "LET chk = (SELECT balance FROM accounts WHERE id={id} AND kind='CHECKING');
         LET sav = (SELECT balance FROM accounts WHERE id={id} AND kind='SAVINGS');
         SELECT chk.balance, sav.balance;"
    ))
}

fn audit_text(ids: [&str; 2]) -> String {
    let [a1, a2] = ids;
    in_transaction(&format!(
        "LET a1 = (SELECT balance FROM accounts WHERE id={a1} AND kind='CHECKING');
         LET a2 = (SELECT balance FROM accounts WHERE id={a2} AND kind='CHECKING');
         SELECT a1.balance, a2.balance;"
    ))
}

fn transfer_text(id: &str) -> String {
    in_transaction(&format!(
        "{UPDATE} -= 1 WHERE id={id} AND kind='CHECKING'; {UPDATE} += 1 WHERE id={id} AND kind='SAVINGS';"
    ))
}

fn payroll_text(ids: [&str; 4]) -> String {
    let update = |(position, id)| {
        let op = if position == 0 { "-= 3" } else { "+= 1" };
        format!("{UPDATE} {op} WHERE id={id} AND kind='CHECKING';")
    };
    in_transaction(&ids.into_iter().enumerate().map(update).collect::<String>())
}

fn payment_text(ids: [&str; 2]) -> String {
    let [a1, a2] = ids;
    in_transaction(&format!(
        "{UPDATE} -= 1 WHERE id={a1} AND kind='CHECKING'; {UPDATE} += 1 WHERE id={a2} AND kind='CHECKING';"
    ))
}

fn all(world: &mut World) -> Vec<(String, String)> {
    (1..=4)
        .map(|id| {
            let row = world.rows_of(&balance_text(&id.to_string())).remove(0);
            (row[0].clone(), row[1].clone())
        })
        .collect()
}

fn expected(rows: [(i64, i64); 4]) -> Vec<(String, String)> {
    rows.iter().map(|(checking, savings)| (checking.to_string(), savings.to_string())).collect()
}

#[test]
fn literals_move_the_money_they_name() {
    let mut world = bank();
    world.ok(&transfer_text("1"));
    assert_eq!(all(&mut world), expected([(99, 1001), (100, 1000), (100, 1000), (100, 1000)]));
    world.ok(&payment_text(["1", "2"]));
    assert_eq!(all(&mut world), expected([(98, 1001), (101, 1000), (100, 1000), (100, 1000)]));
    world.ok(&payroll_text(["4", "1", "3", "2"]));
    assert_eq!(all(&mut world), expected([(99, 1001), (102, 1000), (101, 1000), (97, 1000)]));
    assert_eq!(world.rows_of(&audit_text(["2", "4"])), [["102", "97"]]);
}

#[test]
fn markers_do_the_same_as_literals() {
    let (mut literal, mut marked) = (bank(), bank());
    let ids: Vec<[u8; 8]> = (1..=4i64).map(i64::to_be_bytes).collect();
    let bound: Vec<Value<'_>> = ids.iter().map(|id| Value::Bytes(id)).collect();
    for (text, marked_text, values) in [
        (transfer_text("1"), transfer_text(":a"), vec![bound[0], bound[0]]),
        (payment_text(["1", "2"]), payment_text(["?", "?"]), vec![bound[0], bound[1]]),
        (payroll_text(["1", "2", "3", "4"]), payroll_text(["?"; 4]), bound.clone()),
        (audit_text(["1", "2"]), audit_text(["?", "?"]), vec![bound[0], bound[1]]),
        (balance_text("1"), balance_text("?"), vec![bound[0], bound[0]]),
    ] {
        let expected = literal.ok(&text);
        let prepared = marked.prepare(&marked_text).unwrap();
        assert!(prepared.variables().iter().all(|variable| variable.ty.cql_name() == "bigint"));
        assert_eq!(prepared.partition_key_markers(), [0]);
        assert_eq!(marked.execute(&prepared, &values).unwrap(), expected, "{text}");
        assert_eq!(marked.rows, literal.rows, "{text}");
    }
}

#[test]
fn kinds_and_keys_are_those_of_the_table_of_transactions() {
    let world = bank();
    for (text, keys, kind, ephemeral) in [
        (balance_text("1"), 1, TxnKind::Read, true),
        (transfer_text("1"), 1, TxnKind::Write, false),
        (audit_text(["1", "2"]), 2, TxnKind::Read, false),
        (payment_text(["1", "2"]), 2, TxnKind::Write, false),
        (payroll_text(["1", "2", "3", "4"]), 4, TxnKind::Write, false),
    ] {
        let bound = world.prepare(&text).unwrap().bind(&[], &world.schema()).unwrap();
        assert_eq!((bound.keys.len(), bound.kind, bound.ephemeral_candidate), (keys, kind, ephemeral), "{text}");
        assert!(bound.keys.iter().all(|key| key.routing.group == 3));
    }
}

#[test]
fn a_named_marker_gives_its_name_to_the_variable() {
    let prepared = bank().prepare(&payment_text([":payer", ":payee"])).unwrap();
    let names: Vec<_> = prepared.variables().iter().map(|variable| &*variable.name).collect();
    assert_eq!(names, ["payer", "payee"]);
}

/// C03: an increment of what does not exist writes nothing, says so, and leaves the rest of the transaction alone.
#[test]
fn arithmetic_on_a_missing_row_or_null_writes_nothing_and_warns() {
    let mut world = bank();
    let result = world.ok(&in_transaction("UPDATE accounts SET balance += 5 WHERE id=9 AND kind='CHECKING';"));
    assert_eq!(result.outcome, Outcome::Void);
    assert!(matches!(&result.warnings[..], [warning] if warning.contains("bank.accounts.balance")));
    let result = world.ok(&payment_text(["1", "9"]));
    assert_eq!(result.warnings.len(), 1);
    assert_eq!(world.rows_of("SELECT balance FROM accounts WHERE id = 1 AND kind = 'CHECKING'"), [["99"]]);
    assert!(world.rows_of("SELECT * FROM accounts WHERE id = 9").is_empty());
    world.ok("INSERT INTO accounts (id, kind) VALUES (9, 'CHECKING')");
    assert_eq!(world.ok(&payment_text(["1", "9"])).warnings.len(), 1);
    assert_eq!(world.rows_of("SELECT * FROM accounts WHERE id = 9"), [["9", "CHECKING", "null"]]);
}

#[test]
fn a_guard_keeps_the_debit_when_there_is_no_one_to_credit() {
    let mut world = bank();
    let text = in_transaction(
        "LET to = (SELECT balance FROM accounts WHERE id=9 AND kind='CHECKING');
         IF to.balance IS NOT NULL THEN
           UPDATE accounts SET balance -= 1 WHERE id=1 AND kind='CHECKING';
           UPDATE accounts SET balance += 1 WHERE id=9 AND kind='CHECKING';
         END IF",
    );
    // TO is reserved, as in "GRANT r1 TO r2".
    assert_eq!(world.error(&text).line(), 2);
    assert_eq!(world.ok(&text.replace("to ", "dst ").replace("to.", "dst.")).warnings.len(), 0);
    assert_eq!(world.rows_of("SELECT balance FROM accounts WHERE id = 1 AND kind = 'CHECKING'"), [["100"]]);
}

/// C05: names and number of columns are fixed by the text, whatever there is.
#[test]
fn a_missing_account_is_a_null_in_a_row_of_fixed_shape() {
    let mut world = bank();
    let prepared = world.prepare(&audit_text(["1", "99"])).unwrap();
    let names: Vec<_> = prepared.result_columns().unwrap().iter().map(|column| column.name.clone()).collect();
    assert_eq!(names, ["a1.balance", "a2.balance"]);
    assert_eq!(world.rows_of(&audit_text(["1", "99"])), [["100", "null"]]);
    assert_eq!(world.rows_of(&balance_text("99")), [["null", "null"]]);
    world.ok("INSERT INTO accounts (id, kind, balance) VALUES (99, 'CHECKING', 7)");
    let Outcome::Rows(rows) = world.execute(&prepared, &[]).unwrap().outcome else { panic!("rows") };
    assert_eq!(rows, [[Some(100i64.to_be_bytes().to_vec()), Some(7i64.to_be_bytes().to_vec())]]);
}
