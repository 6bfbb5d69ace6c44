//! Messages and journal deltas as bytes: a kind byte, a version byte, then MessagePack of bare structs.
//!
//! A decoder consumes everything or refuses. The formats are pinned by golden bytes in `tests/golden.rs`.

use crate::command::CommandDiff;
use crate::message::{INFORM_DURABLE, InformDurable, Message, Reply, ReplyVerb, Request, Verb};
use crate::route::{Participants, Route, Scope};
use crate::timestamp::{Ballot, TxnId};
use rmp_serde::decode::ReadRefReader;
use rmp_serde::{Deserializer, Serializer};
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Version byte of every message and delta written by this code.
pub const FORMAT_VERSION: u8 = 1;

/// Deeper nesting than any of our structs has.
const DEPTH_MAX: usize = 32;

/// The bytes are no message of ours.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum DecodeError {
    /// Fewer than the two leading bytes.
    TooShort,
    /// A kind byte nobody uses.
    UnknownKind(u8),
    /// A version this code does not read.
    UnknownVersion(u8),
    /// The body does not have the shape of its kind.
    Body(String),
    /// Bytes are left over after the body.
    Trailing,
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooShort => f.write_str("message shorter than its kind and version"),
            Self::UnknownKind(kind) => write!(f, "message kind {kind} is unknown"),
            Self::UnknownVersion(version) => write!(f, "format version {version}; this build reads {FORMAT_VERSION}"),
            Self::Body(why) => write!(f, "message body: {why}"),
            Self::Trailing => f.write_str("bytes left over after the message body"),
        }
    }
}

impl std::error::Error for DecodeError {}

impl From<rmp_serde::decode::Error> for DecodeError {
    fn from(error: rmp_serde::decode::Error) -> Self {
        Self::Body(error.to_string())
    }
}

/// Appends the bytes of `message` to `out`.
pub fn encode(message: &Message, out: &mut Vec<u8>) {
    let kind = match message {
        Message::Request(request) => request.verb.kind(),
        Message::Reply(reply) => reply.verb.kind(),
        Message::InformDurable(_) => INFORM_DURABLE,
    };
    out.extend_from_slice(&[kind, FORMAT_VERSION]);
    let written = match message {
        Message::Request(request) => put(&request.txn_id, out)
            .and_then(|()| put(&request.scope, out))
            .and_then(|()| request.verb.write(&mut Serializer::new(out))),
        Message::Reply(reply) => put(&reply.txn_id, out)
            .and_then(|()| put(&reply.ballot, out))
            .and_then(|()| reply.verb.write(&mut Serializer::new(out))),
        Message::InformDurable(inform) => put(inform, out),
    };
    written.expect("writing to memory does not fail, and every value of ours has a MessagePack form");
}

fn put<T: Serialize>(value: &T, out: &mut Vec<u8>) -> Result<(), rmp_serde::encode::Error> {
    value.serialize(&mut Serializer::new(out))
}

/// Reads one message that fills `bytes`.
///
/// *Errors*: anything that is not exactly one message of a known kind and version.
pub fn decode(bytes: &[u8]) -> Result<Message, DecodeError> {
    let (kind, mut body) = open(bytes)?;
    let message = if kind == INFORM_DURABLE {
        Message::InformDurable(InformDurable::deserialize(&mut body)?)
    } else if kind < 64 {
        let (txn_id, scope) = (TxnId::deserialize(&mut body)?, Scope::deserialize(&mut body)?);
        let verb = Verb::read(kind, &mut body).ok_or(DecodeError::UnknownKind(kind))??;
        Message::Request(Request { txn_id, scope, verb })
    } else {
        let (txn_id, ballot) = (TxnId::deserialize(&mut body)?, Ballot::deserialize(&mut body)?);
        let verb = ReplyVerb::read(kind, &mut body).ok_or(DecodeError::UnknownKind(kind))??;
        Message::Reply(Reply { txn_id, ballot, verb })
    };
    finish(&mut body).map(|()| message)
}

/// Appends the bytes of a journal delta to `out`: version, then body. Its kind byte is the journal's.
pub fn encode_diff(diff: &CommandDiff, out: &mut Vec<u8>) {
    out.push(FORMAT_VERSION);
    put(diff, out).expect("writing to memory does not fail, and every value of ours has a MessagePack form");
}

/// Reads a journal delta that fills `bytes`.
///
/// *Errors*: an unknown version, a wrong shape, or bytes left over.
pub fn decode_diff(bytes: &[u8]) -> Result<CommandDiff, DecodeError> {
    let (version, body) = bytes.split_first().ok_or(DecodeError::TooShort)?;
    let mut body = reader(*version, body)?;
    let diff = CommandDiff::deserialize(&mut body)?;
    finish(&mut body).map(|()| diff)
}

type Reader<'de> = Deserializer<ReadRefReader<'de, [u8]>>;

fn open(bytes: &[u8]) -> Result<(u8, Reader<'_>), DecodeError> {
    match bytes {
        [kind, version, body @ ..] => Ok((*kind, reader(*version, body)?)),
        _ => Err(DecodeError::TooShort),
    }
}

fn reader(version: u8, body: &[u8]) -> Result<Reader<'_>, DecodeError> {
    if version != FORMAT_VERSION {
        return Err(DecodeError::UnknownVersion(version));
    }
    let mut reader = Deserializer::from_read_ref(body);
    reader.set_max_depth(DEPTH_MAX);
    Ok(reader)
}

/// Nothing may be left: reading one more value must meet the end.
fn finish(reader: &mut Reader<'_>) -> Result<(), DecodeError> {
    match IgnoredAny::deserialize(reader) {
        Err(rmp_serde::decode::Error::InvalidMarkerRead(_)) => Ok(()),
        _ => Err(DecodeError::Trailing),
    }
}

/// A scope on the wire: the route, or the participants; exactly one is there.
#[derive(Serialize, Deserialize)]
struct ScopeForm {
    route: Option<Route>,
    participants: Option<Participants>,
}

impl Serialize for Scope {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let form = match self {
            Self::Full(route) => ScopeForm { route: Some(route.clone()), participants: None },
            Self::Part(participants) => ScopeForm { route: None, participants: Some(participants.clone()) },
        };
        form.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Scope {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        use serde::de::Error as _;
        let form = ScopeForm::deserialize(deserializer)?;
        match (form.route, form.participants) {
            (Some(route), None) if route.is_well_formed() => Ok(Self::Full(route)),
            (None, Some(participants)) if participants.is_well_formed() => Ok(Self::Part(participants)),
            _ => Err(D::Error::custom("scope: keys not sorted, home not among them, or not exactly one form")),
        }
    }
}
