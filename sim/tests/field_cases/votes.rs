//! Votes and acknowledgements, counted once and durable before they leave: P03, P05, P10, P11, J10.

use crate::kit::*;
use protocol::message::{
    Accept, AcceptKind, AcceptOutcome, ApplyOutcome, BeginRecovery, Message, ReplyVerb, Request, Verb,
};
use protocol::{DepSet, Deps, Status, Timestamp, TxnId};
use sim::{Ruling, Script};
use std::collections::BTreeMap;

/// P03. Fails if a round waits for a vote that never comes, or counts somebody twice and goes fast (planted: one vote fewer).
#[test]
pub(crate) fn p03_a_round_without_the_last_vote_ends() {
    votes_without_the_third(|_| {}, |m| drop_if(m.name == "PreAcceptOk" && m.from == 3 && m.to == 1));
}

/// P03 with the third node stopped.
#[test]
pub(crate) fn p03_a_round_with_a_node_down_ends() {
    votes_without_the_third(|script| script.kill(3), |_| Ruling::Pass);
}

/// Two hundred one at a time, then two hundred with sixteen clients.
fn votes_without_the_third(start: fn(&mut Script), losses: fn(Seen) -> Ruling) {
    // wait for a slow vote, and two round trips; an own message may take a tick as well
    const BOUND: u64 = 50 + 2 * 2 + 2;
    let mut script = Script::new(setting());
    start(&mut script);
    rule(&mut script, losses);
    for nth in 0..200 {
        let txn = script.begin(1, 0, 1 << (nth % 4));
        let ticks = run_until(&mut script, BOUND, |script| script.answer(txn).is_some());
        assert!(ticks.is_some() && script.is_applied(txn), "{nth} is {:?}", script.answer(txn));
    }
    assert_eq!(script.counters().get("path fast"), 0);
    assert_eq!(script.counters().get("path medium"), 200);
    // with conflicts in flight a vote may be late: one more round trip, and one transaction before it
    crowd(&mut script, 200, 16, 2 * BOUND + 4, |_| 1);
    let paths = script.counters().get("path medium") + script.counters().get("path slow");
    assert_eq!((script.counters().get("path fast"), paths), (0, 400));
    script.finish();
}

/// Keeps `clients` appends in flight until `total` have been answered, each within `bound` ticks.
fn crowd(script: &mut Script, total: usize, clients: usize, bound: u64, node: fn(usize) -> u32) {
    let mut open: Vec<(u32, u64)> = Vec::new();
    let mut begun = 0;
    while begun < total || !open.is_empty() {
        while begun < total && open.len() < clients {
            open.push((script.begin(node(begun), 0, 1 << (begun % 4)), script.now()));
            begun += 1;
        }
        script.run_for(1);
        assert!(script.violation().is_none(), "{:?}", script.violation());
        let now = script.now();
        open.retain(|(txn, since)| {
            assert!(now - since <= bound, "{txn} is open for {} ticks", now - since);
            assert!(script.answer(*txn).is_none() || script.is_applied(*txn), "{:?}", script.answer(*txn));
            !script.is_applied(*txn)
        });
    }
}

/// P05 (b). Fails if a parked outcome is acknowledged as applied, is lost by a restart, or a read passes it.
#[test]
pub(crate) fn p05_a_parked_outcome_is_stored_and_not_applied() {
    let mut script = Script::new(quiet());
    rule(&mut script, |m| hold_if(m.owner == 1 && m.to != 1 && m.is(&["Stable", "Commit", "Apply"])));
    let first = script.begin(1, 0, 0b1);
    script.run_for(30);
    let has_first = id_of(&script, first);
    script.rule(move |from, to, message| {
        let m = seen(from, to, message);
        let is_first = matches!(message, Message::Request(request) if request.txn_id == has_first);
        let is_foreign_read = m.owner == 2 && m.name == "Stable" && m.to != 2;
        hold_if(is_foreign_read || (is_first && m.to != 1 && m.is(&["Stable", "Commit", "Apply"])))
    });
    let second = script.begin(1, 0, 0b1);
    script.run_for(30);
    assert!(script.is_applied(first) && script.is_applied(second));
    for node in [2, 3] {
        assert_eq!(apply_replies(&script, node, second), [ApplyOutcome::Stored], "at {node}");
    }
    script.kill(2);
    script.start(2);
    let parked = command(&script, 2, second);
    assert_eq!(parked.status(), Status::PreApplied);
    assert!(parked.outcome().is_some() && parked.deps().ids().any(|id| id == id_of(&script, first)));
    // the only reader that may be asked is the one that lags
    let read = script.begin(2, 0b1, 0);
    script.run_for(300);
    assert_eq!(script.answer(read), None);
    script.release();
    script.run_for(300);
    assert_eq!(script.reads(read), Some(vec![(0, vec![first, second])]));
    script.finish();
}

fn apply_replies(script: &Script, node: u32, txn: u32) -> Vec<ApplyOutcome> {
    let outcome = |verb| match verb {
        ReplyVerb::ApplyReply(reply) => Some(reply.outcome),
        _ => None,
    };
    replies(script, node, id_of(script, txn)).into_iter().filter_map(outcome).collect()
}

/// P05 (c). Fails if a vote, or its repetition, leaves before the sync (planted: reply before sync, re-ack before sync).
#[test]
pub(crate) fn p05_no_vote_leaves_before_its_sync() {
    let mut script = Script::new(quiet());
    rule(&mut script, |m| {
        let is_twice = m.name == "PreAccept" && m.to == 2;
        if is_twice { Ruling::Repeat { copies: 2, first: 1, apart: 7 } } else { Ruling::Pass }
    });
    script.stall_syncs(2, true);
    let txn = script.begin(1, 0, 0b1);
    script.run_for(40);
    let id = id_of(&script, txn);
    assert_eq!(command(&script, 2, txn).status(), Status::PreAccepted, "it has arrived");
    assert_eq!(count(&script, 2, id, "PreAcceptOk"), 0);
    script.stall_syncs(2, false);
    script.run_for(5);
    assert_eq!(count(&script, 2, id, "PreAcceptOk"), 2);
    assert!(script.is_applied(txn));
    assert_eq!(script.counters().get("path fast"), 1);
    script.finish();
}

/// P10. Fails if a repeated PreAccept finds the record it made itself, or is voted on anew.
#[test]
pub(crate) fn p10_a_transaction_is_never_its_own_dependency() {
    let mut script = Script::new(setting());
    // soon enough to be voted on again, and long after
    let mut apart = [1, 2, 50].into_iter().cycle();
    rule(&mut script, move |m| match m.name {
        "PreAccept" => Ruling::Repeat { copies: 3, first: 1, apart: apart.next().unwrap_or(1) },
        _ => Ruling::Pass,
    });
    for nth in 0..50 {
        script.begin(1 + nth % 3, 0, 0b1);
        script.run_for(3);
    }
    script.run();
    let again: Vec<_> = script
        .sent()
        .iter()
        .filter(|sent| seen(sent.from, sent.to, &sent.message).name == "PreAccept")
        .cloned()
        .collect();
    let votes = |script: &Script| {
        script.sent().iter().filter(|sent| seen(sent.from, sent.to, &sent.message).name == "PreAcceptOk").count()
    };
    let before = votes(&script);
    again.into_iter().for_each(|sent| script.deliver(sent.from.0, sent.to.0, sent.message));
    script.run();
    assert_eq!(votes(&script), before, "what is stable is not voted on");
    assert!((0..50).all(|txn| script.is_applied(txn)));
    let repeated = check_votes(&script);
    assert!(repeated >= 100, "only {repeated} votes were repeated");
    script.finish();
}

/// No reply names its own transaction, and a node votes the same every time; how often it was asked again.
fn check_votes(script: &Script) -> usize {
    let mut votes: BTreeMap<(u32, TxnId), Timestamp> = BTreeMap::new();
    let mut repeated = 0;
    for sent in script.sent() {
        let Message::Reply(reply) = &sent.message else { continue };
        let deps = match &reply.verb {
            ReplyVerb::PreAcceptOk(ok) => {
                let first = votes.insert((sent.from.0, reply.txn_id), ok.witnessed_at);
                assert!(first.is_none_or(|first| first == ok.witnessed_at), "{} voted twice", sent.from);
                repeated += usize::from(first.is_some());
                &ok.deps
            }
            ReplyVerb::AcceptReply(accept) => &accept.deps,
            _ => continue,
        };
        assert!(deps.ids().all(|id| id != reply.txn_id), "{} waits for itself at {}", reply.txn_id, sent.from);
    }
    repeated
}

/// P11. Everything comes twice to four times, at any time up to two time-outs. Fails if a handler is not idempotent.
#[test]
pub(crate) fn p11_duplicates_and_late_messages_are_harmless() {
    let mut script = Script::new(setting());
    let mut chance = Chance(11);
    rule(&mut script, move |_| Ruling::Repeat {
        copies: 2 + chance.below(3) as u32,
        first: 1 + chance.below(50),
        apart: chance.below(33),
    });
    crowd(&mut script, 160, 16, 1500, |nth| 1 + nth as u32 % 3);
    script.run();
    script.finish();
}

/// P11. One replica's vote three times and no other. Fails if copies of a vote are counted.
#[test]
pub(crate) fn p11_three_copies_of_one_vote_are_no_quorum() {
    let mut script = Script::new(quiet());
    rule(&mut script, |m| match m.name {
        "PreAcceptOk" if m.from == 2 => Ruling::Repeat { copies: 3, first: 1, apart: 3 },
        "PreAcceptOk" => Ruling::Drop,
        _ => Ruling::Pass,
    });
    let txn = script.begin(1, 0, 0b1);
    script.run_for(2_000);
    let decided = script
        .sent()
        .iter()
        .filter(|sent| seen(sent.from, sent.to, &sent.message).is(&["Accept", "Commit", "Stable", "Apply"]));
    assert_eq!(decided.count(), 0);
    assert!(count(&script, 2, id_of(&script, txn), "PreAcceptOk") > 0);
    assert!(!script.is_applied(txn));
    script.finish();
}

/// P11. Two votes, each three times, are two votes. Fails if copies make up for the third (planted: double count).
#[test]
pub(crate) fn p11_copies_of_two_votes_do_not_make_a_third() {
    let mut script = Script::new(quiet());
    rule(&mut script, |m| match m.name {
        "PreAcceptOk" if m.from == 3 => Ruling::Drop,
        "PreAcceptOk" => Ruling::Repeat { copies: 3, first: 1, apart: 3 },
        _ => Ruling::Pass,
    });
    let txn = script.begin(1, 0, 0b1);
    script.run_for(100);
    assert!(script.is_applied(txn));
    assert_eq!((script.counters().get("path fast"), script.counters().get("path medium")), (0, 1));
    script.finish();
}

/// J10. Fails if a promise leaves before it is durable, or is forgotten (planted: reply before sync, promise not persisted).
#[test]
pub(crate) fn j10_a_promise_survives_a_power_loss() {
    let mut script = Script::new(quiet());
    rule(&mut script, |m| hold_if(m.name == "PreAccept" && m.to != 1));
    let txn = script.begin(1, 0, 0b1);
    script.run_for(3);
    let id = id_of(&script, txn);
    let (request, pre_accept) = pre_accept_of(&script, id);
    script.stall_syncs(2, true);
    let begin = BeginRecovery { ballot: ballot(7), txn: pre_accept.txn };
    script.deliver(3, 2, Message::Request(Request { verb: Verb::BeginRecovery(begin), ..request.clone() }));
    script.run_for(10);
    assert_eq!((command(&script, 2, txn).promised(), count(&script, 2, id, "RecoverOk")), (ballot(7), 0));
    script.stall_syncs(2, false);
    run_until(&mut script, 5, |script| count(script, 2, id, "RecoverOk") == 1).expect("it leaves after the sync");
    script.kill(2);
    script.start(2);
    let deps = Deps::from_sets(request.scope.keys().iter().map(|key| (key.clone(), DepSet::default())).collect());
    let accept = Accept { kind: AcceptKind::Slow, ballot: ballot(4), execute_at: id.as_timestamp(), deps };
    script.deliver(3, 2, Message::Request(Request { verb: Verb::Accept(accept), ..request }));
    release(&mut script, |m| m.to == 2);
    script.run_for(5);
    let answers = replies(&script, 2, id);
    let is_refusal = |verb: &ReplyVerb| match verb {
        ReplyVerb::AcceptReply(reply) => {
            reply.outcome == AcceptOutcome::RejectedBallot && reply.promised == Some(ballot(7))
        }
        ReplyVerb::PreAcceptNack(nack) => nack.promised == ballot(7),
        _ => false,
    };
    assert_eq!(answers.iter().filter(|verb| is_refusal(verb)).count(), 2, "{answers:?}");
    script.finish();
}

/// J10, the vote. Fails if a vote is cast anew after a restart, or the index of conflicts is not rebuilt from the log.
#[test]
pub(crate) fn j10_a_vote_survives_a_power_loss() {
    let mut script = Script::new(quiet());
    rule(&mut script, |m| hold_if(m.name == "PreAccept" && m.owner == 1));
    let txn = script.begin(1, 0, 0b1);
    script.run_for(3);
    script.begin(3, 0, 0b1);
    script.run_for(20);
    let id = id_of(&script, txn);
    let (request, _) = pre_accept_of(&script, id);
    release(&mut script, |m| m.to == 2);
    run_until(&mut script, 5, |script| count(script, 2, id, "PreAcceptOk") == 1).expect("it votes");
    script.kill(2);
    script.start(2);
    script.deliver(1, 2, Message::Request(request));
    script.run_for(3);
    let votes: Vec<Timestamp> = replies(&script, 2, id)
        .into_iter()
        .filter_map(|verb| match verb {
            ReplyVerb::PreAcceptOk(ok) => Some(ok.witnessed_at),
            _ => None,
        })
        .collect();
    assert_eq!(votes.len(), 2);
    assert!(votes[0] == votes[1] && votes[0] > id.as_timestamp(), "{votes:?}");
    let newer = script.begin(3, 0, 0b1);
    script.run_for(5);
    let names_it = replies(&script, 2, id_of(&script, newer))
        .into_iter()
        .any(|verb| matches!(verb, ReplyVerb::PreAcceptOk(ok) if ok.deps.ids().any(|dep| dep == id)));
    assert!(names_it);
    script.finish();
}
