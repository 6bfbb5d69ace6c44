//! A bounded map that forgets what was not used for longest, roughly.
//!
//! A hand goes round the entries: one that was used since its last visit stays, another leaves. A hit costs one flag.

use std::cell::Cell;
use std::collections::{HashMap, VecDeque};
use std::hash::Hash;

/// The map, bounded by count and by weight.
pub(crate) struct ClockCache<K, V> {
    slots: HashMap<K, Slot<V>>,
    hand: VecDeque<K>,
    weight: usize,
    count_max: usize,
    weight_max: usize,
}

struct Slot<V> {
    value: V,
    weight: usize,
    was_used: Cell<bool>,
}

impl<K: Copy + Eq + Hash, V> ClockCache<K, V> {
    pub(crate) fn new(count_max: usize, weight_max: usize) -> Self {
        Self { slots: HashMap::new(), hand: VecDeque::new(), weight: 0, count_max: count_max.max(1), weight_max }
    }

    pub(crate) fn get(&self, key: &K) -> Option<&V> {
        let slot = self.slots.get(key)?;
        slot.was_used.set(true);
        Some(&slot.value)
    }

    /// Puts or replaces an entry, and makes room; the newest entry stays whatever it weighs.
    pub(crate) fn insert(&mut self, key: K, value: V, weight: usize) {
        let slot = Slot { value, weight, was_used: Cell::new(false) };
        self.weight += weight;
        match self.slots.insert(key, slot) {
            Some(replaced) => self.weight -= replaced.weight,
            None => self.hand.push_back(key),
        }
        while self.slots.len() > 1 && (self.slots.len() > self.count_max || self.weight > self.weight_max) {
            let Some(oldest) = self.hand.pop_front() else { return };
            let was_used = self.slots.get(&oldest).is_some_and(|slot| slot.was_used.replace(false));
            if was_used || oldest == key {
                self.hand.push_back(oldest);
            } else if let Some(gone) = self.slots.remove(&oldest) {
                self.weight -= gone.weight;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn used_entries_outlive_unused_ones() {
        let mut cache = ClockCache::new(3, 100);
        (0..3).for_each(|key| cache.insert(key, key, 1));
        cache.get(&0);
        cache.insert(3, 3, 1);
        assert!(cache.get(&0).is_some() && cache.get(&1).is_none() && cache.get(&3).is_some());
    }

    #[test]
    fn weight_makes_room_too() {
        let mut cache = ClockCache::new(100, 10);
        (0..10).for_each(|key| cache.insert(key, (), 1));
        cache.insert(10, (), 8);
        assert_eq!(cache.slots.len(), 3);
        cache.insert(11, (), 1000);
        assert_eq!((cache.slots.len(), cache.weight), (1, 1000));
    }

    proptest! {
        #[test]
        fn bounds_hold_and_weights_add_up(steps in proptest::collection::vec((0u8..40, 1usize..6, any::<bool>()), 1..200)) {
            let mut cache = ClockCache::new(8, 20);
            for (key, weight, reads) in steps {
                if reads { cache.get(&key); } else { cache.insert(key, (), weight); }
                prop_assert!(cache.slots.len() <= 8 && cache.weight <= 20);
                prop_assert_eq!(cache.weight, cache.slots.values().map(|slot| slot.weight).sum::<usize>());
                prop_assert_eq!(cache.hand.len(), cache.slots.len());
            }
        }
    }
}
