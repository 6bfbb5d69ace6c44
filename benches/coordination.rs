//! One Transfer and one Payment through three pure nodes: no socket, no disk, no actor; messages go as bytes.
//!
//! `cargo bench --bench coordination` prints microseconds of CPU per transaction, everything of three replicas and one coordinator
//! included, with 1, 8 and 40 finished transactions per key. For instructions:
//! `valgrind --tool=callgrind <bench binary> --bench once transfer 8`.

use command_store::{CommandStore, FanIn, ProgressConfig, Slices, StoreConfig, StoreInput};
use coordinator::{Coordinator, CoordinatorConfig, CoordinatorInput};
use cql_txn::{Action, CqlSemantics, Schema, Value, apply_ddl, parse, prepare};
use mimalloc::MiMalloc;
use protocol::codec::{decode, encode, encode_diff};
use protocol::message::{Message, Reply};
use protocol::*;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Instant;

#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

const STORES: u16 = 2;

struct Node {
    clock: NodeClock,
    stores: Vec<(CommandStore<NoHooks>, BTreeMap<Key, Bytes>)>,
    coordinator: Coordinator<NoHooks>,
    fan_in: FanIn,
}

/// Three nodes whose messages are carried by hand; time advances by a microsecond a delivery.
struct Cluster {
    nodes: Vec<Node>,
    topology: Arc<Topology>,
    time: u64,
    wire: VecDeque<(NodeId, NodeId, Vec<u8>)>,
    local: VecDeque<(NodeId, Message)>,
    diff: Vec<u8>,
    answered: u64,
    messages: u64,
    journal_bytes: u64,
}

struct Rows<'a>(&'a mut BTreeMap<Key, Bytes>);

impl RowStore for Rows<'_> {
    fn get(&self, key: &Key) -> Option<Bytes> {
        self.0.get(key).cloned()
    }

    fn put(&mut self, key: &Key, rows: Option<Bytes>) {
        match rows {
            Some(rows) => self.0.insert(key.clone(), rows),
            None => self.0.remove(key),
        };
    }
}

impl Cluster {
    fn new() -> Self {
        let tokens = Topology::even_tokens(3);
        let ring: Vec<_> = tokens.into_iter().enumerate().map(|(i, token)| (NodeId(i as u32 + 1), token)).collect();
        let topology = Arc::new(Topology::ring(Epoch(1), &ring).expect("three nodes"));
        let nodes = (1..=3).map(|id| Node::new(NodeId(id), &topology)).collect();
        Self {
            nodes,
            topology,
            time: 1_000_000_000,
            wire: VecDeque::new(),
            local: VecDeque::new(),
            diff: Vec::new(),
            answered: 0,
            messages: 0,
            journal_bytes: 0,
        }
    }

    fn now(&self) -> Now {
        Now { mono: Micros(self.time), wall: Micros(self.time) }
    }

    fn run(&mut self, node: usize, bound: &cql_txn::Bound) {
        let begin = CoordinatorInput::Begin {
            request: RequestId(0),
            kind: bound.kind,
            keys: bound.keys.clone(),
            body: bound.body.clone(),
        };
        self.coordinate(node, vec![begin]);
        loop {
            self.time += 1;
            if let Some((node, message)) = self.local.pop_front() {
                self.take(node, node, message);
            } else if let Some((from, to, bytes)) = self.wire.pop_front() {
                let message = decode(&bytes).expect("our own bytes");
                self.take(from, to, message);
            } else {
                // the batch of stored outcomes is told a little later
                self.time += 5_000;
                let before = self.messages;
                for node in 0..3 {
                    self.coordinate(node, Vec::new());
                }
                if self.messages == before {
                    return;
                }
            }
        }
    }

    fn take(&mut self, from: NodeId, to: NodeId, message: Message) {
        let at = to.0 as usize - 1;
        match message {
            Message::Reply(reply) => self.coordinate(at, vec![CoordinatorInput::Reply { from, reply }]),
            Message::InformDurable(inform) => {
                for store in 0..usize::from(STORES) {
                    self.turn(at, store, vec![StoreInput::InformDurable(inform.clone())]);
                }
            }
            Message::Request(request) => {
                let mut inputs = Vec::new();
                let topology = Arc::clone(&self.topology);
                let owns = |key: &Key| topology.replicates(to, key);
                self.nodes[at].fan_in.spread(from, request, owns, |store, input| inputs.push((store, input)));
                for (store, input) in inputs {
                    self.turn(at, usize::from(store.0), vec![input]);
                }
            }
        }
    }

    fn turn(&mut self, at: usize, store: usize, inbox: Vec<StoreInput>) {
        let now = self.now();
        let node = &mut self.nodes[at];
        let (machine, _) = &mut node.stores[store];
        let mut effects = Effects::after(machine.appended());
        machine.turn(now, &node.clock, inbox, &mut effects);
        for effect in effects.drain() {
            match effect {
                Effect::Append { diff, .. } => {
                    self.diff.clear();
                    encode_diff(&diff, &mut self.diff);
                    self.journal_bytes += self.diff.len() as u64 + 33;
                }
                Effect::Reply { to, ticket, reply, .. } => {
                    if let Some(reply) = self.nodes[at].fan_in.reduce(ticket, reply) {
                        self.reply(at, to, reply);
                    }
                }
                Effect::ReadRows { txn_id, keys } => {
                    let rows = &self.nodes[at].stores[store].1;
                    let rows = keys.into_iter().map(|key| (key.clone(), rows.get(&key).cloned())).collect();
                    self.turn(at, store, vec![StoreInput::Rows { txn_id, rows }]);
                }
                Effect::WriteRows { at: time, writes } => {
                    Rows(&mut self.nodes[at].stores[store].1).apply(&CqlSemantics, time, &writes);
                }
                _ => {}
            }
        }
    }

    fn reply(&mut self, at: usize, to: NodeId, reply: Reply) {
        self.send(NodeId(at as u32 + 1), [to].into_iter().collect(), Message::Reply(reply));
    }

    fn send(&mut self, from: NodeId, to: NodeSet, message: Message) {
        let mut bytes = Vec::new();
        encode(&message, &mut bytes);
        for node in to.iter().filter(|node| *node != from) {
            self.messages += 1;
            self.wire.push_back((from, node, bytes.clone()));
        }
        if to.contains(from) {
            self.local.push_back((from, message));
        }
    }

    fn coordinate(&mut self, at: usize, inbox: Vec<CoordinatorInput>) {
        let now = self.now();
        let node = &mut self.nodes[at];
        let mut effects = Effects::default();
        node.coordinator.turn(now, &node.clock, inbox, &mut effects);
        for effect in effects.drain() {
            match effect {
                Effect::Send { to, message } => self.send(NodeId(at as u32 + 1), to, message),
                Effect::Answer { outcome, .. } => {
                    assert!(matches!(outcome, ClientOutcome::Applied { .. }), "{outcome:?}");
                    self.answered += 1;
                }
                _ => {}
            }
        }
    }
}

impl Node {
    fn new(id: NodeId, topology: &Arc<Topology>) -> Self {
        let semantics: Arc<dyn Semantics> = Arc::new(CqlSemantics);
        let store = |store| {
            let config = StoreConfig {
                node: id,
                store: StoreId(store),
                slices: Slices::new(STORES),
                topology: Arc::clone(topology),
                pre_accept_timeout: Micros::from_secs(10),
                max_clock_skew: Micros::from_secs(10),
                elide: true,
                evict: true,
                progress: ProgressConfig::default(),
            };
            (CommandStore::new(config, Arc::clone(&semantics), NoHooks), BTreeMap::new())
        };
        let clock = NodeClock::new(id, Epoch(1), Hlc(0));
        clock.reserved(Hlc(u64::MAX >> 2));
        let config = CoordinatorConfig::new(id, Arc::clone(topology));
        Self {
            clock,
            stores: (0..STORES).map(store).collect(),
            coordinator: Coordinator::new(config, Arc::clone(&semantics), NoHooks),
            fan_in: FanIn::new(Slices::new(STORES)),
        }
    }
}

fn schema() -> Schema {
    let statements = [
        "CREATE KEYSPACE bank WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 3}",
        "CREATE TABLE bank.accounts (id bigint, kind text, balance bigint, PRIMARY KEY (id, kind)) \
         WITH transactional_mode = 'full'",
    ];
    statements.iter().fold(Schema::new(3), |schema, text| {
        let prepared = prepare(&parse(text).expect("parses"), &schema, None).expect("prepares");
        let Action::Ddl(ddl) = prepared.action() else { panic!("DDL") };
        apply_ddl(&schema, ddl).expect("applies").0
    })
}

fn bind(schema: &Schema, text: &str, ids: &[i64]) -> cql_txn::Bound {
    let prepared = prepare(&parse(text).expect("parses"), schema, Some("bank")).expect("prepares");
    let bytes: Vec<[u8; 8]> = ids.iter().map(|id| id.to_be_bytes()).collect();
    let values: Vec<Value<'_>> = bytes.iter().map(|id| Value::Bytes(id)).collect();
    prepared.bind(&values, schema).expect("binds")
}

const TRANSFER: &str = "BEGIN TRANSACTION UPDATE accounts SET balance -= 1 WHERE id=? AND kind='CHECKING'; \
                        UPDATE accounts SET balance += 1 WHERE id=? AND kind='SAVINGS'; COMMIT TRANSACTION";
const PAYMENT: &str = "BEGIN TRANSACTION UPDATE accounts SET balance -= 1 WHERE id=? AND kind='CHECKING'; \
                       UPDATE accounts SET balance += 1 WHERE id=? AND kind='CHECKING'; COMMIT TRANSACTION";
const INSERT: &str = "INSERT INTO accounts (id, kind, balance) VALUES (?, 'CHECKING', 1000)";

/// A loaded cluster in which every key has seen `depth` transactions, and the transactions to time.
fn prepared_cluster(schema: &Schema, is_payment: bool, depth: usize, count: usize) -> (Cluster, Vec<cql_txn::Bound>) {
    let mut cluster = Cluster::new();
    let customers = (count / 4).max(8) as i64;
    for id in 0..customers {
        cluster.run(id as usize % 3, &bind(schema, INSERT, &[id]));
    }
    let txn = |nth: usize| {
        let id = nth as i64 % customers;
        let other = if is_payment { (id + 1) % customers } else { id };
        bind(schema, if is_payment { PAYMENT } else { TRANSFER }, &[id, other])
    };
    let warm = depth.saturating_sub(1) * customers as usize / if is_payment { 2 } else { 1 };
    for nth in 0..warm {
        cluster.run(nth % 3, &txn(nth));
    }
    (cluster, (0..count).map(txn).collect())
}

fn time(schema: &Schema, name: &str, is_payment: bool, depth: usize, count: usize) {
    let (mut cluster, txns) = prepared_cluster(schema, is_payment, depth, count);
    let (messages, bytes) = (cluster.messages, cluster.journal_bytes);
    let start = Instant::now();
    for (nth, txn) in txns.iter().enumerate() {
        cluster.run(nth % 3, txn);
    }
    let per_txn = start.elapsed().as_nanos() as f64 / count as f64 / 1000.0;
    println!(
        "{name:<10} {depth:>3} per key  {per_txn:>7.1} us  {:>5.1} messages  {:>6.0} journal bytes (all nodes)",
        (cluster.messages - messages) as f64 / count as f64,
        (cluster.journal_bytes - bytes) as f64 / count as f64,
    );
}

fn main() {
    let schema = schema();
    let arguments: Vec<String> = std::env::args().filter(|argument| argument != "--bench").collect();
    if let [_, once, name, depth] = &arguments[..]
        && once == "once"
    {
        let depth = depth.parse().expect("entries per key");
        return time(&schema, name, name == "payment", depth, 1000);
    }
    for depth in [1, 8, 40] {
        time(&schema, "transfer", false, depth, 20_000);
        time(&schema, "payment", true, depth, 20_000);
    }
}
