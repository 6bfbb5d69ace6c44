//! The only reader of system time for machines.

use protocol::{Micros, Now};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// The two clocks of a process.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    started: Instant,
}

impl Clock {
    /// Monotonic time counts from here.
    pub fn start() -> Self {
        Self { started: Instant::now() }
    }

    /// Both clocks, read once per turn. A wall before 1970 reads as 1970; the node's own clock never goes back with it.
    pub fn now(&self) -> Now {
        let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Now { mono: micros(self.started.elapsed()), wall: micros(wall) }
    }
}

fn micros(time: std::time::Duration) -> Micros {
    Micros(u64::try_from(time.as_micros()).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn monotonic_time_starts_near_zero_and_the_wall_is_this_century() {
        let now = Clock::start().now();
        assert!(now.mono < Micros::from_secs(3600));
        assert!(now.wall > Micros::from_secs(1_600_000_000));
    }
}
