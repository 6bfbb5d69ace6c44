//! What the client port costs: CPU of its thread for one EXECUTE of a prepared transaction, with a node that answers at once.
//!
//! `cargo run --release -p cql_server --example port_cost`

#[path = "../tests/one_node/mod.rs"]
mod one_node;

use cql_server::{Answer, Backend, ClientPort, NewTxn, NodeInfo, PortConfig};
use cql_txn::Schema;
use one_node::OneNode;
use protocol::{Blob, NodeId, TxnId};
use std::cell::{Cell, RefCell};
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::Instant;
use tokio::task::LocalSet;

const REQUESTS: usize = 400_000;
const STATEMENTS: &[&str] = &[
    "CREATE KEYSPACE bank WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}",
    "CREATE TABLE bank.accounts (id bigint, kind text, balance bigint, PRIMARY KEY (id, kind)) \
     WITH transactional_mode = 'full'",
    "INSERT INTO bank.accounts (id, kind, balance) VALUES (1, 'CHECKING', 1000)",
    "INSERT INTO bank.accounts (id, kind, balance) VALUES (2, 'CHECKING', 1000)",
];
const PAYMENT: &str = "BEGIN TRANSACTION
  UPDATE bank.accounts SET balance -= 1 WHERE id=? AND kind='CHECKING';
  UPDATE bank.accounts SET balance += 1 WHERE id=? AND kind='CHECKING';
COMMIT TRANSACTION;";
const AUDIT: &str = "BEGIN TRANSACTION
  LET a1 = (SELECT balance FROM bank.accounts WHERE id=? AND kind='CHECKING');
  LET a2 = (SELECT balance FROM bank.accounts WHERE id=? AND kind='CHECKING');
  SELECT a1.balance, a2.balance;
COMMIT TRANSACTION;";

/// Answers every transaction with the result of the one before it was frozen.
struct Frozen {
    node: OneNode,
    last: Rc<RefCell<Blob>>,
    is_frozen: Cell<bool>,
}

impl Backend for Frozen {
    fn schema(&self) -> Arc<Schema> {
        self.node.schema()
    }

    fn submit(&self, txn: NewTxn, answer: Box<dyn FnOnce(Answer)>) {
        // A transaction of two keys is what is measured: the first one is run, the others only seem to be.
        if self.is_frozen.get() && txn.keys.len() == 2 {
            return answer(Answer::Applied { result: self.last.borrow().clone(), txn_id: TxnId::NONE, path: "fast" });
        }
        self.is_frozen.set(txn.keys.len() == 2);
        let last = Rc::clone(&self.last);
        let keep = move |given: Answer| {
            if let Answer::Applied { result, .. } = &given {
                *last.borrow_mut() = result.clone();
            }
            answer(given);
        };
        self.node.submit(txn, Box::new(keep));
    }

    fn when_schema_agreed(&self, version: u64, agreed: Box<dyn FnOnce()>) {
        self.node.when_schema_agreed(version, agreed);
    }

    fn nodes(&self) -> Vec<NodeInfo> {
        self.node.nodes()
    }

    fn local_node(&self) -> NodeId {
        self.node.local_node()
    }

    fn cluster_name(&self) -> String {
        self.node.cluster_name()
    }
}

/// Starts a port on a thread of its own; returns its address and the file that tells the thread's CPU time.
fn start() -> (SocketAddr, String) {
    let (tell, told) = channel();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("runtime");
        LocalSet::new().block_on(&runtime, async {
            let frozen = Frozen { node: OneNode::default(), last: Rc::default(), is_frozen: Cell::new(false) };
            let any = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
            let port = ClientPort::bind(any, PortConfig::default(), Rc::new(frozen)).await.expect("bind");
            let thread = std::fs::read_link("/proc/thread-self").expect("linux");
            let file = format!("/proc/{}/schedstat", thread.display());
            tell.send((port.local_addr().expect("address"), file)).expect("main waits");
            port.serve().await;
        });
    });
    told.recv().expect("started")
}

fn cpu_ns(file: &str) -> u64 {
    let text = std::fs::read_to_string(file).expect("schedstat");
    text.split_whitespace().next().and_then(|ns| ns.parse().ok()).expect("a number")
}

struct Client {
    stream: TcpStream,
    input: Vec<u8>,
}

impl Client {
    fn connect(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).expect("connect");
        stream.set_nodelay(true).expect("nodelay");
        let mut client = Self { stream, input: Vec::new() };
        client.ask(1, b"\0\x01\0\x0bCQL_VERSION\0\x053.0.0");
        client
    }

    /// The length of the first message received, header included, once it is whole.
    fn whole(&self, from: usize) -> Option<usize> {
        let header = self.input.get(from..from + 9)?;
        let len = 9 + u32::from_be_bytes(header[5..9].try_into().expect("four")) as usize;
        (self.input.len() - from >= len).then_some(len)
    }

    fn read(&mut self) {
        let mut buffer = [0; 1 << 16];
        let len = self.stream.read(&mut buffer).expect("read");
        assert!(len > 0, "closed");
        self.input.extend_from_slice(&buffer[..len]);
    }

    fn ask(&mut self, opcode: u8, body: &[u8]) -> Vec<u8> {
        self.stream.write_all(&envelope(opcode, body)).expect("write");
        loop {
            if let Some(len) = self.whole(0) {
                let message: Vec<u8> = self.input.drain(..len).collect();
                assert_ne!(message[4], 0, "{}", String::from_utf8_lossy(&message));
                return message[9..].to_vec();
            }
            self.read();
        }
    }

    fn await_answers(&mut self, count: usize) {
        let (mut from, mut seen) = (0, 0);
        while seen < count {
            match self.whole(from) {
                Some(len) => {
                    assert_eq!(self.input[from + 4], 8, "no result");
                    (from, seen) = (from + len, seen + 1);
                }
                None => self.read(),
            }
        }
        self.input.drain(..from);
    }
}

fn envelope(opcode: u8, body: &[u8]) -> Vec<u8> {
    [&[4, 0, 0, 1, opcode][..], &(body.len() as u32).to_be_bytes(), body].concat()
}

fn long_string(text: &str) -> Vec<u8> {
    [&(text.len() as u32).to_be_bytes(), text.as_bytes()].concat()
}

/// A QUERY of a payment between accounts that no other text names.
fn payment_text(turn: usize) -> Vec<u8> {
    let text = PAYMENT.replacen('?', &turn.to_string(), 1).replacen('?', &(turn + 1).to_string(), 1);
    envelope(7, &[&long_string(&text)[..], &[0, 1, 0]].concat())
}

/// Sends the requests of `batches`, waits for their answers after each batch, and prints the cost of one.
fn measure(name: &str, client: &mut Client, cpu_file: &str, batches: &[(usize, Vec<u8>)]) {
    let requests: usize = batches.iter().map(|(count, _)| count).sum();
    let (start, cpu) = (Instant::now(), cpu_ns(cpu_file));
    for (count, batch) in batches {
        client.stream.write_all(batch).expect("write");
        client.await_answers(*count);
    }
    let (wall, cpu) = (start.elapsed().as_nanos() as u64, cpu_ns(cpu_file) - cpu);
    let each = |ns: u64| ns as f64 / requests as f64 / 1000.0;
    println!("{name}, {} in flight: {:.2} us CPU of the port, {:.2} us wall", batches[0].0, each(cpu), each(wall));
}

fn main() {
    for (name, text) in [("payment", PAYMENT), ("audit", AUDIT)] {
        let (address, file) = start();
        let mut client = Client::connect(address);
        for statement in STATEMENTS {
            client.ask(7, &[&long_string(statement)[..], &[0, 1, 0]].concat());
        }
        let prepared = client.ask(9, &long_string(text));
        let values =
            [&[0, 1, 3, 0, 2, 0, 0, 0, 8][..], &1i64.to_be_bytes(), &[0, 0, 0, 8], &2i64.to_be_bytes()].concat();
        let execute = envelope(0x0a, &[&prepared[4..22], &values].concat());
        client.stream.write_all(&execute).expect("write");
        client.await_answers(1);
        for depth in [1, 16, 128] {
            let requests = if depth == 1 { REQUESTS / 10 } else { REQUESTS };
            measure(name, &mut client, &file, &vec![(depth, execute.repeat(depth)); requests / depth]);
        }
        if text == PAYMENT {
            let texts = |from: usize| (0..128).flat_map(|i| payment_text(from + 2 * i)).collect();
            let batches: Vec<(usize, Vec<u8>)> = (0..REQUESTS / 1280).map(|i| (128, texts(256 * i))).collect();
            measure("payment with literals", &mut client, &file, &batches);
        }
    }
}
