//! Messages and deltas as bytes: every kind goes there and back, and anything else is refused without a panic.

use proptest::prelude::*;
use protocol::codec::{DecodeError, decode, decode_diff, encode, encode_diff};
use protocol::message::*;
use protocol::*;

fn id(hlc: u64) -> TxnId {
    TxnId::new(Epoch(1), Hlc(hlc), NodeId(2), TxnShape { medium_path: true, ..TxnShape::default() })
}

fn key(number: u8) -> Key {
    Key::new(3, TableId(7), &[number])
}

fn route() -> Route {
    Route::of_keys(vec![key(1), key(2)], &key(2))
}

fn deps() -> Deps {
    let set = |ids: &[u64]| {
        DepSet::from_entries(ids.iter().map(|hlc| Dep { id: id(*hlc), unstable: hlc % 2 == 1 }).collect())
    };
    Deps::from_sets(vec![(key(1), set(&[3, 4])), (key(2), set(&[4, 9]))])
}

fn outcome() -> Outcome {
    Outcome {
        writes: vec![(key(1), Bytes::copy_of(b"w"))],
        result: Blob { kind: 2, version: 1, bytes: Bytes::copy_of(b"r") },
    }
}

fn txn() -> Txn {
    Txn { body: Blob { kind: 1, version: 1, bytes: Bytes::copy_of(b"body") } }
}

fn ballot() -> Ballot {
    Ballot::new(Epoch(1), Hlc(50), NodeId(3))
}

fn at() -> Timestamp {
    id(20).as_timestamp()
}

fn verbs() -> Vec<Verb> {
    let readers: NodeSet = [NodeId(1)].into_iter().collect();
    vec![
        Verb::PreAccept(PreAccept { txn: txn(), coordinator_vote: true, coordinator_deps: Some(deps()) }),
        Verb::Accept(Accept { kind: AcceptKind::Medium, ballot: ballot(), execute_at: at(), deps: deps() }),
        Verb::NotAccept(NotAccept { ballot: ballot() }),
        Verb::Commit(Commit { ballot: ballot(), execute_at: at(), deps: deps(), txn: Some(txn()) }),
        Verb::Stable(Stable {
            kind: StableKind::Full,
            ballot: ballot(),
            execute_at: at(),
            deps: deps(),
            txn: None,
            readers,
        }),
        Verb::Apply(Apply { ballot: ballot(), execute_at: at(), deps: deps(), outcome: outcome(), txn: None }),
        Verb::CommitInvalidate(CommitInvalidate {}),
        Verb::BeginRecovery(BeginRecovery { ballot: ballot(), txn: txn() }),
        Verb::BeginInvalidation(BeginInvalidation { ballot: ballot() }),
        Verb::RecoverAwait(RecoverAwait { ballot: ballot(), awaited: id(3), until: AwaitUntil::HasStableDeps }),
        Verb::CheckStatus(CheckStatus { ballot: ballot() }),
    ]
}

fn slice_report() -> SliceReport {
    SliceReport {
        keys: Participants::of_keys(vec![key(1)]),
        status: Status::Applied,
        promised: ballot(),
        accepted: Ballot::ZERO,
        durability: Durability::Majority,
        route: Some(route()),
        txn: Some(txn()),
        execute_at: Some(at()),
        deps_known: DepsKnown::Known,
        deps: deps(),
        outcome: Some(outcome()),
    }
}

fn recover_ok() -> RecoverOk {
    let latest =
        |known, set: &DepSet| LatestAt { known, ballot: ballot(), coordinated: set.clone(), local: DepSet::default() };
    let entries = deps().sets().iter().map(|(key, set)| (key.clone(), latest(DepsKnown::Committed, set))).collect();
    RecoverOk {
        status: Status::Committed,
        accepted: ballot(),
        execute_at: Some(at()),
        latest: LatestDeps::from_entries(entries),
        accepts_fast_path: true,
        coordinator_vote: false,
        superseding_rejects: true,
        wait: deps(),
        no_wait: vec![id(8)],
        coordinator_rejects: Deps::NONE,
        outcome: None,
    }
}

fn reply_verbs() -> Vec<ReplyVerb> {
    let backlog = Backlog { count: 101, max_age: 5, sum_age: 9 };
    vec![
        ReplyVerb::PreAcceptOk(PreAcceptOk {
            witnessed_at: at(),
            rejected: true,
            soft_reject: Some(backlog),
            deps: deps(),
            deps_applied: true,
        }),
        ReplyVerb::PreAcceptNack(PreAcceptNack { promised: ballot() }),
        ReplyVerb::AcceptReply(AcceptReply {
            outcome: AcceptOutcome::Superseded,
            promised: Some(ballot()),
            deps: deps(),
            committed_at: Some(at()),
        }),
        ReplyVerb::CommitReply(CommitReply { outcome: CommitOutcome::Insufficient, promised: ballot() }),
        ReplyVerb::StableReply(StableReply { outcome: CommitOutcome::Ok, promised: Ballot::ZERO }),
        ReplyVerb::ReadOk(ReadOk { data: vec![(key(1), Bytes::copy_of(b"row"))] }),
        ReplyVerb::ApplyReply(ApplyReply { outcome: ApplyOutcome::Stored, race: true }),
        ReplyVerb::ReadSuperseded(ReadSuperseded {}),
        ReplyVerb::RecoverOk(recover_ok()),
        ReplyVerb::InvalidateReply(InvalidateReply {
            is_promised: true,
            promised: ballot(),
            status: Status::PreAccepted,
            accepted: Ballot::ZERO,
            accepts_fast_path: true,
            route: Some(route()),
            txn: Some(txn()),
        }),
        ReplyVerb::RecoverAwaitReply(RecoverAwaitReply {
            awaited: id(3),
            verdict: AwaitVerdict::Reject,
            covering: Participants::of_keys(vec![key(2)]),
        }),
        ReplyVerb::RecoverNack(RecoverNack { refusal: RecoverRefusal::Rejected, promised: ballot() }),
        ReplyVerb::CheckStatusReply(CheckStatusReply { is_coordinating: true, slices: vec![slice_report()] }),
        ReplyVerb::Unavailable(Unavailable { why: "clock".to_owned() }),
    ]
}

fn samples() -> Vec<Message> {
    let scopes = [Scope::Full(route()), Scope::Part(Participants::of_keys(vec![key(2)]))];
    let requests = verbs().into_iter().zip(scopes.into_iter().cycle());
    let requests = requests.map(|(verb, scope)| Message::Request(Request { txn_id: id(20), scope, verb }));
    let replies =
        reply_verbs().into_iter().map(|verb| Message::Reply(Reply { txn_id: id(20), ballot: ballot(), verb }));
    let inform = InformDurable { durability: Durability::Majority, ids: vec![id(1), id(2)] };
    requests.chain(replies).chain([Message::InformDurable(inform)]).collect()
}

fn encoded(message: &Message) -> Vec<u8> {
    let mut bytes = Vec::new();
    encode(message, &mut bytes);
    bytes
}

#[test]
fn every_kind_has_a_sample() {
    let kinds = |all: &[(u8, &str)]| all.iter().map(|(kind, _)| *kind).collect::<Vec<_>>();
    assert_eq!(verbs().iter().map(Verb::kind).collect::<Vec<_>>(), kinds(Verb::KINDS));
    assert_eq!(reply_verbs().iter().map(ReplyVerb::kind).collect::<Vec<_>>(), kinds(ReplyVerb::KINDS));
}

#[test]
fn every_message_comes_back_equal() {
    for message in samples() {
        assert_eq!(decode(&encoded(&message)), Ok(message));
    }
}

#[test]
fn a_byte_too_many_or_too_few_is_refused() {
    for message in samples() {
        let mut bytes = encoded(&message);
        bytes.push(0);
        assert_eq!(decode(&bytes), Err(DecodeError::Trailing), "{message:?}");
        bytes.truncate(bytes.len() - 2);
        assert!(decode(&bytes).is_err(), "{message:?}");
    }
}

#[test]
fn another_version_is_named() {
    let mut bytes = encoded(&samples()[0]);
    bytes[1] = 9;
    assert_eq!(decode(&bytes), Err(DecodeError::UnknownVersion(9)));
    assert_eq!(decode_diff(&[9, 0x90]), Err(DecodeError::UnknownVersion(9)));
}

#[test]
fn j11_every_field_of_a_delta_survives_a_save_and_load() {
    for (promised, accepted) in [(ballot(), Ballot::ZERO), (ballot(), ballot())] {
        let diff = CommandDiff {
            status: Some(Status::AcceptedSlow),
            promised: Some(promised),
            accepted: Some(accepted),
            scope: Some(Scope::Full(route())),
            txn: Some(txn()),
            execute_at: Some(at()),
            rejected: Some(true),
            privileged_vote: Some(false),
            deps: Some((DepsKnown::Proposed, deps())),
            outcome: Some(outcome()),
            durability: Some(Durability::Majority),
        };
        let mut bytes = Vec::new();
        encode_diff(&diff, &mut bytes);
        assert_eq!(decode_diff(&bytes), Ok(diff));
    }
}

#[test]
fn the_fold_of_the_whole_state_is_the_state() {
    let mut command = Command::default();
    let pre_accepted = CommandDiff {
        status: Some(Status::PreAccepted),
        scope: Some(Scope::Full(route())),
        txn: Some(txn()),
        execute_at: Some(at()),
        ..CommandDiff::default()
    };
    command.fold(&pre_accepted);
    command.fold(&CommandDiff { promised: Some(ballot()), ..CommandDiff::default() });
    command.fold(&CommandDiff {
        status: Some(Status::Stable),
        deps: Some((DepsKnown::Known, deps())),
        ..CommandDiff::default()
    });
    let mut again = Command::default();
    again.fold(&command.to_diff());
    assert_eq!(again, command);
}

/// Pinned for ever: a change here is a change of the wire and of every journal on disk.
#[test]
fn golden_bytes() {
    let request = Request {
        txn_id: id(1),
        scope: Scope::Full(Route::of_keys(vec![key(1)], &key(1))),
        verb: Verb::NotAccept(NotAccept { ballot: ballot() }),
    };
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let golden = include_str!("golden/not_accept.hex").trim();
    assert_eq!(hex(&encoded(&Message::Request(request))), golden);
    let mut bytes = Vec::new();
    let diff = CommandDiff {
        status: Some(Status::Committed),
        deps: Some((DepsKnown::Committed, deps())),
        ..CommandDiff::default()
    };
    encode_diff(&diff, &mut bytes);
    assert_eq!(hex(&bytes), include_str!("golden/committed_diff.hex").trim());
}

proptest! {
    #[test]
    fn garbage_is_refused_and_never_panics(bytes in prop::collection::vec(any::<u8>(), 0..200), kind in 0u8..80) {
        let mut framed = vec![kind, 1];
        framed.extend_from_slice(&bytes);
        let _ = decode(&framed);
        let _ = decode_diff(&framed[1..]);
    }

    #[test]
    fn a_flipped_byte_never_panics(at in 0usize..400, flip in 1u8.., sample in 0usize..26) {
        let samples = samples();
        let mut bytes = encoded(&samples[sample % samples.len()]);
        let at = at % bytes.len();
        bytes[at] ^= flip;
        if let Ok(message) = decode(&bytes) {
            let again = encoded(&message);
            prop_assert_eq!(decode(&again), Ok(message));
        }
    }
}
