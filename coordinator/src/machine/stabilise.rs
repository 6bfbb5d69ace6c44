//! The Commit round: after it the dependencies are final, whoever recovers.
//!
//! *Source*: [SPEC 4.6].

use super::execute::{Executing, Plan};
use super::persist::Persisting;
use super::propose::After;
use super::subject::{Round, Subject};
use super::{Env, Phase, Step};
use protocol::message::{Commit, CommitOutcome, CommitReply, StableKind, Verb};
use protocol::{Deps, Hooks, NodeId, Path, Timestamp, VotingGroup};

/// Waiting for a quorum to have stored the decision.
#[derive(Debug)]
pub(super) struct Stabilising {
    execute_at: Timestamp,
    deps: Deps,
    after: After,
    pub(super) round: Round,
}

impl Stabilising {
    pub(super) fn start<H: Hooks>(
        subject: &mut Subject,
        env: &mut Env<'_, H>,
        execute_at: Timestamp,
        deps: Deps,
        groups: Vec<VotingGroup>,
        after: After,
    ) -> Step {
        let is_recovery = !subject.ballot.is_zero();
        let mut phase = Self { execute_at, deps, after, round: Round::idle(groups, env) };
        let commit = phase.commit(subject, is_recovery);
        phase.round = phase.round.begin(subject, env, commit);
        Step::Enter(Phase::Stabilise(phase))
    }

    fn commit(&self, subject: &Subject, with_txn: bool) -> Verb {
        Verb::Commit(Commit {
            ballot: subject.ballot,
            execute_at: self.execute_at,
            deps: self.deps.clone(),
            txn: subject.txn.clone().filter(|_| with_txn),
        })
    }

    pub(super) fn on_reply<H: Hooks>(
        mut self,
        subject: &mut Subject,
        env: &mut Env<'_, H>,
        from: NodeId,
        reply: CommitReply,
    ) -> Step {
        match reply.outcome {
            CommitOutcome::Ok | CommitOutcome::AlreadyDone => {
                self.round.tracker.succeed(from);
                if self.round.tracker.is_reached() {
                    return self.committed(subject, env);
                }
            }
            CommitOutcome::Insufficient => {
                let whole = self.commit(subject, true);
                self.round.send_to(subject, env, from, whole);
            }
            CommitOutcome::Superseded | CommitOutcome::Rejected => {
                subject.heard_promise(reply.promised);
                self.round.tracker.fail(from);
                if self.round.tracker.is_impossible() {
                    return subject.preempted(env);
                }
            }
        }
        Step::Stay(Phase::Stabilise(self))
    }

    pub(super) fn on_timer<H: Hooks>(mut self, subject: &mut Subject, env: &mut Env<'_, H>) -> Step {
        if self.round.repeat(subject, env) { Step::Stay(Phase::Stabilise(self)) } else { subject.preempted(env) }
    }

    fn committed<H: Hooks>(self, subject: &mut Subject, env: &mut Env<'_, H>) -> Step {
        let Self { execute_at, deps, after, .. } = self;
        match after {
            After::Persist(outcome) => Persisting::start(subject, env, execute_at, deps, outcome),
            After::Execute if subject.ballot.is_zero() => {
                Executing::start(subject, env, Plan { kind: StableKind::Slow, execute_at, deps, path: Path::Slow })
            }
            After::Execute => {
                Executing::start(subject, env, Plan { kind: StableKind::Full, execute_at, deps, path: Path::Recovery })
            }
        }
    }
}
