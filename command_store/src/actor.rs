//! The shell of a [`CommandStore`]: feeds the machine one batch at a time and performs its effects in order.
//!
//! It decides nothing. Its duties, and what breaks if one is forgotten:
//! 1. all deltas of a go are appended before anything that rests on them leaves, and testimony leaves only once the log is durable as
//!    far as it asks (else a restarted node denies what it said);
//! 2. rows are read where the effect stands, before any later write (else a read sees its own future);
//! 3. rows handed to a checkpoint must not outlive a log that lost what they show: see [`TakeDirty`].

mod look;
mod rows;

pub use look::{ActorLook, Look};
pub use rows::Rows;

use crate::{CommandStore, StoreInput};
use actix::{Actor, AsyncContext, Context, Handler, Message, Recipient, SpawnHandle};
use protocol::message::Reply;
use protocol::{
    Bytes, Chase, Command, CommandDiff, Effect, Effects, Inbox, Key, Lsn, Machine, Micros, NoHooks, NodeClock, NodeId,
    Note, Now, RowStore, Semantics, StoreId, Tell, Ticket, Timestamp, TxnId,
};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

/// A place in the node's log, as its owner counts; grows with every append.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Position(pub u64);

/// The node's log is durable up to here.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Durable(pub Position);

/// Takes the fold of a command's deltas, or why they cannot be read; called on any thread.
pub type Loaded = Box<dyn FnOnce(Result<Command, String>) + Send>;

/// The node's log as its stores see it; all of them share one on their thread.
pub trait Log: 'static {
    /// Adds a delta to the batch that the next [`Log::commit`] appends.
    ///
    /// *Errors*: a delta that no log can hold. Final for the store.
    fn push(&mut self, store: StoreId, txn_id: TxnId, diff: &CommandDiff) -> Result<(), String>;

    /// Appends what was pushed as one batch and returns the position after it. Never waits for the disk.
    ///
    /// *Errors*: a log that is full or has failed. Final for the store: it has moved on already.
    fn commit(&mut self) -> Result<Position, String>;

    /// Asks for a command, all deltas committed so far included. False if too many ask: to be tried again.
    ///
    /// *Errors*: a log that has failed.
    fn load(&mut self, store: StoreId, txn_id: TxnId, answer: Loaded) -> Result<bool, String>;
}

/// One answer of a store, free to leave.
#[derive(Clone, PartialEq, Debug)]
pub struct StoreReply {
    /// Who asked.
    pub to: NodeId,
    /// Which request, for the fan-in.
    pub ticket: Ticket,
    /// The answer.
    pub reply: Reply,
}

/// Answers of one store, in order.
pub type StoreReplies = Vec<StoreReply>;

/// Asks for the rows written since the last time it was asked.
///
/// What comes back may show writes whose deltas are not durable yet: nothing of it may reach a disk before the log is durable up to
/// the last append made before the answer, or a crash leaves rows from a future that the log does not know.
#[derive(Clone, Copy, Debug)]
pub struct TakeDirty;

impl Message for TakeDirty {
    type Result = Vec<(Key, Option<Bytes>)>;
}

/// Told the bytes of a watched key whenever it was written.
pub type Watcher = Box<dyn Fn(&Bytes)>;

/// The neighbours of a store.
pub struct StoreSeams {
    /// Takes answers that are free to leave.
    pub replies: Recipient<Tell<StoreReplies>>,
    /// Takes transactions to be looked after.
    pub chases: Recipient<Tell<Vec<Chase>>>,
    /// A key somebody wants to hear of.
    pub watched: Option<(Key, Watcher)>,
    /// Reads the clocks.
    pub now: Rc<dyn Fn() -> Now>,
    /// Hears what happened, for counters.
    pub note: Rc<dyn Fn(Note)>,
    /// Stops the node: going on would be wrong.
    pub fatal: Rc<dyn Fn(String)>,
}

/// Turns taken in one go before other actors get theirs.
const TURNS_MAX: usize = 16;

/// Pause before a load is asked for again that the log had no room for.
const LOAD_PAUSE: Duration = Duration::from_millis(5);

struct Held {
    after: Lsn,
    reply: StoreReply,
}

/// The actor of one command store.
pub struct CommandStoreActor<L> {
    store: StoreId,
    machine: CommandStore<NoHooks>,
    semantics: Arc<dyn Semantics>,
    rows: Rows,
    log: Rc<RefCell<L>>,
    clock: Arc<NodeClock>,
    seams: StoreSeams,
    effects: Effects,
    /// Bounded by the transactions in flight at all nodes times their rounds: whoever asked waits for the answer.
    held: VecDeque<Held>,
    /// Where each batch not known durable ends in the log.
    batches: VecDeque<(Lsn, Position)>,
    durable: Lsn,
    free: StoreReplies,
    chases: Vec<Chase>,
    loads: Vec<TxnId>,
    armed: Option<(Micros, SpawnHandle)>,
    has_failed: bool,
}

impl<L: Log> CommandStoreActor<L> {
    /// A store as replayed, with its rows.
    pub fn new(
        store: StoreId,
        machine: CommandStore<NoHooks>,
        rows: Rows,
        semantics: Arc<dyn Semantics>,
        log: Rc<RefCell<L>>,
        clock: Arc<NodeClock>,
        seams: StoreSeams,
    ) -> Self {
        Self {
            store,
            durable: machine.appended(),
            machine,
            semantics,
            rows,
            log,
            clock,
            seams,
            effects: Effects::default(),
            held: VecDeque::new(),
            batches: VecDeque::new(),
            free: Vec::new(),
            chases: Vec::new(),
            loads: Vec::new(),
            armed: None,
            has_failed: false,
        }
    }

    /// Takes turns until nothing is left that needs no waiting, appends once, and lets go of what is free.
    fn go(&mut self, inbox: Inbox<StoreInput>, ctx: &mut Context<Self>) {
        if self.has_failed {
            return;
        }
        let before = self.machine.appended();
        let mut inbox = inbox;
        for _ in 0..TURNS_MAX {
            inbox = self.turn(inbox);
            if self.has_failed || (inbox.is_empty() && self.machine.next_wakeup() != Some(Micros(0))) {
                break;
            }
        }
        if self.machine.appended() > before {
            self.commit();
        }
        if self.has_failed {
            return;
        }
        self.ask_loads(ctx);
        self.flush();
        if inbox.is_empty() { self.arm(ctx) } else { ctx.notify(Tell(inbox)) }
    }

    /// One turn; returns the rows it asked for, the input of the next.
    fn turn(&mut self, inbox: Inbox<StoreInput>) -> Inbox<StoreInput> {
        let mut effects = std::mem::take(&mut self.effects);
        effects.restart(self.machine.appended());
        self.machine.turn((self.seams.now)(), &self.clock, inbox, &mut effects);
        let mut next = Vec::new();
        for effect in effects.drain() {
            self.perform(effect, &mut next);
        }
        self.effects = effects;
        next
    }

    fn perform(&mut self, effect: Effect, next: &mut Inbox<StoreInput>) {
        match effect {
            Effect::Append { txn_id, diff } => {
                let pushed = self.log.borrow_mut().push(self.store, txn_id, &diff);
                self.check(pushed);
            }
            Effect::Reply { to, ticket, reply, after } => {
                let reply = StoreReply { to, ticket, reply };
                if after <= self.durable { self.free.push(reply) } else { self.held.push_back(Held { after, reply }) }
            }
            Effect::ReadRows { txn_id, keys } => {
                let rows = keys.into_iter().map(|key| (self.rows.get(&key), key)).map(|(rows, key)| (key, rows));
                next.push(StoreInput::Rows { txn_id, rows: rows.collect() });
            }
            Effect::WriteRows { at, writes } => self.write(at, &writes),
            Effect::Load { txn_id } => self.loads.push(txn_id),
            Effect::Chase(chase) => self.chases.push(chase),
            Effect::Note(note) => (self.seams.note)(note),
            Effect::Fatal { why } => self.check(Err(why)),
            Effect::Send { .. } | Effect::Answer { .. } | Effect::Propagate(_) => {
                self.check(Err(format!("{} acts as a coordinator: a bug", self.store)));
            }
        }
    }

    fn write(&mut self, at: Timestamp, writes: &[(Key, Bytes)]) {
        self.rows.apply(&*self.semantics, at, writes);
        if let Some((key, watcher)) = &self.seams.watched
            && writes.iter().any(|(written, _)| written == key)
            && let Some(rows) = self.rows.get(key)
        {
            watcher(&rows);
        }
    }

    fn commit(&mut self) {
        let committed = self.log.borrow_mut().commit();
        match committed {
            Ok(position) => self.batches.push_back((self.machine.appended(), position)),
            Err(why) => self.check(Err(why)),
        }
    }

    /// After a failure the store is ahead of its log: it says nothing more.
    fn check(&mut self, done: Result<(), String>) {
        if let Err(why) = done
            && !std::mem::replace(&mut self.has_failed, true)
        {
            (self.seams.fatal)(why);
        }
    }

    fn on_durable(&mut self, upto: Position) {
        while let Some((lsn, _)) = self.batches.front().copied().filter(|(_, position)| *position <= upto) {
            self.durable = lsn;
            self.batches.pop_front();
        }
        let count = self.held.partition_point(|held| held.after <= self.durable);
        self.free.extend(self.held.drain(..count).map(|held| held.reply));
    }

    fn flush(&mut self) {
        if !self.free.is_empty() {
            self.seams.replies.do_send(Tell(std::mem::take(&mut self.free)));
        }
        if !self.chases.is_empty() {
            self.seams.chases.do_send(Tell(std::mem::take(&mut self.chases)));
        }
    }

    fn ask_loads(&mut self, ctx: &mut Context<Self>) {
        while let Some(txn_id) = self.loads.pop() {
            let to = ctx.address();
            let answer = Box::new(move |found| to.do_send(Tell(LoadAnswer { txn_id, found })));
            let asked = self.log.borrow_mut().load(self.store, txn_id, answer);
            match asked {
                Ok(true) => {}
                Ok(false) => {
                    self.loads.push(txn_id);
                    ctx.run_later(LOAD_PAUSE, Self::ask_loads);
                    return;
                }
                Err(why) => return self.check(Err(why)),
            }
        }
    }

    /// One timer, for the earliest wake-up; one that rings early only costs an empty turn.
    fn arm(&mut self, ctx: &mut Context<Self>) {
        let Some(due) = self.machine.next_wakeup() else { return };
        if self.armed.is_some_and(|(armed, _)| armed <= due) {
            return;
        }
        if let Some((_, handle)) = self.armed.take() {
            ctx.cancel_future(handle);
        }
        let wait = due - (self.seams.now)().mono;
        let handle = ctx.run_later(Duration::from_micros(wait.0), |store, ctx| {
            store.armed = None;
            store.go(Vec::new(), ctx);
        });
        self.armed = Some((due, handle));
    }
}

impl<L: Log> Actor for CommandStoreActor<L> {
    type Context = Context<Self>;
}

impl<L: Log> Handler<Tell<Inbox<StoreInput>>> for CommandStoreActor<L> {
    type Result = ();

    fn handle(&mut self, Tell(inbox): Tell<Inbox<StoreInput>>, ctx: &mut Context<Self>) {
        self.go(inbox, ctx);
    }
}

impl<L: Log> Handler<Tell<Durable>> for CommandStoreActor<L> {
    type Result = ();

    fn handle(&mut self, Tell(Durable(upto)): Tell<Durable>, _: &mut Context<Self>) {
        if !self.has_failed {
            self.on_durable(upto);
            self.flush();
        }
    }
}

/// A command read back from the log.
struct LoadAnswer {
    txn_id: TxnId,
    found: Result<Command, String>,
}

impl<L: Log> Handler<Tell<LoadAnswer>> for CommandStoreActor<L> {
    type Result = ();

    fn handle(&mut self, Tell(LoadAnswer { txn_id, found }): Tell<LoadAnswer>, ctx: &mut Context<Self>) {
        match found {
            Ok(command) => self.go(vec![StoreInput::Loaded { txn_id, command: Box::new(command) }], ctx),
            Err(why) => self.check(Err(why)),
        }
    }
}

impl<L: Log> Handler<TakeDirty> for CommandStoreActor<L> {
    type Result = Vec<(Key, Option<Bytes>)>;

    fn handle(&mut self, _: TakeDirty, _: &mut Context<Self>) -> Self::Result {
        self.rows.take_dirty()
    }
}
