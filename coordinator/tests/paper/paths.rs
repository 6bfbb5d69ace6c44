//! Votes, and the path they open. *Source*: [SLIDES 5], [SPEC 4.3 to 4.6].

use crate::stage::*;
use protocol::message::*;
use protocol::*;

#[test]
fn slide_5_fast_path_needs_supermajority() {
    for (n, supermajority) in [(3, 3), (5, 4)] {
        let mut stage = Stage::write(n);
        for node in 1..supermajority {
            assert!(stage.vote(node, deps(&[])).nothing(), "{node} of {n} votes are too few");
        }
        let done = stage.vote(supermajority, deps(&[]));
        assert!(done.notes(Note::PathTaken(Path::Fast)));
        assert_eq!((done.stable().kind, done.stable().execute_at), (StableKind::Fast, stage.at_id()));
    }
}

#[test]
fn spec_4_3_the_same_node_does_not_vote_twice() {
    let mut stage = Stage::write(3);
    stage.vote(1, deps(&[]));
    stage.vote(2, deps(&[]));
    assert!(stage.vote(2, deps(&[])).nothing());
}

#[test]
fn spec_4_3_one_later_vote_of_three_is_slow_at_once() {
    let mut stage = Stage::write(3);
    stage.vote(1, deps(&[id(1)]));
    let later = stage.later(5);
    let done = stage.vote_at(2, later, deps(&[id(2)]));
    assert!(done.notes(Note::PathTaken(Path::Slow)));
    let accept = done.accept();
    assert_eq!((accept.kind, accept.execute_at), (AcceptKind::Slow, later));
    assert_eq!(accept.deps, deps(&[id(1), id(2)]), "of all votes");
    assert_eq!(accept.ballot, Ballot::ZERO);
}

#[test]
fn spec_4_3_of_five_one_later_vote_may_be_spared() {
    let mut stage = Stage::write(5);
    let later = stage.later(5);
    assert!(stage.vote_at(1, later, deps(&[id(1)])).nothing());
    for node in 2..=4 {
        assert!(stage.vote(node, deps(&[])).nothing());
    }
    let done = stage.vote(5, deps(&[id(5)]));
    assert!(done.notes(Note::PathTaken(Path::Fast)));
    assert_eq!(done.stable().deps, deps(&[id(5)]), "of those who voted for the id");
}

#[test]
fn spec_4_3_a_slow_quorum_for_the_id_is_the_medium_path_when_fast_is_impossible() {
    let mut stage = Stage::write(5);
    for node in 1..=3 {
        stage.vote(node, deps(&[id(u64::from(node))]));
    }
    let later = stage.later(5);
    assert!(stage.vote_at(4, later, deps(&[id(4)])).nothing(), "the fifth may still vote for the id");
    let done = stage.vote_at(5, later, deps(&[id(5)]));
    assert!(done.notes(Note::PathTaken(Path::Medium)));
    let accept = done.accept();
    assert_eq!((accept.kind, accept.execute_at), (AcceptKind::Medium, stage.at_id()));
    assert_eq!(accept.deps, deps(&[id(1), id(2), id(3)]), "of those who voted for the id");
}

#[test]
fn spec_4_3_a_failure_of_one_in_three_is_the_medium_path() {
    let mut stage = Stage::write(3);
    stage.vote(1, deps(&[]));
    stage.unavailable(3);
    assert_eq!(stage.vote(2, deps(&[])).accept().kind, AcceptKind::Medium);
}

#[test]
fn spec_4_3_a_slow_elector_is_not_waited_for_once_there_is_a_quorum() {
    let mut stage = Stage::write(3);
    stage.vote(1, deps(&[]));
    let slow = stage.config.slow_pre_accept;
    assert!(!stage.wait(slow).sends("Accept"), "one vote is no quorum");
    assert_eq!(stage.vote(2, deps(&[])).accept().kind, AcceptKind::Medium);
}

#[test]
fn spec_4_3_the_worst_shard_decides_the_path() {
    let mut stage = Stage::write_over_two_shards();
    for node in [1, 2, 3] {
        assert!(stage.vote(node, Deps::NONE).nothing(), "the second shard is not done");
    }
    stage.vote(4, Deps::NONE);
    let done = stage.unavailable(5);
    assert!(done.notes(Note::PathTaken(Path::Medium)), "fast in one, medium in the other");
}

#[test]
fn spec_4_3_more_failures_than_f_end_it() {
    let mut stage = Stage::write(3);
    stage.vote(1, deps(&[]));
    assert!(stage.unavailable(2).nothing());
    assert!(matches!(stage.unavailable(3).verb(), Verb::NotAccept(NotAccept { ballot }) if ballot.is_zero()));
}

#[test]
fn spec_4_4_without_the_medium_bit_a_quorum_for_the_id_goes_slow_at_the_id() {
    let mut stage = Stage::write_tuned(3, |config| config.medium_path = false);
    stage.vote(1, deps(&[id(1)]));
    stage.unavailable(3);
    let done = stage.vote(2, deps(&[id(2)]));
    assert_eq!((done.accept().kind, done.accept().execute_at), (AcceptKind::Slow, stage.at_id()));
}

#[test]
fn spec_4_4_without_the_fast_path_every_vote_leaves_it_slow() {
    let mut stage = Stage::write_tuned(3, |config| config.fast_path = false);
    stage.vote(1, deps(&[]));
    assert_eq!(stage.vote(2, deps(&[])).accept().kind, AcceptKind::Slow);
}

#[test]
fn spec_4_5_medium_executes_after_accept_with_what_was_found_made_unstable() {
    let mut stage = Stage::write(3);
    stage.vote(1, deps(&[id(1)]));
    stage.unavailable(3);
    stage.vote(2, deps(&[]));
    stage.accepted(1);
    let done = stage.proposal(2, AcceptOutcome::Success, deps(&[id(2)]));
    let stable = done.stable();
    assert_eq!((stable.kind, stable.execute_at), (StableKind::Medium, stage.at_id()));
    let unstable = [Dep { id: id(1), unstable: false }, Dep { id: id(2), unstable: true }];
    assert_eq!(stable.deps.at(&key(1)).map(DepSet::as_slice), Some(&unstable[..]));
}

#[test]
fn spec_4_5_slow_commits_ids_between_its_own_and_its_time_as_stable() {
    let mut stage = Stage::write(3);
    let (later, between) = (stage.later(50), id(stage.id.hlc().0 + 10));
    stage.vote(1, deps(&[]));
    stage.vote_at(2, later, deps(&[]));
    assert!(stage.accepted(1).nothing(), "one acceptance is no quorum");
    let done = stage.proposal(2, AcceptOutcome::Success, deps(&[id(1), between]));
    let commit = done.commit();
    assert_eq!((commit.ballot, commit.execute_at), (Ballot::ZERO, later));
    let found = [Dep { id: id(1), unstable: true }, Dep { id: between, unstable: false }];
    assert_eq!(commit.deps.at(&key(1)).map(DepSet::as_slice), Some(&found[..]));
    assert!(stage.committed(1, CommitOutcome::Ok).nothing());
    let done = stage.committed(2, CommitOutcome::AlreadyDone);
    assert_eq!(done.stable().kind, StableKind::Slow, "already done counts as ok");
}

#[test]
fn spec_4_6_a_replica_that_lacks_something_is_sent_the_whole() {
    let mut stage = Stage::write(3);
    let later = stage.later(50);
    stage.vote(1, deps(&[]));
    stage.vote_at(2, later, deps(&[]));
    stage.accepted(1);
    stage.accepted(2);
    let done = stage.committed(3, CommitOutcome::Insufficient);
    assert_eq!(done.sent()[0].0, &nodes(3..=3));
    assert!(done.commit().txn.is_some());
}
