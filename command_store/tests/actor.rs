//! What leaves a store, and when.

use actix::{Actor, Addr, Context, Handler, Message, System};
use command_store::actor::{CommandStoreActor, Durable, Loaded, Log, Position, Rows, StoreReplies, StoreSeams};
use command_store::{CommandStore, ProgressConfig, Slices, StoreConfig, StoreInput};
use protocol::message::{PreAccept, Request, Verb};
use protocol::{
    Blob, Bytes, Chase, Command, CommandDiff, Epoch, Execution, Hlc, Inbox, Key, Micros, NoHooks, NodeClock, NodeId,
    Now, Route, Scope, Semantics, StoreId, TableId, Tell, Ticket, Timestamp, Token, Topology, Txn, TxnId, TxnKind,
    TxnShape,
};
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

/// Appends into a list, or fails.
#[derive(Default)]
struct FakeLog {
    pushed: Vec<TxnId>,
    committed: u64,
    fails: bool,
}

impl Log for FakeLog {
    fn push(&mut self, _: StoreId, txn_id: TxnId, _: &CommandDiff) -> Result<(), String> {
        self.pushed.push(txn_id);
        Ok(())
    }

    fn commit(&mut self) -> Result<Position, String> {
        self.committed += 1;
        if self.fails { Err("no space".to_owned()) } else { Ok(Position(self.committed * 100)) }
    }

    fn load(&mut self, _: StoreId, _: TxnId, answer: Loaded) -> Result<bool, String> {
        answer(Ok(Command::default()));
        Ok(true)
    }
}

struct Nothing;

impl Semantics for Nothing {
    fn read(&self, _: &Blob, _: &Key, _: Option<&[u8]>, _: Timestamp) -> Vec<u8> {
        Vec::new()
    }

    fn execute(&self, _: &Blob, _: TxnId, _: Timestamp, _: &[(Key, Bytes)]) -> Execution {
        Execution::default()
    }

    fn apply(&self, _: &Key, _: Timestamp, write: &[u8], _: Option<&[u8]>) -> Option<Vec<u8>> {
        Some(write.to_vec())
    }
}

/// Keeps what a store says.
#[derive(Default)]
struct Ear {
    heard: Rc<RefCell<StoreReplies>>,
}

impl Actor for Ear {
    type Context = Context<Self>;
}

impl Handler<Tell<StoreReplies>> for Ear {
    type Result = ();

    fn handle(&mut self, Tell(replies): Tell<StoreReplies>, _: &mut Context<Self>) {
        self.heard.borrow_mut().extend(replies);
    }
}

impl Handler<Tell<Vec<Chase>>> for Ear {
    type Result = ();

    fn handle(&mut self, _: Tell<Vec<Chase>>, _: &mut Context<Self>) {}
}

/// Asked of the ear last, so that everything before it has been heard.
struct Listen;

impl Message for Listen {
    type Result = usize;
}

impl Handler<Listen> for Ear {
    type Result = usize;

    fn handle(&mut self, _: Listen, _: &mut Context<Self>) -> usize {
        self.heard.borrow().len()
    }
}

struct Stage {
    store: Addr<CommandStoreActor<FakeLog>>,
    ear: Addr<Ear>,
    log: Rc<RefCell<FakeLog>>,
    failures: Rc<RefCell<Vec<String>>>,
}

const WALL: u64 = 1_000_000_000;

fn stage(log: FakeLog) -> Stage {
    let topology = Topology::ring(Epoch(1), &[(NodeId(1), Token(i64::MAX))]).expect("one node");
    let config = StoreConfig {
        node: NodeId(1),
        store: StoreId(0),
        slices: Slices::new(1),
        topology: Arc::new(topology),
        pre_accept_timeout: Micros::from_secs(10),
        max_clock_skew: Micros::from_secs(10),
        elide: true,
        evict: true,
        progress: ProgressConfig::default(),
    };
    let ear = Ear::default().start();
    let log = Rc::new(RefCell::new(log));
    let failures: Rc<RefCell<Vec<String>>> = Rc::default();
    let told = Rc::clone(&failures);
    let seams = StoreSeams {
        replies: ear.clone().recipient(),
        chases: ear.clone().recipient(),
        watched: None,
        now: Rc::new(|| Now { mono: Micros(5), wall: Micros(WALL) }),
        note: Rc::new(|_| ()),
        fatal: Rc::new(move |why| told.borrow_mut().push(why)),
    };
    let machine = CommandStore::new(config, Arc::new(Nothing), NoHooks);
    let clock = Arc::new(NodeClock::new(NodeId(1), Epoch(1), Hlc(0)));
    let store = StoreId(0);
    let actor =
        CommandStoreActor::new(store, machine, Rows::default(), Arc::new(Nothing), Rc::clone(&log), clock, seams);
    Stage { store: actor.start(), ear, log, failures }
}

fn pre_accept(hlc: u64) -> StoreInput {
    let shape = TxnShape { kind: TxnKind::Write, ..TxnShape::default() };
    let txn_id = TxnId::new(Epoch(1), Hlc(WALL + hlc), NodeId(1), shape);
    let key = Key::new(1, TableId(70), b"k");
    let verb = Verb::PreAccept(PreAccept {
        txn: Txn { body: Blob::default() },
        coordinator_vote: false,
        coordinator_deps: None,
    });
    let scope = Scope::Full(Route::of_keys(vec![key.clone()], &key));
    StoreInput::Request { from: NodeId(1), ticket: Ticket(7), request: Request { txn_id, scope, verb } }
}

impl Stage {
    async fn tell(&self, inputs: Inbox<StoreInput>) -> usize {
        self.store.send(Tell(inputs)).await.expect("a store");
        self.ear.send(Listen).await.expect("an ear")
    }

    async fn durable(&self, upto: u64) -> usize {
        self.store.send(Tell(Durable(Position(upto)))).await.expect("a store");
        self.ear.send(Listen).await.expect("an ear")
    }
}

#[test]
fn a_vote_leaves_once_the_log_is_durable_as_far_as_it_asks() {
    System::new().block_on(async {
        let stage = stage(FakeLog::default());
        assert_eq!(stage.tell(vec![pre_accept(1)]).await, 0);
        assert_eq!(stage.tell(vec![pre_accept(2), pre_accept(3)]).await, 0);
        assert_eq!(stage.log.borrow().committed, 2, "one batch per go");
        assert_eq!(stage.durable(99).await, 0);
        assert_eq!(stage.durable(100).await, 1);
        // a repeated vote has no record of its own, and waits for all before it
        assert_eq!(stage.tell(vec![pre_accept(1)]).await, 1);
        assert_eq!(stage.durable(200).await, 4);
    });
}

#[test]
fn a_store_whose_log_fails_says_nothing_more_and_stops_the_node_once() {
    System::new().block_on(async {
        let stage = stage(FakeLog { fails: true, ..FakeLog::default() });
        stage.tell(vec![pre_accept(1)]).await;
        stage.tell(vec![pre_accept(2)]).await;
        assert_eq!(stage.durable(1000).await, 0);
        assert_eq!(*stage.failures.borrow(), ["no space".to_owned()]);
        assert_eq!(stage.log.borrow().pushed.len(), 1);
    });
}
