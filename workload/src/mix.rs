//! The five transaction types and how often each is drawn.

use std::fmt;
use std::str::FromStr;

use crate::random::{Purpose, Random};

/// A SimpleBank transaction type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Reads both accounts of one customer.
    Balance,
    /// Moves 1 from one customer's checking account to another's.
    Payment,
    /// Moves 1 from a customer's checking account to the same customer's savings.
    Transfer,
    /// Reads the checking accounts of two customers.
    Audit,
    /// Moves 1 from one customer's checking account to each of three others'.
    Payroll,
}

impl Kind {
    /// All types, in the order of the mix.
    pub const ALL: [Self; 5] = [Self::Balance, Self::Payment, Self::Transfer, Self::Audit, Self::Payroll];

    /// Position in [`Kind::ALL`].
    pub fn index(self) -> usize {
        self as usize
    }

    /// The name used in options and reports.
    pub fn name(self) -> &'static str {
        ["balance", "payment", "transfer", "audit", "payroll"][self.index()]
    }

    /// Distinct customers it names.
    pub fn customer_count(self) -> usize {
        match self {
            Self::Balance | Self::Transfer => 1,
            Self::Payment | Self::Audit => 2,
            Self::Payroll => 4,
        }
    }

    /// Whether it changes balances.
    pub fn is_write(self) -> bool {
        !matches!(self, Self::Balance | Self::Audit)
    }
}

/// Relative frequency of each type.
///
/// *Shape*: weights in the order of [`Kind::ALL`]; their sum is at least 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mix {
    weights: [u32; 5],
}

impl Default for Mix {
    fn default() -> Self {
        Self { weights: [60, 25, 10, 4, 1] }
    }
}

impl Mix {
    /// Nothing but one type.
    pub fn only(kind: Kind) -> Self {
        let mut weights = [0; 5];
        weights[kind.index()] = 1;
        Self { weights }
    }

    /// Types that can be drawn.
    pub fn kinds(&self) -> impl Iterator<Item = Kind> {
        Kind::ALL.into_iter().filter(|kind| self.weights[kind.index()] > 0)
    }

    /// The type of a cycle, each drawn for itself.
    pub(crate) fn draw(&self, seed: u64, cycle: u64) -> Kind {
        let at = Random::new(seed, cycle, Purpose::Kind).below(self.total());
        self.at(at)
    }

    /// The type of a cycle when each run of `total` cycles holds the mix exactly, shuffled anew each time.
    pub(crate) fn deal(&self, seed: u64, cycle: u64) -> Kind {
        let total = self.total();
        let (round, place) = (cycle / total, cycle % total);
        let mut random = Random::new(seed, round, Purpose::Deck);
        let mut deck: Vec<u64> = (0..total).collect();
        // Shuffled from the end down; cards above `place` are dealt first, so the walk may stop once `place` is fixed.
        for last in (place..total).rev() {
            let other = random.below(last + 1);
            deck.swap(last as usize, other as usize);
        }
        self.at(deck[place as usize])
    }

    fn total(&self) -> u64 {
        self.weights.iter().map(|weight| u64::from(*weight)).sum()
    }

    fn at(&self, mut point: u64) -> Kind {
        for kind in Kind::ALL {
            let weight = u64::from(self.weights[kind.index()]);
            if point < weight {
                return kind;
            }
            point -= weight;
        }
        Kind::Balance
    }
}

/// Largest sum of weights: a deck of that many cards is shuffled per draw.
const TOTAL_MAX: u64 = 10_000;

impl FromStr for Mix {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut weights = [0; 5];
        for part in text.split(',') {
            let (name, weight) =
                part.split_once('=').ok_or_else(|| format!("`{part}` is not of the form type=weight"))?;
            let name = name.trim();
            let kind = Kind::ALL.into_iter().find(|kind| kind.name() == name);
            let kind = kind.ok_or_else(|| {
                let known = Kind::ALL.map(Kind::name).join(", ");
                format!("unknown transaction type `{name}`; the types are {known}")
            })?;
            let weight = weight.trim();
            weights[kind.index()] =
                weight.parse().map_err(|_| format!("`{weight}` is no whole number (for {name})"))?;
        }
        let mix = Self { weights };
        match mix.total() {
            0 => Err("at least one weight must be above 0".to_owned()),
            1..=TOTAL_MAX => Ok(mix),
            total => Err(format!("the weights add up to {total}; at most {TOTAL_MAX} is supported")),
        }
    }
}

impl fmt::Display for Mix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts: Vec<_> =
            self.kinds().map(|kind| format!("{}={}", kind.name(), self.weights[kind.index()])).collect();
        f.write_str(&parts.join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(draw: impl Fn(u64) -> Kind, cycles: u64) -> [u32; 5] {
        let mut counts = [0; 5];
        (0..cycles).for_each(|cycle| counts[draw(cycle).index()] += 1);
        counts
    }

    #[test]
    fn the_default_mix_is_the_decks() {
        assert_eq!(Mix::default().to_string(), "balance=60,payment=25,transfer=10,audit=4,payroll=1");
        assert_eq!("payroll=1, audit=4,transfer=10,payment=25,balance=60".parse(), Ok(Mix::default()));
    }

    #[test]
    fn drawn_types_follow_the_weights() {
        let counts = counts(|cycle| Mix::default().draw(1, cycle), 100_000);
        for (count, percent) in counts.into_iter().zip([60.0, 25.0, 10.0, 4.0, 1.0]) {
            let p: f64 = percent / 100.0;
            let error = (p * (1.0 - p) * 1e5).sqrt();
            assert!((f64::from(count) - p * 1e5).abs() < 4.0 * error, "{percent}: {count}");
        }
    }

    #[test]
    fn each_deck_holds_the_mix_exactly_in_another_order() {
        let mix = Mix::default();
        let deck = |round: u64| (0..100).map(|place| mix.deal(1, round * 100 + place)).collect::<Vec<_>>();
        assert_eq!(counts(|cycle| mix.deal(1, cycle), 300), [180, 75, 30, 12, 3]);
        assert_ne!(deck(0), deck(1));
    }

    #[test]
    fn a_bad_mix_says_what_is_wrong() {
        let message = |text: &str| text.parse::<Mix>().expect_err("bad");
        assert!(message("balance=60,payments=1").contains("the types are balance"));
        assert!(message("balance").contains("type=weight"));
        assert!(message("balance=x").contains("no whole number"));
        assert!(message("balance=0").contains("above 0"));
        assert!(message("balance=4000000000,payment=4000000000").contains("at most"));
    }
}
