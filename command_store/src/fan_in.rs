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

#[cfg(test)]
mod tests {
    use super::*;
    use protocol::message::{
        AcceptOutcome, Backlog, BeginRecovery, CheckStatus, CommitReply, PreAcceptNack, ReadSuperseded, StableReply,
        Unavailable,
    };
    use protocol::{
        Ballot, Blob, Bytes, DepSet, Deps, Epoch, Hlc, LatestAt, LatestDeps, Participants, Scope, TableId, Token, Txn,
        TxnId, TxnShape,
    };

    fn key(token: i64) -> Key {
        Key::with_token(3, Token(token), TableId(1), b"k")
    }

    /// A key of the first store and one of the second.
    fn both() -> Vec<Key> {
        vec![key(-5), key(5)]
    }

    fn id(hlc: u64) -> TxnId {
        TxnId::new(Epoch(1), Hlc(hlc), NodeId(1), TxnShape::default())
    }

    fn ballot(hlc: u64) -> Ballot {
        Ballot::new(Epoch(1), Hlc(hlc), NodeId(1))
    }

    fn deps(token: i64, hlcs: &[u64]) -> Deps {
        Deps::from_sets(vec![(key(token), DepSet::stable(hlcs.iter().map(|hlc| id(*hlc))))])
    }

    fn begin() -> Verb {
        Verb::BeginRecovery(BeginRecovery { ballot: ballot(1), txn: Txn { body: Blob::default() } })
    }

    fn reply(verb: ReplyVerb) -> Reply {
        Reply { txn_id: id(9), ballot: ballot(1), verb }
    }

    /// The tickets under which the stores get a request.
    fn spread(fan_in: &mut FanIn, keys: Vec<Key>, verb: Verb) -> Vec<(StoreId, Ticket)> {
        let request = Request { txn_id: id(9), scope: Scope::Part(Participants::of_keys(keys)), verb };
        let mut delivered = Vec::new();
        fan_in.spread(
            NodeId(2),
            request,
            |_| true,
            |store, input| match input {
                StoreInput::Request { ticket, .. } => delivered.push((store, ticket)),
                other => panic!("a request, not {other:?}"),
            },
        );
        delivered
    }

    /// What two stores' answers come to, whichever is first.
    fn reduced(one: ReplyVerb, other: ReplyVerb) -> ReplyVerb {
        let in_order = |first: &ReplyVerb, second: &ReplyVerb| {
            let mut fan_in = FanIn::new(Slices::new(2));
            let ticket = spread(&mut fan_in, both(), begin())[0].1;
            let early = fan_in.reduce(ticket, reply(first.clone()));
            let late = fan_in.reduce(ticket, reply(second.clone()));
            assert!(early.is_none() || late.is_none(), "one answer only");
            early.or(late).expect("an answer").verb
        };
        let result = in_order(&one, &other);
        assert_eq!(in_order(&other, &one), result, "the order of the stores' answers does not matter");
        result
    }

    #[test]
    fn a_request_to_one_store_bypasses_the_reduction() {
        let mut fan_in = FanIn::new(Slices::new(2));
        assert_eq!(spread(&mut fan_in, vec![key(5), key(6)], begin()), [(StoreId(1), SINGLE)]);
        let answer = reply(ReplyVerb::ReadSuperseded(ReadSuperseded {}));
        assert_eq!(fan_in.reduce(SINGLE, answer.clone()), Some(answer));
    }

    #[test]
    fn nothing_leaves_before_every_store_has_answered() {
        let mut fan_in = FanIn::new(Slices::new(2));
        let delivered = spread(&mut fan_in, both(), Verb::CheckStatus(CheckStatus { ballot: ballot(1) }));
        assert_eq!(delivered.iter().map(|(store, _)| *store).collect::<Vec<_>>(), [StoreId(0), StoreId(1)]);
        let ok = || reply(ReplyVerb::CommitReply(CommitReply { outcome: CommitOutcome::Ok, promised: ballot(1) }));
        assert_eq!(fan_in.reduce(delivered[0].1, ok()), None);
        assert_eq!(fan_in.reduce(delivered[1].1, ok()), Some(ok()));
        assert_eq!(fan_in.reduce(delivered[1].1, ok()), None, "answered already");
    }

    #[test]
    fn spec_2_3_one_nack_is_the_nodes_at_once() {
        let nack = ReplyVerb::PreAcceptNack(PreAcceptNack { promised: ballot(3) });
        let ok = ReplyVerb::PreAcceptOk(vote(9, false, true, deps(-5, &[])));
        assert_eq!(reduced(ok, nack.clone()), nack);
        let unavailable = ReplyVerb::Unavailable(Unavailable { why: String::new() });
        assert_eq!(reduced(ReplyVerb::PreAcceptOk(vote(9, false, true, Deps::NONE)), unavailable.clone()), unavailable);
    }

    fn vote(hlc: u64, rejected: bool, deps_applied: bool, deps: Deps) -> PreAcceptOk {
        let soft_reject = rejected.then(Backlog::default);
        PreAcceptOk { witnessed_at: id(hlc).as_timestamp(), rejected, soft_reject, deps, deps_applied }
    }

    #[test]
    fn spec_2_3_votes_take_the_highest_time_every_mark_and_all_deps() {
        let one = ReplyVerb::PreAcceptOk(vote(9, false, true, deps(-5, &[1])));
        let other = ReplyVerb::PreAcceptOk(vote(12, true, false, deps(5, &[2])));
        let all = deps(-5, &[1]).union(&deps(5, &[2]));
        assert_eq!(reduced(one, other), ReplyVerb::PreAcceptOk(vote(12, true, false, all)));
    }

    fn taken(outcome: AcceptOutcome, promised: Option<Ballot>, deps: Deps) -> ReplyVerb {
        ReplyVerb::AcceptReply(AcceptReply { outcome, promised, deps, committed_at: None })
    }

    #[test]
    fn spec_2_3_proposals_end_as_at_the_worst_store() {
        use AcceptOutcome::*;
        let order = [Success, AlreadyDone, Superseded, RejectedBallot, Insufficient, Retired, Truncated];
        let all = deps(-5, &[1]).union(&deps(5, &[2]));
        for (rank, worse) in order.into_iter().enumerate() {
            for better in &order[..=rank] {
                let one = taken(*better, Some(ballot(2)), deps(-5, &[1]));
                let other = taken(worse, Some(ballot(3)), deps(5, &[2]));
                assert_eq!(reduced(one, other), taken(worse, Some(ballot(3)), all.clone()));
            }
        }
    }

    #[test]
    fn spec_2_3_decisions_end_as_at_the_worst_store() {
        use CommitOutcome::*;
        let commit = |outcome| ReplyVerb::CommitReply(CommitReply { outcome, promised: ballot(1) });
        let stable = |outcome| ReplyVerb::StableReply(StableReply { outcome, promised: ballot(1) });
        for nack in [Insufficient, Superseded, Rejected] {
            for good in [Ok, AlreadyDone] {
                assert_eq!(reduced(commit(good), commit(nack)), commit(nack));
                assert_eq!(reduced(stable(good), stable(nack)), stable(nack));
            }
        }
        let counts_as_ok = |verb| match verb {
            ReplyVerb::CommitReply(CommitReply { outcome, .. })
            | ReplyVerb::StableReply(StableReply { outcome, .. }) => {
                matches!(outcome, Ok | AlreadyDone)
            }
            _ => false,
        };
        assert!(counts_as_ok(reduced(commit(Ok), commit(AlreadyDone))));
        assert!(counts_as_ok(reduced(stable(Ok), stable(AlreadyDone))));
    }

    #[test]
    fn spec_2_3_data_is_merged_by_key_and_one_superseded_store_refuses() {
        let read = |tokens: &[i64]| {
            let data = tokens.iter().map(|token| (key(*token), Bytes::copy_of(&[*token as u8]))).collect();
            ReplyVerb::ReadOk(ReadOk { data })
        };
        assert_eq!(reduced(read(&[5, 7]), read(&[-5])), read(&[-5, 5, 7]));
        let superseded = ReplyVerb::ReadSuperseded(ReadSuperseded {});
        assert_eq!(reduced(read(&[5]), superseded.clone()), superseded);
    }

    #[test]
    fn spec_2_3_outcomes_are_applied_if_all_are_and_marks_add_up() {
        let apply = |outcome, race| ReplyVerb::ApplyReply(ApplyReply { outcome, race });
        let rows = [
            (ApplyOutcome::AlreadyDone, ApplyOutcome::Applied, ApplyOutcome::Applied),
            (ApplyOutcome::AlreadyDone, ApplyOutcome::AlreadyDone, ApplyOutcome::AlreadyDone),
            (ApplyOutcome::Applied, ApplyOutcome::Stored, ApplyOutcome::Stored),
            (ApplyOutcome::AlreadyDone, ApplyOutcome::Insufficient, ApplyOutcome::Insufficient),
            (ApplyOutcome::Stored, ApplyOutcome::Insufficient, ApplyOutcome::Insufficient),
        ];
        for (one, other, node) in rows {
            assert_eq!(reduced(apply(one, false), apply(other, false)), apply(node, false));
            assert_eq!(reduced(apply(one, true), apply(other, false)), apply(node, true), "a race at one store is one");
        }
    }

    fn testimony(status: Status, accepted: Ballot, at: u64, token: i64) -> RecoverOk {
        let entry = LatestAt { local: DepSet::stable([id(at)]), ..LatestAt::default() };
        RecoverOk {
            status,
            accepted,
            execute_at: Some(id(at).as_timestamp()),
            latest: LatestDeps::from_entries(vec![(key(token), entry)]),
            accepts_fast_path: true,
            coordinator_vote: false,
            superseding_rejects: false,
            wait: deps(token, &[at]),
            no_wait: vec![id(at)],
            coordinator_rejects: deps(token, &[at]),
            outcome: None,
        }
    }

    fn merged(one: RecoverOk, other: RecoverOk) -> RecoverOk {
        let in_order = |a: &RecoverOk, b: &RecoverOk| {
            let verb = merge(ReplyVerb::RecoverOk(a.clone()), ReplyVerb::RecoverOk(b.clone()));
            let ReplyVerb::RecoverOk(mut ok) = verb else { panic!("two promises make one, not {verb:?}") };
            ok.no_wait.sort_unstable();
            ok
        };
        assert_eq!(in_order(&one, &other), in_order(&other, &one));
        in_order(&one, &other)
    }

    #[test]
    fn spec_2_3_two_testimonies_are_one_over_the_keys_of_both() {
        let (one, other) = (Status::PreAccepted, Status::PreAccepted);
        let node = merged(testimony(one, Ballot::ZERO, 3, -5), testimony(other, Ballot::ZERO, 4, 5));
        assert_eq!(node.latest.entries().len(), 2);
        assert_eq!(node.wait, deps(-5, &[3]).union(&deps(5, &[4])));
        assert_eq!(node.coordinator_rejects, node.wait);
        assert_eq!(node.no_wait, [id(3), id(4)]);
    }

    #[test]
    fn spec_2_3_the_time_of_two_votes_is_the_later_and_of_a_proposal_its_own() {
        let votes = merged(
            testimony(Status::PreAccepted, Ballot::ZERO, 3, -5),
            testimony(Status::PreAccepted, Ballot::ZERO, 4, 5),
        );
        assert_eq!(votes.execute_at, Some(id(4).as_timestamp()));
        let rows = [
            (Status::PreAccepted, Ballot::ZERO, Status::AcceptedSlow, ballot(1)),
            (Status::AcceptedSlow, ballot(1), Status::AcceptedInvalidate, ballot(2)),
            (Status::AcceptedSlow, ballot(9), Status::Committed, ballot(1)),
            (Status::Committed, ballot(9), Status::Stable, ballot(1)),
        ];
        for (low, low_ballot, high, high_ballot) in rows {
            let node = merged(testimony(low, low_ballot, 4, -5), testimony(high, high_ballot, 3, 5));
            assert_eq!((node.status, node.accepted), (high, high_ballot));
            assert_eq!(node.execute_at, Some(id(3).as_timestamp()), "that of {high:?}, though {low:?} is later");
        }
    }

    #[test]
    fn spec_2_3_one_store_that_rejects_the_fast_path_speaks_for_the_node() {
        let vote = |at| testimony(Status::PreAccepted, Ballot::ZERO, at, at as i64);
        let slow = RecoverOk { accepts_fast_path: false, ..vote(3) };
        assert!(!merged(slow, vote(4)).accepts_fast_path);
        let witness = RecoverOk { superseding_rejects: true, ..vote(3) };
        assert!(merged(witness, vote(4)).superseding_rejects);
        let both = merged(vote(3), vote(4));
        assert!(both.accepts_fast_path && !both.superseding_rejects);
    }

    #[test]
    fn spec_2_3_a_retired_store_leaves_the_testimony_to_the_other_and_a_refusal_is_the_nodes() {
        let nack = |refusal| ReplyVerb::RecoverNack(RecoverNack { refusal, promised: ballot(1) });
        let ok = || ReplyVerb::RecoverOk(testimony(Status::PreAccepted, Ballot::ZERO, 3, -5));
        assert_eq!(reduced(ok(), nack(RecoverRefusal::Retired)), ok());
        for refusal in [RecoverRefusal::Truncated, RecoverRefusal::Rejected] {
            assert_eq!(reduced(ok(), nack(refusal)), nack(refusal));
            assert_eq!(reduced(nack(RecoverRefusal::Retired), nack(refusal)), nack(refusal));
        }
    }

    #[test]
    fn spec_2_3_one_store_that_does_not_promise_refuses_the_invalidation() {
        let answer = |is_promised, promised, status, accepts_fast_path| InvalidateReply {
            is_promised,
            promised,
            status,
            accepted: Ballot::ZERO,
            accepts_fast_path,
            route: None,
            txn: None,
        };
        let one = answer(true, ballot(1), Status::PreAccepted, true);
        let other = answer(false, ballot(7), Status::AcceptedSlow, false);
        let node = answer(false, ballot(7), Status::AcceptedSlow, false);
        let reduced = |a, b| reduced(ReplyVerb::InvalidateReply(a), ReplyVerb::InvalidateReply(b));
        assert_eq!(reduced(one.clone(), other), ReplyVerb::InvalidateReply(node));
        assert_eq!(reduced(one.clone(), one.clone()), ReplyVerb::InvalidateReply(one));
    }
}
