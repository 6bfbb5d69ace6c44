//! The cycle a verdict reports is real and no shorter one exists, judged from the definitions alone.

use sim::checker::{Anomaly, Class, EdgeKind, History, Op, Outcome, Rng, Shape, check_serializable, corrupt, generate};

fn position(history: &History, key: u32, id: u32) -> Option<usize> {
    history.final_list(key).iter().position(|&element| element == id)
}

/// Whether the history holds an edge of this kind from `a` to `b`.
fn has_edge(history: &History, a: &Op, b: &Op, kind: EdgeKind) -> bool {
    let lens = |op: &Op| -> Vec<(u32, usize)> {
        let reads = op.reads.iter().filter(|_| op.outcome == Outcome::Ok);
        reads.map(|read| (read.key, read.list.element_count())).collect()
    };
    match kind {
        EdgeKind::WriteWrite => history.finals.keys().any(|&key| {
            let places = position(history, key, a.id).zip(position(history, key, b.id));
            places.is_some_and(|(a, b)| a + 1 == b)
        }),
        EdgeKind::WriteRead => {
            lens(b).iter().any(|&(key, len)| position(history, key, a.id) == len.checked_sub(1) && len > 0)
        }
        EdgeKind::ReadWrite => lens(a).iter().any(|&(key, len)| position(history, key, b.id) == Some(len)),
        EdgeKind::Realtime => a.outcome == Outcome::Ok && a.complete.is_some_and(|done| done < b.invoke),
    }
}

fn takes_part(history: &History, op: &Op) -> bool {
    op.outcome == Outcome::Ok || history.finals.values().any(|list| list.contains(&op.id))
}

/// Length of the shortest cycle, by all shortest paths over every pair of operations.
fn shortest_length(history: &History, kinds: &[EdgeKind]) -> usize {
    let ops: Vec<&Op> = history.ops.iter().filter(|op| takes_part(history, op)).collect();
    let count = ops.len();
    let mut distance = vec![vec![usize::MAX / 2; count]; count];
    for (i, a) in ops.iter().enumerate() {
        for (j, b) in ops.iter().enumerate().filter(|&(j, _)| j != i) {
            if kinds.iter().any(|&kind| has_edge(history, a, b, kind)) {
                distance[i][j] = 1;
            }
        }
    }
    for via in 0..count {
        for from in 0..count {
            for to in 0..count {
                distance[from][to] = distance[from][to].min(distance[from][via] + distance[via][to]);
            }
        }
    }
    (0..count).map(|i| distance[i][i]).min().unwrap_or(usize::MAX)
}

fn check_report(history: &History, anomaly: &Anomaly, realtime: bool) {
    let find = |id: u32| history.ops.iter().find(|op| op.id == id).expect("the report names ops of the history");
    assert_eq!(anomaly.ops.len(), anomaly.edges.len());
    for (i, &kind) in anomaly.edges.iter().enumerate() {
        let (from, to) = (anomaly.ops[i], anomaly.ops[(i + 1) % anomaly.ops.len()]);
        assert!(has_edge(history, find(from), find(to), kind), "no edge {i} in {anomaly}\n{history:?}");
    }
    let dependencies = [EdgeKind::WriteWrite, EdgeKind::WriteRead, EdgeKind::ReadWrite];
    let all = [EdgeKind::WriteWrite, EdgeKind::WriteRead, EdgeKind::ReadWrite, EdgeKind::Realtime];
    let kinds = if realtime { &all[..] } else { &dependencies };
    assert_eq!(shortest_length(history, kinds), anomaly.ops.len(), "{anomaly}\n{history:?}");
    if realtime {
        assert!(shortest_length(history, &dependencies) > history.ops.len(), "{anomaly} needs no clock\n{history:?}");
    }
}

#[test]
fn reported_cycles_are_real_and_shortest() {
    let mut lengths = [0u32; 16];
    for seed in 0..6_000 {
        let mut rng = Rng::from_seed(seed);
        let shape = Shape {
            op_count: 5 + rng.below(11) as u32,
            key_count: 2 + rng.below(4) as u32,
            reads_max: 2,
            appends_max: 2,
            overlap: rng.below(6),
            unknown_percent: 10,
            not_applied_percent: 0,
            compact_percent: 50,
        };
        let mut history = generate(&shape, &mut rng);
        corrupt(&mut history, &mut rng);
        if let Err(anomaly) = check_serializable(&history)
            && let Class::Cycle { realtime, .. } = anomaly.class
        {
            check_report(&history, &anomaly, realtime);
            lengths[anomaly.ops.len()] += 1;
        }
    }
    assert!(lengths[2] > 100 && lengths[3] > 20 && lengths[4] > 0, "too few cycles were met: {lengths:?}");
}
