use std::ops::RangeInclusive;
use std::time::Duration;

/// Pauses between attempts to reach a peer: doubling, each shortened by chance up to one half.
///
/// Without the chance, nodes that lost the same peer would come back in step.
#[derive(Debug)]
pub(crate) struct Backoff {
    range: RangeInclusive<Duration>,
    next: Duration,
}

impl Backoff {
    pub(crate) const fn new(range: RangeInclusive<Duration>) -> Self {
        let next = *range.start();
        Self { range, next }
    }

    /// The next pause, `noise` being any random number.
    pub(crate) fn pause(&mut self, noise: u32) -> Duration {
        let full = self.next;
        self.next = (full * 2).min(*self.range.end());
        full - full.mul_f64(f64::from(noise) / f64::from(u32::MAX) / 2.0)
    }

    /// The peer was well for a while: begin small again.
    pub(crate) const fn reset(&mut self) {
        self.next = *self.range.start();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(n: u64) -> Duration {
        Duration::from_millis(n)
    }

    #[test]
    fn pauses_double_up_to_the_limit() {
        let mut backoff = Backoff::new(ms(50)..=ms(300));
        let pauses: Vec<_> = (0..5).map(|_| backoff.pause(0)).collect();
        assert_eq!(pauses, [ms(50), ms(100), ms(200), ms(300), ms(300)]);
        backoff.reset();
        assert_eq!(backoff.pause(0), ms(50));
    }

    #[test]
    fn chance_shortens_by_at_most_half() {
        let mut backoff = Backoff::new(ms(100)..=ms(100));
        assert_eq!(backoff.pause(u32::MAX), ms(50));
        let middle = backoff.pause(u32::MAX / 2);
        assert!(middle > ms(74) && middle < ms(76), "{middle:?}");
    }
}
