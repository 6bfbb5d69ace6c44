//! The listener of the client port.

use crate::backend::Backend;
use crate::config::PortConfig;
use crate::connection::Connection;
use crate::files::{connections_within, files_max};
use crate::server::Server;
use std::io;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::spawn_local;
use tokio::time::Instant;

/// Pause after a failed accept (out of file descriptors, mostly).
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Least time between two lines of the log about the same trouble.
const COMPLAINT_PAUSE: Duration = Duration::from_secs(1);

/// A bound client port. Everything it starts stays on the thread that calls [`ClientPort::serve`].
pub struct ClientPort {
    listener: TcpListener,
    server: Rc<Server>,
}

/// What the node may do with a port that is serving.
#[derive(Clone)]
pub struct PortHandle {
    server: Rc<Server>,
}

impl ClientPort {
    /// Binds `address`; nothing is accepted before [`ClientPort::serve`].
    ///
    /// *Errors*: those of binding.
    pub async fn bind(address: SocketAddr, config: PortConfig, backend: Rc<dyn Backend>) -> Result<Self, io::Error> {
        let listener = TcpListener::bind(address).await?;
        let connections_max = connections_within(config.connections_max, files_max());
        if connections_max < config.connections_max {
            let wanted = config.connections_max;
            tracing::info!(
                "connections_max is {connections_max} instead of {wanted}: the limit of open files leaves no more"
            );
        }
        let config = PortConfig { connections_max, ..config };
        Ok(Self { listener, server: Rc::new(Server::new(config, backend)) })
    }

    /// The address bound, with the port the system chose if it was asked to.
    ///
    /// *Errors*: those of the system.
    pub fn local_addr(&self) -> Result<SocketAddr, io::Error> {
        self.listener.local_addr()
    }

    /// A handle that outlives `serve`.
    pub fn handle(&self) -> PortHandle {
        PortHandle { server: Rc::clone(&self.server) }
    }

    /// Accepts and serves until [`PortHandle::stop`]; then lets the requests under way finish and returns.
    ///
    /// *Panics*: outside a `LocalSet` (an actix arbiter has one).
    pub async fn serve(self) {
        let Self { listener, server } = self;
        let (mut refused, mut failed) = (Complaint::default(), Complaint::default());
        loop {
            tokio::select! {
                biased;
                () = server.stopped() => break,
                accepted = listener.accept() => match accepted {
                    Ok((stream, address)) => admit(stream, address, &server, &mut refused),
                    Err(error) => {
                        if let Some(times) = failed.is_due() {
                            tracing::warn!(%error, times, "cannot accept a client connection");
                        }
                        tokio::time::sleep(ACCEPT_PAUSE).await;
                    }
                },
            }
        }
        drop(listener);
        server.drained().await;
    }
}

/// Keeps the log readable while the same thing goes wrong thousands of times a second.
#[derive(Default)]
struct Complaint {
    last: Option<Instant>,
    times: u64,
}

impl Complaint {
    /// Counts one more; how many there were since the last line if it is time for another.
    fn is_due(&mut self) -> Option<u64> {
        self.times += 1;
        let now = Instant::now();
        if self.last.is_some_and(|last| now.duration_since(last) < COMPLAINT_PAUSE) {
            return None;
        }
        self.last = Some(now);
        Some(std::mem::take(&mut self.times))
    }
}

fn admit(stream: TcpStream, address: SocketAddr, server: &Rc<Server>, refused: &mut Complaint) {
    let place = match server.enter(address.ip().to_canonical()) {
        Ok(place) => place,
        Err(full) => {
            if let Some(times) = refused.is_due() {
                tracing::warn!(%address, times, "refused a client: {full}");
            }
            return;
        }
    };
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "cannot set TCP_NODELAY");
    }
    spawn_local(Connection::new(stream, place, Rc::clone(server)));
}

impl PortHandle {
    /// The node has a new schema: registered clients are told what changed since the last call.
    pub fn schema_changed(&self) {
        self.server.announce_schema();
    }

    /// The client port of a node, at `address`, began to serve or ceased to: registered clients are told.
    pub fn status_changed(&self, address: SocketAddr, is_up: bool) {
        self.server.announce_status(address, is_up);
    }

    /// Takes no new connection and no new request; `serve` returns when those under way are answered.
    pub fn stop(&self) {
        self.server.stop();
    }

    /// Open connections.
    pub fn connections(&self) -> usize {
        self.server.connections()
    }

    /// Requests under way.
    pub fn in_flight(&self) -> usize {
        self.server.in_flight()
    }
}
