//! Which seeds are run.

use super::choice::{Choice, GeneratorName, LayoutName};
use crate::Error;
use crate::clock::Clock;
use clap::ValueEnum;
use std::path::Path;

/// A first seed nobody has chosen: the wall clock in microseconds.
pub(super) fn fresh() -> u64 {
    Clock::start().now().wall.0
}

/// `count` seeds from `from` on; after the last one comes 0.
pub(super) fn span(from: u64, count: u64) -> impl Iterator<Item = u64> {
    (0..count).map(move |at| from.wrapping_add(at))
}

/// Reads a seed in decimal or, after `0x`, hexadecimal digits.
pub(super) fn parse_seed(text: &str) -> Result<u64, String> {
    let parsed = match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => text.parse(),
    };
    parsed.map_err(|error| format!("`{text}` is no seed: {error}"))
}

/// Reads a file of seeds: one a line, flags of its run behind it (`generator=island layout=five`), `#` begins a comment.
pub(super) fn read_file(path: &Path) -> Result<Vec<(u64, Choice)>, Error> {
    let name = path.display();
    let text =
        std::fs::read_to_string(path).map_err(|error| Error::Config(format!("{name}: cannot be read: {error}")))?;
    let wrong = |line: usize, reason: String| Error::Config(format!("{name}:{}: {reason}", line + 1));
    let lines = text.lines().enumerate().map(|(at, line)| (at, line.split('#').next().unwrap_or("").trim()));
    let seeds = lines
        .filter(|(_, line)| !line.is_empty())
        .map(|(at, line)| parse_line(line).map_err(|reason| wrong(at, reason)))
        .collect::<Result<Vec<_>, Error>>()?;
    if seeds.is_empty() {
        return Err(Error::Config(format!("{name}: names no seed; write one a line")));
    }
    Ok(seeds)
}

fn parse_line(line: &str) -> Result<(u64, Choice), String> {
    let mut words = line.split_whitespace();
    let seed = parse_seed(words.next().unwrap_or(""))?;
    let mut choice = Choice::default();
    for word in words {
        match word.split_once('=') {
            Some(("generator", name)) => choice.generator = Some(GeneratorName::from_str(name, false)?),
            Some(("layout", name)) => choice.layout = Some(LayoutName::from_str(name, false)?),
            _ => return Err(format!("`{word}`: write generator=NAME or layout=NAME")),
        }
    }
    Ok((seed, choice))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds_are_read_in_both_bases() {
        assert_eq!(parse_seed("0x10"), Ok(16));
        assert_eq!(parse_seed("18446744073709551615"), Ok(u64::MAX));
        assert!(parse_seed("-1").is_err() && parse_seed("").is_err());
    }

    #[test]
    fn span_goes_round_the_end() {
        assert_eq!(span(u64::MAX, 3).collect::<Vec<_>>(), [u64::MAX, 0, 1]);
    }

    #[test]
    fn line_of_a_seed_file_carries_its_flags() {
        let (seed, choice) = parse_line("7 generator=island layout=three-two-shards").expect("valid");
        assert_eq!((seed, choice.to_string()), (7, " --generator island --layout three-two-shards".to_owned()));
        assert_eq!(parse_line("7").expect("valid").1, Choice::default());
        assert!(parse_line("7 island").is_err() && parse_line("7 layout=eight").is_err());
    }
}
