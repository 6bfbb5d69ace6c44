//! The tables of the file, with their defaults. What a key means is said once, in `reference.rs`.

use super::units::{duration, size};
use serde::{Deserialize, Serialize};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

/// `[node]`: this process.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct NodeSection {
    pub id: Option<u32>,
    pub data_dir: PathBuf,
    pub arbiters: u16,
    pub stores: u16,
}

impl Default for NodeSection {
    fn default() -> Self {
        Self { id: None, data_dir: "data/node-{id}".into(), arbiters: 1, stores: 2 }
    }
}

/// `[cluster]`: all nodes.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ClusterSection {
    pub name: String,
    /// *Shape*: 32 hexadecimal digits once validated.
    pub id: Option<String>,
    pub data_centre: String,
    pub rack: String,
    pub nodes: Vec<NodeEntry>,
}

impl Default for ClusterSection {
    fn default() -> Self {
        Self {
            name: "accordd".into(),
            id: None,
            data_centre: "datacenter1".into(),
            rack: "rack1".into(),
            nodes: Vec::new(),
        }
    }
}

/// One entry of `[cluster] nodes`.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NodeEntry {
    pub id: u32,
    pub peer_addr: SocketAddr,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_addr: Option<SocketAddr>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identity: Option<PathBuf>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<i64>,
}

/// `[client_port]`: the native protocol.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ClientPortSection {
    pub listen: Option<SocketAddr>,
    pub in_flight_max: usize,
    pub connection_in_flight_max: usize,
    pub connections_max: usize,
    pub connections_per_address_max: usize,
    #[serde(with = "size")]
    pub envelope_max: u64,
    #[serde(with = "size")]
    pub greeting_max: u64,
    #[serde(with = "size")]
    pub input_max: u64,
    #[serde(with = "size")]
    pub output_pause: u64,
    #[serde(with = "size")]
    pub output_max: u64,
    #[serde(with = "size")]
    pub output_total_max: u64,
    pub prepared_max: usize,
    #[serde(with = "size")]
    pub prepared_memory_max: u64,
    #[serde(with = "duration")]
    pub login_timeout: Duration,
    #[serde(with = "duration")]
    pub request_timeout: Duration,
    #[serde(with = "duration")]
    pub write_timeout: Duration,
    #[serde(with = "duration")]
    pub schema_agreement_timeout: Duration,
}

impl Default for ClientPortSection {
    fn default() -> Self {
        Self {
            listen: None,
            in_flight_max: 16_384,
            connection_in_flight_max: 2_048,
            connections_max: 4_096,
            connections_per_address_max: 2_048,
            envelope_max: 16 << 20,
            greeting_max: 64 << 10,
            input_max: 512 << 20,
            output_pause: 1 << 20,
            output_max: 256 << 20,
            output_total_max: 1 << 30,
            prepared_max: 10_000,
            prepared_memory_max: 16 << 20,
            login_timeout: Duration::from_secs(10),
            request_timeout: Duration::from_secs(60),
            write_timeout: Duration::from_secs(30),
            schema_agreement_timeout: Duration::from_secs(10),
        }
    }
}

/// `[peer_port]`: links between nodes.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PeerPortSection {
    pub listen: Option<SocketAddr>,
    #[serde(with = "size")]
    pub queue_max: u64,
    #[serde(with = "size")]
    pub frame_max: u64,
    pub unauthenticated_max: usize,
    #[serde(with = "duration")]
    pub connect_timeout: Duration,
    #[serde(with = "duration")]
    pub handshake_timeout: Duration,
    #[serde(with = "duration")]
    pub write_timeout: Duration,
    #[serde(with = "duration")]
    pub backoff_min: Duration,
    #[serde(with = "duration")]
    pub backoff_max: Duration,
}

impl Default for PeerPortSection {
    fn default() -> Self {
        Self {
            listen: None,
            queue_max: 4 << 20,
            frame_max: 16 << 20,
            unauthenticated_max: 64,
            connect_timeout: Duration::from_secs(2),
            handshake_timeout: Duration::from_secs(5),
            write_timeout: Duration::from_secs(10),
            backoff_min: Duration::from_millis(50),
            backoff_max: Duration::from_secs(2),
        }
    }
}

/// How frames between nodes are protected.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mac {
    Hmac,
    Off,
}

/// `[security]`: who may speak.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SecuritySection {
    pub identity_file: PathBuf,
    pub key_file: PathBuf,
    pub ecdh_key_file: PathBuf,
    pub admin_public_file: PathBuf,
    pub mac: Mac,
}

impl Default for SecuritySection {
    fn default() -> Self {
        Self {
            identity_file: "keys/node-{id}.identity".into(),
            key_file: "keys/node-{id}.key".into(),
            ecdh_key_file: "keys/node-{id}.ecdh.key".into(),
            admin_public_file: "keys/admin.public".into(),
            mac: Mac::Hmac,
        }
    }
}

/// When an answer may leave.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sync {
    Group,
    Periodic,
}

/// `[journal]`: the log.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct JournalSection {
    pub sync: Sync,
    #[serde(with = "duration")]
    pub sync_interval: Duration,
    #[serde(with = "size")]
    pub segment_size: u64,
    #[serde(with = "size")]
    pub max_bytes: u64,
    #[serde(with = "size")]
    pub pending_max: u64,
    pub reads_max: usize,
}

impl Default for JournalSection {
    fn default() -> Self {
        Self {
            sync: Sync::Group,
            sync_interval: Duration::from_secs(10),
            segment_size: 32 << 20,
            max_bytes: 8 << 30,
            pending_max: 64 << 20,
            reads_max: 1024,
        }
    }
}

/// `[rows]`: the tables' contents.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RowsSection {
    #[serde(with = "size")]
    pub memory_max: u64,
    #[serde(with = "duration")]
    pub checkpoint_period: Duration,
    #[serde(with = "size")]
    pub cache: u64,
    #[serde(with = "size")]
    pub pending_max: u64,
}

impl Default for RowsSection {
    fn default() -> Self {
        Self { memory_max: 2 << 30, checkpoint_period: Duration::from_secs(60), cache: 16 << 20, pending_max: 64 << 20 }
    }
}

/// `[paths]`: which ways a transaction may take.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PathsSection {
    pub fast_path: bool,
    pub medium_path: bool,
    pub thrifty_stable: bool,
    pub elide_deps: bool,
}

impl Default for PathsSection {
    fn default() -> Self {
        Self { fast_path: true, medium_path: true, thrifty_stable: true, elide_deps: true }
    }
}

/// `[limits]`: what is refused.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LimitsSection {
    #[serde(with = "duration")]
    pub max_clock_skew: Duration,
    #[serde(with = "duration")]
    pub pre_accept_timeout: Duration,
    pub in_flight_max: usize,
    pub attempts_max: u32,
    pub txn_keys_max: usize,
    #[serde(with = "size")]
    pub txn_max: u64,
    #[serde(with = "size")]
    pub result_max: u64,
    pub evict_finished: bool,
}

impl Default for LimitsSection {
    fn default() -> Self {
        Self {
            max_clock_skew: Duration::from_secs(10),
            pre_accept_timeout: Duration::from_secs(10),
            in_flight_max: 4096,
            attempts_max: 4,
            txn_keys_max: 1_024,
            txn_max: 2 << 20,
            result_max: 16 << 20,
            evict_finished: true,
        }
    }
}

/// `[timeouts]`: how long somebody waits.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TimeoutsSection {
    #[serde(with = "duration")]
    pub slow_pre_accept: Duration,
    #[serde(with = "duration")]
    pub slow_read: Duration,
    #[serde(with = "duration")]
    pub rpc_timeout: Duration,
    #[serde(with = "duration")]
    pub client_deadline: Duration,
    #[serde(with = "duration")]
    pub inform_delay: Duration,
    #[serde(with = "duration")]
    pub progress_delay: Duration,
    #[serde(with = "duration")]
    pub progress_blocked_delay: Duration,
    #[serde(with = "duration")]
    pub progress_stagger: Duration,
    #[serde(with = "duration")]
    pub progress_delay_max: Duration,
    #[serde(with = "duration")]
    pub drain: Duration,
}

impl Default for TimeoutsSection {
    fn default() -> Self {
        Self {
            slow_pre_accept: Duration::from_millis(50),
            slow_read: Duration::from_millis(100),
            rpc_timeout: Duration::from_millis(500),
            client_deadline: Duration::from_secs(10),
            inform_delay: Duration::from_millis(5),
            progress_delay: Duration::from_secs(1),
            progress_blocked_delay: Duration::from_millis(500),
            progress_stagger: Duration::from_millis(250),
            progress_delay_max: Duration::from_secs(20),
            drain: Duration::from_secs(10),
        }
    }
}

/// `[metrics]`: what is served to machines that watch.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct MetricsSection {
    /// *Shape*: an IP address, or empty.
    pub address: String,
    /// Zero is [`METRICS_PORT_STEP`] above the client port.
    pub port: u16,
}

/// How far the metrics port lies above the client port unless it is given.
pub const METRICS_PORT_STEP: u16 = 1000;

impl Default for MetricsSection {
    fn default() -> Self {
        Self { address: "127.0.0.1".into(), port: 0 }
    }
}
