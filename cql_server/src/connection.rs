//! One client connection: a task that reads, serves and writes, and decides nothing about CQL.
//!
//! All requests found in one read are served before the answers leave in one write; answers that come later gather in the
//! [`Line`] and wake the task once.

use crate::admission::Place;
use crate::codec::{Cut, Input};
use crate::envelope::Prefix;
use crate::error::Error;
use crate::line::Line;
use crate::server::Server;
use crate::session::{Session, Step};
use crate::watch::{Awaited, Watch};
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};
use tokio::io::AsyncWrite;
use tokio::net::TcpStream;

/// Reads served before other tasks get their turn.
const TURNS_MAX: usize = 8;
/// Bytes read and dropped after we closed our side, so that the client sees our last words instead of a reset.
const LINGER_MAX_BYTES: usize = 1 << 20;

/// A connection as a task.
pub(crate) struct Connection {
    stream: TcpStream,
    server: Rc<Server>,
    line: Rc<Line>,
    input: Input,
    session: Session,
    watch: Watch,
    phase: Phase,
    /// Requests cut off the input so far.
    served: u64,
    /// Bytes the socket took so far.
    sent: u64,
    /// Bytes of unfinished requests that are counted at the server.
    held_input: usize,
    place: Option<Place>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    Open,
    /// The client sends nothing more; answers under way still go out.
    Ending,
    /// We give up the connection once what is written is sent.
    Closing,
    Lingering {
        left_bytes: usize,
    },
}

/// Whether the task goes on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Turn {
    Again,
    Rest,
    Over,
}

impl Connection {
    pub(crate) fn new(stream: TcpStream, place: Place, server: Rc<Server>) -> Self {
        let line = server.open_line();
        let session = Session::new(Rc::clone(&server), Rc::clone(&line));
        let input = Input::new(server.config().greeting_max_bytes);
        let (watch, phase, place) = (Watch::default(), Phase::Open, Some(place));
        Self { stream, server, line, input, session, watch, phase, served: 0, sent: 0, held_input: 0, place }
    }

    fn turn(&mut self, cx: &mut Context<'_>) -> Result<Turn, io::Error> {
        if self.line.has_overflowed() {
            tracing::info!("closed a client that does not read its answers");
            return Ok(Turn::Over);
        }
        match self.phase {
            Phase::Open => self.turn_open(cx),
            Phase::Ending => {
                let flushed = self.flush(cx)?;
                let is_over = flushed && self.line.in_flight() == 0;
                Ok(if is_over { Turn::Over } else { Turn::Rest })
            }
            Phase::Closing => {
                if !self.flush(cx)? || Pin::new(&mut self.stream).poll_shutdown(cx)?.is_pending() {
                    return Ok(Turn::Rest);
                }
                self.phase = Phase::Lingering { left_bytes: LINGER_MAX_BYTES };
                Ok(Turn::Again)
            }
            Phase::Lingering { left_bytes } => {
                let Poll::Ready(len) = self.read(cx, |_, bytes| bytes.len()) else { return Ok(Turn::Rest) };
                let len = len?;
                self.phase = Phase::Lingering { left_bytes: left_bytes.saturating_sub(len) };
                Ok(if len == 0 || len >= left_bytes { Turn::Over } else { Turn::Again })
            }
        }
    }

    fn turn_open(&mut self, cx: &mut Context<'_>) -> Result<Turn, io::Error> {
        let has_served_all = self.serve();
        self.bound_input();
        self.flush(cx)?;
        if self.phase != Phase::Open {
            return Ok(Turn::Again);
        }
        if self.server.is_stopping() && self.line.in_flight() == 0 {
            self.phase = Phase::Closing;
            return Ok(Turn::Again);
        }
        if !self.may_serve() {
            return Ok(Turn::Rest);
        }
        if !has_served_all {
            return Ok(Turn::Again);
        }
        let read = self.read(cx, |connection, bytes| {
            connection.input.push(bytes);
            bytes.len()
        });
        match read {
            Poll::Pending => Ok(Turn::Rest),
            Poll::Ready(len) => {
                if len? == 0 {
                    self.phase = Phase::Ending;
                }
                Ok(Turn::Again)
            }
        }
    }

    /// Back-pressure: with too much under way, or too many answers unread, requests stay in the socket.
    fn may_serve(&self) -> bool {
        let config = self.server.config();
        let has_room = self.line.in_flight() < config.connection_in_flight_max || self.session.throws_on_overload();
        has_room && self.line.pending() <= config.output_pause_bytes
    }

    /// Serves what has arrived; `false` if it stopped before the end of it.
    fn serve(&mut self) -> bool {
        while self.phase == Phase::Open && self.may_serve() {
            let cut = self.input.next();
            self.served += u64::from(matches!(cut, Ok(Some(_))));
            let step = match cut {
                Ok(None) => return true,
                Ok(Some(Cut::Envelope(header, body))) => {
                    self.line.set_version(header.version);
                    self.session.handle(&header, body)
                }
                Ok(Some(Cut::TooLarge(header))) => {
                    self.line.set_version(header.version);
                    let max = self.server.config().envelope_max_bytes;
                    let text = format!("request of {} bytes; the limit here is {max} bytes", header.body_len);
                    self.line.send_error(header.stream, Prefix::NONE, &Error::Invalid(text));
                    Step::Continue
                }
                Err(fatal) => {
                    tracing::debug!(error = %fatal.error, "closing a connection");
                    self.line.send_error(fatal.stream.max(0), Prefix::NONE, &fatal.error);
                    Step::Close
                }
            };
            match step {
                Step::Continue => {}
                Step::Opened => {
                    let segmented = self.line.version() >= 5;
                    self.input.open(self.server.config().envelope_max_bytes, segmented);
                }
                Step::Close => {
                    self.line.close();
                    self.phase = Phase::Closing;
                }
            }
        }
        false
    }

    /// Gives the connection up if all connections together hold too much of requests that have not arrived in full.
    fn bound_input(&mut self) {
        if !self.server.hold_input(&mut self.held_input, self.input.buffered()) {
            let text = "too many bytes of unfinished requests at this node: try later or another node";
            self.give_up(&Error::Overloaded(text.into()));
        }
    }

    /// Says why, then closes.
    fn give_up(&mut self, error: &Error) {
        self.line.send_error(0, Prefix::NONE, error);
        self.line.close();
        self.phase = Phase::Closing;
    }

    /// Writes what is waiting; `false` if the socket does not take all of it now.
    fn flush(&mut self, cx: &mut Context<'_>) -> Result<bool, io::Error> {
        while self.line.pending() > 0 {
            let stream = Pin::new(&mut self.stream);
            let written = self.line.with_output(|output| stream.poll_write(cx, output.chunk()));
            let Poll::Ready(written) = written? else { return Ok(false) };
            if written == 0 {
                return Err(io::ErrorKind::WriteZero.into());
            }
            self.line.with_output(|output| output.advance(written));
            self.sent += written as u64;
        }
        Ok(true)
    }

    /// Reads once into the scratch buffer all connections share.
    fn read(
        &mut self,
        cx: &mut Context<'_>,
        mut take: impl FnMut(&mut Self, &[u8]) -> usize,
    ) -> Poll<Result<usize, io::Error>> {
        let server = Rc::clone(&self.server);
        let mut scratch = server.scratch();
        loop {
            ready!(self.stream.poll_read_ready(cx))?;
            scratch.clear();
            match self.stream.try_read_buf(&mut *scratch) {
                Ok(_) => return Poll::Ready(Ok(take(self, &scratch))),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
    }

    /// What a connection at rest waits for, if the client may not take any time for it.
    fn awaited(&self) -> Option<Awaited> {
        match self.phase {
            Phase::Lingering { .. } => Some(Awaited::Farewell),
            _ if !self.session.is_open() => Some(Awaited::Login),
            _ if self.line.pending() > 0 => Some(Awaited::Reader { sent: self.sent }),
            // A request that we ourselves do not read on is not late.
            Phase::Open if self.may_serve() && self.input.is_within_request() => {
                Some(Awaited::Request { served: self.served })
            }
            _ => None,
        }
    }

    /// Whether the task may go on resting; otherwise the connection is over, or about to say so.
    fn rest(&mut self, cx: &mut Context<'_>) -> Turn {
        let awaited = self.awaited();
        if !self.watch.is_late(awaited, self.server.config(), cx) {
            return Turn::Rest;
        }
        match awaited {
            Some(Awaited::Request { .. }) => {
                let time = self.server.config().request_timeout;
                self.give_up(&Error::Protocol(format!("a request had not arrived in full after {time:?}")));
                Turn::Again
            }
            Some(Awaited::Reader { .. }) => {
                tracing::info!("closed a client that does not read its answers");
                Turn::Over
            }
            _ => Turn::Over,
        }
    }
}

impl Future for Connection {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        self.line.take_waker();
        for _ in 0..TURNS_MAX {
            let turn = self.turn(cx).map(|turn| if turn == Turn::Rest { self.rest(cx) } else { turn });
            match turn {
                Ok(Turn::Again) => {}
                Ok(Turn::Rest) => {
                    self.line.rest(cx.waker());
                    return Poll::Pending;
                }
                Ok(Turn::Over) => return Poll::Ready(()),
                Err(error) => {
                    tracing::debug!(%error, "connection lost");
                    return Poll::Ready(());
                }
            }
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.line.close();
        self.server.hold_input(&mut self.held_input, 0);
        self.place.take();
        self.server.connection_closed();
    }
}
