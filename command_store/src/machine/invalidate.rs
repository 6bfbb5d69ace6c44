//! Deciding that a transaction never executes.
//!
//! *Source*: [SPEC 2.4 "CommitInvalidate", "BeginInvalidation"].

use super::{Asked, CommandStore, Turn};
use protocol::message::{BeginInvalidation, InvalidateReply, ReplyVerb};
use protocol::{CommandDiff, Hooks, Scope, Status, TxnId};

impl<H: Hooks> CommandStore<H> {
    pub(super) fn on_commit_invalidate(&mut self, turn: &mut Turn<'_>, id: TxnId, scope: &Scope) {
        let command = self.record(id);
        if command.status() == Status::Invalidated {
            // it may have been invalidated before all its keys were known
            for key in self.own_keys(scope.keys()) {
                self.index_at(turn, id, &key);
            }
            return self.progress.done(id);
        }
        if command.status().is_decided() {
            return self.violation(turn, id, "told to invalidate what is committed here");
        }
        self.update(turn, id, scope, CommandDiff { status: Some(Status::Invalidated), ..CommandDiff::default() });
    }

    pub(super) fn on_begin_invalidation(
        &mut self,
        turn: &mut Turn<'_>,
        asked: Asked,
        scope: Scope,
        begin: BeginInvalidation,
    ) {
        let id = asked.txn_id;
        let command = self.record(id);
        let is_promised = command.status() < Status::Committed && command.promised() <= begin.ballot;
        let reply = ReplyVerb::InvalidateReply(InvalidateReply {
            is_promised,
            promised: command.promised(),
            status: command.status(),
            accepted: command.accepted(),
            accepts_fast_path: command.accepts_fast_path(id),
            route: command.route().cloned(),
            txn: command.txn().cloned(),
        });
        if is_promised {
            self.update(turn, id, &scope, CommandDiff { promised: Some(begin.ballot), ..CommandDiff::default() });
        }
        self.answer(turn, asked, reply, !is_promised);
    }
}
