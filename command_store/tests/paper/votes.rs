//! Votes, promises and proposals. *Source*: [SPEC 2.2, 2.4, 2.5].

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

fn is_nack(reply: &ReplyVerb) -> bool {
    matches!(reply, ReplyVerb::PreAcceptNack(_))
}

// PreAccept

#[test]
fn spec_2_4_pre_accept_of_an_invalidated_is_refused() {
    let mut replica = Replica::new();
    replica.effects(id(X), commit_invalidate());
    assert!(is_nack(&replica.ask(id(X), pre_accept())));
    assert_eq!(replica.status(id(X)), Status::Invalidated);
}

#[test]
fn spec_2_4_pre_accept_after_any_promise_is_refused() {
    let mut replica = Replica::new();
    replica.ask(id(X), invalidate(ballot(1)));
    let nack = replica.ask(id(X), pre_accept());
    assert_eq!(nack, ReplyVerb::PreAcceptNack(PreAcceptNack { promised: ballot(1) }));
    assert_eq!(replica.status(id(X)), Status::NotDefined);
}

#[test]
fn spec_2_4_a_repeated_pre_accept_repeats_the_vote_with_fresh_deps() {
    let mut replica = Replica::new();
    assert_eq!(replica.vote(id(X)).witnessed_at, at_id());
    replica.vote(id(X - 10));
    let again = replica.vote(id(X));
    assert_eq!((again.witnessed_at, again.rejected), (at_id(), false));
    assert_eq!(again.deps, deps(&[id(X - 10)]), "the dependencies are those of now");
}

#[test]
fn spec_2_4_a_repeated_vote_waits_for_the_log_like_the_first() {
    let mut replica = Replica::new();
    replica.vote(id(X));
    let effects = replica.effects(id(X), pre_accept());
    let after = effects.iter().find_map(|effect| match effect {
        Effect::Reply { after, .. } => Some(*after),
        _ => None,
    });
    assert_eq!(after, Some(replica.store.appended()));
    assert!(replica.store.appended() > Lsn(0));
}

#[test]
fn spec_2_4_pre_accept_beyond_pre_accepted_is_refused() {
    let mut replica = Replica::new();
    replica.vote(id(X));
    replica.proposal(id(X), accept(b0(), time(X + 5), deps(&[])));
    assert!(is_nack(&replica.ask(id(X), pre_accept())));
    assert_eq!(replica.status(id(X)), Status::AcceptedSlow);
}

#[test]
fn spec_2_4_a_late_pre_accept_leaves_an_accepted_proposal() {
    let mut replica = Replica::new();
    replica.proposal(id(X), accept(b0(), time(X + 5), deps(&[id(X - 10)])));
    let before = replica.command(id(X));
    assert!(is_nack(&replica.ask(id(X), pre_accept())));
    let after = replica.command(id(X));
    assert!(before.txn().is_none() && after.txn().is_some(), "the definition is recorded");
    assert_eq!((after.status(), after.execute_at()), (Status::AcceptedSlow, Some(time(X + 5))));
    assert_eq!((after.accepted(), after.deps()), (before.accepted(), before.deps()));
}

#[test]
fn spec_2_4_a_late_pre_accept_leaves_an_accepted_invalidate() {
    let mut replica = Replica::new();
    replica.proposal(id(X), not_accept(b0()));
    assert!(is_nack(&replica.ask(id(X), pre_accept())));
    let command = replica.command(id(X));
    assert_eq!((command.status(), command.accepted()), (Status::AcceptedInvalidate, b0()));
    assert!(command.txn().is_some());
    assert!(command.execute_at() > Some(at_id()), "no fast vote is cast beside an accepted invalidation");
}

#[test]
fn spec_2_5_without_a_later_conflict_the_vote_is_for_the_id() {
    let mut replica = Replica::new();
    replica.vote(id(X - 10));
    let vote = replica.vote(id(X));
    assert_eq!((vote.witnessed_at, vote.deps), (at_id(), deps(&[id(X - 10)])));
    assert_eq!((replica.status(id(X)), replica.command(id(X)).execute_at()), (Status::PreAccepted, Some(at_id())));
}

#[test]
fn spec_2_5_a_later_conflict_moves_the_vote_behind_it() {
    let mut replica = Replica::new();
    replica.vote(id(X + 10));
    let vote = replica.vote(id(X));
    assert!(vote.witnessed_at > id(X + 10).as_timestamp());
    assert_eq!(vote.witnessed_at.node(), NodeId(1), "a time of its own");
    assert_eq!(vote.deps, deps(&[]), "only lower ids are dependencies");
    assert_eq!(replica.command(id(X)).execute_at(), Some(vote.witnessed_at));
}

#[test]
fn spec_2_4_a_vote_behind_the_id_drops_the_coordinators_vote_and_deps() {
    let shape = TxnShape { kind: TxnKind::Write, fast_path: FastPathKind::PrivilegedWithDeps, ..TxnShape::default() };
    let verb = || Verb::PreAccept(PreAccept { txn: txn(), coordinator_vote: true, coordinator_deps: Some(deps(&[])) });
    let mut replica = Replica::new();
    replica.ask(shaped(X, shape), verb());
    replica.vote(id(X + 20));
    replica.ask(shaped(X + 10, shape), verb());
    let (with, without) = (replica.command(shaped(X, shape)), replica.command(shaped(X + 10, shape)));
    assert_eq!((with.privileged_vote(), with.deps_known()), (true, DepsKnown::FromCoordinator));
    assert_eq!((without.privileged_vote(), without.deps_known()), (false, DepsKnown::Unknown));
}

#[test]
fn spec_2_5_an_expired_pre_accept_is_marked_rejected_without_deps_and_stays_so() {
    let mut replica = Replica::new();
    replica.vote(id(X));
    let first = replica.vote(expired());
    assert!(first.rejected && first.witnessed_at > expired().as_timestamp());
    assert_eq!(first.deps, Deps::NONE);
    assert_eq!(replica.vote(expired()), first, "the mark is stored with the vote");
}

// BeginRecovery

#[test]
fn spec_2_4_recovery_below_a_promise_is_refused() {
    let mut replica = Replica::new();
    replica.testimony(id(X), ballot(2));
    let nack = replica.ask(id(X), recover(ballot(1)));
    assert_eq!(nack, ReplyVerb::RecoverNack(RecoverNack { refusal: RecoverRefusal::Rejected, promised: ballot(2) }));
}

#[test]
fn spec_2_4_recovery_of_an_invalidated_is_told_at_any_ballot() {
    let mut replica = Replica::new();
    replica.ask(id(X), invalidate(ballot(2)));
    replica.effects(id(X), commit_invalidate());
    assert_eq!(replica.testimony(id(X), ballot(1)).status, Status::Invalidated);
}

#[test]
fn spec_2_4_recovery_of_a_voted_promises_and_keeps_the_vote() {
    let mut replica = Replica::new();
    replica.vote(id(X));
    let testimony = replica.testimony(id(X), ballot(1));
    assert_eq!((testimony.status, testimony.execute_at), (Status::PreAccepted, Some(at_id())));
    assert!(testimony.accepts_fast_path);
    assert_eq!(replica.command(id(X)).promised(), ballot(1));
}

#[test]
fn spec_2_4_recovery_leaves_an_accepted_proposal_without_definition() {
    let mut replica = Replica::new();
    replica.proposal(id(X), accept(ballot(1), time(X + 5), deps(&[id(X - 10)])));
    let testimony = replica.testimony(id(X), ballot(2));
    assert_eq!((testimony.status, testimony.accepted), (Status::AcceptedSlow, ballot(1)));
    assert_eq!(testimony.execute_at, Some(time(X + 5)));
    assert!(testimony.superseding_rejects, "the fast path need not be recovered any more");
    assert!(replica.command(id(X)).txn().is_some());
}

#[test]
fn spec_2_4_recovery_leaves_an_accepted_invalidate_and_casts_no_fast_vote() {
    let mut replica = Replica::new();
    replica.proposal(id(X), not_accept(ballot(1)));
    let testimony = replica.testimony(id(X), ballot(2));
    assert_eq!((testimony.status, testimony.accepted), (Status::AcceptedInvalidate, ballot(1)));
    assert!(!testimony.accepts_fast_path && testimony.execute_at > Some(at_id()));
    assert!(replica.command(id(X)).txn().is_some());
}

#[test]
fn spec_2_4_recovery_of_an_unheard_votes_but_never_fast() {
    let mut replica = Replica::new();
    let testimony = replica.testimony(id(X), ballot(1));
    assert_eq!(testimony.status, Status::PreAccepted);
    assert!(!testimony.accepts_fast_path && testimony.execute_at > Some(at_id()));
    assert_eq!(replica.command(id(X)).promised(), ballot(1));
}

// Accept and NotAccept

#[test]
fn spec_2_4_a_proposal_is_stored_at_its_ballot_beside_the_definition() {
    let mut replica = Replica::new();
    replica.vote(id(X - 10));
    replica.vote(id(X));
    replica.vote(id(X + 2));
    let reply = replica.proposal(id(X), accept(ballot(1), time(X + 5), deps(&[id(X - 10)])));
    assert_eq!((reply.outcome, reply.deps), (AcceptOutcome::Success, deps(&[id(X + 2)])), "what it did not name");
    let command = replica.command(id(X));
    assert_eq!((command.promised(), command.accepted()), (ballot(1), ballot(1)));
    assert_eq!((command.status(), command.execute_at()), (Status::AcceptedSlow, Some(time(X + 5))));
    assert_eq!((command.deps_known(), command.deps()), (DepsKnown::Proposed, &deps(&[id(X - 10)])));
    assert!(command.txn().is_some());
}

#[test]
fn spec_2_4_a_proposal_repeated_at_its_ballot_is_taken_again() {
    let mut replica = Replica::new();
    let verb = || accept(ballot(1), time(X + 5), deps(&[]));
    assert_eq!(replica.proposal(id(X), verb()).outcome, AcceptOutcome::Success);
    assert_eq!(replica.proposal(id(X), verb()).outcome, AcceptOutcome::Success);
}

#[test]
fn spec_2_4_a_proposal_at_ballot_zero_is_refused_after_any_promise() {
    for proposal in [accept(b0(), at_id(), deps(&[])), not_accept(b0())] {
        let mut replica = Replica::new();
        replica.vote(id(X));
        replica.testimony(id(X), ballot(1));
        let reply = replica.proposal(id(X), proposal);
        assert_eq!((reply.outcome, reply.promised), (AcceptOutcome::RejectedBallot, Some(ballot(1))));
        assert_eq!(replica.status(id(X)), Status::PreAccepted);
    }
}

#[test]
fn spec_2_4_a_proposal_after_the_decision_is_superseded_and_told_when() {
    for proposal in [accept(ballot(1), time(X + 5), deps(&[])), not_accept(ballot(1))] {
        let mut replica = Replica::new();
        replica.vote(id(X));
        replica.ask(id(X), commit(b0(), at_id(), deps(&[])));
        replica.testimony(id(X), ballot(2));
        let reply = replica.proposal(id(X), proposal);
        assert_eq!((reply.outcome, reply.promised), (AcceptOutcome::Superseded, Some(ballot(2))));
        assert_eq!(reply.committed_at, Some(at_id()));
        assert_eq!(replica.status(id(X)), Status::Committed);
    }
}

#[test]
fn spec_2_4_a_proposal_for_an_invalidated_is_superseded_without_a_time() {
    let mut replica = Replica::new();
    replica.effects(id(X), commit_invalidate());
    let reply = replica.proposal(id(X), accept(ballot(1), at_id(), deps(&[])));
    assert_eq!((reply.outcome, reply.committed_at), (AcceptOutcome::Superseded, None));
}

#[test]
fn spec_2_4_an_accepted_invalidation_clears_the_proposed_deps() {
    let mut replica = Replica::new();
    replica.proposal(id(X), accept(b0(), at_id(), deps(&[id(X - 10)])));
    assert_eq!(replica.proposal(id(X), not_accept(ballot(1))).outcome, AcceptOutcome::Success);
    let command = replica.command(id(X));
    assert_eq!((command.status(), command.accepted()), (Status::AcceptedInvalidate, ballot(1)));
    assert_eq!((command.deps_known(), command.deps()), (DepsKnown::Unknown, &Deps::NONE));
}
