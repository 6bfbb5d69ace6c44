use std::cell::RefCell;
use std::collections::BTreeMap;

use auth::Party;
use tokio::sync::oneshot;

/// The one live inbound connection of each peer.
///
/// The newest proven connection wins: an older one is as a rule a dead host's or a broken path's, and refusing the new
/// one would lock the peer out until the old one times out.
#[derive(Debug, Default)]
pub(crate) struct Registry {
    state: RefCell<State>,
}

#[derive(Debug, Default)]
struct State {
    next: u64,
    peers: BTreeMap<u32, Seen>,
}

#[derive(Debug)]
struct Seen {
    connection: u64,
    incarnation: u64,
    /// The process life before the current one.
    earlier: Option<u64>,
    stop: Option<oneshot::Sender<()>>,
}

/// What a new connection means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Arrival {
    First,
    /// An open connection was replaced.
    Replaced,
    /// A process life that had been followed by another one is back: two processes hold the same keys.
    Twin,
}

/// A place in the registry; to be given back with [`Registry::leave`].
#[derive(Debug)]
pub(crate) struct Place {
    connection: u64,
    node: u32,
    /// Fires when a newer connection of the same peer took over.
    pub(crate) replaced: oneshot::Receiver<()>,
}

impl Registry {
    pub(crate) fn enter(&self, peer: Party) -> (Place, Arrival) {
        let (stop, replaced) = oneshot::channel();
        let mut state = self.state.borrow_mut();
        state.next += 1;
        let connection = state.next;
        let mut seen = Seen { connection, incarnation: peer.incarnation, earlier: None, stop: Some(stop) };
        let mut arrival = Arrival::First;
        if let Some(old) = state.peers.remove(&peer.node) {
            let is_same = old.incarnation == peer.incarnation;
            seen.earlier = if is_same { old.earlier } else { Some(old.incarnation) };
            if old.stop.is_some_and(|stop| stop.send(()).is_ok()) {
                arrival = Arrival::Replaced;
            }
            if !is_same && old.earlier == Some(peer.incarnation) {
                arrival = Arrival::Twin;
            }
        }
        state.peers.insert(peer.node, seen);
        (Place { connection, node: peer.node, replaced }, arrival)
    }

    pub(crate) fn leave(&self, place: &Place) {
        let mut state = self.state.borrow_mut();
        if let Some(seen) = state.peers.get_mut(&place.node)
            && seen.connection == place.connection
        {
            seen.stop = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn life(incarnation: u64) -> Party {
        Party { node: 2, incarnation }
    }

    #[test]
    fn newest_connection_wins() {
        let registry = Registry::default();
        let (mut old, arrival) = registry.enter(life(1));
        assert_eq!(arrival, Arrival::First);
        let (mut new, arrival) = registry.enter(life(1));
        assert_eq!(arrival, Arrival::Replaced);
        assert_eq!(old.replaced.try_recv(), Ok(()));
        registry.leave(&old);
        assert_eq!(new.replaced.try_recv(), Err(oneshot::error::TryRecvError::Empty));
    }

    #[test]
    fn restart_is_no_twin_but_a_return_of_the_old_life_is() {
        let registry = Registry::default();
        let (place, _) = registry.enter(life(1));
        registry.leave(&place);
        let (_place, arrival) = registry.enter(life(2));
        assert_eq!(arrival, Arrival::First);
        assert_eq!(registry.enter(life(1)).1, Arrival::Twin);
    }
}
