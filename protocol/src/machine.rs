//! The joint between a pure machine and its shell.

use crate::effect::Effects;
use crate::hlc::NodeClock;
use crate::time::{Micros, Now};

/// A batch of inputs, in order of arrival. Empty is a wake-up.
pub type Inbox<I> = Vec<I>;

/// Decides; never performs.
///
/// A machine never fails on input from outside: a bad or stale message is an outcome. One turn appends at most one journal batch.
pub trait Machine {
    /// What it takes in.
    type Input;

    /// Takes a batch of inputs at `now` and appends what must happen to `out`, in order.
    fn turn(&mut self, now: Now, hlc: &NodeClock, inbox: Inbox<Self::Input>, out: &mut Effects);

    /// Monotonic time of the next wake-up; `None` if it waits for nothing.
    fn next_wakeup(&self) -> Option<Micros>;
}
