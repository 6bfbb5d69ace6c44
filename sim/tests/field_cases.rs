//! Field cases as scripts: what people met, and what must happen here.

use protocol::message::{Message, Verb};
use sim::{Ruling, Script, Setting};

fn is_request(message: &Message, which: fn(&Verb) -> bool) -> bool {
    matches!(message, Message::Request(request) if which(&request.verb))
}

#[test]
fn a_plain_transaction_takes_the_fast_path() {
    let mut script = Script::new(Setting::default());
    let first = script.begin(1, 0, 0b1);
    script.run_for(100);
    assert!(script.is_applied(first));
    assert_eq!(script.counters().get("path fast"), 1);
    assert_eq!(script.list(3, 0), [first]);
    script.finish();
}

/// P17: the first coordinator's late Read must not see what a recovery has applied.
#[test]
fn p17_a_read_after_recovery_has_applied_is_refused() {
    let mut script = Script::new(Setting::default());
    script.rule(|_, _, message| {
        let is_live_stable =
            is_request(message, |verb| matches!(verb, Verb::Stable(stable) if stable.ballot.is_zero()));
        if is_live_stable { Ruling::Hold } else { Ruling::Pass }
    });
    let txn = script.begin(1, 0b1, 0b1);
    script.run_for(5_000);
    script.release();
    script.run();
    assert_eq!(script.list(2, 0), [txn]);
    script.finish();
}
