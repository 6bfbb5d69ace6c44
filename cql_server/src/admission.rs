//! Permits of requests in flight: refuse at the door, never in the middle.

use crate::line::Line;
use std::cell::Cell;
use std::rc::Rc;

/// How many requests are under way in the whole port.
#[derive(Debug)]
pub(crate) struct Admission {
    in_flight: Rc<Cell<usize>>,
    in_flight_max: usize,
}

/// The right to have one request under way; given back when dropped.
#[derive(Debug)]
pub(crate) struct Permit {
    in_flight: Rc<Cell<usize>>,
    line: Rc<Line>,
}

impl Admission {
    pub(crate) fn new(in_flight_max: usize) -> Self {
        Self { in_flight: Rc::default(), in_flight_max }
    }

    /// A permit for a request of `line`, or `None` if the port is full.
    pub(crate) fn enter(&self, line: &Rc<Line>) -> Option<Permit> {
        if self.in_flight.get() >= self.in_flight_max {
            return None;
        }
        self.in_flight.set(self.in_flight.get() + 1);
        line.enter();
        Some(Permit { in_flight: Rc::clone(&self.in_flight), line: Rc::clone(line) })
    }

    pub(crate) fn in_flight(&self) -> usize {
        self.in_flight.get()
    }
}

impl Permit {
    pub(crate) fn line(&self) -> &Rc<Line> {
        &self.line
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.in_flight.set(self.in_flight.get() - 1);
        self.line.leave();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn permit_comes_back_when_dropped() {
        let admission = Admission::new(1);
        let line = Rc::new(Line::new(100));
        let permit = admission.enter(&line).expect("first");
        assert!(admission.enter(&line).is_none());
        assert_eq!((admission.in_flight(), line.in_flight()), (1, 1));
        drop(permit);
        assert_eq!((admission.in_flight(), line.in_flight()), (0, 0));
        assert!(admission.enter(&line).is_some());
    }
}
