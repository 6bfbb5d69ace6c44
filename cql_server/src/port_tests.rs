//! The port over real sockets, spoken to byte by byte.

use crate::backend::{Answer, Reason};
use crate::config::PortConfig;
use crate::envelope::{HEADER_BYTES, flag, opcode};
use crate::one_node::OneNode;
use crate::port::{ClientPort, PortHandle};
use crate::segment::{SEGMENT_HEADER_BYTES, Segment, put_envelopes};
use crate::wire::{Put, Reader};
use std::future::Future;
use std::net::{Ipv4Addr, SocketAddr};
use std::rc::Rc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::{LocalSet, spawn_local, yield_now};

/// A test that waits for something which never comes fails instead of hanging.
const PATIENCE: Duration = Duration::from_secs(60);

const KEYSPACE: &str = "CREATE KEYSPACE k WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}";
const TABLE: &str = "CREATE TABLE k.t (a int PRIMARY KEY, b text, c bigint) WITH transactional_mode = 'full'";

struct Port {
    node: Rc<OneNode>,
    address: SocketAddr,
    handle: PortHandle,
    config: PortConfig,
}

/// Runs `test` against a port of its own.
fn with_port<F: Future<Output = ()>>(config: PortConfig, test: impl FnOnce(Port) -> F) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("runtime");
    LocalSet::new().block_on(&runtime, async {
        let node = Rc::new(OneNode::default());
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let port = ClientPort::bind(address, config.clone(), Rc::clone(&node) as _).await.expect("bind");
        let (address, handle) = (port.local_addr().expect("address"), port.handle());
        node.set_port(address.port());
        let serving = spawn_local(port.serve());
        let run = async {
            test(Port { node, address, handle: handle.clone(), config }).await;
            handle.stop();
            serving.await.expect("port ends");
        };
        tokio::time::timeout(PATIENCE, run).await.expect("in time");
    });
}

/// One message of the server.
#[derive(Debug)]
struct Message {
    version: u8,
    flags: u8,
    stream: i16,
    opcode: u8,
    body: Vec<u8>,
}

impl Message {
    fn error(&self) -> (i32, String) {
        assert_eq!(self.opcode, opcode::ERROR, "{self:?}");
        let mut reader = Reader::new(&self.body);
        if self.flags & flag::PAYLOAD != 0 {
            crate::payload::read(&mut reader).expect("payload");
        }
        (reader.i32("code").expect("code"), reader.string("text").expect("text").to_owned())
    }

    fn kind(&self) -> i32 {
        assert_eq!(self.opcode, opcode::RESULT, "{:?}", self.error());
        Reader::new(&self.body).i32("kind").expect("kind")
    }

    /// Flags of the metadata of a result of rows.
    fn metadata_flags(&self) -> i32 {
        assert_eq!(self.kind(), 2);
        i32::from_be_bytes(self.body[4..8].try_into().expect("flags"))
    }
}

struct Client {
    stream: TcpStream,
    version: u8,
    segmented: bool,
    wire: Vec<u8>,
    plain: Vec<u8>,
}

impl Client {
    async fn connect(port: &Port, version: u8) -> Self {
        let stream = TcpStream::connect(port.address).await.expect("connect");
        Self { stream, version, segmented: false, wire: Vec::new(), plain: Vec::new() }
    }

    async fn started(port: &Port, version: u8) -> Self {
        Self::started_with(port, version, &[("CQL_VERSION", "3.0.0")]).await
    }

    async fn started_with(port: &Port, version: u8, options: &[(&str, &str)]) -> Self {
        let mut client = Self::connect(port, version).await;
        client.start(options).await;
        assert_eq!(client.receive().await.opcode, opcode::READY);
        client.segmented = version >= 5;
        client
    }

    async fn start(&mut self, options: &[(&str, &str)]) {
        let mut body = Vec::new();
        body.put_u16(options.len() as u16);
        for (key, value) in options {
            body.put_string(key);
            body.put_string(value);
        }
        self.send(1, opcode::STARTUP, &body).await;
    }

    fn envelope(&self, stream: i16, flags: u8, opcode: u8, body: &[u8]) -> Vec<u8> {
        let mut bytes = vec![self.version, flags];
        bytes.extend_from_slice(&stream.to_be_bytes());
        bytes.push(opcode);
        bytes.put_bytes(Some(body));
        bytes
    }

    async fn send_bytes(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).await.expect("write");
    }

    async fn send_envelopes(&mut self, envelopes: &[u8]) {
        let mut wire = Vec::new();
        if self.segmented {
            put_envelopes(&mut wire, envelopes)
        } else {
            wire.extend_from_slice(envelopes)
        }
        self.send_bytes(&wire).await;
    }

    async fn send(&mut self, stream: i16, opcode: u8, body: &[u8]) {
        let envelope = self.envelope(stream, 0, opcode, body);
        self.send_envelopes(&envelope).await;
    }

    async fn receive(&mut self) -> Message {
        self.try_receive().await.expect("a message before the end")
    }

    async fn try_receive(&mut self) -> Option<Message> {
        loop {
            if self.segmented {
                while let Some(segment) = Segment::peek(&self.wire).expect("valid segment") {
                    let payload = SEGMENT_HEADER_BYTES..SEGMENT_HEADER_BYTES + segment.payload_len;
                    self.plain.extend_from_slice(&self.wire[payload]);
                    self.wire.drain(..segment.len());
                }
            } else {
                self.plain.append(&mut self.wire);
            }
            if let Some(message) = self.cut() {
                return Some(message);
            }
            if self.stream.read_buf(&mut self.wire).await.expect("read") == 0 {
                return None;
            }
        }
    }

    fn cut(&mut self) -> Option<Message> {
        let header = self.plain.first_chunk::<HEADER_BYTES>()?;
        let len = u32::from_be_bytes([header[5], header[6], header[7], header[8]]) as usize;
        let body = self.plain.get(HEADER_BYTES..HEADER_BYTES + len)?.to_vec();
        let [version, flags, high, low, opcode] = *self.plain.first_chunk()?;
        self.plain.drain(..HEADER_BYTES + len);
        Some(Message { version, flags, stream: i16::from_be_bytes([high, low]), opcode, body })
    }

    async fn is_closed(&mut self) -> bool {
        self.try_receive().await.is_none()
    }

    fn parameters(&self, values: &[Option<&[u8]>], skip_metadata: bool) -> Vec<u8> {
        let flags = 1 | if skip_metadata { 2 } else { 0 };
        let mut out = vec![0, 1];
        if self.version >= 5 {
            out.put_i32(flags)
        } else {
            out.push(flags as u8)
        }
        out.put_u16(values.len() as u16);
        values.iter().for_each(|value| out.put_bytes(*value));
        out
    }

    fn query_body(&self, text: &str) -> Vec<u8> {
        let mut body = Vec::new();
        body.put_bytes(Some(text.as_bytes()));
        body.extend(self.parameters(&[], false));
        body
    }

    async fn query(&mut self, text: &str) -> Message {
        let body = self.query_body(text);
        self.send(2, opcode::QUERY, &body).await;
        self.receive().await
    }

    async fn prepare(&mut self, text: &str) -> Result<Prepared, (i32, String)> {
        let mut body = Vec::new();
        body.put_bytes(Some(text.as_bytes()));
        if self.version >= 5 {
            body.put_i32(0);
        }
        self.send(3, opcode::PREPARE, &body).await;
        let answer = self.receive().await;
        if answer.opcode == opcode::ERROR {
            return Err(answer.error());
        }
        assert_eq!(answer.kind(), 4);
        let mut reader = Reader::new(&answer.body[4..]);
        let id = reader.short_bytes("id").expect("id").to_vec();
        let metadata_id = if self.version >= 5 { reader.short_bytes("metadata id").expect("id") } else { &[] };
        Ok(Prepared { id, metadata_id: metadata_id.to_vec() })
    }

    fn execute_body(&self, prepared: &Prepared, values: &[Option<&[u8]>]) -> Vec<u8> {
        let mut body = Vec::new();
        body.put_short_bytes(&prepared.id);
        if self.version >= 5 {
            body.put_short_bytes(&prepared.metadata_id);
        }
        body.extend(self.parameters(values, true));
        body
    }

    async fn execute(&mut self, prepared: &Prepared, values: &[Option<&[u8]>]) -> Message {
        let body = self.execute_body(prepared, values);
        self.send(4, opcode::EXECUTE, &body).await;
        self.receive().await
    }

    async fn with_table(port: &Port, version: u8) -> Self {
        let mut client = Self::started(port, version).await;
        for text in [KEYSPACE, TABLE] {
            assert_eq!(client.query(text).await.kind(), 5);
        }
        client
    }
}

#[derive(Clone)]
struct Prepared {
    id: Vec<u8>,
    metadata_id: Vec<u8>,
}

fn bytes(value: i32) -> [u8; 4] {
    value.to_be_bytes()
}

/// The one cell of a result of one row and one column without metadata.
fn only_cell(message: &Message) -> Option<&[u8]> {
    assert_eq!((message.kind(), message.metadata_flags()), (2, 4), "{message:?}");
    let mut reader = Reader::new(&message.body[12..]);
    assert_eq!(reader.i32("rows"), Ok(1));
    reader.bytes("cell").expect("cell")
}

mod errors;
mod flow;
mod handshake;
mod limits;
mod statements;
