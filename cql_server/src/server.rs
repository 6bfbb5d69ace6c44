//! What all connections of a port share, on one thread.

use crate::admission::{Admission, Full, Permit, Place, Places};
use crate::backend::Backend;
use crate::config::PortConfig;
use crate::envelope::{Prefix, opcode};
use crate::error::Error;
use crate::line::{Hearing, Line, Waiting};
use crate::response::{put_schema_event, put_status_event};
use crate::schema_events::changes;
use crate::statements::Statements;
use cql_txn::{Bound, Schema};
use std::cell::{Cell, RefCell, RefMut};
use std::net::{IpAddr, SocketAddr};
use std::rc::{Rc, Weak};
use std::sync::Arc;
use tokio::sync::Notify;

/// *Units*: bytes read from a socket at once.
const SCRATCH_BYTES: usize = 64 << 10;
/// Stream id of messages nobody asked for.
const EVENT_STREAM: i16 = -1;

pub(crate) struct Server {
    backend: Rc<dyn Backend>,
    config: PortConfig,
    admission: Admission,
    statements: Statements,
    lines: RefCell<Vec<Weak<Line>>>,
    /// The schema clients were last told of.
    announced: RefCell<Arc<Schema>>,
    scratch: RefCell<Vec<u8>>,
    places: Rc<Places>,
    /// Answers waiting, over all connections.
    waiting: Rc<Waiting>,
    /// Bytes of requests that have not arrived in full, over all connections.
    held_input: Cell<usize>,
    is_stopping: Cell<bool>,
    /// Rung when stopping starts and whenever a connection ends.
    bell: Notify,
}

impl Server {
    pub(crate) fn new(config: PortConfig, backend: Rc<dyn Backend>) -> Self {
        Self {
            admission: Admission::new(config.in_flight_max),
            statements: Statements::new(config.prepared_max, config.prepared_max_bytes),
            lines: RefCell::default(),
            announced: RefCell::new(backend.schema()),
            scratch: RefCell::new(Vec::with_capacity(SCRATCH_BYTES)),
            places: Rc::new(Places::new(config.connections_max, config.connections_per_address_max)),
            waiting: Rc::new(Waiting::new(config.output_total_max_bytes)),
            held_input: Cell::new(0),
            is_stopping: Cell::new(false),
            bell: Notify::new(),
            backend,
            config,
        }
    }

    pub(crate) fn backend(&self) -> &dyn Backend {
        &*self.backend
    }

    pub(crate) fn config(&self) -> &PortConfig {
        &self.config
    }

    pub(crate) fn statements(&self) -> &Statements {
        &self.statements
    }

    /// The buffer every read goes through; borrowed for one read at a time.
    pub(crate) fn scratch(&self) -> RefMut<'_, Vec<u8>> {
        self.scratch.borrow_mut()
    }

    /// The right to run one more request of `line`.
    pub(crate) fn admit(&self, line: &Rc<Line>) -> Result<Permit, Error> {
        if self.is_stopping.get() {
            return Err(Error::Overloaded("this node is stopping: use another".into()));
        }
        if line.in_flight() >= self.config.connection_in_flight_max {
            let max = self.config.connection_in_flight_max;
            return Err(Error::Overloaded(format!(
                "{max} requests are in flight on this connection: send fewer at once"
            )));
        }
        self.admission.enter(line).ok_or_else(|| {
            let max = self.config.in_flight_max;
            Error::Overloaded(format!("{max} requests are in flight at this node: try later or another node"))
        })
    }

    pub(crate) fn in_flight(&self) -> usize {
        self.admission.in_flight()
    }

    /// Whether a transaction is of a size this node takes.
    pub(crate) fn check_size(&self, bound: &Bound) -> Result<(), Error> {
        let (keys, keys_max) = (bound.keys.len(), self.config.txn_keys_max);
        if keys > keys_max {
            return Err(Error::Invalid(format!(
                "the transaction touches {keys} keys; the limit here is {keys_max} (txn_keys_max): split it"
            )));
        }
        let (bytes, bytes_max) = (bound.body.bytes.len(), self.config.txn_max_bytes);
        if bytes > bytes_max {
            return Err(Error::Invalid(format!(
                "the transaction has {bytes} bytes; the limit here is {bytes_max} (txn_max): split it"
            )));
        }
        Ok(())
    }

    /// Counts a connection in, if there is room for it.
    pub(crate) fn enter(&self, address: IpAddr) -> Result<Place, Full> {
        self.places.enter(address)
    }

    /// A connection has given its place back.
    pub(crate) fn connection_closed(&self) {
        self.bell.notify_waiters();
    }

    /// Replaces what a connection holds of input, `held`, by `now`; `false` if the port then holds too much.
    pub(crate) fn hold_input(&self, held: &mut usize, now: usize) -> bool {
        let total = self.held_input.get() - *held + now;
        self.held_input.set(total);
        let grows = now > *held;
        *held = now;
        !grows || total <= self.config.input_max_bytes
    }

    pub(crate) fn connections(&self) -> usize {
        self.places.taken()
    }

    /// The outgoing side of a new connection, reachable for events.
    pub(crate) fn open_line(&self) -> Rc<Line> {
        let line = Rc::new(Line::new(self.config.output_max_bytes, &self.waiting));
        let mut lines = self.lines.borrow_mut();
        lines.retain(|known| known.strong_count() > 0);
        lines.push(Rc::downgrade(&line));
        line
    }

    fn live_lines(&self) -> Vec<Rc<Line>> {
        self.lines.borrow().iter().filter_map(Weak::upgrade).collect()
    }

    /// Tells registered clients what changed in the schema since they were last told.
    pub(crate) fn announce_schema(&self) {
        let now = self.backend.schema();
        if now.version <= self.announced.borrow().version {
            return;
        }
        let before = self.announced.replace(Arc::clone(&now));
        for change in changes(&before, &now) {
            self.announce(|hearing| hearing.schema, |body| put_schema_event(body, &change));
        }
    }

    /// Tells registered clients that the client port at `node` serves, or no longer does.
    pub(crate) fn announce_status(&self, node: SocketAddr, is_up: bool) {
        self.announce(|hearing| hearing.status, |body| put_status_event(body, node, is_up));
    }

    fn announce(&self, is_for: impl Fn(Hearing) -> bool, write: impl Fn(&mut Vec<u8>)) {
        for line in self.live_lines().iter().filter(|line| is_for(line.hears())) {
            line.send(EVENT_STREAM, opcode::EVENT, Prefix::NONE, &write);
        }
    }

    pub(crate) fn is_stopping(&self) -> bool {
        self.is_stopping.get()
    }

    pub(crate) fn stop(&self) {
        self.is_stopping.set(true);
        self.bell.notify_waiters();
        self.live_lines().iter().for_each(|line| line.wake());
    }

    /// Returns once [`Server::stop`] was called.
    pub(crate) async fn stopped(&self) {
        while !self.is_stopping.get() {
            self.bell.notified().await;
        }
    }

    /// Returns once no connection is left.
    pub(crate) async fn drained(&self) {
        while self.connections() > 0 {
            self.bell.notified().await;
        }
    }
}
