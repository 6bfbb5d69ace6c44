//! Spreading the outcome, and telling everyone once it is stored at enough replicas.
//!
//! *Source*: [SPEC 4.8, 12.1].

use super::subject::{Round, Subject};
use super::{Env, Phase, Step};
use protocol::message::{Apply, ApplyOutcome, ApplyReply, InformDurable, Message, Verb};
use protocol::{Deps, Durability, Effect, Effects, Hooks, Micros, NodeId, NodeSet, Outcome, Timestamp, TxnId};

/// Waiting for replicas to store the outcome. Nobody waits for this.
#[derive(Debug)]
pub(super) struct Persisting {
    execute_at: Timestamp,
    deps: Deps,
    outcome: Outcome,
    is_told: bool,
    pub(super) round: Round,
}

impl Persisting {
    pub(super) fn start<H: Hooks>(
        subject: &mut Subject,
        env: &mut Env<'_, H>,
        execute_at: Timestamp,
        deps: Deps,
        outcome: Outcome,
    ) -> Step {
        let is_recovery = !subject.ballot.is_zero();
        let round = Round::idle(subject.groups.clone(), env);
        let mut phase = Self { execute_at, deps, outcome, is_told: false, round };
        let apply = phase.apply(subject, is_recovery);
        phase.round = phase.round.begin(subject, env, apply);
        Step::Enter(Phase::Persist(phase))
    }

    fn apply(&self, subject: &Subject, with_txn: bool) -> Verb {
        Verb::Apply(Apply {
            ballot: subject.ballot,
            execute_at: self.execute_at,
            deps: self.deps.clone(),
            outcome: self.outcome.clone(),
            txn: subject.txn.clone().filter(|_| with_txn),
        })
    }

    pub(super) fn on_reply<H: Hooks>(
        mut self,
        subject: &mut Subject,
        env: &mut Env<'_, H>,
        from: NodeId,
        reply: ApplyReply,
    ) -> Step {
        match reply.outcome {
            ApplyOutcome::Insufficient => {
                let whole = self.apply(subject, true);
                self.round.send_to(subject, env, from, whole);
            }
            // a higher ballot is promised there: stored, but it does not count
            _ if reply.race => self.round.tracker.fail(from),
            _ => self.round.tracker.succeed(from),
        }
        if self.round.tracker.is_reached() && !self.is_told {
            self.is_told = true;
            env.durable.tell(subject.replicas(), subject.txn_id, env.now.mono + env.config.inform_delay, env.out);
        }
        if self.round.tracker.silent().is_empty() { Step::End } else { Step::Stay(Phase::Persist(self)) }
    }

    pub(super) fn on_timer<H: Hooks>(mut self, subject: &mut Subject, env: &mut Env<'_, H>) -> Step {
        // once it is durable, whoever misses it learns it from its progress log
        if !self.is_told && self.round.repeat(subject, env) { Step::Stay(Phase::Persist(self)) } else { Step::End }
    }
}

/// Transactions told at once in one message.
const TELLING_MAX: usize = 256;

/// Stored outcomes, gathered to be told in batches.
#[derive(Debug, Default)]
pub(super) struct DurableTellings {
    batches: Vec<(NodeSet, Vec<TxnId>)>,
    due: Option<Micros>,
}

impl DurableTellings {
    fn tell(&mut self, to: NodeSet, id: TxnId, due: Micros, out: &mut Effects) {
        self.due = self.due.or(Some(due));
        match self.batches.iter_mut().find(|(nodes, _)| *nodes == to) {
            Some((_, ids)) => {
                ids.push(id);
                if ids.len() >= TELLING_MAX {
                    self.flush(out);
                }
            }
            None => self.batches.push((to, vec![id])),
        }
    }

    pub(super) fn due(&self) -> Option<Micros> {
        self.due
    }

    pub(super) fn flush_due(&mut self, now: Micros, out: &mut Effects) {
        if self.due.is_some_and(|due| due <= now) {
            self.flush(out);
        }
    }

    fn flush(&mut self, out: &mut Effects) {
        self.due = None;
        for (to, ids) in self.batches.drain(..) {
            let message = Message::InformDurable(InformDurable { durability: Durability::Majority, ids });
            out.push(Effect::Send { to, message });
        }
    }
}
