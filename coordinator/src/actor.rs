//! The shell of a [`Coordinator`]: feeds the machine one batch at a time and performs its effects in order.
//!
//! It decides nothing. New transactions come over a [`Desk`] instead of the mailbox, because their completions belong to the thread of
//! the client port and must not be sendable.

use crate::{Coordinator, CoordinatorInput, CoordinatorLook};
use actix::{Actor, AsyncContext, Context, Handler, Message, MessageResult, Recipient, SpawnHandle};
use protocol::message::{Message as PeerMessage, Reply, ReplyVerb};
use protocol::{
    Blob, Chase, ClientOutcome, Effect, Effects, Inbox, Key, Lsn, Machine, Micros, NoHooks, NodeClock, NodeId, NodeSet,
    Note, Now, Propagate, RequestId, Tell, TxnId, TxnKind,
};
use rustc_hash::FxHashMap;
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

/// Takes how a transaction ended; called once, on the thread of the actor.
pub type Completion = Box<dyn FnOnce(Option<TxnId>, ClientOutcome)>;

/// Where transactions are handed in, and completions wait. Shared by the client port and the actor on one thread.
///
/// *Shape*: bounded by the permits of the client port, each of which has one request here at most.
#[derive(Default)]
pub struct Desk {
    inner: RefCell<DeskInner>,
}

#[derive(Default)]
struct DeskInner {
    last: u64,
    begins: Inbox<CoordinatorInput>,
    completions: FxHashMap<RequestId, Completion>,
}

impl Desk {
    /// Hands a transaction in. True if it is the first that waits: tell the actor with [`Submitted`].
    pub fn submit(&self, kind: TxnKind, keys: Vec<Key>, body: Blob, completion: Completion) -> bool {
        let mut desk = self.inner.borrow_mut();
        desk.last += 1;
        let request = RequestId(desk.last);
        desk.completions.insert(request, completion);
        desk.begins.push(CoordinatorInput::Begin { request, kind, keys, body });
        desk.begins.len() == 1
    }

    /// How many transactions wait for their end.
    pub fn waiting(&self) -> usize {
        self.inner.borrow().completions.len()
    }

    fn take_begins(&self) -> Inbox<CoordinatorInput> {
        std::mem::take(&mut self.inner.borrow_mut().begins)
    }

    fn take_completion(&self, request: RequestId) -> Option<Completion> {
        self.inner.borrow_mut().completions.remove(&request)
    }
}

/// Something waits at the [`Desk`].
#[derive(Clone, Copy, Debug)]
pub struct Submitted;

/// What a coordinator has to say to other nodes and to its own stores.
#[derive(Debug, Default)]
pub struct Output {
    /// Messages, each for some nodes, the own one included.
    pub sends: Vec<(NodeSet, PeerMessage)>,
    /// Decided facts for the own stores.
    pub propagates: Vec<Box<Propagate>>,
    /// CheckStatus answers of this node with the coordinator's word added, and who asked.
    pub statuses: Statuses,
}

/// CheckStatus answers on their way out of this node, and who asked: the coordinator adds whether it is at work on the transaction.
pub type Statuses = Vec<(NodeId, Reply)>;

/// Asks how many coordinations run.
#[derive(Clone, Copy, Debug)]
pub struct CountCoordinations;

impl Message for CountCoordinations {
    type Result = usize;
}

/// Asks a coordinator to show itself; for people, never for decisions.
#[derive(Clone, Copy, Debug)]
pub struct Look {
    /// Bound of the list in the answer.
    pub most: usize,
}

impl Message for Look {
    type Result = CoordinatorLook;
}

/// The neighbours of a coordinator.
pub struct CoordinatorSeams {
    /// Takes what leaves.
    pub output: Recipient<Tell<Output>>,
    /// Reads the clocks.
    pub now: Rc<dyn Fn() -> Now>,
    /// Hears what happened, for counters.
    pub note: Rc<dyn Fn(Note)>,
    /// Stops the node: going on would be wrong.
    pub fatal: Rc<dyn Fn(String)>,
}

/// The actor of a node's coordinations.
pub struct CoordinatorActor {
    machine: Coordinator<NoHooks>,
    desk: Rc<Desk>,
    clock: Arc<NodeClock>,
    seams: CoordinatorSeams,
    effects: Effects,
    output: Output,
    answers: Vec<(RequestId, Option<TxnId>, ClientOutcome)>,
    armed: Option<(Micros, SpawnHandle)>,
}

impl CoordinatorActor {
    /// Around `machine`, fed with what is handed in at `desk`.
    pub fn new(machine: Coordinator<NoHooks>, desk: Rc<Desk>, clock: Arc<NodeClock>, seams: CoordinatorSeams) -> Self {
        Self {
            machine,
            desk,
            clock,
            seams,
            effects: Effects::default(),
            output: Output::default(),
            answers: Vec::new(),
            armed: None,
        }
    }

    fn go(&mut self, inbox: Inbox<CoordinatorInput>, ctx: &mut Context<Self>) {
        let mut effects = std::mem::take(&mut self.effects);
        effects.restart(Lsn::default());
        self.machine.turn((self.seams.now)(), &self.clock, inbox, &mut effects);
        for effect in effects.drain() {
            self.perform(effect);
        }
        self.effects = effects;
        self.flush();
        self.answer();
        self.arm(ctx);
    }

    fn perform(&mut self, effect: Effect) {
        match effect {
            Effect::Send { to, message } => self.output.sends.push((to, message)),
            Effect::Propagate(propagate) => self.output.propagates.push(propagate),
            Effect::Answer { request, txn_id, outcome } => self.answers.push((request, txn_id, outcome)),
            Effect::Note(note) => (self.seams.note)(note),
            Effect::Fatal { why } => (self.seams.fatal)(why),
            Effect::Append { .. }
            | Effect::Reply { .. }
            | Effect::Load { .. }
            | Effect::ReadRows { .. }
            | Effect::WriteRows { .. }
            | Effect::Chase(_) => (self.seams.fatal)("the coordinator acts as a store: a bug".to_owned()),
        }
    }

    fn flush(&mut self) {
        let Output { sends, propagates, statuses } = &self.output;
        if !(sends.is_empty() && propagates.is_empty() && statuses.is_empty()) {
            self.seams.output.do_send(Tell(std::mem::take(&mut self.output)));
        }
    }

    /// Clients are told last: what they do next must not come before what was sent for them.
    fn answer(&mut self) {
        for (request, txn_id, outcome) in std::mem::take(&mut self.answers) {
            if let Some(complete) = self.desk.take_completion(request) {
                complete(txn_id, outcome);
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
        let handle = ctx.run_later(Duration::from_micros(wait.0), |coordinator, ctx| {
            coordinator.armed = None;
            coordinator.go(Vec::new(), ctx);
        });
        self.armed = Some((due, handle));
    }
}

impl Actor for CoordinatorActor {
    type Context = Context<Self>;
}

impl Handler<Tell<Inbox<CoordinatorInput>>> for CoordinatorActor {
    type Result = ();

    fn handle(&mut self, Tell(inbox): Tell<Inbox<CoordinatorInput>>, ctx: &mut Context<Self>) {
        self.go(inbox, ctx);
    }
}

impl Handler<Tell<Submitted>> for CoordinatorActor {
    type Result = ();

    fn handle(&mut self, _: Tell<Submitted>, ctx: &mut Context<Self>) {
        let begins = self.desk.take_begins();
        self.go(begins, ctx);
    }
}

impl Handler<Tell<Vec<Chase>>> for CoordinatorActor {
    type Result = ();

    fn handle(&mut self, Tell(chases): Tell<Vec<Chase>>, ctx: &mut Context<Self>) {
        self.go(chases.into_iter().map(CoordinatorInput::Chase).collect(), ctx);
    }
}

impl Handler<Tell<Statuses>> for CoordinatorActor {
    type Result = ();

    fn handle(&mut self, Tell(statuses): Tell<Statuses>, _: &mut Context<Self>) {
        for (to, mut reply) in statuses {
            if let ReplyVerb::CheckStatusReply(status) = &mut reply.verb {
                status.is_coordinating = self.machine.is_coordinating(reply.txn_id, to);
            }
            self.output.statuses.push((to, reply));
        }
        self.flush();
    }
}

impl Handler<CountCoordinations> for CoordinatorActor {
    type Result = usize;

    fn handle(&mut self, _: CountCoordinations, _: &mut Context<Self>) -> usize {
        self.machine.len()
    }
}

impl Handler<Look> for CoordinatorActor {
    type Result = MessageResult<Look>;

    fn handle(&mut self, Look { most }: Look, _: &mut Context<Self>) -> Self::Result {
        MessageResult(self.machine.look(most))
    }
}
