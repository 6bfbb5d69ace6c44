//! Messages on their way, and a node's answers as they leave.

use super::{Event, World, kind_of, shown};
use crate::network::subject_of;
use crate::node::Held;
use crate::options::TICK;
use crate::script::Sent;
use command_store::StoreInput;
use coordinator::CoordinatorInput;
use protocol::message::{CheckStatusReply, Message, Reply, ReplyVerb, Request, Verb};
use protocol::{Key, NodeId, StoreId};

impl World<'_> {
    pub(super) fn send(&mut self, from: NodeId, to: NodeId, message: &Message) {
        if let Some(sent) = &mut self.sent {
            sent.push(Sent { at: self.time / TICK, from, to, message: message.clone() });
        }
        let is_faulty = self.is_faulty();
        let fate = self.network.fate(&self.options, is_faulty, from, to, message);
        if fate.is_empty() {
            self.counters.add("message lost", 1);
            self.trace.say(self.time, || format!("   lost {from}->{to} {}", shown(message)));
        }
        for delay in fate {
            self.after(delay, Event::Deliver { from, to, message: Box::new(message.clone()) });
        }
    }

    pub(super) fn deliver(&mut self, from: NodeId, to: NodeId, message: Message) {
        if !self.node(to).is_up {
            return;
        }
        let (subject, kind) = (subject_of(&message).unwrap_or_default(), kind_of(&message));
        self.trace.mix(self.time, &[u64::from(from.0) << 8 | u64::from(to.0), u64::from(kind), subject.hlc().0]);
        self.trace.say(self.time, || format!("{from}->{to} {}", shown(&message)));
        match message {
            Message::Request(request) => self.spread(from, to, request),
            Message::Reply(reply) => self.give_coordinator(to, CoordinatorInput::Reply { from, reply }),
            Message::InformDurable(inform) => {
                for store in 0..self.options.store_count {
                    self.give_store(to, StoreId(store), StoreInput::InformDurable(inform.clone()));
                }
            }
        }
    }

    pub(super) fn spread(&mut self, from: NodeId, to: NodeId, request: Request) {
        let mut inputs: Vec<(StoreId, StoreInput)> = Vec::new();
        let topology = std::sync::Arc::clone(&self.options.topology);
        let asks_coordinator = matches!(request.verb, Verb::CheckStatus(_));
        let (id, ballot) = (request.txn_id, request.verb.ballot());
        let owns = |key: &Key| topology.replicates(to, key);
        self.node(to).fan_in.spread(from, request, owns, |store, input| inputs.push((store, input)));
        if inputs.is_empty() && asks_coordinator {
            let verb = ReplyVerb::CheckStatusReply(CheckStatusReply { is_coordinating: false, slices: Vec::new() });
            return self.answer(to, from, Reply { txn_id: id, ballot, verb });
        }
        for (store, input) in inputs {
            self.give_store(to, store, input);
        }
    }

    /// A node's answer leaves: what it testifies to is remembered for ever.
    pub(super) fn answer(&mut self, node: NodeId, to: NodeId, mut reply: Reply) {
        if let ReplyVerb::CheckStatusReply(status) = &mut reply.verb {
            status.is_coordinating = self.node(node).coordinator.is_coordinating(reply.txn_id, to);
        }
        self.ghost.on_reply(node, &reply);
        self.send(node, to, &Message::Reply(reply));
    }

    pub(super) fn release(&mut self, node: NodeId) {
        for Held { store, to, ticket, reply, .. } in self.node(node).release() {
            self.ghost.on_store_reply((node, store), &reply);
            if let Some(reply) = self.node(node).fan_in.reduce(ticket, reply) {
                self.answer(node, to, reply);
            }
        }
    }
}
