//! The outgoing side of one connection, shared by its task and by the answers still under way.

use crate::codec::Output;
use crate::envelope::{Prefix, opcode};
use crate::error::Error;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::task::Waker;

/// Where the answers of one connection gather.
///
/// The task takes its waker out while it runs and puts it back before it rests, so any number of answers wakes it once and its own
/// answers never do.
#[derive(Debug)]
pub(crate) struct Line {
    output: RefCell<Output>,
    waker: RefCell<Option<Waker>>,
    in_flight: Cell<usize>,
    /// Nothing more will be sent: answers are dropped.
    closed: Cell<bool>,
    overflowed: Cell<bool>,
    output_max: usize,
    /// What of the output is counted in `waiting`.
    counted: Cell<usize>,
    waiting: Rc<Waiting>,
    version: Cell<u8>,
    hears: Cell<Hearing>,
}

/// Answers that wait for their clients, over all connections.
#[derive(Debug)]
pub(crate) struct Waiting {
    bytes: Cell<usize>,
    bytes_max: usize,
}

impl Waiting {
    pub(crate) fn new(bytes_max: usize) -> Self {
        Self { bytes: Cell::new(0), bytes_max }
    }
}

/// Which events a client registered for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Hearing {
    pub(crate) schema: bool,
    pub(crate) status: bool,
}

impl Line {
    pub(crate) fn new(output_max: usize, waiting: &Rc<Waiting>) -> Self {
        Self {
            output: RefCell::default(),
            waker: RefCell::default(),
            in_flight: Cell::new(0),
            closed: Cell::new(false),
            overflowed: Cell::new(false),
            output_max,
            counted: Cell::new(0),
            waiting: Rc::clone(waiting),
            version: Cell::new(crate::envelope::VERSION_MAX),
            hears: Cell::default(),
        }
    }

    /// Version of the answers; the highest until the client has named one.
    pub(crate) fn version(&self) -> u8 {
        self.version.get()
    }

    pub(crate) fn set_version(&self, version: u8) {
        self.version.set(version);
    }

    /// Sends one message, unless the connection is over.
    pub(crate) fn send(&self, stream: i16, opcode: u8, prefix: Prefix<'_>, write: impl FnOnce(&mut Vec<u8>)) {
        if self.closed.get() {
            return;
        }
        let mut output = self.output.borrow_mut();
        output.put((self.version.get(), stream, opcode), prefix, write);
        let total = self.count(output.pending());
        if output.pending() > self.output_max || total > self.waiting.bytes_max {
            *output = Output::default();
            self.count(0);
            self.overflowed.set(true);
            self.closed.set(true);
        }
        drop(output);
        self.wake();
    }

    pub(crate) fn send_error(&self, stream: i16, prefix: Prefix<'_>, error: &Error) {
        self.send(stream, opcode::ERROR, prefix, |body| error.put(body, self.version.get()));
    }

    pub(crate) fn use_segments(&self) {
        self.output.borrow_mut().use_segments();
    }

    /// Runs `with` on the bytes for the socket.
    pub(crate) fn with_output<T>(&self, with: impl FnOnce(&mut Output) -> T) -> T {
        let mut output = self.output.borrow_mut();
        let result = with(&mut output);
        self.count(output.pending());
        result
    }

    /// Brings the share of this line in what all lines hold up to date, and returns what they hold.
    fn count(&self, pending: usize) -> usize {
        let total = self.waiting.bytes.get() - self.counted.replace(pending) + pending;
        self.waiting.bytes.set(total);
        total
    }

    pub(crate) fn pending(&self) -> usize {
        self.output.borrow().pending()
    }

    pub(crate) fn close(&self) {
        self.closed.set(true);
    }

    /// Whether the client left so many answers unread that it was given up.
    pub(crate) fn has_overflowed(&self) -> bool {
        self.overflowed.get()
    }

    pub(crate) fn in_flight(&self) -> usize {
        self.in_flight.get()
    }

    pub(crate) fn enter(&self) {
        self.in_flight.set(self.in_flight.get() + 1);
    }

    pub(crate) fn leave(&self) {
        self.in_flight.set(self.in_flight.get() - 1);
        self.wake();
    }

    /// Registers for more events; what was registered before stays.
    pub(crate) fn hear(&self, more: Hearing) {
        let now = self.hears.get();
        self.hears.set(Hearing { schema: now.schema || more.schema, status: now.status || more.status });
    }

    pub(crate) fn hears(&self) -> Hearing {
        self.hears.get()
    }

    pub(crate) fn take_waker(&self) {
        self.waker.borrow_mut().take();
    }

    pub(crate) fn rest(&self, waker: &Waker) {
        *self.waker.borrow_mut() = Some(waker.clone());
    }

    /// Lets the task run again.
    pub(crate) fn wake(&self) {
        if let Some(waker) = self.waker.borrow_mut().take() {
            waker.wake();
        }
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        self.count(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::Wake;

    struct Count(AtomicUsize);

    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[test]
    fn many_answers_wake_the_task_once() {
        let count = Arc::new(Count(AtomicUsize::new(0)));
        let line = Line::new(1000, &Rc::new(Waiting::new(1000)));
        line.rest(&Waker::from(Arc::clone(&count)));
        (0..5).for_each(|stream| line.send(stream, opcode::RESULT, Prefix::NONE, |body| body.push(1)));
        assert_eq!((count.0.load(Ordering::Relaxed), line.pending()), (1, 50));
    }

    #[test]
    fn client_that_never_reads_is_given_up() {
        let line = Line::new(100, &Rc::new(Waiting::new(1000)));
        (0..20).for_each(|stream| line.send(stream, opcode::RESULT, Prefix::NONE, |body| body.push(1)));
        assert!(line.has_overflowed());
        assert_eq!(line.pending(), 0);
    }

    #[test]
    fn all_lines_together_hold_no_more_than_their_bound() {
        let waiting = Rc::new(Waiting::new(100));
        let [first, second] = [(), ()].map(|()| Line::new(1000, &waiting));
        let send = |line: &Line, count| {
            (0..count).for_each(|_| line.send(1, opcode::RESULT, Prefix::NONE, |body| body.push(1)));
        };
        send(&first, 6);
        send(&second, 5);
        assert!(second.has_overflowed() && !first.has_overflowed());
        assert_eq!(waiting.bytes.get(), 60);
        first.with_output(|output| output.advance(25));
        assert_eq!(waiting.bytes.get(), 35);
        drop(first);
        assert_eq!(waiting.bytes.get(), 0);
    }
}
