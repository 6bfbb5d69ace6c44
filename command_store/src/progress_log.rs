//! Who must be chased, and when: every transaction known here that is not done.
//!
//! Polling form: a watched transaction that has not come to its end when its timer fires is handed to the node's coordinator, which
//! asks around and, if nobody is at work on it, recovers or invalidates it. Every transaction has its own timer and back-off, so a
//! chain of abandoned ones clears in one sweep. *Source*: [SPEC 11].

use protocol::{Micros, Scope, TxnId};
use std::collections::{BTreeMap, BTreeSet};

/// When to chase.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ProgressConfig {
    /// A transaction that is still going on is left alone for this long.
    pub delay: Micros,
    /// A transaction known only from somebody's dependencies, and blocking it, is left alone for this long.
    pub blocked_delay: Micros,
    /// Added per replica index, so that usually one replica acts.
    pub stagger: Micros,
    /// Waits grow with every attempt up to this.
    pub delay_max: Micros,
}

impl Default for ProgressConfig {
    fn default() -> Self {
        Self {
            delay: Micros::from_millis(1000),
            blocked_delay: Micros::from_millis(500),
            stagger: Micros::from_millis(250),
            delay_max: Micros::from_secs(20),
        }
    }
}

#[derive(Clone, PartialEq, Debug)]
struct Watch {
    due: Micros,
    attempt: u32,
    scope: Scope,
}

/// The watched transactions of one store.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct ProgressLog {
    config: ProgressConfig,
    watches: BTreeMap<TxnId, Watch>,
    due: BTreeSet<(Micros, TxnId)>,
}

impl ProgressLog {
    pub(crate) fn new(config: ProgressConfig) -> Self {
        Self { config, watches: BTreeMap::new(), due: BTreeSet::new() }
    }

    /// Watches `id` from now on; `index` is this replica's place in its home shard.
    pub(crate) fn watch(&mut self, id: TxnId, scope: &Scope, now: Micros, index: usize) {
        let wait =
            Micros(self.config.delay.0 + self.config.stagger.0 * index as u64 + jitter(id, 0, self.config.delay));
        self.arm(id, scope, now + wait);
    }

    /// Watches `id`, which is known only by name and holds something back.
    pub(crate) fn watch_blocker(&mut self, id: TxnId, scope: &Scope, now: Micros) {
        if !self.watches.contains_key(&id) {
            let wait = self.config.blocked_delay + Micros(jitter(id, 1, self.config.blocked_delay));
            self.arm(id, scope, now + wait);
        }
    }

    fn arm(&mut self, id: TxnId, scope: &Scope, due: Micros) {
        match self.watches.get_mut(&id) {
            Some(watch) => {
                if matches!(scope, Scope::Full(_)) {
                    watch.scope = scope.clone();
                }
            }
            None => {
                self.watches.insert(id, Watch { due, attempt: 0, scope: scope.clone() });
                self.due.insert((due, id));
            }
        }
    }

    /// Another replica is at work on `id`, or about to be: it is left to that one for two periods, once.
    pub(crate) fn leave_to_other(&mut self, id: TxnId, now: Micros) {
        if let Some(watch) = self.watches.get_mut(&id).filter(|watch| watch.attempt == 0) {
            self.due.remove(&(watch.due, id));
            watch.attempt = 1;
            watch.due = watch.due.max(now + self.config.delay + self.config.delay);
            self.due.insert((watch.due, id));
        }
    }

    /// `id` has come to its end here.
    pub(crate) fn done(&mut self, id: TxnId) {
        if let Some(watch) = self.watches.remove(&id) {
            self.due.remove(&(watch.due, id));
        }
    }

    /// Takes what is due at `now`, each armed again with a longer wait: the transaction, its scope, and how often it was due before.
    pub(crate) fn fire(&mut self, now: Micros, most: usize) -> Vec<(TxnId, Scope, u32)> {
        let mut chases = Vec::new();
        while let Some((due, id)) = self.due.first().copied().filter(|(due, _)| *due <= now && chases.len() < most) {
            self.due.remove(&(due, id));
            let Some(watch) = self.watches.get_mut(&id) else { continue };
            let attempt = watch.attempt;
            watch.attempt += 1;
            let wait = (self.config.delay.0 * u64::from(1 + watch.attempt)).min(self.config.delay_max.0);
            watch.due = now + Micros(wait / 2 + jitter(id, watch.attempt, Micros(wait)));
            self.due.insert((watch.due, id));
            chases.push((id, watch.scope.clone(), attempt));
        }
        chases
    }

    pub(crate) fn next_due(&self) -> Option<Micros> {
        self.due.first().map(|(due, _)| *due)
    }

    /// Those watched, ascending.
    pub(crate) fn ids(&self) -> impl Iterator<Item = TxnId> {
        self.watches.keys().copied()
    }

    /// How many are watched.
    pub(crate) fn len(&self) -> usize {
        self.watches.len()
    }
}

/// Spreads timers over `span` without a source of chance: the same id and attempt give the same wait everywhere.
fn jitter(id: TxnId, attempt: u32, span: Micros) -> u64 {
    let seed = id.hlc().0 ^ u64::from(id.node().0) << 40 ^ u64::from(attempt) << 52;
    let mixed = (seed ^ seed >> 31).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    if span.0 == 0 { 0 } else { (mixed ^ mixed >> 29) % span.0 }
}
