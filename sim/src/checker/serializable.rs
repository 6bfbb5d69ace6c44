//! Strict serializability of a list-append history: exact, in time linear in reads and appends plus one sort.

use super::anomaly::Anomaly;
use super::cycle::shortest_cycle;
use super::graph::Graph;
use super::history::History;
use super::lists::Lists;
use super::naming::describe;
use super::scc::offending_components;

/// Whether one order of the operations explains every read, every final list and the clock.
///
/// *Shape*: `Ok` operations must take part; `Unknown` ones take part exactly if some final list holds them, from their
/// invocation on and arbitrarily late; `NotApplied` ones never do. `a` precedes `b` in real time if `a` is `Ok` and was
/// answered before `b` was invoked.
/// *Errors*: the first anomaly: broken history, lists, torn transactions, reads, then the shortest cycle, without the
/// clock if there is one.
pub fn check_serializable(history: &History) -> Result<(), Anomaly> {
    let lists = Lists::build(history)?;
    lists.check_untorn()?;
    let graph = Graph::build(history, &lists)?;
    let with_clock = offending_components(&graph, true);
    if with_clock.is_empty() {
        return Ok(());
    }
    // A cycle that needs no clock is a plain serializability fault and must be named as such.
    let without_clock = offending_components(&graph, false);
    let realtime = without_clock.is_empty();
    let components = if realtime { with_clock } else { without_clock };
    Err(describe(history, &lists, &shortest_cycle(&history.ops, &graph, &components, realtime)))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::super::anomaly::{Class, CycleKind, EdgeKind};
    use super::super::brute::brute_force;
    use super::super::history::{Observed, Op, Outcome, Read};
    use super::*;

    const X: u32 = 100;
    const Y: u32 = 200;

    /// A long interval by default, so that only `at` brings the clock in.
    fn op(id: u32) -> Op {
        let (invoke, complete) = (u64::from(id), Some(1_000 + u64::from(id)));
        Op { id, client: id, invoke, complete, outcome: Outcome::Ok, reads: vec![], appends: vec![] }
    }

    impl Op {
        fn reads(mut self, key: u32, list: &[u32]) -> Self {
            // Both forms of a read must lead to the same verdict; ids decide which one a case takes.
            let list = if self.id.is_multiple_of(2) { Observed::compact(list) } else { Observed::List(list.to_vec()) };
            self.reads.push(Read { key, list });
            self
        }

        fn appends(mut self, key: u32) -> Self {
            self.appends.push(key);
            self
        }

        fn at(mut self, invoke: u64, complete: u64) -> Self {
            (self.invoke, self.complete) = (invoke, Some(complete));
            self
        }

        fn ended(mut self, outcome: Outcome) -> Self {
            self.outcome = outcome;
            self.complete = self.complete.filter(|_| outcome != Outcome::Unknown);
            self
        }
    }

    fn history(ops: impl IntoIterator<Item = Op>, finals: &[(u32, &[u32])]) -> History {
        let finals = finals.iter().map(|&(key, list)| (key, list.to_vec())).collect::<BTreeMap<_, _>>();
        History { ops: ops.into_iter().collect(), finals }
    }

    fn fault(history: &History) -> Anomaly {
        assert_eq!(brute_force(history), Some(false), "the case itself is wrong");
        check_serializable(history).expect_err("the anomaly was missed")
    }

    fn accept(history: &History) {
        assert_eq!(brute_force(history), Some(true), "the case itself is wrong");
        assert_eq!(check_serializable(history), Ok(()));
    }

    fn cycle(kind: CycleKind, realtime: bool) -> Class {
        Class::Cycle { kind, realtime }
    }

    #[test]
    fn dirty_write_is_g0() {
        let ops = [op(1).appends(X).appends(Y), op(2).appends(X).appends(Y)];
        let anomaly = fault(&history(ops, &[(X, &[1, 2]), (Y, &[2, 1])]));
        assert_eq!((anomaly.class, anomaly.ops.len()), (cycle(CycleKind::G0, false), 2));
        assert_eq!(anomaly.text, "no order fits op 1 -ww key 100-> op 2 -ww key 200-> op 1");
    }

    #[test]
    fn circular_information_flow_is_g1c() {
        let ops = [op(1).appends(X).reads(Y, &[2]), op(2).appends(Y).reads(X, &[1])];
        assert_eq!(fault(&history(ops, &[(X, &[1]), (Y, &[2])])).class, cycle(CycleKind::G1c, false));
    }

    #[test]
    fn read_skew_is_g_single() {
        let ops = [op(1).appends(X).appends(Y), op(2).reads(X, &[1]).reads(Y, &[])];
        let anomaly = fault(&history(ops, &[(X, &[1]), (Y, &[1])]));
        assert_eq!(anomaly.class, cycle(CycleKind::GSingle, false));
        assert_eq!(anomaly.text, "no order fits op 1 -wr key 100-> op 2 -rw key 200-> op 1");
    }

    #[test]
    fn write_skew_is_g2() {
        let ops = [op(1).reads(X, &[]).appends(Y), op(2).reads(Y, &[]).appends(X)];
        assert_eq!(fault(&history(ops, &[(X, &[2]), (Y, &[1])])).class, cycle(CycleKind::G2, false));
    }

    #[test]
    fn long_fork_is_g2_of_four() {
        let writers = [op(1).appends(X), op(2).appends(Y)];
        let readers = [op(3).reads(X, &[1]).reads(Y, &[]), op(4).reads(X, &[]).reads(Y, &[2])];
        let anomaly = fault(&history(writers.into_iter().chain(readers), &[(X, &[1]), (Y, &[2])]));
        assert_eq!((anomaly.class, anomaly.ops.len()), (cycle(CycleKind::G2, false), 4));
    }

    #[test]
    fn appends_against_the_clock_are_g0_realtime() {
        let ops = [op(1).appends(X).at(1, 2), op(2).appends(X).at(3, 4)];
        let anomaly = fault(&history(ops, &[(X, &[2, 1])]));
        assert_eq!(anomaly.class, cycle(CycleKind::G0, true));
        assert_eq!(anomaly.text, "no order fits op 1 -realtime-> op 2 -ww key 100-> op 1");
    }

    #[test]
    fn read_of_the_future_is_g1c_realtime() {
        let ops = [op(1).reads(X, &[2]).at(1, 2), op(2).appends(X).at(3, 4)];
        assert_eq!(fault(&history(ops, &[(X, &[2])])).class, cycle(CycleKind::G1c, true));
    }

    #[test]
    fn stale_read_is_g_single_realtime() {
        // Bystanders complete in between, so the clock's edge runs through several auxiliary nodes.
        let bystanders = [op(5).at(3, 4), op(6).at(5, 6)];
        let ops = [op(1).appends(X).at(1, 2), op(2).reads(X, &[]).at(7, 8)];
        let anomaly = fault(&history(ops.into_iter().chain(bystanders), &[(X, &[1])]));
        assert_eq!(anomaly.class, cycle(CycleKind::GSingle, true));
        assert_eq!((anomaly.ops, anomaly.edges), (vec![1, 2], vec![EdgeKind::Realtime, EdgeKind::ReadWrite]));
    }

    #[test]
    fn two_stale_steps_and_the_clock_are_g2_realtime() {
        let ops = [op(1).reads(X, &[]).at(5, 9), op(2).appends(X).reads(Y, &[]).at(2, 8), op(3).appends(Y).at(1, 4)];
        let anomaly = fault(&history(ops, &[(X, &[2]), (Y, &[3])]));
        assert_eq!((anomaly.class, anomaly.ops), (cycle(CycleKind::G2, true), vec![3, 1, 2]));
    }

    #[test]
    fn appends_behind_each_others_back_are_a_lost_update() {
        let ops = [op(1).reads(X, &[]).appends(X), op(2).reads(X, &[]).appends(X)];
        let anomaly = fault(&history(ops, &[(X, &[1, 2])]));
        assert_eq!((anomaly.class, anomaly.ops), (Class::LostUpdate, vec![2]));
    }

    #[test]
    fn read_of_another_order_is_incompatible() {
        for reader in [op(3), op(4)] {
            let ops = [op(1).appends(X), op(2).appends(X), reader.reads(X, &[2])];
            assert_eq!(fault(&history(ops, &[(X, &[1, 2])])).class, Class::IncompatibleOrder);
        }
    }

    #[test]
    fn append_applied_twice_is_a_duplicate() {
        let ops = [op(1).appends(X), op(2).appends(X)];
        assert_eq!(fault(&history(ops, &[(X, &[1, 2, 1])])).class, Class::DuplicateWrite);
    }

    #[test]
    fn refused_append_that_shows_is_an_aborted_read() {
        let refused = op(1).appends(X).ended(Outcome::NotApplied);
        assert_eq!(fault(&history([refused.clone()], &[(X, &[1])])).class, Class::AbortedRead);
        let anomaly = fault(&history([refused, op(3).reads(X, &[1])], &[]));
        assert_eq!((anomaly.class, anomaly.ops), (Class::AbortedRead, vec![3, 1]));
    }

    #[test]
    fn acknowledged_append_that_is_gone_is_a_lost_write() {
        let ops = [op(1).appends(X).appends(Y)];
        let anomaly = fault(&history(ops, &[(X, &[1])]));
        assert_eq!(anomaly.class, Class::LostWrite);
        assert!(anomaly.text.contains("key 200"), "{anomaly}");
    }

    #[test]
    fn unknown_outcome_on_half_its_keys_is_torn() {
        let ops = [op(1).appends(X).appends(Y).ended(Outcome::Unknown)];
        assert_eq!(fault(&history(ops, &[(X, &[1])])).class, Class::TornTransaction);
    }

    #[test]
    fn elements_nobody_asked_for_are_named() {
        assert_eq!(fault(&history([op(1)], &[(X, &[9])])).class, Class::UnknownWriter);
        assert_eq!(fault(&history([op(1).appends(Y)], &[(X, &[1]), (Y, &[1])])).class, Class::UnrequestedWrite);
    }

    #[test]
    fn a_cycle_without_the_clock_is_named_before_one_with_it() {
        let stale = [op(1).appends(X).at(1, 2), op(2).reads(X, &[]).at(3, 4)];
        let skew = [op(3).reads(Y, &[]).appends(300), op(4).reads(300, &[]).appends(Y)];
        let both = history(stale.into_iter().chain(skew), &[(X, &[1]), (Y, &[4]), (300, &[3])]);
        assert_eq!(fault(&both).class, cycle(CycleKind::G2, false));
    }

    #[test]
    fn the_shortest_of_several_cycles_is_reported() {
        let ring = (1..=5u32).map(|i| op(i).appends(i).reads(i % 5 + 1, &[i % 5 + 1]));
        let mut ops: Vec<Op> = ring.collect();
        ops[0] = ops[0].clone().appends(X);
        ops[2] = ops[2].clone().reads(X, &[1]);
        let finals: Vec<(u32, &[u32])> = vec![(1, &[1]), (2, &[2]), (3, &[3]), (4, &[4]), (5, &[5]), (X, &[1])];
        // The ring runs 5 4 3 2 1; the extra read leads from 1 to 3.
        let anomaly = fault(&history(ops, &finals));
        assert_eq!((anomaly.class, anomaly.ops.len()), (cycle(CycleKind::G1c, false), 3));
    }

    #[test]
    fn blind_append_may_be_seen_before_it_is_acknowledged() {
        let ops = [op(1).appends(X).at(1, 9), op(2).reads(X, &[1]).at(2, 3), op(4).reads(X, &[1]).at(4, 5)];
        accept(&history(ops, &[(X, &[1])]));
    }

    #[test]
    fn unknown_append_may_take_effect_late_but_not_early() {
        let late = op(1).appends(X).at(1, 2).ended(Outcome::Unknown);
        accept(&history([late, op(2).reads(X, &[]).at(8, 9)], &[(X, &[1])]));
        let early = op(1).appends(X).at(5, 6).ended(Outcome::Unknown);
        let anomaly = fault(&history([early, op(2).reads(X, &[1]).at(1, 2)], &[(X, &[1])]));
        assert_eq!(anomaly.class, cycle(CycleKind::G1c, true));
    }

    #[test]
    fn reads_of_an_unanswered_operation_prove_nothing() {
        let writers = [op(1).appends(X).at(1, 2), op(2).appends(X).at(3, 4)];
        let unknown = op(3).reads(X, &[]).appends(X).at(5, 6).ended(Outcome::Unknown);
        accept(&history(writers.into_iter().chain([unknown]), &[(X, &[1, 2, 3])]));
    }

    #[test]
    fn broken_histories_are_refused_and_not_judged() {
        let twice = history([op(1), op(1)], &[]);
        let backwards = history([op(1).at(4, 3)], &[]);
        let same_key = history([op(1).appends(X).appends(X)], &[(X, &[1])]);
        for broken in [twice, backwards, same_key] {
            assert_eq!(check_serializable(&broken).map_err(|anomaly| anomaly.class), Err(Class::Malformed));
        }
    }

    #[test]
    fn a_long_ring_is_found_without_recursion_and_told_briefly() {
        const COUNT: u32 = 20_000;
        let ring = (0..COUNT).map(|i| {
            let next = (i + 1) % COUNT;
            op(i).at(1, 2).appends(i).reads(next, &[next])
        });
        let lists: Vec<[u32; 1]> = (0..COUNT).map(|i| [i]).collect();
        let finals: Vec<(u32, &[u32])> = (0..COUNT).zip(lists.iter().map(|list| &list[..])).collect();
        let anomaly = check_serializable(&history(ring, &finals)).expect_err("a ring has no first");
        assert_eq!((anomaly.class, anomaly.ops.len()), (cycle(CycleKind::G1c, false), COUNT as usize));
        assert!(anomaly.text.len() < 1_000, "{}", anomaly.text);
    }
}
