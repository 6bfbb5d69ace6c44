//! Several nodes behind one handle: round robin over live connections, and statements prepared once per session.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock};

use tokio::task::JoinSet;

use crate::connection::{ConnectOptions, Connection};
use crate::error::{Class, Error, ErrorCode};
use crate::keeper::{Place, keep};
use crate::request::RequestOptions;
use crate::response::{Prepared, Response};
use crate::value::Value;

/// Statements kept per session; beyond it the cache starts anew, and statements in use live on with their users.
const STATEMENTS_MAX: usize = 1024;

/// What a session connects to.
#[derive(Clone, Debug)]
pub struct SessionOptions {
    /// Nodes, each `host:port`.
    pub contacts: Vec<String>,
    /// Connections per node, at least 1.
    pub connections_per_node: usize,
    pub connect: ConnectOptions,
}

impl SessionOptions {
    /// One connection to each contact, everything else by default.
    pub fn new(contacts: Vec<String>) -> Self {
        Self { contacts, connections_per_node: 1, connect: ConnectOptions::default() }
    }
}

/// A client of a cluster; clones share connections and prepared statements.
///
/// All its nodes belong to one cluster, that of the first which answers; a stranger at one of the addresses gets nothing.
/// Requests go round robin over live connections. A request that did not leave is tried on the next node; one that did is
/// never sent again.
#[derive(Clone, Debug)]
pub struct Session {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    places: Vec<Arc<Place>>,
    next: AtomicUsize,
    statements: Mutex<HashMap<String, Statement>>,
}

impl Session {
    /// Connects to all contacts and returns once each has answered or failed; must be called inside a tokio runtime.
    ///
    /// *Errors*: [`Error::Options`] without contacts; the last failure if no contact can be reached.
    pub async fn connect(options: SessionOptions) -> Result<Self, Error> {
        let reason = match (options.contacts.is_empty(), options.connections_per_node) {
            (true, _) => Some("at least one contact point is needed"),
            (_, 0) => Some("connections_per_node must be at least 1"),
            _ => None,
        };
        if let Some(reason) = reason {
            return Err(Error::Options { reason: reason.to_owned() });
        }
        let rounds = (0..options.connections_per_node).flat_map(|_| &options.contacts);
        let cluster = Arc::new(OnceLock::new());
        let place = |address: &String| Place::new(address.clone(), options.connect.clone(), cluster.clone());
        let places: Vec<_> = rounds.map(|address| Arc::new(place(address))).collect();
        connect_all(&places).await?;
        for place in &places {
            tokio::spawn(keep(Arc::downgrade(place)));
        }
        let inner = Inner { places, next: AtomicUsize::new(0), statements: Mutex::default() };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// Runs a statement, with values for its `?` markers.
    pub async fn query(&self, text: &str, values: &[Value], options: &RequestOptions) -> Result<Response, Error> {
        let mut tries = self.inner.places.len();
        loop {
            let connection = self.connection()?;
            let outcome = connection.query(text, values, options).await;
            tries -= 1;
            if tries == 0 || !may_move_on(&outcome, &connection) {
                return outcome;
            }
        }
    }

    /// The prepared form of a statement, from the cache or from a node.
    pub async fn prepare(&self, text: &str) -> Result<Statement, Error> {
        if let Some(known) = self.statements().get(text) {
            return Ok(known.clone());
        }
        let prepared = self.connection()?.prepare(text).await?;
        let statement = Statement::new(text, prepared);
        let mut statements = self.statements();
        if statements.len() >= STATEMENTS_MAX {
            statements.clear();
        }
        Ok(statements.entry(text.to_owned()).or_insert(statement).clone())
    }

    /// Runs a prepared statement on the next node, which is told the statement first if it does not know it.
    pub async fn execute(
        &self,
        statement: &Statement,
        values: &[Value],
        options: &RequestOptions,
    ) -> Result<Response, Error> {
        let mut tries = self.inner.places.len();
        loop {
            let connection = self.connection()?;
            let outcome = execute_on(&connection, statement, values, options).await;
            tries -= 1;
            if tries == 0 || !may_move_on(&outcome, &connection) {
                return outcome;
            }
        }
    }

    /// The next live connection in turn.
    ///
    /// *Errors*: [`Error::NoConnection`] if there is none; the session goes on trying to reach the nodes.
    pub fn connection(&self) -> Result<Connection, Error> {
        let places = &self.inner.places;
        let start = self.inner.next.fetch_add(1, Ordering::Relaxed) % places.len();
        let turn = places[start..].iter().chain(&places[..start]);
        turn.clone().find_map(|place| place.live()).ok_or_else(|| {
            let last = turn.map(|place| place.last_failure()).find(|failure| !failure.is_empty());
            Error::NoConnection { nodes: places.len(), last: last.unwrap_or_else(|| "none yet".to_owned()) }
        })
    }

    /// Connections that take requests now.
    pub fn live_count(&self) -> usize {
        self.inner.places.iter().filter(|place| place.live().is_some()).count()
    }

    /// Addresses of the session's places, one per connection.
    pub fn addresses(&self) -> impl Iterator<Item = &str> {
        self.inner.places.iter().map(|place| place.address.as_str())
    }

    fn statements(&self) -> std::sync::MutexGuard<'_, HashMap<String, Statement>> {
        self.inner.statements.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn connect_all(places: &[Arc<Place>]) -> Result<(), Error> {
    let mut attempts = JoinSet::new();
    for place in places {
        let place = place.clone();
        attempts.spawn(async move { place.connect().await });
    }
    let outcomes = attempts.join_all().await;
    if outcomes.iter().any(Result::is_ok) {
        return Ok(());
    }
    outcomes.into_iter().last().unwrap_or_else(|| Err(Error::Options { reason: "no contacts".to_owned() }))
}

/// Only a request that stayed here because its connection ended may go to another node.
fn may_move_on(outcome: &Result<Response, Error>, connection: &Connection) -> bool {
    matches!(outcome, Err(Error::NotSent { .. })) && !connection.is_live()
}

async fn execute_on(
    connection: &Connection,
    statement: &Statement,
    values: &[Value],
    options: &RequestOptions,
) -> Result<Response, Error> {
    let prepared = statement.current();
    let mut outcome = connection.execute(&prepared, values, options).await;
    // "Unprepared" promises that nothing ran, so sending it again is no retry of an unknown outcome.
    if is_unprepared(&outcome) {
        let renewed = connection.prepare(&statement.inner.text).await.map_err(nothing_ran)?;
        let renewed = Arc::new(renewed);
        statement.replace(renewed.clone());
        outcome = connection.execute(&renewed, values, options).await;
    }
    if let Ok(response) = &outcome {
        statement.follow(response);
    }
    outcome
}

/// A PREPARE without answer leaves its own outcome unknown, but the statement surely did not run.
fn nothing_ran(error: Error) -> Error {
    match error.class() {
        Class::DefiniteNo => error,
        Class::Unknown => Error::NotSent { reason: format!("statement could not be prepared again: {error}") },
    }
}

fn is_unprepared(outcome: &Result<Response, Error>) -> bool {
    outcome.as_ref().err().and_then(Error::server).is_some_and(|error| error.code == ErrorCode::Unprepared)
}

/// A statement prepared in a session; clones share what the servers last said of it.
#[derive(Clone, Debug)]
pub struct Statement {
    inner: Arc<StatementInner>,
}

#[derive(Debug)]
struct StatementInner {
    text: String,
    prepared: RwLock<Arc<Prepared>>,
}

impl Statement {
    fn new(text: &str, prepared: Prepared) -> Self {
        let prepared = RwLock::new(Arc::new(prepared));
        Self { inner: Arc::new(StatementInner { text: text.to_owned(), prepared }) }
    }

    /// The text it was made from.
    pub fn text(&self) -> &str {
        &self.inner.text
    }

    /// What the servers last said of it.
    pub fn current(&self) -> Arc<Prepared> {
        self.inner.prepared.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn replace(&self, prepared: Arc<Prepared>) {
        *self.inner.prepared.write().unwrap_or_else(PoisonError::into_inner) = prepared;
    }

    /// Takes over result columns that changed on the server (v5).
    fn follow(&self, response: &Response) {
        let Some(rows) = response.rows() else { return };
        let Some(id) = &rows.changed_metadata_id else { return };
        let mut prepared = Prepared::clone(&self.current());
        prepared.result_metadata_id.clone_from(id);
        prepared.columns = rows.columns().clone();
        self.replace(Arc::new(prepared));
    }
}
