//! Proposals: an execution time with dependencies, or an invalidation, at a ballot.
//!
//! *Source*: [SPEC 2.4 "Accept", "NotAccept"].

use super::{Asked, CommandStore, Turn};
use protocol::message::{Accept, AcceptKind, AcceptOutcome, AcceptReply, NotAccept, ReplyVerb};
use protocol::{Ballot, Command, CommandDiff, Deps, DepsKnown, Hooks, Scope, Status};

impl<H: Hooks> CommandStore<H> {
    pub(super) fn on_accept(&mut self, turn: &mut Turn<'_>, asked: Asked, scope: Scope, accept: Accept) {
        let (id, ballot) = (asked.txn_id, accept.ballot);
        let command = self.record(id);
        if let Some(refusal) = refusal(&command, ballot, Status::PreCommitted) {
            return self.answer(turn, asked, refusal, true);
        }
        let is_other_decision = command.status() == Status::PreCommitted
            && (command.promised() == ballot && command.accepted() == ballot
                || command.execute_at() != Some(accept.execute_at));
        if is_other_decision {
            return self.answer(turn, asked, rejected_ballot(&command), true);
        }
        let (status, known) = match accept.kind {
            AcceptKind::Medium => (Status::AcceptedMedium, DepsKnown::ProposedFixed),
            AcceptKind::Slow => (Status::AcceptedSlow, DepsKnown::Proposed),
        };
        let proposed = accept.deps.slice(|key| self.owns(key));
        let diff = CommandDiff {
            status: Some(status).filter(|_| command.status() != Status::PreCommitted),
            promised: Some(ballot),
            accepted: Some(ballot),
            execute_at: Some(accept.execute_at),
            deps: Some((known, proposed.clone())),
            ..CommandDiff::default()
        };
        self.update(turn, id, &scope, diff);
        // an Accept over some keys only asks about those
        let asked_keys: Vec<_> = proposed.sets().iter().map(|(key, _)| key.clone()).collect();
        let deps = if id.kind().is_sync_point() {
            Deps::NONE
        } else {
            self.conflicts(id, &asked_keys, accept.execute_at).0.without(&proposed)
        };
        self.answer(turn, asked, success(deps), false);
    }

    pub(super) fn on_not_accept(&mut self, turn: &mut Turn<'_>, asked: Asked, scope: Scope, not_accept: NotAccept) {
        let (id, ballot) = (asked.txn_id, not_accept.ballot);
        let command = self.record(id);
        if let Some(refusal) = refusal(&command, ballot, Status::AcceptedSlow) {
            return self.answer(turn, asked, refusal, true);
        }
        let diff = CommandDiff {
            status: Some(Status::AcceptedInvalidate),
            promised: Some(ballot),
            accepted: Some(ballot),
            deps: Some((DepsKnown::Unknown, Deps::NONE)).filter(|_| command.deps_known() != DepsKnown::Unknown),
            ..CommandDiff::default()
        };
        self.update(turn, id, &scope, diff);
        self.answer(turn, asked, success(Deps::NONE), false);
    }
}

/// The refusal of a proposal at `ballot`, if the record is decided beyond `last_open` or has promised a higher one.
fn refusal(command: &Command, ballot: Ballot, last_open: Status) -> Option<ReplyVerb> {
    if command.status() > last_open {
        return Some(ReplyVerb::AcceptReply(AcceptReply {
            outcome: AcceptOutcome::Superseded,
            promised: Some(command.promised()).filter(|promised| *promised > ballot),
            deps: Deps::NONE,
            committed_at: command.execute_at().filter(|_| command.status() != Status::Invalidated),
        }));
    }
    (command.promised() > ballot).then(|| rejected_ballot(command))
}

fn rejected_ballot(command: &Command) -> ReplyVerb {
    ReplyVerb::AcceptReply(AcceptReply {
        outcome: AcceptOutcome::RejectedBallot,
        promised: Some(command.promised()),
        deps: Deps::NONE,
        committed_at: None,
    })
}

fn success(deps: Deps) -> ReplyVerb {
    ReplyVerb::AcceptReply(AcceptReply { outcome: AcceptOutcome::Success, promised: None, deps, committed_at: None })
}
