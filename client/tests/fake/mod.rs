//! A small server for tests: it speaks both protocol versions with code of its own, so that encoder and decoder of the
//! client are each checked against something that is not themselves.

#![allow(dead_code, reason = "each test program uses a part")]

mod bytes;

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

pub(crate) use bytes::{Ask, Body, Reply};

type Handler = dyn Fn(&Ask) -> Reply + Send + Sync;

/// A listening server; dropping it closes the port and every connection.
pub(crate) struct FakeServer {
    pub(crate) address: String,
    state: Arc<State>,
    accepting: tokio::task::JoinHandle<()>,
}

struct State {
    handler: Box<Handler>,
    authenticator: Option<String>,
    statements: Mutex<HashMap<Vec<u8>, String>>,
    prepare_count: AtomicUsize,
    cluster: Mutex<String>,
    connections: Mutex<Vec<tokio::task::AbortHandle>>,
}

impl Drop for FakeServer {
    fn drop(&mut self) {
        self.accepting.abort();
        self.cut_connections();
    }
}

impl FakeServer {
    pub(crate) async fn start(handler: impl Fn(&Ask) -> Reply + Send + Sync + 'static) -> Self {
        Self::listen("127.0.0.1:0", None, handler).await
    }

    pub(crate) async fn listen(
        address: &str,
        authenticator: Option<&str>,
        handler: impl Fn(&Ask) -> Reply + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind(address).await.expect("a port");
        let address = listener.local_addr().expect("bound").to_string();
        let state = Arc::new(State {
            handler: Box::new(handler),
            authenticator: authenticator.map(str::to_owned),
            statements: Mutex::default(),
            prepare_count: AtomicUsize::new(0),
            cluster: Mutex::new("fake".to_owned()),
            connections: Mutex::default(),
        });
        let accepting = tokio::spawn(accept(listener, state.clone()));
        Self { address, state, accepting }
    }

    /// Forgets every prepared statement, as after a restart.
    pub(crate) fn forget_statements(&self) {
        self.state.statements.lock().unwrap().clear();
    }

    pub(crate) fn prepare_count(&self) -> usize {
        self.state.prepare_count.load(Ordering::Relaxed)
    }

    /// The port belongs to another cluster from now on.
    pub(crate) fn join_cluster(&self, name: &str) {
        name.clone_into(&mut self.state.cluster.lock().unwrap());
    }

    /// Ends every connection; the port stays open.
    pub(crate) fn cut_connections(&self) {
        self.state.connections.lock().unwrap().drain(..).for_each(|task| task.abort());
    }
}

async fn accept(listener: TcpListener, state: Arc<State>) {
    while let Ok((socket, _)) = listener.accept().await {
        let serving = tokio::spawn(Serving::new(socket, state.clone()).run());
        state.connections.lock().unwrap().push(serving.abort_handle());
    }
}

/// One connection: reads requests one by one, answers each before the next, holds back what the handler wants held.
struct Serving {
    socket: TcpStream,
    state: Arc<State>,
    segmented: bool,
    held: Vec<Vec<u8>>,
    buffer: Vec<u8>,
    envelopes: Vec<u8>,
}

impl Serving {
    fn new(socket: TcpStream, state: Arc<State>) -> Self {
        socket.set_nodelay(true).expect("nodelay");
        Self { socket, state, segmented: false, held: vec![], buffer: vec![], envelopes: vec![] }
    }

    async fn run(mut self) {
        while let Some(raw) = self.next_envelope().await {
            let (version, stream, opcode) = (raw[0], [raw[2], raw[3]], raw[4]);
            let done = match opcode {
                0x05 => self.send(bytes::supported(version, stream)).await,
                0x01 => self.start_up(version, stream).await,
                0x0f => self.log_in(version, stream, &raw[9..]).await,
                0x09 => self.prepare(version, stream, &raw[9..]).await,
                _ => self.ask(version, stream, &raw).await,
            };
            if done.is_none() {
                return;
            }
        }
    }

    async fn start_up(&mut self, version: u8, stream: [u8; 2]) -> Option<()> {
        let answer = match &self.state.authenticator {
            Some(name) => bytes::envelope(version, 0, stream, 0x03, &bytes::string(name)),
            None => bytes::envelope(version, 0, stream, 0x02, &[]),
        };
        self.send(answer).await?;
        self.segmented = version == 5;
        Some(())
    }

    async fn log_in(&mut self, version: u8, stream: [u8; 2], body: &[u8]) -> Option<()> {
        let good = &body[4..] == b"\0alice\0secret";
        let answer = match good {
            true => bytes::envelope(version, 0, stream, 0x10, &[0xff; 4]),
            false => bytes::encode(version, stream, &Reply::error(0x0100, "wrong password")),
        };
        self.send(answer).await
    }

    async fn prepare(&mut self, version: u8, stream: [u8; 2], body: &[u8]) -> Option<()> {
        let text = bytes::long_string(body);
        let id = format!("id of {text}").into_bytes();
        self.state.prepare_count.fetch_add(1, Ordering::Relaxed);
        self.state.statements.lock().unwrap().insert(id.clone(), text.clone());
        self.send(bytes::prepared(version, stream, &id, text.matches('?').count())).await
    }

    async fn ask(&mut self, version: u8, stream: [u8; 2], raw: &[u8]) -> Option<()> {
        let statements = self.state.statements.lock().unwrap().clone();
        let reply = match bytes::ask(raw, &statements) {
            Ok(ask) if ask.text.contains("system.local") => {
                let name = self.state.cluster.lock().unwrap().clone().into_bytes();
                Reply::rows(&[("cluster_name", 0x0d)], vec![vec![Some(name)]])
            }
            Ok(ask) => (self.state.handler)(&ask),
            Err(unknown_id) => Reply::unprepared(&unknown_id),
        };
        let answer = match reply.body {
            Body::Silence => return Some(()),
            Body::Close => return None,
            _ => bytes::encode(version, stream, &reply),
        };
        if reply.held {
            self.held.push(answer);
            return Some(());
        }
        self.send(answer).await?;
        for late in std::mem::take(&mut self.held) {
            self.send(late).await?;
        }
        Some(())
    }

    async fn send(&mut self, envelope: Vec<u8>) -> Option<()> {
        let wire = if self.segmented { bytes::segments(&envelope) } else { envelope };
        self.socket.write_all(&wire).await.ok()
    }

    async fn next_envelope(&mut self) -> Option<Vec<u8>> {
        loop {
            let source = if self.segmented { &mut self.envelopes } else { &mut self.buffer };
            if let Some(envelope) = bytes::take_envelope(source) {
                return Some(envelope);
            }
            if self.segmented
                && let Some(payload) = bytes::take_segment(&mut self.buffer)
            {
                self.envelopes.extend(payload);
                continue;
            }
            if self.socket.read_buf(&mut self.buffer).await.ok()? == 0 {
                return None;
            }
        }
    }
}
