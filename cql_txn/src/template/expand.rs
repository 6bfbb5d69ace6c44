//! Keys and rows from the values of a WHERE clause: every combination of what IN lists.

use super::source::{KEY_MAX, KeyPart, Value};
use super::{PartitionUse, RowsUse, TableUse};
use crate::ast::Comparison;
use crate::error::{At, Error};
use crate::plan::{Slice, Slices};
use protocol::Key;
use smallvec::SmallVec;
use std::borrow::Cow;

/// Places among the keys.
pub(super) type Places = SmallVec<[usize; 1]>;

/// Most rows or partitions that one WHERE clause may name.
const COMBINATIONS_MAX: usize = 10_000;

/// The keys of all uses, sorted, each once; and of each use where its keys stand, in the order of their values.
pub(super) fn keys(
    uses: &[PartitionUse],
    tables: &[TableUse],
    values: &[Value<'_>],
) -> Result<(Vec<Key>, Vec<Places>), Error> {
    let mut found: Vec<Key> = Vec::with_capacity(uses.len());
    let mut ends = Vec::with_capacity(uses.len());
    for of in uses {
        of.keys(&tables[of.table], values, &mut found)?;
        ends.push(found.len());
    }
    let mut keys = found.clone();
    keys.sort_unstable();
    keys.dedup();
    let mut start = 0;
    let places = ends.into_iter().map(|end| {
        let found = &found[std::mem::replace(&mut start, end)..end];
        found.iter().map(|key| keys.binary_search(key).unwrap_or_default()).collect()
    });
    let places = places.collect();
    Ok((keys, places))
}

impl PartitionUse {
    fn keys(&self, table: &TableUse, values: &[Value<'_>], out: &mut Vec<Key>) -> Result<(), Error> {
        if self.parts.iter().all(|part| part.sources.len() == 1) {
            let choice: SmallVec<[usize; 4]> = self.parts.iter().map(|_| 0).collect();
            out.push(self.key(table, &choice, values)?.1);
            return Ok(());
        }
        let mut ordered = Vec::new();
        for choice in combinations(&self.parts)? {
            ordered.push(self.key(table, &choice, values)?);
        }
        ordered.sort();
        ordered.dedup();
        out.extend(ordered.into_iter().map(|(_, key)| key));
        Ok(())
    }

    /// The key of one choice of values, with bytes that sort as the values do (left out if there is no choice).
    fn key(&self, table: &TableUse, choice: &[usize], values: &[Value<'_>]) -> Result<(Vec<u8>, Key), Error> {
        let mut order = Vec::new();
        let is_choice = self.parts.iter().any(|part| part.sources.len() > 1);
        let mut whole = Vec::new();
        for (part, chosen) in self.parts.iter().zip(choice) {
            let value = part.value(&part.sources[*chosen], values)?;
            if is_choice {
                part.ty.put_ordered(&mut order, &value, false);
            }
            if self.parts.len() == 1 {
                if value.is_empty() {
                    return Err(Error::invalid(part.at, format!("key column {} may not be empty", part.name)));
                }
                return Ok((order, Key::new(table.group, table.id, &value)));
            }
            whole.extend_from_slice(&(value.len() as u16).to_be_bytes());
            whole.extend_from_slice(&value);
            whole.push(0);
        }
        if whole.len() > KEY_MAX {
            let at = self.parts.first().map_or(At::NOWHERE, |part| part.at);
            return Err(Error::invalid(at, format!("the partition key has more than {KEY_MAX} bytes")));
        }
        Ok((order, Key::new(table.group, table.id, &whole)))
    }
}

/// Every choice of one source for each part.
fn combinations(parts: &[KeyPart]) -> Result<Vec<Vec<usize>>, Error> {
    let mut choices: Vec<Vec<usize>> = vec![Vec::new()];
    for part in parts {
        if choices.len() * part.sources.len() > COMBINATIONS_MAX {
            return Err(Error::invalid(part.at, format!("IN names more than {COMBINATIONS_MAX} rows; split it")));
        }
        let with = |choice: &Vec<usize>, source| [&choice[..], &[source]].concat();
        choices =
            choices.iter().flat_map(|choice| (0..part.sources.len()).map(move |source| with(choice, source))).collect();
    }
    Ok(choices)
}

impl RowsUse {
    /// The clustering keys, or their beginnings, in order and each once.
    pub(super) fn prefixes(&self, values: &[Value<'_>]) -> Result<SmallVec<[Vec<u8>; 1]>, Error> {
        let mut prefixes: SmallVec<[Vec<u8>; 1]> = SmallVec::new();
        if self.prefix.iter().all(|part| part.sources.len() == 1) {
            let mut out = Vec::with_capacity(self.prefix.len() * 16);
            for part in &self.prefix {
                part.ty.put_ordered(&mut out, &part.value(&part.sources[0], values)?, part.descending);
            }
            prefixes.push(out);
            return Ok(prefixes);
        }
        for choice in combinations(&self.prefix)? {
            let mut out = Vec::with_capacity(self.prefix.len() * 16);
            for (part, chosen) in self.prefix.iter().zip(choice) {
                part.ty.put_ordered(&mut out, &part.value(&part.sources[chosen], values)?, part.descending);
            }
            prefixes.push(out);
        }
        prefixes.sort();
        prefixes.dedup();
        Ok(prefixes)
    }

    pub(super) fn slices<'v>(&'v self, values: &[Value<'v>]) -> Result<Slices<'v>, Error> {
        let prefixes = self.prefixes(values)?;
        if self.bounds.is_empty() {
            return Ok(prefixes.into_iter().map(|prefix| Slice::Prefix(Cow::Owned(prefix))).collect());
        }
        prefixes.into_iter().map(|prefix| self.slice(prefix, values)).collect()
    }

    /// The rows behind `prefix` within all bounds.
    fn slice<'v>(&'v self, prefix: Vec<u8>, values: &[Value<'v>]) -> Result<Slice<'v>, Error> {
        let mut end = successor(&prefix);
        let mut start = prefix.clone();
        for (comparison, part) in &self.bounds {
            let mut at = prefix.clone();
            part.ty.put_ordered(&mut at, &part.value(&part.sources[0], values)?, part.descending);
            let comparison = if part.descending { comparison.mirrored() } else { *comparison };
            let behind = successor(&at);
            match comparison {
                Comparison::Gt => match behind {
                    Some(behind) => start = start.max(behind),
                    None => end = Some(start.clone()),
                },
                Comparison::Ge => start = start.max(at),
                Comparison::Lt => end = sooner(end, Some(at)),
                Comparison::Le => end = sooner(end, behind),
                Comparison::Eq | Comparison::Ne => {}
            }
        }
        Ok(Slice::Between(Cow::Owned(start), end.map(Cow::Owned)))
    }
}

/// The earlier of two ends; none is the end of everything.
fn sooner(one: Option<Vec<u8>>, other: Option<Vec<u8>>) -> Option<Vec<u8>> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}

/// The first byte string behind all that begin with `prefix`; `None` if nothing is.
fn successor(prefix: &[u8]) -> Option<Vec<u8>> {
    let kept = prefix.iter().rposition(|byte| *byte != 0xff)?;
    let mut next = prefix[..=kept].to_vec();
    next[kept] += 1;
    Some(next)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn law_a_successor_lies_behind_everything_with_the_prefix(prefix: Vec<u8>, tail: Vec<u8>, other: Vec<u8>) {
            let longer = [&prefix[..], &tail].concat();
            match successor(&prefix) {
                Some(end) => {
                    prop_assert!(longer < end);
                    prop_assert!(other >= end || other < prefix || other.starts_with(&prefix));
                }
                None => prop_assert!(prefix.iter().all(|byte| *byte == 0xff)),
            }
        }
    }
}
