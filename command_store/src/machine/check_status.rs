//! Telling what is known, and taking in what others know.
//!
//! *Source*: [SPEC 11.2, 11.3].

use super::{Asked, CommandStore, StoreInput, Turn};
use protocol::message::{CheckStatusReply, ReplyVerb, SliceReport};
use protocol::{Hooks, Learned, Participants, Propagate, Scope};

impl<H: Hooks> CommandStore<H> {
    pub(super) fn on_check_status(&mut self, turn: &mut Turn<'_>, asked: Asked, scope: &Scope) {
        if asked.from < self.config.node {
            // of all who might look after it the lowest does, as in the coordinator's answer to this question
            self.progress.leave_to_other(asked.txn_id, turn.now.mono);
        }
        let command = self.record(asked.txn_id);
        let slice = SliceReport {
            keys: Participants::of_keys(self.own_keys(scope.keys()).into_vec()),
            status: command.status(),
            promised: command.promised(),
            accepted: command.accepted(),
            durability: command.durability(),
            route: command.route().cloned(),
            txn: command.txn().cloned(),
            execute_at: command.execute_at(),
            deps_known: command.deps_known(),
            deps: command.deps().clone(),
            outcome: command.outcome().cloned(),
        };
        let reply = CheckStatusReply { is_coordinating: false, slices: vec![slice] };
        self.answer(turn, asked, ReplyVerb::CheckStatusReply(reply), true);
    }

    /// Decided facts from other replicas; adopting them erases no testimony given here.
    pub(super) fn on_propagate(&mut self, turn: &mut Turn<'_>, propagate: Propagate) {
        let id = propagate.txn_id;
        if self.own_keys(propagate.scope.keys()).is_empty() {
            return;
        }
        if self.must_load(id, &propagate.scope) {
            return self.load_first(turn, StoreInput::Propagate(Box::new(propagate)));
        }
        let Propagate { scope, learned, durability, .. } = propagate;
        match learned {
            Learned::Invalidated => self.on_commit_invalidate(turn, id, &scope),
            Learned::Stable(stable) => {
                // refusals need no answer: whoever lacks something asks again
                let _ = self.take_stable(turn, id, &scope, stable);
            }
            Learned::Applied(apply) => {
                self.take_apply(turn, id, &scope, apply);
            }
        }
        self.learn_durable(turn, id, durability);
    }
}
