//! Making sure that a transaction never executes.
//!
//! *Source*: [SPEC 4.8, 7.7].

use super::subject::{Round, Subject};
use super::{Env, Phase, Step};
use protocol::message::{
    AcceptOutcome, AcceptReply, BeginInvalidation, CommitInvalidate, InvalidateReply, NotAccept, Verb,
};
use protocol::{ClientOutcome, Hooks, NodeId, NotApplied, Note, Status, VotingGroup};

/// Waiting for one shard to accept that it never executes: it cannot commit without every shard.
#[derive(Debug)]
pub(super) struct NotAccepting {
    reason: NotApplied,
    pub(super) round: Round,
}

impl NotAccepting {
    /// At the home shard, at the subject's ballot.
    pub(super) fn start<H: Hooks>(subject: &mut Subject, env: &mut Env<'_, H>, reason: NotApplied) -> Step {
        let groups = subject.home_group();
        Self::start_at(subject, env, groups, reason)
    }

    fn start_at<H: Hooks>(
        subject: &mut Subject,
        env: &mut Env<'_, H>,
        groups: Vec<VotingGroup>,
        reason: NotApplied,
    ) -> Step {
        let round = Round::start(subject, env, groups, Verb::NotAccept(NotAccept { ballot: subject.ballot }));
        Step::Enter(Phase::NotAccept(Self { reason, round }))
    }

    pub(super) fn on_reply<H: Hooks>(
        mut self,
        subject: &mut Subject,
        env: &mut Env<'_, H>,
        from: NodeId,
        reply: AcceptReply,
    ) -> Step {
        match reply.outcome {
            AcceptOutcome::Success | AcceptOutcome::AlreadyDone => self.round.tracker.succeed(from),
            _ => {
                subject.heard_promise(reply.promised.unwrap_or_default());
                return subject.preempted(env);
            }
        }
        if !self.round.tracker.is_reached() {
            return Step::Stay(Phase::NotAccept(self));
        }
        commit_invalidate(subject, env, self.reason)
    }

    pub(super) fn on_timer<H: Hooks>(mut self, subject: &mut Subject, env: &mut Env<'_, H>) -> Step {
        if self.round.repeat(subject, env) { Step::Stay(Phase::NotAccept(self)) } else { subject.preempted(env) }
    }
}

/// Tells every known participant. Only from here on may a client be told that it never takes effect.
pub(super) fn commit_invalidate<H: Hooks>(subject: &mut Subject, env: &mut Env<'_, H>, reason: NotApplied) -> Step {
    env.send(subject.replicas(), subject.request(Verb::CommitInvalidate(CommitInvalidate {})));
    subject.answer(env, ClientOutcome::NotApplied(reason));
    Step::End
}

/// Gathering promises for a transaction of which only its id and some participants are known.
#[derive(Debug)]
pub(super) struct Invalidating {
    replies: Vec<(NodeId, InvalidateReply)>,
    pub(super) round: Round,
}

impl Invalidating {
    pub(super) fn start<H: Hooks>(subject: &mut Subject, env: &mut Env<'_, H>) -> Step {
        env.note(Note::InvalidationStarted);
        let verb = Verb::BeginInvalidation(BeginInvalidation { ballot: subject.ballot });
        let round = Round::start(subject, env, subject.groups.clone(), verb);
        Step::Enter(Phase::Invalidate(Self { replies: Vec::new(), round }))
    }

    pub(super) fn on_reply<H: Hooks>(
        mut self,
        subject: &mut Subject,
        env: &mut Env<'_, H>,
        from: NodeId,
        reply: InvalidateReply,
    ) -> Step {
        if self.round.tracker.has(from) {
            return Step::Stay(Phase::Invalidate(self));
        }
        self.round.tracker.succeed(from);
        subject.heard_promise(reply.promised);
        if let Some(route) = &reply.route {
            subject.learn(route, &env.config.topology);
        }
        subject.txn = subject.txn.take().or_else(|| reply.txn.clone());
        let is_invalidated = reply.status == Status::Invalidated;
        self.replies.push((from, reply));
        if is_invalidated {
            return commit_invalidate(subject, env, NotApplied::Invalidated);
        }
        if self.round.tracker.is_reached() { self.decide(subject, env) } else { Step::Stay(Phase::Invalidate(self)) }
    }

    pub(super) fn on_timer<H: Hooks>(mut self, subject: &mut Subject, env: &mut Env<'_, H>) -> Step {
        if self.round.repeat(subject, env) { Step::Stay(Phase::Invalidate(self)) } else { Step::End }
    }

    fn decide<H: Hooks>(self, subject: &mut Subject, env: &mut Env<'_, H>) -> Step {
        let is_proposed = self.replies.iter().any(|(_, reply)| reply.status >= Status::AcceptedMedium);
        let is_voted = self.replies.iter().any(|(_, reply)| reply.status == Status::PreAccepted);
        let groups = self.round.tracker.groups();
        let is_rejected = groups.iter().any(|group| self.rules_out_fast_path(subject, group));
        if is_proposed || (is_voted && !is_rejected) {
            return subject.recover(env);
        }
        let promised = groups.iter().find(|group| self.promises_in(group) >= group.slow_quorum()).cloned();
        match promised {
            Some(group) => NotAccepting::start_at(subject, env, vec![group], NotApplied::Invalidated),
            None => Step::End,
        }
    }

    fn rules_out_fast_path(&self, subject: &Subject, group: &VotingGroup) -> bool {
        let is_against =
            |(node, reply): &&(NodeId, InvalidateReply)| group.electorate.contains(*node) && !reply.accepts_fast_path;
        let kind = subject.txn_id.shape().fast_path;
        self.replies.iter().filter(is_against).count() > group.fast_rejects_max(kind)
    }

    fn promises_in(&self, group: &VotingGroup) -> usize {
        self.replies.iter().filter(|(node, reply)| group.nodes.contains(*node) && reply.is_promised).count()
    }
}
