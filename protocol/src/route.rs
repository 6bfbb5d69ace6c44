//! Where a transaction takes part.
//!
//! *Source*: [SPEC 1.6].

use crate::key::{Key, Range};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A full route: everything a transaction touches, and its home.
///
/// *Shape*: keys sorted and unique; `home` indexes one of them. Ranges are for range-domain transactions, which have no keys.
/// Who knows the route can find every participant and can recover the transaction.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Route {
    keys: Arc<[Key]>,
    ranges: Arc<[Range]>,
    home: u16,
}

impl Route {
    /// A route over `keys` (sorted and made unique here) with the home at `home`, one of them.
    ///
    /// *Panics*: if `home` is not among the keys; the caller chose it from them.
    pub fn of_keys(mut keys: Vec<Key>, home: &Key) -> Self {
        keys.sort_unstable();
        keys.dedup();
        let home = keys.binary_search(home).expect("the home key is one of the transaction's keys");
        Self { keys: keys.into(), ranges: Arc::from([]), home: home as u16 }
    }

    /// All keys, sorted.
    pub fn keys(&self) -> &[Key] {
        &self.keys
    }

    /// The key whose shard keeps watch over the transaction.
    pub fn home(&self) -> &Key {
        &self.keys[usize::from(self.home)]
    }

    /// Whether the decoded parts fit together.
    pub fn is_well_formed(&self) -> bool {
        usize::from(self.home) < self.keys.len() && self.keys.is_sorted_by(|one, next| one < next)
    }

    /// The route as a scope.
    pub fn participants(&self) -> Participants {
        Participants { keys: Arc::clone(&self.keys) }
    }
}

/// Some of the keys of a transaction, when the rest may be unknown.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Participants {
    keys: Arc<[Key]>,
}

impl Participants {
    /// Participants over `keys`, sorted and made unique here.
    pub fn of_keys(mut keys: Vec<Key>) -> Self {
        keys.sort_unstable();
        keys.dedup();
        Self { keys: keys.into() }
    }

    /// The keys, sorted.
    pub fn keys(&self) -> &[Key] {
        &self.keys
    }

    /// Whether the decoded keys are sorted and unique.
    pub fn is_well_formed(&self) -> bool {
        self.keys.is_sorted_by(|one, next| one < next)
    }
}

/// What a message is addressed to: the full route where it is known, else some participants.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Scope {
    /// Everything.
    Full(Route),
    /// A part; the rest is unknown to the sender.
    Part(Participants),
}

impl Scope {
    /// The keys named, sorted.
    pub fn keys(&self) -> &[Key] {
        match self {
            Self::Full(route) => route.keys(),
            Self::Part(participants) => participants.keys(),
        }
    }

    /// The full route, if it is one.
    pub fn route(&self) -> Option<&Route> {
        match self {
            Self::Full(route) => Some(route),
            Self::Part(_) => None,
        }
    }
}
