//! Rules of the language beyond the bank: conditions, assignments, rows, DDL, refusals.

mod world;

use cql_txn::{Class, Outcome, Value};
use world::World;

fn grid() -> World {
    let mut world = World::new();
    world.ok("CREATE TABLE grid (p int, q int, w int, z int, PRIMARY KEY (p, q)) WITH transactional_mode = 'full'");
    world.ok("CREATE TABLE notes (id int PRIMARY KEY, body text, n int, ok boolean) WITH transactional_mode = 'full'");
    world.ok("CREATE TABLE pairs (a int, b text, c int, d int, v int, PRIMARY KEY ((a, b), c, d)) \
         WITH CLUSTERING ORDER BY (c DESC, d ASC) AND transactional_mode = 'Full' AND comment = 'two'");
    world.ok("CREATE TABLE flat (id int PRIMARY KEY, n int)");
    world
}

fn txn(body: &str) -> String {
    format!("BEGIN TRANSACTION {body} COMMIT TRANSACTION")
}

/// C01: comparing with null is an error that names the way out, with a literal and with a bound value.
#[test]
fn nothing_compares_with_null() {
    let mut world = grid();
    for op in ["=", "!=", "<", "<=", ">", ">="] {
        let text = |value: &str| {
            txn(&format!(
                "LET r = (SELECT * FROM grid WHERE p = 5 AND q = 5); \
                 IF r.w {op} {value} THEN UPDATE grid SET w = 2 WHERE p = 5 AND q = 5; END IF"
            ))
        };
        let error = world.error(&text("null"));
        assert!(error.class == Class::Invalid && error.message.contains("IS NOT NULL") && error.line() == 1, "{error}");
        let prepared = world.prepare(&text("?")).unwrap();
        for value in [Value::Null, Value::NotSet] {
            assert_eq!(world.execute(&prepared, &[value]).unwrap_err().class, Class::Invalid);
        }
    }
    assert!(world.rows_of("SELECT * FROM grid WHERE p = 5").is_empty());
}

#[test]
fn a_null_column_satisfies_only_not_equal_and_is_null() {
    let mut world = grid();
    world.ok("INSERT INTO grid (p, q, z) VALUES (1, 1, 0)");
    for (condition, holds) in [
        ("r.w = 1", false),
        ("r.w != 1", true),
        ("r.w < 1", false),
        ("r.w >= 1", false),
        ("r.w IS NULL", true),
        ("r.w IS NOT NULL", false),
        ("r IS NOT NULL", true),
        ("none IS NULL", true),
        ("none.p IS NULL AND none.q IS NULL", true),
        ("r.p = 1 AND 1 = r.q", true),
        ("0 < r.z", false),
        ("0 >= r.z AND r.z > -1", true),
    ] {
        world.ok("UPDATE grid SET z = 0 WHERE p = 1 AND q = 1");
        world.ok(&txn(&format!(
            "LET r = (SELECT * FROM grid WHERE p = 1 AND q = 1); LET none = (SELECT * FROM grid WHERE p = 9 AND q = 1); \
             IF {condition} THEN UPDATE grid SET z = 7 WHERE p = 1 AND q = 1; END IF"
        )));
        let rows = world.rows_of("SELECT z FROM grid WHERE p = 1 AND q = 1");
        assert_eq!(rows, [[if holds { "7" } else { "0" }]], "{condition}");
    }
}

/// C04: two statements that assign one cell have no order, so they are refused; a deletion beside an insert is not one.
#[test]
fn one_cell_is_assigned_by_one_statement() {
    let mut world = grid();
    world.ok("INSERT INTO grid (p, q, w, z) VALUES (1, 1, 100, 5)");
    let update = |set: &str| format!("UPDATE grid SET {set} WHERE p = 1 AND q = 1;");
    for (first, second) in [("w -= 1", "w -= 2"), ("w = 7", "w += 1"), ("w = 1, z = 1", "z = 2")] {
        let error = world.error(&txn(&format!("{}\n{}", update(first), update(second))));
        assert_eq!((error.class, error.at.line), (Class::Invalid, 2));
    }
    assert_eq!(
        world.error(&txn(&format!("DELETE w FROM grid WHERE p=1 AND q=1; {}", update("w=1")))).class,
        Class::Invalid
    );
    assert_eq!(world.rows_of("SELECT w, z FROM grid WHERE p = 1 AND q = 1"), [["100", "5"]]);
    world.ok(&txn(&format!("{} {}", update("w -= 1"), update("z += 1"))));
    assert_eq!(world.rows_of("SELECT w, z FROM grid WHERE p = 1 AND q = 1"), [["99", "6"]]);
    world.ok(&txn("DELETE FROM grid WHERE p = 1 AND q = 1; INSERT INTO grid (p, q, w) VALUES (1, 1, 3);"));
    assert_eq!(world.rows_of("SELECT * FROM grid WHERE p = 1"), [["1", "1", "3", "null"]]);
    let payment = "UPDATE grid SET w -= 1 WHERE p = ? AND q = 1; UPDATE grid SET w += 1 WHERE p = ? AND q = 1;";
    let (prepared, one) = (world.prepare(&txn(payment)).unwrap(), 1i32.to_be_bytes());
    assert_eq!(world.execute(&prepared, &[Value::Bytes(&one); 2]).unwrap_err().class, Class::Invalid);
}

#[test]
fn reads_see_the_state_before_so_values_swap() {
    let mut world = grid();
    world.ok("INSERT INTO grid (p, q, w) VALUES (1, 1, 10)");
    world.ok("INSERT INTO grid (p, q, w) VALUES (2, 2, 20)");
    let swap =
        txn("LET a = (SELECT w FROM grid WHERE p = 1 AND q = 1); LET b = (SELECT w FROM grid WHERE p = 2 AND q = 2); \
         SELECT a.w, b.w; \
         UPDATE grid SET w = b.w, z = a.w WHERE p = 1 AND q = 1; UPDATE grid SET w = a.w WHERE p = 2 AND q = 2;");
    assert_eq!(world.rows_of(&swap), [["10", "20"]]);
    assert_eq!(world.rows_of("SELECT w, z FROM grid WHERE p = 1"), [["20", "10"]]);
    assert_eq!(world.rows_of("SELECT w FROM grid WHERE p = 2"), [["10"]]);
}

#[test]
fn every_form_of_arithmetic_counts_and_wraps() {
    let mut world = grid();
    world.ok("INSERT INTO grid (p, q, w, z) VALUES (1, 1, 10, 2147483647)");
    world.ok("INSERT INTO notes (id, body, n) VALUES (1, 'ab', 1)");
    for (set, expected) in
        [("w = w + 5", "15"), ("w = w - 1", "14"), ("w = w -4", "10"), ("w += 3", "13"), ("w -= r.q", "12")]
    {
        world.ok(&txn(&format!(
            "LET r = (SELECT q FROM grid WHERE p = 1 AND q = 1); UPDATE grid SET {set} WHERE p = 1 AND q = 1;"
        )));
        assert_eq!(world.rows_of("SELECT w FROM grid WHERE p = 1"), [[expected]], "{set}");
    }
    world.ok(&txn("UPDATE grid SET z += 1 WHERE p = 1 AND q = 1; UPDATE notes SET body += 'c' WHERE id = 1;"));
    assert_eq!(world.rows_of("SELECT z FROM grid WHERE p = 1"), [["-2147483648"]]);
    assert_eq!(world.rows_of("SELECT body FROM notes WHERE id = 1"), [["abc"]]);
    let null = "LET r = (SELECT w FROM grid WHERE p = 9 AND q = 9); UPDATE grid SET w += r.w WHERE p = 1 AND q = 1;";
    assert_eq!(world.error(&txn(null)).class, Class::Invalid);
    let clear = "LET r = (SELECT w FROM grid WHERE p = 9 AND q = 9); UPDATE grid SET w = r.w WHERE p = 1 AND q = 1;";
    world.ok(&txn(clear));
    assert_eq!(world.rows_of("SELECT w FROM grid WHERE p = 1"), [["null"]]);
}

#[test]
fn rows_come_in_clustering_order_and_a_prefix_selects() {
    let mut world = grid();
    for (c, d) in [(1, 2), (2, 1), (2, -5), (-3, 0), (1, 1)] {
        world.ok(&format!("INSERT INTO pairs (a, b, c, d, v) VALUES (1, 'x', {c}, {d}, 0)"));
    }
    let rows = world.rows_of("SELECT c, d FROM pairs WHERE b = 'x' AND a = 1");
    assert_eq!(rows, [["2", "-5"], ["2", "1"], ["1", "1"], ["1", "2"], ["-3", "0"]]);
    assert_eq!(world.rows_of("SELECT d FROM pairs WHERE a = 1 AND b = 'x' AND c = 1 LIMIT 1"), [["1"]]);
    let first = txn("LET f = (SELECT * FROM pairs WHERE a = 1 AND b = 'x' LIMIT 1); SELECT f.a, f.b, f.c, f.d, f.v;");
    assert_eq!(world.rows_of(&first), [["1", "x", "2", "-5", "0"]]);
    world.ok("DELETE FROM pairs WHERE a = 1 AND b = 'x'");
    assert!(world.rows_of("SELECT * FROM pairs WHERE a = 1 AND b = 'x'").is_empty());
    assert_eq!(world.error("SELECT * FROM pairs WHERE a = 1 AND b = 'x' AND d = 1").class, Class::Invalid);
    assert_eq!(world.error("SELECT * FROM pairs WHERE a = 1").class, Class::Invalid);
}

#[test]
fn an_update_makes_no_row_that_outlives_its_values() {
    let mut world = grid();
    world.ok("UPDATE notes SET n = 1, ok = true WHERE id = 1");
    assert_eq!(world.rows_of("SELECT * FROM notes WHERE id = 1"), [["1", "null", "1", "true"]]);
    world.ok("DELETE n, ok FROM notes WHERE id = 1");
    assert!(world.rows_of("SELECT * FROM notes WHERE id = 1").is_empty());
    world.ok("INSERT INTO notes (id, n) VALUES (1, null)");
    assert_eq!(world.rows_of("SELECT id, n FROM notes WHERE id = 1"), [["1", "null"]]);
    world.ok("DELETE FROM notes WHERE id = 1");
    assert!(world.rows_of("SELECT * FROM notes WHERE id = 1").is_empty());
}

#[test]
fn unset_values_leave_their_column_alone() {
    let mut world = grid();
    world.ok("INSERT INTO grid (p, q, w, z) VALUES (1, 1, 10, 20)");
    let prepared = world.prepare("INSERT INTO grid (p, q, w, z) VALUES (?, ?, ?, ?)").unwrap();
    assert_eq!(prepared.partition_key_markers(), [0]);
    let (one, five) = (1i32.to_be_bytes(), 5i32.to_be_bytes());
    let key = [Value::Bytes(&one); 2];
    world.execute(&prepared, &[key[0], key[1], Value::NotSet, Value::Bytes(&five)]).unwrap();
    assert_eq!(world.rows_of("SELECT w, z FROM grid WHERE p = 1"), [["10", "5"]]);
    for bad in [Value::NotSet, Value::Null, Value::Bytes(b"abc")] {
        assert_eq!(world.execute(&prepared, &[bad, key[1], key[0], key[0]]).unwrap_err().class, Class::Invalid);
    }
    assert_eq!(world.execute(&prepared, &key).unwrap_err().class, Class::Invalid);
}

#[test]
fn ddl_answers_with_its_change_and_the_new_version() {
    let mut world = grid();
    let before = world.schema().version;
    let Outcome::Schema(change, version) = world.ok("DROP TABLE grid").outcome else { panic!("a change") };
    assert_eq!((change.keyspace.as_str(), change.table.as_str(), version), ("bank", "grid", before + 1));
    assert_eq!(world.ok("DROP TABLE IF EXISTS grid").outcome, Outcome::Void);
    assert_eq!((world.error("DROP TABLE grid").class, world.schema().version), (Class::Invalid, before + 1));
    let exists = Class::AlreadyExists { keyspace: "bank".into(), table: "notes".into() };
    assert_eq!(world.error("CREATE TABLE notes (id int PRIMARY KEY)").class, exists);
}

/// C06: a statement prepared before a DROP does not reach the table of the same name made afterwards.
#[test]
fn a_dropped_table_takes_its_prepared_statements_along() {
    let mut world = grid();
    let prepared = world.prepare("SELECT * FROM notes WHERE id = 1").unwrap();
    world.ok("DROP TABLE flat");
    world.execute(&prepared, &[]).expect("the table is still the same");
    world.ok("DROP TABLE notes");
    world.ok("CREATE TABLE notes (id int PRIMARY KEY, n int) WITH transactional_mode = 'full'");
    assert_eq!(world.execute(&prepared, &[]).unwrap_err().class, Class::Invalid);
}

#[test]
fn select_star_lists_key_clustering_and_the_rest_by_name() {
    let world = grid();
    let names = |text: &str| -> Vec<String> {
        world.prepare(text).unwrap().result_columns().unwrap().iter().map(|column| column.name.clone()).collect()
    };
    assert_eq!(names("SELECT * FROM pairs WHERE a = 1 AND b = ''"), ["a", "b", "c", "d", "v"]);
    assert_eq!(names("SELECT * FROM notes WHERE id = 1"), ["id", "body", "n", "ok"]);
    assert_eq!(names("SELECT n AS count FROM notes WHERE id = 1"), ["count"]);
}

#[test]
fn refusals_of_the_binder_have_their_class_and_place() {
    let mut world = grid();
    let write = "UPDATE grid SET w = 1 WHERE p = 1 AND q = 1;";
    for text in [
        txn("LET a = (SELECT w FROM grid WHERE p = 1 AND q = 1);"),
        txn(""),
        txn("LET a = (SELECT w FROM grid WHERE p = 1 AND q = 1); SELECT a.w; IF a.w = 1 THEN END IF"),
        txn(&format!(
            "LET a = (SELECT w FROM grid WHERE p=1 AND q=1); LET a = (SELECT w FROM grid WHERE p=1 AND q=1); {write}"
        )),
        txn("LET a = (SELECT w FROM grid WHERE p = 1); SELECT a.w;"),
        txn("LET a = (SELECT w FROM grid WHERE p = 1 LIMIT 2); SELECT a.w;"),
        txn("LET a = (SELECT w FROM grid WHERE p = 1 AND q = 1); SELECT a.z;"),
        txn("LET a = (SELECT w FROM grid WHERE p = 1 AND q = 1); SELECT a;"),
        txn("LET a = (SELECT w FROM grid WHERE p = 1 AND q = 1); SELECT b.w;"),
        txn("SELECT a.nope;"),
        txn("SELECT * FROM grid;"),
        txn("UPDATE grid SET w = 1 WHERE p = 1 AND q = 1 IF EXISTS;"),
        txn("UPDATE grid USING TIMESTAMP 5 SET w = 1 WHERE p = 1 AND q = 1;"),
        txn("UPDATE grid SET p = 2 WHERE p = 1 AND q = 1;"),
        txn("INSERT INTO flat (id, n) VALUES (1, 1);"),
        txn(&format!("LET a = (SELECT w FROM grid WHERE p = 1 AND q = 1); IF a = 1 THEN {write} END IF")),
        txn("LET a = (SELECT id, body FROM notes WHERE id = 1); UPDATE grid SET w = a.body WHERE p = 1 AND q = 1;"),
        txn("LET a = (SELECT id FROM notes WHERE id = 1); INSERT INTO grid (p, q) VALUES (a.id, 1);"),
        txn("UPDATE notes SET ok += true WHERE id = 1;"),
        txn("UPDATE notes SET body -= 'x' WHERE id = 1;"),
        "UPDATE grid SET w += 1 WHERE p = 1 AND q = 1".into(),
        "UPDATE grid SET w = 1 WHERE p = 1 AND q IN (1, 2) IF w = 2".into(),
        "UPDATE grid SET w = 1 WHERE p = 1 AND q = 1 IF w > null".into(),
        "INSERT INTO grid (p, q, w) VALUES (1, 1, 2147483648)".into(),
        "INSERT INTO grid (p, q, w) VALUES (1, 1, 99999999999999999999999999)".into(),
        "INSERT INTO grid (p, w) VALUES (1, 1)".into(),
        "INSERT INTO grid (p, q, w) VALUES (1, 1)".into(),
        "INSERT INTO grid (p, q, w) VALUES (null, 1, 1)".into(),
        "INSERT INTO notes (id, body) VALUES (1, 5)".into(),
        "SELECT nope FROM grid WHERE p = 1".into(),
        "SELECT * FROM grid WHERE w = 1".into(),
        "SELECT * FROM grid WHERE p IN ()".into(),
        "SELECT * FROM grid WHERE p > 1".into(),
        "SELECT * FROM grid WHERE p IN (1, 2) ORDER BY q".into(),
        "SELECT sum(body) FROM notes WHERE id = 1".into(),
        "SELECT writetime(p) FROM grid WHERE p = 1".into(),
        "SELECT * FROM nowhere.grid WHERE p = 1".into(),
        "SELECT * FROM flat WHERE id = 1".into(),
        "USE nowhere".into(),
        "CREATE TABLE t (a int)".into(),
        "CREATE TABLE t (a int PRIMARY KEY, b nosuchtype)".into(),
        "CREATE TABLE t (a int PRIMARY KEY, b list<set<int>>)".into(),
        "CREATE TABLE t (a list<int> PRIMARY KEY)".into(),
        "CREATE TABLE t (a int PRIMARY KEY, b int STATIC)".into(),
        "CREATE TABLE t (a int PRIMARY KEY, b counter) WITH transactional_mode = 'full'".into(),
        "INSERT INTO notes (id, n) VALUES (1, 1) USING TTL 5".into(),
    ] {
        let error = world.error(&text);
        assert!(error.class == Class::Invalid && error.line() == 1, "{text}: {error:?}");
    }
}

#[test]
fn options_that_cannot_be_are_config_errors() {
    let mut world = grid();
    for text in [
        "CREATE TABLE t (a int PRIMARY KEY) WITH transactional_mode = 'mixed_reads'",
        "CREATE TABLE t (a int PRIMARY KEY) WITH nonsense = 5",
        "CREATE KEYSPACE k",
        "CREATE KEYSPACE k WITH replication = {'class': 'Nope', 'replication_factor': 1}",
        "CREATE KEYSPACE k WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 0}",
        "CREATE KEYSPACE k WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 4}",
    ] {
        assert_eq!(world.error(text).class, Class::Config, "{text}");
    }
    assert_eq!(world.error("CREATE TABLE system.t (a int PRIMARY KEY)").class, Class::Unauthorized);
    world.ok("CREATE KEYSPACE k WITH replication = {'class': 'NetworkTopologyStrategy', 'dc1': 2} AND durable_writes = false");
}

#[test]
fn a_client_timestamp_sets_no_order() {
    let mut world = grid();
    let prepared = world.prepare("UPDATE notes USING TIMESTAMP 9999999999999999 SET n = 1 WHERE id = 1").unwrap();
    assert_eq!(prepared.bind(&[], &world.schema()).unwrap().warnings.len(), 1);
    world.execute(&prepared, &[]).unwrap();
    world.ok(&txn("UPDATE notes SET n = 2 WHERE id = 1;"));
    assert_eq!(world.rows_of("SELECT n FROM notes WHERE id = 1"), [["2"]]);
}
