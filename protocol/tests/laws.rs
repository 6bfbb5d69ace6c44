//! Laws of orders and merges. *Source*: [SPEC 1.1, 1.7, 2.1, 7.4].

use proptest::prelude::*;
use protocol::*;

fn timestamp() -> impl Strategy<Value = Timestamp> {
    (0u64..3, 0u64..6, any::<u8>(), 0u32..3)
        .prop_map(|(epoch, hlc, flags, node)| Timestamp::new(Epoch(epoch), Hlc(hlc), flags, NodeId(node)))
}

fn txn_id() -> impl Strategy<Value = TxnId> {
    (1u64..12, 1u32..4).prop_map(|(hlc, node)| TxnId::new(Epoch(1), Hlc(hlc), NodeId(node), TxnShape::default()))
}

fn key(number: u8) -> Key {
    Key::with_token(3, Token(i64::from(number)), TableId(1), &[number])
}

fn dep_set() -> impl Strategy<Value = DepSet> {
    prop::collection::vec((txn_id(), any::<bool>()), 0..6).prop_map(|entries| {
        DepSet::from_entries(entries.into_iter().map(|(id, unstable)| Dep { id, unstable }).collect())
    })
}

fn deps() -> impl Strategy<Value = Deps> {
    prop::collection::btree_map(0u8..4, dep_set(), 0..4)
        .prop_map(|sets| Deps::from_sets(sets.into_iter().map(|(k, set)| (key(k), set)).collect()))
}

fn latest() -> impl Strategy<Value = LatestDeps> {
    // one coordinated set per (knowledge, ballot), as a coordinator sends one set per ballot
    let at = (0u8..5, 0u64..3, dep_set()).prop_map(|(known, hlc, local)| {
        let known = DepsKnown::try_from(known).expect("below six");
        let seed = TxnId::new(Epoch(1), Hlc(100 + hlc * 10 + known as u64), NodeId(1), TxnShape::default());
        let coordinated = if known == DepsKnown::Unknown { DepSet::default() } else { DepSet::stable([seed]) };
        let voted = matches!(known, DepsKnown::Unknown | DepsKnown::FromCoordinator);
        let ballot = if voted { Ballot::ZERO } else { Ballot::new(Epoch(1), Hlc(hlc), NodeId(1)) };
        LatestAt { known, ballot, coordinated, local }
    });
    prop::collection::btree_map(0u8..3, at, 0..3)
        .prop_map(|entries| LatestDeps::from_entries(entries.into_iter().map(|(k, at)| (key(k), at)).collect()))
}

fn merged(one: &LatestDeps, other: &LatestDeps) -> LatestDeps {
    let mut merged = one.clone();
    merged.merge(other);
    merged
}

proptest! {
    #[test]
    fn law_timestamp_order_is_byte_order(a in timestamp(), b in timestamp()) {
        prop_assert_eq!(a.cmp(&b), a.to_bytes().cmp(&b.to_bytes()));
        prop_assert_eq!(Timestamp::from_bytes(&a.to_bytes()), Ok(a));
    }

    #[test]
    fn law_merge_max_is_associative_commutative_idempotent(a in timestamp(), b in timestamp(), c in timestamp()) {
        prop_assert_eq!(a.merge_max(a), a);
        prop_assert_eq!(a.merge_max(b), b.merge_max(a));
        prop_assert_eq!(a.merge_max(b).merge_max(c), a.merge_max(b.merge_max(c)));
        prop_assert!(a.merge_max(b).hlc() >= a.hlc().max(b.hlc()));
    }

    #[test]
    fn law_dep_set_union_is_associative_commutative_idempotent(a in dep_set(), b in dep_set(), c in dep_set()) {
        prop_assert_eq!(a.union(&a), a.clone());
        prop_assert_eq!(a.union(&b), b.union(&a));
        prop_assert_eq!(a.union(&b).union(&c), a.union(&b.union(&c)));
    }

    #[test]
    fn law_union_keeps_an_id_stable_if_either_side_has(a in dep_set(), b in dep_set()) {
        for dep in a.union(&b).iter() {
            let expected = a.contains_stable(dep.id) || b.contains_stable(dep.id);
            prop_assert_eq!(!dep.unstable, expected);
        }
        prop_assert!(a.iter().all(|dep| a.union(&b).contains(dep.id)));
    }

    #[test]
    fn law_deps_union_is_associative_commutative_idempotent(a in deps(), b in deps(), c in deps()) {
        prop_assert_eq!(a.clone().union(&a), a.clone());
        prop_assert_eq!(a.clone().union(&b), b.clone().union(&a));
        prop_assert_eq!(a.clone().union(&b).union(&c), a.clone().union(&b.clone().union(&c)));
    }

    #[test]
    fn law_without_leaves_nothing_named(a in deps(), b in deps()) {
        let rest = a.without(&b);
        prop_assert_eq!(rest.sets().len(), a.sets().len());
        for (key, set) in rest.sets() {
            prop_assert!(set.iter().all(|dep| !b.at(key).is_some_and(|other| other.contains(dep.id))));
        }
    }

    #[test]
    fn law_latest_deps_merge_is_associative_commutative_idempotent(a in latest(), b in latest(), c in latest()) {
        prop_assert_eq!(merged(&a, &a), a.clone());
        prop_assert_eq!(merged(&a, &b), merged(&b, &a));
        prop_assert_eq!(merged(&merged(&a, &b), &c), merged(&a, &merged(&b, &c)));
    }

    #[test]
    fn law_proposal_keeps_accepted_deps_alone(a in latest(), b in latest()) {
        let all = merged(&a, &b);
        let proposal = all.proposal();
        for (key, at) in all.entries() {
            if at.known >= DepsKnown::Proposed {
                prop_assert_eq!(proposal.at(key), Some(&at.coordinated));
            }
        }
    }

    #[test]
    fn law_clock_values_are_unique_and_rise_over_restarts(steps in prop::collection::vec((0u64..4, 0u64..5_000_000), 1..40)) {
        let mut clock = NodeClock::new(NodeId(1), Epoch(1), Hlc(0));
        let mut durable = Hlc(0);
        let mut last = Hlc(0);
        for (step, wall) in steps {
            let now = Now { mono: Micros(0), wall: Micros(wall) };
            if step == 0 {
                clock = NodeClock::new(NodeId(1), Epoch(1), durable);
            }
            if let Some(upto) = clock.reservation_due(now) {
                durable = upto;
                clock.reserved(upto);
            }
            if let Some(id) = clock.txn_id(now, TxnShape::default()) {
                prop_assert!(id.hlc() > last, "{:?} after {:?}", id, last);
                last = id.hlc();
            }
        }
    }
}
