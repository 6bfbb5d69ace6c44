use std::io;
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use auth::Verified;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::{JoinError, JoinSet};
use tokio::time::{sleep, timeout};
use tracing::{debug, warn};

use crate::handshake::accept;
use crate::receive::receive;
use crate::registry::Registry;
use crate::socket::prepare;
use crate::{Batch, Endpoint, Error, HandshakeFailure, ListenerCounters};

/// Pause after the system refused to hand out a connection (out of descriptors, as a rule).
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Where opened frames go.
pub trait Inbound {
    /// Takes the messages of one frame of node `from`. Must not block: it runs in the connection's task.
    fn deliver(&self, from: u32, batch: Verified<Batch<'_>>);
}

/// The peer port of a node.
#[derive(Debug)]
pub struct Listener {
    endpoint: Arc<Endpoint>,
    socket: TcpListener,
    counters: Arc<ListenerCounters>,
}

/// What the tasks of all connections share.
pub(crate) struct Port<I> {
    pub(crate) endpoint: Arc<Endpoint>,
    pub(crate) counters: Arc<ListenerCounters>,
    pub(crate) registry: Registry,
    pub(crate) inbound: I,
}

impl Listener {
    /// *Shape*: `address` is `host:port`. *Errors*: the address cannot be resolved or is taken.
    pub async fn bind(endpoint: Arc<Endpoint>, address: &str) -> Result<Self, Error> {
        let bound = TcpListener::bind(address).await;
        let socket = bound.map_err(|source| Error::Bind { address: address.to_owned(), source })?;
        let counters = Arc::new(ListenerCounters::new(endpoint.ring().peers()));
        Ok(Self { endpoint, socket, counters })
    }

    /// The address really bound, where the port was given as 0.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    pub fn counters(&self) -> Arc<ListenerCounters> {
        Arc::clone(&self.counters)
    }

    /// Accepts and serves connections for ever; dropping the future closes the port and every connection.
    ///
    /// *Panics*: outside a `LocalSet` or an actix arbiter, since connections are local tasks of the caller's thread.
    pub async fn run<I: Inbound + 'static>(self, inbound: I) {
        let Self { endpoint, socket, counters } = self;
        let unauthenticated = Arc::new(Semaphore::new(endpoint.settings.unauthenticated_max));
        let port = Rc::new(Port { endpoint, counters, registry: Registry::default(), inbound });
        let mut connections = JoinSet::new();
        loop {
            let accepted = tokio::select! {
                accepted = socket.accept() => accepted,
                Some(ended) = connections.join_next() => {
                    pass_panic_on(ended);
                    continue;
                }
            };
            match accepted {
                Ok((stream, address)) => {
                    port.counters.accepted.add(1);
                    let Ok(permit) = Arc::clone(&unauthenticated).try_acquire_owned() else {
                        port.counters.turned_away.add(1);
                        debug!(%address, "connection turned away: too many have not proved a key yet");
                        continue;
                    };
                    let port = Rc::clone(&port);
                    connections.spawn_local(async move { serve(&port, stream, address, permit).await });
                }
                Err(error) => {
                    warn!(%error, "peer port cannot accept connections");
                    sleep(ACCEPT_PAUSE).await;
                }
            }
        }
    }
}

/// A panic in a connection is a bug in this node: it must not pass as one closed connection.
fn pass_panic_on(ended: Result<(), JoinError>) {
    if let Err(error) = ended
        && let Ok(panic) = error.try_into_panic()
    {
        std::panic::resume_unwind(panic);
    }
}

/// One connection from greeting to end. `permit` is its place among those that have proved nothing.
async fn serve<I: Inbound>(port: &Port<I>, mut stream: TcpStream, address: SocketAddr, permit: OwnedSemaphorePermit) {
    let limit = port.endpoint.settings.handshake_timeout;
    let greeted = match prepare(&stream) {
        Ok(()) => timeout(limit, accept(&mut stream, &port.endpoint)).await,
        Err(error) => Ok(Err(HandshakeFailure::Io(error))),
    };
    drop(permit);
    match greeted.unwrap_or(Err(HandshakeFailure::Timeout(limit))) {
        Ok(accepted) => receive(port, stream, accepted, address).await,
        Err(failure) => {
            let count = port.counters.handshake_failures.count(&failure);
            let cause = failure.cause();
            // Strangers decide how often this happens, so they must not decide how long the log gets.
            if count.is_power_of_two() {
                warn!(%address, cause, count, "connection from {address} refused: {failure}");
            } else {
                debug!(%address, cause, count, "connection from {address} refused: {failure}");
            }
        }
    }
}
