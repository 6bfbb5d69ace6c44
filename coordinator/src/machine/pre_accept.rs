//! The first round, and the choice of path.
//!
//! *Source*: [SPEC 4.2 to 4.4].

use super::invalidate::NotAccepting;
use super::propose::{After, Proposal, Proposing};
use super::subject::Subject;
use super::{Env, Phase, Step};
use crate::machine::execute::{Executing, Plan};
use crate::tracker::{FastPathTracker, Reached};
use protocol::message::{AcceptKind, PreAccept, PreAcceptOk, ReplyVerb, StableKind, Verb};
use protocol::{Deps, Hooks, Micros, Mutant, NodeId, NotApplied, Note, Path, Timestamp};

/// Gathering votes.
#[derive(Debug)]
pub(super) struct PreAccepting {
    tracker: FastPathTracker,
    oks: Vec<(NodeId, PreAcceptOk)>,
    attempt: u32,
    pub(super) due: Micros,
}

impl PreAccepting {
    pub(super) fn start<H: Hooks>(subject: &mut Subject, env: &mut Env<'_, H>) -> Self {
        let kind = subject.txn_id.shape().fast_path;
        let spared = usize::from(env.hooks.mutant(Mutant::FastQuorumMinusOne));
        let tracker = FastPathTracker::new(subject.groups.clone(), kind, env.config.fast_path).sparing(spared);
        let phase = Self { tracker, oks: Vec::new(), attempt: 0, due: env.now.mono + env.config.slow_pre_accept };
        phase.send(subject, env);
        phase
    }

    fn send<H: Hooks>(&self, subject: &Subject, env: &mut Env<'_, H>) {
        let Some(txn) = subject.txn.clone() else { return };
        let verb = Verb::PreAccept(PreAccept { txn, coordinator_vote: false, coordinator_deps: None });
        env.send(self.tracker.silent(), subject.request(verb));
    }

    pub(super) fn on_reply<H: Hooks>(
        mut self,
        subject: &mut Subject,
        env: &mut Env<'_, H>,
        from: NodeId,
        verb: ReplyVerb,
    ) -> Step {
        match verb {
            ReplyVerb::PreAcceptOk(ok) if is_far_ahead(ok.witnessed_at, env) => {
                env.note(Note::ClockSkew);
                self.tracker.fail(from);
            }
            ReplyVerb::PreAcceptOk(ok) => {
                let is_for_id = ok.witnessed_at == subject.txn_id.as_timestamp();
                if self.tracker.vote(from, is_for_id) {
                    self.oks.push((from, ok));
                } else if env.hooks.mutant(Mutant::DoubleCount) {
                    self.tracker = self.tracker.sparing(1);
                    self.tracker.delay_silent();
                }
            }
            ReplyVerb::PreAcceptNack(nack) => {
                subject.heard_promise(nack.promised);
                return subject.preempted(env);
            }
            ReplyVerb::Unavailable(_) => {
                self.tracker.fail(from);
            }
            _ => return Step::Stay(Phase::PreAccept(self)),
        }
        self.decide(subject, env)
    }

    pub(super) fn on_timer<H: Hooks>(mut self, subject: &mut Subject, env: &mut Env<'_, H>) -> Step {
        self.tracker.delay_silent();
        if self.tracker.reached() != Reached::Waiting {
            return self.decide(subject, env);
        }
        if self.attempt >= env.config.attempts_max {
            return NotAccepting::start(subject, env, NotApplied::Invalidated);
        }
        if self.attempt > 0 {
            self.send(subject, env);
        }
        self.attempt += 1;
        self.due = env.now.mono + Micros(env.config.rpc_timeout.0 * u64::from(self.attempt));
        Step::Stay(Phase::PreAccept(self))
    }

    fn decide<H: Hooks>(self, subject: &mut Subject, env: &mut Env<'_, H>) -> Step {
        let reached = self.tracker.reached();
        match reached {
            Reached::Waiting => return Step::Stay(Phase::PreAccept(self)),
            Reached::Failed => return NotAccepting::start(subject, env, NotApplied::Invalidated),
            Reached::Fast | Reached::Medium | Reached::Slow => {}
        }
        if reached == Reached::Slow && self.oks.iter().any(|(_, ok)| ok.rejected) {
            env.note(Note::Rejected);
            return NotAccepting::start(subject, env, NotApplied::Rejected);
        }
        match reached {
            Reached::Fast => self.go_fast(subject, env),
            Reached::Medium if subject.txn_id.shape().medium_path => self.go_medium(subject, env),
            _ => self.go_slow(subject, env),
        }
    }

    fn go_fast<H: Hooks>(self, subject: &mut Subject, env: &mut Env<'_, H>) -> Step {
        env.note(Note::PathTaken(Path::Fast));
        let execute_at = subject.txn_id.as_timestamp();
        let deps = self.voters_deps(subject, false);
        Executing::start(subject, env, Plan { kind: StableKind::Fast, execute_at, deps, path: Path::Fast })
    }

    fn go_medium<H: Hooks>(self, subject: &mut Subject, env: &mut Env<'_, H>) -> Step {
        env.note(Note::PathTaken(Path::Medium));
        let deps = self.voters_deps(subject, env.hooks.mutant(Mutant::MediumDepsNotMerged));
        let execute_at = subject.txn_id.as_timestamp();
        Proposing::start(subject, env, Proposal::live(subject, AcceptKind::Medium, execute_at, deps))
    }

    fn go_slow<H: Hooks>(self, subject: &mut Subject, env: &mut Env<'_, H>) -> Step {
        env.note(Note::PathTaken(Path::Slow));
        let witnessed = self.oks.iter().map(|(_, ok)| ok.witnessed_at);
        let takes_first = env.hooks.mutant(Mutant::SlowProposesFirst);
        let witnessed = witnessed.take(if takes_first { 1 } else { usize::MAX });
        let execute_at = witnessed.fold(subject.txn_id.as_timestamp(), Timestamp::merge_max);
        let deps = self.oks.iter().fold(Deps::NONE, |all, (_, ok)| all.union(&ok.deps));
        Proposing::start(subject, env, Proposal::live(subject, AcceptKind::Slow, execute_at, deps))
    }

    /// The dependencies of those who voted for the id.
    fn voters_deps(&self, subject: &Subject, first_only: bool) -> Deps {
        let voters = self.oks.iter().filter(|(_, ok)| ok.witnessed_at == subject.txn_id.as_timestamp());
        let voters = voters.take(if first_only { 1 } else { usize::MAX });
        voters.fold(Deps::NONE, |all, (_, ok)| all.union(&ok.deps))
    }
}

/// Whether a replica's clock is too far ahead for its vote to be taken up.
fn is_far_ahead<H>(witnessed_at: Timestamp, env: &Env<'_, H>) -> bool {
    witnessed_at.hlc().0 > env.hlc.read(env.now).0 + env.config.max_clock_skew.0
}

impl Proposal {
    /// A live coordination's proposal, over all its keys.
    fn live(subject: &Subject, kind: AcceptKind, execute_at: Timestamp, deps: Deps) -> Self {
        Self {
            kind,
            execute_at,
            deps,
            groups: subject.groups.clone(),
            keys: None,
            commit_groups: subject.groups.clone(),
            after: After::Execute,
        }
    }
}
