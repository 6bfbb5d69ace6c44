//! Testifying to a recovery: the promise, the record, and what the conflicts here say about its fast path.
//!
//! *Source*: [SPEC 2.4 "BeginRecovery", 7.2].

use super::{Asked, CommandStore, Turn};
use crate::cfk::{EntryStatus, Witness};
use protocol::message::{BeginRecovery, RecoverNack, RecoverOk, RecoverRefusal, ReplyVerb};
use protocol::{
    Command, CommandDiff, DepSet, Deps, DepsKnown, Hooks, Key, LatestAt, LatestDeps, Mutant, Scope, Status, TxnId,
};
use std::collections::BTreeMap;

/// What the conflicts say about the fast path of the recovered transaction.
#[derive(Default)]
struct Evidence {
    superseding_rejects: bool,
    wait: BTreeMap<Key, Vec<TxnId>>,
    no_wait: Vec<TxnId>,
    coordinator_rejects: BTreeMap<Key, Vec<TxnId>>,
}

impl<H: Hooks> CommandStore<H> {
    pub(super) fn on_begin_recovery(&mut self, turn: &mut Turn<'_>, asked: Asked, scope: Scope, begin: BeginRecovery) {
        let (id, ballot) = (asked.txn_id, begin.ballot);
        let command = self.record(id);
        if command.promised() > ballot && command.status() != Status::Invalidated {
            let nack = RecoverNack { refusal: RecoverRefusal::Rejected, promised: command.promised() };
            return self.answer(turn, asked, ReplyVerb::RecoverNack(nack), true);
        }
        if command.status() != Status::Invalidated {
            let diff = self.promise(turn, id, &scope, &command, begin);
            self.update(turn, id, &scope, diff);
        }
        let own = self.own_keys(scope.keys());
        let reply = self.testify(id, &own);
        self.answer(turn, asked, ReplyVerb::RecoverOk(reply), command.status() == Status::Invalidated);
    }

    /// The promise, with the definition where it was missing. A recovery never lets a replica cast a new fast vote.
    fn promise(
        &mut self,
        turn: &mut Turn<'_>,
        id: TxnId,
        scope: &Scope,
        command: &Command,
        begin: BeginRecovery,
    ) -> CommandDiff {
        let mut diff = CommandDiff { promised: Some(begin.ballot), ..CommandDiff::default() };
        if command.txn().is_some() {
            return diff;
        }
        diff.txn = Some(begin.txn);
        let is_unheard = command.status() == Status::NotDefined;
        let forgets = self.hooks.mutant(Mutant::PreAcceptOverwritesAccepted) && command.status() < Status::PreCommitted;
        if is_unheard || forgets || command.execute_at().is_none() {
            let vote = self.vote(turn, id, &self.own_keys(scope.keys()), false);
            diff.execute_at = Some(vote.witnessed_at);
            diff.rejected = Some(true).filter(|_| vote.rejected);
            diff.status = Some(Status::PreAccepted).filter(|_| is_unheard || forgets);
        }
        diff
    }

    fn testify(&self, id: TxnId, own: &[Key]) -> RecoverOk {
        let command = self.record(id);
        let is_voted =
            matches!(command.status(), Status::PreAccepted | Status::AcceptedInvalidate | Status::NotDefined);
        let evidence = if is_voted {
            self.evidence(id, own)
        } else {
            Evidence { superseding_rejects: true, ..Evidence::default() }
        };
        RecoverOk {
            status: command.status(),
            accepted: command.accepted(),
            execute_at: command.execute_at(),
            latest: self.latest_deps(id, &command, own),
            accepts_fast_path: command.accepts_fast_path(id),
            coordinator_vote: command.privileged_vote(),
            superseding_rejects: evidence.superseding_rejects,
            wait: to_deps(evidence.wait),
            no_wait: evidence.no_wait,
            coordinator_rejects: to_deps(evidence.coordinator_rejects),
            outcome: command.outcome().cloned(),
        }
    }

    fn latest_deps(&self, id: TxnId, command: &Command, own: &[Key]) -> LatestDeps {
        if command.status() == Status::Invalidated {
            return LatestDeps::default();
        }
        let local =
            if command.status().is_committed() { Deps::NONE } else { self.conflicts(id, own, id.as_timestamp()).0 };
        let at = |key: &Key| {
            // a proposal over some keys says nothing of the others
            let coordinated = command.deps().at(key);
            let known = coordinated.map_or(DepsKnown::Unknown, |_| command.deps_known());
            LatestAt {
                known,
                ballot: command.accepted(),
                coordinated: coordinated.cloned().unwrap_or_default(),
                local: local.at(key).cloned().unwrap_or_default(),
            }
        };
        LatestDeps::from_entries(own.iter().map(|key| (key.clone(), at(key))).collect())
    }

    /// *Source*: the two tables of [SPEC 7.2].
    fn evidence(&self, id: TxnId, own: &[Key]) -> Evidence {
        let mut met: BTreeMap<TxnId, (Witness, Vec<Key>)> = BTreeMap::new();
        let count_unstable = self.hooks.mutant(Mutant::UnstableCounts);
        for key in own {
            let Some(cfk) = self.keys.get(key) else { continue };
            for (other, witness) in cfk.witnesses(id, count_unstable) {
                let seen = met.entry(other).or_insert_with(|| (witness, Vec::new()));
                seen.0 = seen.0.and(witness);
                seen.1.push(key.clone());
            }
        }
        let mut evidence = Evidence::default();
        for (other, (witness, keys)) in met {
            evidence.weigh(id, other, witness, &keys);
        }
        if self.hooks.mutant(Mutant::RecoveryIgnoresFastRejects) {
            evidence.superseding_rejects = false;
        }
        if self.hooks.mutant(Mutant::NoSimpleWait) {
            evidence.wait.clear();
        }
        evidence
    }
}

impl Evidence {
    fn weigh(&mut self, id: TxnId, other: TxnId, witness: Witness, keys: &[Key]) {
        let is_privileged = |id: TxnId| id.shape().fast_path.is_privileged();
        let await_at = |map: &mut BTreeMap<Key, Vec<TxnId>>| {
            keys.iter().for_each(|key| map.entry(key.clone()).or_default().push(other));
        };
        if other > id {
            match witness.names {
                Some(false) if witness.status == EntryStatus::PreAcceptedWithDeps => {
                    await_at(&mut self.coordinator_rejects)
                }
                Some(false) => self.superseding_rejects = true,
                _ => {}
            }
            return;
        }
        match (witness.names, witness.status) {
            (Some(true), EntryStatus::Stable | EntryStatus::Applied) => self.no_wait.push(other),
            (Some(true), _) => {}
            (Some(false), _) => self.superseding_rejects = true,
            (None, EntryStatus::Invalidated) => self.no_wait.push(other),
            (None, EntryStatus::Accepted) if witness.at > id.as_timestamp() => await_at(&mut self.wait),
            (None, EntryStatus::PreAccepted | EntryStatus::PreAcceptedWithDeps | EntryStatus::NotAccepted)
                if is_privileged(id) || is_privileged(other) =>
            {
                await_at(&mut self.wait);
            }
            (None, _) => {}
        }
    }
}

fn to_deps(sets: BTreeMap<Key, Vec<TxnId>>) -> Deps {
    Deps::from_sets(sets.into_iter().map(|(key, ids)| (key, DepSet::stable(ids))).collect())
}
