//! Bytes from outside, by the million.
//!
//! A target is a plain function from bytes to an [`Outcome`]; it panics where a law is broken. [`campaign`] calls it with inputs
//! mutated from seeds and from the kept corpus (`fuzz/corpus/<target>/`), keeps those that show an outcome not seen before, and
//! shrinks and writes down the first that panics. Nothing here needs a nightly toolchain, and the same seed does the same.

mod alloc;
mod corpus;
mod mutate;
mod rng;
mod runner;
/// The targets, by the thing they attack.
pub mod targets;

pub use alloc::{CountingAllocator, Spent, spent_by};
pub use corpus::{directory, kept};
pub use runner::{Failure, Report, campaign, replay};

/// One thing that takes bytes from outside.
pub struct Target {
    /// Names its corpus.
    pub name: &'static str,
    /// Runs one input; panics if a law is broken.
    pub run: fn(&[u8]) -> Outcome,
    /// Where mutation starts.
    pub seeds: fn() -> Vec<Vec<u8>>,
    /// Pieces worth inserting.
    pub dictionary: &'static [&'static [u8]],
    /// *Units*: bytes of the longest input.
    pub input_max: usize,
}

/// What became of an input, in words coarse enough that few inputs share none: a new one makes its input worth keeping.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Outcome(String);

impl Outcome {
    /// `text` without what differs from input to input: digits, quoted parts, and everything beyond its beginning.
    pub fn of(text: &str) -> Self {
        let mut class = String::new();
        let mut quoted = None;
        for letter in text.chars().take(400) {
            match (letter, quoted) {
                ('"' | '\'' | '`', None) => quoted = Some(letter),
                (letter, Some(open)) if letter == open => quoted = None,
                (_, Some(_)) | ('0'..='9', None) => {}
                (letter, None) => class.push(letter),
            }
            if class.len() >= 120 {
                break;
            }
        }
        Self(class)
    }

    /// A count to the next power of two.
    pub fn size(count: usize) -> u32 {
        usize::BITS - count.leading_zeros()
    }

    /// A count that is part of a class, in letters, which [`Outcome::of`] leaves alone.
    pub fn letter(count: usize) -> char {
        char::from(b'a' + Self::size(count).min(25) as u8)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_forget_numbers_and_quoted_words() {
        assert_eq!(Outcome::of("line 3: unknown \"abc\" here"), Outcome::of("line 17: unknown \"x y\" here"));
        assert_ne!(Outcome::of("line 3: unknown"), Outcome::of("line 3: known"));
        assert_eq!([0, 1, 2, 3, 4].map(Outcome::size), [0, 1, 2, 2, 3]);
        assert_eq!(Outcome::letter(5), 'd');
    }
}
