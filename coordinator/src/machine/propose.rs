//! The Accept round: an execution time and dependencies, stored at a quorum of every shard.
//!
//! *Source*: [SPEC 4.5].

use super::execute::{Executing, Plan};
use super::stabilise::Stabilising;
use super::subject::{Round, Subject};
use super::{Env, Phase, Step};
use protocol::message::{Accept, AcceptKind, AcceptOutcome, AcceptReply, StableKind, Verb};
use protocol::{Deps, Hooks, Key, Mutant, NodeId, Outcome, Path, Timestamp, VotingGroup};

/// What comes after the decision is stored.
#[derive(Clone, Debug)]
pub(super) enum After {
    /// Execute it.
    Execute,
    /// It was executed by somebody: spread this.
    Persist(Outcome),
}

/// What is proposed, and where.
#[derive(Clone, Debug)]
pub(super) struct Proposal {
    pub(super) kind: AcceptKind,
    pub(super) execute_at: Timestamp,
    /// Over every key of the transaction, those of other groups too: a replica keeps one set for all its keys.
    pub(super) deps: Deps,
    /// Where it must be accepted.
    pub(super) groups: Vec<VotingGroup>,
    /// The keys it is about, if not all: elsewhere it is committed already.
    pub(super) keys: Option<Vec<Key>>,
    /// Where it must be committed afterwards.
    pub(super) commit_groups: Vec<VotingGroup>,
    pub(super) after: After,
}

/// Waiting for acceptance.
#[derive(Debug)]
pub(super) struct Proposing {
    proposal: Proposal,
    new: Deps,
    pub(super) round: Round,
}

impl Proposing {
    pub(super) fn start<H: Hooks>(subject: &mut Subject, env: &mut Env<'_, H>, proposal: Proposal) -> Step {
        let accept = Accept {
            kind: proposal.kind,
            ballot: subject.ballot,
            execute_at: proposal.execute_at,
            deps: proposal.deps.clone(),
        };
        let idle = Round::idle(proposal.groups.clone(), env);
        let idle = match &proposal.keys {
            Some(keys) => idle.about(keys),
            None => idle,
        };
        let mut round = idle.begin(subject, env, Verb::Accept(accept));
        if env.hooks.mutant(Mutant::SlowQuorumMinusOne) {
            round.tracker = round.tracker.sparing(1);
        }
        Step::Enter(Phase::Propose(Self { proposal, new: Deps::NONE, round }))
    }

    pub(super) fn on_reply<H: Hooks>(
        mut self,
        subject: &mut Subject,
        env: &mut Env<'_, H>,
        from: NodeId,
        reply: AcceptReply,
    ) -> Step {
        if let Some(promised) = reply.promised {
            subject.heard_promise(promised);
        }
        match reply.outcome {
            AcceptOutcome::Success | AcceptOutcome::AlreadyDone | AcceptOutcome::Retired => {
                self.round.tracker.succeed(from);
                self.new = self.new.union(&reply.deps);
                if self.round.tracker.is_reached() {
                    return self.accepted(subject, env);
                }
            }
            AcceptOutcome::RejectedBallot => return subject.preempted(env),
            AcceptOutcome::Superseded if reply.promised.is_some() || subject.ballot.is_zero() => {
                return subject.preempted(env);
            }
            AcceptOutcome::Superseded | AcceptOutcome::Insufficient | AcceptOutcome::Truncated => {
                subject.known_at = subject.known_at.or(reply.committed_at);
                self.round.tracker.fail(from);
                if self.round.tracker.is_impossible() {
                    return subject.restart(env);
                }
            }
        }
        Step::Stay(Phase::Propose(self))
    }

    pub(super) fn on_timer<H: Hooks>(mut self, subject: &mut Subject, env: &mut Env<'_, H>) -> Step {
        if self.round.repeat(subject, env) { Step::Stay(Phase::Propose(self)) } else { subject.preempted(env) }
    }

    fn accepted<H: Hooks>(self, subject: &mut Subject, env: &mut Env<'_, H>) -> Step {
        let Self { proposal, new, .. } = self;
        let mut new = new.without(&proposal.deps);
        // found only now, so no quorum has accepted it: it orders the execution and is no testimony
        if subject.txn_id.shape().medium_path {
            new = new.mark_unstable_below(subject.txn_id);
        }
        let deps = proposal.deps.union(&new);
        let execute_at = proposal.execute_at;
        if proposal.kind == AcceptKind::Medium {
            return Executing::start(
                subject,
                env,
                Plan { kind: StableKind::Medium, execute_at, deps, path: Path::Medium },
            );
        }
        if env.hooks.mutant(Mutant::SlowWithoutCommit) && matches!(proposal.after, After::Execute) {
            return Executing::start(subject, env, Plan { kind: StableKind::Full, execute_at, deps, path: Path::Slow });
        }
        Stabilising::start(subject, env, execute_at, deps, proposal.commit_groups, proposal.after)
    }
}
