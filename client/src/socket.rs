//! The one task that owns a socket: it gathers what callers queued into one write, and hands answers to who waits.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::{Notify, Semaphore, oneshot, watch};

use crate::frame::{self, Version};
use crate::inbox::Inbox;
use crate::segment;
use crate::streams::{Arrival, Streams, Ticket};

/// Write buffers above this are given back after use.
const BUFFER_KEPT_BYTES: usize = 1 << 20;
/// Longest wait for the last answers of a connection that takes no more requests.
const LINGER_MAX: Duration = Duration::from_secs(60);

/// What callers and the task share.
#[derive(Debug)]
pub(crate) struct Shared {
    state: Mutex<State>,
    /// One permit per free stream id.
    pub(crate) permits: Semaphore,
    wake: Notify,
    /// True once the connection takes no more requests.
    over: watch::Sender<bool>,
}

/// *Shape*: `out` is whole envelopes back to back, not yet written; `unsent` their streams. Both are bounded, since each
/// request in them holds a stream id.
#[derive(Debug)]
struct State {
    out: Vec<u8>,
    unsent: Vec<i16>,
    streams: Streams,
    end: End,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum End {
    No,
    /// No new requests; the task leaves when the last caller has its answer.
    Draining(String),
    Over(String),
}

impl Shared {
    pub(crate) fn new(in_flight_max: usize) -> Self {
        let streams = Streams::new(in_flight_max);
        let state = State { out: Vec::new(), unsent: Vec::new(), streams, end: End::No };
        let over = watch::Sender::new(false);
        Self { state: Mutex::new(state), permits: Semaphore::new(in_flight_max), wake: Notify::new(), over }
    }

    /// Queues a finished envelope under a free stream id; the caller holds a permit.
    ///
    /// *Errors*: why the connection takes no more.
    pub(crate) fn submit(&self, mut envelope: Vec<u8>) -> Result<(Ticket, oneshot::Receiver<Arrival>), String> {
        let mut state = self.lock();
        match &state.end {
            End::No => {}
            End::Draining(why) | End::Over(why) => return Err(why.clone()),
        }
        let Some((ticket, answer)) = state.streams.reserve() else { return Err("no free stream id".to_owned()) };
        frame::set_stream(&mut envelope, ticket.stream);
        state.out.extend_from_slice(&envelope);
        state.unsent.push(ticket.stream);
        drop(state);
        self.wake.notify_one();
        Ok((ticket, answer))
    }

    /// The caller of `ticket` waits no longer.
    pub(crate) fn abandon(&self, ticket: Ticket) {
        let mut state = self.lock();
        state.streams.abandon(ticket);
        let worn_out = state.end == End::No && state.streams.is_worn_out();
        let ending = state.end != End::No;
        drop(state);
        if worn_out {
            self.drain("a quarter of the stream ids waits for answers that never came");
        } else if ending {
            self.wake.notify_one();
        }
    }

    /// Takes no more requests; ends when those in flight are answered or abandoned.
    pub(crate) fn drain(&self, why: &str) {
        let mut state = self.lock();
        if state.end == End::No {
            state.end = End::Draining(why.to_owned());
        }
        drop(state);
        self.permits.close();
        self.over.send_replace(true);
        self.wake.notify_one();
    }

    fn close(&self, why: String) {
        let mut state = self.lock();
        state.end = End::Over(why);
        let unsent = std::mem::take(&mut state.unsent);
        state.streams.lose_all(&unsent);
        state.out = Vec::new();
        drop(state);
        self.permits.close();
        self.over.send_replace(true);
    }

    pub(crate) fn is_live(&self) -> bool {
        self.lock().end == End::No
    }

    /// Why the connection takes no more requests, if so.
    pub(crate) fn end_reason(&self) -> Option<String> {
        match &self.lock().end {
            End::No => None,
            End::Draining(why) | End::Over(why) => Some(why.clone()),
        }
    }

    pub(crate) fn waiting_count(&self) -> usize {
        self.lock().streams.waiting_count()
    }

    pub(crate) async fn over(&self) {
        // The sender lives in `self`, so the wait cannot fail while we borrow it.
        let _ = self.over.subscribe().wait_for(|over| *over).await;
    }

    /// Becomes true once the connection takes no more requests; does not keep it alive.
    pub(crate) fn watch_over(&self) -> watch::Receiver<bool> {
        self.over.subscribe()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes all that is queued; from here on it counts as sent. `None` once there is nothing left to wait for.
    fn take_queued(&self, into: &mut Vec<u8>) -> Option<()> {
        into.clear();
        let mut state = self.lock();
        let drained = matches!(state.end, End::Draining(_)) && state.streams.waiting_count() == 0;
        if drained {
            return None;
        }
        std::mem::swap(&mut state.out, into);
        state.unsent.clear();
        Some(())
    }

    /// Hands over every whole answer in the inbox.
    fn deliver(&self, inbox: &mut Inbox) -> Result<(), String> {
        let mut answered = 0;
        let mut state = self.lock();
        let outcome = loop {
            match inbox.next() {
                // Stream -1 carries events; we register for none and a stray one harms nobody.
                Ok(Some(envelope)) if envelope.stream < 0 => {}
                Ok(Some(envelope)) => {
                    let stream = envelope.stream;
                    if !state.streams.answer(envelope) {
                        break Err(format!("answer on stream {stream}, where nothing was asked"));
                    }
                    answered += 1;
                }
                Ok(None) => break Ok(()),
                Err(error) => break Err(error.to_string()),
            }
        };
        let draining = state.end != End::No;
        drop(state);
        self.permits.add_permits(answered);
        if draining {
            self.wake.notify_one();
        }
        outcome
    }
}

/// Serves the socket until it ends; every caller still waiting is told so.
pub(crate) async fn serve(socket: TcpStream, inbox: Inbox, version: Version, shared: Arc<Shared>) {
    let (reading, writing) = socket.into_split();
    let why = tokio::select! {
        why = read(reading, inbox, &shared) => why,
        why = write(writing, version, &shared) => why,
        why = linger(&shared) => why,
    };
    shared.close(why);
}

/// A server that stopped reading must not hold a connection for ever that takes no more requests.
async fn linger(shared: &Shared) -> String {
    shared.over().await;
    tokio::time::sleep(LINGER_MAX).await;
    shared.end_reason().unwrap_or_default()
}

async fn read(mut socket: OwnedReadHalf, mut inbox: Inbox, shared: &Shared) -> String {
    loop {
        if let Err(why) = shared.deliver(&mut inbox) {
            return why;
        }
        match socket.read_buf(inbox.buffer()).await {
            Ok(0) => return "the server closed the connection".to_owned(),
            Ok(_) => {}
            Err(error) => return format!("read: {error}"),
        }
    }
}

async fn write(mut socket: OwnedWriteHalf, version: Version, shared: &Shared) -> String {
    let (mut envelopes, mut segments) = (Vec::new(), Vec::new());
    loop {
        shared.wake.notified().await;
        // Callers that are ready in the same round get into the same write.
        tokio::task::yield_now().await;
        if shared.take_queued(&mut envelopes).is_none() {
            return shared.end_reason().unwrap_or_default();
        }
        let bytes = match version {
            Version::V4 => &envelopes,
            Version::V5 => {
                segments.clear();
                segment::pack(&envelopes, &mut segments);
                &segments
            }
        };
        if let Err(error) = socket.write_all(bytes).await {
            return format!("write: {error}");
        }
        for buffer in [&mut envelopes, &mut segments] {
            buffer.clear();
            buffer.shrink_to(BUFFER_KEPT_BYTES);
        }
    }
}
