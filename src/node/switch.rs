//! The crossroads of a node: frames of peers to stores and coordinator, their answers and requests to peers.
//!
//! One actor per node owns the fan-in. Whatever it takes in one go leaves in one go: one batch per store, one for the coordinator, and
//! what is queued on a link until its task runs is one frame. Messages to the own node are handed over as values.

use super::counters::Counters;
use super::schema::SchemaBoard;
use crate::clock::Clock;
use actix::{Actor, Context, Handler, Recipient};
use auth::Verified;
use command_store::actor::{StoreReplies, StoreReply};
use command_store::{FanIn, Slices, StoreInput};
use coordinator::CoordinatorInput;
use coordinator::actor::{Output, Statuses};
use protocol::message::{CheckStatusReply, Message, Reply, ReplyVerb, Request, Unavailable, Verb};
use protocol::{Ballot, Inbox, NodeId, NodeSet, StoreId, Tell, Topology, TxnId, codec};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;
use transport::{Batch, Inbound, Link};

/// The links of a node, by peer.
pub(crate) type Links = Rc<BTreeMap<NodeId, Link>>;

/// The neighbours of a switch.
pub(crate) struct Neighbours {
    pub(crate) stores: Vec<Recipient<Tell<Inbox<StoreInput>>>>,
    pub(crate) coordinator: Recipient<Tell<Inbox<CoordinatorInput>>>,
    pub(crate) statuses: Recipient<Tell<Statuses>>,
}

/// What the switch shares with the rest of its node.
pub(crate) struct Surroundings {
    pub(crate) node: NodeId,
    pub(crate) topology: Arc<Topology>,
    pub(crate) links: Links,
    pub(crate) schema: Rc<SchemaBoard>,
    pub(crate) counters: Rc<Counters>,
}

/// Stores and coordinator exist after the switch, since they hold its address.
pub(crate) struct Meet(pub(crate) Neighbours);

/// Decoded messages of one frame.
pub(crate) struct Received {
    from: NodeId,
    messages: Vec<Message>,
}

/// The actor.
pub(crate) struct SwitchActor {
    around: Surroundings,
    fan_in: FanIn,
    neighbours: Option<Neighbours>,
    to_stores: Vec<Inbox<StoreInput>>,
    to_coordinator: Inbox<CoordinatorInput>,
    statuses: Statuses,
    buffer: Vec<u8>,
}

impl SwitchActor {
    pub(crate) fn new(around: Surroundings, slices: Slices) -> Self {
        Self {
            around,
            fan_in: FanIn::new(slices),
            neighbours: None,
            to_stores: (0..slices.count()).map(|_| Vec::new()).collect(),
            to_coordinator: Vec::new(),
            statuses: Vec::new(),
            buffer: Vec::new(),
        }
    }

    fn deliver(&mut self, from: NodeId, message: Message) {
        match message {
            Message::Request(request) => self.spread(from, request),
            Message::Reply(reply) => {
                self.around.schema.on_reply(from, &reply);
                self.to_coordinator.push(CoordinatorInput::Reply { from, reply });
            }
            Message::InformDurable(inform) => {
                for store in &mut self.to_stores {
                    store.push(StoreInput::InformDurable(inform.clone()));
                }
            }
        }
    }

    fn spread(&mut self, from: NodeId, request: Request) {
        let (id, ballot) = (request.txn_id, request.verb.ballot());
        let asks_coordinator = matches!(request.verb, Verb::CheckStatus(_));
        let (node, topology) = (self.around.node, &self.around.topology);
        let to_stores = &mut self.to_stores;
        let mut is_taken = false;
        let deliver = |store: StoreId, input| {
            is_taken = true;
            to_stores[usize::from(store.0)].push(input);
        };
        self.fan_in.spread(from, request, |key| topology.replicates(node, key), deliver);
        if !is_taken && asks_coordinator {
            // nothing of it is stored here, but it may be coordinated here
            let verb = ReplyVerb::CheckStatusReply(CheckStatusReply { is_coordinating: false, slices: Vec::new() });
            self.answer(from, Reply { txn_id: id, ballot, verb });
        }
    }

    /// A whole answer of this node.
    fn answer(&mut self, to: NodeId, reply: Reply) {
        if matches!(reply.verb, ReplyVerb::CheckStatusReply(_)) {
            self.statuses.push((to, reply));
        } else {
            self.send_reply(to, reply);
        }
    }

    fn send_reply(&mut self, to: NodeId, reply: Reply) {
        let message = Message::Reply(reply);
        if to == self.around.node {
            return self.deliver(to, message);
        }
        self.encode(&message);
        self.send_encoded(to);
    }

    fn send(&mut self, to: &NodeSet, message: Message) {
        let own = self.around.node;
        if let Message::Request(request) = &message {
            self.around.schema.on_request(to, request);
        }
        if to.iter().any(|node| node != own) {
            self.encode(&message);
            for peer in to.iter().filter(|node| *node != own) {
                match waits_for_all(&message).filter(|_| !self.is_linked(peer)) {
                    Some(coordination) => self.deliver(peer, unavailable(coordination)),
                    None => self.send_encoded(peer),
                }
            }
        }
        if to.contains(own) {
            self.deliver(own, message);
        }
    }

    fn is_linked(&self, peer: NodeId) -> bool {
        self.around.links.get(&peer).is_some_and(|link| link.connected_to().is_some())
    }

    fn encode(&mut self, message: &Message) {
        self.buffer.clear();
        codec::encode(message, &mut self.buffer);
    }

    /// Work that has begun is always queued; what a link cannot take is lost, as on any network, and counted by the link.
    fn send_encoded(&self, to: NodeId) {
        match self.around.links.get(&to).map(|link| link.send(&self.buffer)) {
            Some(Ok(())) => {}
            Some(Err(_)) | None => self.around.counters.unsent.set(self.around.counters.unsent.get() + 1),
        }
    }

    fn flush(&mut self) {
        let Some(neighbours) = &self.neighbours else { return };
        for (inbox, store) in self.to_stores.iter_mut().zip(&neighbours.stores) {
            if !inbox.is_empty() {
                store.do_send(Tell(std::mem::take(inbox)));
            }
        }
        if !self.to_coordinator.is_empty() {
            neighbours.coordinator.do_send(Tell(std::mem::take(&mut self.to_coordinator)));
        }
        if !self.statuses.is_empty() {
            neighbours.statuses.do_send(Tell(std::mem::take(&mut self.statuses)));
        }
    }
}

/// The coordination that waits for every answer to `message`: one that asks for first votes, or asks around.
fn waits_for_all(message: &Message) -> Option<(TxnId, Ballot)> {
    match message {
        Message::Request(Request { txn_id, verb: verb @ (Verb::PreAccept(_) | Verb::CheckStatus(_)), .. }) => {
            Some((*txn_id, verb.ballot()))
        }
        _ => None,
    }
}

/// The answer of a node that cannot be asked: it counts as failed at once, instead of being waited for. Nothing was sent to it.
fn unavailable((txn_id, ballot): (TxnId, Ballot)) -> Message {
    let verb = ReplyVerb::Unavailable(Unavailable { why: "no link to it".to_owned() });
    Message::Reply(Reply { txn_id, ballot, verb })
}

impl Actor for SwitchActor {
    type Context = Context<Self>;
}

impl Handler<Tell<Meet>> for SwitchActor {
    type Result = ();

    fn handle(&mut self, Tell(Meet(neighbours)): Tell<Meet>, _: &mut Context<Self>) {
        self.neighbours = Some(neighbours);
        self.flush();
    }
}

impl Handler<Tell<Received>> for SwitchActor {
    type Result = ();

    fn handle(&mut self, Tell(Received { from, messages }): Tell<Received>, _: &mut Context<Self>) {
        for message in messages {
            self.deliver(from, message);
        }
        self.flush();
    }
}

impl Handler<Tell<StoreReplies>> for SwitchActor {
    type Result = ();

    fn handle(&mut self, Tell(replies): Tell<StoreReplies>, _: &mut Context<Self>) {
        for StoreReply { to, ticket, reply } in replies {
            if let Some(reply) = self.fan_in.reduce(ticket, reply) {
                self.answer(to, reply);
            }
        }
        self.flush();
    }
}

impl Handler<Tell<Output>> for SwitchActor {
    type Result = ();

    fn handle(&mut self, Tell(output): Tell<Output>, _: &mut Context<Self>) {
        let Output { sends, propagates, statuses } = output;
        for (to, message) in sends {
            self.send(&to, message);
        }
        for propagate in propagates {
            for store in &mut self.to_stores {
                store.push(StoreInput::Propagate(propagate.clone()));
            }
        }
        for (to, reply) in statuses {
            self.send_reply(to, reply);
        }
        self.flush();
    }
}

/// Hands opened frames to the switch.
pub(crate) struct FrameDoor {
    pub(crate) switch: Recipient<Tell<Received>>,
    pub(crate) counters: Rc<Counters>,
    pub(crate) time: Clock,
}

impl FrameDoor {
    /// The newest id that `from` has begun in this frame tells how its clock stands against the own one.
    fn note_lead(&self, from: NodeId, messages: &[Message]) {
        let begun = messages.iter().filter_map(|message| match message {
            Message::Request(Request { txn_id, verb: Verb::PreAccept(_), .. }) => Some(*txn_id),
            _ => None,
        });
        if let Some(id) = begun.filter(|id| id.node() == from).max() {
            let now = self.time.now();
            let [id_us, wall_us] = [id.hlc().0, now.wall.0].map(|us| i64::try_from(us).unwrap_or(i64::MAX));
            self.counters.note_lead(from, id_us - wall_us, now.mono);
        }
    }
}

impl Inbound for FrameDoor {
    fn deliver(&self, from: u32, batch: Verified<Batch<'_>>) {
        let from = NodeId(from);
        let mut messages = Vec::with_capacity(batch.get().len());
        for bytes in batch.into_inner() {
            match codec::decode(bytes) {
                Ok(message) => messages.push(message),
                Err(error) => self.counters.count_bad_message(from, &error),
            }
        }
        self.note_lead(from, &messages);
        self.switch.do_send(Tell(Received { from, messages }));
    }
}
