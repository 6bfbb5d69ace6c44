//! What a SimpleBank payment and balance cost in this room: `cargo run --release -p cql_txn --example cost`.
#![allow(clippy::disallowed_methods, reason = "a stopwatch reads the clock")]

use cql_txn::{Action, CqlSemantics, Prepared, Schema, Value, apply_ddl, parse, prepare};
use protocol::{Bytes, Epoch, Hlc, Key, NodeId, Semantics, Timestamp, TxnId};
use std::collections::BTreeMap;
use std::error::Error;
use std::hint::black_box;
use std::time::Instant;

const BATCH: u32 = 1_000;

const BATCHES: u32 = 200;

const DDL: [&str; 2] = [
    "CREATE KEYSPACE bank WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 3}",
    "CREATE TABLE accounts (id bigint, kind text, balance bigint, PRIMARY KEY (id, kind)) WITH transactional_mode = 'full'",
];

const PAYMENT: &str = "BEGIN TRANSACTION
  UPDATE accounts SET balance -= 1 WHERE id=? AND kind='CHECKING';
  UPDATE accounts SET balance += 1 WHERE id=? AND kind='CHECKING';
COMMIT TRANSACTION;";

const BALANCE: &str = "BEGIN TRANSACTION
  LET chk = (SELECT balance FROM accounts WHERE id=? AND kind='CHECKING');
  LET sav = (SELECT balance FROM accounts WHERE id=? AND kind='SAVINGS');
  SELECT chk.balance, sav.balance;
COMMIT TRANSACTION;";

/// The best of many batches: what is left when nobody else wants the processor.
fn measure(what: &str, mut work: impl FnMut()) {
    let mut batch = || {
        let start = Instant::now();
        (0..BATCH).for_each(|_| work());
        start.elapsed().as_nanos() as f64 / f64::from(BATCH)
    };
    let best = (0..BATCHES).map(|_| batch()).fold(f64::INFINITY, f64::min);
    println!("{what:<40} {best:>8.0} ns");
}

fn schema() -> Result<Schema, cql_txn::Error> {
    let mut schema = Schema::new(3);
    for text in DDL {
        if let Action::Ddl(ddl) = prepare(&parse(text)?, &schema, Some("bank"))?.action() {
            schema = apply_ddl(&schema, ddl)?.0;
        }
    }
    Ok(schema)
}

/// Runs a bound transaction once; its data.
fn read_all(bound: &cql_txn::Bound, rows: &BTreeMap<Key, Vec<u8>>, at: Timestamp) -> Vec<(Key, Bytes)> {
    let read = |key: &Key| CqlSemantics.read(&bound.body, key, rows.get(key).map(Vec::as_slice), at);
    bound.keys.iter().map(|key| (key.clone(), read(key).into())).collect()
}

fn measure_one(
    name: &str,
    text: &str,
    prepared: &Prepared,
    schema: &Schema,
    rows: &BTreeMap<Key, Vec<u8>>,
) -> Result<(), Box<dyn Error>> {
    let ids = [1i64.to_be_bytes(), if prepared.result_columns().is_some() { 1i64 } else { 2 }.to_be_bytes()];
    let values = [Value::Bytes(&ids[0]), Value::Bytes(&ids[1])];
    measure(&format!("{name}: parse"), || drop(black_box(parse(black_box(text)))));
    let parsed = parse(text)?;
    measure(&format!("{name}: prepare"), || drop(black_box(prepare(black_box(&parsed), schema, Some("bank")))));
    let literal = text.replace('?', "17");
    measure(&format!("{name}: parse, prepare, bind of literals"), || {
        let prepared = parse(&literal).and_then(|parsed| prepare(&parsed, schema, Some("bank")));
        drop(black_box(prepared.and_then(|prepared| prepared.bind(&[], schema))));
    });
    measure(&format!("{name}: bind"), || drop(black_box(prepared.bind(black_box(&values), schema))));
    let bound = prepared.bind(&values, schema)?;
    let at = Timestamp::new(Epoch(1), Hlc(1_000), 0, NodeId(1));
    println!("{name}: body of {} bytes, {} keys", bound.body.bytes.len(), bound.keys.len());
    let key = &bound.keys[0];
    measure(&format!("{name}: read, one key"), || {
        drop(black_box(CqlSemantics.read(&bound.body, key, rows.get(key).map(Vec::as_slice), at)));
    });
    let data = read_all(&bound, rows, at);
    measure(&format!("{name}: execute"), || drop(black_box(CqlSemantics.execute(&bound.body, TxnId::NONE, at, &data))));
    let execution = CqlSemantics.execute(&bound.body, TxnId::NONE, at, &data);
    measure(&format!("{name}: decode_result"), || drop(black_box(cql_txn::decode_result(&execution.result))));
    if let Some((key, write)) = execution.writes.first() {
        let stored = rows.get(key).map(Vec::as_slice);
        println!("{name}: write of {} bytes, partition of {}", write.len(), stored.map_or(0, <[u8]>::len));
        measure(&format!("{name}: apply, one key"), || drop(black_box(CqlSemantics.apply(key, at, write, stored))));
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let schema = schema()?;
    let insert =
        prepare(&parse("INSERT INTO accounts (id, kind, balance) VALUES (?, ?, 1000)")?, &schema, Some("bank"))?;
    let mut rows: BTreeMap<Key, Vec<u8>> = BTreeMap::new();
    for (clock, (id, kind)) in
        [(1i64, "CHECKING"), (1, "SAVINGS"), (2, "CHECKING"), (2, "SAVINGS")].into_iter().enumerate()
    {
        let bound = insert.bind(&[Value::Bytes(&id.to_be_bytes()), Value::Bytes(kind.as_bytes())], &schema)?;
        let at = Timestamp::new(Epoch(1), Hlc(clock as u64 + 1), 0, NodeId(1));
        for (key, write) in CqlSemantics.execute(&bound.body, TxnId::NONE, at, &read_all(&bound, &rows, at)).writes {
            let applied = CqlSemantics.apply(&key, at, &write, rows.get(&key).map(Vec::as_slice));
            rows.extend(applied.map(|applied| (key, applied)));
        }
    }
    for (name, text) in [("payment", PAYMENT), ("balance", BALANCE)] {
        measure_one(name, text, &prepare(&parse(text)?, &schema, Some("bank"))?, &schema, &rows)?;
    }
    Ok(())
}
