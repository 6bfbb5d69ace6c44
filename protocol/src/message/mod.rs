//! Everything nodes say to each other: one verb per file, request beside reply.
//!
//! A request goes the same to every recipient (encoded once); each replica takes its own slice of it. A reply is recognised by
//! transaction, ballot and verb. *Source*: [SPEC 16].

mod accept;
mod apply;
mod commit;
mod pre_accept;
mod read;
mod recover;

pub use accept::{Accept, AcceptKind, AcceptOutcome, AcceptReply, NotAccept};
pub use apply::{Apply, ApplyOutcome, ApplyReply, InformDurable};
pub use commit::{Commit, CommitOutcome, CommitReply, Stable, StableKind, StableReply};
pub use pre_accept::{Backlog, PreAccept, PreAcceptNack, PreAcceptOk};
pub use read::{ReadOk, ReadSuperseded};
pub use recover::{
    AwaitUntil, AwaitVerdict, BeginInvalidation, BeginRecovery, CheckStatus, CheckStatusReply, CommitInvalidate,
    InvalidateReply, RecoverAwait, RecoverAwaitReply, RecoverNack, RecoverOk, RecoverRefusal, SliceReport,
};

use crate::route::Scope;
use crate::timestamp::{Ballot, TxnId};
use serde::{Deserialize, Serialize};

/// A message between nodes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Message {
    /// To the stores that own keys of its scope.
    Request(Request),
    /// To the coordination that asked.
    Reply(Reply),
    /// To every store.
    InformDurable(InformDurable),
}

/// A request about one transaction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Request {
    /// The transaction.
    pub txn_id: TxnId,
    /// The full route, or what the sender knows of it.
    pub scope: Scope,
    /// What is asked.
    pub verb: Verb,
}

/// An answer about one transaction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Reply {
    /// The transaction.
    pub txn_id: TxnId,
    /// The ballot of the request.
    pub ballot: Ballot,
    /// What is answered.
    pub verb: ReplyVerb,
}

macro_rules! verb_enum {
    ($(#[$meta:meta])* pub enum $name:ident { $($verb:ident = $kind:literal,)+ }) => {
        $(#[$meta])*
        #[derive(Clone, PartialEq, Eq, Debug)]
        pub enum $name {
            $(
                #[doc = concat!("See [`", stringify!($verb), "`].")]
                $verb($verb),
            )+
        }

        impl $name {
            /// The kind bytes and names, for tests that go over all of them.
            pub const KINDS: &'static [(u8, &'static str)] = &[$(($kind, stringify!($verb))),+];

            /// The kind byte.
            pub const fn kind(&self) -> u8 {
                match self { $(Self::$verb(_) => $kind,)+ }
            }

            /// The verb, for logs and counters.
            pub const fn name(&self) -> &'static str {
                match self { $(Self::$verb(_) => stringify!($verb),)+ }
            }

            /// Reads the body of a message of `kind`; `None` if the kind is not one of these.
            pub(crate) fn read<'de, D: serde::Deserializer<'de>>(kind: u8, from: D) -> Option<Result<Self, D::Error>> {
                match kind {
                    $($kind => Some($verb::deserialize(from).map(Self::$verb)),)+
                    _ => None,
                }
            }

            /// Writes the body.
            pub(crate) fn write<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                match self { $(Self::$verb(body) => body.serialize(to),)+ }
            }
        }
    };
}

verb_enum! {
    /// What can be asked.
    pub enum Verb {
        PreAccept = 1,
        Accept = 2,
        NotAccept = 3,
        Commit = 4,
        Stable = 5,
        Apply = 7,
        CommitInvalidate = 8,
        BeginRecovery = 9,
        BeginInvalidation = 10,
        RecoverAwait = 11,
        CheckStatus = 13,
    }
}

verb_enum! {
    /// What can be answered.
    pub enum ReplyVerb {
        PreAcceptOk = 65,
        PreAcceptNack = 66,
        AcceptReply = 67,
        CommitReply = 68,
        StableReply = 69,
        ReadOk = 70,
        ApplyReply = 71,
        ReadSuperseded = 72,
        RecoverOk = 73,
        InvalidateReply = 74,
        RecoverAwaitReply = 75,
        RecoverNack = 76,
        CheckStatusReply = 77,
        Unavailable = 78,
    }
}

/// The request cannot be served here at all; counts as one failed node.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Unavailable {
    /// Why, for logs.
    pub why: String,
}

/// Kind byte of [`InformDurable`].
pub(crate) const INFORM_DURABLE: u8 = 16;

impl Verb {
    /// The ballot the request is made at; zero where the verb has none.
    pub fn ballot(&self) -> Ballot {
        match self {
            Self::PreAccept(_) | Self::CommitInvalidate(_) => Ballot::ZERO,
            Self::Accept(accept) => accept.ballot,
            Self::NotAccept(not_accept) => not_accept.ballot,
            Self::Commit(commit) => commit.ballot,
            Self::Stable(stable) => stable.ballot,
            Self::Apply(apply) => apply.ballot,
            Self::BeginRecovery(begin) => begin.ballot,
            Self::BeginInvalidation(begin) => begin.ballot,
            Self::RecoverAwait(wait) => wait.ballot,
            Self::CheckStatus(check) => check.ballot,
        }
    }
}

impl ReplyVerb {
    /// Whether somebody will count or judge by this answer, so that what it rests on must be durable before it leaves.
    ///
    /// *Source*: [SPEC 2.2]. Everything else is information, which a crash may forget without harm.
    pub fn is_testimony(&self) -> bool {
        match self {
            Self::PreAcceptOk(_) | Self::RecoverOk(_) | Self::RecoverAwaitReply(_) | Self::CheckStatusReply(_) => true,
            Self::AcceptReply(reply) => {
                matches!(reply.outcome, AcceptOutcome::Success | AcceptOutcome::AlreadyDone | AcceptOutcome::Retired)
            }
            Self::CommitReply(CommitReply { outcome, .. }) | Self::StableReply(StableReply { outcome, .. }) => {
                matches!(outcome, CommitOutcome::Ok | CommitOutcome::AlreadyDone)
            }
            Self::ApplyReply(reply) => reply.outcome != ApplyOutcome::Insufficient,
            Self::InvalidateReply(reply) => reply.is_promised,
            Self::RecoverNack(nack) => nack.refusal == RecoverRefusal::Retired,
            Self::PreAcceptNack(_) | Self::ReadOk(_) | Self::ReadSuperseded(_) | Self::Unavailable(_) => false,
        }
    }
}
