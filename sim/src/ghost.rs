//! What an all-knowing observer remembers: it survives every crash, and nothing may contradict it.
//!
//! Invariants are named as in reliability.md 4.6. Quorum sizes are computed here from first principles, not taken from the code
//! under test.

use crate::report::Violation;
use command_store::Slices;
use protocol::message::{AcceptOutcome, CommitOutcome, Reply, ReplyVerb, Request, StableKind, Verb};
use protocol::{
    Ballot, CommandDiff, Deps, Key, NodeId, NodeSet, Outcome, Route, Status, StoreId, Timestamp, Topology, TxnId,
    VotingGroup,
};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// What became of a transaction anywhere.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Decision {
    Commit(Timestamp),
    Invalidate,
}

#[derive(Default)]
pub(crate) struct TxnGhost {
    pub(crate) route: Option<Route>,
    pub(crate) decided: Option<Decision>,
    /// A coordinator has chosen the fast or medium path: it executes at its id, whatever happens.
    is_decided_at_id: bool,
    voted: NodeSet,
    accepted: BTreeMap<Ballot, NodeSet>,
    committed: BTreeMap<Ballot, NodeSet>,
    /// Nodes that hold a commit or more.
    holders: NodeSet,
    pub(crate) outcome: Option<Outcome>,
    /// Final dependencies by store that holds them.
    pub(crate) stable: BTreeMap<(NodeId, StoreId), Deps>,
}

type At = (NodeId, StoreId);

/// The observer.
#[derive(Default)]
pub(crate) struct Ghost {
    pub(crate) txns: BTreeMap<TxnId, TxnGhost>,
    /// Highest promise each store has testified to.
    promised: BTreeMap<(At, TxnId), Ballot>,
    /// Stores that have testified to a vote for the id.
    fast_voters: BTreeSet<(At, TxnId)>,
    /// The vote each node has testified to.
    votes: BTreeMap<(NodeId, TxnId), (Timestamp, bool)>,
    /// Ids and ballots seen, with the request they were issued for.
    issued: BTreeMap<Timestamp, Issue>,
    applied: BTreeMap<At, BTreeSet<TxnId>>,
    last_write: BTreeMap<(At, Key), Timestamp>,
    /// Execution times each store has recorded, witnessed or decided.
    times: BTreeMap<At, BTreeMap<TxnId, Timestamp>>,
    pub(crate) violation: Option<Violation>,
    outcome_only: bool,
    place: Option<(Slices, Arc<Topology>)>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Issue {
    Id(u32),
    Ballot(TxnId, u32),
}

impl Ghost {
    pub(crate) fn new(outcome_only: bool, slices: Slices, topology: Arc<Topology>) -> Self {
        Self { outcome_only, place: Some((slices, topology)), ..Self::default() }
    }

    /// Records the first thing found. Checks of single steps can be switched off, to see what the outcome reveals.
    pub(crate) fn violate(&mut self, checker: &'static str, verdict: String) {
        const STEP_CHECKS: [&str; 6] = ["I5", "I6", "I7", "I8", "I20", "I22"];
        if self.violation.is_none() && !(self.outcome_only && STEP_CHECKS.contains(&checker)) {
            self.violation = Some(Violation { checker, verdict });
        }
    }

    fn txn(&mut self, id: TxnId) -> &mut TxnGhost {
        self.txns.entry(id).or_default()
    }

    // ---- coordinators -----------------------------------------------------------------------------------------------------

    /// A coordinator of `node` sends `request`; `incarnation` tells lives of the node apart.
    pub(crate) fn on_request(&mut self, node: NodeId, incarnation: u32, request: &Request, groups: &[VotingGroup]) {
        let id = request.txn_id;
        if let Some(route) = request.scope.route() {
            self.txn(id).route = Some(route.clone());
        }
        let ballot = request.verb.ballot();
        self.check_issued(node, incarnation, id, ballot, &request.verb);
        match &request.verb {
            Verb::Stable(stable) => self.on_stable_sent(id, stable.kind, ballot, groups),
            Verb::NotAccept(_) => self.on_invalidation_decided(id, groups),
            Verb::Accept(accept) if accept.execute_at < id.as_timestamp() => {
                self.violate("I18", format!("{id} proposed at {}, before its id", accept.execute_at));
            }
            _ => {}
        }
    }

    fn check_issued(&mut self, node: NodeId, incarnation: u32, id: TxnId, ballot: Ballot, verb: &Verb) {
        let issue = match verb {
            Verb::PreAccept(_) => (id.as_timestamp(), Issue::Id(incarnation)),
            _ if !ballot.is_zero() && ballot != Ballot::MAX => (ballot.as_timestamp(), Issue::Ballot(id, incarnation)),
            _ => return,
        };
        let hlc_only = Timestamp::new(issue.0.epoch(), issue.0.hlc(), 0, node);
        let before = *self.issued.entry(hlc_only).or_insert(issue.1);
        if before != issue.1 {
            self.violate("I11", format!("{node} issued {} twice: {before:?} and {:?}", issue.0, issue.1));
        }
    }

    fn on_stable_sent(&mut self, id: TxnId, kind: StableKind, ballot: Ballot, groups: &[VotingGroup]) {
        let txn = self.txn(id);
        let none = NodeSet::new();
        let accepted = txn.accepted.get(&ballot).unwrap_or(&none);
        let committed = txn.committed.get(&ballot).unwrap_or(&none);
        let majority = |group: &VotingGroup, nodes: &NodeSet| nodes.count_in(&group.nodes) * 2 > group.nodes.len();
        let is_backed = groups.iter().all(|group| match kind {
            StableKind::Fast => txn.voted.count_in(&group.electorate) >= first_principles_fast_quorum(group),
            StableKind::Medium => majority(group, &txn.voted) && majority(group, accepted),
            StableKind::Slow => majority(group, accepted) && majority(group, committed),
            StableKind::Full => true,
        });
        let voted = txn.voted.clone();
        if matches!(kind, StableKind::Fast | StableKind::Medium) && ballot.is_zero() {
            txn.is_decided_at_id = true;
        }
        if !is_backed {
            self.violate("I8", format!("{id} goes {kind:?} at {ballot:?} with votes of {voted:?} only"));
        }
    }

    /// Somebody decided that `id` shall not execute. Harmless only if it is overtaken.
    fn on_invalidation_decided(&mut self, id: TxnId, groups: &[VotingGroup]) {
        let txn = self.txn(id);
        let is_overtaken = groups.iter().all(|group| txn.holders.count_in(&group.nodes) * 2 > group.nodes.len());
        if txn.is_decided_at_id && !is_overtaken {
            self.violate("I7", format!("{id} is decided at its id, and somebody decides to invalidate it"));
        }
    }

    // ---- replicas ---------------------------------------------------------------------------------------------------------

    /// A store lets `reply` go: what it testifies to binds it for ever.
    pub(crate) fn on_store_reply(&mut self, at: At, reply: &Reply) {
        let id = reply.txn_id;
        match &reply.verb {
            ReplyVerb::PreAcceptOk(ok) if ok.witnessed_at == id.as_timestamp() => {
                let promised = self.promise(at, id);
                if !promised.is_zero() && self.fast_voters.insert((at, id)) {
                    let verdict = format!("{} {} casts a fast vote for {id} after promising {promised:?}", at.0, at.1);
                    self.violate("I20", verdict);
                }
                self.fast_voters.insert((at, id));
            }
            ReplyVerb::AcceptReply(accept) if accept.outcome == AcceptOutcome::Success => {
                let promised = self.promise(at, id);
                if promised > reply.ballot {
                    let verdict =
                        format!("{} {} accepts {id} at {:?} after promising {promised:?}", at.0, at.1, reply.ballot);
                    self.violate("I5", verdict);
                }
                self.promised.insert((at, id), reply.ballot.max(promised));
            }
            ReplyVerb::RecoverOk(ok) if ok.status != Status::Invalidated => self.on_promise(at, id, reply.ballot),
            ReplyVerb::InvalidateReply(invalidate) if invalidate.is_promised => self.on_promise(at, id, reply.ballot),
            _ => {}
        }
    }

    fn promise(&self, at: At, id: TxnId) -> Ballot {
        self.promised.get(&(at, id)).copied().unwrap_or_default()
    }

    fn on_promise(&mut self, at: At, id: TxnId, ballot: Ballot) {
        let promised = self.promise(at, id);
        if promised > ballot {
            self.violate("I5", format!("{} {} promises {ballot:?} for {id} after {promised:?}", at.0, at.1));
        }
        self.promised.insert((at, id), ballot.max(promised));
    }

    /// `node` lets `reply` go, for all its stores.
    pub(crate) fn on_reply(&mut self, node: NodeId, reply: &Reply) {
        let id = reply.txn_id;
        match &reply.verb {
            ReplyVerb::PreAcceptOk(ok) => self.on_vote(node, id, ok.witnessed_at, ok.rejected),
            ReplyVerb::AcceptReply(accept) if accept.outcome == AcceptOutcome::Success => {
                self.txn(id).accepted.entry(reply.ballot).or_default().insert(node);
            }
            ReplyVerb::CommitReply(commit) => {
                if matches!(commit.outcome, CommitOutcome::Ok | CommitOutcome::AlreadyDone) {
                    self.txn(id).committed.entry(reply.ballot).or_default().insert(node);
                }
            }
            ReplyVerb::ReadOk(_) if self.txn(id).decided == Some(Decision::Invalidate) => {
                self.violate("I16", format!("{node} serves a read of {id}, which is invalidated"));
            }
            _ => {}
        }
    }

    fn on_vote(&mut self, node: NodeId, id: TxnId, witnessed_at: Timestamp, rejected: bool) {
        if witnessed_at == id.as_timestamp() {
            self.txn(id).voted.insert(node);
        }
        let before = *self.votes.entry((node, id)).or_insert((witnessed_at, rejected));
        if before != (witnessed_at, rejected) {
            let now = (witnessed_at, rejected);
            self.violate("I6", format!("{node} voted {before:?} for {id} before, and {now:?} now"));
        }
    }

    /// A store appends a delta.
    pub(crate) fn on_append(&mut self, at: At, id: TxnId, diff: &CommandDiff) {
        if let Some(route) = diff.scope.as_ref().and_then(|scope| scope.route()) {
            self.txn(id).route = Some(route.clone());
        }
        if let Some((_, deps)) = &diff.deps {
            self.check_deps(id, deps);
        }
        if diff.status == Some(Status::PreAccepted) && diff.execute_at == Some(id.as_timestamp()) {
            self.check_fast_vote(at, id);
        }
        self.record_time(at, id, diff);
        let Some(status) = diff.status else { return };
        match status {
            Status::Invalidated => self.decide(id, Decision::Invalidate, at),
            status if status >= Status::Committed => self.on_committed(at, id, status, diff),
            _ => {}
        }
    }

    fn on_committed(&mut self, at: At, id: TxnId, status: Status, diff: &CommandDiff) {
        if let Some(execute_at) = diff.execute_at {
            self.decide(id, Decision::Commit(execute_at), at);
        }
        self.txn(id).holders.insert(at.0);
        if status >= Status::Stable
            && let Some((_, deps)) = &diff.deps
        {
            self.txn(id).stable.insert(at, deps.clone());
        }
        if let Some(outcome) = &diff.outcome {
            let known = self.txn(id).outcome.get_or_insert_with(|| outcome.clone()).clone();
            if known != *outcome {
                self.violate("I10", format!("{id} has two outcomes: {known:?} and {outcome:?}"));
            }
        }
        if status == Status::Applied {
            self.on_applied(at, id);
        }
    }

    fn decide(&mut self, id: TxnId, decision: Decision, at: At) {
        let before = *self.txn(id).decided.get_or_insert(decision);
        if before != decision {
            self.violate("I1", format!("{id} is {before:?} somewhere and {decision:?} at {} {}", at.0, at.1));
        }
        if let Decision::Commit(time) = decision
            && time < id.as_timestamp()
        {
            self.violate("I18", format!("{id} executes at {time}, before its id"));
        }
    }

    fn check_deps(&mut self, id: TxnId, deps: &Deps) {
        for (_, set) in deps.sets() {
            for dep in set.iter() {
                let is_wrong = dep.id == id || !id.witnesses(dep.id) || (dep.unstable && dep.id > id);
                if is_wrong {
                    self.violate("I22", format!("{id} has the dependency {dep:?}"));
                }
            }
        }
    }

    fn is_at(&self, at: At, key: &Key) -> bool {
        self.place
            .as_ref()
            .is_some_and(|(slices, topology)| slices.store_of(key.routing) == at.1 && topology.replicates(at.0, key))
    }

    fn record_time(&mut self, at: At, id: TxnId, diff: &CommandDiff) {
        let times = self.times.entry(at).or_default();
        if diff.status == Some(Status::Invalidated) {
            times.remove(&id);
        } else if let Some(time) = diff.execute_at {
            times.insert(id, time);
        }
    }

    /// No transaction known here that shares a key may execute after the id that is voted for.
    fn check_fast_vote(&mut self, at: At, id: TxnId) {
        let shares =
            |other: &TxnId| match (&self.txns[&id].route, self.txns.get(other).and_then(|txn| txn.route.as_ref())) {
                (Some(own), Some(theirs)) => {
                    own.keys().iter().any(|key| theirs.keys().contains(key) && self.is_at(at, key))
                }
                _ => false,
            };
        let later = self
            .times
            .get(&at)
            .into_iter()
            .flatten()
            .find(|(other, time)| **other != id && **time > id.as_timestamp() && shares(other));
        if let Some((later, time)) = later {
            let verdict = format!("{} {} votes for {id} although {later} is at {time}", at.0, at.1);
            self.violate("I20", verdict);
        }
    }

    /// Everything decided that conflicts and executes earlier must be applied here before.
    fn on_applied(&mut self, at: At, id: TxnId) {
        let Some(Decision::Commit(time)) = self.txn(id).decided else { return };
        let own: Vec<Key> = self.own_keys(at, id);
        let applied = self.applied.entry(at).or_default();
        let is_missing = |(other, ghost): &(&TxnId, &TxnGhost)| {
            let earlier = matches!(ghost.decided, Some(Decision::Commit(other_time)) if other_time < time);
            let shares = ghost.route.as_ref().is_some_and(|route| own.iter().any(|key| route.keys().contains(key)));
            **other != id && earlier && shares && conflict(id, **other) && !applied.contains(other)
        };
        let missing = self.txns.iter().find(is_missing).map(|(other, _)| *other);
        applied.insert(id);
        if let Some(missing) = missing {
            self.violate("I4", format!("{} {} applies {id} before {missing}, which executes earlier", at.0, at.1));
        }
    }

    /// The keys of `id` at which this store has final dependencies: those it owns.
    fn own_keys(&self, at: At, id: TxnId) -> Vec<Key> {
        let deps = self.txns.get(&id).and_then(|txn| txn.stable.get(&at));
        deps.map_or_else(Vec::new, |deps| deps.sets().iter().map(|(key, _)| key.clone()).collect())
    }

    /// A store applies writes of a transaction executing at `time`.
    pub(crate) fn on_write(&mut self, at: At, key: &Key, time: Timestamp) {
        let last = self.last_write.entry((at, key.clone())).or_default();
        let before = std::mem::replace(last, time);
        if before >= time {
            self.violate("I3", format!("{} {} writes {key:?} at {time} after {before}", at.0, at.1));
        }
    }

    /// `node` lost what it had not synced: what it applied since is forgotten too, and applied again.
    pub(crate) fn on_restart<'a>(
        &mut self,
        node: NodeId,
        applied: impl Iterator<Item = (StoreId, BTreeSet<TxnId>)>,
        deltas: impl Iterator<Item = (StoreId, TxnId, &'a CommandDiff)>,
    ) {
        self.times.retain(|at, _| at.0 != node);
        deltas.for_each(|(store, id, diff)| self.record_time((node, store), id, diff));
        self.last_write.retain(|((of, _), _), _| *of != node);
        for (store, ids) in applied {
            self.applied.insert((node, store), ids);
        }
    }

    /// A client is told that `id` took effect.
    pub(crate) fn on_success(&mut self, id: TxnId) {
        if self.txn(id).decided == Some(Decision::Invalidate) {
            self.violate("I16", format!("a client is told that {id} took effect, and it is invalidated"));
        }
    }

    /// A client is told that `id` never takes effect.
    pub(crate) fn on_failure(&mut self, id: TxnId) {
        let txn = self.txn(id);
        let is_possible = txn.is_decided_at_id || matches!(txn.decided, Some(Decision::Commit(_)));
        if is_possible {
            self.violate("I16", format!("a client is told that {id} never takes effect, and it is committed"));
        }
    }
}

/// Whether the order of two transactions matters where they share a key.
pub(crate) fn conflict(one: TxnId, other: TxnId) -> bool {
    one.witnesses(other) || other.witnesses(one)
}

/// The smallest F for which any two fast quorums still share a member when f of their nodes are unreachable.
fn first_principles_fast_quorum(group: &VotingGroup) -> usize {
    let (n, e) = (group.nodes.len(), group.electorate.len());
    let f = (n - 1) / 2;
    (1..=e).find(|fast| 2 * fast > e + f && 2 * fast > n).unwrap_or(e)
}
