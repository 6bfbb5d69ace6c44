//! The answer to one transaction: waits for the node, then writes to the line of its client.

use crate::admission::Permit;
use crate::backend::{Answer, Reason};
use crate::envelope::{Prefix, opcode};
use crate::error::Error;
use crate::payload::{Asked, Trace};
use crate::response::{Metadata, SchemaChange, put_rows, put_schema_change, put_void};
use crate::server::Server;
use crate::statement::Statement;
use cql_txn::{Outcome, decode_result};
use protocol::TxnKind;
use std::cell::RefCell;
use std::rc::Rc;
use tokio::task::{AbortHandle, spawn_local};

/// A request under way. Dropped without an answer, it tells the client that the outcome is unknown.
pub(crate) struct Reply {
    /// Held until the answer is written.
    permit: Permit,
    server: Rc<Server>,
    statement: Rc<Statement>,
    stream: i16,
    metadata: Metadata,
    asked: Asked,
    warnings: Vec<String>,
    trace: Trace,
    kind: TxnKind,
    is_answered: bool,
}

/// How the request wants its answer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Manner {
    pub(crate) stream: i16,
    pub(crate) metadata: Metadata,
    pub(crate) asked: Asked,
}

impl Reply {
    pub(crate) fn new(
        (server, permit): (Rc<Server>, Permit),
        statement: Rc<Statement>,
        Manner { stream, metadata, asked }: Manner,
        (kind, warnings): (TxnKind, Vec<String>),
    ) -> Self {
        let trace = Trace::default();
        Self { permit, server, statement, stream, metadata, asked, warnings, trace, kind, is_answered: false }
    }

    /// Writes what became of the transaction.
    pub(crate) fn deliver(mut self, answer: Answer) {
        match answer {
            Answer::Applied { result, txn_id, path } => {
                self.trace = Trace::of(self.asked, txn_id, Some(path));
                match decode_result(&result) {
                    Ok(mut result) => {
                        self.warnings.append(&mut result.warnings);
                        self.deliver_outcome(result.outcome);
                    }
                    Err(error) => self.fail(&error.into()),
                }
            }
            Answer::NotApplied { reason, text, txn_id } => {
                if let Some(txn_id) = txn_id {
                    self.trace = Trace::of(self.asked, txn_id, None);
                }
                self.fail(&not_applied(reason, text));
            }
            Answer::Unknown { txn_id } => {
                self.trace = Trace::of(self.asked, txn_id, None);
                let error = unknown(self.kind, &format!("transaction {txn_id}"));
                self.fail(&error);
            }
        }
    }

    fn deliver_outcome(mut self, outcome: Outcome) {
        match outcome {
            Outcome::Void => self.send(put_void),
            Outcome::Rows(rows) => {
                let statement = Rc::clone(&self.statement);
                match statement.columns() {
                    Some(columns) => {
                        let metadata = self.metadata;
                        let max = self.server.config().result_max_bytes;
                        // What was written stays written, so a transaction that wrote is answered whatever it returns.
                        if self.kind != TxnKind::Write && size_of_rows(&rows) > max {
                            let text = format!("the result has more than {max} bytes (result_max): read fewer rows");
                            return self.fail(&Error::Invalid(text));
                        }
                        // A statement with IF shows the row only if it was not applied; otherwise one column is left.
                        let is_short = rows.first().is_some_and(|row| row.len() == 1);
                        match statement.first_column().filter(|_| is_short) {
                            Some(first) => self.send(|body| put_rows(body, first, Metadata::Full, &rows)),
                            None => self.send(|body| put_rows(body, columns, metadata, &rows)),
                        }
                    }
                    None => self.fail(&Error::Server("rows from a statement without result columns".into())),
                }
            }
            Outcome::Schema(change, version) => match SchemaChange::of_statement(&change) {
                Some(change) => self.await_agreement(change, version),
                None => self.send(put_void),
            },
            Outcome::Rejected(error) => self.fail(&error.into()),
            _ => self.fail(&Error::Server("result of a kind this build does not know".into())),
        }
    }

    /// Answers once the live nodes have the new schema, or with a warning when the time for that is over.
    fn await_agreement(self, change: SchemaChange, version: u64) {
        let server = Rc::clone(&self.server);
        let waiting = Rc::new(RefCell::new(Some(Waiting { reply: self, change, timer: None })));
        let agreed = Rc::clone(&waiting);
        let finish = move || {
            let waiting = agreed.borrow_mut().take();
            if let Some(waiting) = waiting {
                waiting.finish(None);
            }
        };
        server.backend().when_schema_agreed(version, Box::new(finish));
        if waiting.borrow().is_none() {
            return;
        }
        let timeout = server.config().schema_agreement_timeout;
        let late = Rc::clone(&waiting);
        let timer = spawn_local(async move {
            tokio::time::sleep(timeout).await;
            let waiting = late.borrow_mut().take();
            if let Some(waiting) = waiting {
                let text = format!("not all live nodes had schema version {version} after {timeout:?}; it is in force");
                waiting.finish(Some(text));
            }
        });
        if let Some(waiting) = waiting.borrow_mut().as_mut() {
            waiting.timer = Some(timer.abort_handle());
        }
    }

    fn prefix<'a>(&'a self, entries: &'a [(&'a str, &'a [u8])]) -> Prefix<'a> {
        Prefix { warnings: &self.warnings, payload: entries }
    }

    fn send(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        self.is_answered = true;
        let entries = self.trace.entries();
        self.permit.line().send(self.stream, opcode::RESULT, self.prefix(&entries), write);
    }

    fn fail(&mut self, error: &Error) {
        self.is_answered = true;
        let entries = self.trace.entries();
        self.permit.line().send_error(self.stream, self.prefix(&entries), error);
    }
}

impl Drop for Reply {
    fn drop(&mut self) {
        if !self.is_answered {
            self.fail(&unknown(self.kind, "the transaction, which the node dropped without an answer,"));
        }
    }
}

/// A schema statement that was applied here and is on its way to the other nodes.
struct Waiting {
    reply: Reply,
    change: SchemaChange,
    timer: Option<AbortHandle>,
}

impl Waiting {
    fn finish(mut self, warning: Option<String>) {
        if let Some(timer) = self.timer.take().filter(|_| warning.is_none()) {
            timer.abort();
        }
        self.reply.server.announce_schema();
        self.reply.warnings.extend(warning);
        let change = self.change;
        self.reply.send(|body| put_schema_change(body, &change));
    }
}

/// *Units*: bytes of the rows in an answer.
fn size_of_rows(rows: &[Vec<Option<Vec<u8>>>]) -> usize {
    let cells = rows.iter().flatten();
    cells.map(|cell| size_of::<i32>() + cell.as_ref().map_or(0, Vec::len)).sum()
}

fn not_applied(reason: Reason, text: String) -> Error {
    let count = |replicas: u32| i32::try_from(replicas).unwrap_or(i32::MAX);
    match reason {
        Reason::Overloaded | Reason::Stopping => Error::Overloaded(text),
        // A driver may send it again without fear: it will never execute.
        Reason::Invalidated => Error::Unavailable { message: text, required: 1, alive: 0 },
        Reason::Unavailable { required, alive } => {
            Error::Unavailable { message: text, required: count(required), alive: count(alive) }
        }
        Reason::Refused => Error::Invalid(text),
        Reason::Internal => Error::Server(text),
    }
}

fn unknown(kind: TxnKind, what: &str) -> Error {
    match kind {
        TxnKind::Read | TxnKind::EphemeralRead => {
            Error::ReadTimeout(format!("{what} gave no answer in time; it only reads: send it again"))
        }
        _ => Error::WriteTimeout(format!("outcome unknown: {what} may or may not be applied")),
    }
}
