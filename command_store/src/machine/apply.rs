//! Outcomes: stored at once, applied when everything before them has been.
//!
//! *Source*: [SPEC 2.4 "Apply", 12.1].

use super::{Asked, CommandStore, Turn};
use protocol::message::{Apply, ApplyOutcome, ApplyReply, InformDurable, ReplyVerb};
use protocol::{CommandDiff, DepsKnown, Durability, Hooks, Scope, Status, TxnId};

impl<H: Hooks> CommandStore<H> {
    pub(super) fn on_apply(&mut self, turn: &mut Turn<'_>, asked: Asked, scope: Scope, apply: Apply) {
        let race = self.record(asked.txn_id).promised() > apply.ballot;
        let taken = self.take_apply(turn, asked.txn_id, &scope, apply);
        let Some(outcome) = taken else { return };
        let is_repeated = outcome != ApplyOutcome::Stored;
        let outcome = match outcome {
            // it may have been applied in the same breath
            ApplyOutcome::Stored if self.is_applied(asked.txn_id) => ApplyOutcome::Applied,
            other => other,
        };
        self.answer(turn, asked, ReplyVerb::ApplyReply(ApplyReply { outcome, race }), is_repeated);
    }

    fn is_applied(&self, id: TxnId) -> bool {
        self.commands.get(&id).is_none_or(|tracked| tracked.command.status() >= Status::Applied)
    }

    /// Takes the outcome in; `None` if it contradicts what is decided here.
    pub(super) fn take_apply(
        &mut self,
        turn: &mut Turn<'_>,
        id: TxnId,
        scope: &Scope,
        apply: Apply,
    ) -> Option<ApplyOutcome> {
        let command = self.record(id);
        if self.contradicts(turn, id, &command, apply.execute_at) {
            return None;
        }
        if command.status() >= Status::PreApplied {
            return Some(ApplyOutcome::AlreadyDone);
        }
        let is_stable = command.status() == Status::Stable;
        let deps = if is_stable {
            command.deps().clone()
        } else {
            self.keep_testimony(&command, id, apply.execute_at, apply.deps.slice(|key| self.owns(key)))
        };
        if self.lacks(&command, apply.txn.is_some(), &deps, scope) {
            return Some(ApplyOutcome::Insufficient);
        }
        let diff = CommandDiff {
            status: Some(Status::PreApplied),
            txn: apply.txn.filter(|_| command.txn().is_none()),
            execute_at: Some(apply.execute_at),
            deps: (!is_stable).then_some((DepsKnown::Known, deps)),
            outcome: Some(apply.outcome),
            ..CommandDiff::default()
        };
        self.update(turn, id, scope, diff);
        self.schedule(turn.now.mono, id);
        self.run_now(turn, id);
        Some(ApplyOutcome::Stored)
    }

    pub(super) fn on_inform_durable(&mut self, turn: &mut Turn<'_>, inform: &InformDurable) {
        for id in &inform.ids {
            self.learn_durable(turn, *id, inform.durability);
        }
    }

    /// The outcome of `id` is stored at enough replicas, as far as the sender knows.
    pub(super) fn learn_durable(&mut self, turn: &mut Turn<'_>, id: TxnId, durability: Durability) {
        let Some(tracked) = self.commands.get(&id) else { return };
        let Some(scope) = tracked.command.scope().cloned() else { return };
        if tracked.command.durability() < durability && tracked.command.status().is_committed() {
            let diff = CommandDiff { durability: Some(durability), ..CommandDiff::default() };
            self.update(turn, id, &scope, diff);
        }
    }
}
