//! What the clients of one run did and saw, and the lists that were left at the end.

use std::collections::BTreeMap;

/// What a client knows of its operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It took effect, exactly once.
    Ok,
    /// It never took effect and never will.
    NotApplied,
    /// It may take effect at any moment after its invocation, or never.
    Unknown,
}

/// The list a read returned, whole or folded to its length and hash.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Observed {
    /// Every element, oldest first; an element is the id of the operation that appended it.
    List(Vec<u32>),
    /// `hash` is [`prefix_hash`] of the `len` elements.
    Prefix { len: u32, hash: u64 },
}

impl Observed {
    /// Number of elements returned.
    pub fn element_count(&self) -> usize {
        match self {
            Self::List(list) => list.len(),
            Self::Prefix { len, .. } => *len as usize,
        }
    }

    /// Folds a list to its compact form.
    ///
    /// *Shape*: a list of 2^32 or more elements keeps the maximal length, which matches nothing.
    pub fn compact(list: &[u32]) -> Self {
        Self::Prefix { len: u32::try_from(list.len()).unwrap_or(u32::MAX), hash: prefix_hash(list) }
    }
}

/// One key read by an operation, before the operation's own append.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Read {
    pub key: u32,
    pub list: Observed,
}

/// One operation of one client.
///
/// *Shape*: `id` is unique in the history; `appends` names each key at most once; reads of an operation that is not `Ok`
/// are ignored, since no client was answered with them.
/// *Units*: `invoke` and `complete` are event numbers of the harness, so there are no ties.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Op {
    pub id: u32,
    pub client: u32,
    pub invoke: u64,
    /// When the client was answered; `None` if it never was.
    pub complete: Option<u64>,
    pub outcome: Outcome,
    pub reads: Vec<Read>,
    pub appends: Vec<u32>,
}

impl Op {
    /// The event before which the operation surely took effect. Only an `Ok` answer proves that.
    pub(crate) fn known_done(&self) -> Option<u64> {
        match self.outcome {
            Outcome::Ok => self.complete,
            Outcome::NotApplied | Outcome::Unknown => None,
        }
    }
}

/// A finished run: its operations, and the final list of every key, read after quiescence.
///
/// *Shape*: a key without a final list has the empty one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct History {
    pub ops: Vec<Op>,
    pub finals: BTreeMap<u32, Vec<u32>>,
}

impl History {
    /// The final list of `key`, empty if nothing was left there.
    pub fn final_list(&self, key: u32) -> &[u32] {
        self.finals.get(&key).map_or(&[], Vec::as_slice)
    }
}

/// [`prefix_hash`] of the empty list.
pub const EMPTY_PREFIX_HASH: u64 = 0x243f_6a88_85a3_08d3;

/// Hash of a list with one more element, from the hash of the list without it.
///
/// *Shape*: good against accident (one in 2^64), not against an adversary.
pub fn extend_prefix_hash(hash: u64, element: u32) -> u64 {
    let mut mixed = hash.rotate_left(23) ^ u64::from(element).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
    mixed ^ (mixed >> 29)
}

/// Hash of a list, by which a read can be recorded without its elements.
pub fn prefix_hash(list: &[u32]) -> u64 {
    list.iter().fold(EMPTY_PREFIX_HASH, |hash, &element| extend_prefix_hash(hash, element))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefix_hash_sees_order_length_and_zero() {
        let lists: [&[u32]; 7] = [&[], &[0], &[0, 0], &[1, 2], &[2, 1], &[1], &[1, 2, 0]];
        for (i, a) in lists.iter().enumerate() {
            for b in &lists[i + 1..] {
                assert_ne!(prefix_hash(a), prefix_hash(b), "{a:?} {b:?}");
            }
        }
    }

    #[test]
    fn prefix_hash_grows_by_one_element() {
        assert_eq!(prefix_hash(&[4, 9, 2]), extend_prefix_hash(prefix_hash(&[4, 9]), 2));
    }

    #[test]
    fn only_an_ok_answer_proves_the_effect() {
        let mut op =
            Op { id: 1, client: 0, invoke: 1, complete: Some(2), outcome: Outcome::Ok, reads: vec![], appends: vec![] };
        assert_eq!(op.known_done(), Some(2));
        op.outcome = Outcome::Unknown;
        assert_eq!(op.known_done(), None);
    }
}
