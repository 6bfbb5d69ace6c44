//! A cluster in one process: free ports on this machine, keys in memory, one directory.

use super::{NodeReport, NodeSetup, NodeThread, Prober};
use crate::Error;
use crate::clock::Clock;
use crate::command::keygen::new_keys;
use crate::config::{Config, NodeEntry};
use auth::keygen::{self, ClusterFiles};
use auth::{ClusterId, Identity, KeyRing};
use protocol::NodeId;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// Client ports are sought from here, peer ports from [`PEER_PORTS`]: below what the system hands out to connections, so that a node
/// that is away does not lose its port.
const CLIENT_PORTS: u16 = 19_042;
const PEER_PORTS: u16 = 17_000;

/// Who listens on the n-th port from here has the n-th block of both ranges, for as long as he listens.
const GUARD_PORTS: u16 = 16_000;

/// Ports of a block, and with it the most nodes of a cluster.
const BLOCK: u16 = 16;

/// Blocks tried before giving up; the ranges must not meet.
const BLOCKS: u16 = 60;

/// How long the keys of such a cluster are good.
const KEY_DAYS: u64 = 365;

/// Pause between two looks at the links.
const LOOK: Duration = Duration::from_millis(20);

/// Nodes on threads of this process, each with its own directory.
#[derive(Debug)]
pub struct LocalCluster {
    config: Arc<Config>,
    keys: ClusterFiles,
    dir: PathBuf,
    prober: Prober,
    clock: Clock,
    nodes: Vec<Option<NodeThread>>,
    /// Keeps other clusters of this machine off the ports of a node that is away.
    _guard: TcpListener,
}

impl LocalCluster {
    /// `count` nodes below `dir`, none of them running yet; what `config` says of addresses, ids and files is replaced.
    ///
    /// *Errors*: no free ports, or a configuration that is refused.
    pub fn prepare(config: Config, count: u32, dir: &Path, prober: Prober) -> Result<Self, Error> {
        let mut id = [0; 16];
        crate::entropy::fill(&mut id)?;
        let Ports { guard, clients, peers } = claim_ports(count)?;
        let address = |port: &u16| SocketAddr::from((Ipv4Addr::LOCALHOST, *port));
        let entries = (1..=count).zip(peers.iter().zip(&clients)).map(|(id, (peer, client))| NodeEntry {
            id,
            peer_addr: address(peer),
            client_addr: Some(address(client)),
            identity: None,
            token: None,
        });
        let mut config = config;
        let id = ClusterId(id).to_string();
        // drivers tell clusters apart by their name, and there may be several such on a machine
        config.cluster.name = format!("{} {}", config.cluster.name, &id[..8]);
        config.cluster.id = Some(id);
        config.cluster.nodes = entries.collect();
        config.check()?;
        let keys = new_keys(&config, KEY_DAYS)?;
        let nodes = (0..count).map(|_| None).collect();
        let (config, dir, clock) = (Arc::new(config), dir.to_path_buf(), Clock::start());
        Ok(Self { config, keys, dir, prober, clock, nodes, _guard: guard })
    }

    /// Starts every node that does not run.
    ///
    /// *Errors*: those of [`LocalCluster::start`].
    pub async fn start_all(&mut self) -> Result<(), Error> {
        for index in 0..self.nodes.len() {
            if self.nodes[index].is_none() {
                self.start(index).await?;
            }
        }
        Ok(())
    }

    /// Starts node `index`, counted from zero, from what it finds in its directory.
    ///
    /// *Errors*: those of [`super::Node::start`].
    pub async fn start(&mut self, index: usize) -> Result<(), Error> {
        let thread = NodeThread::start(self.setup(index)?).await?;
        self.nodes[index] = Some(thread);
        Ok(())
    }

    /// Takes node `index` out, to be stopped or killed by the caller.
    pub fn take(&mut self, index: usize) -> Option<NodeThread> {
        self.nodes.get_mut(index).and_then(Option::take)
    }

    /// Waits until every running node can send to every other running one.
    ///
    /// *Errors*: not within `patience`.
    pub async fn wait_linked(&self, patience: Duration) -> Result<(), Error> {
        let deadline = Instant::now() + patience;
        loop {
            let reports = self.reports().await;
            if reports.iter().all(|report| report.connected_count + 1 >= reports.len()) {
                return Ok(());
            }
            if Instant::now() >= deadline {
                return Err(Error::Failed(format!("the nodes have not found each other after {patience:?}")));
            }
            sleep(LOOK).await;
        }
    }

    /// What the running nodes say of themselves.
    pub async fn reports(&self) -> Vec<NodeReport> {
        let mut reports = Vec::new();
        for node in self.nodes.iter().flatten() {
            reports.extend(node.report().await);
        }
        reports
    }

    /// How many nodes there are, running or not.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Client addresses of all nodes, running or not.
    pub fn contacts(&self) -> Vec<String> {
        self.config.cluster.nodes.iter().map(|entry| entry.client_address().to_string()).collect()
    }

    /// Stops all nodes in order. True if everything under way ended in time. Blocks the calling thread.
    ///
    /// *Errors*: the first one's, after all have been stopped.
    pub fn stop(mut self) -> Result<bool, Error> {
        let threads: Vec<NodeThread> = self.nodes.iter_mut().filter_map(Option::take).collect();
        // together, since the last ones would wait in vain for those stopped before
        let stopping: Vec<_> = threads.into_iter().map(|node| std::thread::spawn(move || node.stop())).collect();
        let ended = stopping.into_iter().map(|thread| {
            thread.join().unwrap_or_else(|_| Err(Error::Failed("the thread that stops a node panicked".to_owned())))
        });
        let ended: Vec<Result<bool, Error>> = ended.collect();
        ended.into_iter().try_fold(true, |all, one| Ok(one? && all))
    }

    fn setup(&self, index: usize) -> Result<NodeSetup, Error> {
        let id = NodeId(self.config.cluster.nodes[index].id);
        Ok(NodeSetup {
            config: Arc::clone(&self.config),
            id,
            ring: self.ring(id)?,
            data_dir: self.dir.join(format!("node-{}", id.0)),
            prober: self.prober.clone(),
            clock: self.clock,
        })
    }

    fn ring(&self, id: NodeId) -> Result<KeyRing, Error> {
        let bad = |error: auth::Error| Error::Failed(format!("keys of node {}: {error}", id.0));
        let admin = keygen::parse_admin_public(&self.keys.admin_public).map_err(bad)?;
        let cluster = self.config.cluster_id();
        let now_s = self.clock.now().wall.0 / 1_000_000;
        let identity = |text: &str| keygen::parse_identity(text)?.verify(&admin, cluster, now_s);
        let files = self.keys.nodes.iter().find(|files| files.id == id.0);
        let files = files.ok_or_else(|| Error::Failed(format!("there are no keys of node {}", id.0)))?;
        let secrets = keygen::parse_node_secrets(files.signing.expose(), files.agreement.expose()).map_err(bad)?;
        let own = identity(&files.identity).map_err(bad)?;
        let peers = self.keys.nodes.iter().filter(|files| files.id != id.0);
        let peers: Result<Vec<Identity>, auth::Error> = peers.map(|files| identity(&files.identity)).collect();
        KeyRing::new(cluster, secrets, &own, peers.map_err(bad)?).map_err(bad)
    }
}

/// The ports of one cluster, and the claim to them.
struct Ports {
    guard: TcpListener,
    clients: Vec<u16>,
    peers: Vec<u16>,
}

/// A block of ports that no other cluster of this machine has, in this process or another.
///
/// A port that merely is free is not enough: that of a killed node is, and a cluster that took it would be loaded by the other's clients.
fn claim_ports(count: u32) -> Result<Ports, Error> {
    let listen = |port: u16| TcpListener::bind((Ipv4Addr::LOCALHOST, port)).ok();
    let count = u16::try_from(count).ok().filter(|count| *count <= BLOCK);
    let count = count.ok_or_else(|| Error::Failed(format!("a cluster in one process has at most {BLOCK} nodes")))?;
    for block in 0..BLOCKS {
        let Some(guard) = listen(GUARD_PORTS + block) else { continue };
        let of = |first: u16| (0..count).map(|nth| first + block * BLOCK + nth).collect::<Vec<u16>>();
        let (clients, peers) = (of(CLIENT_PORTS), of(PEER_PORTS));
        if clients.iter().chain(&peers).all(|port| listen(*port).is_some()) {
            return Ok(Ports { guard, clients, peers });
        }
    }
    Err(Error::Failed(format!(
        "no free ports from {CLIENT_PORTS} and {PEER_PORTS} up on 127.0.0.1; stop another demo first"
    )))
}
