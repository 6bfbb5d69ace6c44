//! Trackers against plain counting: sets built anew from the whole list of events for every question. *Source*: [SPEC 3, 4.3].

use coordinator::tracker::{FastPathTracker, QuorumTracker, Reached};
use proptest::prelude::*;
use protocol::{FastPathKind, NodeId, NodeSet, VotingGroup};
use std::collections::BTreeSet;

/// What can happen to a round of votes.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Event {
    Vote(u32, bool),
    Fail(u32),
    SlowNotice,
}

type Nodes = BTreeSet<u32>;

#[derive(Clone, Debug)]
struct Group {
    nodes: Nodes,
    electorate: Nodes,
}

impl Group {
    fn f(&self) -> usize {
        (self.nodes.len() - 1) / 2
    }

    fn q(&self) -> usize {
        self.nodes.len() - self.f()
    }

    /// The formula of section 3, in signed numbers as it stands there.
    fn fast_quorum(&self, kind: FastPathKind) -> usize {
        let d: i64 = match kind {
            FastPathKind::Unoptimised => 1,
            FastPathKind::PrivilegedWithoutDeps => 0,
            FastPathKind::PrivilegedWithDeps => -1,
        };
        let (n, q, e) = (self.nodes.len() as i64, self.q() as i64, self.electorate.len() as i64);
        ((e + n - q + 1 + d) / 2).max(n / 2 + 1) as usize
    }

    fn to_voting_group(&self) -> VotingGroup {
        let set = |nodes: &Nodes| -> NodeSet { nodes.iter().map(|node| NodeId(*node)).collect() };
        VotingGroup { nodes: set(&self.nodes), electorate: set(&self.electorate), keys: Vec::new() }
    }
}

/// The sets of 4.3, over all nodes, after some events.
#[derive(Default)]
struct Sets {
    succeeded: Nodes,
    for_id: Nodes,
    failed: Nodes,
    delayed: Nodes,
}

impl Sets {
    fn of(events: &[Event], all: &Nodes, is_fast_enabled: bool) -> Self {
        let mut sets = Self::default();
        for event in events {
            match *event {
                Event::Vote(node, is_for_id) if !sets.has_answered(node) => {
                    sets.succeeded.insert(node);
                    if is_for_id && is_fast_enabled {
                        sets.for_id.insert(node);
                    }
                }
                Event::Fail(node) if !sets.has_answered(node) => {
                    sets.failed.insert(node);
                }
                Event::SlowNotice => {
                    let silent: Vec<u32> = all.iter().filter(|node| !sets.has_answered(**node)).copied().collect();
                    sets.delayed.extend(silent);
                }
                Event::Vote(..) | Event::Fail(_) => {}
            }
        }
        sets
    }

    fn has_answered(&self, node: u32) -> bool {
        self.succeeded.contains(&node) || self.failed.contains(&node)
    }
}

fn shared(one: &Nodes, other: &Nodes) -> usize {
    one.intersection(other).count()
}

/// How a group stands after exactly these events, were it not done before.
fn standing(group: &Group, sets: &Sets, kind: FastPathKind) -> Reached {
    let (q, fast_quorum, e) = (group.q(), group.fast_quorum(kind), group.electorate.len());
    let fast_accepts = shared(&sets.for_id, &group.electorate);
    let fast_fails =
        shared(&sets.failed, &group.electorate) + shared(&sets.succeeded, &group.electorate) - fast_accepts;
    if fast_accepts >= fast_quorum {
        return Reached::Fast;
    }
    if shared(&sets.failed, &group.nodes) > group.f() {
        return Reached::Failed;
    }
    let is_over = fast_fails > e - fast_quorum || shared(&sets.delayed, &group.electorate) > 0;
    match shared(&sets.succeeded, &group.nodes) >= q && is_over {
        true if fast_accepts >= q => Reached::Medium,
        true => Reached::Slow,
        false => Reached::Waiting,
    }
}

/// How a group ended, or stands: the first event that completed it counts.
fn outcome(group: &Group, events: &[Event], all: &Nodes, kind: FastPathKind, is_fast_enabled: bool) -> Reached {
    let after = |count| standing(group, &Sets::of(&events[..count], all, is_fast_enabled), kind);
    (0..=events.len()).map(after).find(|reached| *reached != Reached::Waiting).unwrap_or(Reached::Waiting)
}

/// FAST if all are, MEDIUM if all are FAST or MEDIUM, else SLOW; any shard failed fails it.
fn together(outcomes: &[Reached]) -> Reached {
    let any = |wanted| outcomes.contains(&wanted);
    let mut rules = [Reached::Failed, Reached::Waiting, Reached::Slow, Reached::Medium].into_iter();
    rules.find(|reached| any(*reached)).unwrap_or(Reached::Fast)
}

fn group(first: u32) -> impl Strategy<Value = Group> {
    (3usize..=7).prop_flat_map(move |n| {
        let nodes: Vec<u32> = (first..first + n as u32).collect();
        let q = n - (n - 1) / 2;
        prop::sample::subsequence(nodes.clone(), q..=n).prop_map(move |electorate| Group {
            nodes: nodes.iter().copied().collect(),
            electorate: electorate.into_iter().collect(),
        })
    })
}

/// One group, or two that share some nodes, all or none.
fn groups() -> impl Strategy<Value = Vec<Group>> {
    let second = (1u32..=8).prop_flat_map(group);
    (group(1), prop::option::of(second)).prop_map(|(one, other)| std::iter::once(one).chain(other).collect())
}

/// Answers of twelve nodes, most of them for the id, with repeats and strangers among them.
fn events() -> impl Strategy<Value = Vec<Event>> {
    let node = 1u32..=12;
    let event = prop_oneof![
        9 => node.clone().prop_map(|node| Event::Vote(node, true)),
        3 => node.clone().prop_map(|node| Event::Vote(node, false)),
        2 => node.prop_map(Event::Fail),
        1 => Just(Event::SlowNotice),
    ];
    prop::collection::vec(event, 0..40)
}

fn kind() -> impl Strategy<Value = FastPathKind> {
    prop_oneof![
        Just(FastPathKind::Unoptimised),
        Just(FastPathKind::PrivilegedWithoutDeps),
        Just(FastPathKind::PrivilegedWithDeps),
    ]
}

fn members(groups: &[Group]) -> Nodes {
    groups.iter().flat_map(|group| group.nodes.iter().copied()).collect()
}

fn numbers(nodes: &NodeSet) -> Nodes {
    nodes.iter().map(|node| node.0).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn model_fast_path_tracker_matches_counting(
        groups in groups(),
        events in events(),
        kind in kind(),
        is_fast_enabled in prop::bool::weighted(0.9),
    ) {
        let all = members(&groups);
        let mut tracker = FastPathTracker::new(groups.iter().map(Group::to_voting_group).collect(), kind, is_fast_enabled);
        for (count, event) in events.iter().enumerate() {
            let before = Sets::of(&events[..count], &all, is_fast_enabled);
            match *event {
                Event::Vote(node, is_for_id) => {
                    prop_assert_eq!(tracker.vote(NodeId(node), is_for_id), !before.has_answered(node));
                }
                Event::Fail(node) => {
                    prop_assert_eq!(tracker.fail(NodeId(node)), !before.has_answered(node));
                }
                Event::SlowNotice => tracker.delay_silent(),
            }
            let happened = &events[..=count];
            let outcomes: Vec<Reached> =
                groups.iter().map(|group| outcome(group, happened, &all, kind, is_fast_enabled)).collect();
            prop_assert_eq!(tracker.reached(), together(&outcomes), "after {:?}: {:?}", happened, outcomes);
            let sets = Sets::of(happened, &all, is_fast_enabled);
            let silent: Nodes = all.iter().filter(|node| !sets.has_answered(**node)).copied().collect();
            prop_assert_eq!(numbers(&tracker.silent()), silent);
        }
    }

    #[test]
    fn model_quorum_tracker_matches_counting(groups in groups(), events in events()) {
        let all = members(&groups);
        let mut tracker = QuorumTracker::new(groups.iter().map(Group::to_voting_group).collect());
        let (mut yes, mut no) = (Nodes::new(), Nodes::new());
        for event in &events {
            match *event {
                Event::Vote(node, _) => {
                    tracker.succeed(NodeId(node));
                    yes.insert(node);
                }
                Event::Fail(node) => {
                    tracker.fail(NodeId(node));
                    no.insert(node);
                }
                Event::SlowNotice => continue,
            }
            // a yes is never taken back, and makes good an earlier no
            let only_no: Nodes = no.difference(&yes).copied().collect();
            prop_assert_eq!(tracker.is_reached(), groups.iter().all(|group| shared(&yes, &group.nodes) >= group.q()));
            let is_impossible = groups.iter().any(|group| shared(&only_no, &group.nodes) > group.f());
            prop_assert_eq!(tracker.is_impossible(), is_impossible);
            prop_assert!(!(tracker.is_reached() && is_impossible));
            prop_assert_eq!(numbers(&tracker.missing()), all.difference(&yes).copied().collect::<Nodes>());
            prop_assert_eq!(numbers(&tracker.silent()), all.difference(&yes).filter(|n| !no.contains(n)).copied().collect::<Nodes>());
            prop_assert!(all.iter().all(|node| tracker.has(NodeId(*node)) == yes.contains(node)));
        }
    }
}

fn of_size(n: u32) -> Group {
    Group { nodes: (1..=n).collect(), electorate: (1..=n).collect() }
}

#[test]
fn a_done_group_ignores_later_votes() {
    let groups = vec![of_size(3).to_voting_group()];
    let mut tracker = FastPathTracker::new(groups, FastPathKind::Unoptimised, true);
    tracker.vote(NodeId(1), true);
    tracker.vote(NodeId(2), true);
    tracker.delay_silent();
    assert_eq!(tracker.reached(), Reached::Medium);
    tracker.vote(NodeId(3), true);
    assert_eq!(tracker.reached(), Reached::Medium, "the third vote came after the group was done");
}

#[test]
fn a_done_group_waits_for_the_other_one_without_changing() {
    let (one, mut other) = (of_size(3), of_size(3));
    other.nodes = (3..=5).collect();
    other.electorate = other.nodes.clone();
    let groups = vec![one.to_voting_group(), other.to_voting_group()];
    let mut tracker = FastPathTracker::new(groups, FastPathKind::Unoptimised, true);
    tracker.vote(NodeId(1), true);
    tracker.vote(NodeId(2), false);
    assert_eq!(tracker.reached(), Reached::Waiting);
    for node in 3..=5 {
        tracker.vote(NodeId(node), true);
    }
    assert_eq!(tracker.reached(), Reached::Slow, "the first group had ended slow");
}
