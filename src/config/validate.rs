//! What no single key shows: values against each other and against the rooms' own rules.

use super::problem::Problem;
use super::{Config, NodeEntry, Sync};
use std::collections::BTreeMap;
use std::time::Duration;

/// Nodes of a cluster.
const NODES_MAX: usize = 64;
/// Threads and stores beyond this are a slip of the pen.
const STORES_MAX: u16 = 256;

type Checked = Result<(), Problem>;

/// What a log record may hold beside the text of a transaction: its outcome, keys and dependencies.
const RECORD_BESIDE_BODY: u64 = protocol::Outcome::BYTES_MAX as u64 + (4 << 20);

impl Config {
    pub(crate) fn validate(&self) -> Checked {
        self.check_cluster()?;
        self.check_nodes()?;
        self.check_tokens()?;
        self.check_node()?;
        self.check_journal()?;
        self.check_client_port()?;
        self.check_peer_port()?;
        self.check_limits()?;
        self.check_timeouts()?;
        self.check_metrics()
    }

    fn check_cluster(&self) -> Checked {
        let example = "32 hexadecimal digits, chosen once and the same on every node";
        match &self.cluster.id {
            None => return Err(Problem::new("cluster", "id", format!("missing; give the cluster {example}"))),
            Some(id) if id.parse::<auth::ClusterId>().is_err() => {
                return Err(Problem::new("cluster", "id", format!("{id:?} is no cluster id; write {example}")));
            }
            Some(_) => {}
        }
        let count = self.cluster.nodes.len();
        if count == 0 {
            let text = "no node; list every node as { id = 1, peer_addr = \"127.0.0.1:7001\" }";
            return Err(Problem::new("cluster", "nodes", text));
        }
        if count > NODES_MAX {
            return Err(Problem::new("cluster", "nodes", format!("{count} nodes; this version takes {NODES_MAX}")));
        }
        let names =
            [("name", &self.cluster.name), ("data_centre", &self.cluster.data_centre), ("rack", &self.cluster.rack)];
        let empty = names.iter().find(|(_, name)| name.is_empty());
        empty.map_or(Ok(()), |(key, _)| Err(Problem::new("cluster", key, "empty; give it a name")))
    }

    fn check_nodes(&self) -> Checked {
        let mut ids = BTreeMap::new();
        let mut addresses = BTreeMap::new();
        for (at, node) in self.cluster.nodes.iter().enumerate() {
            if node.id == 0 {
                return Err(Problem::of_entry(at, "id", "0; ids begin at 1"));
            }
            if ids.insert(node.id, at).is_some() {
                return Err(Problem::of_entry(at, "id", format!("{} is given twice; ids are unique", node.id)));
            }
            let both = [("peer_addr", node.peer_addr), ("client_addr", node.client_address())];
            for (key, address) in both {
                if address.port() == 0 || address.ip().is_unspecified() {
                    let text = format!("{address} cannot be connected to; write the address others reach it at");
                    return Err(Problem::of_entry(at, key, text));
                }
                if let Some(other) = addresses.insert(address, node.id) {
                    let text = format!("{address} is taken by node {other}; every port needs an address of its own");
                    return Err(Problem::of_entry(at, key, text));
                }
            }
        }
        Ok(())
    }

    fn check_tokens(&self) -> Checked {
        let nodes = &self.cluster.nodes;
        if nodes.iter().all(|node| node.token.is_none()) {
            return Ok(());
        }
        let mut seen = BTreeMap::new();
        for (at, NodeEntry { id, token, .. }) in nodes.iter().enumerate() {
            let Some(token) = token else {
                let text = "missing; give every node a token or none, then they are evenly spaced";
                return Err(Problem::of_entry(at, "token", text));
            };
            if let Some(other) = seen.insert(*token, id) {
                return Err(Problem::of_entry(at, "token", format!("{token} is node {other}'s; tokens are unique")));
            }
        }
        self.topology().map(drop).map_err(|error| Problem::new("cluster", "nodes", error.to_string()))
    }

    fn check_node(&self) -> Checked {
        if let Some(id) = self.node.id
            && !self.cluster.nodes.iter().any(|node| node.id == id)
        {
            return Err(Problem::new("node", "id", format!("{id} is not among [cluster] nodes; add it there")));
        }
        let counts = [("arbiters", self.node.arbiters), ("stores", self.node.stores)];
        for (key, count) in counts {
            if !(1..=STORES_MAX).contains(&count) {
                return Err(Problem::new("node", key, format!("{count}; choose 1 to {STORES_MAX}")));
            }
        }
        let shared = !self.node.data_dir.to_string_lossy().contains("{id}");
        if shared && self.node.id.is_none() && self.cluster.nodes.len() > 1 {
            let text = "every node would use the same directory; put {id} into the path, or set [node] id";
            return Err(Problem::new("node", "data_dir", text));
        }
        Ok(())
    }

    fn check_journal(&self) -> Checked {
        let journal = &self.journal;
        if !(1 << 10..=1 << 30).contains(&journal.segment_size) {
            return Err(Problem::new("journal", "segment_size", "choose 1KiB to 1GiB"));
        }
        let one_record = self.client_port.envelope_max.saturating_add(RECORD_BESIDE_BODY);
        if journal.segment_size < one_record {
            let text = format!(
                "cannot hold one transaction; choose {one_record} bytes or more, which is [client_port] envelope_max, {} bytes of \
                 outcome and what belongs to them",
                protocol::Outcome::BYTES_MAX
            );
            return Err(Problem::new("journal", "segment_size", text));
        }
        if journal.pending_max < journal.segment_size {
            return Err(Problem::new("journal", "pending_max", "cannot hold one record; choose segment_size or more"));
        }
        if journal.max_bytes < 2 * journal.segment_size {
            return Err(Problem::new("journal", "max_bytes", "choose at least two times segment_size"));
        }
        if journal.max_bytes / journal.segment_size >= u64::from(u16::MAX / 2) {
            return Err(Problem::new(
                "journal",
                "segment_size",
                "max_bytes needs more than 32766 segments; choose larger ones",
            ));
        }
        if journal.sync == Sync::Periodic {
            nonzero("journal", "sync_interval", journal.sync_interval)?;
        }
        at_least_one("journal", "reads_max", journal.reads_max)?;
        nonzero("rows", "checkpoint_period", self.rows.checkpoint_period)?;
        if self.rows.memory_max < 1 << 20 {
            return Err(Problem::new("rows", "memory_max", "less than 1MiB holds no table; choose more"));
        }
        Ok(())
    }

    fn check_client_port(&self) -> Checked {
        let port = &self.client_port;
        at_least_one("client_port", "in_flight_max", port.in_flight_max)?;
        at_least_one("client_port", "connection_in_flight_max", port.connection_in_flight_max)?;
        at_least_one("client_port", "connections_max", port.connections_max)?;
        at_least_one("client_port", "connections_per_address_max", port.connections_per_address_max)?;
        at_least_one("client_port", "prepared_max", port.prepared_max)?;
        nonzero("client_port", "login_timeout", port.login_timeout)?;
        if !(1 << 10..=256 << 20).contains(&port.envelope_max) {
            return Err(Problem::new("client_port", "envelope_max", "choose 1KiB to 256MiB"));
        }
        if port.greeting_max < 1 << 10 {
            return Err(Problem::new("client_port", "greeting_max", "choose 1KiB or more"));
        }
        if port.input_max < port.envelope_max {
            return Err(Problem::new(
                "client_port",
                "input_max",
                "cannot hold one request; choose envelope_max or more",
            ));
        }
        if port.output_pause == 0 || port.output_max <= port.output_pause {
            return Err(Problem::new("client_port", "output_max", "choose more than output_pause, and that above 0B"));
        }
        if port.output_total_max < port.output_max {
            return Err(Problem::new("client_port", "output_total_max", "choose output_max or more"));
        }
        nonzero("client_port", "request_timeout", port.request_timeout)?;
        nonzero("client_port", "write_timeout", port.write_timeout)
    }

    /// The same rules as `transport`, which words them for callers without a file.
    fn check_peer_port(&self) -> Checked {
        let port = &self.peer_port;
        if port.frame_max > u64::from(u32::MAX) || port.frame_max < 64 << 10 {
            return Err(Problem::new("peer_port", "frame_max", "choose 64KiB to 4095MiB"));
        }
        if port.queue_max == 0 || port.queue_max > port.frame_max - (1 << 10) {
            return Err(Problem::new(
                "peer_port",
                "queue_max",
                "choose 1B or more and at least 1KiB less than frame_max",
            ));
        }
        at_least_one("peer_port", "unauthenticated_max", port.unauthenticated_max)?;
        nonzero("peer_port", "connect_timeout", port.connect_timeout)?;
        nonzero("peer_port", "handshake_timeout", port.handshake_timeout)?;
        nonzero("peer_port", "write_timeout", port.write_timeout)?;
        nonzero("peer_port", "backoff_min", port.backoff_min)?;
        not_below("peer_port", "backoff_max", port.backoff_max, "backoff_min", port.backoff_min)
    }

    fn check_metrics(&self) -> Checked {
        let address = &self.metrics.address;
        if address.is_empty() || address.parse::<std::net::IpAddr>().is_ok() {
            return Ok(());
        }
        let text = format!("{address:?} is no IP address; write one, as \"127.0.0.1\", or \"\" to serve nothing");
        Err(Problem::new("metrics", "address", text))
    }

    fn check_limits(&self) -> Checked {
        let limits = &self.limits;
        nonzero("limits", "max_clock_skew", limits.max_clock_skew)?;
        nonzero("limits", "pre_accept_timeout", limits.pre_accept_timeout)?;
        at_least_one("limits", "in_flight_max", limits.in_flight_max)?;
        at_least_one("limits", "attempts_max", limits.attempts_max as usize)?;
        at_least_one("limits", "txn_keys_max", limits.txn_keys_max)?;
        if limits.txn_max < 1 << 10 || limits.txn_max > self.peer_port.queue_max / 2 {
            let text = "choose 1KiB to half of [peer_port] queue_max, or no message about it could be sent";
            return Err(Problem::new("limits", "txn_max", text));
        }
        if limits.result_max < 1 << 10 {
            return Err(Problem::new("limits", "result_max", "choose 1KiB or more"));
        }
        Ok(())
    }

    fn check_timeouts(&self) -> Checked {
        let times = &self.timeouts;
        let section = "timeouts";
        nonzero(section, "slow_pre_accept", times.slow_pre_accept)?;
        nonzero(section, "slow_read", times.slow_read)?;
        nonzero(section, "progress_delay", times.progress_delay)?;
        nonzero(section, "progress_blocked_delay", times.progress_blocked_delay)?;
        not_below(section, "rpc_timeout", times.rpc_timeout, "slow_pre_accept", times.slow_pre_accept)?;
        not_below(section, "rpc_timeout", times.rpc_timeout, "slow_read", times.slow_read)?;
        not_below(section, "client_deadline", times.client_deadline, "rpc_timeout", times.rpc_timeout)?;
        not_below(section, "progress_delay_max", times.progress_delay_max, "progress_delay", times.progress_delay)
    }
}

fn nonzero(section: &'static str, key: &'static str, time: Duration) -> Checked {
    if time.is_zero() { Err(Problem::new(section, key, "0; choose a time above it")) } else { Ok(()) }
}

fn at_least_one(section: &'static str, key: &'static str, count: usize) -> Checked {
    if count == 0 { Err(Problem::new(section, key, "0 would refuse everything; choose 1 or more")) } else { Ok(()) }
}

fn not_below(section: &'static str, key: &'static str, time: Duration, other_key: &str, other: Duration) -> Checked {
    if time >= other {
        return Ok(());
    }
    let (time, other) = (super::units::duration::print(time), super::units::duration::print(other));
    Err(Problem::new(section, key, format!("{time} is shorter than {other_key} = {other}; choose at least that")))
}
