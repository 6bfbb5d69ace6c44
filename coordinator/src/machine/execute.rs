//! Stable and read: one replica of every shard waits for the dependencies to apply and sends its data; then the transaction is run.
//!
//! *Source*: [SPEC 4.7 to 4.9]. The client is answered only here, after every conflicting predecessor is decided where it was read.

use super::persist::Persisting;
use super::subject::Subject;
use super::{Env, Phase, Step};
use protocol::message::{CommitOutcome, ReplyVerb, Stable, StableKind, StableReply, Verb};
use protocol::{
    Bytes, ClientOutcome, Deps, Execution, Hooks, Key, Micros, NodeId, NodeSet, Note, Outcome, Path, Semantics,
    Timestamp, VotingGroup,
};
use std::collections::BTreeMap;

/// The decision to execute.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    pub(super) kind: StableKind,
    pub(super) execute_at: Timestamp,
    pub(super) deps: Deps,
    pub(super) path: Path,
}

/// Waiting for data.
#[derive(Debug)]
pub(super) struct Executing {
    plan: Plan,
    readers: NodeSet,
    data: BTreeMap<Key, Bytes>,
    attempt: u32,
    pub(super) due: Micros,
}

impl Executing {
    pub(super) fn start<H: Hooks>(subject: &mut Subject, env: &mut Env<'_, H>, plan: Plan) -> Step {
        let own = env.config.node;
        let first = |group: &VotingGroup| {
            let start = subject.txn_id.hlc().0 as usize % group.nodes.len();
            if group.nodes.contains(own) { Some(own) } else { group.nodes.iter().nth(start) }
        };
        let readers: NodeSet = subject.groups.iter().filter_map(first).collect();
        let due = env.now.mono + env.config.slow_read;
        let phase = Self { plan, readers, data: BTreeMap::new(), attempt: 0, due };
        let to = if env.config.thrifty_stable { phase.readers.clone() } else { subject.replicas() };
        let verb = phase.stable(subject, phase.plan.kind, !subject.ballot.is_zero());
        env.send(to, subject.request(verb));
        Step::Enter(Phase::Execute(phase))
    }

    fn stable(&self, subject: &Subject, kind: StableKind, with_txn: bool) -> Verb {
        let is_slow = kind == StableKind::Slow;
        Verb::Stable(Stable {
            kind,
            ballot: subject.ballot,
            execute_at: self.plan.execute_at,
            deps: if is_slow { Deps::NONE } else { self.plan.deps.clone() },
            txn: subject.txn.clone().filter(|_| with_txn),
            readers: self.readers.clone(),
        })
    }

    pub(super) fn on_reply<H: Hooks>(
        mut self,
        subject: &mut Subject,
        env: &mut Env<'_, H>,
        from: NodeId,
        verb: ReplyVerb,
    ) -> Step {
        match verb {
            ReplyVerb::ReadOk(read) => {
                self.data.extend(read.data);
                if self.lacking(subject).is_empty() {
                    return self.run(subject, env);
                }
            }
            ReplyVerb::ReadSuperseded(_) => {
                let is_left = self.ask_another(subject, env, Some(from));
                // everybody has applied it: somebody else ran it
                if !is_left {
                    return subject.preempted(env);
                }
            }
            ReplyVerb::StableReply(StableReply { outcome: CommitOutcome::Insufficient, .. }) => {
                self.send_whole(subject, env, from);
            }
            ReplyVerb::StableReply(StableReply { outcome: CommitOutcome::Rejected, promised }) => {
                subject.heard_promise(promised);
                return subject.preempted(env);
            }
            _ => {}
        }
        Step::Stay(Phase::Execute(self))
    }

    /// The maximal form; on the fast path the own replica gets the fast form all the same, which a promise of its own refuses.
    fn send_whole<H: Hooks>(&self, subject: &Subject, env: &mut Env<'_, H>, to: NodeId) {
        let is_own_fast = self.plan.kind == StableKind::Fast && to == env.config.node;
        let kind = if is_own_fast { StableKind::Fast } else { StableKind::Full };
        let verb = self.stable(subject, kind, true);
        env.send([to].into_iter().collect(), subject.request(verb));
    }

    pub(super) fn on_timer<H: Hooks>(mut self, subject: &mut Subject, env: &mut Env<'_, H>) -> Step {
        // a reader may wait long for its predecessors; a client does not
        let patience = env.config.attempts_max * if subject.client.is_some() { 8 } else { 2 };
        if self.attempt >= patience {
            return subject.preempted(env);
        }
        self.attempt += 1;
        self.due = env.now.mono + Micros(env.config.rpc_timeout.0 * u64::from(self.attempt.min(8)));
        self.ask_another(subject, env, None);
        for node in self.readers.iter().collect::<Vec<_>>() {
            self.send_whole(subject, env, node);
        }
        Step::Stay(Phase::Execute(self))
    }

    /// The groups with a key nobody has sent data of.
    fn lacking<'a>(&self, subject: &'a Subject) -> Vec<&'a VotingGroup> {
        subject.groups.iter().filter(|group| group.keys.iter().any(|key| !self.data.contains_key(key))).collect()
    }

    /// One more reader in every group that lacks data (and, if given, holds `instead_of`); false if a group has none left.
    fn ask_another<H: Hooks>(&mut self, subject: &Subject, env: &mut Env<'_, H>, instead_of: Option<NodeId>) -> bool {
        let mut has_another = true;
        for group in self.lacking(subject) {
            if instead_of.is_some_and(|node| !group.nodes.contains(node)) {
                continue;
            }
            match group.nodes.iter().find(|node| !self.readers.contains(*node)) {
                Some(node) => {
                    env.note(Note::AnotherReader);
                    self.readers.insert(node);
                    self.send_whole(subject, env, node);
                }
                None => has_another = false,
            }
        }
        has_another
    }

    fn run<H: Hooks>(self, subject: &mut Subject, env: &mut Env<'_, H>) -> Step {
        let Some(txn) = &subject.txn else { return Step::End };
        let Plan { execute_at, deps, path, .. } = self.plan;
        let data: Vec<(Key, Bytes)> = self.data.into_iter().collect();
        let execution = env.semantics.execute(&txn.body, subject.txn_id, execute_at, &data);
        let outcome = within_bounds(env.semantics, execution);
        subject.answer(env, ClientOutcome::Applied { result: outcome.result.clone(), path });
        Persisting::start(subject, env, execute_at, deps, outcome)
    }
}

/// The outcome, or its refusal if no log could hold it: one that is too large would end every node that executes it.
fn within_bounds(semantics: &dyn Semantics, execution: Execution) -> Outcome {
    let outcome = Outcome { writes: execution.writes, result: execution.result };
    let (bytes, most) = (outcome.len_bytes(), Outcome::BYTES_MAX);
    if bytes <= most {
        return outcome;
    }
    let why = format!(
        "its result and writes come to {bytes} bytes, more than the {most} one transaction may have; read or write less"
    );
    let Execution { writes, result } = semantics.refuse(&why);
    Outcome { writes, result }
}

#[cfg(test)]
mod tests {
    use super::*;
    use protocol::{Blob, TxnId};

    /// Answers with as many bytes as it is told, or with its regrets.
    struct Wordy;

    impl Semantics for Wordy {
        fn read(&self, _: &Blob, _: &Key, _: Option<&[u8]>, _: Timestamp) -> Vec<u8> {
            Vec::new()
        }

        fn execute(&self, _: &Blob, _: TxnId, _: Timestamp, _: &[(Key, Bytes)]) -> Execution {
            Execution::default()
        }

        fn refuse(&self, why: &str) -> Execution {
            let result = Blob { kind: 7, version: 1, bytes: why.as_bytes().to_vec().into() };
            Execution { writes: Vec::new(), result }
        }

        fn apply(&self, _: &Key, _: Timestamp, _: &[u8], _: Option<&[u8]>) -> Option<Vec<u8>> {
            None
        }
    }

    fn of_bytes(count: usize) -> Execution {
        Execution { writes: Vec::new(), result: Blob { kind: 1, version: 1, bytes: vec![0; count].into() } }
    }

    #[test]
    fn an_outcome_that_no_log_could_hold_is_refused_and_one_that_just_fits_is_not() {
        assert_eq!(within_bounds(&Wordy, of_bytes(Outcome::BYTES_MAX)).len_bytes(), Outcome::BYTES_MAX);
        let refused = within_bounds(&Wordy, of_bytes(Outcome::BYTES_MAX + 1));
        assert_eq!((refused.result.kind, refused.writes.len()), (7, 0));
        assert!(refused.len_bytes() < 1000);
    }
}
