//! Many clients: P08, P18, and the chain of P14.

use crate::kit::*;
use protocol::{ClientOutcome, Status};
use sim::{Script, Setting};
use std::cell::Cell;
use std::rc::Rc;

/// P08. Transfers touch two of four keys, reads take all four. Fails if a read sees one half of a transfer.
#[test]
pub(crate) fn p08_a_read_of_many_keys_never_sees_half_of_a_transfer() {
    let mut script = Script::new(setting());
    let (transfers, reads) = transfers_and_reads(&mut script);
    let mut count = 0;
    for lists in reads.iter().filter_map(|read| script.reads(*read)) {
        count += 1;
        for (transfer, keys) in &transfers {
            let seen = lists.iter().filter(|(key, list)| keys >> key & 1 == 1 && list.contains(transfer)).count();
            assert!(seen == 0 || seen == 2, "a read saw half of {transfer}: {lists:?}");
        }
    }
    assert!(count > 100, "only {count} reads were answered");
    script.finish();
}

/// Twelve clients for half a minute; every second one node misses the outcomes for 200 ms. Transfers with their keys, and reads.
fn transfers_and_reads(script: &mut Script) -> (Vec<(u32, u8)>, Vec<u32>) {
    let slow = Rc::new(Cell::new(0));
    let lagging = Rc::clone(&slow);
    rule(script, move |m| hold_if(m.name == "Apply" && m.to == lagging.get()));
    let mut chance = Chance(8);
    let (mut transfers, mut reads, mut clients): (Vec<(u32, u8)>, Vec<u32>, Vec<u32>) = Default::default();
    for round in 0..300u32 {
        slow.set(if round % 10 < 2 { 1 + round / 10 * 7 % 3 } else { 0 });
        if round % 10 == 2 {
            release(script, |_| true);
        }
        clients.retain(|client| script.answer(*client).is_none());
        while clients.len() < 12 && transfers.len() + reads.len() < 500 {
            let node = 1 + chance.below(3) as u32;
            if chance.below(3) == 0 {
                reads.push(script.begin(node, 0b1111, 0));
                clients.extend(reads.last());
            } else {
                let one = chance.below(4);
                let keys = 1 << one | 1 << ((one + 1 + chance.below(3)) % 4);
                let transfer = script.begin(node, keys, keys);
                transfers.push((transfer, keys));
                clients.push(transfer);
            }
        }
        script.run_for(100);
    }
    (transfers, reads)
}

/// P14. Fails if abandoned transactions are chased one after the other, or each costs a storm of messages.
#[test]
pub(crate) fn p14_a_chain_of_abandoned_transactions_clears_in_one_sweep() {
    const COUNT: u32 = 300;
    let mut script =
        Script::new(Setting { progress: 1000, timeout: 333, deadline: 60_000, is_evicted: false, ..setting() });
    rule(&mut script, |m| drop_if(m.owner == 1 && m.is_live && m.is(&["Commit", "Stable", "Apply"])));
    for nth in 0..COUNT {
        script.begin(1, 0, 0b1);
        if nth % 10 == 9 {
            script.run_for(1);
        }
    }
    script.run_for(10);
    script.kill(1);
    let before = script.sent().len();
    let update = script.begin(2, 0, 0b1);
    let read = script.begin(2, 0b1, 0);
    let took = run_until(&mut script, 20_000, |script| script.is_applied(update) && script.is_applied(read));
    let ticks = took.expect("both are answered");
    script.run();
    let about_abandoned = |sent: &&sim::Sent| {
        let m = seen(sent.from, sent.to, &sent.message);
        m.owner == 1 && m.from != m.to
    };
    let messages = script.sent()[before..].iter().filter(about_abandoned).count();
    assert!(ticks < 10_000, "{ticks}");
    assert!(messages < 20 * COUNT as usize, "{messages}");
    for txn in 0..COUNT {
        let [one, other] = [2, 3].map(|node| command(&script, node, txn).status());
        assert!(one == other && matches!(one, Status::Applied | Status::Invalidated), "{txn} is {one:?} and {other:?}");
    }
    script.finish();
}

/// P18. A twentieth of all messages and answers is lost. Fails if anything takes effect twice, or an answer promises too much.
#[test]
pub(crate) fn p18_an_unknown_append_is_never_tried_again() {
    let mut script = Script::new(setting());
    let mut chance = Chance(18);
    rule(&mut script, move |m| drop_if(m.from != m.to && chance.below(20) == 0));
    let mut chance = Chance(81);
    // number, key, and whether the client hears the answer
    let mut begun: Vec<(u32, u32, bool)> = Vec::new();
    for nth in 0..400 {
        let key = chance.below(4) as u32;
        begun.push((script.begin(1 + nth % 3, 0, 1 << key), key, chance.below(20) > 0));
        script.run_for(150);
    }
    script.release();
    script.run();
    for key in 0..4 {
        let of_key = || begun.iter().filter(|(_, of, _)| *of == key);
        let is_ok = |(number, _, is_heard): &&(u32, u32, bool)| *is_heard && script.is_applied(*number);
        let is_no = |(number, _, is_heard): &&(u32, u32, bool)| {
            *is_heard && matches!(script.answer(*number), Some(ClientOutcome::NotApplied(_)))
        };
        let (ok, no) = (of_key().filter(is_ok).count(), of_key().filter(is_no).count());
        let unknown = of_key().count() - ok - no;
        let list = script.list(1, key);
        assert!(
            ok <= list.len() && list.len() <= ok + unknown,
            "key {key}: {ok} ok, {unknown} unknown, {}",
            list.len()
        );
        assert!(ok > 50, "key {key}: only {ok} ok");
        for (number, ..) in of_key() {
            let times = list.iter().filter(|seen| *seen == number).count();
            assert!(times <= 1, "{number} took effect {times} times");
        }
    }
    script.finish();
}
