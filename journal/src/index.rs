//! Where the records of each (store, id) are: one lookup, whatever the number of segments.
//!
//! Memory: a table slot of 13 bytes (8-byte fingerprint, 4-byte block number, 1 control byte) and blocks of 28 bytes for
//! four locations each. Keys are not kept: a reader compares the id in the record, so ids that share a fingerprint only
//! cost a read.

use crate::log::Placement;
use crate::record::RecordId;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, DefaultHasher, Hash, Hasher};

const PER_BLOCK: usize = 4;
const CHUNK: usize = 1024;
const NONE: u32 = u32::MAX;

/// Place of one record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Location {
    /// Number of the segment.
    pub segment: u64,
    /// Byte in the segment file.
    pub offset: u32,
}

/// 64 bits of a (store, id); two halves keep a table slot at 12 bytes.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Fingerprint([u32; 2]);

impl Fingerprint {
    fn of(store: u16, id: &RecordId) -> Self {
        let mut hasher = DefaultHasher::new();
        (store, id).hash(&mut hasher);
        let hash = hasher.finish();
        Self([(hash >> 32) as u32, hash as u32])
    }
}

impl Hash for Fingerprint {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(u64::from(self.0[0]) << 32 | u64::from(self.0[1]));
    }
}

/// A fingerprint is a hash already.
#[derive(Default)]
struct Passing(u64);

impl Hasher for Passing {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(*byte);
        }
    }

    fn write_u64(&mut self, value: u64) {
        self.0 = value;
    }
}

/// Up to four locations, oldest first, and the block of older ones; bytes only, so that no padding is paid.
#[derive(Clone, Copy)]
struct Block {
    packed: [[u8; 6]; PER_BLOCK],
    older: [u8; 4],
}

const EMPTY: [u8; 6] = [0xff; 6];

impl Block {
    fn new(older: u32) -> Self {
        Self { packed: [EMPTY; PER_BLOCK], older: older.to_be_bytes() }
    }

    fn older(&self) -> u32 {
        u32::from_be_bytes(self.older)
    }

    /// Takes the location if there is a free place.
    fn put(&mut self, at: Location) -> bool {
        let Some(free) = self.packed.iter_mut().find(|place| **place == EMPTY) else { return false };
        // 16 bits of the segment number do: fewer than 65,536 segments are alive.
        free[..2].copy_from_slice(&(at.segment as u16).to_be_bytes());
        free[2..].copy_from_slice(&at.offset.to_be_bytes());
        true
    }
}

/// The index of a log.
#[derive(Default)]
pub struct Index {
    heads: HashMap<Fingerprint, u32, BuildHasherDefault<Passing>>,
    chunks: Vec<Box<[Block]>>,
    free: Vec<u32>,
    used: u32,
    first_segment: u64,
}

impl Index {
    /// Adds a record. Records are added in append order.
    pub fn insert(&mut self, placement: &Placement) {
        let at = Location { segment: placement.segment, offset: placement.offset };
        self.push(Fingerprint::of(placement.store, &placement.id), at);
    }

    fn push(&mut self, key: Fingerprint, at: Location) {
        let head = self.heads.get(&key).copied().unwrap_or(NONE);
        if head != NONE && self.block_mut(head).put(at) {
            return;
        }
        let block = self.allocate(head);
        self.block_mut(block).put(at);
        self.heads.insert(key, block);
    }

    /// Places that may hold records of this (store, id), in append order.
    pub fn locations(&self, store: u16, id: &RecordId) -> Vec<Location> {
        let head = self.heads.get(&Fingerprint::of(store, id)).copied().unwrap_or(NONE);
        self.chain(head)
    }

    fn chain(&self, head: u32) -> Vec<Location> {
        let mut found = Vec::new();
        let mut next = head;
        while next != NONE {
            let block = &self.chunks[next as usize / CHUNK][next as usize % CHUNK];
            let used = block.packed.iter().filter(|packed| **packed != EMPTY);
            found.extend(used.rev().map(|packed| self.unpack(packed)));
            next = block.older();
        }
        found.reverse();
        found
    }

    fn unpack(&self, packed: &[u8; 6]) -> Location {
        let low = u16::from_be_bytes([packed[0], packed[1]]);
        let ahead = low.wrapping_sub(self.first_segment as u16);
        let offset = u32::from_be_bytes([packed[2], packed[3], packed[4], packed[5]]);
        Location { segment: self.first_segment + u64::from(ahead), offset }
    }

    /// Drops all locations in segments below this number. Walks the whole index: for the reader's thread, not a node's.
    pub fn forget_below(&mut self, first_segment: u64) {
        if first_segment <= self.first_segment {
            return;
        }
        let keys: Vec<(Fingerprint, u32)> = self.heads.iter().map(|(key, head)| (*key, *head)).collect();
        let mut kept = Vec::new();
        for (key, head) in keys {
            let chain = self.chain(head);
            if chain.first().is_some_and(|oldest| oldest.segment >= first_segment) {
                continue;
            }
            self.release(head);
            self.heads.remove(&key);
            kept.extend(chain.into_iter().filter(|at| at.segment >= first_segment).map(|at| (key, at)));
        }
        self.first_segment = first_segment;
        for (key, at) in kept {
            self.push(key, at);
        }
        if self.heads.len() < self.heads.capacity() / 4 {
            self.heads.shrink_to_fit();
        }
    }

    /// Number of (store, id) pairs known.
    pub fn id_count(&self) -> usize {
        self.heads.len()
    }

    /// Memory held, in bytes: the table at its capacity and all blocks.
    pub fn memory_bytes(&self) -> usize {
        let slots = (self.heads.capacity() * 8 / 7).next_power_of_two();
        let blocks = self.chunks.len() * CHUNK * size_of::<Block>();
        slots * (size_of::<(Fingerprint, u32)>() + 1) + blocks + self.free.capacity() * size_of::<u32>()
    }

    fn allocate(&mut self, older: u32) -> u32 {
        let block = self.free.pop().unwrap_or_else(|| {
            if self.used as usize == self.chunks.len() * CHUNK {
                self.chunks.push(vec![Block::new(NONE); CHUNK].into_boxed_slice());
            }
            self.used += 1;
            self.used - 1
        });
        *self.block_mut(block) = Block::new(older);
        block
    }

    fn release(&mut self, head: u32) {
        let mut next = head;
        while next != NONE {
            self.free.push(next);
            next = self.block_mut(next).older();
        }
    }

    fn block_mut(&mut self, block: u32) -> &mut Block {
        &mut self.chunks[block as usize / CHUNK][block as usize % CHUNK]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    fn id(number: u32) -> RecordId {
        let mut id = [0; 20];
        id[16..].copy_from_slice(&number.to_be_bytes());
        id
    }

    fn put(index: &mut Index, number: u32, segment: u64, offset: u32) {
        index.insert(&Placement { store: 1, id: id(number), segment, offset });
    }

    #[test]
    fn four_records_per_id_cost_at_most_sixty_bytes_at_any_size() {
        let mut index = Index::default();
        let mut worst: f64 = 0.0;
        for number in 0..300_000 {
            for nth in 0..4 {
                put(&mut index, number, 1, number * 4 + nth);
            }
            if number > 20_000 {
                worst = worst.max(index.memory_bytes() as f64 / index.id_count() as f64);
            }
        }
        assert!(worst <= 60.0, "{worst} bytes per id");
    }

    #[test]
    fn segment_numbers_pass_the_sixteen_bit_border() {
        let mut index = Index::default();
        index.forget_below(65_530);
        for segment in 65_530..65_550 {
            put(&mut index, 7, segment, 1);
        }
        index.forget_below(65_535);
        let found: Vec<u64> = index.locations(1, &id(7)).iter().map(|at| at.segment).collect();
        assert_eq!(found, (65_535..65_550).collect::<Vec<u64>>());
    }

    #[test]
    fn forgotten_blocks_are_used_again() {
        let mut index = Index::default();
        for round in 0..50 {
            for number in 0..2000 {
                put(&mut index, round * 2000 + number, u64::from(round), number);
            }
            index.forget_below(u64::from(round));
        }
        assert!(index.chunks.len() <= 4, "{} chunks", index.chunks.len());
        assert_eq!(index.id_count(), 2000);
    }

    proptest! {
        #[test]
        fn it_agrees_with_a_plain_map(
            steps in prop::collection::vec((0u32..20, prop::bool::weighted(0.1)), 0..400),
        ) {
            let mut index = Index::default();
            let mut model: BTreeMap<u32, Vec<Location>> = BTreeMap::new();
            for (nth, (number, forgets)) in steps.into_iter().enumerate() {
                let (segment, offset) = (nth as u64 / 10, nth as u32);
                put(&mut index, number, segment, offset);
                model.entry(number).or_default().push(Location { segment, offset });
                if forgets {
                    let first = segment.saturating_sub(2);
                    index.forget_below(first);
                    model.values_mut().for_each(|places| places.retain(|at| at.segment >= first));
                }
            }
            for (number, places) in model {
                prop_assert_eq!(index.locations(1, &id(number)), places);
            }
        }
    }
}
