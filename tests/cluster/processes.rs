//! Three `accordd serve` processes on this machine, with keys from `keygen`.

use super::TempDir;
use accordd::config::{Config, NodeEntry};
use client::{ConnectOptions, Connection};
use std::fs::{self, File};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};
use tokio::time::sleep;

pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_accordd");

/// How long a node gets to serve.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// Ports are sought in so many blocks from here, below what the system hands out to connections.
const PORTS: u16 = 22_000;
const BLOCK: u16 = 8;
const BLOCKS: u16 = 1_000;

/// Processes of one cluster; what still runs at the end is killed.
pub(crate) struct Processes {
    pub(crate) dir: TempDir,
    pub(crate) file: PathBuf,
    pub(crate) contacts: Vec<String>,
    nodes: Vec<Option<Child>>,
    /// Keeps other clusters of this machine off the ports of a node that is away.
    _guard: TcpListener,
}

impl Processes {
    pub(crate) fn prepare(name: &str) -> Self {
        let dir = TempDir::new(name);
        let file = dir.path().join("cluster.toml");
        let mut config = Config::default();
        config.cluster.id = Some("00112233445566778899aabbccddeeff".into());
        let (guard, ports) = claim_ports();
        config.cluster.nodes = (0..3)
            .map(|at| NodeEntry {
                id: at as u32 + 1,
                peer_addr: local(ports[2 * at]),
                client_addr: Some(local(ports[2 * at + 1])),
                identity: None,
                token: None,
            })
            .collect();
        fs::write(&file, config.to_text()).expect("written");
        let made = Command::new(PROGRAM).arg("keygen").arg("--config").arg(&file).output().expect("runs");
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        let contacts = (0..3).map(|at| local(ports[2 * at + 1]).to_string()).collect();
        Self { dir, file, contacts, nodes: vec![None, None, None], _guard: guard }
    }

    pub(crate) fn start(&mut self, index: usize) {
        self.start_with(index, &[]);
    }

    /// Starts a node with something more in its environment.
    pub(crate) fn start_with(&mut self, index: usize, environment: &[(&str, &str)]) {
        let log = self.dir.path().join(format!("node-{}.log", index + 1));
        let log = File::options().create(true).append(true).open(log).expect("a log file");
        let mut node = Command::new(PROGRAM);
        node.args(["serve", "--node", &(index + 1).to_string(), "--config"]).arg(&self.file).stderr(log);
        node.envs(environment.iter().copied());
        self.nodes[index] = Some(node.spawn().expect("starts"));
    }

    pub(crate) async fn wait_serving(&self, index: usize) {
        let deadline = Instant::now() + PATIENCE;
        while let Err(error) = Connection::connect(&self.contacts[index], &ConnectOptions::default()).await {
            assert!(Instant::now() < deadline, "node {}: {error}\n{}", index + 1, self.log(index));
            sleep(Duration::from_millis(20)).await;
        }
    }

    pub(crate) fn log(&self, index: usize) -> String {
        fs::read_to_string(self.dir.path().join(format!("node-{}.log", index + 1))).unwrap_or_default()
    }

    /// How a node ended by itself; `None` while it runs.
    pub(crate) fn ended(&mut self, index: usize) -> Option<ExitStatus> {
        let ended = self.nodes[index].as_mut()?.try_wait().expect("a child of this process");
        if ended.is_some() {
            self.nodes[index] = None;
        }
        ended
    }

    pub(crate) fn kill(&mut self, index: usize) {
        if let Some(mut node) = self.nodes[index].take() {
            node.kill().expect("SIGKILL");
            node.wait().expect("ended");
        }
    }

    /// Stops every node in order.
    pub(crate) fn terminate(&mut self) -> Vec<ExitStatus> {
        let nodes: Vec<Child> = self.nodes.iter_mut().filter_map(Option::take).collect();
        for node in &nodes {
            let sent = Command::new("kill").args(["-TERM", &node.id().to_string()]).status().expect("kill runs");
            assert!(sent.success());
        }
        nodes.into_iter().map(|mut node| node.wait().expect("ended")).collect()
    }
}

impl Drop for Processes {
    fn drop(&mut self) {
        (0..self.nodes.len()).for_each(|index| self.kill(index));
    }
}

fn local(port: u16) -> SocketAddr {
    SocketAddr::from((Ipv4Addr::LOCALHOST, port))
}

/// A block of ports, and its first one taken: whoever listens there has the block, for as long as he listens.
fn claim_ports() -> (TcpListener, Vec<u16>) {
    let first = (std::process::id() % u32::from(BLOCKS)) as u16;
    let blocks = (0..BLOCKS).map(|nth| PORTS + (first + nth) % BLOCKS * BLOCK);
    let claimed = blocks.filter_map(|guard| Some((TcpListener::bind(local(guard)).ok()?, guard))).find_map(claim);
    claimed.expect("free ports")
}

/// The ports of a block behind its guard, if all of them are free.
fn claim((listener, guard): (TcpListener, u16)) -> Option<(TcpListener, Vec<u16>)> {
    let ports: Vec<u16> = (guard + 1..guard + BLOCK).collect();
    let is_free = |port: &u16| TcpListener::bind(local(*port)).is_ok();
    ports.iter().all(is_free).then_some((listener, ports))
}
