//! CommandsForKey: everything one store knows about the conflicts at one key.
//!
//! *Jobs*, each with what breaks if it is forgotten:
//! 1. compute dependencies of a new transaction (`deps.rs`): a conflict left out executes in another order elsewhere;
//! 2. remember the highest execution time (`max_conflict`): without it two conflicting transactions both keep their ids;
//! 3. say when a stable transaction may run (`ready.rs`): too early breaks the order, too late blocks the key;
//! 4. testify to recoveries who witnessed whom (`witness.rs`): a wrong answer invalidates a committed transaction.
//!
//! Every entry is the projection of the store's [`Command`] onto this key; ids known only from somebody's dependencies are there as
//! `Transitive`. *Source*: [SPEC 5.1 to 5.5].

mod deps;
#[cfg(test)]
mod model;
mod ready;
mod witness;

pub(crate) use witness::Witness;

use protocol::{Command, DepSet, DepsKnown, Durability, Key, Status, Timestamp, TxnId};

/// How far a transaction has come, as this key sees it. Ordered: later knows more.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum EntryStatus {
    /// Only named in somebody's dependencies.
    Transitive,
    /// Voted for.
    PreAccepted,
    /// Voted for, with the coordinator's dependencies.
    PreAcceptedWithDeps,
    /// An invalidation was accepted.
    NotAccepted,
    /// A proposal was accepted.
    Accepted,
    /// Decided.
    Committed,
    /// Dependencies final.
    Stable,
    /// Applied here.
    Applied,
    /// Never executes.
    Invalidated,
}

impl EntryStatus {
    /// Whether the execution time is final, or there is none.
    pub fn is_decided(self) -> bool {
        self >= Self::Committed
    }

    fn is_committed(self) -> bool {
        self.is_decided() && self != Self::Invalidated
    }

    /// Whether dependents need not wait for it any more.
    pub fn is_done(self) -> bool {
        self >= Self::Applied
    }
}

/// One transaction at one key.
#[derive(Clone, PartialEq, Debug)]
pub struct Entry {
    /// The transaction.
    pub id: TxnId,
    /// How far it has come.
    pub status: EntryStatus,
    /// A quorum of every shard is known to hold its outcome.
    pub is_durable: bool,
    /// Witnessed, proposed or decided; the id where nothing is known.
    pub at: Timestamp,
    /// Its dependencies at this key, where it has any.
    pub deps: Option<DepSet>,
}

impl Entry {
    fn transitive(id: TxnId) -> Self {
        Self { id, status: EntryStatus::Transitive, is_durable: false, at: id.as_timestamp(), deps: None }
    }

    /// The projection of `command` onto `key`.
    pub fn project(id: TxnId, command: &Command, key: &Key) -> Self {
        let status = match command.status() {
            Status::NotDefined => EntryStatus::Transitive,
            Status::PreAccepted if command.deps_known() == DepsKnown::FromCoordinator => {
                EntryStatus::PreAcceptedWithDeps
            }
            Status::PreAccepted => EntryStatus::PreAccepted,
            Status::AcceptedInvalidate => EntryStatus::NotAccepted,
            Status::AcceptedMedium | Status::AcceptedSlow | Status::PreCommitted => EntryStatus::Accepted,
            Status::Committed => EntryStatus::Committed,
            Status::Stable | Status::PreApplied => EntryStatus::Stable,
            Status::Applied | Status::Truncated => EntryStatus::Applied,
            Status::Invalidated => EntryStatus::Invalidated,
        };
        let has_deps = command.deps_known() != DepsKnown::Unknown;
        Self {
            id,
            status,
            is_durable: command.durability() >= Durability::Majority,
            at: command.execute_at().unwrap_or(id.as_timestamp()),
            deps: has_deps.then(|| command.deps().at(key).cloned().unwrap_or_default()),
        }
    }

    /// Nothing will ever change here, and elision may pass over it.
    fn is_quiet(&self) -> bool {
        self.status == EntryStatus::Invalidated || (self.status == EntryStatus::Applied && self.is_durable)
    }
}

/// The conflicts at one key.
///
/// *Shape*: entries sorted by id, each id once. The first `quiet` of them are applied and durable, or invalidated; hot paths look
/// at the rest only.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct CommandsForKey {
    entries: Vec<Entry>,
    quiet: usize,
    quiet_writes: deps::QuietFrontier,
    max_conflict: Timestamp,
    /// Stable transactions that may not run yet, by execution time.
    waiting: Vec<(Timestamp, TxnId)>,
}

impl CommandsForKey {
    /// The highest execution time of any transaction at this key, however uncertain.
    pub fn max_conflict(&self) -> Timestamp {
        self.max_conflict
    }

    /// A conflict at `at` was seen; only ever raises.
    pub fn raise_max_conflict(&mut self, at: Timestamp) {
        self.max_conflict = self.max_conflict.merge_max(at);
    }

    /// All entries, by id.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The entry of `id`.
    pub fn get(&self, id: TxnId) -> Option<&Entry> {
        self.index_of(id).ok().map(|at| &self.entries[at])
    }

    fn index_of(&self, id: TxnId) -> Result<usize, usize> {
        // new ids are mostly the highest
        match self.entries.last() {
            Some(last) if last.id < id => Err(self.entries.len()),
            _ => self.entries.binary_search_by_key(&id, |entry| entry.id),
        }
    }

    /// Puts in the projection of a command that has changed, and every id its dependencies name.
    ///
    /// Returns the ids that were never heard of here before.
    pub fn update(&mut self, entry: Entry) -> Vec<TxnId> {
        let mut unheard = Vec::new();
        if let Some(deps) = entry.deps.as_ref().filter(|_| !entry.status.is_done()) {
            for dep in deps.iter() {
                if let Err(at) = self.index_of(dep.id) {
                    self.insert(at, Entry::transitive(dep.id));
                    unheard.push(dep.id);
                }
            }
        }
        match self.index_of(entry.id) {
            Ok(at) => {
                debug_assert!(at >= self.quiet || self.entries[at].is_quiet());
                self.entries[at] = entry;
                if at < self.quiet {
                    self.recount_quiet(at);
                }
            }
            Err(_) if entry.status == EntryStatus::Transitive => return unheard,
            Err(at) => self.insert(at, entry),
        }
        self.extend_quiet();
        unheard
    }

    fn insert(&mut self, at: usize, entry: Entry) {
        self.entries.insert(at, entry);
        if at < self.quiet {
            self.recount_quiet(at);
        }
    }

    fn recount_quiet(&mut self, upto: usize) {
        self.quiet = 0;
        self.quiet_writes = deps::QuietFrontier::default();
        while self.quiet < upto {
            self.quiet_writes.pass(&self.entries[self.quiet]);
            self.quiet += 1;
        }
    }

    fn extend_quiet(&mut self) {
        while self.entries.get(self.quiet).is_some_and(Entry::is_quiet) {
            self.quiet_writes.pass(&self.entries[self.quiet]);
            self.quiet += 1;
        }
    }
}
