//! What the client is told, and what becomes of a coordination that somebody overtook.

use super::inquire::Inquiring;
use super::recover::Recovering;
use super::subject::Subject;
use super::{Env, Phase, Step};
use protocol::{ClientOutcome, Effect, Hooks, Note};

/// Recoveries of one transaction in a row, before its progress log is left to try again later.
const RESTARTS_MAX: u32 = 3;

impl Subject {
    /// Answers the client, once.
    pub(super) fn answer<H>(&mut self, env: &mut Env<'_, H>, outcome: ClientOutcome) {
        if let Some(request) = self.client.take() {
            env.out.push(Effect::Answer { request, txn_id: Some(self.txn_id), outcome });
        }
    }

    /// A higher ballot is at work: stop, and if a client still waits, find out how it ends.
    pub(super) fn preempted<H: Hooks>(&mut self, env: &mut Env<'_, H>) -> Step {
        env.note(Note::Preempted);
        if self.client.is_some() {
            return Step::Enter(Phase::Inquire(Inquiring::start(self, env)));
        }
        Step::End
    }

    /// Recovers it at a fresh ballot, above all that were heard of.
    pub(super) fn recover<H: Hooks>(&mut self, env: &mut Env<'_, H>) -> Step {
        let is_recoverable = self.scope.route().is_some() && self.txn.is_some();
        match env.hlc.ballot(env.now, self.ballot.max(self.highest_promise)) {
            Some(ballot) if is_recoverable => {
                self.ballot = ballot;
                Step::Enter(Phase::Recover(Recovering::start(self, env)))
            }
            _ => self.preempted(env),
        }
    }

    /// Starts the recovery over, a few times; after that its progress log does, later.
    pub(super) fn restart<H: Hooks>(&mut self, env: &mut Env<'_, H>) -> Step {
        self.restarts += 1;
        if self.restarts > RESTARTS_MAX { self.preempted(env) } else { self.recover(env) }
    }
}
