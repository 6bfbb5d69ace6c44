//! The decision procedure of a recovery, branch by branch, among three nodes. *Source*: [SPEC 7.3, 7.4].

use crate::stage::*;
use protocol::message::*;
use protocol::*;

const X: u64 = 9_000;

/// The transaction's decided or proposed time.
fn time() -> Timestamp {
    Timestamp::new(Epoch(1), Hlc(X + 50), 0, NodeId(9))
}

fn at(known: DepsKnown, ballot: Ballot, coordinated: &[TxnId], local: &[TxnId]) -> LatestAt {
    LatestAt { known, ballot, coordinated: set(coordinated), local: set(local) }
}

/// A promise over the first key.
fn ok(status: Status, accepted: Ballot, execute_at: Timestamp, latest: LatestAt) -> RecoverOk {
    let is_vote = status == Status::PreAccepted;
    RecoverOk {
        status,
        accepted,
        execute_at: Some(execute_at),
        latest: LatestDeps::from_entries(vec![(key(1), latest)]),
        accepts_fast_path: execute_at == id(X).as_timestamp(),
        coordinator_vote: false,
        superseding_rejects: !is_vote,
        wait: Deps::NONE,
        no_wait: Vec::new(),
        coordinator_rejects: Deps::NONE,
        outcome: None,
    }
}

fn voted(local: &[TxnId]) -> RecoverOk {
    let latest = at(DepsKnown::Unknown, Ballot::ZERO, &[], local);
    ok(Status::PreAccepted, Ballot::ZERO, id(X).as_timestamp(), latest)
}

fn accepted(at_ballot: Ballot, coordinated: &[TxnId]) -> RecoverOk {
    ok(Status::AcceptedSlow, at_ballot, time(), at(DepsKnown::Proposed, at_ballot, coordinated, &[id(77)]))
}

fn accepted_invalidate(at_ballot: Ballot) -> RecoverOk {
    let latest = at(DepsKnown::Unknown, at_ballot, &[], &[]);
    ok(Status::AcceptedInvalidate, at_ballot, time(), latest)
}

fn committed(at_ballot: Ballot, coordinated: &[TxnId]) -> RecoverOk {
    ok(Status::Committed, at_ballot, time(), at(DepsKnown::Committed, at_ballot, coordinated, &[]))
}

fn start() -> Stage {
    Stage::recovery(id(X), vec![key(1)])
}

/// What two promises of three come to.
fn judged(stage: &mut Stage, one: RecoverOk, other: RecoverOk) -> Done {
    assert!(stage.reply(1, ReplyVerb::RecoverOk(one)).nothing(), "one promise is no quorum");
    stage.reply(2, ReplyVerb::RecoverOk(other))
}

fn is_not_accept(done: &Done, at_ballot: Ballot) -> bool {
    matches!(done.verb(), Verb::NotAccept(NotAccept { ballot }) if *ballot == at_ballot)
}

#[test]
fn spec_7_3_invalidated_anywhere_is_spread() {
    let mut stage = start();
    let mut invalidated = voted(&[]);
    invalidated.status = Status::Invalidated;
    let done = judged(&mut stage, accepted(ballot(1), &[]), invalidated);
    assert!(done.notes(Note::Recovery(RecoveryBranch::FoundInvalidated)) && done.sends("CommitInvalidate"));
}

#[test]
fn spec_7_3_an_accepted_invalidation_is_finished_at_the_own_ballot() {
    let mut stage = start();
    let done = judged(&mut stage, accepted(ballot(1), &[]), accepted_invalidate(ballot(2)));
    assert!(is_not_accept(&done, stage.ballot), "the higher ballot wins in the accept phase");
    stage.accepted(1);
    assert!(stage.accepted(2).sends("CommitInvalidate"));
}

#[test]
fn spec_7_3_an_accepted_proposal_is_proposed_again_without_local_deps() {
    let mut stage = start();
    let done = judged(&mut stage, accepted_invalidate(ballot(1)), accepted(ballot(2), &[id(5)]));
    let accept = done.accept();
    assert_eq!((accept.kind, accept.ballot, accept.execute_at), (AcceptKind::Slow, stage.ballot, time()));
    assert_eq!(accept.deps, deps(&[id(5)]));
}

#[test]
fn spec_7_3_of_two_proposals_the_one_at_the_higher_ballot_is_followed() {
    let mut stage = start();
    let done = judged(&mut stage, accepted(ballot(2), &[id(6)]), accepted(ballot(1), &[id(5)]));
    assert_eq!(done.accept().deps, deps(&[id(6)]));
}

#[test]
fn spec_2_1_a_commit_is_followed_whatever_ballot_an_invalidation_was_accepted_at() {
    let mut stage = start();
    let done = judged(&mut stage, accepted_invalidate(ballot(9)), committed(ballot(1), &[id(5)]));
    assert!(done.notes(Note::Recovery(RecoveryBranch::FoundCommitted)));
    let commit = done.commit();
    assert_eq!((commit.ballot, commit.execute_at), (stage.ballot, time()));
    assert_eq!((&commit.deps, commit.txn.is_some()), (&deps(&[id(5)]), true));
    stage.committed(1, CommitOutcome::Ok);
    assert_eq!(stage.committed(3, CommitOutcome::Ok).stable().kind, StableKind::Full, "then executed");
}

#[test]
fn spec_7_3_final_deps_are_executed_with() {
    let mut stage = start();
    let stable = ok(Status::Stable, ballot(1), time(), at(DepsKnown::Known, ballot(1), &[id(5)], &[]));
    let done = judged(&mut stage, stable, voted(&[]));
    assert!(done.notes(Note::Recovery(RecoveryBranch::FoundStable)));
    let stable = done.stable();
    assert_eq!((stable.kind, stable.execute_at, &stable.deps), (StableKind::Full, time(), &deps(&[id(5)])));
}

#[test]
fn spec_7_3_an_outcome_is_spread_and_not_computed_again() {
    let mut stage = start();
    let outcome = Outcome { writes: vec![(key(1), Bytes::copy_of(b"theirs"))], result: Blob::default() };
    let latest = at(DepsKnown::Known, ballot(1), &[id(5)], &[]);
    let applied = RecoverOk { outcome: Some(outcome.clone()), ..ok(Status::Applied, ballot(1), time(), latest) };
    let done = judged(&mut stage, voted(&[]), applied);
    let Verb::Apply(apply) = done.verb() else { panic!("an outcome, not {done:?}") };
    assert_eq!((&apply.outcome, apply.execute_at, &apply.deps), (&outcome, time(), &deps(&[id(5)])));
}

#[test]
fn spec_7_4_keys_without_committed_deps_are_proposed_alone_at_the_decided_time() {
    let keys = [key(1), key(2)];
    let mut stage = Stage::recovery(id(X), keys.to_vec());
    let mut partly = committed(ballot(1), &[id(5)]);
    let bare = at(DepsKnown::Unknown, Ballot::ZERO, &[], &[id(6)]);
    partly.latest = LatestDeps::from_entries(vec![
        (key(1), at(DepsKnown::Committed, ballot(1), &[id(5)], &[])),
        (key(2), bare.clone()),
    ]);
    let mut other = voted(&[]);
    other.latest = LatestDeps::from_entries(vec![(key(1), bare.clone()), (key(2), bare)]);
    let done = judged(&mut stage, partly, other);
    assert!(done.notes(Note::Recovery(RecoveryBranch::PartialDeps)));
    assert_eq!((done.accept().execute_at, done.sent()[0].1.scope.keys()), (time(), &keys[1..]));
    stage.accepted(1);
    let commit = stage.accepted(2);
    assert_eq!(commit.commit().deps.at(&key(1)), Some(&set(&[id(5)])), "committed ones stay");
    assert_eq!(commit.commit().deps.at(&key(2)), Some(&set(&[id(6)])));
}

#[test]
fn spec_7_3_bare_keys_wait_for_earlier_decisions_and_ignore_what_they_say() {
    let mut stage = Stage::recovery(id(X), vec![key(1), key(2)]);
    let mut partly = accepted(ballot(1), &[id(5)]);
    partly.latest = LatestDeps::from_entries(vec![
        (key(1), at(DepsKnown::Proposed, ballot(1), &[id(5)], &[])),
        (key(2), LatestAt::default()),
    ]);
    let wait = Deps::from_sets(vec![(key(1), set(&[id(3)])), (key(2), set(&[id(4)]))]);
    let mut other = voted(&[]);
    (other.wait, other.latest) = (wait, LatestDeps::default());
    let done = judged(&mut stage, partly, other);
    assert!(done.notes(Note::Recovery(RecoveryBranch::AwaitedBareKeys)));
    let Verb::RecoverAwait(wait) = done.verb() else { panic!("a wait, not {done:?}") };
    assert_eq!((wait.awaited, wait.until), (id(4), AwaitUntil::HasDecidedExecuteAt));
    assert_eq!(done.sent()[0].1.scope.keys(), &[key(2)]);
    let done = stage.reply(1, verdict(id(4), AwaitVerdict::Reject, 2));
    assert_eq!(done.accept().execute_at, time(), "only completion matters");
}

fn verdict(awaited: TxnId, verdict: AwaitVerdict, at_key: u8) -> ReplyVerb {
    let covering = Participants::of_keys(vec![key(at_key)]);
    ReplyVerb::RecoverAwaitReply(RecoverAwaitReply { awaited, verdict, covering })
}

#[test]
fn spec_7_3_votes_for_the_id_are_proposed_at_the_id_with_all_local_deps() {
    let mut stage = start();
    let done = judged(&mut stage, voted(&[id(5)]), voted(&[id(6)]));
    assert!(done.notes(Note::Recovery(RecoveryBranch::ProposedAtId)));
    let accept = done.accept();
    assert_eq!((accept.kind, accept.execute_at, accept.ballot), (AcceptKind::Slow, stage.at_id(), stage.ballot));
    assert_eq!(accept.deps, deps(&[id(5), id(6)]));
}

#[test]
fn spec_7_3_more_votes_against_than_the_fast_path_bears_invalidate() {
    let mut stage = start();
    let against = RecoverOk { accepts_fast_path: false, ..voted(&[]) };
    let done = judged(&mut stage, voted(&[]), against);
    assert!(done.notes(Note::Recovery(RecoveryBranch::RejectedByVotes)));
    assert!(is_not_accept(&done, stage.ballot), "of three every vote is needed");
}

#[test]
fn spec_7_3_a_later_conflict_that_did_not_witness_it_invalidates() {
    let mut stage = start();
    let witness = RecoverOk { superseding_rejects: true, ..voted(&[]) };
    let done = judged(&mut stage, voted(&[]), witness);
    assert!(done.notes(Note::Recovery(RecoveryBranch::RejectedByWitness)));
    assert!(is_not_accept(&done, stage.ballot));
}

/// Waits for `id(3)` at the first key before it can judge.
fn awaiting() -> Stage {
    let mut stage = start();
    let done = judged(&mut stage, RecoverOk { wait: deps(&[id(3)]), ..voted(&[id(5)]) }, voted(&[]));
    let Verb::RecoverAwait(wait) = done.verb() else { panic!("a wait, not {done:?}") };
    assert_eq!((wait.awaited, wait.until), (id(3), AwaitUntil::HasStableDeps));
    stage
}

#[test]
fn spec_7_3_an_earlier_conflict_is_awaited_then_proposed_at_the_id() {
    let mut stage = awaiting();
    let done = stage.reply(3, verdict(id(3), AwaitVerdict::Accept, 1));
    assert!(done.notes(Note::Recovery(RecoveryBranch::AwaitedThenProposed)));
    assert_eq!((done.accept().execute_at, &done.accept().deps), (stage.at_id(), &deps(&[id(5)])));
}

#[test]
fn spec_7_3_an_awaited_conflict_that_executes_later_without_it_invalidates() {
    let mut stage = awaiting();
    let done = stage.reply(3, verdict(id(3), AwaitVerdict::Reject, 1));
    assert!(is_not_accept(&done, stage.ballot));
}

#[test]
fn spec_7_3_an_awaited_conflict_that_cannot_tell_starts_over_at_a_higher_ballot() {
    let mut stage = awaiting();
    let done = stage.reply(3, verdict(id(3), AwaitVerdict::Unknown, 1));
    assert_eq!(done.verb().name(), "BeginRecovery");
    assert!(done.verb().ballot() > stage.ballot);
}

#[test]
fn spec_7_2_a_conflict_decided_at_one_replica_is_not_awaited_for_another() {
    let mut stage = start();
    let decided = RecoverOk { no_wait: vec![id(3)], ..voted(&[]) };
    let done = judged(&mut stage, RecoverOk { wait: deps(&[id(3)]), ..voted(&[]) }, decided);
    assert!(done.notes(Note::Recovery(RecoveryBranch::ProposedAtId)));
}

#[test]
fn spec_7_1_any_refusal_stops_the_recovery() {
    let mut stage = start();
    stage.reply(1, ReplyVerb::RecoverOk(voted(&[])));
    let refusal = RecoverNack { refusal: RecoverRefusal::Rejected, promised: ballot(99) };
    assert!(stage.reply(2, ReplyVerb::RecoverNack(refusal)).notes(Note::Preempted));
    assert!(stage.reply(3, ReplyVerb::RecoverOk(voted(&[]))).nothing());
}

#[test]
fn spec_7_1_one_node_that_promises_twice_is_no_quorum_and_a_retired_one_counts() {
    let mut stage = start();
    stage.reply(1, ReplyVerb::RecoverOk(voted(&[])));
    assert!(stage.reply(1, ReplyVerb::RecoverOk(voted(&[]))).nothing());
    let retired = RecoverNack { refusal: RecoverRefusal::Retired, promised: Ballot::ZERO };
    assert!(stage.reply(2, ReplyVerb::RecoverNack(retired)).sends("Accept"));
}
