//! Runs cases, each in a fresh keyspace over a connection of its own, at the nodes in turn.

use super::compare::{Miss, is_unfinished, judge};
use super::cql_type;
use super::files::is_wanted;
use super::format::{Binds, Case, CaseFile, Expected};
use super::report::Report;
use super::value::{encode, encode_unannounced};
use client::{Bind, ConnectOptions, Connection, Error, Prepared, RequestOptions, Response, ServerError};
use std::path::Path;
use std::time::Duration;
use toml::Value;

/// Longest wait for an answer; a change of schema waits for every node.
const PATIENCE: Duration = Duration::from_secs(30);

/// Runs cases against a cluster.
#[derive(Debug)]
pub(crate) struct Runner {
    contacts: Vec<String>,
    options: ConnectOptions,
}

impl Runner {
    /// A runner at these nodes.
    pub(crate) fn new(contacts: Vec<String>) -> Self {
        Self { contacts, options: ConnectOptions { request_timeout: PATIENCE, ..ConnectOptions::default() } }
    }

    /// Runs the cases of a file that are asked for.
    pub(crate) async fn run_file(&self, path: &Path, report: &mut Report) {
        let text = std::fs::read_to_string(path).map_err(|error| error.to_string());
        let file = match text.and_then(|text| CaseFile::parse(&text)) {
            Ok(file) => file,
            Err(problem) => return report.add_broken(&path.display().to_string(), &problem),
        };
        for (nth, case) in file.cases.iter().enumerate() {
            if !is_wanted(&case.name) {
                report.leave_out();
                continue;
            }
            match self.run_case(nth, &file, case).await {
                Ok(Some(reason)) => report.skip(format!("{}: {reason}", case.name)),
                Ok(None) => report.add(case, Ok(())),
                Err(miss) => report.add(case, Err(miss)),
            }
        }
    }

    /// Runs a case; the good outcome may be a reason not to run it.
    async fn run_case(&self, nth: usize, file: &CaseFile, case: &Case) -> Result<Option<String>, Miss> {
        let contact = &self.contacts[nth % self.contacts.len()];
        let connection = Connection::connect(contact, &self.options).await;
        let connection = connection.map_err(|error| Miss::NoVerdict(error.to_string()))?;
        let keyspace = &file.keyspace;
        let replication = format!("{{'class': 'SimpleStrategy', 'replication_factor': {}}}", self.contacts.len());
        let fresh = [
            format!("DROP KEYSPACE IF EXISTS {keyspace}"),
            format!("CREATE KEYSPACE {keyspace} WITH replication = {replication}"),
            format!("USE {keyspace}"),
        ];
        let schema = file.schema.iter().filter(|statement| is_needed(statement, case));
        must_succeed(&connection, fresh.iter().chain(schema)).await?;
        for tag in &case.tags {
            if let Some(reason) = lacks(&connection, tag).await? {
                return Ok(Some(reason));
            }
        }
        must_succeed(&connection, case.setup.iter()).await?;
        for (statement, expected) in &case.run {
            run_statement(&connection, statement, expected).await.map_err(|miss| miss.at(statement))?;
        }
        Ok(None)
    }
}

/// Runs statements that must succeed.
async fn must_succeed(connection: &Connection, statements: impl Iterator<Item = &String>) -> Result<(), Miss> {
    for statement in statements {
        let outcome = connection.query(statement, &[], &RequestOptions::default()).await;
        outcome.map_err(|error| Miss::NoVerdict(format!("setup {statement}: {error}")))?;
    }
    Ok(())
}

/// Why a case with this tag cannot run: the server says of the optional feature itself that it is not there yet.
async fn lacks(connection: &Connection, tag: &str) -> Result<Option<String>, Miss> {
    let (probe, undo) = match tag {
        "udt" => ("CREATE TYPE probe_of_tag (n int)", "DROP TYPE probe_of_tag"),
        "counter" => ("CREATE TABLE probe_of_tag (id int PRIMARY KEY, n counter)", "DROP TABLE probe_of_tag"),
        // of the first wave of types: no option of the server
        "decimal" => return Ok(None),
        tag => return Err(Miss::NoVerdict(format!("unknown tag {tag:?}"))),
    };
    match connection.query(probe, &[], &RequestOptions::default()).await {
        Ok(_) => {
            let undone = connection.query(undo, &[], &RequestOptions::default()).await;
            undone.map(|_| None).map_err(|error| Miss::NoVerdict(format!("{undo}: {error}")))
        }
        Err(Error::Server(error)) if is_unfinished(&error) => {
            Ok(Some(format!("needs the optional feature {tag}: {}", error.message)))
        }
        Err(error) => Err(Miss::NoVerdict(format!("{probe}: {error}"))),
    }
}

/// Whether a statement of the schema matters to the case: a table that no statement of the case names does not, and leaving
/// it out saves most of the time.
fn is_needed(statement: &str, case: &Case) -> bool {
    let words = |text: &str| {
        let words = text.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty());
        words.map(str::to_lowercase).collect::<Vec<_>>()
    };
    let named = words(statement);
    let [create, table, name, ..] = named.as_slice() else { return true };
    if create != "create" || table != "table" {
        return true;
    }
    let mut texts = case.setup.iter().chain(case.run.iter().map(|(statement, _)| statement));
    texts.any(|text| words(text).contains(name))
}

async fn run_statement(connection: &Connection, statement: &str, expected: &Expected) -> Result<(), Miss> {
    let options = RequestOptions::default();
    if !expected.prepare && expected.binds.is_empty() {
        let answer = connection.query(statement, &[], &options).await;
        return judge(expected, &refusal(answer)?, None);
    }
    // the server's own analysis tells the types of values that a QUERY brings along
    let prepared = match refusal(connection.prepare(statement).await)? {
        Ok(prepared) => prepared,
        Err(error) => return judge(expected, &Err(error), None),
    };
    if let Some(types) = &expected.bind_types {
        cql_type::check("marker types", types, &prepared.parameters)?;
    }
    let answer = if expected.prepare {
        let values = in_order(&expected.binds, &prepared)?;
        connection.execute_bound(&prepared, client::Binds::InOrder(&values), &options).await
    } else {
        query(connection, statement, expected, &prepared).await?
    };
    judge(expected, &refusal(answer)?, expected.prepare.then_some(&prepared))
}

async fn query(
    connection: &Connection,
    statement: &str,
    expected: &Expected,
    prepared: &Prepared,
) -> Result<Result<Response, Error>, String> {
    let options = RequestOptions::default();
    Ok(match &expected.binds {
        Binds::InOrder(_) => {
            let values = in_order(&expected.binds, prepared)?;
            connection.query_bound(statement, client::Binds::InOrder(&values), &options).await
        }
        Binds::ByName(_) => {
            let values = by_name(&expected.binds, prepared)?;
            connection.query_bound(statement, client::Binds::ByName(&values), &options).await
        }
    })
}

/// What the server refused, apart from failures of the connection, which no case expects.
fn refusal<T>(answer: Result<T, Error>) -> Result<Result<T, ServerError>, Miss> {
    match answer {
        Ok(good) => Ok(Ok(good)),
        Err(Error::Server(error)) => Ok(Err(*error)),
        Err(other) => Err(Miss::NoVerdict(other.to_string())),
    }
}

/// Values in text order; those given by name go to every marker of that name.
fn in_order(binds: &Binds, prepared: &Prepared) -> Result<Vec<Bind>, String> {
    let markers = &prepared.parameters;
    match binds {
        Binds::InOrder(values) => {
            let value = |(at, value): (usize, &Value)| match markers.get(at) {
                Some(marker) => encode(value, &marker.kind),
                None => encode_unannounced(value),
            };
            values.iter().enumerate().map(value).collect()
        }
        Binds::ByName(values) => {
            let given = markers.iter().filter_map(|marker| Some((marker, values.get(&marker.name)?)));
            given.map(|(marker, value)| encode(value, &marker.kind)).collect()
        }
    }
}

fn by_name(binds: &Binds, prepared: &Prepared) -> Result<Vec<(String, Bind)>, String> {
    let Binds::ByName(values) = binds else { return Ok(Vec::new()) };
    let value = |(name, value): (&String, &Value)| {
        let marker = prepared.parameters.iter().find(|marker| marker.name == *name);
        let value = marker.map_or_else(|| encode_unannounced(value), |marker| encode(value, &marker.kind))?;
        Ok((name.clone(), value))
    };
    values.iter().map(value).collect()
}
