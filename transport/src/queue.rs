use std::sync::{Mutex, MutexGuard, PoisonError};

use auth::frame::{HEADER_LEN, TAG_LEN};

use crate::batch::PREFIX;
use crate::link::SendError;

/// A buffer that grew beyond this in a burst is given back once it is empty.
const KEEP_MAX: usize = 1 << 20;

/// Messages waiting for one peer, laid out as the payload of the frame they will become.
///
/// Two buffers take turns: one is filled while the other is being written.
#[derive(Debug)]
pub(crate) struct Queue {
    state: Mutex<State>,
    queue_max: usize,
    payload_max: usize,
}

#[derive(Debug)]
struct State {
    /// [`HEADER_LEN`] spare bytes, then the payload.
    waiting: Vec<u8>,
    count: u32,
    /// The buffer whose turn is next.
    spare: Vec<u8>,
    /// Payload bytes being written.
    in_flight: usize,
    closed: bool,
}

/// A frame's worth of messages taken out of the queue, with room for the header in front.
#[derive(Debug)]
pub(crate) struct Taken {
    pub(crate) frame: Vec<u8>,
    pub(crate) count: u32,
}

/// Whether a message must get in or may be turned away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Admission {
    /// New work: refused beyond `queue_max`, bytes being written included.
    New,
    /// Work already begun: taken as long as it fits one frame.
    Begun,
}

impl Queue {
    pub(crate) fn new(queue_max: usize, payload_max: usize) -> Self {
        let state =
            State { waiting: vec![0; HEADER_LEN], count: 0, spare: vec![0; HEADER_LEN], in_flight: 0, closed: false };
        Self { state: Mutex::new(state), queue_max, payload_max }
    }

    /// Copies a message in. True if the queue was empty, so that the writer must be woken.
    pub(crate) fn push(&self, message: &[u8], admission: Admission) -> Result<bool, SendError> {
        let needed = PREFIX + message.len();
        let len = match u32::try_from(message.len()) {
            Ok(len) if needed <= self.payload_max => len,
            _ => return Err(SendError::TooLong { len: message.len(), max: self.payload_max - PREFIX }),
        };
        let mut state = self.lock();
        if state.closed {
            return Err(SendError::Closed);
        }
        let payload = state.waiting.len() - HEADER_LEN;
        let fits = match admission {
            Admission::New => payload + state.in_flight + needed <= self.queue_max,
            Admission::Begun => payload + needed <= self.payload_max,
        };
        if !fits || state.count == u32::MAX {
            return Err(SendError::Full);
        }
        state.waiting.extend_from_slice(&len.to_be_bytes());
        state.waiting.extend_from_slice(message);
        state.count += 1;
        Ok(state.count == 1)
    }

    /// Everything that waits, as one frame to be; none if nothing waits.
    pub(crate) fn take(&self) -> Option<Taken> {
        let mut state = self.lock();
        if state.count == 0 {
            return None;
        }
        let state = &mut *state;
        let next = std::mem::take(&mut state.spare);
        let frame = std::mem::replace(&mut state.waiting, if next.is_empty() { vec![0; HEADER_LEN] } else { next });
        state.in_flight = frame.len() - HEADER_LEN;
        Some(Taken { frame, count: std::mem::take(&mut state.count) })
    }

    /// Takes a written frame's buffer back.
    pub(crate) fn written(&self, mut frame: Vec<u8>) {
        frame.truncate(HEADER_LEN);
        if frame.capacity() > KEEP_MAX {
            frame.shrink_to(HEADER_LEN + TAG_LEN);
        }
        let mut state = self.lock();
        state.in_flight = 0;
        state.spare = frame;
    }

    /// Payload bytes waiting or being written.
    pub(crate) fn len(&self) -> usize {
        let state = self.lock();
        state.waiting.len() - HEADER_LEN + state.in_flight
    }

    /// Takes no more messages; those inside stay.
    pub(crate) fn close(&self) {
        self.lock().closed = true;
    }

    /// A poisoned lock means a panic while copying bytes: the state is whole in any case.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use auth::Payload;

    use super::*;
    use crate::Batch;

    fn messages(taken: &Taken) -> Vec<Vec<u8>> {
        let payload = Payload { bytes: &taken.frame[HEADER_LEN..], count: taken.count };
        Batch::parse(payload).unwrap().iter().map(<[u8]>::to_vec).collect()
    }

    #[test]
    fn everything_waiting_becomes_one_frame() {
        let queue = Queue::new(1000, 2000);
        assert_eq!(queue.push(b"one", Admission::New), Ok(true));
        assert_eq!(queue.push(b"", Admission::Begun), Ok(false));
        let taken = queue.take().unwrap();
        assert_eq!(messages(&taken), [b"one".to_vec(), vec![]]);
        assert!(queue.take().is_none());
        queue.written(taken.frame);
        assert_eq!(queue.push(b"two", Admission::New), Ok(true));
        assert_eq!(messages(&queue.take().unwrap()), [b"two"]);
    }

    #[test]
    fn bytes_being_written_count_against_new_work() {
        let queue = Queue::new(20, 30);
        queue.push(&[0; 12], Admission::New).unwrap();
        let taken = queue.take().unwrap();
        assert_eq!(queue.push(&[0; 1], Admission::New), Err(SendError::Full));
        assert_eq!(queue.push(&[0; 1], Admission::Begun), Ok(true));
        queue.written(taken.frame);
        assert_eq!(queue.len(), 5);
        assert_eq!(queue.push(&[0; 1], Admission::New), Ok(false));
    }

    #[test]
    fn begun_work_is_bounded_by_one_frame() {
        let queue = Queue::new(20, 30);
        queue.push(&[0; 20], Admission::Begun).unwrap();
        assert_eq!(queue.push(&[0; 3], Admission::Begun), Err(SendError::Full));
        assert_eq!(queue.push(&[0; 2], Admission::Begun), Ok(false));
        assert_eq!(queue.push(&[0; 27], Admission::Begun), Err(SendError::TooLong { len: 27, max: 26 }));
    }

    #[test]
    fn closed_queue_takes_nothing_but_keeps_what_it_has() {
        let queue = Queue::new(100, 100);
        queue.push(b"last", Admission::New).unwrap();
        queue.close();
        assert_eq!(queue.push(b"late", Admission::Begun), Err(SendError::Closed));
        assert_eq!(messages(&queue.take().unwrap()), [b"last"]);
    }

    #[test]
    fn memory_of_a_burst_is_given_back() {
        let queue = Queue::new(4 << 20, 4 << 20);
        queue.push(&vec![0; 2 << 20], Admission::New).unwrap();
        queue.written(queue.take().unwrap().frame);
        assert!(queue.lock().spare.capacity() < KEEP_MAX);
    }
}
