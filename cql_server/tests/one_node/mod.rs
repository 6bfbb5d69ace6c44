//! A node of one replica in memory: runs each transaction where it stands.

use cql_server::{Answer, Backend, NewTxn, NodeInfo};
use cql_txn::{CqlSemantics, Schema, schema_key};
use protocol::{Epoch, Hlc, Key, NodeId, Semantics, TxnId, TxnShape};
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, VecDeque};
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

pub(crate) const NODE: NodeId = NodeId(1);
const GROUP: u8 = 1;

type Held = (NewTxn, Box<dyn FnOnce(Answer)>);

pub(crate) struct OneNode {
    rows: RefCell<BTreeMap<Key, Vec<u8>>>,
    schema: RefCell<Arc<Schema>>,
    clock: Cell<u64>,
    port: Cell<u16>,
    /// While set, transactions wait in `held`.
    holds: Cell<bool>,
    held: RefCell<VecDeque<Held>>,
    /// Whether all nodes are said to have any schema at once.
    agrees: Cell<bool>,
}

impl Default for OneNode {
    fn default() -> Self {
        Self {
            rows: RefCell::default(),
            schema: RefCell::new(Arc::new(Schema::new(GROUP))),
            clock: Cell::new(1),
            port: Cell::new(0),
            holds: Cell::new(false),
            held: RefCell::default(),
            agrees: Cell::new(true),
        }
    }
}

#[allow(dead_code, reason = "each test program uses a part of it")]
impl OneNode {
    pub(crate) fn set_port(&self, port: u16) {
        self.port.set(port);
    }

    pub(crate) fn set_agrees(&self, agrees: bool) {
        self.agrees.set(agrees);
    }

    pub(crate) fn hold(&self) {
        self.holds.set(true);
    }

    pub(crate) fn held(&self) -> usize {
        self.held.borrow().len()
    }

    /// Runs what was held, in order.
    pub(crate) fn release(&self) {
        self.holds.set(false);
        while let Some((txn, answer)) = self.next_held() {
            answer(self.run(&txn));
        }
    }

    /// Answers what was held with `answer`.
    pub(crate) fn release_with(&self, make: impl Fn(TxnId) -> Answer) {
        self.holds.set(false);
        while let Some((txn, answer)) = self.next_held() {
            answer(make(self.next_id(&txn)));
        }
    }

    pub(crate) fn drop_held(&self) {
        self.holds.set(false);
        let held = std::mem::take(&mut *self.held.borrow_mut());
        drop(held);
    }

    fn next_held(&self) -> Option<Held> {
        self.held.borrow_mut().pop_front()
    }

    fn next_id(&self, txn: &NewTxn) -> TxnId {
        self.clock.set(self.clock.get() + 1);
        let shape = TxnShape { kind: txn.kind, ..TxnShape::default() };
        TxnId::new(Epoch(1), Hlc(self.clock.get()), NODE, shape)
    }

    fn run(&self, txn: &NewTxn) -> Answer {
        let txn_id = self.next_id(txn);
        let at = txn_id.as_timestamp();
        let semantics = CqlSemantics;
        let mut rows = self.rows.borrow_mut();
        let read = |key: &Key| semantics.read(&txn.body, key, rows.get(key).map(Vec::as_slice), at);
        let data: Vec<_> = txn.keys.iter().map(|key| (key.clone(), read(key).into())).collect();
        let execution = semantics.execute(&txn.body, txn_id, at, &data);
        for (key, write) in &execution.writes {
            match semantics.apply(key, at, write, rows.get(key).map(Vec::as_slice)) {
                Some(after) => rows.insert(key.clone(), after),
                None => rows.remove(key),
            };
        }
        if let Some(stored) = rows.get(&schema_key(GROUP)) {
            let schema = Schema::decode(stored).expect("a schema");
            *self.schema.borrow_mut() = Arc::new(schema);
        }
        Answer::Applied { result: execution.result, txn_id, path: "fast" }
    }
}

impl Backend for OneNode {
    fn schema(&self) -> Arc<Schema> {
        Arc::clone(&self.schema.borrow())
    }

    fn submit(&self, txn: NewTxn, answer: Box<dyn FnOnce(Answer)>) {
        if self.holds.get() {
            self.held.borrow_mut().push_back((txn, answer));
        } else {
            answer(self.run(&txn));
        }
    }

    fn when_schema_agreed(&self, _version: u64, agreed: Box<dyn FnOnce()>) {
        if self.agrees.get() {
            agreed();
        }
    }

    fn nodes(&self) -> Vec<NodeInfo> {
        vec![NodeInfo {
            id: NODE,
            address: IpAddr::V4(Ipv4Addr::LOCALHOST),
            port: self.port.get(),
            peer_port: 7000,
            tokens: vec![0],
            is_up: true,
            schema_version: self.schema().version,
            data_centre: "dc1".into(),
            rack: "r1".into(),
        }]
    }

    fn local_node(&self) -> NodeId {
        NODE
    }

    fn cluster_name(&self) -> String {
        "one".into()
    }
}
