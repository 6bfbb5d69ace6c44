//! One connection: a handle that many callers may share, each with requests of its own in flight.

use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpStream;
use tokio::time::{Instant, timeout, timeout_at};

use crate::bind::Binds;
use crate::error::Error;
use crate::frame::{Envelope, Version};
use crate::handshake::Handshake;
use crate::request::{self, RequestOptions};
use crate::response::{self, Answer, Prepared, Response};
use crate::socket::{self, Shared};
use crate::streams::{Arrival, Ticket};
use crate::value::Value;

/// A login.
#[derive(Clone)]
pub struct Credentials {
    pub user: String,
    pub password: String,
}

impl std::fmt::Debug for Credentials {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Credentials").field("user", &self.user).finish_non_exhaustive()
    }
}

/// How to connect.
#[derive(Clone, Debug)]
pub struct ConnectOptions {
    pub version: Version,
    pub credentials: Option<Credentials>,
    /// Longest wait for the TCP connection and the handshake together.
    pub connect_timeout: Duration,
    /// Longest wait for an answer, unless a request says otherwise.
    pub request_timeout: Duration,
    /// Requests in flight, 1 to 32,768; beyond it callers wait for a free stream id.
    pub in_flight_max: usize,
    /// Largest answer taken, in bytes.
    pub body_max: usize,
    /// Name sent to the server.
    pub driver_name: String,
}

impl Default for ConnectOptions {
    fn default() -> Self {
        Self {
            version: Version::V5,
            credentials: None,
            connect_timeout: Duration::from_secs(5),
            request_timeout: Duration::from_secs(12),
            in_flight_max: 2048,
            body_max: 64 << 20,
            driver_name: "accordd client".to_owned(),
        }
    }
}

/// A live connection to one node; clones share it, and it ends when the last is dropped and its answers are in.
#[derive(Clone, Debug)]
pub struct Connection {
    handle: Arc<Handle>,
}

#[derive(Debug)]
struct Handle {
    shared: Arc<Shared>,
    version: Version,
    request_timeout: Duration,
    address: String,
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.shared.drain("closed by this client");
    }
}

impl Connection {
    /// Connects to `address` (`host:port`) and runs the handshake; must be called inside a tokio runtime.
    ///
    /// *Errors*: [`Error::Connect`], [`Error::Handshake`], [`Error::Auth`], [`Error::Options`].
    pub async fn connect(address: &str, options: &ConnectOptions) -> Result<Self, Error> {
        if !(1..=1 << 15).contains(&options.in_flight_max) {
            return Err(Error::Options { reason: "in_flight_max must lie in 1..=32768".to_owned() });
        }
        let opening = open(address, options);
        let late = || Error::Connect {
            address: address.to_owned(),
            reason: format!("no connection within {:?}", options.connect_timeout),
        };
        let (socket, inbox) = timeout(options.connect_timeout, opening).await.map_err(|_| late())??;
        let shared = Arc::new(Shared::new(options.in_flight_max));
        tokio::spawn(socket::serve(socket, inbox, options.version, shared.clone()));
        let handle = Handle {
            shared,
            version: options.version,
            request_timeout: options.request_timeout,
            address: address.to_owned(),
        };
        Ok(Self { handle: Arc::new(handle) })
    }

    /// Runs a statement, with values for its `?` markers.
    pub async fn query(&self, text: &str, values: &[Value], options: &RequestOptions) -> Result<Response, Error> {
        self.query_bound(text, Binds::Values(values), options).await
    }

    /// Runs a statement with values of any form; whether they fit its markers is for the server to say.
    pub async fn query_bound(&self, text: &str, binds: Binds<'_>, options: &RequestOptions) -> Result<Response, Error> {
        let envelope = request::query(self.handle.version, text, binds, options)?;
        let answer = self.round_trip(envelope, options.timeout).await?;
        response::decode(&answer, self.handle.version, None)
    }

    /// Prepares a statement on this node.
    pub async fn prepare(&self, text: &str) -> Result<Prepared, Error> {
        let envelope = request::prepare(self.handle.version, text)?;
        let answer = self.round_trip(envelope, None).await?;
        match response::decode(&answer, self.handle.version, None)?.answer {
            Answer::Prepared(prepared) => Ok(prepared),
            other => Err(Error::Unexpected { wanted: "prepared statement", got: other.name() }),
        }
    }

    /// Runs a prepared statement; one value per marker, in text order.
    pub async fn execute(
        &self,
        statement: &Prepared,
        values: &[Value],
        options: &RequestOptions,
    ) -> Result<Response, Error> {
        let (wanted, got) = (statement.parameters.len(), values.len());
        if wanted != got {
            return Err(Error::ValueCount { wanted, got });
        }
        self.execute_bound(statement, Binds::Values(values), options).await
    }

    /// Runs a prepared statement with values of any form; whether they fit its markers is for the server to say.
    pub async fn execute_bound(
        &self,
        statement: &Prepared,
        binds: Binds<'_>,
        options: &RequestOptions,
    ) -> Result<Response, Error> {
        let envelope = request::execute(self.handle.version, statement, binds, options)?;
        let answer = self.round_trip(envelope, options.timeout).await?;
        response::decode(&answer, self.handle.version, Some(&statement.columns))
    }

    /// The name of the cluster that the node belongs to.
    pub async fn cluster_name(&self) -> Result<String, Error> {
        let text = "SELECT cluster_name FROM system.local WHERE key = 'local'";
        let response = self.query(text, &[], &RequestOptions::default()).await?;
        let row = response.rows().and_then(|rows| rows.row(0));
        let wanted = "a row of system.local";
        let name = row.ok_or(Error::Unexpected { wanted, got: "no row" })?.text(0)?;
        Ok(name.unwrap_or_default().to_owned())
    }

    /// Address the connection was made to.
    pub fn address(&self) -> &str {
        &self.handle.address
    }

    /// Protocol version in use.
    pub fn version(&self) -> Version {
        self.handle.version
    }

    /// Whether it takes new requests.
    pub fn is_live(&self) -> bool {
        self.handle.shared.is_live()
    }

    /// Requests whose callers wait for an answer.
    pub fn in_flight(&self) -> usize {
        self.handle.shared.waiting_count()
    }

    /// Why it takes no more requests; `None` while it is live.
    pub fn end_reason(&self) -> Option<String> {
        self.handle.shared.end_reason()
    }

    /// Waits until the connection takes no more requests and says why.
    pub async fn ended(&self) -> String {
        self.handle.shared.over().await;
        self.handle.shared.end_reason().unwrap_or_default()
    }

    pub(crate) fn watch_over(&self) -> tokio::sync::watch::Receiver<bool> {
        self.handle.shared.watch_over()
    }

    async fn round_trip(&self, envelope: Vec<u8>, limit: Option<Duration>) -> Result<Envelope, Error> {
        let shared = &self.handle.shared;
        let limit = limit.unwrap_or(self.handle.request_timeout);
        let deadline = Instant::now() + limit;
        if shared.permits.try_acquire().map(|permit| permit.forget()).is_err() {
            let permit = timeout_at(deadline, shared.permits.acquire()).await;
            let permit = permit.map_err(|_| not_sent(format!("no free stream id within {limit:?}")))?;
            permit.map_err(|_| not_sent(shared.end_reason().unwrap_or_default()))?.forget();
        }
        let (ticket, answer) = shared.submit(envelope).map_err(not_sent)?;
        // Gives the id up when this future is dropped; does nothing once it was answered.
        let waiting = Waiting { shared, ticket };
        let arrival = timeout_at(deadline, answer).await;
        drop(waiting);
        match arrival {
            Ok(Ok(Arrival::Answered(envelope))) => Ok(envelope),
            Ok(Ok(Arrival::Lost { sent: false })) => Err(not_sent(shared.end_reason().unwrap_or_default())),
            Ok(Ok(Arrival::Lost { sent: true }) | Err(_)) => {
                Err(Error::ConnectionLost { reason: shared.end_reason().unwrap_or_default() })
            }
            Err(_) => Err(Error::Timeout { after: limit }),
        }
    }
}

async fn open(address: &str, options: &ConnectOptions) -> Result<(TcpStream, crate::inbox::Inbox), Error> {
    let refused = |error: std::io::Error| Error::Connect { address: address.to_owned(), reason: error.to_string() };
    let socket = TcpStream::connect(address).await.map_err(refused)?;
    socket.set_nodelay(true).map_err(refused)?;
    Handshake::new(address, socket, options).run().await
}

fn not_sent(reason: String) -> Error {
    Error::NotSent { reason }
}

struct Waiting<'a> {
    shared: &'a Shared,
    ticket: Ticket,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.shared.abandon(self.ticket);
    }
}
