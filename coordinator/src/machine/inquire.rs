//! Asking around: is it decided, is somebody at work on it, or must it be recovered or invalidated?
//!
//! *Source*: [SPEC 11.1 to 11.3], polling form.

use super::invalidate::Invalidating;
use super::subject::Subject;
use super::{Env, Phase, Step};
use crate::tracker::QuorumTracker;
use protocol::message::{Apply, CheckStatus, CheckStatusReply, SliceReport, Stable, StableKind, Verb};
use protocol::{
    Ballot, ClientOutcome, Deps, DepsKnown, Durability, Effect, Hooks, Learned, Micros, NodeId, NodeSet, NotApplied,
    Path, Propagate, Status,
};

/// Asking what others know.
#[derive(Debug)]
pub(super) struct Inquiring {
    tracker: QuorumTracker,
    heard: NodeSet,
    unreachable: NodeSet,
    slices: Vec<SliceReport>,
    is_coordinated: bool,
    /// The question named every key; otherwise it is asked again once the route is known.
    is_full: bool,
    attempt: u32,
    pub(super) due: Micros,
}

impl Inquiring {
    pub(super) fn start<H: Hooks>(subject: &mut Subject, env: &mut Env<'_, H>) -> Self {
        let due = env.now.mono + env.config.rpc_timeout;
        let phase = Self { attempt: 1, due, ..Self::blank(subject) };
        phase.send(subject, env);
        phase
    }

    /// All replicas, and the node that began it: it may not be one of them.
    fn asked(&self, subject: &Subject) -> NodeSet {
        let mut asked = subject.replicas();
        asked.insert(subject.txn_id.node());
        asked
    }

    fn send<H: Hooks>(&self, subject: &Subject, env: &mut Env<'_, H>) {
        let to = self.asked(subject).iter().filter(|node| !self.heard.contains(*node)).collect();
        env.send(to, subject.request(Verb::CheckStatus(CheckStatus { ballot: subject.ballot })));
    }

    pub(super) fn on_reply<H: Hooks>(
        mut self,
        subject: &mut Subject,
        env: &mut Env<'_, H>,
        from: NodeId,
        reply: CheckStatusReply,
    ) -> Step {
        if !self.heard.insert(from) {
            return Step::Stay(Phase::Inquire(self));
        }
        self.tracker.succeed(from);
        self.is_coordinated |= reply.is_coordinating;
        for slice in reply.slices {
            subject.heard_promise(slice.promised);
            if let Some(route) = &slice.route {
                subject.learn(route, &env.config.topology);
            }
            subject.txn = subject.txn.take().or_else(|| slice.txn.clone());
            self.slices.push(slice);
        }
        self.conclude_if_all_heard(subject, env)
    }

    /// `from` cannot be asked: nobody waits for it.
    pub(super) fn on_unavailable<H: Hooks>(
        mut self,
        subject: &mut Subject,
        env: &mut Env<'_, H>,
        from: NodeId,
    ) -> Step {
        self.unreachable.insert(from);
        self.conclude_if_all_heard(subject, env)
    }

    fn conclude_if_all_heard<H: Hooks>(self, subject: &mut Subject, env: &mut Env<'_, H>) -> Step {
        let is_done = |node: NodeId| self.heard.contains(node) || self.unreachable.contains(node);
        let all_heard = self.tracker.is_reached() && self.asked(subject).iter().all(is_done);
        if all_heard || self.is_settled(subject) {
            self.conclude(subject, env)
        } else {
            Step::Stay(Phase::Inquire(self))
        }
    }

    pub(super) fn on_timer<H: Hooks>(mut self, subject: &mut Subject, env: &mut Env<'_, H>) -> Step {
        if subject.client.is_some() && env.now.mono >= subject.deadline {
            subject.answer(env, ClientOutcome::Unknown);
            return Step::End;
        }
        if self.tracker.is_reached() || self.attempt >= env.config.attempts_max {
            return self.conclude(subject, env);
        }
        self.attempt += 1;
        self.due = env.now.mono + env.config.rpc_timeout;
        self.send(subject, env);
        Step::Stay(Phase::Inquire(self))
    }

    /// Whether nothing more needs to be heard: invalidated, or everything about its stored outcome.
    fn is_settled(&self, subject: &Subject) -> bool {
        if self.slices.iter().any(|slice| slice.status == Status::Invalidated) {
            return true;
        }
        let is_final = |slice: &SliceReport| slice.outcome.is_some() && slice.durability >= Durability::Majority;
        self.slices.iter().any(is_final) && self.final_deps().covers(subject.scope.keys())
    }

    /// Final dependencies, of whoever has them.
    fn final_deps(&self) -> Deps {
        let mut deps = Deps::NONE;
        for slice in self.slices.iter().filter(|slice| slice.deps_known == DepsKnown::Known) {
            // two final sets of one key need not be equal: one of them is enough
            for (key, set) in slice.deps.sets() {
                if deps.at(key).is_none() {
                    deps.set(key, set.clone());
                }
            }
        }
        deps
    }

    fn conclude<H: Hooks>(self, subject: &mut Subject, env: &mut Env<'_, H>) -> Step {
        let durability = self.slices.iter().map(|slice| slice.durability).max().unwrap_or_default();
        let learned = self.learned(subject);
        let is_invalidated = learned == Some(Learned::Invalidated);
        let outcome = self.slices.iter().find_map(|slice| slice.outcome.clone());
        if let Some(learned) = learned {
            let propagate = Propagate { txn_id: subject.txn_id, scope: subject.scope.clone(), learned, durability };
            env.out.push(Effect::Propagate(Box::new(propagate)));
        }
        if is_invalidated {
            subject.answer(env, ClientOutcome::NotApplied(NotApplied::Invalidated));
            return Step::End;
        }
        if !self.is_full && subject.scope.route().is_some() {
            return Step::Enter(Phase::Inquire(Self::start(subject, env)));
        }
        if let Some(outcome) = outcome {
            subject.answer(env, ClientOutcome::Applied { result: outcome.result, path: Path::Recovery });
            if durability >= Durability::Majority {
                return Step::End;
            }
        }
        if self.is_coordinated && !env.config.eager_recovery {
            return self.wait_for_other(subject, env);
        }
        if !self.tracker.is_reached() {
            return self.wait_for_other(subject, env);
        }
        if subject.scope.route().is_some() && subject.txn.is_some() {
            return subject.recover(env);
        }
        self.invalidate(subject, env)
    }

    /// Somebody is at work on it, or too few answer: a client goes on asking until its deadline, a chase comes again later.
    fn wait_for_other<H: Hooks>(self, subject: &mut Subject, env: &mut Env<'_, H>) -> Step {
        if subject.client.is_none() {
            return Step::End;
        }
        let mut again = Self { due: env.now.mono + env.config.rpc_timeout, ..Self::blank(subject) };
        again.due = again.due.min(subject.deadline);
        Step::Enter(Phase::Inquire(again))
    }

    fn blank(subject: &Subject) -> Self {
        Self {
            tracker: QuorumTracker::new(subject.groups.clone()),
            heard: NodeSet::new(),
            unreachable: NodeSet::new(),
            slices: Vec::new(),
            is_coordinated: false,
            is_full: subject.scope.route().is_some(),
            attempt: 0,
            due: Micros(0),
        }
    }

    fn invalidate<H: Hooks>(self, subject: &mut Subject, env: &mut Env<'_, H>) -> Step {
        let floor = subject.ballot.max(subject.highest_promise);
        match env.hlc.ballot(env.now, floor) {
            Some(ballot) => {
                subject.ballot = ballot;
                Invalidating::start(subject, env)
            }
            None => self.wait_for_other(subject, env),
        }
    }

    /// The most advanced decided facts; a store whose keys they do not cover leaves them alone.
    fn learned(&self, subject: &Subject) -> Option<Learned> {
        if self.slices.iter().any(|slice| slice.status == Status::Invalidated) {
            return Some(Learned::Invalidated);
        }
        let deps = self.final_deps();
        let decided = self.slices.iter().filter(|slice| slice.status.is_decided());
        let execute_at = decided.filter_map(|slice| slice.execute_at).next()?;
        let txn = subject.txn.clone();
        // at the highest ballot: a fact is no testimony of a race
        let ballot = Ballot::MAX;
        let learned = match self.slices.iter().find_map(|slice| slice.outcome.clone()) {
            Some(outcome) => Learned::Applied(Apply { ballot, execute_at, deps, outcome, txn }),
            None => {
                let readers = NodeSet::new();
                Learned::Stable(Stable { kind: StableKind::Full, ballot, execute_at, deps, txn, readers })
            }
        };
        Some(learned)
    }
}
