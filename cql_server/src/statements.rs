//! The statements this port knows: prepared ones by id, and texts that come again and again.
//!
//! *Source*: [CQL 4.4].

use crate::clock_cache::ClockCache;
use crate::error::Error;
use crate::statement::{Statement, StatementId};
use cql_txn::Schema;
use std::cell::RefCell;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::rc::Rc;

/// Texts of QUERY kept.
const TEXTS_MAX: usize = 1024;
/// *Units*: bytes of those texts.
const TEXTS_MAX_BYTES: usize = 4 << 20;
/// Texts remembered by hash only. Power of two.
const SEEN: usize = 4096;

/// Both caches. Statements of an older schema are made anew when they are used.
pub(crate) struct Statements {
    prepared: RefCell<ClockCache<StatementId, Rc<Statement>>>,
    texts: RefCell<ClockCache<u64, Rc<Statement>>>,
    /// Only a text that comes twice is kept, so that texts full of literals do not drive out the others.
    seen: RefCell<Vec<u64>>,
    /// Keyed by chance, so that nobody can choose texts that collide.
    hasher: RandomState,
}

impl Statements {
    pub(crate) fn new(prepared_max: usize, prepared_max_bytes: usize) -> Self {
        Self {
            prepared: RefCell::new(ClockCache::new(prepared_max, prepared_max_bytes)),
            texts: RefCell::new(ClockCache::new(TEXTS_MAX, TEXTS_MAX_BYTES)),
            seen: RefCell::new(vec![0; SEEN]),
            hasher: RandomState::new(),
        }
    }

    /// Prepares `text` and keeps it under its id.
    pub(crate) fn prepare(&self, text: &str, keyspace: Option<&str>, schema: &Schema) -> Result<Rc<Statement>, Error> {
        let statement = Statement::of(text, keyspace, schema)?;
        let known = self.prepared.borrow().get(&statement.id()).cloned();
        if let Some(known) = known.filter(|known| known.schema_version() == schema.version) {
            return Ok(known);
        }
        Ok(self.keep(statement))
    }

    fn keep(&self, statement: Statement) -> Rc<Statement> {
        let statement = Rc::new(statement);
        let mut prepared = self.prepared.borrow_mut();
        prepared.insert(statement.id(), Rc::clone(&statement), statement.weight());
        statement
    }

    /// The prepared statement of `id`, fit for `schema`.
    ///
    /// *Errors*: Unprepared if it is not known here; those of preparing if the schema no longer has what it names.
    pub(crate) fn prepared(&self, id: &[u8], schema: &Schema) -> Result<Rc<Statement>, Error> {
        let key = StatementId::try_from(id).map_err(|_| Error::Unprepared(id.to_vec()))?;
        let known = self.prepared.borrow().get(&key).cloned().ok_or_else(|| Error::Unprepared(id.to_vec()))?;
        if known.schema_version() == schema.version { Ok(known) } else { Ok(self.keep(known.renewed(schema)?)) }
    }

    /// The statement of a text sent as it is, from the cache if it came before.
    pub(crate) fn text(&self, text: &str, keyspace: Option<&str>, schema: &Schema) -> Result<Rc<Statement>, Error> {
        // Zero marks an empty place among those seen.
        let hash = self.hasher.hash_one((keyspace, text)) | 1;
        let known = self.texts.borrow().get(&hash).cloned();
        let fits = |known: &Rc<Statement>| known.schema_version() == schema.version && known.is_of(text, keyspace);
        if let Some(known) = known.filter(fits) {
            return Ok(known);
        }
        let statement = Rc::new(Statement::of(text, keyspace, schema)?);
        let mut seen = self.seen.borrow_mut();
        let place = &mut seen[(hash >> 32) as usize % SEEN];
        if *place == hash {
            self.texts.borrow_mut().insert(hash, Rc::clone(&statement), statement.weight());
        }
        *place = hash;
        Ok(statement)
    }
}
