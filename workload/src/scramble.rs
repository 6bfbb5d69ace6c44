//! A seeded bijection on [0, n): spreads hot ranks over the ids without two ranks ever meeting.

use crate::random::{Purpose, Random, mix};

const ROUNDS: usize = 4;

/// Feistel network over the smallest even number of bits that holds n; results outside [0, n) are run again.
#[derive(Debug, Clone)]
pub(crate) struct Scramble {
    n: u64,
    half_bits: u32,
    keys: [u64; ROUNDS],
}

impl Scramble {
    pub(crate) fn new(n: u64, seed: u64) -> Self {
        let bits = u64::BITS - n.saturating_sub(1).leading_zeros();
        let half_bits = bits.div_ceil(2).max(1);
        let mut random = Random::new(seed, 0, Purpose::Scramble);
        Self { n, half_bits, keys: [(); ROUNDS].map(|()| random.bits()) }
    }

    /// The image of `value`, which lies in [0, n).
    pub(crate) fn apply(&self, value: u64) -> u64 {
        // At most four times as many states as n, so the walk back into the range is short; it ends because the network is a
        // bijection: going on from a value in the range leads back into the range.
        let mut walked = self.permute(value);
        while walked >= self.n {
            walked = self.permute(walked);
        }
        walked
    }

    fn permute(&self, value: u64) -> u64 {
        let mask = (1u64 << self.half_bits) - 1;
        let (mut left, mut right) = (value >> self.half_bits, value & mask);
        for key in self.keys {
            (left, right) = (right, left ^ (mix(right ^ key) & mask));
        }
        left << self.half_bits | right
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn law_scramble_is_a_bijection(n in 1u64..3_000, seed: u64) {
            let scramble = Scramble::new(n, seed);
            let mut seen = vec![false; n as usize];
            for value in 0..n {
                let image = scramble.apply(value);
                prop_assert!(image < n);
                prop_assert!(!std::mem::replace(&mut seen[image as usize], true));
            }
        }
    }

    #[test]
    fn seeds_differ() {
        let image = |seed| (0..50).map(|value| Scramble::new(1_000, seed).apply(value)).collect::<Vec<_>>();
        assert_ne!(image(1), image(2));
    }
}
