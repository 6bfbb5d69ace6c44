//! The island generator: the most productive way to find mistakes in recovery.
//!
//! f nodes are cut off from the rest for a drawn set of coordinations. Each coordination, live or recovering, reaches one side well and
//! dies in a drawn phase. *Source*: [SPEC 19.1], reliability.md 3.7.

use crate::checker::Rng;
use crate::options::{Generator, Options};
use protocol::message::{Message, Verb};
use protocol::{Ballot, NodeId, NodeSet, TxnId};
use std::collections::BTreeMap;

/// The phase in which a coordination dies, named by what it sends there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum DoomedPhase {
    PreAccept,
    Accept,
    Commit,
    Execute,
    Persist,
    NotAccept,
}

#[derive(Clone, Debug)]
struct Reach {
    reached: NodeSet,
    doom: Option<DoomedPhase>,
}

/// The drawn reach of every coordination.
pub(crate) struct Islands {
    is_on: bool,
    coordinations: BTreeMap<(TxnId, Ballot), Reach>,
}

impl Islands {
    pub(crate) fn new(options: &Options) -> Self {
        Self { is_on: options.has_island(), coordinations: BTreeMap::new() }
    }

    /// Whether a message is lost to the split.
    pub(crate) fn loses(
        &mut self,
        options: &Options,
        rng: &mut Rng,
        from: NodeId,
        to: NodeId,
        message: &Message,
    ) -> bool {
        if !self.is_on {
            return false;
        }
        match coordination_of(message) {
            Some(id) => {
                let other = if matches!(message, Message::Request(_)) { to } else { from };
                !self.reach(options, rng, id).reached.contains(other) && rng.percent(93)
            }
            None => rng.percent(60),
        }
    }

    /// Whether the coordination that sends `message` dies in this very phase.
    pub(crate) fn is_doomed(&mut self, options: &Options, rng: &mut Rng, message: &Message) -> Option<(TxnId, Ballot)> {
        let id = coordination_of(message).filter(|_| self.is_on)?;
        let phase = phase_of(message)?;
        (self.reach(options, rng, id).doom == Some(phase)).then_some(id)
    }

    /// It lives on after all.
    pub(crate) fn spare(&mut self, id: (TxnId, Ballot)) {
        if let Some(reach) = self.coordinations.get_mut(&id) {
            reach.doom = None;
        }
    }

    fn reach(&mut self, options: &Options, rng: &mut Rng, id: (TxnId, Ballot)) -> &Reach {
        self.coordinations.entry(id).or_insert_with(|| draw(options, rng, id.1.is_zero()))
    }
}

fn draw(options: &Options, rng: &mut Rng, is_live: bool) -> Reach {
    use DoomedPhase::{Accept, Commit, Execute, NotAccept, Persist, PreAccept};
    let first = if is_live { PreAccept } else { NotAccept };
    if options.hears_bare_quorum {
        // every proposal is seen by some, and every recovery hears a bare quorum
        let reached = if is_live { options.node_ids().into_iter().collect() } else { bare_quorum(options, rng) };
        let doom = rng.percent(90).then(|| if is_live || rng.percent(50) { Accept } else { NotAccept });
        return Reach { reached, doom };
    }
    let phases = match options.generator {
        Generator::Duel => [Accept, first, Accept, Accept, Commit],
        Generator::Orphan if is_live => [first, Persist, Persist, Persist, Persist],
        _ => [first, Accept, Commit, Execute, Persist],
    };
    let doom = rng.percent(75).then(|| phases[rng.index(5)]);
    Reach { reached: one_side(options, rng), doom }
}

/// The island or the rest, with a few nodes on the wrong side; sometimes everybody.
fn one_side(options: &Options, rng: &mut Rng) -> NodeSet {
    let all: NodeSet = options.node_ids().into_iter().collect();
    if !rng.percent(75) {
        return all;
    }
    let on_island = rng.percent(50);
    let mut reached: NodeSet = all.iter().filter(|node| options.island.contains(*node) == on_island).collect();
    for node in all.iter().filter(|_| rng.percent(20)) {
        if !reached.remove(node) {
            reached.insert(node);
        }
    }
    reached
}

fn bare_quorum(options: &Options, rng: &mut Rng) -> NodeSet {
    let mut nodes = options.node_ids();
    let size = nodes.len() / 2 + 1;
    while nodes.len() > size {
        nodes.swap_remove(rng.index(nodes.len()));
    }
    nodes.into_iter().collect()
}

/// The coordination a message belongs to; none for questions asked around and for outcomes being spread.
fn coordination_of(message: &Message) -> Option<(TxnId, Ballot)> {
    match message {
        Message::Request(request) => match request.verb {
            Verb::CheckStatus(_) | Verb::CommitInvalidate(_) => None,
            _ => Some((request.txn_id, request.verb.ballot())),
        },
        Message::Reply(reply) => match reply.verb {
            protocol::message::ReplyVerb::CheckStatusReply(_) => None,
            _ => Some((reply.txn_id, reply.ballot)),
        },
        Message::InformDurable(_) => None,
    }
}

fn phase_of(message: &Message) -> Option<DoomedPhase> {
    let Message::Request(request) = message else { return None };
    match request.verb {
        Verb::PreAccept(_) => Some(DoomedPhase::PreAccept),
        Verb::Accept(_) => Some(DoomedPhase::Accept),
        Verb::Commit(_) => Some(DoomedPhase::Commit),
        Verb::Stable(_) => Some(DoomedPhase::Execute),
        Verb::Apply(_) => Some(DoomedPhase::Persist),
        Verb::NotAccept(_) => Some(DoomedPhase::NotAccept),
        _ => None,
    }
}
