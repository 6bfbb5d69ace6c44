//! The sections in the words of the rooms they configure.

use super::{Config, METRICS_PORT_STEP, Mac, NodeEntry, Sync};
use auth::{ClusterId, Suite};
use command_store::ProgressConfig;
use coordinator::CoordinatorConfig;
use cql_server::PortConfig;
use journal::{Options, RowOptions, SyncMode};
use protocol::{Epoch, Micros, NodeId, Token, Topology};
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// Client port of a node whose entry names none.
const CLIENT_PORT: u16 = 9042;

impl NodeEntry {
    /// Where clients reach the node: `client_addr`, else port 9042 of its peer address.
    pub fn client_address(&self) -> SocketAddr {
        self.client_addr.unwrap_or(SocketAddr::new(self.peer_addr.ip(), CLIENT_PORT))
    }
}

impl Config {
    /// The cluster's id; all zeros if the value was never checked.
    pub fn cluster_id(&self) -> ClusterId {
        self.cluster.id.as_deref().and_then(|text| text.parse().ok()).unwrap_or(ClusterId([0; 16]))
    }

    /// Nodes and their places on the ring: the tokens of the file, or evenly spaced in its order.
    pub fn tokens(&self) -> Vec<(NodeId, Token)> {
        let even = Topology::even_tokens(self.cluster.nodes.len());
        let token = |(entry, even): (&NodeEntry, Token)| (NodeId(entry.id), entry.token.map_or(even, Token));
        self.cluster.nodes.iter().zip(even).map(token).collect()
    }

    /// Who replicates what.
    ///
    /// *Errors*: what [`Config::check`] refuses too.
    pub fn topology(&self) -> Result<Topology, crate::Error> {
        let refused = |bad: protocol::BadTopology| crate::Error::Config(format!("[cluster] nodes: {bad}"));
        Topology::ring(Epoch(1), &self.tokens()).map_err(refused)
    }

    /// Where the client port of a node listens.
    pub fn client_listen(&self, node: NodeId) -> Option<SocketAddr> {
        self.client_port.listen.or_else(|| self.entry(node).map(NodeEntry::client_address))
    }

    /// Where the peer port of a node listens.
    pub fn peer_listen(&self, node: NodeId) -> Option<SocketAddr> {
        self.peer_port.listen.or_else(|| self.entry(node).map(|entry| entry.peer_addr))
    }

    /// Where metrics and health of a node are served; `None` if they are not.
    pub fn metrics_listen(&self, node: NodeId) -> Option<SocketAddr> {
        let address = self.metrics.address.parse().ok()?;
        let client = self.client_listen(node)?.port();
        let port = if self.metrics.port == 0 { client.checked_add(METRICS_PORT_STEP)? } else { self.metrics.port };
        Some(SocketAddr::new(address, port))
    }

    pub fn port_config(&self) -> PortConfig {
        let port = &self.client_port;
        PortConfig {
            in_flight_max: port.in_flight_max,
            connection_in_flight_max: port.connection_in_flight_max,
            connections_max: port.connections_max,
            connections_per_address_max: port.connections_per_address_max,
            txn_keys_max: self.limits.txn_keys_max,
            txn_max_bytes: bytes(self.limits.txn_max),
            result_max_bytes: bytes(self.limits.result_max),
            envelope_max_bytes: bytes(port.envelope_max),
            greeting_max_bytes: bytes(port.greeting_max),
            input_max_bytes: bytes(port.input_max),
            login_timeout: port.login_timeout,
            request_timeout: port.request_timeout,
            write_timeout: port.write_timeout,
            output_pause_bytes: bytes(port.output_pause),
            output_max_bytes: bytes(port.output_max),
            output_total_max_bytes: bytes(port.output_total_max),
            prepared_max: port.prepared_max,
            prepared_max_bytes: bytes(port.prepared_memory_max),
            schema_agreement_timeout: port.schema_agreement_timeout,
        }
    }

    pub fn transport_settings(&self) -> transport::Settings {
        let port = &self.peer_port;
        transport::Settings {
            queue_max: bytes(port.queue_max),
            frame_max: bytes(port.frame_max),
            unauthenticated_max: port.unauthenticated_max,
            connect_timeout: port.connect_timeout,
            handshake_timeout: port.handshake_timeout,
            write_timeout: port.write_timeout,
            backoff: port.backoff_min..=port.backoff_max,
            ..transport::Settings::default()
        }
    }

    pub fn suite(&self) -> Suite {
        match self.security.mac {
            Mac::Hmac => Suite::Hmac128,
            Mac::Off => Suite::Off,
        }
    }

    /// `owner` is the digest of cluster and node, `salt` a fresh random number.
    pub fn journal_options(&self, owner: [u8; 32], salt: u64) -> Options {
        let journal = &self.journal;
        Options {
            segment_size: u32::try_from(journal.segment_size).unwrap_or(u32::MAX),
            pending_max: bytes(journal.pending_max),
            max_bytes: journal.max_bytes,
            reads_max: journal.reads_max,
            sync: match journal.sync {
                Sync::Group => SyncMode::Group,
                Sync::Periodic => SyncMode::Periodic { interval: journal.sync_interval },
            },
            ..Options::new(owner, salt)
        }
    }

    /// For the row directory below `dir`.
    pub fn row_options(&self, dir: &Path, owner: [u8; 32]) -> RowOptions {
        let rows = &self.rows;
        RowOptions { cache_bytes: rows.cache, pending_max: bytes(rows.pending_max), ..RowOptions::new(dir, owner) }
    }

    pub fn coordinator_config(&self, node: NodeId, topology: Arc<Topology>) -> CoordinatorConfig {
        let (timeouts, paths, limits) = (&self.timeouts, &self.paths, &self.limits);
        CoordinatorConfig {
            slow_pre_accept: micros(timeouts.slow_pre_accept),
            slow_read: micros(timeouts.slow_read),
            rpc_timeout: micros(timeouts.rpc_timeout),
            client_deadline: micros(timeouts.client_deadline),
            inform_delay: micros(timeouts.inform_delay),
            max_clock_skew: self.max_clock_skew(),
            attempts_max: limits.attempts_max,
            in_flight_max: limits.in_flight_max,
            fast_path: paths.fast_path,
            medium_path: paths.medium_path,
            thrifty_stable: paths.thrifty_stable,
            ..CoordinatorConfig::new(node, topology)
        }
    }

    pub fn progress_config(&self) -> ProgressConfig {
        let timeouts = &self.timeouts;
        ProgressConfig {
            delay: micros(timeouts.progress_delay),
            blocked_delay: micros(timeouts.progress_blocked_delay),
            stagger: micros(timeouts.progress_stagger),
            delay_max: micros(timeouts.progress_delay_max),
        }
    }

    pub fn max_clock_skew(&self) -> Micros {
        micros(self.limits.max_clock_skew)
    }

    pub fn pre_accept_timeout(&self) -> Micros {
        micros(self.limits.pre_accept_timeout)
    }
}

fn micros(time: Duration) -> Micros {
    Micros(u64::try_from(time.as_micros()).unwrap_or(u64::MAX))
}

fn bytes(size: u64) -> usize {
    usize::try_from(size).unwrap_or(usize::MAX)
}
