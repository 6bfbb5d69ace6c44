//! What every key means; `accordd config` prints it, and refusals quote it.

use super::Config;
use std::fmt::Write;

struct Key {
    section: &'static str,
    name: &'static str,
    /// Shown commented out where there is no default.
    example: Option<&'static str>,
    comment: &'static str,
}

const fn key(section: &'static str, name: &'static str, comment: &'static str) -> Key {
    Key { section, name, example: None, comment }
}

const fn optional(section: &'static str, name: &'static str, example: &'static str, comment: &'static str) -> Key {
    Key { section, name, example: Some(example), comment }
}

/// Keys of an entry of `[cluster] nodes`.
const ENTRY_KEYS: [&str; 5] = ["id", "peer_addr", "client_addr", "identity", "token"];

const KEYS: &[Key] = &[
    optional("node", "id", "1", "which of [cluster] nodes this process is; --node and ACCORDD_NODE come before it"),
    key("node", "data_dir", "directory of journal and rows; {id} is the node's id, relative paths start at this file"),
    key("node", "arbiters", "threads that run the machines, 1 to 256; one is best below four cores"),
    key("node", "stores", "slices of the token ring kept apart in this node, 1 to 256; fixed once there is data"),
    key("cluster", "name", "what drivers show"),
    optional(
        "cluster",
        "id",
        "\"00112233445566778899aabbccddeeff\"",
        "required: 32 hexadecimal digits, the same on every node for ever",
    ),
    key("cluster", "data_centre", "what drivers are told in system.local and system.peers"),
    key("cluster", "rack", "what drivers are told in system.local and system.peers"),
    optional(
        "cluster",
        "nodes",
        "[{ id = 1, peer_addr = \"10.0.0.1:7000\", client_addr = \"10.0.0.1:9042\", token = 0 }]",
        "required: every node; client_addr defaults to port 9042 of peer_addr, identity to [security] identity_file, tokens to even spacing",
    ),
    optional("client_port", "listen", "\"0.0.0.0:9042\"", "where to listen if not at the node's own client_addr"),
    key("client_port", "in_flight_max", "requests over all connections; one more is answered Overloaded"),
    key("client_port", "connection_in_flight_max", "requests of one connection; beyond it the socket is not read"),
    key(
        "client_port",
        "connections_max",
        "connections; one more is closed at once; fewer where the limit of open files leaves no more",
    ),
    key("client_port", "connections_per_address_max", "connections from one address; one more is closed at once"),
    key("client_port", "envelope_max", "size of one request, 1KiB to 256MiB; a larger one is answered Invalid"),
    key("client_port", "greeting_max", "size of a request before the handshake is done"),
    key("client_port", "input_max", "size of all requests that have not arrived in full"),
    key(
        "client_port",
        "output_pause",
        "size of answers waiting for a client; beyond it no more of its requests are read",
    ),
    key("client_port", "output_max", "size of answers waiting for a client; beyond it the connection is closed"),
    key(
        "client_port",
        "output_total_max",
        "size of answers waiting for all clients; beyond it the connection that adds to them is closed",
    ),
    key("client_port", "prepared_max", "prepared statements kept"),
    key("client_port", "prepared_memory_max", "size of the texts of prepared statements kept"),
    key("client_port", "login_timeout", "duration from connecting to STARTUP"),
    key("client_port", "request_timeout", "duration from the first bytes of a request to its last"),
    key("client_port", "write_timeout", "duration a client may take none of the answers that wait for it"),
    key(
        "client_port",
        "schema_agreement_timeout",
        "duration a schema statement waits for the live nodes to have the new schema",
    ),
    optional("peer_port", "listen", "\"0.0.0.0:7000\"", "where to listen if not at the node's own peer_addr"),
    key("peer_port", "queue_max", "size of what waits for one peer; beyond it new work is refused"),
    key("peer_port", "frame_max", "size of a frame, 64KiB to 4095MiB; at least 1KiB above queue_max"),
    key("peer_port", "unauthenticated_max", "connections that have not proved a key yet"),
    key("peer_port", "connect_timeout", "duration of an attempt to connect"),
    key("peer_port", "handshake_timeout", "duration of a handshake"),
    key("peer_port", "write_timeout", "duration one write may wait for a peer that does not read"),
    key("peer_port", "backoff_min", "duration of the first pause between attempts to connect"),
    key("peer_port", "backoff_max", "duration of the longest pause between attempts to connect"),
    key("security", "identity_file", "the admin-signed record of node {id}; peers read each other's from here too"),
    key("security", "key_file", "secret signing key of node {id}, mode 0600"),
    key("security", "ecdh_key_file", "secret link key of node {id}, mode 0600"),
    key("security", "admin_public_file", "the administrator's public key"),
    key("security", "mac", "\"hmac\", or \"off\" to measure what the tags cost; off is open to anybody on the network"),
    key(
        "journal",
        "sync",
        "\"group\": answers wait for the disk; \"periodic\": they do not, and a power cut loses them",
    ),
    key("journal", "sync_interval", "duration between syncs of sync = \"periodic\""),
    key("journal", "segment_size", "size of a log file and bound of a record, 1KiB to 1GiB"),
    key("journal", "max_bytes", "size of all live log files; beyond it new work is refused"),
    key("journal", "pending_max", "size of what waits for the disk"),
    key("journal", "reads_max", "reads that wait for the disk"),
    key("rows", "memory_max", "size of the rows in memory; beyond it writes are refused as Overloaded"),
    key("rows", "checkpoint_period", "duration between checkpoints of rows to disk"),
    key("rows", "cache", "size of the page cache of the checkpoint"),
    key("rows", "pending_max", "size of row changes that wait for the checkpoint"),
    key("paths", "fast_path", "true: agreement of a fast quorum decides in one round trip"),
    key("paths", "medium_path", "true: votes at the proposed time spare a round where the fast path is missed"),
    key("paths", "thrifty_stable", "true: only those who are read from hear of the decision before the outcome"),
    key("paths", "elide_deps", "true: dependencies that a later one implies are left out"),
    key(
        "limits",
        "max_clock_skew",
        "duration by which another node's clock may be ahead; a transaction beyond it is refused",
    ),
    key("limits", "pre_accept_timeout", "duration after which a first message that was under way is refused"),
    key("limits", "in_flight_max", "transactions one node coordinates at once; one more is answered Overloaded"),
    key("limits", "attempts_max", "times a round of messages is sent"),
    key("limits", "txn_keys_max", "keys of one transaction; one with more is answered Invalid"),
    key(
        "limits",
        "txn_max",
        "size of one transaction with its values, at most half of [peer_port] queue_max; a larger one is answered Invalid",
    ),
    key("limits", "result_max", "size of the rows one read returns; a larger result is answered Invalid"),
    key(
        "limits",
        "evict_finished",
        "true: finished transactions leave memory and are read from the journal when asked for",
    ),
    key("timeouts", "slow_pre_accept", "duration after which a voter counts as slow"),
    key("timeouts", "slow_read", "duration after which a reader counts as slow"),
    key("timeouts", "rpc_timeout", "duration after which unanswered messages are sent again"),
    key("timeouts", "client_deadline", "duration after which a client is told that the outcome is unknown"),
    key("timeouts", "inform_delay", "duration by which news of stored outcomes may be held to travel together"),
    key("timeouts", "progress_delay", "duration a transaction without news is left alone before a replica chases it"),
    key("timeouts", "progress_blocked_delay", "duration an unknown transaction that blocks another is left alone"),
    key("timeouts", "progress_stagger", "duration added per replica, so that one acts at a time"),
    key("timeouts", "progress_delay_max", "duration the pauses between chases grow to"),
    key("timeouts", "drain", "duration a stopping node gives transactions in flight"),
    key(
        "metrics",
        "address",
        "IP address to serve /metrics and /health at, to whoever reaches it; empty serves nothing",
    ),
    key("metrics", "port", "TCP port of that; 0 is 1000 above the client port"),
];

pub(super) fn sections() -> Vec<&'static str> {
    let mut sections: Vec<&str> = KEYS.iter().map(|key| key.section).collect();
    sections.dedup();
    sections
}

pub(super) fn section_keys(section: &str) -> Option<Vec<&'static str>> {
    let keys: Vec<_> = KEYS.iter().filter(|key| key.section == section).map(|key| key.name).collect();
    (!keys.is_empty()).then_some(keys)
}

pub(super) fn entry_keys() -> &'static [&'static str] {
    &ENTRY_KEYS
}

/// The section that a key of this name belongs to.
pub(super) fn home_of(name: &str) -> Option<&'static str> {
    KEYS.iter().find(|key| key.name == name).map(|key| key.section)
}

pub(super) fn comment_of(section: &str, name: &str) -> Option<&'static str> {
    KEYS.iter().find(|key| key.section == section && key.name == name).map(|key| key.comment)
}

/// Every key with its default, one comment line each; those without a default are commented out.
pub fn reference_text() -> String {
    let mut text = String::from(
        "# Every key of an accordd configuration with its default; printed by `accordd config`.\n\
         # Durations are a whole number and us, ms, s, m or h; sizes a whole number and B, KiB, MiB, GiB or TiB.\n",
    );
    let defaults = toml::Table::try_from(Config::default()).unwrap_or_default();
    for section in sections() {
        let _ = writeln!(text, "\n[{section}]");
        let values = defaults.get(section).and_then(|values| values.as_table());
        for key in KEYS.iter().filter(|key| key.section == section) {
            let _ = writeln!(text, "# {}", key.comment);
            let value = values.and_then(|values| values.get(key.name));
            let _ = match (key.example, value) {
                (Some(example), _) => writeln!(text, "# {} = {example}", key.name),
                (None, Some(value)) => writeln!(text, "{} = {value}", key.name),
                (None, None) => writeln!(text, "# {}", key.name),
            };
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_key_of_the_code_is_explained_and_no_other() {
        let defaults = toml::Table::try_from(Config::default()).expect("serialises");
        let with_default = defaults.iter().flat_map(|(section, keys)| {
            keys.as_table().expect("table").keys().map(move |key| (section.as_str(), key.as_str()))
        });
        let without = KEYS.iter().filter(|key| key.example.is_some()).map(|key| (key.section, key.name));
        let in_code: BTreeSet<_> = with_default.chain(without).collect();
        let explained: BTreeSet<_> = KEYS.iter().map(|key| (key.section, key.name)).collect();
        assert_eq!(explained, in_code);
        assert_eq!(explained.len(), KEYS.len(), "a key is explained twice");
    }

    #[test]
    fn the_reference_is_the_defaults() {
        let read: Config = toml::from_str(&reference_text()).expect("valid TOML");
        assert_eq!(read, Config::default());
    }

    #[test]
    fn examples_are_accepted_too() {
        let uncommented = |line: &str| {
            let key = KEYS.iter().find(|key| line.starts_with(&format!("# {} = ", key.name)) && key.example.is_some());
            key.map_or(line.to_owned(), |_| line[2..].to_owned())
        };
        let text: Vec<String> = reference_text().lines().map(uncommented).collect();
        let config = Config::from_text("reference", &text.join("\n")).expect("valid");
        assert_eq!(config.node.id, Some(1));
        assert_eq!(config.cluster.nodes.len(), 1);
        assert!(config.client_port.listen.is_some() && config.peer_port.listen.is_some());
    }
}
