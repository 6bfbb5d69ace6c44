//! A broken invariant ends the process; the seed it broke in must be told first.

use super::choice::Choice;
use std::cell::Cell;

thread_local! {
    static RUNNING: Cell<Option<(u64, Choice)>> = const { Cell::new(None) };
}

/// This thread runs `seed` from now on.
pub(super) fn running(seed: u64, choice: &Choice) {
    RUNNING.set(Some((seed, *choice)));
}

/// Prints the replay line of the thread that panics, then ends the process with exit code 1.
pub(super) fn name_the_seed() {
    let print = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        print(info);
        if let Some((seed, choice)) = RUNNING.get() {
            super::say(&format!("FAILED seed {seed}: an invariant broke\n  accordd sim replay {seed}{choice}\n"));
            std::process::exit(super::FAILED.into());
        }
    }));
}
