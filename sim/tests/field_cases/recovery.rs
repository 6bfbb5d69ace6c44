//! Coordinators that die, and those who finish their work: P01, P02, P07, P12, P13, P17.

use crate::kit::*;
use protocol::message::{Accept, AcceptKind, AcceptOutcome, Message, ReplyVerb, Request, Verb};
use protocol::{Ballot, ClientOutcome, DepSet, Deps, Status, TxnId};
use sim::{Layout, Ruling, Script, Setting};

/// P01. Fails if recovery ranks answers by what they promised, or takes the first proposal it sees (planted: lowest accepted ballot).
///
/// Here a recovery proposes the id or nothing, so the later time is the first coordinator's, and it is the older proposal.
#[test]
pub(crate) fn p01_recovery_follows_the_accepted_ballot() {
    let mut script = Script::new(Setting { layout: Layout::Five, ..quiet() });
    let txn = propose_late_at_one(&mut script);
    let late = command(&script, 1, txn).execute_at();
    assert_ne!(late, Some(id_of(&script, txn).as_timestamp()));
    script.kill(2);
    recover_up_to_accept(&mut script, 1, txn, &[1, 3, 4], &[1]);
    let older = command(&script, 1, txn);
    assert_eq!((older.status(), older.execute_at()), (Status::AcceptedSlow, late));
    script.kill(1);
    script.start(1);
    recover_up_to_accept(&mut script, 5, txn, &[3, 4, 5], &[3, 4, 5]);
    let newer = command(&script, 3, txn);
    assert_eq!(newer.execute_at(), Some(id_of(&script, txn).as_timestamp()));
    assert!(newer.accepted() > older.accepted());
    script.kill(5);
    script.start(2);
    recover_with_one_promising_first(&mut script, txn);
    let testimony = |node| match replies(&script, node, id_of(&script, txn)).pop() {
        Some(ReplyVerb::RecoverOk(ok)) => (ok.accepted, ok.execute_at),
        other => panic!("{node} says {other:?}"),
    };
    assert_eq!(testimony(1), (older.accepted(), late));
    assert_eq!(testimony(3), (newer.accepted(), newer.execute_at()));
    script.release();
    script.start(5);
    script.run();
    for node in 1..=5 {
        assert_eq!(command(&script, node, txn).execute_at(), newer.execute_at(), "at {node}");
    }
    script.finish();
}

/// A transaction of node 2 that nodes 1 and 2 vote late for, and whose proposal reaches node 1 alone.
fn propose_late_at_one(script: &mut Script) -> u32 {
    rule(script, |m| match (m.name, m.owner) {
        ("PreAccept", 2) => Ruling::Hold,
        ("PreAccept", _) => drop_if(m.to > 2),
        ("PreAcceptOk", 1) => Ruling::Drop,
        _ => Ruling::Pass,
    });
    let txn = script.begin(2, 0, 0b1);
    script.run_for(2);
    let rival = script.begin(1, 0, 0b1);
    script.run_for(5);
    script.kill_coordination(rival);
    rule(script, |m| drop_if((m.name == "PreAcceptOk" && m.from > 3) || (m.name == "Accept" && m.to != 1)));
    release(script, |m| m.owner == 2);
    script.run_for(10);
    txn
}

/// `node` recovers, hears `heard`, and its proposal reaches `reached`; nothing later leaves it.
fn recover_up_to_accept(script: &mut Script, node: u32, txn: u32, heard: &'static [u32], reached: &'static [u32]) {
    rule(script, move |m| match m.name {
        "BeginRecovery" => drop_if(!heard.contains(&m.to)),
        "Accept" => drop_if(!reached.contains(&m.to)),
        "Commit" | "Stable" | "Apply" => Ruling::Drop,
        _ => Ruling::Pass,
    });
    script.chase(node, txn);
    script.run_for(100);
}

/// Node 1 recovers: it promises first, and then hears itself and nodes 2 and 3.
fn recover_with_one_promising_first(script: &mut Script, txn: u32) {
    rule(script, |m| match (m.name, m.to) {
        ("BeginRecovery", 2 | 3) => Ruling::Hold,
        ("BeginRecovery", 4 | 5) | ("Accept", _) => Ruling::Drop,
        _ => Ruling::Pass,
    });
    script.chase(1, txn);
    script.run_for(100);
    assert!(command(script, 1, txn).promised() > command(script, 3, txn).promised());
    release(script, |m| m.name == "BeginRecovery");
    script.run_for(10);
}

/// P02. Fails if recovery proposes the dependencies of one answer, or if the first vote is forgotten where it was given.
#[test]
pub(crate) fn p02_recovery_keeps_the_union_of_dependencies() {
    let mut script = Script::new(quiet());
    rule(&mut script, |m| match (m.name, m.owner) {
        ("PreAccept", 2) => hold_if(m.to != 2),
        ("PreAcceptOk", 1) => Ruling::Drop,
        _ => Ruling::Pass,
    });
    let first = script.begin(2, 0, 0b1);
    script.run_for(3);
    let second = script.begin(1, 0, 0b1);
    script.run_for(5);
    script.kill(1);
    script.chase(3, second);
    script.run_for(100);
    assert_eq!(script.counters().get("recovery ProposedAtId"), 1);
    for node in [2, 3] {
        let recovered = command(&script, node, second);
        assert!(recovered.status().is_committed(), "{node} knows it as {:?}", recovered.status());
        assert_eq!(recovered.execute_at(), Some(id_of(&script, second).as_timestamp()));
        assert!(recovered.deps().ids().any(|id| id == id_of(&script, first)), "{node} has lost the first");
    }
    script.release();
    script.run_for(500);
    // the first finds the second committed above its id, and comes after it
    assert_eq!(script.list(2, 0), [second, first]);
    assert_eq!(script.list(3, 0), [second, first]);
    script.finish();
}

/// P07. The abandoned insert meets a later one that was decided without the only replica that knows it: it must be invalidated.
///
/// Fails if recovery proposes the old id although a later conflict was committed without it (planted: fast rejects ignored).
#[test]
pub(crate) fn p07_an_abandoned_insert_cannot_come_back_under_a_later_one() {
    let mut script = Script::new(quiet());
    rule(&mut script, |m| drop_if(m.name == "PreAccept" && m.to != 2));
    let abandoned = script.begin(1, 0b1, 0b1);
    script.run_for(5);
    script.kill(1);
    script.start(1);
    rule(&mut script, |m| hold_if(m.owner == 3 && m.to == 2));
    let later = script.begin(3, 0b1, 0b1);
    script.run_for(200);
    assert_eq!(script.reads(later), Some(vec![(0, vec![])]), "the row was absent for the later one");
    script.chase(2, abandoned);
    script.run_for(500);
    assert_eq!(command(&script, 2, abandoned).status(), Status::Invalidated);
    assert_eq!(script.list(3, 0), [later]);
    script.finish();
}

/// P07, where the later insert has heard of the abandoned one. Fails if the later one is answered before the first is settled.
#[test]
pub(crate) fn p07_a_later_insert_waits_until_the_abandoned_one_is_settled() {
    let mut script = Script::new(quiet());
    rule(&mut script, |m| drop_if(m.name == "PreAccept" && m.owner == 1 && m.to != 2));
    let abandoned = script.begin(1, 0b1, 0b1);
    script.run_for(5);
    script.kill(1);
    let later = script.begin(2, 0b1, 0b1);
    script.run_for(300);
    assert_eq!(script.answer(later), None);
    script.start(1);
    script.chase(2, abandoned);
    script.run_for(500);
    let seen = script.reads(later).expect("the later one is answered");
    let list = script.list(2, 0);
    let is_settled = command(&script, 2, abandoned).status();
    let expected = if is_settled == Status::Applied { vec![abandoned] } else { vec![] };
    assert_eq!(seen, [(0, expected.clone())], "the abandoned one is {is_settled:?}");
    assert_eq!(list, [expected, vec![later]].concat());
    script.finish();
}

/// P07, the answer "not applied". Fails if an older transaction is recovered to a place before a read that was answered without it.
#[test]
pub(crate) fn p07_what_a_condition_saw_stays_true_when_an_older_transaction_is_recovered() {
    let mut script = Script::new(quiet());
    let first = script.begin(2, 0, 0b1);
    script.run_for(100);
    rule(&mut script, |m| hold_if(m.name == "PreAccept" && m.owner == 1));
    let older = script.begin(1, 0b1, 0b1);
    script.run_for(2);
    let condition = script.begin(2, 0b1, 0);
    script.run_for(100);
    assert_eq!(script.reads(condition), Some(vec![(0, vec![first])]));
    release(&mut script, |m| m.to == 3);
    script.run_for(5);
    script.kill_coordination(older);
    script.drop_held();
    script.chase(3, older);
    script.run_for(500);
    assert_eq!(command(&script, 3, older).status(), Status::Invalidated);
    assert_eq!(script.list(3, 0), [first]);
    script.finish();
}

/// P12, invalidated before the rest arrives.
#[test]
pub(crate) fn p12_a_promise_binds_a_replica_that_never_saw_the_transaction() {
    promise_binds(false, true);
}

/// P12, with only promises given, which one replica has to remember over a power loss.
#[test]
pub(crate) fn p12_a_promise_binds_after_a_power_loss() {
    promise_binds(true, false);
}

/// P12, invalidated, with a power loss.
#[test]
pub(crate) fn p12_an_invalidation_binds_after_a_power_loss() {
    promise_binds(true, true);
}

/// Fails if a promise without a definition is not recorded, or a late PreAccept or Accept passes it (planted: promise not persisted).
fn promise_binds(is_killed: bool, is_decided: bool) {
    let mut script = Script::new(quiet());
    rule(&mut script, move |m| match m.name {
        "PreAccept" => hold_if(m.to != 1),
        "NotAccept" if !is_decided => Ruling::Drop,
        "CheckStatus" | "BeginInvalidation" | "NotAccept" | "CommitInvalidate" => drop_if(m.to == 1),
        _ => Ruling::Pass,
    });
    let txn = script.begin(1, 0, 0b1);
    script.run_for(5);
    let id = id_of(&script, txn);
    script.chase(2, txn);
    script.run_for(100);
    let promised = command(&script, 2, txn).promised();
    assert!(!promised.is_zero());
    assert_eq!(command(&script, 3, txn).promised(), promised);
    assert_eq!(command(&script, 3, txn).status() == Status::Invalidated, is_decided);
    if is_killed {
        script.kill(2);
        script.start(2);
    }
    let request = propose(&script, txn);
    release(&mut script, |m| m.name == "PreAccept");
    script.run_for(2);
    script.deliver(3, 2, Message::Request(request));
    script.run_for(3);
    assert_refused(&script, id, promised);
    script.release();
    script.run();
    assert!(!matches!(script.answer(txn), Some(ClientOutcome::Applied { .. })));
    (1..=3).for_each(|node| assert_eq!(command(&script, node, txn).status(), Status::Invalidated, "at {node}"));
    script.finish();
}

/// Nodes 2 and 3 have refused the vote, and node 2 the proposal, naming at least `promised`.
fn assert_refused(script: &Script, id: TxnId, promised: Ballot) {
    let nacks = |node| {
        replies(script, node, id).into_iter().filter_map(|verb| match verb {
            ReplyVerb::PreAcceptNack(nack) => Some(nack.promised),
            _ => None,
        })
    };
    assert!(nacks(2).count() > 0 && nacks(2).all(|named| named >= promised), "{:?}", replies(script, 2, id));
    assert!(nacks(3).count() > 0 && nacks(3).all(|named| named >= promised));
    assert_eq!(count(script, 2, id, "PreAcceptOk") + count(script, 3, id, "PreAcceptOk"), 0);
    let refusal = replies(script, 2, id).into_iter().find_map(|verb| match verb {
        ReplyVerb::AcceptReply(reply) if reply.outcome != AcceptOutcome::Success => reply.promised,
        _ => None,
    });
    assert!(refusal.is_some_and(|named| named >= promised), "{refusal:?}");
}

/// An Accept of `txn` at a ballot below any promise.
fn propose(script: &Script, txn: u32) -> Request {
    let (request, _) = pre_accept_of(script, id_of(script, txn));
    let deps = Deps::from_sets(request.scope.keys().iter().map(|key| (key.clone(), DepSet::default())).collect());
    let execute_at = request.txn_id.as_timestamp();
    let accept = Accept { kind: AcceptKind::Slow, ballot: ballot(3), execute_at, deps };
    Request { verb: Verb::Accept(accept), ..request }
}

/// P13. All three vote, one learns of it, answers and dies. Fails if recovery gives the undecided transaction up.
#[test]
pub(crate) fn p13_an_answered_fast_path_survives_its_coordinator() {
    answer_and_die("fast", "recovery ProposedAtId", 0, |m| {
        hold_if(m.owner == 1 && m.from == 1 && m.to != 1 && m.is(&["Commit", "Stable", "Apply"]))
    });
}

/// P13 on the medium path: the proposal is at one of the two left.
#[test]
pub(crate) fn p13_an_answered_medium_path_survives_its_coordinator() {
    answer_and_die("medium", "recovery FoundAccepted", 0, |m| match (m.name, m.from, m.to) {
        ("PreAcceptOk", 3, 1) | ("Accept", 1, 3) => Ruling::Drop,
        _ => hold_if(m.owner == 1 && m.from == 1 && m.to != 1 && m.is(&["Commit", "Stable", "Apply"])),
    });
}

/// P13 on the slow path: the commitment is at one of the two left.
#[test]
pub(crate) fn p13_an_answered_slow_path_survives_its_coordinator() {
    answer_and_die("slow", "recovery FoundCommitted", 60, |m| match (m.name, m.from, m.to) {
        ("Accept" | "Commit", 1, 3) => Ruling::Drop,
        _ => hold_if(m.owner == 1 && m.from == 1 && m.to != 1 && m.is(&["Stable", "Apply"])),
    });
}

fn answer_and_die(path: &str, branch: &str, ahead: i64, losses: fn(Seen) -> Ruling) {
    let mut script = Script::new(quiet());
    // a clock that is ahead makes everyone vote late for whom comes after it
    script.shift_clock(2, ahead);
    let before = script.begin(2, 0, 0b1);
    script.run_for(20);
    let taken = script.counters().get(&format!("path {path}"));
    rule(&mut script, losses);
    let txn = script.begin(1, 0b1, 0b1);
    run_until(&mut script, 200, |script| script.is_applied(txn)).expect("the client is answered");
    assert_eq!(script.counters().get(&format!("path {path}")), taken + 1);
    script.kill(1);
    script.chase(2, txn);
    script.run_for(400);
    assert_eq!(script.counters().get(branch), 1);
    let read = script.begin(3, 0b1, 0);
    script.run_for(400);
    assert_eq!(script.reads(read), Some(vec![(0, vec![before, txn])]));
    let after = script.begin(3, 0, 0b1);
    script.run_for(400);
    assert!(script.is_applied(after));
    script.start(1);
    script.release();
    script.run();
    let closing = script.begin(1, 0b1, 0);
    script.run();
    assert!(script.is_applied(closing));
    (1..=3).for_each(|node| assert_eq!(script.list(node, 0), [before, txn, after], "at {node}"));
    script.finish();
}

/// P17. The read of the first coordinator arrives where a recovery has applied: it must be refused, not answered with the own write.
#[test]
pub(crate) fn p17_a_read_after_recovery_has_applied_is_refused() {
    let mut script = Script::new(quiet());
    rule(&mut script, |m| match m.name {
        "Stable" => hold_if(m.is_live),
        "CheckStatus" => drop_if(m.to == 1),
        _ => Ruling::Pass,
    });
    let txn = script.begin(1, 0b1, 0b1);
    // the own store does not answer, so that another reader is asked
    script.run_for(60);
    assert_eq!(script.answer(txn), None);
    script.chase(3, txn);
    script.run_for(100);
    assert_eq!(script.list(2, 0), [txn]);
    release(&mut script, |m| m.to == 2);
    script.run_for(5);
    let id = id_of(&script, txn);
    assert!(count(&script, 2, id, "ReadSuperseded") > 0, "{:?}", replies(&script, 2, id));
    script.release();
    script.run();
    assert!(script.reads(txn).is_none_or(|seen| seen == [(0, vec![])]), "{:?}", script.reads(txn));
    (1..=3).for_each(|node| assert_eq!(script.list(node, 0), [txn], "at {node}"));
    script.finish();
}
