//! What a turn of a machine asks of its shell.
//!
//! *Source*: README section 3 "The seams", [SPEC 2.2].

use crate::bytes::Bytes;
use crate::command::CommandDiff;
use crate::id::{NodeId, RequestId};
use crate::key::Key;
use crate::message::{Apply, Message, Reply, Stable};
use crate::outcome::{ClientOutcome, Path};
use crate::route::Scope;
use crate::status::Durability;
use crate::timestamp::{Timestamp, TxnId};
use crate::topology::NodeSet;
use crate::txn::Txn;

/// How many journal batches a store has appended: its position in its own order of appends.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Lsn(pub u64);

/// Ties a store's answer to the request it belongs to; given by the fan-in of its node.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Ticket(pub u64);

/// One thing to do, in the order given.
#[derive(Clone, PartialEq, Debug)]
pub enum Effect {
    /// Append a delta of the store's log; all of one turn are one batch.
    Append {
        /// The transaction.
        txn_id: TxnId,
        /// What changed.
        diff: CommandDiff,
    },
    /// Send to peers, the own node among them.
    Send {
        /// The recipients.
        to: NodeSet,
        /// The same for all.
        message: Message,
    },
    /// Answer a request of `to`; not before the store's log is durable up to `after`.
    Reply {
        /// Who asked.
        to: NodeId,
        /// Which request.
        ticket: Ticket,
        /// The answer.
        reply: Reply,
        /// Hold until this is durable; zero for information, which need not wait.
        after: Lsn,
    },
    /// Tell a client how its transaction ended.
    Answer {
        /// Whose request.
        request: RequestId,
        /// The transaction, unless none was begun.
        txn_id: Option<TxnId>,
        /// How it ended.
        outcome: ClientOutcome,
    },
    /// Read the record of a transaction back from the log.
    Load {
        /// The transaction.
        txn_id: TxnId,
    },
    /// Read partitions; answered by an input, before any later write of them.
    ReadRows {
        /// For which transaction.
        txn_id: TxnId,
        /// Which partitions.
        keys: Vec<Key>,
    },
    /// Apply writes of one transaction to partitions.
    WriteRows {
        /// The version of every cell written.
        at: Timestamp,
        /// One opaque write per key.
        writes: Vec<(Key, Bytes)>,
    },
    /// Find out what became of a transaction and finish it.
    Chase(Chase),
    /// Tell the own node's stores what was learned elsewhere.
    Propagate(Box<Propagate>),
    /// Stop the node: going on would be wrong.
    Fatal {
        /// Why, for the operator.
        why: String,
    },
    /// Something worth counting or tracing.
    Note(Note),
}

/// A store asks its node's coordinator to look after a transaction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Chase {
    /// The transaction.
    pub txn_id: TxnId,
    /// What is known of where it takes part.
    pub scope: Scope,
    /// The definition, if the store knows it.
    pub txn: Option<Txn>,
    /// How often this store has asked before.
    pub attempt: u32,
}

/// Decided facts about a transaction, learned from other replicas.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Propagate {
    /// The transaction.
    pub txn_id: TxnId,
    /// What is known of where it takes part.
    pub scope: Scope,
    /// What was learned.
    pub learned: Learned,
    /// At how many replicas the outcome is stored.
    pub durability: Durability,
}

/// What can be learned. *Source*: [SPEC 11.3]: decided facts only.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Learned {
    /// It never executes.
    Invalidated,
    /// Its dependencies are final.
    Stable(Stable),
    /// Its outcome.
    Applied(Apply),
}

/// What happened, for counters and traces.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Note {
    /// A live coordination chose its path.
    PathTaken(Path),
    /// A recovery started.
    RecoveryStarted,
    /// A recovery came to this branch of the decision procedure.
    Recovery(RecoveryBranch),
    /// An invalidation without a known definition started.
    InvalidationStarted,
    /// A coordination was overtaken by a higher ballot.
    Preempted,
    /// A transaction was refused before its path was chosen.
    Rejected,
    /// A reader was slow, or could not serve, and another was asked.
    AnotherReader,
    /// A message about a transaction from beyond the clock-skew bound was refused.
    ClockSkew,
}

/// The branches of the recovery decision procedure. *Source*: [SPEC 7.3].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum RecoveryBranch {
    /// Invalidated already: spread it.
    FoundInvalidated,
    /// An accepted invalidation: finish it.
    FoundAcceptedInvalidate,
    /// An accepted proposal: propose the same.
    FoundAccepted,
    /// A commit: commit, then execute.
    FoundCommitted,
    /// Final dependencies: execute.
    FoundStable,
    /// An outcome: spread it.
    FoundApplied,
    /// Decided, but some keys' dependencies had to be proposed again.
    PartialDeps,
    /// Some keys had no proposed dependencies and earlier conflicts had to be decided first.
    AwaitedBareKeys,
    /// Nothing accepted; too many votes rule the fast path out.
    RejectedByVotes,
    /// Nothing accepted; a later transaction did not witness it.
    RejectedByWitness,
    /// Nothing accepted; the fast path may have been taken.
    ProposedAtId,
    /// As before, once earlier conflicts were decided.
    AwaitedThenProposed,
    /// An awaited transaction executes later without having witnessed it.
    AwaitedThenRejected,
    /// An awaited transaction could not tell: start over.
    AwaitedUnknown,
}

impl RecoveryBranch {
    /// All of them, for coverage counters.
    pub const ALL: [Self; 14] = [
        Self::FoundInvalidated,
        Self::FoundAcceptedInvalidate,
        Self::FoundAccepted,
        Self::FoundCommitted,
        Self::FoundStable,
        Self::FoundApplied,
        Self::PartialDeps,
        Self::AwaitedBareKeys,
        Self::RejectedByVotes,
        Self::RejectedByWitness,
        Self::ProposedAtId,
        Self::AwaitedThenProposed,
        Self::AwaitedThenRejected,
        Self::AwaitedUnknown,
    ];
}

/// The effects of one turn, in order, each answer stamped with the position it must wait for.
#[derive(Debug, Default)]
pub struct Effects {
    list: Vec<Effect>,
    appended: Lsn,
    batch_open: bool,
}

impl Effects {
    /// For a turn of a store whose last appended batch is `appended`.
    pub fn after(appended: Lsn) -> Self {
        Self { list: Vec::new(), appended, batch_open: false }
    }

    /// Reuses the buffer for another turn.
    pub fn restart(&mut self, appended: Lsn) {
        self.list.clear();
        self.appended = appended;
        self.batch_open = false;
    }

    /// Adds a delta to this turn's batch.
    pub fn append(&mut self, txn_id: TxnId, diff: CommandDiff) {
        if !self.batch_open {
            self.batch_open = true;
            self.appended = Lsn(self.appended.0 + 1);
        }
        self.list.push(Effect::Append { txn_id, diff });
    }

    /// Adds an answer, held until everything appended so far is durable if it is testimony.
    ///
    /// The position is the last appended one and not that of "its own" record: a repeated answer has none.
    pub fn reply(&mut self, to: NodeId, ticket: Ticket, reply: Reply) {
        let after = if reply.verb.is_testimony() { self.appended } else { Lsn::default() };
        self.list.push(Effect::Reply { to, ticket, reply, after });
    }

    /// Adds any other effect.
    pub fn push(&mut self, effect: Effect) {
        self.list.push(effect);
    }

    /// The position of the last batch appended, this turn's included.
    pub fn appended(&self) -> Lsn {
        self.appended
    }

    /// Whether this turn appended anything.
    pub fn has_batch(&self) -> bool {
        self.batch_open
    }

    /// Takes the effects out, keeping the buffer.
    pub fn drain(&mut self) -> std::vec::Drain<'_, Effect> {
        self.list.drain(..)
    }

    /// The effects so far.
    pub fn as_slice(&self) -> &[Effect] {
        &self.list
    }
}
