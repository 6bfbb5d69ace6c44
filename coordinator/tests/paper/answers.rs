//! What a client is told, and when. *Source*: [SPEC 4.4, 4.7, 4.8].

use crate::stage::*;
use protocol::message::*;
use protocol::*;

/// Fast votes of three; a reader is asked.
fn executing() -> Stage {
    let mut stage = Stage::write(3);
    for node in 1..=3 {
        stage.vote(node, deps(&[]));
    }
    stage
}

#[test]
fn spec_4_8_the_answer_leaves_with_the_data_before_any_apply_is_acknowledged() {
    let mut stage = executing();
    let done = stage.data(1, &[key(1)]);
    let applied = ClientOutcome::Applied { result: body(), path: Path::Fast };
    assert_eq!(done.answer(), Some(&applied));
    assert_eq!(done.sent()[0].0, &nodes(1..=3));
    let Verb::Apply(apply) = done.verb() else { panic!("an outcome, not {done:?}") };
    assert_eq!((apply.execute_at, apply.outcome.writes.len()), (stage.at_id(), 1));
}

#[test]
fn spec_4_8_a_quorum_that_applied_is_told_to_all_and_a_race_is_not_counted() {
    let mut stage = executing();
    let delay = stage.config.inform_delay;
    stage.data(1, &[key(1)]);
    stage.applied(1, false);
    stage.applied(2, true);
    assert_eq!(stage.wait(delay).informed(), None, "a race with a recovery does not count");
    stage.applied(3, false);
    assert_eq!(stage.wait(delay).informed(), Some(&nodes(1..=3)));
}

#[test]
fn spec_4_7_when_everybody_has_applied_it_the_outcome_is_fetched() {
    let mut stage = executing();
    let superseded = || ReplyVerb::ReadSuperseded(ReadSuperseded {});
    for node in 1..=2 {
        let done = stage.reply(node, superseded());
        assert!(done.notes(Note::AnotherReader) && done.answer().is_none());
    }
    let done = stage.reply(3, superseded());
    assert!(done.sends("CheckStatus") && done.answer().is_none());
}

#[test]
fn spec_4_7_fast_stable_refused_by_a_promise_is_preempted() {
    let mut stage = executing();
    let refused = StableReply { outcome: CommitOutcome::Rejected, promised: ballot(99) };
    let done = stage.reply(1, ReplyVerb::StableReply(refused));
    assert!(done.notes(Note::Preempted) && done.answer().is_none());
}

#[test]
fn spec_4_8_a_refusal_is_told_only_after_a_quorum_has_accepted_the_invalidation() {
    let mut stage = Stage::write(3);
    stage.vote(1, deps(&[]));
    let done = stage.refuse_to_start(2);
    assert!(done.notes(Note::Rejected) && done.answer().is_none());
    assert!(matches!(done.verb(), Verb::NotAccept(NotAccept { ballot }) if ballot.is_zero()));
    assert!(stage.accepted(1).nothing(), "one acceptance is no quorum");
    assert!(stage.accepted(1).nothing(), "nor is the same one twice");
    let done = stage.accepted(2);
    assert!(done.sends("CommitInvalidate"));
    assert_eq!(done.answer(), Some(&ClientOutcome::NotApplied(NotApplied::Rejected)));
}

#[test]
fn spec_4_8_a_refusal_that_is_overtaken_is_unknown_and_never_not_applied() {
    let mut stage = Stage::write(3);
    stage.vote(1, deps(&[]));
    stage.refuse_to_start(2);
    stage.accepted(1);
    let done = stage.proposal(2, AcceptOutcome::RejectedBallot, Deps::NONE);
    assert!(done.notes(Note::Preempted) && done.answer().is_none() && !done.sends("CommitInvalidate"));
    let (step, deadline) = (stage.config.rpc_timeout, stage.config.client_deadline);
    let mut told = None;
    for _ in 0..=deadline.0.div_ceil(step.0) {
        told = told.or(stage.wait(step).answer().cloned());
    }
    assert_eq!(told, Some(ClientOutcome::Unknown));
}

#[test]
fn spec_4_4_a_refusal_does_not_stop_what_f_others_have_decided() {
    let mut stage = Stage::write(5);
    stage.refuse_to_start(1);
    for node in 2..=4 {
        stage.vote(node, deps(&[]));
    }
    let done = stage.vote(5, deps(&[]));
    assert!(done.notes(Note::PathTaken(Path::Fast)) && !done.sends("NotAccept"));
}

#[test]
fn spec_4_4_a_refusal_does_not_stop_the_medium_path() {
    let mut stage = Stage::write(3);
    stage.vote(1, deps(&[]));
    stage.vote(2, deps(&[]));
    let done = stage.refuse_to_start(3);
    assert!(done.notes(Note::PathTaken(Path::Medium)) && !done.sends("NotAccept"));
}

#[test]
fn spec_4_8_too_few_votes_are_invalidated_before_the_client_hears_of_it() {
    let mut stage = Stage::write(3);
    stage.vote(1, deps(&[]));
    stage.unavailable(2);
    assert_eq!(stage.unavailable(3).answer(), None);
    stage.accepted(1);
    let done = stage.accepted(2);
    assert_eq!(done.answer(), Some(&ClientOutcome::NotApplied(NotApplied::Invalidated)));
}

#[test]
fn spec_4_3_a_nack_is_preempted_and_asks_around() {
    let mut stage = Stage::write(3);
    let done = stage.reply(2, ReplyVerb::PreAcceptNack(PreAcceptNack { promised: ballot(99) }));
    assert!(done.notes(Note::Preempted) && done.answer().is_none());
    assert!(done.sends("CheckStatus") && !done.sends("NotAccept"));
}

#[test]
fn spec_4_5_a_proposal_refused_by_a_promise_is_preempted() {
    let mut stage = Stage::write(3);
    let later = stage.later(5);
    stage.vote(1, deps(&[]));
    stage.vote_at(2, later, deps(&[]));
    let done = stage.proposal(1, AcceptOutcome::RejectedBallot, Deps::NONE);
    assert!(done.notes(Note::Preempted) && done.answer().is_none());
}
