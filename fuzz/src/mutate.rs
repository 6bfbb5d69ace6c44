//! From inputs that are known to one that is not.

use crate::Target;
use crate::rng::Rng;

/// Changes made to one input at most.
const CHANGES_MAX: usize = 6;
/// Bytes inserted, copied or removed at once at most.
const RUN_MAX: usize = 4096;
/// Numbers at which lengths and counts break.
const EDGES: [u32; 16] = [
    0,
    1,
    2,
    0x7f,
    0x80,
    0xff,
    0x100,
    0x7fff,
    0x8000,
    0xffff,
    0x1_0000,
    0x1_ffff,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_fffe,
    0xffff_ffff,
];

/// A changed copy of one of `pool`, which is not empty.
pub(crate) fn mutated(target: &Target, pool: &[Vec<u8>], rng: &mut Rng) -> Vec<u8> {
    let mut input = pool[rng.below(pool.len())].clone();
    for _ in 0..=rng.below(CHANGES_MAX) {
        change(&mut input, target, pool, rng);
    }
    input.truncate(target.input_max);
    input
}

fn change(input: &mut Vec<u8>, target: &Target, pool: &[Vec<u8>], rng: &mut Rng) {
    let at = rng.below(input.len());
    match rng.below(12) {
        0 | 1 if !input.is_empty() => input[at] ^= 1 << rng.below(8),
        2 if !input.is_empty() => input[at] = rng.byte(),
        3 if !input.is_empty() => input[at] = input[at].wrapping_add(rng.byte() % 9).wrapping_sub(4),
        4 => input.truncate(at),
        5 => remove(input, at, rng),
        6 => insert_bytes(input, at, rng),
        7 => copy_within(input, at, rng),
        8 => splice(input, at, pool, rng),
        9 => put_edge(input, at, rng),
        _ => put_word(input, at, target.dictionary, rng),
    }
}

fn remove(input: &mut Vec<u8>, at: usize, rng: &mut Rng) {
    let end = at + rng.small((input.len() - at).min(RUN_MAX));
    input.drain(at..end);
}

fn insert_bytes(input: &mut Vec<u8>, at: usize, rng: &mut Rng) {
    let (len, fill) = (1 + rng.small(64), rng.byte());
    let is_random = rng.below(2) == 0;
    let bytes: Vec<u8> = (0..len).map(|_| if is_random { rng.byte() } else { fill }).collect();
    input.splice(at..at, bytes);
}

/// Repeats a part of the input elsewhere, often many times: nesting and lists grow that way.
fn copy_within(input: &mut Vec<u8>, at: usize, rng: &mut Rng) {
    let end = at + rng.small((input.len() - at).min(RUN_MAX));
    let part = input[at..end].to_vec();
    let to = rng.below(input.len() + 1);
    let times = 1 + rng.small(64);
    let copies: Vec<u8> = part.iter().copied().cycle().take((part.len() * times).min(RUN_MAX)).collect();
    input.splice(to..to, copies);
}

/// The beginning of this input and the end of another.
fn splice(input: &mut Vec<u8>, at: usize, pool: &[Vec<u8>], rng: &mut Rng) {
    let other = &pool[rng.below(pool.len())];
    input.truncate(at);
    input.extend_from_slice(&other[rng.below(other.len())..]);
}

fn put_edge(input: &mut [u8], at: usize, rng: &mut Rng) {
    let number = EDGES[rng.below(EDGES.len())].wrapping_add(rng.below(3) as u32).wrapping_sub(1);
    let bytes = number.to_be_bytes();
    let width = [1, 2, 4][rng.below(3)];
    for (place, byte) in input[at..].iter_mut().zip(&bytes[4 - width..]) {
        *place = *byte;
    }
}

fn put_word(input: &mut Vec<u8>, at: usize, dictionary: &[&[u8]], rng: &mut Rng) {
    let Some(word) = dictionary.get(rng.below(dictionary.len())) else { return };
    let replaced = if rng.below(2) == 0 { 0 } else { word.len().min(input.len() - at) };
    input.splice(at..at + replaced, word.iter().copied());
}

/// Smaller versions of `input`, largest cuts first; for shrinking.
pub(crate) fn smaller(input: &[u8]) -> impl Iterator<Item = Vec<u8>> {
    let halvings = (0..).map(|halving| input.len() >> halving).take_while(|len| *len > 0);
    halvings.flat_map(move |len| {
        (0..input.len()).step_by(len).map(move |from| {
            let mut cut = input.to_vec();
            cut.drain(from..(from + len).min(input.len()));
            cut
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Outcome;

    #[test]
    fn inputs_keep_their_bound_and_differ() {
        let target =
            Target { name: "none", run: |_| Outcome::of(""), seeds: Vec::new, dictionary: &[b"word"], input_max: 100 };
        let pool = [b"the first of them".to_vec(), Vec::new(), vec![7; 90]];
        let mut rng = Rng::new(1);
        let inputs: std::collections::BTreeSet<_> = (0..1000).map(|_| mutated(&target, &pool, &mut rng)).collect();
        assert!(inputs.iter().all(|input| input.len() <= 100) && inputs.len() > 700, "{}", inputs.len());
    }

    #[test]
    fn cuts_cover_every_byte() {
        let cuts: Vec<_> = smaller(b"abc").collect();
        assert_eq!(cuts, [&b""[..], b"bc", b"ac", b"ab"]);
    }
}
