//! Formats that must open for ever, as bytes in a file. `UPDATE=1` writes the file anew; a person looks at the difference.

mod world;

use cql_txn::{Action, CqlSemantics, Schema, decode_result};
use protocol::{Blob, Bytes, Epoch, Hlc, Key, NodeId, Semantics, Timestamp, TxnId};
use std::collections::BTreeMap;
use std::path::PathBuf;

const STATEMENTS: [(&str, &str); 6] = [
    ("insert", "INSERT INTO accounts (id, kind, balance) VALUES (1, 'CHECKING', 100)"),
    ("update", "UPDATE accounts SET balance = null WHERE id = 2 AND kind = 'b'"),
    ("delete_row", "DELETE FROM accounts WHERE id = 1 AND kind = 'SAVINGS'"),
    ("delete_partition", "DELETE FROM accounts WHERE id = 3"),
    ("select", "SELECT * FROM accounts WHERE id = 1 LIMIT 5"),
    (
        "transaction",
        "BEGIN TRANSACTION LET a = (SELECT * FROM accounts WHERE id = 1 AND kind = 'CHECKING'); SELECT a.kind, a.balance; \
         IF a IS NOT NULL AND a.balance >= 5 THEN UPDATE accounts SET balance -= 3 WHERE id = 1 AND kind = 'CHECKING'; \
         UPDATE accounts SET balance += a.balance WHERE id = 9 AND kind = 'SAVINGS'; END IF COMMIT TRANSACTION",
    ),
];

fn at(clock: u64) -> Timestamp {
    Timestamp::new(Epoch(1), Hlc(clock), 0, NodeId(1))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Every format by a name: bodies, data, writes, results, rows, schema.
fn now() -> Vec<(String, Vec<u8>)> {
    let world = world::World::new();
    let schema = world.schema();
    let mut out = vec![("schema".to_owned(), schema.encode())];
    let create = world.prepare("CREATE TABLE t (a int PRIMARY KEY, b boolean) WITH comment = 'c'").expect("statement");
    assert!(matches!(create.action(), Action::Ddl(_)));
    let bound = create.bind(&[], &schema).expect("binds");
    out.push(("ddl_body".to_owned(), bound.body.bytes.to_vec()));
    let data = [(bound.keys[0].clone(), schema.encode().into())];
    let result = CqlSemantics.execute(&bound.body, TxnId::NONE, at(1), &data).result;
    out.push(("ddl_result".to_owned(), result.bytes.to_vec()));
    let mut rows: BTreeMap<Key, Vec<u8>> = BTreeMap::new();
    for (clock, (name, text)) in STATEMENTS.into_iter().enumerate() {
        let bound = world.prepare(text).expect(text).bind(&[], &schema).expect(text);
        let at = at(clock as u64 + 1_000);
        out.push((format!("{name}_body"), bound.body.bytes.to_vec()));
        let read = |key: &Key| CqlSemantics.read(&bound.body, key, rows.get(key).map(Vec::as_slice), at);
        let data: Vec<(Key, Bytes)> = bound.keys.iter().map(|key| (key.clone(), read(key).into())).collect();
        out.extend(data.iter().enumerate().map(|(place, (_, bytes))| (format!("{name}_data_{place}"), bytes.to_vec())));
        let execution = CqlSemantics.execute(&bound.body, TxnId::NONE, at, &data);
        out.push((format!("{name}_result"), execution.result.bytes.to_vec()));
        for (place, (key, write)) in execution.writes.iter().enumerate() {
            out.push((format!("{name}_write_{place}"), write.to_vec()));
            let applied =
                CqlSemantics.apply(key, at, write, rows.get(key).map(Vec::as_slice)).expect("something is kept");
            out.push((format!("{name}_rows_{place}"), applied.clone()));
            rows.insert(key.clone(), applied);
        }
    }
    out
}

#[test]
fn formats_are_those_of_the_file() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden/formats.txt");
    let text: String = now().iter().map(|(name, bytes)| format!("{name} {}\n", hex(bytes))).collect();
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, &text).expect("the golden file can be written");
    }
    let golden = std::fs::read_to_string(&path).expect("the golden file");
    for (line, known) in text.lines().zip(golden.lines()) {
        assert_eq!(line, known, "a stored format has changed");
    }
    assert_eq!(text.lines().count(), golden.lines().count());
}

#[test]
fn stored_schemas_and_results_open() {
    for (name, bytes) in now() {
        if name == "schema" {
            assert_eq!(Schema::decode(&bytes).expect("schema").version, 2);
        } else if name.ends_with("_result") {
            decode_result(&Blob { kind: cql_txn::BLOB_RESULT, version: 1, bytes: bytes.into() }).expect(&name);
        }
    }
}
