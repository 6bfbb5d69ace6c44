//! The vote: may this transaction execute at its own id, and what does this replica know that must come first?
//!
//! *Source*: [SPEC 2.4 "PreAccept", 2.5, 5.2].

use super::{Asked, CommandStore, Turn};
use protocol::message::{Backlog, PreAccept, PreAcceptNack, PreAcceptOk, ReplyVerb};
use protocol::{
    Ballot, Command, CommandDiff, Deps, DepsKnown, Effect, Hooks, Key, Mutant, Note, Scope, Status, Timestamp, TxnId,
};

/// How a replica votes.
pub(super) struct Vote {
    /// The id itself, or a later time of this node.
    pub(super) witnessed_at: Timestamp,
    /// It must not start at all.
    pub(super) rejected: bool,
}

impl<H: Hooks> CommandStore<H> {
    pub(super) fn on_pre_accept(&mut self, turn: &mut Turn<'_>, asked: Asked, scope: Scope, pre_accept: PreAccept) {
        let id = asked.txn_id;
        if id.hlc().0 > turn.hlc.read(turn.now).0 + self.config.max_clock_skew.0 {
            turn.out.push(Effect::Note(Note::ClockSkew));
            return self.refuse(turn, asked, "the transaction's clock is too far ahead of this node's");
        }
        let command = self.record(id);
        let promised = command.promised();
        let overwrites = self.hooks.mutant(Mutant::PreAcceptOverwritesAccepted)
            && command.txn().is_none()
            && command.status() < Status::PreCommitted;
        let nack = ReplyVerb::PreAcceptNack(PreAcceptNack { promised });
        if command.status() == Status::Invalidated || promised > Ballot::ZERO {
            return self.answer(turn, asked, nack, true);
        }
        if command.txn().is_some() {
            if command.status() > Status::PreAccepted {
                return self.answer(turn, asked, nack, true);
            }
            return self.vote_again(turn, asked, &command, &scope);
        }
        if command.status() != Status::NotDefined && !overwrites {
            let diff = self.late_definition(turn, id, &scope, &command, pre_accept);
            self.update(turn, id, &scope, diff);
            return self.answer(turn, asked, nack, false);
        }
        self.vote_first(turn, asked, &scope, pre_accept);
    }

    fn vote_first(&mut self, turn: &mut Turn<'_>, asked: Asked, scope: &Scope, pre_accept: PreAccept) {
        let id = asked.txn_id;
        let own = self.own_keys(scope.keys());
        let vote = self.vote(turn, id, &own, true);
        let is_fast = vote.witnessed_at == id.as_timestamp();
        let (deps, backlog) = self.conflicts(id, &own, id.as_timestamp());
        let coordinator_deps = pre_accept.coordinator_deps.filter(|_| is_fast);
        let diff = CommandDiff {
            status: Some(Status::PreAccepted),
            txn: Some(pre_accept.txn),
            execute_at: Some(vote.witnessed_at),
            rejected: Some(true).filter(|_| vote.rejected),
            privileged_vote: Some(true).filter(|_| is_fast && pre_accept.coordinator_vote),
            deps: coordinator_deps.map(|deps| (DepsKnown::FromCoordinator, deps.slice(|key| self.owns(key)))),
            ..CommandDiff::default()
        };
        self.update(turn, id, scope, diff);
        self.answer(turn, asked, vote_reply(vote, deps, backlog), false);
    }

    /// The stored vote again, `rejected` with it, and fresh dependencies.
    fn vote_again(&mut self, turn: &mut Turn<'_>, asked: Asked, command: &Command, scope: &Scope) {
        let id = asked.txn_id;
        let own = self.own_keys(scope.keys());
        let (deps, backlog) = self.conflicts(id, &own, id.as_timestamp());
        let vote = Vote {
            witnessed_at: command.execute_at().unwrap_or(id.as_timestamp()),
            rejected: command.rejected() && !self.hooks.mutant(Mutant::RejectedLostOnReack),
        };
        self.answer(turn, asked, vote_reply(vote, deps, backlog), true);
    }

    /// The definition came after a message of a later round: it is recorded, and nothing else changes, or a finished invalidation or
    /// an accepted proposal would be forgotten.
    fn late_definition(
        &mut self,
        turn: &mut Turn<'_>,
        id: TxnId,
        scope: &Scope,
        command: &Command,
        pre_accept: PreAccept,
    ) -> CommandDiff {
        let mut diff = CommandDiff { txn: Some(pre_accept.txn), ..CommandDiff::default() };
        if command.status() == Status::AcceptedInvalidate && command.execute_at().is_none() {
            let vote = self.vote(turn, id, &self.own_keys(scope.keys()), false);
            diff.execute_at = Some(vote.witnessed_at);
            diff.rejected = Some(true).filter(|_| vote.rejected);
        }
        diff
    }

    /// *Source*: [SPEC 2.5]. Every conflicting execution time seen so far must lie below the id for a fast vote.
    pub(super) fn vote(&self, turn: &Turn<'_>, id: TxnId, own: &[Key], permit_fast: bool) -> Vote {
        let age = turn.hlc.read(turn.now).0.saturating_sub(id.hlc().0);
        if age >= self.config.pre_accept_timeout.0 && !id.kind().is_sync_point() {
            return Vote { witnessed_at: turn.hlc.unique_after(turn.now, id.as_timestamp()), rejected: true };
        }
        let conflicts = own.iter().filter_map(|key| self.keys.get(key)).map(|cfk| cfk.max_conflict());
        let highest = conflicts.fold(id.as_timestamp(), Timestamp::merge_max);
        if permit_fast && highest == id.as_timestamp() {
            return Vote { witnessed_at: highest, rejected: false };
        }
        Vote { witnessed_at: turn.hlc.unique_after(turn.now, highest), rejected: false }
    }

    /// The dependencies of `id` below `bound` over `own` keys, every one of them covered.
    pub(super) fn conflicts(&self, id: TxnId, own: &[Key], bound: Timestamp) -> (Deps, Backlog) {
        let mut backlog = Backlog::default();
        let set = |key: &Key| {
            let found = self.keys.get(key).map(|cfk| cfk.conflicts(id, bound, self.config.elide)).unwrap_or_default();
            backlog.count += found.backlog.count;
            backlog.max_age = backlog.max_age.max(found.backlog.max_age);
            backlog.sum_age = backlog.sum_age.saturating_add(found.backlog.sum_age);
            (key.clone(), found.deps)
        };
        (Deps::from_sets(own.iter().map(set).collect()), backlog)
    }
}

fn vote_reply(vote: Vote, deps: Deps, backlog: Backlog) -> ReplyVerb {
    ReplyVerb::PreAcceptOk(PreAcceptOk {
        witnessed_at: vote.witnessed_at,
        rejected: vote.rejected,
        soft_reject: None,
        deps: if vote.rejected { Deps::NONE } else { deps },
        deps_applied: backlog.count == 0,
    })
}
