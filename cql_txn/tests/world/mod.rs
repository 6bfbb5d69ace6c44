//! One replica without a protocol: a map of rows, and every transaction run at once, twice where the law says that this is the same.

#![allow(dead_code, reason = "every test program uses its part of it")]

use cql_txn::{Action, CqlSemantics, Error, Outcome, Prepared, Schema, TxnResult, Value, schema_key};
use protocol::{Bytes, Epoch, Hlc, Key, NodeId, Semantics, Timestamp, TxnId, TxnKind, TxnShape};
use std::collections::BTreeMap;

pub(crate) const ACCOUNTS: &str = "CREATE TABLE accounts (id bigint, kind text, balance bigint, PRIMARY KEY (id, kind)) \
     WITH transactional_mode = 'full'";

pub(crate) struct World {
    pub(crate) rows: BTreeMap<Key, Vec<u8>>,
    clock: u64,
}

impl World {
    /// An empty keyspace `bank` with the table of SimpleBank.
    pub(crate) fn new() -> Self {
        let mut world = Self { rows: BTreeMap::new(), clock: 0 };
        world.ok("CREATE KEYSPACE bank WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 3}");
        world.ok(ACCOUNTS);
        world
    }

    pub(crate) fn schema(&self) -> Schema {
        match self.rows.get(&schema_key(3)) {
            Some(bytes) => Schema::decode(bytes).expect("our own schema"),
            None => Schema::new(3),
        }
    }

    pub(crate) fn prepare(&self, text: &str) -> Result<Prepared, Error> {
        cql_txn::prepare(&cql_txn::parse(text)?, &self.schema(), Some("bank"))
    }

    pub(crate) fn execute(&mut self, prepared: &Prepared, values: &[Value<'_>]) -> Result<TxnResult, Error> {
        let bound = prepared.bind(values, &self.schema())?;
        assert!(bound.keys.is_sorted() && !bound.keys.is_empty());
        self.clock += 1;
        let at = Timestamp::new(Epoch(1), Hlc(self.clock), 0, NodeId(1));
        let id = TxnId::new(Epoch(1), Hlc(self.clock), NodeId(1), TxnShape { kind: bound.kind, ..TxnShape::default() });
        let read = |key: &Key| CqlSemantics.read(&bound.body, key, self.rows.get(key).map(Vec::as_slice), at);
        let data: Vec<(Key, Bytes)> = bound.keys.iter().map(|key| (key.clone(), read(key).into())).collect();
        let execution = CqlSemantics.execute(&bound.body, id, at, &data);
        assert_eq!(execution, CqlSemantics.execute(&bound.body, id, at, &data));
        assert!(execution.writes.is_empty() || bound.kind == TxnKind::Write);
        assert!(execution.writes.is_sorted_by(|(left, _), (right, _)| left < right));
        for (key, write) in &execution.writes {
            assert!(bound.keys.contains(key));
            let once = CqlSemantics.apply(key, at, write, self.rows.get(key).map(Vec::as_slice));
            assert_eq!(CqlSemantics.apply(key, at, write, once.as_deref()), once, "applied twice");
            match once {
                Some(rows) => self.rows.insert(key.clone(), rows),
                None => self.rows.remove(key),
            };
        }
        cql_txn::decode_result(&execution.result)
    }

    pub(crate) fn run(&mut self, text: &str, values: &[Value<'_>]) -> Result<TxnResult, Error> {
        let prepared = self.prepare(text)?;
        if let Action::Use(_) = prepared.action() {
            return Ok(TxnResult { outcome: Outcome::Void, warnings: Vec::new() });
        }
        self.execute(&prepared, values)
    }

    /// Runs a statement that must succeed.
    pub(crate) fn ok(&mut self, text: &str) -> TxnResult {
        let result = self.run(text, &[]).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert!(!matches!(result.outcome, Outcome::Rejected(_)), "{text}: {result:?}");
        result
    }

    /// Runs a statement that must fail, at whatever stage.
    pub(crate) fn error(&mut self, text: &str) -> Error {
        match self.run(text, &[]) {
            Err(error) => error,
            Ok(TxnResult { outcome: Outcome::Rejected(error), .. }) => error,
            Ok(result) => panic!("{text} gave {result:?}"),
        }
    }

    /// The rows of a statement, as text.
    pub(crate) fn rows_of(&mut self, text: &str) -> Vec<Vec<String>> {
        let prepared = self.prepare(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        let columns = prepared.result_columns().expect("a statement with rows").to_vec();
        let result = self.execute(&prepared, &[]).unwrap_or_else(|error| panic!("{text}: {error}"));
        let Outcome::Rows(rows) = result.outcome else { panic!("{text} gave {result:?}") };
        let show = |row: Vec<Option<Vec<u8>>>| {
            row.into_iter().zip(&columns).map(|(value, column)| shown(&column.ty, value.as_deref())).collect()
        };
        rows.into_iter().map(show).collect()
    }
}

pub(crate) fn shown(ty: &cql_txn::Type, value: Option<&[u8]>) -> String {
    match (&*ty.cql_name(), value) {
        (_, None) => "null".to_owned(),
        ("text", Some(text)) => String::from_utf8(text.to_vec()).expect("text"),
        ("boolean", Some(value)) => (value != [0]).to_string(),
        ("int", Some(value)) => i32::from_be_bytes(value.try_into().expect("int")).to_string(),
        ("bigint", Some(value)) => i64::from_be_bytes(value.try_into().expect("bigint")).to_string(),
        (_, Some(value)) => value.iter().map(|byte| format!("{byte:02x}")).collect(),
    }
}
