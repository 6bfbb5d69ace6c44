//! Field cases as scripts: what people met in systems of this sort, and what must happen here.
//!
//! A test is named after its case. Balances are lists here, and a condition is a read: who read what decides who may count as applied.
//! Privileged coordinators do not exist yet, so where a case asks for them on and off, only off is played.

mod faults;
mod kit;
mod load;
#[cfg(feature = "mutants")]
mod planted;
mod recovery;
mod votes;

use sim::{Script, Setting};

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
