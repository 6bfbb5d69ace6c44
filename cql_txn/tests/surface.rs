//! Collections, statics, ranges, IF of single statements, batches and ALTER, beyond the conformance cases.

mod world;

use cql_txn::{Class, Outcome, Type, Value};
use world::World;

fn world() -> World {
    let mut world = World::new();
    for table in [
        "CREATE TABLE grid (p int, q int, w int, z int, PRIMARY KEY (p, q))",
        "CREATE TABLE down (p int, q int, w int, PRIMARY KEY (p, q)) WITH CLUSTERING ORDER BY (q DESC)",
        "CREATE TABLE club (org text, member text, rev int static, level int, PRIMARY KEY (org, member))",
        "CREATE TABLE bag (id int PRIMARY KEY, li list<int>, st set<int>, mp map<text, int>, fl frozen<list<int>>, n int)",
    ] {
        let word = if table.contains(" WITH ") { "AND" } else { "WITH" };
        world.ok(&format!("{table} {word} transactional_mode = 'full'"));
    }
    world
}

fn txn(body: &str) -> String {
    format!("BEGIN TRANSACTION {body} COMMIT TRANSACTION")
}

fn ints(items: &[i32]) -> String {
    let each = items.iter().map(|item| format!("00000004{item:08x}")).collect::<String>();
    format!("{:08x}{each}", items.len())
}

#[test]
fn bounds_select_rows_in_either_order() {
    let mut world = world();
    for table in ["grid", "down"] {
        for q in [-1, 0, 1, 2, 3] {
            world.ok(&format!("INSERT INTO {table} (p, q, w) VALUES (1, {q}, {q})"));
        }
        for (bounds, wanted) in [
            ("q > 0", vec!["1", "2", "3"]),
            ("q >= 0 AND q < 2", vec!["0", "1"]),
            ("q <= -1", vec!["-1"]),
            ("q BETWEEN 1 AND 2", vec!["1", "2"]),
            ("q > 3", vec![]),
            ("q > 2 AND q < 1", vec![]),
            ("q IN (3, 1, 1, 9)", vec!["1", "3"]),
        ] {
            let mut rows = world.rows_of(&format!("SELECT q FROM {table} WHERE p = 1 AND {bounds}")).concat();
            if table == "down" {
                rows.reverse();
            }
            assert_eq!(rows, wanted, "{table}: {bounds}");
        }
    }
    assert_eq!(world.rows_of("SELECT q FROM down WHERE p = 1 ORDER BY q ASC LIMIT 2").concat(), ["-1", "0"]);
    assert_eq!(world.rows_of("SELECT q FROM down WHERE p = 1 ORDER BY q DESC LIMIT 2").concat(), ["3", "2"]);
}

#[test]
fn a_range_is_deleted_and_statics_stay() {
    let mut world = world();
    for member in ["a", "b", "c"] {
        world.ok(&format!("INSERT INTO club (org, member, rev, level) VALUES ('x', '{member}', 7, 1)"));
    }
    world.ok("DELETE FROM club WHERE org = 'x' AND member >= 'b'");
    assert_eq!(world.rows_of("SELECT member, rev FROM club WHERE org = 'x'"), [["a", "7"]]);
    world.ok("DELETE FROM club WHERE org = 'x' AND member = 'a'");
    assert_eq!(world.rows_of("SELECT * FROM club WHERE org = 'x'"), [["x", "null", "7", "null"]]);
    world.ok("DELETE rev FROM club WHERE org = 'x'");
    assert!(world.rows_of("SELECT * FROM club WHERE org = 'x'").is_empty());
    world.ok("UPDATE club SET rev = 1 WHERE org = 'x'");
    world.ok("DELETE FROM club WHERE org = 'x'");
    assert!(world.rows_of("SELECT * FROM club WHERE org = 'x'").is_empty());
}

#[test]
fn one_static_cell_is_assigned_by_one_statement() {
    let mut world = world();
    let both = "UPDATE club SET rev = 1 WHERE org = 'x' AND member = 'a'; UPDATE club SET rev = 2 WHERE org = 'x';";
    assert_eq!(world.error(&txn(both)).class, Class::Invalid);
    world.ok(&txn("UPDATE club SET rev = 1, level = 1 WHERE org = 'x' AND member IN ('a', 'b');"));
    world.ok(&txn("UPDATE club SET rev += 1 WHERE org IN ('x', 'y');"));
    assert_eq!(world.rows_of("SELECT member, rev FROM club WHERE org = 'x'"), [["a", "2"], ["b", "2"]]);
}

#[test]
fn a_collection_changed_beside_a_deletion_starts_empty() {
    let mut world = world();
    world.ok("INSERT INTO bag (id, st, n) VALUES (1, {1, 2}, 5)");
    world.ok(&txn("UPDATE bag SET st += {3} WHERE id = 1; DELETE FROM bag WHERE id = 1;"));
    assert_eq!(world.rows_of("SELECT st, n FROM bag WHERE id = 1"), [[ints(&[3]), "null".into()]]);
}

#[test]
fn parts_of_collections_change() {
    let mut world = world();
    world.ok("INSERT INTO bag (id, li, mp, fl) VALUES (1, [1, 2, 1], {'a': 1}, [1])");
    world.ok("UPDATE bag SET li -= [1], mp['b'] = 2, mp['c'] = 3 WHERE id = 1");
    world.ok("DELETE mp['a'] FROM bag WHERE id = 1");
    assert_eq!(
        world.rows_of("SELECT li, mp['b'], mp['a'] FROM bag WHERE id = 1"),
        [[ints(&[2]), "2".into(), "null".into()]]
    );
    world.ok("DELETE li[0] FROM bag WHERE id = 1");
    assert_eq!(world.rows_of("SELECT li FROM bag WHERE id = 1"), [["null"]]);
    for text in [
        "UPDATE bag SET li[0] = 1 WHERE id = 1",
        "UPDATE bag SET fl[0] = 1 WHERE id = 1",
        "UPDATE bag SET fl += [1] WHERE id = 1",
        "UPDATE bag SET st[1] = 1 WHERE id = 1",
        "UPDATE bag SET n = n + 1 WHERE id = 1",
        "INSERT INTO bag (id, st) VALUES (1, {1, null})",
        "INSERT INTO bag (id, mp) VALUES (1, {'a', 'b'})",
        "SELECT n[0] FROM bag WHERE id = 1",
    ] {
        assert_eq!(world.error(text).class, Class::Invalid, "{text}");
    }
}

#[test]
fn markers_stand_inside_collections_and_bound_sets_are_sorted() {
    let mut world = world();
    let insert = world.prepare("INSERT INTO bag (id, li, st) VALUES (1, [?, 2], ?)").unwrap();
    let set: Vec<u8> = [&[0, 0, 0, 2][..], &[0, 0, 0, 4, 0, 0, 0, 9], &[0, 0, 0, 4, 0xff, 0xff, 0xff, 0xff]].concat();
    world.execute(&insert, &[Value::Bytes(&[0, 0, 0, 7]), Value::Bytes(&set)]).unwrap();
    assert_eq!(world.rows_of("SELECT li, st FROM bag WHERE id = 1"), [[ints(&[7, 2]), ints(&[-1, 9])]]);
    for bad in [&set[..7], &[0, 0, 0, 1, 0xff, 0xff, 0xff, 0xff], &[0x7f, 0xff, 0xff, 0xff]] {
        let values = [Value::Bytes(&[0, 0, 0, 7]), Value::Bytes(bad)];
        assert_eq!(world.execute(&insert, &values).unwrap_err().class, Class::Invalid);
    }
    assert_eq!(insert.variables()[1].ty, Type::Set(Box::new(Type::Int)));
}

#[test]
fn a_statement_with_if_tells_whether_it_was_applied_and_what_stood_in_the_way() {
    let mut world = world();
    world.ok("INSERT INTO grid (p, q, w, z) VALUES (1, 1, 10, 5)");
    for (text, wanted) in [
        ("UPDATE grid SET w += 1 WHERE p = 1 AND q = 1 IF z = 5 AND w != 3", vec!["true"]),
        ("UPDATE grid SET w = 1 WHERE p = 1 AND q = 1 IF w > 20 AND z = 5", vec!["false", "11", "5"]),
        ("UPDATE grid SET w = 1 WHERE p = 1 AND q = 2 IF w = 1", vec!["false"]),
        ("UPDATE grid SET w = 1 WHERE p = 1 AND q = 2 IF w = null", vec!["true"]),
        ("INSERT INTO grid (p, q) VALUES (1, 1) IF NOT EXISTS", vec!["false", "1", "1", "11", "5"]),
        ("DELETE z FROM grid WHERE p = 1 AND q = 1 IF EXISTS", vec!["true"]),
        (
            "BEGIN BATCH INSERT INTO grid (p, q) VALUES (1, 8); UPDATE grid SET z = 1 WHERE p = 1 AND q = 1 IF z != null; APPLY BATCH",
            vec!["false"],
        ),
    ] {
        assert_eq!(world.rows_of(text), [wanted], "{text}");
    }
    assert!(world.rows_of("SELECT * FROM grid WHERE p = 1 AND q = 8").is_empty());
    let two =
        "BEGIN BATCH UPDATE grid SET w = 1 WHERE p = 1 AND q = 1 IF EXISTS; DELETE FROM grid WHERE p = 2; APPLY BATCH";
    assert_eq!(world.error(two).class, Class::Invalid);
}

#[test]
fn of_two_statements_of_a_batch_the_later_one_wins() {
    let mut world = world();
    world.ok("BEGIN BATCH UPDATE grid SET w = 1 WHERE p = 1 AND q = 1; UPDATE grid SET w = 2 WHERE p = 1 AND q = 1; \
         UPDATE bag SET li += [1] WHERE id = 1; UPDATE bag SET li += [2] WHERE id = 1; APPLY BATCH");
    assert_eq!(world.rows_of("SELECT w FROM grid WHERE p = 1"), [["2"]]);
    assert_eq!(world.rows_of("SELECT li FROM bag WHERE id = 1"), [[ints(&[1, 2])]]);
}

#[test]
fn aggregates_count_all_rows_whatever_the_limit() {
    let mut world = world();
    for q in 1..=4 {
        world.ok(&format!("INSERT INTO grid (p, q, w) VALUES (1, {q}, {})", q * 10));
    }
    world.ok("INSERT INTO grid (p, q, z) VALUES (1, 9, 1)");
    let text = "SELECT count(*), count(w), min(w), max(w), sum(w) FROM grid WHERE p = 1 LIMIT 1";
    assert_eq!(world.rows_of(text), [["5", "4", "10", "40", "100"]]);
    assert_eq!(world.rows_of("SELECT count(*), max(w) FROM grid WHERE p = 7"), [["0", "null"]]);
}

#[test]
fn a_table_changes_and_is_emptied() {
    let mut world = world();
    world.ok("INSERT INTO grid (p, q, w, z) VALUES (1, 1, 10, 5)");
    world.ok("ALTER TABLE grid DROP z");
    world.ok("ALTER TABLE grid ADD (z text, a list<int>)");
    assert_eq!(world.rows_of("SELECT * FROM grid WHERE p = 1"), [["1", "1", "null", "10", "null"]]);
    world.ok("ALTER TABLE grid RENAME q TO r");
    assert_eq!(world.rows_of("SELECT r FROM grid WHERE p = 1"), [["1"]]);
    let stale = world.prepare("INSERT INTO grid (p, r) VALUES (1, 2)").unwrap();
    world.ok("TRUNCATE grid");
    assert!(world.rows_of("SELECT * FROM grid WHERE p = 1").is_empty());
    assert_eq!(world.execute(&stale, &[]).unwrap_err().class, Class::Invalid);
    for text in [
        "ALTER TABLE grid DROP p",
        "ALTER TABLE grid ADD w int",
        "ALTER TABLE grid RENAME w TO v",
        "ALTER TABLE nope ADD w int",
    ] {
        assert_eq!(world.error(text).class, Class::Invalid, "{text}");
    }
}

#[test]
fn a_type_in_use_stays_and_its_fields_change_alone() {
    let mut world = world();
    world.ok("CREATE TYPE person (height int, age int)");
    world.ok("CREATE TABLE people (id int PRIMARY KEY, who person) WITH transactional_mode = 'full'");
    assert_eq!(world.error("DROP TYPE person").class, Class::Invalid);
    world.ok("UPDATE people SET who.age = 5 WHERE id = 1");
    world.ok("UPDATE people SET who.height = 6 WHERE id = 1");
    assert_eq!(world.rows_of("SELECT who.age, who.height FROM people WHERE id = 1"), [["5", "6"]]);
    world.ok("DELETE who.age FROM people WHERE id = 1");
    assert_eq!(world.rows_of("SELECT who.age, who.height FROM people WHERE id = 1"), [["null", "6"]]);
    assert_eq!(world.error("UPDATE people SET who.nose = 5 WHERE id = 1").class, Class::Invalid);
    world.ok("DROP TABLE people");
    world.ok("DROP TYPE person");
}

#[test]
fn json_gives_columns_and_nulls_the_others() {
    let mut world = world();
    world.ok("INSERT INTO bag (id, n, st) VALUES (1, 4, {1})");
    world.ok("INSERT INTO bag JSON '{\"id\": 1, \"li\": [1, 2]}' DEFAULT UNSET");
    assert_eq!(world.rows_of("SELECT li, n FROM bag WHERE id = 1"), [[ints(&[1, 2]), "4".into()]]);
    world.ok("INSERT INTO bag JSON '{\"id\": 1, \"mp\": {\"a\": 5}}'");
    assert_eq!(world.rows_of("SELECT mp['a'], n, li FROM bag WHERE id = 1"), [["5", "null", "null"]]);
    for text in
        ["INSERT INTO bag JSON '[1]'", "INSERT INTO bag JSON '{\"id\": }'", "INSERT INTO bag JSON '{\"nope\": 1}'"]
    {
        assert_eq!(world.error(text).class, Class::Invalid, "{text}");
    }
}

#[test]
fn a_failed_element_rejects_the_whole_transaction() {
    let mut world = world();
    let text = txn("UPDATE grid SET w = 1 WHERE p = 1 AND q = 1; UPDATE bag SET li[3] = 1 WHERE id = 1;");
    let result = world.run(&text, &[]).unwrap();
    assert!(matches!(result.outcome, Outcome::Rejected(error) if error.class == Class::Invalid));
    assert!(world.rows_of("SELECT * FROM grid WHERE p = 1").is_empty());
}
