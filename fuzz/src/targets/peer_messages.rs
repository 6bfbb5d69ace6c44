//! F3: the bytes of a peer. Decoding takes memory in proportion to the message; what is decoded encodes to bytes that decode to the
//! same value: to the same bytes, if a peer of ours wrote them.
//!
//! *Shape* of an input: a byte that says what the rest is. 0: one message. 1: the payload of a frame, with its count in the next
//! byte. 2: a journal delta. 3: a stream of frames.

use super::Dice;
use crate::{Outcome, Target, spent_by};
use auth::Payload;
use protocol::codec::{DecodeError, decode, decode_diff, encode, encode_diff};
use protocol::message::*;
use protocol::*;
use transport::{Batch, CutError, FrameCutter};

/// See the module.
pub const TARGET: Target = Target { name: "peer_messages", run, seeds, dictionary: DICTIONARY, input_max: 64 << 10 };

/// *Units*: bytes of memory per byte of message.
const MEMORY_PER_BYTE: usize = 4;
/// The goal is 64 KiB; but serde reserves up to 1 MiB for a sequence that promises many elements before it sees the first, and
/// sequences nest three deep. Only a peer that holds a key gets this far.
const MEMORY_ALWAYS: usize = (64 << 10) + (3 << 20);
/// Limit of the frames of streams.
const FRAME_MAX: usize = 20_000;

const DICTIONARY: &[&[u8]] = &[
    b"\xc0",
    b"\x90",
    b"\xdc\xff\xff",
    b"\xdd\xff\xff\xff\xff",
    b"\xdd\x00\x10\x00\x00",
    b"\xc4\x14",
    b"\xc6\x7f\xff\xff\xff",
    b"\xdb\x7f\xff\xff\xff",
    b"\xdf\x7f\xff\xff\xff",
    b"\xcf\x00\x00\x00\x00\x00\x00\x00\x01",
    b"\xcc\x01",
    b"\xd9\x01a",
    b"\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91",
    b"\x81\x01\x01",
    b"\xc4\x14\x00\x00\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x01\x00\x82\x00\x00\x00\x02",
];

fn run(input: &[u8]) -> Outcome {
    let mut dice = Dice::new(input);
    match dice.byte() % 4 {
        0 => message(dice.rest()),
        1 => {
            let count = dice.byte().into();
            batch(dice.rest(), count)
        }
        2 => delta(dice.rest()),
        _ => frames(dice.rest()),
    }
}

fn message(bytes: &[u8]) -> Outcome {
    match within_memory(bytes, || decode(bytes)) {
        Ok(message) => {
            let mut again = Vec::new();
            encode(&message, &mut again);
            let form = form_of(bytes, &again);
            assert!(
                decode(&again) == Ok(message),
                "decodes to another value the second time: {}",
                again.escape_ascii()
            );
            Outcome::of(&format!("message {} {form}", Outcome::letter(1 << (bytes[0] % 26))))
        }
        Err(error) => refused(&error),
    }
}

fn delta(bytes: &[u8]) -> Outcome {
    match within_memory(bytes, || decode_diff(bytes)) {
        Ok(diff) => {
            let mut again = Vec::new();
            encode_diff(&diff, &mut again);
            let given = [diff.txn.is_some(), diff.deps.is_some(), diff.outcome.is_some()];
            let form = form_of(bytes, &again);
            assert!(
                decode_diff(&again) == Ok(diff),
                "decodes to another value the second time: {}",
                again.escape_ascii()
            );
            Outcome::of(&format!("delta {given:?} {form}"))
        }
        Err(error) => refused(&error),
    }
}

fn within_memory<T>(bytes: &[u8], decode: impl FnOnce() -> T) -> T {
    let (decoded, spent) = spent_by(decode);
    let allowed = MEMORY_PER_BYTE * bytes.len() + MEMORY_ALWAYS;
    assert!(spent.peak <= allowed, "{} bytes of memory for a message of {}", spent.peak, bytes.len());
    decoded
}

/// MessagePack has several forms of a number and of a struct; we write one and read all.
fn form_of(bytes: &[u8], again: &[u8]) -> &'static str {
    if again == bytes { "as we write it" } else { "in another form" }
}

fn refused(error: &DecodeError) -> Outcome {
    let text = error.to_string();
    assert!(text.len() <= 1000, "a refusal of {} bytes", text.len());
    Outcome::of(&text)
}

fn batch(bytes: &[u8], count: u32) -> Outcome {
    match within_memory(bytes, || Batch::parse(Payload { bytes, count })) {
        Ok(batch) => {
            let total: usize = batch.iter().map(|message| message.len() + 4).sum();
            assert_eq!((total, batch.iter().count()), (bytes.len(), batch.len()));
            Outcome::of(&format!("batch {}", Outcome::letter(batch.len())))
        }
        Err(error) => Outcome::of(&error.to_string()),
    }
}

/// Cut in one or in portions, the same frames come out.
fn frames(stream: &[u8]) -> Outcome {
    let whole = cut(stream, usize::MAX);
    for portion in [1, 7, 4099] {
        if portion > 1 || stream.len() < 4096 {
            assert_eq!(cut(stream, portion), whole, "portions of {portion}");
        }
    }
    Outcome::of(&format!("frames {} {:?}", Outcome::letter(whole.0.len()), whole.1))
}

fn cut(mut stream: &[u8], portion: usize) -> (Vec<Vec<u8>>, Option<CutError>) {
    let mut cutter = FrameCutter::new(FRAME_MAX);
    let mut frames = Vec::new();
    while !stream.is_empty() {
        let space = cutter.space();
        let count = portion.min(stream.len()).min(space.len());
        space[..count].copy_from_slice(&stream[..count]);
        stream = &stream[count..];
        cutter.filled(count);
        loop {
            match cutter.next_frame() {
                Ok(Some(frame)) => frames.push(frame.to_vec()),
                Ok(None) => break,
                Err(error) => return (frames, Some(error)),
            }
        }
    }
    (frames, None)
}

fn seeds() -> Vec<Vec<u8>> {
    let encoded = |message: &Message| {
        let mut bytes = Vec::new();
        encode(message, &mut bytes);
        bytes
    };
    let messages: Vec<Vec<u8>> = samples().iter().map(encoded).collect();
    let led = |kind: u8, bytes: &[u8]| [&[kind][..], bytes].concat();
    let mut seeds: Vec<Vec<u8>> = messages.iter().map(|bytes| led(0, bytes)).collect();
    let payload: Vec<u8> =
        messages[..3].iter().flat_map(|bytes| [&(bytes.len() as u32).to_be_bytes()[..], bytes].concat()).collect();
    seeds.push(led(1, &led(3, &payload)));
    for diff in deltas() {
        let mut bytes = vec![2];
        encode_diff(&diff, &mut bytes);
        seeds.push(bytes);
    }
    let mut header = [0; auth::frame::HEADER_LEN];
    header[..4].copy_from_slice(&auth::frame::MAGIC);
    let at = header.len() - 4;
    header[at..].copy_from_slice(&(payload.len() as u32).to_be_bytes());
    let frame = [&header[..], &payload, &[7; auth::frame::TAG_LEN]].concat();
    seeds.push(led(3, &[&frame[..], &frame, &frame[..20]].concat()));
    seeds
}

fn id(hlc: u64) -> TxnId {
    TxnId::new(Epoch(1), Hlc(hlc), NodeId(2), TxnShape::default())
}

fn key(number: u8) -> Key {
    Key::new(3, TableId(7), &[number])
}

fn ballot() -> Ballot {
    Ballot::new(Epoch(1), Hlc(50), NodeId(3))
}

fn deps() -> Deps {
    let set = |ids: &[u64]| {
        DepSet::from_entries(ids.iter().map(|hlc| Dep { id: id(*hlc), unstable: hlc % 2 == 1 }).collect())
    };
    Deps::from_sets(vec![(key(1), set(&[3, 4])), (key(2), set(&[4, 9]))])
}

fn txn() -> Txn {
    Txn { body: Blob { kind: 1, version: 1, bytes: Bytes::copy_of(b"body") } }
}

fn outcome() -> protocol::Outcome {
    let result = Blob { kind: 2, version: 1, bytes: Bytes::copy_of(b"r") };
    protocol::Outcome { writes: vec![(key(1), Bytes::copy_of(b"w"))], result }
}

fn deltas() -> [CommandDiff; 2] {
    let full = CommandDiff {
        txn: Some(txn()),
        deps: Some((DepsKnown::Known, deps())),
        outcome: Some(outcome()),
        ..CommandDiff::default()
    };
    [CommandDiff::default(), full]
}

fn samples() -> Vec<Message> {
    let at = id(20).as_timestamp();
    let route = Route::of_keys(vec![key(1), key(2)], &key(2));
    let readers: NodeSet = [NodeId(1)].into_iter().collect();
    let verbs = [
        Verb::PreAccept(PreAccept { txn: txn(), coordinator_vote: true, coordinator_deps: Some(deps()) }),
        Verb::Accept(Accept { kind: AcceptKind::Medium, ballot: ballot(), execute_at: at, deps: deps() }),
        Verb::Commit(Commit { ballot: ballot(), execute_at: at, deps: deps(), txn: Some(txn()) }),
        Verb::Stable(Stable {
            kind: StableKind::Full,
            ballot: ballot(),
            execute_at: at,
            deps: deps(),
            txn: None,
            readers,
        }),
        Verb::Apply(Apply { ballot: ballot(), execute_at: at, deps: deps(), outcome: outcome(), txn: None }),
        Verb::BeginRecovery(BeginRecovery { ballot: ballot(), txn: txn() }),
        Verb::BeginInvalidation(BeginInvalidation { ballot: ballot() }),
        Verb::RecoverAwait(RecoverAwait { ballot: ballot(), awaited: id(3), until: AwaitUntil::HasStableDeps }),
        Verb::CheckStatus(CheckStatus { ballot: ballot() }),
        Verb::CommitInvalidate(CommitInvalidate {}),
    ];
    let scopes = [Scope::Full(route), Scope::Part(Participants::of_keys(vec![key(2)]))];
    let requests = verbs.into_iter().zip(scopes.into_iter().cycle());
    let requests = requests.map(|(verb, scope)| Message::Request(Request { txn_id: id(20), scope, verb }));
    let replies = replies(at).into_iter().map(|verb| Message::Reply(Reply { txn_id: id(20), ballot: ballot(), verb }));
    let inform = InformDurable { durability: Durability::Majority, ids: vec![id(1), id(2)] };
    requests.chain(replies).chain([Message::InformDurable(inform)]).collect()
}

fn replies(at: Timestamp) -> Vec<ReplyVerb> {
    let latest = LatestAt {
        known: DepsKnown::Committed,
        ballot: ballot(),
        coordinated: DepSet::stable([id(3)]),
        local: DepSet::default(),
    };
    vec![
        ReplyVerb::PreAcceptOk(PreAcceptOk {
            witnessed_at: at,
            rejected: true,
            soft_reject: Some(Backlog { count: 101, max_age: 5, sum_age: 9 }),
            deps: deps(),
            deps_applied: true,
        }),
        ReplyVerb::PreAcceptNack(PreAcceptNack { promised: ballot() }),
        ReplyVerb::AcceptReply(AcceptReply {
            outcome: AcceptOutcome::Superseded,
            promised: Some(ballot()),
            deps: deps(),
            committed_at: Some(at),
        }),
        ReplyVerb::CommitReply(CommitReply { outcome: CommitOutcome::Insufficient, promised: ballot() }),
        ReplyVerb::ReadOk(ReadOk { data: vec![(key(1), Bytes::copy_of(b"row"))] }),
        ReplyVerb::ApplyReply(ApplyReply { outcome: ApplyOutcome::Stored, race: true }),
        ReplyVerb::RecoverOk(RecoverOk {
            status: Status::Committed,
            accepted: ballot(),
            execute_at: Some(at),
            latest: LatestDeps::from_entries(vec![(key(1), latest)]),
            accepts_fast_path: true,
            coordinator_vote: false,
            superseding_rejects: true,
            wait: deps(),
            no_wait: vec![id(8)],
            coordinator_rejects: Deps::NONE,
            outcome: Some(outcome()),
        }),
        ReplyVerb::RecoverNack(RecoverNack { refusal: RecoverRefusal::Rejected, promised: ballot() }),
        ReplyVerb::CheckStatusReply(CheckStatusReply { is_coordinating: true, slices: Vec::new() }),
        ReplyVerb::Unavailable(Unavailable { why: "clock".to_owned() }),
    ]
}
