//! From ids chosen by a harness to positions in a vector.

const ABSENT: u32 = u32::MAX;

/// Position of each id in the order given; a table while ids are dense, else a sorted list.
pub(crate) enum IdIndex {
    Dense(Vec<u32>),
    Sparse(Vec<(u32, u32)>),
}

impl IdIndex {
    /// *Shape*: fewer than `u32::MAX` ids.
    /// *Errors*: an id that occurs twice.
    pub(crate) fn build(ids: impl ExactSizeIterator<Item = u32> + Clone) -> Result<Self, u32> {
        let max = ids.clone().max().unwrap_or(0) as usize;
        if max <= ids.len().saturating_mul(4).saturating_add(64) { Self::dense(ids, max) } else { Self::sparse(ids) }
    }

    fn dense(ids: impl Iterator<Item = u32>, max: usize) -> Result<Self, u32> {
        let mut table = vec![ABSENT; max + 1];
        for (position, id) in (0u32..).zip(ids) {
            let slot = &mut table[id as usize];
            if *slot != ABSENT {
                return Err(id);
            }
            *slot = position;
        }
        Ok(Self::Dense(table))
    }

    fn sparse(ids: impl Iterator<Item = u32>) -> Result<Self, u32> {
        let mut pairs: Vec<(u32, u32)> = ids.zip(0u32..).collect();
        pairs.sort_unstable();
        match pairs.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            Some(pair) => Err(pair[0].0),
            None => Ok(Self::Sparse(pairs)),
        }
    }

    pub(crate) fn get(&self, id: u32) -> Option<usize> {
        match self {
            Self::Dense(table) => table.get(id as usize).filter(|&&position| position != ABSENT).map(|&p| p as usize),
            Self::Sparse(pairs) => {
                pairs.binary_search_by_key(&id, |pair| pair.0).ok().map(|found| pairs[found].1 as usize)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn build(ids: &[u32]) -> Result<IdIndex, u32> {
        IdIndex::build(ids.iter().copied())
    }

    #[test]
    fn dense_and_sparse_ids_are_found_at_their_position() {
        for ids in [&[3, 0, 7][..], &[3_000_000_000, 5, u32::MAX]] {
            let index = build(ids).expect("ids differ");
            for (position, &id) in ids.iter().enumerate() {
                assert_eq!(index.get(id), Some(position));
            }
            assert_eq!(index.get(4), None);
            assert_eq!(index.get(u32::MAX - 1), None);
        }
    }

    #[test]
    fn a_repeated_id_is_refused() {
        assert_eq!(build(&[1, 2, 1]).err(), Some(1));
        assert_eq!(build(&[u32::MAX, 2, u32::MAX]).err(), Some(u32::MAX));
    }
}
