//! What a coordination is about, and the rounds it sends.

use super::Env;
use crate::tracker::QuorumTracker;
use protocol::message::{Message, Request, Verb};
use protocol::{
    Ballot, Hooks, Key, Micros, NodeId, NodeSet, Participants, RequestId, Route, Scope, Timestamp, Topology, Txn,
    TxnId, VotingGroup,
};

/// The transaction, the ballot it is driven at, and who is waiting for it.
#[derive(Clone, Debug)]
pub(super) struct Subject {
    pub(super) txn_id: TxnId,
    pub(super) ballot: Ballot,
    pub(super) scope: Scope,
    /// Known from the start, except while seeking.
    pub(super) txn: Option<Txn>,
    pub(super) groups: Vec<VotingGroup>,
    /// Unanswered as yet.
    pub(super) client: Option<RequestId>,
    pub(super) deadline: Micros,
    /// A decided execution time learned on the way.
    pub(super) known_at: Option<Timestamp>,
    /// The highest ballot heard of.
    pub(super) highest_promise: Ballot,
    pub(super) restarts: u32,
}

impl Subject {
    /// A client's transaction, at ballot zero.
    pub(super) fn live(
        txn_id: TxnId,
        route: Route,
        txn: Txn,
        topology: &Topology,
        request: RequestId,
        deadline: Micros,
    ) -> Self {
        Self {
            txn_id,
            ballot: Ballot::ZERO,
            groups: topology.voting_groups(route.keys()),
            scope: Scope::Full(route),
            txn: Some(txn),
            client: Some(request),
            deadline,
            known_at: None,
            highest_promise: Ballot::ZERO,
            restarts: 0,
        }
    }

    /// A transaction that somebody else began.
    pub(super) fn seeking(txn_id: TxnId, ballot: Ballot, scope: Scope, topology: &Topology) -> Self {
        Self {
            txn_id,
            ballot,
            groups: topology.voting_groups(scope.keys()),
            scope,
            txn: None,
            client: None,
            deadline: Micros(u64::MAX),
            known_at: None,
            highest_promise: Ballot::ZERO,
            restarts: 0,
        }
    }

    /// Somebody has promised `ballot`.
    pub(super) fn heard_promise(&mut self, ballot: Ballot) {
        self.highest_promise = self.highest_promise.max(ballot);
    }

    /// Widens what is known of it.
    pub(super) fn learn(&mut self, route: &Route, topology: &Topology) {
        if self.scope.route().is_none() {
            self.groups = topology.voting_groups(route.keys());
            self.scope = super::full(route);
        }
    }

    /// All replicas known of.
    pub(super) fn replicas(&self) -> NodeSet {
        self.groups.iter().fold(NodeSet::new(), |all, group| all.union(&group.nodes))
    }

    /// The groups that hold any of `keys`.
    pub(super) fn groups_of(&self, keys: &[Key]) -> Vec<VotingGroup> {
        let holds = |group: &&VotingGroup| group.keys.iter().any(|key| keys.binary_search(key).is_ok());
        self.groups.iter().filter(holds).cloned().collect()
    }

    /// The group of the home key; of any key while the route is unknown.
    pub(super) fn home_group(&self) -> Vec<VotingGroup> {
        match self.scope.route() {
            Some(route) => self.groups_of(std::slice::from_ref(route.home())),
            None => self.groups.first().cloned().into_iter().collect(),
        }
    }

    /// A message about it.
    pub(super) fn request(&self, verb: Verb) -> Message {
        Message::Request(Request { txn_id: self.txn_id, scope: self.scope.clone(), verb })
    }
}

/// One request to a set of replicas, repeated with back-off until enough have answered.
#[derive(Clone, Debug)]
pub(super) struct Round {
    pub(super) tracker: QuorumTracker,
    pub(super) due: Micros,
    verb: Option<Verb>,
    /// Only about these keys, if it is not about all.
    part: Option<Scope>,
    attempt: u32,
}

impl Round {
    /// A round over `groups` that has sent nothing yet.
    pub(super) fn idle<H>(groups: Vec<VotingGroup>, env: &Env<'_, H>) -> Self {
        Self {
            tracker: QuorumTracker::new(groups),
            due: env.now.mono + env.config.rpc_timeout,
            verb: None,
            part: None,
            attempt: 1,
        }
    }

    /// The same, about `keys` only: the stores of the others have nothing to say.
    pub(super) fn about(self, keys: &[Key]) -> Self {
        Self { part: Some(Scope::Part(Participants::of_keys(keys.to_vec()))), ..self }
    }

    fn message(&self, subject: &Subject, verb: Verb) -> Message {
        let scope = self.part.as_ref().unwrap_or(&subject.scope).clone();
        Message::Request(Request { txn_id: subject.txn_id, scope, verb })
    }

    /// Sends `verb` to every node of its groups.
    pub(super) fn begin<H: Hooks>(mut self, subject: &Subject, env: &mut Env<'_, H>, verb: Verb) -> Self {
        env.send(self.tracker.nodes(), self.message(subject, verb.clone()));
        self.verb = Some(verb);
        self
    }

    /// Sends `verb` to every node of `groups`.
    pub(super) fn start<H: Hooks>(
        subject: &Subject,
        env: &mut Env<'_, H>,
        groups: Vec<VotingGroup>,
        verb: Verb,
    ) -> Self {
        Self::idle(groups, env).begin(subject, env, verb)
    }

    /// Sends it again to whoever is missing; false if that has been tried often enough.
    pub(super) fn repeat<H: Hooks>(&mut self, subject: &Subject, env: &mut Env<'_, H>) -> bool {
        if self.attempt >= env.config.attempts_max {
            return false;
        }
        self.attempt += 1;
        self.due = env.now.mono + Micros(env.config.rpc_timeout.0 * u64::from(self.attempt));
        if let Some(verb) = self.verb.clone() {
            env.send(self.tracker.missing(), self.message(subject, verb));
        }
        true
    }

    /// Sends another form of it to one node.
    pub(super) fn send_to<H: Hooks>(&self, subject: &Subject, env: &mut Env<'_, H>, node: NodeId, verb: Verb) {
        env.send([node].into_iter().collect(), subject.request(verb));
    }
}
