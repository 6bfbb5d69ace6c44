//! Permits of connections and of requests in flight: refuse at the door, never in the middle.

use crate::line::Line;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::net::IpAddr;
use std::rc::Rc;

/// How many connections there are, and from where.
#[derive(Debug)]
pub(crate) struct Places {
    taken: Cell<usize>,
    by_address: RefCell<HashMap<IpAddr, usize>>,
    places_max: usize,
    address_max: usize,
}

/// Why there is no place.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub(crate) enum Full {
    #[error("connections_max = {0} is reached")]
    Port(usize),
    #[error("connections_per_address_max = {0} is reached")]
    Address(usize),
}

/// The place of one connection; given back when dropped.
#[derive(Debug)]
pub(crate) struct Place {
    places: Rc<Places>,
    address: IpAddr,
}

impl Places {
    pub(crate) fn new(places_max: usize, address_max: usize) -> Self {
        Self { taken: Cell::new(0), by_address: RefCell::default(), places_max, address_max }
    }

    pub(crate) fn enter(self: &Rc<Self>, address: IpAddr) -> Result<Place, Full> {
        if self.taken.get() >= self.places_max {
            return Err(Full::Port(self.places_max));
        }
        let mut by_address = self.by_address.borrow_mut();
        // Counted only once admitted, so that the map is no larger than the port is full.
        if by_address.get(&address).is_some_and(|count| *count >= self.address_max) {
            return Err(Full::Address(self.address_max));
        }
        *by_address.entry(address).or_default() += 1;
        self.taken.set(self.taken.get() + 1);
        Ok(Place { places: Rc::clone(self), address })
    }

    pub(crate) fn taken(&self) -> usize {
        self.taken.get()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.places.taken.set(self.places.taken.get() - 1);
        let mut by_address = self.places.by_address.borrow_mut();
        if let Some(count) = by_address.get_mut(&self.address) {
            *count -= 1;
            if *count == 0 {
                by_address.remove(&self.address);
            }
        }
    }
}

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
    use crate::line::Waiting;

    #[test]
    fn places_are_counted_in_all_and_by_address() {
        let [near, far] = [[127, 0, 0, 1], [10, 0, 0, 1]].map(IpAddr::from);
        let places = Rc::new(Places::new(3, 2));
        let first = places.enter(near).expect("room");
        let _second = places.enter(near).expect("room");
        assert_eq!(places.enter(near).err(), Some(Full::Address(2)));
        let third = places.enter(far).expect("room");
        assert_eq!(places.enter(far).err(), Some(Full::Port(3)));
        drop((first, third));
        assert_eq!((places.taken(), places.by_address.borrow().len()), (1, 1));
        places.enter(near).expect("room again");
    }

    #[test]
    fn permit_comes_back_when_dropped() {
        let admission = Admission::new(1);
        let line = Rc::new(Line::new(100, &Rc::new(Waiting::new(100))));
        let permit = admission.enter(&line).expect("first");
        assert!(admission.enter(&line).is_none());
        assert_eq!((admission.in_flight(), line.in_flight()), (1, 1));
        drop(permit);
        assert_eq!((admission.in_flight(), line.in_flight()), (0, 0));
        assert!(admission.enter(&line).is_some());
    }
}
