//! One node, several stores: a request is spread over the stores that own its keys, and their answers become one.
//!
//! A node's reply is a claim for all its stores' keys. Answers come in here once their own store's log is durable as far as they
//! need, so the reduced one leaves at the highest of their positions. *Source*: [SPEC 2.3].

use crate::machine::StoreInput;
use crate::stores::Slices;
use protocol::message::{
    AcceptReply, ApplyOutcome, ApplyReply, CommitOutcome, InvalidateReply, PreAcceptOk, ReadOk, RecoverNack, RecoverOk,
    RecoverRefusal, Reply, ReplyVerb, Request, Verb,
};
use protocol::{Key, NodeId, Status, StoreId, Ticket, Timestamp};
use std::collections::BTreeMap;

/// Requests waiting for some of their stores; beyond it the oldest are given up, as a lost message would be.
const PENDING_MAX: usize = 65_536;

/// A ticket of a request that concerns one store: its answer needs no reduction.
const SINGLE: Ticket = Ticket(0);

#[derive(Debug)]
struct Pending {
    missing: usize,
    merged: Option<Reply>,
}

/// Spreads requests over a node's stores and reduces their answers.
#[derive(Debug)]
pub struct FanIn {
    slices: Slices,
    last: u64,
    pending: BTreeMap<Ticket, Pending>,
}

impl FanIn {
    /// For a node whose stores split the ring as `slices` says.
    pub fn new(slices: Slices) -> Self {
        Self { slices, last: 0, pending: BTreeMap::new() }
    }

    /// Hands `request` to each store that `owns` one of its keys.
    pub fn spread(
        &mut self,
        from: NodeId,
        request: Request,
        owns: impl Fn(&Key) -> bool,
        mut deliver: impl FnMut(StoreId, StoreInput),
    ) {
        let owned: Vec<Key> = request.scope.keys().iter().filter(|key| owns(key)).cloned().collect();
        let stores = self.slices.stores_of(&owned);
        let answers_apart = matches!(request.verb, Verb::RecoverAwait(_) | Verb::CommitInvalidate(_));
        let ticket = if stores.len() <= 1 || answers_apart { SINGLE } else { self.open(stores.len()) };
        for store in stores {
            deliver(store, StoreInput::Request { from, ticket, request: request.clone() });
        }
    }

    fn open(&mut self, missing: usize) -> Ticket {
        self.last += 1;
        let ticket = Ticket(self.last);
        self.pending.insert(ticket, Pending { missing, merged: None });
        if self.pending.len() > PENDING_MAX {
            self.pending.pop_first();
        }
        ticket
    }

    /// Takes in one store's answer; gives the node's answer once it is complete, or once it cannot be good any more.
    pub fn reduce(&mut self, ticket: Ticket, reply: Reply) -> Option<Reply> {
        if ticket == SINGLE {
            return Some(reply);
        }
        if is_refusal(&reply.verb) {
            return self.pending.remove(&ticket).map(|_| reply);
        }
        let pending = self.pending.get_mut(&ticket)?;
        pending.missing -= 1;
        pending.merged = Some(match pending.merged.take() {
            None => reply,
            Some(before) => Reply { verb: merge(before.verb, reply.verb), ..reply },
        });
        if pending.missing == 0 { self.pending.remove(&ticket)?.merged } else { None }
    }
}

/// One store's refusal is the node's, at once: the others may take long to answer.
fn is_refusal(verb: &ReplyVerb) -> bool {
    match verb {
        ReplyVerb::Unavailable(_) | ReplyVerb::ReadSuperseded(_) | ReplyVerb::PreAcceptNack(_) => true,
        ReplyVerb::StableReply(reply) => !matches!(reply.outcome, CommitOutcome::Ok | CommitOutcome::AlreadyDone),
        ReplyVerb::RecoverNack(nack) => nack.refusal != RecoverRefusal::Retired,
        _ => false,
    }
}

/// Reduces two answers to the same request; the table of [SPEC 2.3].
fn merge(one: ReplyVerb, other: ReplyVerb) -> ReplyVerb {
    match (one, other) {
        (ReplyVerb::PreAcceptOk(a), ReplyVerb::PreAcceptOk(b)) => ReplyVerb::PreAcceptOk(merge_votes(a, b)),
        (ReplyVerb::AcceptReply(a), ReplyVerb::AcceptReply(b)) => ReplyVerb::AcceptReply(AcceptReply {
            outcome: a.outcome.max(b.outcome),
            promised: a.promised.max(b.promised),
            deps: a.deps.union(&b.deps),
            committed_at: a.committed_at.or(b.committed_at),
        }),
        (ReplyVerb::CommitReply(a), ReplyVerb::CommitReply(b)) => {
            ReplyVerb::CommitReply(if a.outcome >= b.outcome { a } else { b })
        }
        (ReplyVerb::StableReply(a), ReplyVerb::StableReply(b)) => {
            ReplyVerb::StableReply(if a.outcome >= b.outcome { a } else { b })
        }
        (ReplyVerb::ReadOk(a), ReplyVerb::ReadOk(b)) => ReplyVerb::ReadOk(merge_data(a, b)),
        (ReplyVerb::ApplyReply(a), ReplyVerb::ApplyReply(b)) => ReplyVerb::ApplyReply(merge_applied(a, b)),
        (ReplyVerb::RecoverOk(a), ReplyVerb::RecoverOk(b)) => ReplyVerb::RecoverOk(merge_recover(a, b)),
        (ReplyVerb::RecoverNack(RecoverNack { .. }), ok @ ReplyVerb::RecoverOk(_)) => ok,
        (ok @ ReplyVerb::RecoverOk(_), ReplyVerb::RecoverNack(RecoverNack { .. })) => ok,
        (ReplyVerb::InvalidateReply(a), ReplyVerb::InvalidateReply(b)) => {
            ReplyVerb::InvalidateReply(merge_invalidate(a, b))
        }
        (ReplyVerb::CheckStatusReply(mut a), ReplyVerb::CheckStatusReply(b)) => {
            a.slices.extend(b.slices);
            ReplyVerb::CheckStatusReply(a)
        }
        // answers of different shape to one request: one of them refuses, and was let through before
        (one, _) => one,
    }
}

fn merge_votes(a: PreAcceptOk, b: PreAcceptOk) -> PreAcceptOk {
    PreAcceptOk {
        witnessed_at: a.witnessed_at.merge_max(b.witnessed_at),
        rejected: a.rejected || b.rejected,
        soft_reject: a.soft_reject.or(b.soft_reject),
        deps: a.deps.union(&b.deps),
        deps_applied: a.deps_applied && b.deps_applied,
    }
}

fn merge_data(a: ReadOk, b: ReadOk) -> ReadOk {
    let mut data = a.data;
    data.extend(b.data);
    data.sort_by(|one, next| one.0.cmp(&next.0));
    ReadOk { data }
}

fn merge_applied(a: ApplyReply, b: ApplyReply) -> ApplyReply {
    let rank = |outcome| match outcome {
        ApplyOutcome::AlreadyDone => 0,
        ApplyOutcome::Applied => 1,
        ApplyOutcome::Stored => 2,
        ApplyOutcome::Insufficient => 3,
    };
    let outcome = if rank(a.outcome) >= rank(b.outcome) { a.outcome } else { b.outcome };
    ApplyReply { outcome, race: a.race || b.race }
}

fn merge_recover(a: RecoverOk, b: RecoverOk) -> RecoverOk {
    let a_is_higher = a.status.rank(a.accepted) >= b.status.rank(b.accepted);
    let (high, low) = if a_is_higher { (a, b) } else { (b, a) };
    let is_vote = high.status == Status::PreAccepted;
    let mut latest = high.latest;
    latest.merge(&low.latest);
    RecoverOk {
        status: high.status,
        accepted: high.accepted,
        execute_at: if is_vote { merge_witnessed(high.execute_at, low.execute_at) } else { high.execute_at },
        latest,
        accepts_fast_path: high.accepts_fast_path && low.accepts_fast_path,
        coordinator_vote: high.coordinator_vote && low.coordinator_vote,
        superseding_rejects: high.superseding_rejects || low.superseding_rejects,
        wait: high.wait.union(&low.wait),
        no_wait: high.no_wait.into_iter().chain(low.no_wait).collect(),
        coordinator_rejects: high.coordinator_rejects.union(&low.coordinator_rejects),
        outcome: high.outcome.or(low.outcome),
    }
}

fn merge_witnessed(a: Option<Timestamp>, b: Option<Timestamp>) -> Option<Timestamp> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.merge_max(b)),
        (one, other) => one.or(other),
    }
}

fn merge_invalidate(a: InvalidateReply, b: InvalidateReply) -> InvalidateReply {
    let a_is_higher = a.status.rank(a.accepted) >= b.status.rank(b.accepted);
    let (high, low) = if a_is_higher { (a, b) } else { (b, a) };
    InvalidateReply {
        is_promised: high.is_promised && low.is_promised,
        promised: high.promised.max(low.promised),
        status: high.status,
        accepted: high.accepted,
        accepts_fast_path: high.accepts_fast_path && low.accepts_fast_path,
        route: high.route.or(low.route),
        txn: high.txn.or(low.txn),
    }
}
