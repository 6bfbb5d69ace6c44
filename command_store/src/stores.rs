//! Which command store of a node owns which tokens.
//!
//! *Source*: [SPEC 13.1 item 8]: a token slice across all groups.

use protocol::{Key, RoutingKey, StoreId};

/// The even split of the ring over a node's stores.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Slices {
    count: u16,
}

impl Slices {
    /// `count` stores, at least one.
    pub fn new(count: u16) -> Self {
        Self { count: count.max(1) }
    }

    /// How many stores.
    pub fn count(&self) -> u16 {
        self.count
    }

    /// The store that owns `routing`.
    pub fn store_of(&self, routing: RoutingKey) -> StoreId {
        let place = (routing.token.0 as u64) ^ (1 << 63);
        StoreId(((u128::from(place) * u128::from(self.count)) >> 64) as u16)
    }

    /// The stores that own any of `keys`, ascending.
    pub fn stores_of(&self, keys: &[Key]) -> Vec<StoreId> {
        let mut stores: Vec<StoreId> = keys.iter().map(|key| self.store_of(key.routing)).collect();
        stores.sort_unstable();
        stores.dedup();
        stores
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use protocol::Token;

    #[test]
    fn slices_cover_the_ring_in_order() {
        let slices = Slices::new(2);
        let at = |token| slices.store_of(RoutingKey { group: 3, token: Token(token) });
        assert_eq!([at(i64::MIN), at(-1), at(0), at(i64::MAX)], [StoreId(0), StoreId(0), StoreId(1), StoreId(1)]);
    }
}
