//! Clocks: P09.

use crate::kit::*;
use protocol::message::{Message, Request};
use protocol::{Hlc, TxnId};
use sim::{Script, Sent, Setting};

/// The wall shows this many microseconds when virtual time begins.
const WALL_START: u64 = 1_000_000_000;

/// How far ahead of its own wall an id may be, in microseconds.
const DRIFT: u64 = 5_000_000;

/// P09. Two hours ahead where one is allowed. Fails if the others take the foreign time over, or wait for the one that is ahead.
#[test]
pub(crate) fn p09_a_clock_far_ahead_does_not_drag_the_cluster() {
    let mut script = Script::new(Setting { is_evicted: false, ..setting() });
    script.shift_clock(2, AHEAD);
    load(&mut script);
    script.shift_clock(2, -AHEAD);
    script.kill(2);
    script.start(2);
    load(&mut script);
    assert!(script.counters().get("ClockSkew") > 0);
    script.finish();
}

/// Two hours in ticks.
const AHEAD: i64 = 2 * 3_600_000;

/// A load over all three nodes; what goes through the two good ones is quick, and their ids stay near their walls.
fn load(script: &mut Script) {
    let first = script.sent().len();
    for nth in 0..90 {
        let node = 1 + nth % 3;
        let txn = script.begin(node, 0b1, 1 << (nth % 4));
        script.run_for(20);
        if node != 2 {
            run_until(script, 200, |script| script.is_applied(txn))
                .unwrap_or_else(|| panic!("{txn} through {node} is {:?} at {}", script.answer(txn), script.now()));
        }
    }
    script.run_for(2_000);
    script.sent()[first..].iter().for_each(assert_near_its_wall);
}

fn assert_near_its_wall(sent: &Sent) {
    let Message::Request(Request { txn_id, .. }) = &sent.message else { return };
    let m = seen(sent.from, sent.to, &sent.message);
    if m.name == "PreAccept" && m.owner != 2 {
        let wall = WALL_START + sent.at * 1000;
        assert!(txn_id.hlc().0 < wall + DRIFT, "{txn_id} is issued when the wall shows {wall}");
    }
}

/// P09. Fails if a PreAccept from far in the future is recorded or moves a clock.
#[test]
pub(crate) fn p09_a_stamp_of_tomorrow_is_refused_and_moves_no_clock() {
    let mut script = Script::new(quiet());
    let txn = script.begin(2, 0, 0b1);
    script.run_for(100);
    let (request, _) = pre_accept_of(&script, id_of(&script, txn));
    let id = request.txn_id;
    let tomorrow = TxnId::new(id.epoch(), Hlc(id.hlc().0 + 24 * 3_600_000_000), id.node(), id.shape());
    for node in [1, 3] {
        script.deliver(2, node, Message::Request(Request { txn_id: tomorrow, ..request.clone() }));
    }
    script.run_for(5);
    for node in [1, 3] {
        assert_eq!(count(&script, node, tomorrow, "Unavailable"), 1);
    }
    assert_eq!(script.counters().get("ClockSkew"), 2);
    let next = script.begin(1, 0, 0b1);
    script.run_for(100);
    assert!(script.is_applied(next));
    script.sent().iter().for_each(assert_near_its_wall);
    assert_eq!(script.counters().get("path fast"), 2);
    script.finish();
}
