//! Numbers that depend on a seed and a cycle alone, so that any cycle can be drawn again by itself.

/// A short sequence of random numbers, one per (seed, cycle, purpose).
#[derive(Debug, Clone)]
pub(crate) struct Random {
    state: u64,
}

/// What a sequence is for; two purposes of one cycle share nothing.
#[derive(Debug, Clone, Copy)]
#[repr(u64)]
pub(crate) enum Purpose {
    Kind = 1,
    Keys = 2,
    Deck = 3,
    Scramble = 4,
}

/// 2^64 over the golden ratio, odd: steps of it visit every state.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

impl Random {
    pub(crate) fn new(seed: u64, cycle: u64, purpose: Purpose) -> Self {
        // Mixed between each part, so that seeds or cycles that differ by little give unrelated states.
        let state = mix(mix(mix(seed.wrapping_add(STEP)) ^ cycle).wrapping_add(purpose as u64));
        Self { state }
    }

    pub(crate) fn bits(&mut self) -> u64 {
        self.state = self.state.wrapping_add(STEP);
        mix(self.state)
    }

    /// Uniform in [0, 1), in steps of 2^-53.
    pub(crate) fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// Uniform in [0, bound), without bias; `bound` is at least 1.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        let bound = bound.max(1);
        // Of the 2^64 products the lowest `2^64 mod bound` per column are one too many.
        let excess = bound.wrapping_neg() % bound;
        loop {
            let product = u128::from(self.bits()) * u128::from(bound);
            if product as u64 >= excess {
                return (product >> 64) as u64;
            }
        }
    }
}

/// A bijection of 64 bits in which every input bit reaches every output bit (the finaliser of SplitMix64).
pub(crate) fn mix(mut bits: u64) -> u64 {
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sequence_depends_on_seed_cycle_and_purpose() {
        let first = |seed, cycle, purpose| Random::new(seed, cycle, purpose).bits();
        let base = first(1, 1, Purpose::Keys);
        assert_eq!(base, first(1, 1, Purpose::Keys));
        for other in [first(2, 1, Purpose::Keys), first(1, 2, Purpose::Keys), first(1, 1, Purpose::Kind)] {
            assert_ne!(base, other);
        }
    }

    #[test]
    fn first_draws_of_consecutive_cycles_are_uniform() {
        let mut counts = [0u32; 100];
        for cycle in 0..100_000 {
            counts[Random::new(7, cycle, Purpose::Keys).below(100) as usize] += 1;
        }
        let chi_square: f64 = counts.iter().map(|count| (f64::from(*count) - 1000.0).powi(2) / 1000.0).sum();
        // 99 degrees of freedom, one in a thousand.
        assert!(chi_square < 148.2, "{chi_square}");
    }

    #[test]
    fn units_stay_below_one() {
        let mut random = Random::new(3, 0, Purpose::Keys);
        let mean = (0..100_000).map(|_| random.unit()).inspect(|unit| assert!((0.0..1.0).contains(unit))).sum::<f64>();
        assert!((mean / 100_000.0 - 0.5).abs() < 0.004);
    }
}
