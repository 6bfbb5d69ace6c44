//! What one client may ask, in which order, and how it is answered.

use crate::envelope::{Header, Prefix, VERSION_MAX, VERSION_MIN, opcode};
use crate::error::Error;
use crate::line::{Hearing, Line};
use crate::payload::Asked;
use crate::reply::{Manner, Reply};
use crate::request::{Parameters, Request};
use crate::response::{Metadata, put_prepared, put_rows, put_set_keyspace};
use crate::server::Server;
use crate::statement::{Plan, Statement};
use crate::system::{CQL_VERSION, Source, SystemSelect, View, VirtualRead, is_system_keyspace};
use crate::wire::Put;
use cql_txn::{Schema, Value};
use std::rc::Rc;

/// What the connection does next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Step {
    Continue,
    /// The handshake is done: from now on the full limits hold, and segments in version 5.
    Opened,
    Close,
}

/// The state of one client beyond its bytes.
pub(crate) struct Session {
    server: Rc<Server>,
    line: Rc<Line>,
    is_open: bool,
    throws_on_overload: bool,
    keyspace: Option<Rc<str>>,
}

const EVENT_TYPES: &[&str] = &["TOPOLOGY_CHANGE", "STATUS_CHANGE", "SCHEMA_CHANGE"];

impl Session {
    pub(crate) fn new(server: Rc<Server>, line: Rc<Line>) -> Self {
        Self { server, line, is_open: false, throws_on_overload: false, keyspace: None }
    }

    /// Whether the handshake is done.
    pub(crate) fn is_open(&self) -> bool {
        self.is_open
    }

    /// Whether STARTUP asked to be refused instead of held up.
    pub(crate) fn throws_on_overload(&self) -> bool {
        self.throws_on_overload
    }

    /// Answers one request, at once or when its transaction is done.
    pub(crate) fn handle(&mut self, header: &Header, body: &[u8]) -> Step {
        let stream = header.stream;
        match Request::decode(header, body).and_then(|(request, asked)| self.perform(stream, request, asked)) {
            Ok(step) => step,
            Err(error) => {
                self.line.send_error(stream, Prefix::NONE, &error);
                // Before the handshake nothing is worth going on for; afterwards the next envelope is still found.
                if self.is_open { Step::Continue } else { Step::Close }
            }
        }
    }

    fn perform(&mut self, stream: i16, request: Request<'_>, asked: Asked) -> Result<Step, Error> {
        match request {
            Request::Options => self.line.send(stream, opcode::SUPPORTED, Prefix::NONE, put_supported),
            Request::Startup(options) => return self.start(stream, &options),
            _ if !self.is_open => return Err(Error::Protocol("the first request must be STARTUP or OPTIONS".into())),
            Request::Register(types) => self.register(stream, &types)?,
            Request::Query { text, parameters } => self.query(stream, text, &parameters, asked)?,
            Request::Prepare { text, keyspace } => self.prepare(stream, text, keyspace)?,
            Request::Execute { id, result_metadata_id, parameters } => {
                let schema = self.server.backend().schema();
                let statement = self.server.statements().prepared(id, &schema)?;
                let metadata = metadata(&statement, result_metadata_id, parameters.skip_metadata);
                let manner = Manner { stream, metadata, asked };
                self.run(statement, &schema, &parameters, manner)?;
            }
            Request::Batch => {
                return Err(Error::Invalid(
                    "BATCH is not supported: send BEGIN TRANSACTION … COMMIT TRANSACTION".into(),
                ));
            }
            Request::AuthResponse => return Err(Error::Protocol("AUTH_RESPONSE, but nobody asked for it".into())),
        }
        Ok(Step::Continue)
    }

    fn start(&mut self, stream: i16, options: &[(&str, &str)]) -> Result<Step, Error> {
        if self.is_open {
            return Err(Error::Protocol("second STARTUP on this connection".into()));
        }
        let option = |name| options.iter().find(|(key, _)| *key == name).map(|(_, value)| *value);
        if option("CQL_VERSION").is_none() {
            return Err(Error::Protocol("STARTUP lacks CQL_VERSION".into()));
        }
        if let Some(name) = option("COMPRESSION").filter(|name| !name.is_empty()) {
            let text = format!("COMPRESSION {name:?} is not supported: connect without compression");
            return Err(Error::Protocol(text));
        }
        self.throws_on_overload = option("THROW_ON_OVERLOAD").is_some_and(|value| matches!(value, "1" | "true"));
        self.is_open = true;
        self.line.send(stream, opcode::READY, Prefix::NONE, |_| {});
        if self.line.version() >= 5 {
            self.line.use_segments();
        }
        Ok(Step::Opened)
    }

    fn register(&self, stream: i16, types: &[&str]) -> Result<(), Error> {
        if let Some(unknown) = types.iter().find(|name| !EVENT_TYPES.contains(*name)) {
            return Err(Error::Protocol(format!("REGISTER: unknown event type {unknown:?}")));
        }
        self.line.hear(Hearing { schema: types.contains(&"SCHEMA_CHANGE"), status: types.contains(&"STATUS_CHANGE") });
        self.line.send(stream, opcode::READY, Prefix::NONE, |_| {});
        Ok(())
    }

    fn query(&mut self, stream: i16, text: &str, parameters: &Parameters<'_>, asked: Asked) -> Result<(), Error> {
        let schema = self.server.backend().schema();
        let keyspace = parameters.keyspace.or(self.keyspace.as_deref());
        let statement = self.server.statements().text(text, keyspace, &schema)?;
        let metadata = if parameters.skip_metadata { Metadata::Skipped } else { Metadata::Full };
        self.run(statement, &schema, parameters, Manner { stream, metadata, asked })
    }

    fn prepare(&self, stream: i16, text: &str, keyspace: Option<&str>) -> Result<(), Error> {
        let schema = self.server.backend().schema();
        let keyspace = keyspace.or(self.keyspace.as_deref());
        let statement = self.server.statements().prepare(text, keyspace, &schema)?;
        let version = self.line.version();
        let write = |body: &mut Vec<u8>| put_prepared(body, &statement.as_prepared(), version);
        self.line.send(stream, opcode::RESULT, Prefix::NONE, write);
        Ok(())
    }

    fn run(
        &mut self,
        statement: Rc<Statement>,
        schema: &Schema,
        parameters: &Parameters<'_>,
        manner: Manner,
    ) -> Result<(), Error> {
        let reordered;
        let values = match &parameters.names {
            Some(names) => {
                reordered = statement.in_marker_order(names, &parameters.values)?;
                &reordered
            }
            None => &parameters.values,
        };
        match statement.plan() {
            Plan::System(select) => self.read_system(select, &statement, values, manner),
            Plan::Use(keyspace) => self.use_keyspace(keyspace, schema, manner.stream),
            Plan::Language(prepared) => {
                let bound = prepared.bind(values, schema)?;
                self.server.check_size(&bound)?;
                let permit = self.server.admit(&self.line)?;
                let txn = crate::backend::NewTxn {
                    kind: bound.kind,
                    ephemeral_candidate: bound.ephemeral_candidate,
                    keys: bound.keys,
                    body: bound.body,
                    wants_trace: manner.asked.trace,
                };
                let with = (txn.kind, bound.warnings);
                let reply = Reply::new((Rc::clone(&self.server), permit), Rc::clone(&statement), manner, with);
                self.server.backend().submit(txn, Box::new(move |answer| reply.deliver(answer)));
                Ok(())
            }
        }
    }

    fn read_system(
        &self,
        select: &SystemSelect,
        statement: &Rc<Statement>,
        values: &[Value<'_>],
        manner: Manner,
    ) -> Result<(), Error> {
        let wanted = select.bind(values)?;
        match select.source() {
            Source::Port(rows) => {
                let rows = select.pick(&wanted, rows(&View::of(self.server.backend())));
                if let Some(columns) = statement.columns() {
                    let write = |body: &mut Vec<u8>| put_rows(body, columns, manner.metadata, &rows);
                    self.line.send(manner.stream, opcode::RESULT, Prefix::NONE, write);
                }
            }
            Source::Node(table) => {
                let permit = self.server.admit(&self.line)?;
                let read = VirtualRead::new(permit, Rc::clone(statement), manner, wanted);
                self.server.backend().look(table, Box::new(move |rows| read.deliver(&rows)));
            }
        }
        Ok(())
    }

    fn use_keyspace(&mut self, keyspace: &str, schema: &Schema, stream: i16) -> Result<(), Error> {
        if !schema.keyspaces.contains_key(keyspace) && !is_system_keyspace(keyspace) {
            return Err(Error::Invalid(format!("keyspace {keyspace} does not exist")));
        }
        self.keyspace = Some(keyspace.into());
        self.line.send(stream, opcode::RESULT, Prefix::NONE, |body| put_set_keyspace(body, keyspace));
        Ok(())
    }
}

/// What of the metadata an EXECUTE needs: in version 5 the client says which it holds; in version 4 it cannot, so a statement
/// whose columns have changed since it was first prepared here always comes with its own.
fn metadata(statement: &Statement, held: Option<&[u8]>, skip: bool) -> Metadata {
    match held {
        Some(held) if held != statement.result_metadata_id() => Metadata::Changed,
        None if statement.is_redefined() => Metadata::Full,
        _ if skip => Metadata::Skipped,
        _ => Metadata::Full,
    }
}

fn put_supported(body: &mut Vec<u8>) {
    let versions: Vec<String> = (VERSION_MIN..=VERSION_MAX).map(|version| format!("{version}/v{version}")).collect();
    let versions: Vec<&str> = versions.iter().map(String::as_str).collect();
    // The Python driver indexes COMPRESSION, so it is there, though empty.
    let options: [(&str, &[&str]); 3] =
        [("CQL_VERSION", &[CQL_VERSION]), ("COMPRESSION", &[]), ("PROTOCOL_VERSIONS", &versions)];
    body.put_u16(options.len() as u16);
    for (name, values) in options {
        body.put_string(name);
        body.put_string_list(values.iter().copied());
    }
}
