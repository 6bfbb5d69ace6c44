//! What the conflicts at a replica testify about a transaction that is being recovered. *Source*: [SPEC 5.3, 7.2, 7.5].

use crate::stage::*;
use protocol::message::*;
use protocol::*;

/// The recovered one.
const X: u64 = 9_000;
/// An earlier conflict, and a later one.
const EARLIER: u64 = X - 10;
const LATER: u64 = X + 10;

/// X voted for, and one conflict brought to a state by `requests`.
fn with_conflict(other: TxnId, requests: Vec<Verb>) -> Replica {
    let mut replica = Replica::new();
    replica.vote(id(X));
    for request in requests {
        replica.effects(other, request);
    }
    replica
}

fn testimony(other: u64, requests: Vec<Verb>) -> RecoverOk {
    with_conflict(id(other), requests).testimony(id(X), ballot(1))
}

/// Nothing for and nothing against the fast path.
fn says_nothing(ok: &RecoverOk) -> bool {
    !ok.superseding_rejects && ok.wait.is_empty() && ok.no_wait.is_empty() && ok.coordinator_rejects.is_empty()
}

fn stable_at(at: Timestamp, deps: Deps) -> Verb {
    stable(StableKind::Full, Ballot::ZERO, at, deps)
}

fn unstable(id: TxnId) -> Deps {
    Deps::from_sets(vec![(key(1), DepSet::from_entries(vec![Dep { id, unstable: true }]))])
}

#[test]
fn spec_7_2_an_earlier_stable_that_names_it_need_not_be_waited_for() {
    let ok = testimony(EARLIER, vec![stable_at(time(X + 5), deps(&[id(X)]))]);
    assert_eq!((ok.no_wait, ok.superseding_rejects, ok.wait), (vec![id(EARLIER)], false, Deps::NONE));
}

#[test]
fn spec_7_2_an_earlier_decided_for_later_without_it_rejects() {
    let requests = vec![pre_accept(), commit(Ballot::ZERO, time(X + 5), deps(&[]))];
    assert!(testimony(EARLIER, requests).superseding_rejects);
    assert!(testimony(EARLIER, vec![stable_at(time(X + 5), unstable(id(X)))]).superseding_rejects, "UNSTABLE is none");
}

#[test]
fn spec_7_2_an_earlier_decided_below_the_id_says_nothing() {
    assert!(says_nothing(&testimony(EARLIER, vec![stable_at(time(X - 5), deps(&[]))])));
}

#[test]
fn spec_7_2_an_earlier_invalidated_need_not_be_waited_for() {
    let ok = testimony(EARLIER, vec![pre_accept(), commit_invalidate()]);
    assert_eq!((ok.no_wait, ok.superseding_rejects), (vec![id(EARLIER)], false));
}

#[test]
fn spec_7_2_an_earlier_proposed_behind_the_id_must_be_waited_for() {
    let ok = testimony(EARLIER, vec![accept(Ballot::ZERO, time(X + 5), deps(&[]))]);
    assert_eq!((ok.wait, ok.superseding_rejects), (deps(&[id(EARLIER)]), false));
    assert!(says_nothing(&testimony(EARLIER, vec![accept(Ballot::ZERO, time(X - 5), deps(&[]))])));
}

#[test]
fn spec_7_2_an_earlier_undecided_is_waited_for_only_beside_a_privileged_one() {
    assert!(says_nothing(&testimony(EARLIER, vec![pre_accept()])));
    assert!(says_nothing(&testimony(EARLIER, vec![not_accept(Ballot::ZERO)])));
    let fast_path = FastPathKind::PrivilegedWithoutDeps;
    let privileged = shaped(EARLIER, TxnShape { kind: TxnKind::Write, fast_path, ..TxnShape::default() });
    let ok = with_conflict(privileged, vec![pre_accept()]).testimony(id(X), ballot(1));
    assert_eq!(ok.wait, deps(&[privileged]));
}

#[test]
fn spec_7_2_a_later_proposed_or_decided_rejects_unless_it_names_it() {
    let rows = |deps: fn() -> Deps| {
        vec![
            vec![accept(Ballot::ZERO, time(LATER + 5), deps())],
            vec![pre_accept(), commit(Ballot::ZERO, time(LATER + 5), deps())],
            vec![stable_at(time(LATER + 5), deps())],
            vec![apply(Ballot::ZERO, time(LATER + 5), deps())],
        ]
    };
    for requests in rows(|| deps(&[])) {
        assert!(testimony(LATER, requests).superseding_rejects);
    }
    for requests in rows(|| deps(&[id(X)])) {
        assert!(says_nothing(&testimony(LATER, requests)));
    }
    for requests in rows(|| unstable(id(X))) {
        assert!(testimony(LATER, requests).superseding_rejects, "UNSTABLE is none");
    }
}

#[test]
fn spec_7_2_a_later_one_without_deps_of_its_own_says_nothing() {
    assert!(says_nothing(&testimony(LATER, vec![pre_accept()])));
    assert!(says_nothing(&testimony(LATER, vec![not_accept(Ballot::ZERO)])));
    assert!(says_nothing(&testimony(LATER, vec![pre_accept(), commit_invalidate()])));
}

#[test]
fn spec_7_2_a_later_coordinators_deps_without_it_are_told_by_name() {
    let fast_path = FastPathKind::PrivilegedWithDeps;
    let with_deps = shaped(LATER, TxnShape { kind: TxnKind::Write, fast_path, ..TxnShape::default() });
    let request = |deps| PreAccept { txn: txn(), coordinator_vote: true, coordinator_deps: Some(deps) };
    let ok = |deps| with_conflict(with_deps, vec![Verb::PreAccept(request(deps))]).testimony(id(X), ballot(1));
    assert_eq!(ok(deps(&[])).coordinator_rejects, deps(&[with_deps]));
    assert!(says_nothing(&ok(deps(&[id(X)]))));
}

#[test]
fn spec_5_3_a_dependency_must_be_named_at_every_shared_key() {
    let scope = || Scope::Full(Route::of_keys(vec![key(1), key(2)], &key(1)));
    let named_at = |at: &[u8]| {
        let set = |number: u8| DepSet::stable(at.contains(&number).then_some(id(X)));
        Deps::from_sets(vec![(key(1), set(1)), (key(2), set(2))])
    };
    for (at, is_rejected) in [(&[1, 2][..], false), (&[1], true), (&[2], true)] {
        let mut replica = Replica::new();
        replica.effects_over(id(X), scope(), pre_accept());
        replica.effects_over(id(LATER), scope(), accept(Ballot::ZERO, time(LATER + 5), named_at(at)));
        let effects = replica.effects_over(id(X), scope(), recover(ballot(1)));
        let rejects = effects.iter().find_map(|effect| match effect {
            Effect::Reply { reply: Reply { verb: ReplyVerb::RecoverOk(ok), .. }, .. } => Some(ok.superseding_rejects),
            _ => None,
        });
        assert_eq!(rejects, Some(is_rejected), "named at {at:?}");
    }
}

/// The verdicts given on the recovery of X when it asks about the earlier conflict.
fn verdicts(effects: &[Effect]) -> Vec<AwaitVerdict> {
    let verdict = |effect: &Effect| match effect {
        Effect::Reply { reply: Reply { verb: ReplyVerb::RecoverAwaitReply(reply), .. }, .. } => Some(reply.verdict),
        _ => None,
    };
    effects.iter().filter_map(verdict).collect()
}

fn ask_about_earlier(replica: &mut Replica) -> Vec<AwaitVerdict> {
    let wait = RecoverAwait { ballot: ballot(1), awaited: id(EARLIER), until: AwaitUntil::HasStableDeps };
    verdicts(&replica.effects(id(X), Verb::RecoverAwait(wait)))
}

#[test]
fn spec_7_5_a_wait_is_answered_when_the_other_is_stable() {
    let mut replica = with_conflict(id(EARLIER), vec![accept(Ballot::ZERO, time(X + 5), deps(&[]))]);
    assert_eq!(ask_about_earlier(&mut replica), []);
    let effects = replica.effects(id(EARLIER), stable_at(time(X + 5), deps(&[])));
    assert_eq!(verdicts(&effects), [AwaitVerdict::Reject]);
}

#[test]
fn spec_7_5_verdicts_follow_time_and_deps_of_the_awaited() {
    let rows = [
        (vec![stable_at(time(X + 5), deps(&[id(X)]))], AwaitVerdict::Accept),
        (vec![stable_at(time(X + 5), deps(&[]))], AwaitVerdict::Reject),
        (vec![stable_at(time(X + 5), unstable(id(X)))], AwaitVerdict::Reject),
        (vec![stable_at(time(X - 5), deps(&[]))], AwaitVerdict::Accept),
        (vec![pre_accept(), commit_invalidate()], AwaitVerdict::Accept),
    ];
    for (requests, verdict) in rows {
        let mut replica = with_conflict(id(EARLIER), requests.clone());
        assert_eq!(ask_about_earlier(&mut replica), [verdict], "{requests:?}");
    }
}

#[test]
fn spec_7_5_a_recovered_one_that_is_committed_here_cannot_be_told_about() {
    let mut replica = with_conflict(id(EARLIER), vec![stable_at(time(X + 5), deps(&[]))]);
    replica.effects(id(X), commit(Ballot::ZERO, id(X).as_timestamp(), deps(&[])));
    assert_eq!(ask_about_earlier(&mut replica), [AwaitVerdict::Unknown]);
}

/// A fast path knew of X and a recovery of the same transaction did not: whoever stored the recovery's proposal goes on saying so.
#[test]
fn spec_2_4_final_dependencies_of_another_coordinator_erase_no_testimony() {
    let later = id(LATER).as_timestamp();
    let recovered = [recover(ballot(1)), accept(ballot(1), later, deps(&[])), commit(ballot(1), later, deps(&[]))];
    for seen in [&recovered[..2], &recovered] {
        for last in [stable_at(later, deps(&[id(X)])), apply(Ballot::ZERO, later, deps(&[id(X)]))] {
            assert!(testimony(LATER, [seen, &[last]].concat()).superseding_rejects);
        }
    }
    let without_proposal = testimony(LATER, vec![pre_accept(), stable_at(later, deps(&[id(X)]))]);
    assert!(!without_proposal.superseding_rejects);
}
