//! Ranks by the Zipf law: P(rank k) proportional to k^-theta, for any theta >= 0.
//!
//! Rejection-inversion after Hörmann and Derflinger (1996): the histogram of k^-theta lies under the curve x^-theta, shifted by
//! half a step; a point below the curve is drawn by inverting its integral and taken if it lies in its column of the histogram.
//! Exact, no table, about one draw in ten rejected at worst. The integral is written with `expm1` and `log1p`, so that theta = 1,
//! where x^(1-theta)/(1-theta) breaks down, is an ordinary value.

use crate::error::Error;
use crate::random::Random;

/// A sampler of ranks 1..=n.
#[derive(Debug, Clone)]
pub struct Zipf {
    n: u64,
    theta: f64,
    /// The range drawn from when no rank is excluded.
    whole: Span,
}

/// The area under the curve for ranks `first..=n`, in the scale where the column of `first` has area 1 per unit of `first`.
///
/// Scaling by `first` keeps the digits: unscaled, the areas of all ranks above 1 are equal in a double for a large theta.
#[derive(Debug, Clone, Copy)]
struct Span {
    first: f64,
    low: f64,
    high: f64,
}

impl Zipf {
    /// *Errors*: [`Error::Usage`] for n = 0 or a theta that is negative or not finite.
    pub fn new(n: u64, theta: f64) -> Result<Self, Error> {
        if n == 0 {
            return Err(Error::Usage("--customers must be at least 1".to_owned()));
        }
        if !theta.is_finite() || theta < 0.0 {
            return Err(Error::Usage(format!("--theta must be a finite number of at least 0, not {theta}")));
        }
        let whole = Span::new(1, n, theta);
        Ok(Self { n, theta, whole })
    }

    /// Number of ranks.
    pub fn n(&self) -> u64 {
        self.n
    }

    /// Draws a rank from 1..=n.
    pub(crate) fn draw(&self, random: &mut Random) -> u64 {
        self.draw_span(self.whole, 1, random)
    }

    /// Draws a rank under the condition that it is none of `taken`.
    ///
    /// *Shape*: `taken` are distinct ranks, fewer than n; at most a handful.
    pub(crate) fn draw_besides(&self, taken: &[u64], random: &mut Random) -> u64 {
        // Redrawing alone could go on for ever: with a large theta the taken ranks hold nearly all the mass. The hottest rank
        // that is free outweighs each taken one above it, so redrawing from there on ends soon, by the same law.
        let first = (1..=self.n).find(|rank| !taken.contains(rank)).unwrap_or(self.n);
        let span = if first == 1 { self.whole } else { Span::new(first, self.n, self.theta) };
        loop {
            let rank = self.draw_span(span, first, random);
            if !taken.contains(&rank) {
                return rank;
            }
        }
    }

    fn draw_span(&self, span: Span, first: u64, random: &mut Random) -> u64 {
        if self.theta == 0.0 {
            return first + random.below(self.n - first + 1);
        }
        loop {
            let area = span.high - random.unit() * (span.high - span.low);
            let at = span.first * inverse_integral(area / span.first, self.theta);
            // The cast saturates, so an infinite position becomes the last rank.
            let rank = (at.round() as u64).clamp(first, self.n);
            if area >= span.column_start(rank, self.theta) {
                return rank;
            }
        }
    }
}

impl Span {
    fn new(first: u64, n: u64, theta: f64) -> Self {
        let mut span = Self { first: first as f64, low: 0.0, high: 0.0 };
        span.low = span.column_start(first, theta);
        span.high = span.area_to(n as f64 + 0.5, theta);
        span
    }

    fn area_to(self, x: f64, theta: f64) -> f64 {
        self.first * integral(x / self.first, theta)
    }

    /// Where the column of `rank` begins: its upper end less its area.
    fn column_start(self, rank: u64, theta: f64) -> f64 {
        let rank = rank as f64;
        self.area_to(rank + 0.5, theta) - (rank / self.first).powf(-theta)
    }
}

/// Integral of t^-theta from 1 to x, for x > 0: ln x at theta = 1.
fn integral(x: f64, theta: f64) -> f64 {
    let log = x.ln();
    log * expm1_over((1.0 - theta) * log)
}

/// The x whose integral is `area`.
fn inverse_integral(area: f64, theta: f64) -> f64 {
    // Rounding may push the argument of the logarithm below its end at -1.
    let scaled = (area * (1.0 - theta)).max(-1.0);
    (area * log1p_over(scaled)).exp()
}

/// (e^x - 1) / x, 1 at zero.
fn expm1_over(x: f64) -> f64 {
    if x.abs() < 1e-8 { 1.0 + x / 2.0 } else { x.exp_m1() / x }
}

/// ln(1 + x) / x, 1 at zero.
fn log1p_over(x: f64) -> f64 {
    if x.abs() < 1e-8 { 1.0 - x / 2.0 } else { x.ln_1p() / x }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Purpose;

    fn random(cycle: u64) -> Random {
        Random::new(42, cycle, Purpose::Keys)
    }

    fn weight(rank: u64, theta: f64) -> f64 {
        (rank as f64).powf(-theta)
    }

    /// Sum of the weights, the small ones first so that they count.
    fn harmonic(n: u64, theta: f64) -> f64 {
        (1..=n).rev().map(|rank| weight(rank, theta)).sum()
    }

    /// n, theta, H, p1, top-10 share, P(hottest among 2 distinct).
    const TABLE: [(u64, f64, f64, f64, f64, f64); 11] = [
        (1_000, 0.99, 7.728953, 0.1293836, 0.382472, 0.2435245),
        (1_000, 1.5, 2.549146, 0.3922883, 0.782747, 0.6443658),
        (100_000, 0.0, 100_000.0, 1e-5, 0.0001, 2e-5),
        (100_000, 0.25, 7497.099175, 0.0001333849, 0.000929, 0.0002667536),
        (100_000, 0.5, 630.996759, 0.001584794, 0.007957, 0.003167121),
        (100_000, 0.75, 67.689980, 0.01477324, 0.055542, 0.02933342),
        (100_000, 0.9, 22.192678, 0.04505991, 0.145144, 0.08817127),
        (100_000, 0.99, 12.778338, 0.07825744, 0.231337, 0.1507170),
        (100_000, 1.0, 12.090146, 0.08271199, 0.242261, 0.1589574),
        (100_000, 1.25, 4.370176, 0.2288238, 0.543063, 0.4096832),
        (1_000_000, 1.0, 14.392727, 0.06947954, 0.203503, 0.1343528),
    ];

    #[test]
    fn sums_agree_with_the_published_table() {
        for (n, theta, h, p1, _, _) in TABLE {
            let sum = harmonic(n, theta);
            assert!((sum / h - 1.0).abs() < 1e-6 && (1.0 / sum / p1 - 1.0).abs() < 1e-6, "n {n} theta {theta}: {sum}");
        }
    }

    #[test]
    fn sampled_shares_agree_with_the_published_table() {
        const DRAWS: u32 = 200_000;
        // Of 33 comparisons one may well miss three standard errors; four leaves one failure in 16,000 per comparison.
        let close = |got: u32, p: f64| {
            let error = (p * (1.0 - p) / f64::from(DRAWS)).sqrt();
            (f64::from(got) / f64::from(DRAWS) - p).abs() < 4.0 * error
        };
        for (row, (n, theta, _, p1, top, pair)) in TABLE.into_iter().enumerate() {
            let zipf = Zipf::new(n, theta).expect("valid");
            let mut random = random(row as u64);
            let (mut hottest, mut in_top, mut in_pair) = (0, 0, 0);
            for _ in 0..DRAWS {
                let first = zipf.draw(&mut random);
                let second = zipf.draw_besides(&[first], &mut random);
                hottest += u32::from(first == 1);
                in_top += u32::from(first <= 10);
                in_pair += u32::from(first == 1 || second == 1);
            }
            let got = (hottest, in_top, in_pair);
            assert!(close(hottest, p1) && close(in_top, top) && close(in_pair, pair), "n {n} theta {theta}: {got:?}");
        }
    }

    /// Field case W01.
    #[test]
    fn frequencies_follow_the_law_for_exponents_zero_one_and_above() {
        const DRAWS: u32 = 1_000_000;
        for theta in [0.0, 0.25, 0.5, 0.75, 0.99, 1.0, 1.2] {
            let zipf = Zipf::new(1_000, theta).expect("valid");
            let sum = harmonic(1_000, theta);
            let mut counts = [0u32; 1_001];
            let mut random = random(0);
            for _ in 0..DRAWS {
                counts[zipf.draw(&mut random) as usize] += 1;
            }
            let mut chi_square = 0.0;
            for rank in 1..=1_000u64 {
                let p = weight(rank, theta) / sum;
                let expected = p * f64::from(DRAWS);
                let off = f64::from(counts[rank as usize]) - expected;
                chi_square += off * off / expected;
                let error = (expected * (1.0 - p)).sqrt();
                assert!(rank > 10 || off.abs() <= 4.0 * error, "theta {theta} rank {rank}: off by {off}");
            }
            // 999 degrees of freedom, one in a thousand (Wilson-Hilferty).
            assert!(chi_square < 1143.9, "theta {theta}: {chi_square}");
        }
    }

    #[test]
    fn the_same_seed_gives_the_same_series() {
        let zipf = Zipf::new(1_000, 0.99).expect("valid");
        let series = |cycle| {
            let mut random = random(cycle);
            (0..100).map(|_| zipf.draw(&mut random)).collect::<Vec<_>>()
        };
        assert_eq!(series(1), series(1));
        assert_ne!(series(1), series(2));
    }

    #[test]
    fn draws_besides_follow_the_conditional_law() {
        // Ranks 1 and 3 of 5 are taken, so 2, 4 and 5 share by weight.
        let zipf = Zipf::new(5, 1.2).expect("valid");
        let total: f64 = [2, 4, 5].map(|rank| weight(rank, 1.2)).iter().sum();
        let mut counts = [0u32; 6];
        let mut random = random(9);
        for _ in 0..100_000 {
            counts[zipf.draw_besides(&[3, 1], &mut random) as usize] += 1;
        }
        assert_eq!((counts[1], counts[3]), (0, 0));
        for rank in [2, 4, 5] {
            let p = weight(rank, 1.2) / total;
            let error = (p * (1.0 - p) / 1e5).sqrt();
            assert!((f64::from(counts[rank as usize]) / 1e5 - p).abs() < 4.0 * error, "rank {rank}");
        }
    }

    #[test]
    fn extreme_exponents_neither_hang_nor_leave_the_range() {
        for theta in [1e-12, 1.0 - 1e-12, 1.0 + 1e-12, 5.0, 40.0, 1e3, 1e6, 1e300] {
            for n in [1, 2, 4, 1_000, 1 << 50] {
                let zipf = Zipf::new(n, theta).expect("valid");
                let mut random = random(5);
                for _ in 0..200 {
                    assert!((1..=n).contains(&zipf.draw(&mut random)));
                }
            }
            let zipf = Zipf::new(4, theta).expect("valid");
            assert_eq!(zipf.draw_besides(&[1, 2, 3], &mut random(6)), 4);
            if theta >= 1e3 {
                assert_eq!(zipf.draw_besides(&[1, 3], &mut random(6)), 2, "theta {theta}");
            }
        }
    }

    #[test]
    fn senseless_parameters_are_refused() {
        for (n, theta) in [(0, 1.0), (5, -0.1), (5, f64::NAN), (5, f64::INFINITY)] {
            assert!(Zipf::new(n, theta).is_err());
        }
    }
}
