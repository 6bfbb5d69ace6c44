//! The decision procedure of a recovery.
//!
//! *Source*: [SPEC 7.3, 7.4]. Privileged coordinators are not recovered here yet; no id of theirs is issued.

use super::await_conflicts::{Awaiting, Then, Wait};
use super::execute::{Executing, Plan};
use super::invalidate::{NotAccepting, commit_invalidate};
use super::persist::Persisting;
use super::propose::{After, Proposal, Proposing};
use super::stabilise::Stabilising;
use super::subject::{Round, Subject};
use super::{Env, Phase, Step};
use protocol::message::{
    AcceptKind, AwaitUntil, BeginRecovery, RecoverOk, RecoverRefusal, ReplyVerb, StableKind, Verb,
};
use protocol::{
    Deps, DepsKnown, Hooks, Key, LatestDeps, Mutant, NodeId, NotApplied, Note, Outcome, Path, Phase as StatusPhase,
    RecoveryBranch, Status, Timestamp,
};
use std::collections::BTreeMap;

/// Gathering promises and evidence.
#[derive(Debug)]
pub(super) struct Recovering {
    oks: Vec<(NodeId, RecoverOk)>,
    pub(super) round: Round,
}

/// The most advanced record found, and all dependencies.
#[derive(Clone, Debug)]
pub(super) struct Found {
    status: Status,
    execute_at: Timestamp,
    outcome: Option<Outcome>,
    latest: LatestDeps,
}

impl Recovering {
    pub(super) fn start<H: Hooks>(subject: &mut Subject, env: &mut Env<'_, H>) -> Self {
        env.note(Note::RecoveryStarted);
        let txn = subject.txn.clone().expect("recoveries start only with the definition known");
        let verb = Verb::BeginRecovery(BeginRecovery { ballot: subject.ballot, txn });
        Self { oks: Vec::new(), round: Round::start(subject, env, subject.groups.clone(), verb) }
    }

    pub(super) fn on_reply<H: Hooks>(
        mut self,
        subject: &mut Subject,
        env: &mut Env<'_, H>,
        from: NodeId,
        verb: ReplyVerb,
    ) -> Step {
        match verb {
            ReplyVerb::RecoverOk(ok) if !self.round.tracker.has(from) => {
                self.round.tracker.succeed(from);
                self.oks.push((from, ok));
            }
            ReplyVerb::RecoverNack(nack) if nack.refusal == RecoverRefusal::Retired => self.round.tracker.succeed(from),
            ReplyVerb::RecoverNack(nack) => {
                subject.heard_promise(nack.promised);
                return subject.preempted(env);
            }
            _ => return Step::Stay(Phase::Recover(self)),
        }
        if self.round.tracker.is_reached() { self.decide(subject, env) } else { Step::Stay(Phase::Recover(self)) }
    }

    pub(super) fn on_timer<H: Hooks>(mut self, subject: &mut Subject, env: &mut Env<'_, H>) -> Step {
        if self.round.repeat(subject, env) { Step::Stay(Phase::Recover(self)) } else { subject.preempted(env) }
    }

    fn decide<H: Hooks>(self, subject: &mut Subject, env: &mut Env<'_, H>) -> Step {
        match self.most_advanced(env.hooks.mutant(Mutant::LowestAcceptedBallot)) {
            Some(ok) if ok.status == Status::Invalidated => {
                env.note(Note::Recovery(RecoveryBranch::FoundInvalidated));
                commit_invalidate(subject, env, NotApplied::Invalidated)
            }
            Some(ok) if ok.status == Status::AcceptedInvalidate => {
                env.note(Note::Recovery(RecoveryBranch::FoundAcceptedInvalidate));
                NotAccepting::start(subject, env, NotApplied::Invalidated)
            }
            Some(ok) => {
                let found = self.found(subject, ok);
                self.finish_found(subject, env, found)
            }
            None => self.judge_fast_path(subject, env),
        }
    }

    fn most_advanced(&self, lowest_ballot: bool) -> Option<&RecoverOk> {
        let accepted = self.oks.iter().map(|(_, ok)| ok).filter(|ok| ok.status.phase() >= StatusPhase::Accept);
        if lowest_ballot {
            return accepted.max_by_key(|ok| (ok.status.phase(), std::cmp::Reverse(ok.accepted), ok.status));
        }
        accepted.max_by_key(|ok| ok.status.rank(ok.accepted))
    }

    fn found(&self, subject: &Subject, best: &RecoverOk) -> Found {
        let is_proposal = matches!(best.status, Status::AcceptedMedium | Status::AcceptedSlow);
        let (status, execute_at) = match subject.known_at {
            Some(at) if is_proposal => (Status::Committed, at),
            _ => (best.status, best.execute_at.unwrap_or(subject.txn_id.as_timestamp())),
        };
        let outcome = self.oks.iter().find_map(|(_, ok)| ok.outcome.clone());
        Found { status, execute_at, outcome, latest: self.latest() }
    }

    fn latest(&self) -> LatestDeps {
        let mut latest = LatestDeps::default();
        self.oks.iter().for_each(|(_, ok)| latest.merge(&ok.latest));
        latest
    }

    /// Goes on from what was found; keys without any proposed dependencies wait first for earlier conflicts to be decided.
    fn finish_found<H: Hooks>(self, subject: &mut Subject, env: &mut Env<'_, H>, found: Found) -> Step {
        let bare = found.latest.keys_below(DepsKnown::Proposed);
        let waits = self.waits(&bare, AwaitUntil::HasDecidedExecuteAt);
        if waits.is_empty() {
            return found.finish(subject, env);
        }
        env.note(Note::Recovery(RecoveryBranch::AwaitedBareKeys));
        Awaiting::start(subject, env, waits, Then::Finish(Box::new(found)))
    }

    /// Nothing is accepted anywhere: may it have been committed on the fast path?
    fn judge_fast_path<H: Hooks>(self, subject: &mut Subject, env: &mut Env<'_, H>) -> Step {
        let ignores = env.hooks.mutant(Mutant::RecoveryIgnoresFastRejects);
        let by_witness = self.oks.iter().any(|(_, ok)| ok.superseding_rejects);
        let by_votes = self.is_voted_out(subject);
        if (by_witness || by_votes) && !ignores {
            let branch = if by_votes { RecoveryBranch::RejectedByVotes } else { RecoveryBranch::RejectedByWitness };
            env.note(Note::Recovery(branch));
            return NotAccepting::start(subject, env, NotApplied::Invalidated);
        }
        let deps = self.latest().proposal();
        let keys: Vec<Key> = subject.scope.keys().to_vec();
        let waits = self.waits(&keys, AwaitUntil::HasStableDeps);
        if waits.is_empty() {
            env.note(Note::Recovery(RecoveryBranch::ProposedAtId));
            return propose_at_id(subject, env, deps);
        }
        Awaiting::start(subject, env, waits, Then::ProposeAtId(deps))
    }

    fn is_voted_out(&self, subject: &Subject) -> bool {
        let kind = subject.txn_id.shape().fast_path;
        subject.groups.iter().any(|group| {
            let is_against =
                |(node, ok): &&(NodeId, RecoverOk)| group.electorate.contains(*node) && !ok.accepts_fast_path;
            self.oks.iter().filter(is_against).count() > group.fast_rejects_max(kind)
        })
    }

    /// What must be decided first at `keys`, less what somebody knows to be decided.
    fn waits(&self, keys: &[Key], until: AwaitUntil) -> Vec<Wait> {
        let is_decided = |id| self.oks.iter().any(|(_, ok)| ok.no_wait.contains(&id));
        let mut met: BTreeMap<_, Vec<Key>> = BTreeMap::new();
        let wait = self.oks.iter().fold(Deps::NONE, |all, (_, ok)| all.union(&ok.wait));
        for (key, set) in wait.sets().iter().filter(|(key, _)| keys.contains(key)) {
            for dep in set.iter().filter(|dep| !is_decided(dep.id)) {
                met.entry(dep.id).or_default().push(key.clone());
            }
        }
        met.into_iter().map(|(id, keys)| Wait::new(id, until, keys)).collect()
    }
}

/// Proposes that it execute at its id, as the fast path would have it.
pub(super) fn propose_at_id<H: Hooks>(subject: &mut Subject, env: &mut Env<'_, H>, deps: Deps) -> Step {
    let proposal = Proposal {
        kind: AcceptKind::Slow,
        execute_at: subject.txn_id.as_timestamp(),
        deps,
        groups: subject.groups.clone(),
        keys: None,
        commit_groups: subject.groups.clone(),
        after: After::Execute,
    };
    Proposing::start(subject, env, proposal)
}

impl Found {
    /// Proposes, commits, executes or spreads, as far as it had come.
    pub(super) fn finish<H: Hooks>(self, subject: &mut Subject, env: &mut Env<'_, H>) -> Step {
        match self.status {
            Status::AcceptedMedium | Status::AcceptedSlow => {
                env.note(Note::Recovery(RecoveryBranch::FoundAccepted));
                self.propose_again(subject, env)
            }
            _ => self.finish_decided(subject, env),
        }
    }

    fn propose_again<H: Hooks>(self, subject: &mut Subject, env: &mut Env<'_, H>) -> Step {
        let mut deps = self.latest.proposal();
        if env.hooks.mutant(Mutant::ProposalAddsLocal) {
            let local = self.latest.entries().iter().map(|(key, at)| (key.clone(), at.local.clone())).collect();
            deps = deps.union(&Deps::from_sets(local));
        }
        let proposal = Proposal {
            kind: AcceptKind::Slow,
            execute_at: self.execute_at,
            deps,
            groups: subject.groups.clone(),
            keys: None,
            commit_groups: subject.groups.clone(),
            after: After::Execute,
        };
        Proposing::start(subject, env, proposal)
    }

    fn finish_decided<H: Hooks>(self, subject: &mut Subject, env: &mut Env<'_, H>) -> Step {
        env.note(Note::Recovery(match self.status {
            Status::Stable => RecoveryBranch::FoundStable,
            Status::PreApplied | Status::Applied => RecoveryBranch::FoundApplied,
            _ => RecoveryBranch::FoundCommitted,
        }));
        let deps = self.latest.proposal();
        let unaccepted = self.latest.keys_below(DepsKnown::Committed);
        let is_committed_only = self.status <= Status::Committed;
        let unstable =
            if is_committed_only { subject.scope.keys().to_vec() } else { self.latest.keys_below(DepsKnown::Known) };
        let execute_at = self.execute_at;
        let after = self.outcome.filter(|_| self.status >= Status::PreApplied).map_or(After::Execute, After::Persist);
        let commit_groups = subject.groups_of(&unstable);
        if !unaccepted.is_empty() {
            env.note(Note::Recovery(RecoveryBranch::PartialDeps));
            let groups = subject.groups_of(&unaccepted);
            let (kind, keys) = (AcceptKind::Slow, Some(unaccepted));
            return Proposing::start(
                subject,
                env,
                Proposal { kind, execute_at, deps, groups, keys, commit_groups, after },
            );
        }
        if !unstable.is_empty() {
            return Stabilising::start(subject, env, execute_at, deps, commit_groups, after);
        }
        match after {
            After::Persist(outcome) => Persisting::start(subject, env, execute_at, deps, outcome),
            After::Execute => {
                let plan = Plan { kind: StableKind::Full, execute_at, deps, path: Path::Recovery };
                Executing::start(subject, env, plan)
            }
        }
    }
}
