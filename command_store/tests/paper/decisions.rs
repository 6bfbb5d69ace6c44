//! Decisions, outcomes and invalidations. *Source*: [SPEC 2.3, 2.4].

use crate::stage::*;
use protocol::message::*;
use protocol::*;

const X: u64 = 9_000;

fn b0() -> Ballot {
    Ballot::ZERO
}

fn at_id() -> Timestamp {
    id(X).as_timestamp()
}

fn voted() -> Replica {
    let mut replica = Replica::new();
    replica.vote(id(X));
    replica
}

/// Committed at ballot 2, at the id.
fn committed() -> Replica {
    let mut replica = voted();
    replica.ask(id(X), commit(ballot(2), at_id(), deps(&[])));
    replica
}

fn stabilised() -> Replica {
    let mut replica = voted();
    replica.ask(id(X), stable(StableKind::Fast, b0(), at_id(), deps(&[])));
    replica
}

// Commit

#[test]
fn spec_2_4_commit_stores_time_deps_and_ballot() {
    let mut replica = voted();
    assert_eq!(replica.committed(id(X), commit(ballot(2), time(X + 5), deps(&[id(X - 10)]))), CommitOutcome::Ok);
    let command = replica.command(id(X));
    assert_eq!((command.status(), command.execute_at()), (Status::Committed, Some(time(X + 5))));
    assert_eq!((command.promised(), command.accepted()), (ballot(2), ballot(2)));
    assert_eq!((command.deps_known(), command.deps()), (DepsKnown::Committed, &deps(&[id(X - 10)])));
}

#[test]
fn spec_2_4_commit_below_a_promise_is_rejected_even_when_stable() {
    for mut replica in [voted(), stabilised()] {
        replica.testimony(id(X), ballot(3));
        let before = replica.command(id(X));
        assert_eq!(replica.committed(id(X), commit(ballot(2), at_id(), deps(&[]))), CommitOutcome::Rejected);
        assert_eq!(replica.command(id(X)), before);
    }
}

#[test]
fn spec_2_4_commit_at_another_time_than_the_decided_stops_the_node() {
    assert!(committed().is_fatal(id(X), commit(ballot(3), time(X + 5), deps(&[]))));
    assert!(stabilised().is_fatal(id(X), commit(ballot(3), time(X + 5), deps(&[]))));
}

#[test]
fn spec_2_4_commit_of_an_invalidated_stops_the_node() {
    let mut replica = voted();
    replica.effects(id(X), commit_invalidate());
    assert!(replica.is_fatal(id(X), commit(ballot(1), at_id(), deps(&[]))));
}

#[test]
fn spec_2_4_commit_again_at_the_same_ballot_or_when_stable_is_already_done() {
    let verb = || commit(ballot(2), at_id(), deps(&[]));
    assert_eq!(committed().committed(id(X), verb()), CommitOutcome::AlreadyDone);
    assert_eq!(stabilised().committed(id(X), verb()), CommitOutcome::AlreadyDone);
}

#[test]
fn spec_2_4_commit_at_a_higher_ballot_replaces_the_deps() {
    let mut replica = committed();
    let outcome = replica.committed(id(X), commit(ballot(3), at_id(), deps(&[id(X - 10)])));
    assert_eq!((outcome, replica.command(id(X)).accepted()), (CommitOutcome::Ok, ballot(3)));
    assert_eq!(replica.command(id(X)).deps(), &deps(&[id(X - 10)]));
}

#[test]
fn spec_2_4_commit_without_definition_or_deps_is_insufficient() {
    let mut unheard = Replica::new();
    assert_eq!(unheard.committed(id(X), commit(b0(), at_id(), deps(&[]))), CommitOutcome::Insufficient);
    assert_eq!(voted().committed(id(X), commit(b0(), at_id(), Deps::NONE)), CommitOutcome::Insufficient);
    assert_eq!(unheard.status(id(X)), Status::NotDefined);
}

// Stable

#[test]
fn spec_2_4_fast_stable_after_any_promise_is_rejected() {
    let mut replica = voted();
    replica.testimony(id(X), ballot(1));
    let verb = stable(StableKind::Fast, b0(), at_id(), deps(&[]));
    assert_eq!(replica.committed(id(X), verb), CommitOutcome::Rejected);
    assert_eq!(replica.status(id(X)), Status::PreAccepted);
}

#[test]
fn spec_2_4_whole_stable_is_a_decision_whatever_is_promised() {
    for kind in [StableKind::Full, StableKind::Medium] {
        let mut replica = voted();
        replica.testimony(id(X), ballot(5));
        assert_eq!(replica.committed(id(X), stable(kind, b0(), at_id(), deps(&[]))), CommitOutcome::Ok);
        assert_eq!(replica.status(id(X)), Status::Stable);
    }
}

#[test]
fn spec_2_4_stable_again_is_already_done() {
    let verb = stable(StableKind::Full, ballot(4), at_id(), deps(&[id(X - 10)]));
    let mut replica = stabilised();
    assert_eq!(replica.committed(id(X), verb), CommitOutcome::AlreadyDone);
    assert_eq!(replica.command(id(X)).deps(), &deps(&[]), "final dependencies stay");
}

#[test]
fn spec_2_4_stable_at_another_time_stops_the_node() {
    assert!(committed().is_fatal(id(X), stable(StableKind::Full, ballot(3), time(X + 5), deps(&[]))));
}

#[test]
fn spec_2_4_slow_stable_promotes_only_what_was_committed_at_its_ballot() {
    let slow = |at_ballot| stable(StableKind::Slow, at_ballot, at_id(), Deps::NONE);
    let mut proposed = voted();
    proposed.proposal(id(X), accept(ballot(2), at_id(), deps(&[id(X - 10)])));
    assert_eq!(proposed.committed(id(X), slow(ballot(2))), CommitOutcome::Insufficient, "only proposed");
    let mut replica = voted();
    replica.ask(id(X), commit(ballot(2), at_id(), deps(&[id(X - 10)])));
    assert_eq!(replica.committed(id(X), slow(ballot(1))), CommitOutcome::Insufficient, "another ballot");
    assert_eq!(replica.committed(id(X), slow(ballot(2))), CommitOutcome::Ok);
    assert_eq!(replica.command(id(X)).deps_known(), DepsKnown::Known);
    assert_eq!(replica.command(id(X)).deps(), &deps(&[id(X - 10)]));
}

#[test]
fn spec_2_4_stable_without_deps_is_insufficient() {
    let verb = stable(StableKind::Full, b0(), at_id(), Deps::NONE);
    assert_eq!(voted().committed(id(X), verb), CommitOutcome::Insufficient);
}

#[test]
fn spec_2_3_a_read_of_the_applied_is_superseded() {
    let mut replica = stabilised();
    replica.ask(id(X), apply(b0(), at_id(), deps(&[])));
    let readers = [NodeId(1)].into_iter().collect();
    let verb =
        Stable { kind: StableKind::Full, ballot: b0(), execute_at: at_id(), deps: deps(&[]), txn: None, readers };
    assert!(matches!(replica.ask(id(X), Verb::Stable(verb)), ReplyVerb::ReadSuperseded(_)));
}

// Apply

#[test]
fn spec_2_4_apply_is_stored_and_runs_once_free() {
    let mut replica = Replica::new();
    replica.vote(id(X - 10));
    replica.ask(id(X - 10), commit(b0(), id(X - 10).as_timestamp(), deps(&[])));
    let waits = replica.applied(id(X), apply(b0(), at_id(), deps(&[id(X - 10)])));
    assert_eq!((waits.outcome, replica.status(id(X))), (ApplyOutcome::Stored, Status::PreApplied));
    let first = replica.applied(id(X - 10), apply(b0(), id(X - 10).as_timestamp(), deps(&[])));
    assert_eq!(first.outcome, ApplyOutcome::Applied);
    assert_eq!(replica.status(id(X)), Status::Applied, "its only predecessor is applied");
}

#[test]
fn spec_2_4_apply_again_is_already_done() {
    let mut replica = stabilised();
    let verb = || apply(b0(), at_id(), deps(&[]));
    assert_eq!(replica.applied(id(X), verb()), ApplyReply { outcome: ApplyOutcome::Applied, race: false });
    assert_eq!(replica.applied(id(X), verb()), ApplyReply { outcome: ApplyOutcome::AlreadyDone, race: false });
}

#[test]
fn spec_2_4_apply_below_a_promise_is_stored_but_does_not_count() {
    let mut replica = voted();
    replica.testimony(id(X), ballot(1));
    let verb = || apply(b0(), at_id(), deps(&[]));
    assert_eq!(replica.applied(id(X), verb()), ApplyReply { outcome: ApplyOutcome::Applied, race: true });
    assert_eq!(replica.status(id(X)), Status::Applied);
    assert_eq!(replica.applied(id(X), verb()), ApplyReply { outcome: ApplyOutcome::AlreadyDone, race: true });
}

#[test]
fn spec_2_4_apply_at_another_time_stops_the_node() {
    assert!(committed().is_fatal(id(X), apply(ballot(2), time(X + 5), deps(&[]))));
}

#[test]
fn spec_2_4_apply_uses_stored_deps_only_once_they_are_final() {
    let bare = || apply(ballot(3), at_id(), Deps::NONE);
    assert_eq!(committed().applied(id(X), bare()).outcome, ApplyOutcome::Insufficient);
    assert_eq!(stabilised().applied(id(X), bare()).outcome, ApplyOutcome::Applied);
}

// CommitInvalidate and BeginInvalidation

#[test]
fn spec_2_4_invalidating_the_committed_stops_the_node() {
    assert!(committed().is_fatal(id(X), commit_invalidate()));
    assert!(stabilised().is_fatal(id(X), commit_invalidate()));
}

#[test]
fn spec_2_4_invalidating_again_changes_nothing() {
    let mut replica = voted();
    replica.effects(id(X), commit_invalidate());
    assert_eq!(replica.effects(id(X), commit_invalidate()), []);
    assert_eq!(replica.status(id(X)), Status::Invalidated);
}

#[test]
fn spec_2_4_invalidating_wakes_whoever_waited() {
    let mut replica = voted();
    replica.ask(id(X + 5), apply(b0(), id(X + 5).as_timestamp(), deps(&[id(X)])));
    assert_eq!(replica.status(id(X + 5)), Status::PreApplied);
    replica.effects(id(X), commit_invalidate());
    assert_eq!(replica.status(id(X + 5)), Status::Applied);
}

fn promise(replica: &mut Replica, at: Ballot) -> InvalidateReply {
    match replica.ask(id(X), invalidate(at)) {
        ReplyVerb::InvalidateReply(reply) => reply,
        other => panic!("a promise or none, not {other:?}"),
    }
}

#[test]
fn spec_2_4_begin_invalidation_promises_and_tells_the_vote() {
    let mut replica = voted();
    let reply = promise(&mut replica, ballot(1));
    assert!(reply.is_promised && reply.accepts_fast_path && reply.route.is_some());
    assert_eq!((reply.status, replica.command(id(X)).promised()), (Status::PreAccepted, ballot(1)));
    let mut unheard = Replica::new();
    let reply = promise(&mut unheard, ballot(1));
    assert!(reply.is_promised && !reply.accepts_fast_path && reply.txn.is_none());
    assert_eq!(unheard.status(id(X)), Status::NotDefined);
}

#[test]
fn spec_2_4_begin_invalidation_of_the_committed_or_below_a_promise_is_not_promised() {
    let mut decided = committed();
    assert!(!promise(&mut decided, ballot(9)).is_promised);
    assert_eq!(decided.command(id(X)).promised(), ballot(2));
    let mut replica = voted();
    replica.testimony(id(X), ballot(3));
    let reply = promise(&mut replica, ballot(2));
    assert_eq!((reply.is_promised, reply.promised), (false, ballot(3)));
}
