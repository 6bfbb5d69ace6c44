//! What a script may do to the world.

use super::{Event, World};
use coordinator::CoordinatorInput;
use protocol::message::Message;
use protocol::{Chase, NodeId};

impl World<'_> {
    pub(crate) fn begin_scripted(&mut self, node: NodeId, reads: u8, appends: u8) -> u32 {
        let event = self.events;
        self.events += 1;
        let begun = self.workload.scripted(&self.options, event, reads, appends);
        let number = begun.request.0 as u32;
        self.begin(node, begun);
        number
    }

    pub(crate) fn release_held(&mut self, which: impl Fn(NodeId, NodeId, &Message) -> bool) {
        let held = std::mem::take(&mut self.network.held);
        let (free, held): (Vec<_>, Vec<_>) =
            held.into_iter().partition(|(from, to, message)| which(*from, *to, message));
        self.network.held = held;
        for (from, to, message) in free {
            self.after(1, Event::Deliver { from, to, message: Box::new(message) });
        }
    }

    pub(crate) fn kill(&mut self, node: NodeId) {
        self.node(node).crash();
    }

    pub(crate) fn stall_syncs(&mut self, node: NodeId, is_stalled: bool) {
        self.node(node).is_stalled = is_stalled;
        if !is_stalled {
            self.node(node).is_syncing = false;
            self.sync_soon(node);
        }
    }

    pub(crate) fn shift_clock(&mut self, node: NodeId, micros: i64) {
        let node = self.node(node);
        node.clock_offset = node.clock_offset.saturating_add_signed(micros);
    }

    pub(crate) fn deliver_soon(&mut self, from: NodeId, to: NodeId, message: Message) {
        self.after(1, Event::Deliver { from, to, message: Box::new(message) });
    }

    pub(crate) fn chase_scripted(&mut self, node: NodeId, chase: Chase) {
        self.give_coordinator(node, CoordinatorInput::Chase(chase));
    }
}
