//! The verdict at the end of a run, when the faults have stopped and everything must have come to its end.

use crate::checker::check_serializable;
use crate::ghost::{Decision, Ghost, conflict};
use crate::list_append::{number_of, observations, versions};
use crate::node::{SimNode, replay};
use crate::options::Options;
use crate::workload::Workload;
use protocol::{Key, Micros, Timestamp, TxnId};
use std::collections::{BTreeMap, BTreeSet};

/// Judges the state in which a run came to rest.
pub(crate) fn judge(options: &Options, nodes: &[SimNode], ghost: &mut Ghost, workload: &Workload) {
    check_finished(nodes, ghost);
    check_dependencies(options, ghost);
    check_reads(ghost);
    let finals = check_convergence(nodes, ghost, options);
    check_restart_equivalence(options, nodes, ghost);
    if ghost.violation.is_some() {
        return;
    }
    if let Err(anomaly) = check_serializable(&workload.history(finals)) {
        ghost.violate("T-DSG", anomaly.to_string());
    }
}

/// L1: everything known anywhere alive is applied or invalidated, and nobody waits for anything.
fn check_finished(nodes: &[SimNode], ghost: &mut Ghost) {
    for node in nodes.iter().filter(|node| node.is_up) {
        if !node.coordinator.is_empty() {
            ghost.violate("L1", format!("{} still coordinates {} transactions", node.id, node.coordinator.len()));
        }
        for store in &node.stores {
            let is_open =
                |id: &TxnId| store.machine.command(*id).is_some_and(|command| !command.status().is_terminal());
            if let Some(open) = store.machine.txn_ids().into_iter().find(is_open) {
                let status = store.machine.command(open).map(|command| command.status());
                ghost.violate("L1", format!("{open} is {status:?} at {} for ever", node.id));
            }
            if store.machine.watched_count() > 0 {
                ghost.violate(
                    "L1",
                    format!("{} watches {} transactions for ever", node.id, store.machine.watched_count()),
                );
            }
        }
    }
}

/// I2: whoever executes later knew of it, directly or through somebody who executes in between.
fn check_dependencies(options: &Options, ghost: &mut Ghost) {
    let decided: BTreeMap<TxnId, Timestamp> = ghost
        .txns
        .iter()
        .filter_map(|(id, txn)| match txn.decided {
            Some(Decision::Commit(at)) => Some((*id, at)),
            _ => None,
        })
        .collect();
    let mut missing = None;
    for (id, txn) in ghost.txns.iter().filter(|(id, _)| decided.contains_key(id)) {
        for deps in txn.stable.values() {
            for (key, _) in deps.sets() {
                // without elision everything must be named outright
                let through = if options.is_elided { &decided } else { &BTreeMap::new() };
                let reached = reachable(ghost, through, *id, key, deps);
                let gap = decided.iter().find(|(other, at)| {
                    let shares = ghost.txns[other].route.as_ref().is_some_and(|route| route.keys().contains(key));
                    **other != *id && **at < decided[id] && shares && id.witnesses(**other) && !reached.contains(other)
                });
                missing = missing.or(gap.map(|(other, _)| (*id, *other, number_of(key))));
            }
        }
    }
    if let Some((id, other, key)) = missing {
        ghost.violate("I2", format!("{other} executes before {id} on key {key} and is not among its dependencies"));
    }
}

/// The dependencies of `id` at `key`, and those reached through committed ones that execute before it.
fn reachable(
    ghost: &Ghost,
    decided: &BTreeMap<TxnId, Timestamp>,
    id: TxnId,
    key: &Key,
    deps: &protocol::Deps,
) -> BTreeSet<TxnId> {
    let at = |deps: &protocol::Deps| deps.at(key).map(|set| set.iter().map(|dep| dep.id).collect::<Vec<_>>());
    let mut found: BTreeSet<TxnId> = at(deps).unwrap_or_default().into_iter().collect();
    let mut open: Vec<TxnId> = found.iter().copied().collect();
    while let Some(through) = open.pop() {
        if decided.get(&through).is_none_or(|time| decided.get(&id).is_none_or(|own| time >= own)) {
            continue;
        }
        for further in ghost.txns[&through].stable.values().filter_map(at).flatten() {
            if found.insert(further) {
                open.push(further);
            }
        }
    }
    found
}

/// I19: every read saw exactly the committed writes with a lower execution time.
fn check_reads(ghost: &mut Ghost) {
    let mut writers: BTreeMap<u32, Vec<(Timestamp, u32)>> = BTreeMap::new();
    let mut reads: Vec<(TxnId, Timestamp, u32, Vec<u32>)> = Vec::new();
    for (id, txn) in &ghost.txns {
        let (Some(Decision::Commit(at)), Some(outcome)) = (txn.decided, &txn.outcome) else { continue };
        for (key, write) in &outcome.writes {
            let number = crate::list_append::decode_list(write)[0];
            writers.entry(number_of(key)).or_default().push((at, number));
        }
        for (key, list) in observations(&outcome.result) {
            reads.push((*id, at, key, list));
        }
    }
    writers.values_mut().for_each(|list| list.sort_unstable());
    for (id, at, key, seen) in reads {
        let before = writers.get(&key).into_iter().flatten().filter(|(time, _)| *time < at);
        let expected: Vec<u32> = before.map(|(_, number)| *number).collect();
        if expected != seen {
            ghost.violate("I19", format!("{id} read {seen:?} on key {key}, and {expected:?} execute before it"));
        }
    }
}

/// T-CONV: all live replicas of a key hold the same list; gives the lists.
fn check_convergence(nodes: &[SimNode], ghost: &mut Ghost, options: &Options) -> BTreeMap<u32, Vec<u32>> {
    let mut finals: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    let mut differ = None;
    for key in (0..8).filter(|key| options.keys >> key & 1 == 1) {
        let routed = crate::list_append::key_of(key, options.token_of(key));
        let replicas = nodes.iter().filter(|node| node.is_up && options.topology.replicates(node.id, &routed));
        for node in replicas {
            let store = options.slices().store_of(routed.routing);
            let rows = node.stores[usize::from(store.0)].rows.0.get(&routed);
            let list: Vec<u32> =
                rows.map_or_else(Vec::new, |rows| versions(rows).into_iter().map(|(_, number)| number).collect());
            let known = finals.entry(key).or_insert_with(|| list.clone());
            if *known != list {
                differ = Some(format!("key {key} is {list:?} at {} and {known:?} elsewhere", node.id));
            }
        }
    }
    if let Some(differ) = differ {
        ghost.violate("T-CONV", differ);
    }
    finals
}

/// S11: a store rebuilt from its log is the store that wrote it.
fn check_restart_equivalence(options: &Options, nodes: &[SimNode], ghost: &mut Ghost) {
    for node in nodes.iter().filter(|node| node.is_up && node.synced == node.log.len()) {
        for (live, again) in node.stores.iter().zip(replay(&node.log, options, node.id, Micros(0))) {
            for id in live.machine.txn_ids() {
                let (command, replayed) = (live.machine.command(id), again.machine.command(id));
                if replayed.is_some() && command != replayed {
                    ghost
                        .violate("T-JRN", format!("{id} at {} is {command:?} and comes back as {replayed:?}", node.id));
                }
            }
            if live.rows != again.rows {
                ghost.violate("T-JRN", format!("the rows of {} differ after a replay", node.id));
            }
        }
    }
}

/// Two committed transactions may not share an execution time.
pub(crate) fn times_are_unique(ghost: &Ghost) -> Option<(TxnId, TxnId)> {
    let mut seen: BTreeMap<Timestamp, TxnId> = BTreeMap::new();
    for (id, txn) in &ghost.txns {
        if let Some(Decision::Commit(at)) = txn.decided
            && let Some(other) = seen.insert(at, *id)
            && conflict(*id, other)
        {
            return Some((other, *id));
        }
    }
    None
}
