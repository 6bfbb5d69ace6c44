//! What the cases share: words for messages, and ways to run.

use protocol::message::{Message, PreAccept, ReplyVerb, Request, Verb};
use protocol::{Ballot, Command, Epoch, Hlc, NodeId, TxnId};
use sim::{Mutant, Ruling, Script, Sent, Setting};
use std::cell::Cell;

/// Nobody chases anything unasked for a long time, and nothing is forgotten, so that a test can look at it.
pub(crate) fn quiet() -> Setting {
    Setting { progress: 20_000, is_evicted: false, ..setting() }
}

pub(crate) fn setting() -> Setting {
    Setting { mutant: PLANTED.get(), ..Setting::default() }
}

thread_local! {
    /// A planted bug for the cases that this thread runs.
    pub(crate) static PLANTED: Cell<Option<Mutant>> = const { Cell::new(None) };
}

/// A message as rules see it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen {
    pub(crate) from: u32,
    pub(crate) to: u32,
    pub(crate) name: &'static str,
    /// The node that began the transaction; zero if it is about none.
    pub(crate) owner: u32,
    /// At ballot zero.
    pub(crate) is_live: bool,
}

impl Seen {
    pub(crate) fn is(&self, names: &[&str]) -> bool {
        names.contains(&self.name)
    }
}

pub(crate) fn seen(from: NodeId, to: NodeId, message: &Message) -> Seen {
    let (id, name, is_live) = match message {
        Message::Request(request) => (request.txn_id, request.verb.name(), request.verb.ballot().is_zero()),
        Message::Reply(reply) => (reply.txn_id, reply.verb.name(), reply.ballot.is_zero()),
        Message::InformDurable(_) => (TxnId::NONE, "InformDurable", false),
    };
    Seen { from: from.0, to: to.0, name, owner: id.node().0, is_live }
}

pub(crate) fn rule(script: &mut Script, mut rule: impl FnMut(Seen) -> Ruling + 'static) {
    script.rule(move |from, to, message| rule(seen(from, to, message)));
}

pub(crate) fn release(script: &mut Script, which: impl Fn(Seen) -> bool) {
    script.release_where(|from, to, message| which(seen(from, to, message)));
}

pub(crate) fn hold_if(is_held: bool) -> Ruling {
    if is_held { Ruling::Hold } else { Ruling::Pass }
}

pub(crate) fn drop_if(is_lost: bool) -> Ruling {
    if is_lost { Ruling::Drop } else { Ruling::Pass }
}

/// Runs tick by tick until `is_done`, at most `ticks`; the ticks it took.
pub(crate) fn run_until(script: &mut Script, ticks: u64, is_done: impl Fn(&Script) -> bool) -> Option<u64> {
    (0..=ticks).find(|tick| {
        if *tick > 0 {
            script.run_for(1);
        }
        is_done(script)
    })
}

/// What `node` knows of a transaction on one key.
pub(crate) fn command(script: &Script, node: u32, number: u32) -> Command {
    script.commands(node, number).into_iter().next().unwrap_or_default()
}

pub(crate) fn id_of(script: &Script, number: u32) -> TxnId {
    script.txn_id(number).expect("it has been sent")
}

/// Answers about `id` that `from` has sent, in order.
pub(crate) fn replies(script: &Script, from: u32, id: TxnId) -> Vec<ReplyVerb> {
    let reply = |sent: &Sent| match &sent.message {
        Message::Reply(reply) if sent.from.0 == from && reply.txn_id == id => Some(reply.verb.clone()),
        _ => None,
    };
    script.sent().iter().filter_map(reply).collect()
}

/// How many answers called `name` about `id` have left `from`.
pub(crate) fn count(script: &Script, from: u32, id: TxnId, name: &str) -> usize {
    replies(script, from, id).iter().filter(|verb| verb.name() == name).count()
}

/// The PreAccept of `id` as it was first sent.
pub(crate) fn pre_accept_of(script: &Script, id: TxnId) -> (Request, PreAccept) {
    let found = script.sent().iter().find_map(|sent| match &sent.message {
        Message::Request(request) if request.txn_id == id => match &request.verb {
            Verb::PreAccept(pre_accept) => Some((request.clone(), pre_accept.clone())),
            _ => None,
        },
        _ => None,
    });
    found.expect("it has been sent")
}

/// A ballot of node 3 at a small number: below any that a coordinator draws.
pub(crate) fn ballot(number: u64) -> Ballot {
    Ballot::new(Epoch(1), Hlc(number), NodeId(3))
}

/// Chance for rules and loads: the same in every run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Chance(pub(crate) u64);

impl Chance {
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }
}
