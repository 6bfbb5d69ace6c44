//! Every quorum size of the protocol, and why two of them meet.
//!
//! *Source*: [SPEC 3].

use crate::txn::FastPathKind;

/// How many replicas may fail: f.
pub const fn max_failures(replicas: usize) -> usize {
    (replicas - 1) / 2
}

/// Slow, recovery and read-dependencies quorum: q = n - f.
pub const fn slow_quorum(replicas: usize) -> usize {
    replicas - max_failures(replicas)
}

/// Smallest number of electorate votes for t0 that decides a shard on the fast path: F.
///
/// *Shape*: `electorate` counts voters of this shard, at least `slow_quorum(replicas)` and at most `replicas`.
/// *Panics*: if it is not (a bug of the topology builder, not of the network).
pub const fn fast_quorum(replicas: usize, electorate: usize, kind: FastPathKind) -> usize {
    assert!(slow_quorum(replicas) <= electorate && electorate <= replicas);
    // d = +1, 0, -1 of the formula, shifted so that nothing goes below zero
    let shifted = match kind {
        FastPathKind::Unoptimised => 2,
        FastPathKind::PrivilegedWithoutDeps => 1,
        FastPathKind::PrivilegedWithDeps => 0,
    };
    let by_intersection = (electorate + replicas - slow_quorum(replicas) + shifted) / 2;
    let majority = replicas / 2 + 1;
    if by_intersection > majority { by_intersection } else { majority }
}

/// More rejections than this inside the electorate make the fast path impossible: e - F.
pub const fn fast_rejects_max(replicas: usize, electorate: usize, kind: FastPathKind) -> usize {
    electorate - fast_quorum(replicas, electorate, kind)
}

/// What the proofs of the protocol ask of one shape of shard; holds for every shape we allow, checked below at compile time.
const fn intersections_hold(n: usize, e: usize) -> bool {
    let (f, q) = (max_failures(n), slow_quorum(n));
    let mut holds = 2 * q > n && q > f;
    let kinds = [FastPathKind::Unoptimised, FastPathKind::PrivilegedWithoutDeps, FastPathKind::PrivilegedWithDeps];
    let mut at = 0;
    while at < kinds.len() {
        let fast = fast_quorum(n, e, kinds[at]);
        // P1: a recovery quorum sees at least F - f accepts of a fast commit, and never more than e - F rejects
        holds = holds && fast <= e && fast > f;
        // P4: meets every Accept and every recovery quorum
        holds = holds && fast + q > n && 2 * fast > n;
        // P2 (d = 1) and P3 (d = 0, -1): 2F - e - f >= d
        holds = holds && 2 * fast + at > e + f;
        at += 1;
    }
    holds
}

const fn all_shapes_hold() -> bool {
    let mut n = 1;
    while n <= 9 {
        let mut e = slow_quorum(n);
        while e <= n {
            if !intersections_hold(n, e) {
                return false;
            }
            e += 1;
        }
        n += 1;
    }
    true
}

const _: () = assert!(all_shapes_hold(), "a quorum of section 3 does not intersect as the proofs need");

// The table of section 3, n = 3..9: (n, e, F unoptimised, F without deps, F with deps).
const TABLE: [(usize, usize, usize, usize, usize); 14] = [
    (3, 3, 3, 2, 2),
    (3, 2, 2, 2, 2),
    (5, 5, 4, 4, 3),
    (5, 4, 4, 3, 3),
    (5, 3, 3, 3, 3),
    (7, 7, 6, 5, 5),
    (7, 6, 5, 5, 4),
    (7, 5, 5, 4, 4),
    (7, 4, 4, 4, 4),
    (9, 9, 7, 7, 6),
    (9, 8, 7, 6, 6),
    (9, 7, 6, 6, 5),
    (9, 6, 6, 5, 5),
    (9, 5, 5, 5, 5),
];

const fn table_matches() -> bool {
    let mut at = 0;
    while at < TABLE.len() {
        let (n, e, plain, without, with) = TABLE[at];
        if fast_quorum(n, e, FastPathKind::Unoptimised) != plain
            || fast_quorum(n, e, FastPathKind::PrivilegedWithoutDeps) != without
            || fast_quorum(n, e, FastPathKind::PrivilegedWithDeps) != with
        {
            return false;
        }
        at += 1;
    }
    true
}

const _: () = assert!(table_matches(), "the table of section 3 differs from the formula");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_vote_fewer_lets_two_fast_quorums_miss_each_other() {
        for n in 1..=9 {
            for e in slow_quorum(n)..=n {
                let fast = fast_quorum(n, e, FastPathKind::Unoptimised);
                let fewer = fast - 1;
                let meets = 2 * fewer > e + max_failures(n) && 2 * fewer > n && fewer + slow_quorum(n) > n;
                assert!(!meets, "n={n} e={e}: F={fast} is larger than it has to be");
            }
        }
    }

    #[test]
    fn with_one_replica_everything_is_one() {
        assert_eq!((max_failures(1), slow_quorum(1), fast_quorum(1, 1, FastPathKind::Unoptimised)), (0, 1, 1));
    }
}
