use std::io;
use std::sync::Arc;
use std::time::Duration;

use auth::Sealer;
use auth::frame::HEADER_LEN;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::net::tcp::{ReadHalf, WriteHalf};
use tokio::time::{Instant, sleep, timeout};
use tracing::{debug, info, warn};

use crate::backoff::Backoff;
use crate::handshake::{Dialled, dial};
use crate::link::Shared;
use crate::queue::Taken;
use crate::socket::prepare;
use crate::{Endpoint, HandshakeFailure};

/// Keeps one link connected and writes what is queued; [`LinkTask::run`] is to be spawned once.
#[derive(Debug)]
pub struct LinkTask {
    endpoint: Arc<Endpoint>,
    peer: u32,
    address: String,
    shared: Arc<Shared>,
}

/// Why there is no connection.
#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error("cannot reach it: {0}")]
    Unreachable(io::Error),
    #[error("{0}")]
    Handshake(HandshakeFailure),
    #[error("connection lost: {0}")]
    Lost(io::Error),
    #[error("cannot seal a frame: {0}")]
    Seal(auth::Error),
}

impl LinkTask {
    pub(crate) const fn new(endpoint: Arc<Endpoint>, peer: u32, address: String, shared: Arc<Shared>) -> Self {
        Self { endpoint, peer, address, shared }
    }

    /// Connects, writes, reconnects; returns once the [`crate::Link`] is closed and, if connected, its queue is written.
    pub async fn run(self) {
        let settings = &self.endpoint.settings;
        let mut backoff = Backoff::new(settings.backoff.clone());
        loop {
            let connected = tokio::select! {
                biased;
                () = self.shared.stop.notified() => break,
                connected = self.connect() => connected,
            };
            let outcome = match connected {
                Ok((stream, dialled)) => {
                    let since = Instant::now();
                    let outcome = self.stay_connected(stream, dialled).await;
                    // A peer that takes the greeting and then hangs up must not be dialled at full speed.
                    if since.elapsed() >= *settings.backoff.end() {
                        backoff.reset();
                    }
                    outcome
                }
                Err(failure) => Err(failure),
            };
            let Err(failure) = outcome else { break };
            self.report(&failure);
            let pause = backoff.pause(u32::from_be_bytes(self.endpoint.random()));
            tokio::select! {
                biased;
                () = self.shared.stop.notified() => break,
                () = sleep(pause) => {}
            }
        }
        self.drop_queue();
    }

    async fn connect(&self) -> Result<(TcpStream, Dialled), Failure> {
        let settings = &self.endpoint.settings;
        let reach = timeout(settings.connect_timeout, TcpStream::connect(&self.address));
        let reached = reach.await.unwrap_or_else(|_| Err(timed_out("connecting", settings.connect_timeout)));
        let mut stream = reached.map_err(|error| {
            self.shared.counters.unreachable.add(1);
            Failure::Unreachable(error)
        })?;
        prepare(&stream).map_err(Failure::Unreachable)?;
        let handshake = timeout(settings.handshake_timeout, dial(&mut stream, &self.endpoint, self.peer));
        match handshake.await.unwrap_or(Err(HandshakeFailure::Timeout(settings.handshake_timeout))) {
            Ok(dialled) => Ok((stream, dialled)),
            Err(failure) => {
                self.shared.counters.handshake_failures.count(&failure);
                Err(Failure::Handshake(failure))
            }
        }
    }

    /// Writes whatever is queued until the link is closed (Ok) or the connection fails.
    async fn stay_connected(&self, mut stream: TcpStream, dialled: Dialled) -> Result<(), Failure> {
        let Dialled { mut sealer, peer, wire } = dialled;
        self.shared.counters.connects.add(1);
        self.shared.set_up(peer.incarnation);
        info!(peer = self.peer, address = self.address, wire, "link up");
        let (mut read, mut write) = stream.split();
        loop {
            let closing = tokio::select! {
                biased;
                () = self.shared.wake.notified() => false,
                lost = end_of(&mut read) => return Err(Failure::Lost(lost)),
                () = self.shared.stop.notified() => true,
            };
            while let Some(taken) = self.shared.queue.take() {
                self.write(&mut write, &mut sealer, taken).await?;
            }
            if closing {
                // The peer sees the end in any case; an error here loses nothing that was promised.
                let _ = write.shutdown().await;
                return Ok(());
            }
        }
    }

    async fn write(&self, write: &mut WriteHalf<'_>, sealer: &mut Sealer, taken: Taken) -> Result<(), Failure> {
        let Taken { mut frame, count } = taken;
        let payload = frame.len() - HEADER_LEN;
        sealer.set_epoch(self.endpoint.epoch());
        let limit = self.endpoint.settings.write_timeout;
        let written = match sealer.seal_in_place(&mut frame, count) {
            Ok(()) => timeout(limit, write.write_all(&frame))
                .await
                .unwrap_or_else(|_| Err(timed_out("writing", limit)))
                .map_err(Failure::Lost),
            Err(error) => Err(Failure::Seal(error)),
        };
        let counters = &self.shared.counters;
        match &written {
            Ok(()) => {
                counters.frames.add(1);
                counters.bytes.add(frame.len() as u64);
                counters.messages.add(u64::from(count));
            }
            Err(_) => self.count_dropped(count, payload),
        }
        self.shared.queue.written(frame);
        written
    }

    fn report(&self, failure: &Failure) {
        if matches!(failure, Failure::Lost(_) | Failure::Seal(_)) {
            self.shared.counters.losses.add(1);
        }
        let dropped = self.drop_queue();
        let (peer, address) = (self.peer, &self.address);
        if self.shared.set_down(failure.to_string()) {
            warn!(peer, address, dropped, "no link to node {peer} at {address}: {failure}");
        } else {
            debug!(peer, address, dropped, "still no link to node {peer} at {address}: {failure}");
        }
    }

    /// What waits for a lost peer would be stale when it is back.
    fn drop_queue(&self) -> u32 {
        let Some(Taken { frame, count }) = self.shared.queue.take() else { return 0 };
        self.count_dropped(count, frame.len() - HEADER_LEN);
        self.shared.queue.written(frame);
        count
    }

    fn count_dropped(&self, count: u32, payload: usize) {
        self.shared.counters.dropped_messages.add(u64::from(count));
        self.shared.counters.dropped_bytes.add(payload as u64);
    }
}

/// Resolves when the peer closes: nothing else ever comes back on a link.
async fn end_of(read: &mut ReadHalf<'_>) -> io::Error {
    match read.read(&mut [0; 1]).await {
        Ok(0) => io::Error::new(io::ErrorKind::UnexpectedEof, "the peer closed it"),
        Ok(_) => io::Error::new(io::ErrorKind::InvalidData, "the peer sent bytes on a link that only goes to it"),
        Err(error) => error,
    }
}

fn timed_out(doing: &str, limit: Duration) -> io::Error {
    io::Error::new(io::ErrorKind::TimedOut, format!("{doing} took longer than {limit:?}"))
}
