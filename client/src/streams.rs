//! Stream ids of one connection: who waits for which, and which are lost until answered.

use tokio::sync::oneshot;

use crate::frame::Envelope;

/// How the wait for an answer ends.
#[derive(Debug)]
pub(crate) enum Arrival {
    Answered(Envelope),
    /// The connection ended; `sent` tells whether the request may have left.
    Lost {
        sent: bool,
    },
}

/// Names one use of a stream id, so that a late caller cannot touch the next use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ticket {
    pub(crate) stream: i16,
    number: u64,
}

#[derive(Debug)]
enum Slot {
    Free,
    Waiting {
        number: u64,
        caller: oneshot::Sender<Arrival>,
    },
    /// The caller gave up; the id must not be used before the server has answered, or that answer would go to another.
    Orphan,
}

/// Table of stream ids.
///
/// *Shape*: `free` holds exactly the positions of `Slot::Free`; `orphan_count` counts `Slot::Orphan`.
#[derive(Debug)]
pub(crate) struct Streams {
    slots: Vec<Slot>,
    free: Vec<i16>,
    orphan_count: usize,
    next_number: u64,
}

impl Streams {
    /// A table of `count` ids, at most 32,768.
    pub(crate) fn new(count: usize) -> Self {
        let count = count.clamp(1, 1 << 15);
        let slots = (0..count).map(|_| Slot::Free).collect();
        let free = (0..count).rev().filter_map(|id| i16::try_from(id).ok()).collect();
        Self { slots, free, orphan_count: 0, next_number: 0 }
    }

    /// Takes a free id for a caller; `None` if all are in use.
    pub(crate) fn reserve(&mut self) -> Option<(Ticket, oneshot::Receiver<Arrival>)> {
        let stream = self.free.pop()?;
        let (caller, answer) = oneshot::channel();
        let number = self.next_number;
        self.next_number += 1;
        self.slots[index(stream)] = Slot::Waiting { number, caller };
        Some((Ticket { stream, number }, answer))
    }

    /// Hands an answer to its caller and frees the id; false if nobody can have asked for it.
    pub(crate) fn answer(&mut self, envelope: Envelope) -> bool {
        let stream = envelope.stream;
        let Some(slot) = usize::try_from(stream).ok().and_then(|at| self.slots.get_mut(at)) else { return false };
        match std::mem::replace(slot, Slot::Free) {
            Slot::Free => return false,
            Slot::Orphan => self.orphan_count -= 1,
            // The caller may have gone this instant; then the answer is dropped with the channel.
            Slot::Waiting { caller, .. } => drop(caller.send(Arrival::Answered(envelope))),
        }
        self.free.push(stream);
        true
    }

    /// Marks the id of a caller that stopped waiting; does nothing if it was answered meanwhile.
    pub(crate) fn abandon(&mut self, ticket: Ticket) {
        let Some(slot) = self.slots.get_mut(index(ticket.stream)) else { return };
        if matches!(slot, Slot::Waiting { number, .. } if *number == ticket.number) {
            *slot = Slot::Orphan;
            self.orphan_count += 1;
        }
    }

    /// Ends every wait and the table with it; `unsent` are the streams whose request never left.
    pub(crate) fn lose_all(&mut self, unsent: &[i16]) {
        let lost = |stream: i16| Arrival::Lost { sent: !unsent.contains(&stream) };
        for (stream, slot) in (0..).zip(&mut self.slots) {
            if let Slot::Waiting { caller, .. } = std::mem::replace(slot, Slot::Free) {
                drop(caller.send(lost(stream)));
            }
        }
        self.slots.clear();
        self.free.clear();
        self.orphan_count = 0;
    }

    /// Callers still waiting.
    pub(crate) fn waiting_count(&self) -> usize {
        self.slots.len() - self.free.len() - self.orphan_count
    }

    /// Whether a quarter of the ids waits for answers nobody wants: time to replace the connection.
    pub(crate) fn is_worn_out(&self) -> bool {
        self.orphan_count > 0 && self.orphan_count * 4 >= self.slots.len()
    }
}

fn index(stream: i16) -> usize {
    usize::try_from(stream).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(stream: i16) -> Envelope {
        Envelope { flags: 0, stream, opcode: 8, body: vec![] }
    }

    #[test]
    fn an_abandoned_id_is_reserved_until_it_is_answered() {
        let mut streams = Streams::new(1);
        let (ticket, _) = streams.reserve().expect("free");
        streams.abandon(ticket);
        assert!(streams.reserve().is_none());
        assert!(streams.answer(answer(ticket.stream)));
        assert_eq!(streams.reserve().expect("free again").0.stream, ticket.stream);
    }

    #[test]
    fn a_late_abandon_does_not_touch_the_next_use() {
        let mut streams = Streams::new(1);
        let (first, _) = streams.reserve().expect("free");
        streams.answer(answer(first.stream));
        let (second, mut wait) = streams.reserve().expect("free again");
        streams.abandon(first);
        assert!(streams.answer(answer(second.stream)));
        assert!(matches!(wait.try_recv(), Ok(Arrival::Answered(_))));
    }

    #[test]
    fn an_answer_nobody_asked_for_is_refused() {
        let mut streams = Streams::new(4);
        assert!(!streams.answer(answer(3)) && !streams.answer(answer(-1)) && !streams.answer(answer(4)));
    }

    #[test]
    fn a_quarter_of_orphans_wears_the_connection_out() {
        let mut streams = Streams::new(8);
        let tickets: Vec<_> = (0..2).map(|_| streams.reserve().expect("free")).collect();
        streams.abandon(tickets[0].0);
        assert!(!streams.is_worn_out());
        streams.abandon(tickets[1].0);
        assert!(streams.is_worn_out());
        assert_eq!(streams.waiting_count(), 0);
    }

    #[test]
    fn a_lost_connection_tells_sent_from_unsent() {
        let mut streams = Streams::new(2);
        let (sent, mut sent_wait) = streams.reserve().expect("free");
        let (unsent, mut unsent_wait) = streams.reserve().expect("free");
        streams.lose_all(&[unsent.stream]);
        assert_ne!(sent.stream, unsent.stream);
        assert!(matches!(sent_wait.try_recv(), Ok(Arrival::Lost { sent: true })));
        assert!(matches!(unsent_wait.try_recv(), Ok(Arrival::Lost { sent: false })));
    }
}
