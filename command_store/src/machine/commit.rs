//! Decisions: Commit stores them, Stable makes their dependencies final.
//!
//! *Source*: [SPEC 2.4 "Commit slow", "Stable"].

use super::{Asked, CommandStore, Reader, Turn};
use protocol::message::{Commit, CommitOutcome, CommitReply, ReplyVerb, Stable, StableKind, StableReply};
use protocol::{Ballot, Command, CommandDiff, Deps, DepsKnown, Hooks, Key, Mutant, Scope, Status, Timestamp, TxnId};

impl<H: Hooks> CommandStore<H> {
    pub(super) fn on_commit(&mut self, turn: &mut Turn<'_>, asked: Asked, scope: Scope, commit: Commit) {
        let command = self.record(asked.txn_id);
        let promised = command.promised();
        let reply = |outcome| ReplyVerb::CommitReply(CommitReply { outcome, promised });
        match self.take_commit(turn, asked.txn_id, &scope, &command, commit) {
            Ok(()) => self.answer(turn, asked, reply(CommitOutcome::Ok), false),
            Err(outcome) => self.answer(turn, asked, reply(outcome), true),
        }
    }

    fn take_commit(
        &mut self,
        turn: &mut Turn<'_>,
        id: TxnId,
        scope: &Scope,
        command: &Command,
        commit: Commit,
    ) -> Result<(), CommitOutcome> {
        if commit.ballot < command.promised() {
            return Err(CommitOutcome::Rejected);
        }
        if self.contradicts(turn, id, command, commit.execute_at) {
            return Err(CommitOutcome::Rejected);
        }
        let is_retransmission = command.status() == Status::Committed && commit.ballot == command.accepted();
        if command.status() >= Status::Stable || is_retransmission {
            return Err(CommitOutcome::AlreadyDone);
        }
        if self.lacks(command, commit.txn.is_some(), &commit.deps, scope) {
            return Err(CommitOutcome::Insufficient);
        }
        let diff = CommandDiff {
            status: Some(Status::Committed),
            promised: Some(commit.ballot),
            accepted: Some(commit.ballot),
            txn: commit.txn.filter(|_| command.txn().is_none()),
            execute_at: Some(commit.execute_at),
            deps: Some((DepsKnown::Committed, commit.deps.slice(|key| self.owns(key)))),
            ..CommandDiff::default()
        };
        self.update(turn, id, scope, diff);
        Ok(())
    }

    pub(super) fn on_stable(&mut self, turn: &mut Turn<'_>, asked: Asked, scope: Scope, stable: Stable) {
        let (id, promised) = (asked.txn_id, self.record(asked.txn_id).promised());
        let reads = stable.readers.contains(self.config.node);
        let outcome = self.take_stable(turn, id, &scope, stable);
        let is_taken = matches!(outcome, Ok(()) | Err(CommitOutcome::AlreadyDone));
        if reads && is_taken {
            // the data is the answer; a reader that has to wait says nothing
            let reader = Reader { from: asked.from, ticket: asked.ticket, ballot: asked.ballot };
            return self.add_reader(turn, id, reader);
        }
        let is_repeated = outcome.is_err();
        let outcome = outcome.err().unwrap_or(CommitOutcome::Ok);
        self.answer(turn, asked, ReplyVerb::StableReply(StableReply { outcome, promised }), is_repeated);
    }

    pub(super) fn take_stable(
        &mut self,
        turn: &mut Turn<'_>,
        id: TxnId,
        scope: &Scope,
        stable: Stable,
    ) -> Result<(), CommitOutcome> {
        let command = self.record(id);
        if stable.kind == StableKind::Fast && command.promised() != Ballot::ZERO {
            return Err(CommitOutcome::Rejected);
        }
        if self.contradicts(turn, id, &command, stable.execute_at) {
            return Err(CommitOutcome::Rejected);
        }
        if command.status() >= Status::Stable {
            return Err(CommitOutcome::AlreadyDone);
        }
        let is_slow = stable.kind == StableKind::Slow;
        // dependencies stored at another ballot, or only proposed, are never promoted
        if is_slow && !(command.status() == Status::Committed && command.accepted() == stable.ballot) {
            return Err(CommitOutcome::Insufficient);
        }
        let deps = if is_slow { command.deps().clone() } else { stable.deps.slice(|key| self.owns(key)) };
        if self.lacks(&command, stable.txn.is_some(), &deps, scope) {
            return Err(CommitOutcome::Insufficient);
        }
        let diff = CommandDiff {
            status: Some(Status::Stable),
            txn: stable.txn.filter(|_| command.txn().is_none()),
            execute_at: Some(stable.execute_at),
            deps: Some((DepsKnown::Known, self.keep_testimony(&command, id, stable.execute_at, deps))),
            ..CommandDiff::default()
        };
        self.update(turn, id, scope, diff);
        self.schedule(turn.now.mono, id);
        Ok(())
    }

    /// Whether what is decided here is something else: two decisions for one transaction.
    pub(super) fn contradicts(&self, turn: &mut Turn<'_>, id: TxnId, command: &Command, at: Timestamp) -> bool {
        let is_other = command.status().is_decided() && command.execute_at() != Some(at);
        if is_other || command.status() == Status::Invalidated {
            let what = format!("told to commit at {at}, but is {:?} at {:?}", command.status(), command.execute_at());
            self.violation(turn, id, &what);
            return true;
        }
        false
    }

    /// Whether the definition, the full route or the dependencies of the own slice are missing.
    pub(super) fn lacks(&self, command: &Command, brings_txn: bool, deps: &Deps, scope: &Scope) -> bool {
        let is_undefined = command.txn().is_none() && !brings_txn;
        let is_partial = command.route().is_none() && scope.route().is_none();
        let owned = |key: &&Key| self.owns(key);
        is_undefined || is_partial || !deps.covers(scope.keys().iter().filter(owned))
    }

    /// Final dependencies as a replica may store them that accepted the proposal of a recovery: an id below its own that the proposal
    /// does not name orders the execution and is no testimony.
    ///
    /// A fast path and a recovery of the same transaction may decide on different sets. A recovery of `Y < id` has to find at a
    /// replica of the proposal's quorum that `id` was decided without `Y`, whichever set arrives there later. *Source*: [SPEC 2.4
    /// "Stable"], `intersectStable`.
    pub(super) fn keep_testimony(&self, command: &Command, id: TxnId, at: Timestamp, deps: Deps) -> Deps {
        let has_recovered_proposal = command.accepted() != Ballot::ZERO && command.deps_known() >= DepsKnown::Proposed;
        if !has_recovered_proposal || at != id.as_timestamp() || self.hooks.mutant(Mutant::StableForgetsProposal) {
            return deps;
        }
        deps.mark_unstable(|key, dep| dep < id && !command.deps().at(key).is_some_and(|set| set.contains_stable(dep)))
    }
}
