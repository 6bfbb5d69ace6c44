//! Holding a recovery until earlier conflicts are decided.
//!
//! *Source*: [SPEC 7.3 step 5, 7.5].

use super::invalidate::NotAccepting;
use super::recover::{Found, propose_at_id};
use super::subject::Subject;
use super::{Env, Phase, Step};
use protocol::message::{AwaitUntil, AwaitVerdict, Message, RecoverAwait, RecoverAwaitReply, Request, Verb};
use protocol::{Deps, Hooks, Key, Micros, NodeSet, NotApplied, Note, Participants, RecoveryBranch, Scope, TxnId};

/// One transaction to wait for, at the keys where it was met.
#[derive(Clone, Debug)]
pub(super) struct Wait {
    id: TxnId,
    until: AwaitUntil,
    uncovered: Vec<Key>,
}

impl Wait {
    pub(super) fn new(id: TxnId, until: AwaitUntil, keys: Vec<Key>) -> Self {
        Self { id, until, uncovered: keys }
    }
}

/// What the recovery does afterwards.
#[derive(Clone, Debug)]
pub(super) enum Then {
    /// Propose at the id; a reject invalidates instead.
    ProposeAtId(Deps),
    /// Go on from what was found; only completion matters.
    Finish(Box<Found>),
}

/// Waiting for other transactions.
#[derive(Debug)]
pub(super) struct Awaiting {
    waits: Vec<Wait>,
    then: Then,
    attempt: u32,
    pub(super) due: Micros,
}

impl Awaiting {
    pub(super) fn start<H: Hooks>(subject: &mut Subject, env: &mut Env<'_, H>, waits: Vec<Wait>, then: Then) -> Step {
        let phase = Self { waits, then, attempt: 1, due: env.now.mono + env.config.rpc_timeout };
        phase.send(subject, env);
        Step::Enter(Phase::Await(phase))
    }

    fn send<H: Hooks>(&self, subject: &Subject, env: &mut Env<'_, H>) {
        for wait in self.waits.iter().filter(|wait| !wait.uncovered.is_empty()) {
            let groups = subject.groups_of(&wait.uncovered);
            let to = groups.iter().fold(NodeSet::new(), |all, group| all.union(&group.nodes));
            let scope = Scope::Part(Participants::of_keys(wait.uncovered.clone()));
            let verb = Verb::RecoverAwait(RecoverAwait { ballot: subject.ballot, awaited: wait.id, until: wait.until });
            env.send(to, Message::Request(Request { txn_id: subject.txn_id, scope, verb }));
        }
    }

    pub(super) fn on_reply<H: Hooks>(
        mut self,
        subject: &mut Subject,
        env: &mut Env<'_, H>,
        reply: RecoverAwaitReply,
    ) -> Step {
        if matches!(self.then, Then::ProposeAtId(_)) {
            match reply.verdict {
                AwaitVerdict::Accept => {}
                AwaitVerdict::Reject => {
                    env.note(Note::Recovery(RecoveryBranch::AwaitedThenRejected));
                    return NotAccepting::start(subject, env, NotApplied::Invalidated);
                }
                AwaitVerdict::Unknown => {
                    env.note(Note::Recovery(RecoveryBranch::AwaitedUnknown));
                    return subject.restart(env);
                }
            }
        }
        for wait in self.waits.iter_mut().filter(|wait| wait.id == reply.awaited) {
            wait.uncovered.retain(|key| !reply.covering.keys().contains(key));
        }
        self.waits.retain(|wait| !wait.uncovered.is_empty());
        if !self.waits.is_empty() {
            return Step::Stay(Phase::Await(self));
        }
        match self.then {
            Then::ProposeAtId(deps) => {
                env.note(Note::Recovery(RecoveryBranch::AwaitedThenProposed));
                propose_at_id(subject, env, deps)
            }
            Then::Finish(found) => found.finish(subject, env),
        }
    }

    pub(super) fn on_timer<H: Hooks>(mut self, subject: &mut Subject, env: &mut Env<'_, H>) -> Step {
        if self.attempt > env.config.attempts_max * 2 {
            return subject.preempted(env);
        }
        self.attempt += 1;
        self.due = env.now.mono + Micros(env.config.rpc_timeout.0 * u64::from(self.attempt));
        self.send(subject, env);
        Step::Stay(Phase::Await(self))
    }
}
