//! Clients: beginning transactions, and hearing how they end.

use super::{Event, World};
use crate::workload::Begun;
use coordinator::CoordinatorInput;
use protocol::{ClientOutcome, NodeId, RequestId, TxnId};

impl World<'_> {
    pub(super) fn client(&mut self, client: u32, generation: u32) {
        if !self.workload.is_current(client, generation) {
            return;
        }
        let up: Vec<NodeId> = self.nodes.iter().filter(|node| node.is_up).map(|node| node.id).collect();
        if up.is_empty() {
            return self.after(50, Event::Client(client, generation));
        }
        let generation = self.workload.advance(client);
        let node = self.workload.pick(&up);
        let begun = self.workload.begin(&self.options, client, self.events);
        let patience = self.workload.patience();
        self.after(patience, Event::Client(client, generation));
        self.begin(node, begun);
    }

    pub(super) fn begin(&mut self, node: NodeId, begun: Begun) {
        let Begun { request, kind, keys, body } = begun;
        self.trace.say(self.time, || format!("** op {} {kind:?} at {node}", request.0));
        self.give_coordinator(node, CoordinatorInput::Begin { request, kind, keys, body });
    }

    pub(super) fn client_answer(&mut self, request: RequestId, id: Option<TxnId>, outcome: &ClientOutcome) {
        self.trace.say(self.time, || format!("** op {} is {outcome:?}", request.0));
        self.answers.insert(request.0 as u32, outcome.clone());
        match (id, outcome) {
            (Some(id), ClientOutcome::Applied { .. }) => self.ghost.on_success(id),
            (Some(id), ClientOutcome::NotApplied(_)) => self.ghost.on_failure(id),
            _ => {}
        }
        if let Some(client) = self.workload.answered(request, outcome, self.events) {
            let generation = self.workload.advance(client);
            let pause = self.workload.pause();
            self.after(pause, Event::Client(client, generation));
        }
    }
}
