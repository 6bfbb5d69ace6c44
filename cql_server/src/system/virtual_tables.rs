//! The tables of keyspace `accord`: what a node shows of itself to whoever connects with a driver.
//!
//! Times are in microseconds, sizes in bytes, as the names say. The rows are the node's: see [`Backend::look`](crate::Backend::look).

use super::tables::{OWN, Source, SystemColumn, SystemTable, clustering, partition, regular};
use crate::backend::VirtualTable;
use crate::wire_type::WireType;

const T: WireType = WireType::TEXT;
const I: WireType = WireType::INT;
const L: WireType = WireType::BIGINT;
const B: WireType = WireType::BOOLEAN;

const fn table(
    name: &'static str,
    of: VirtualTable,
    comment: &'static str,
    columns: &'static [SystemColumn],
) -> SystemTable {
    SystemTable { keyspace: OWN, name, columns, comment, source: Source::Node(of) }
}

pub(super) static TABLES: &[SystemTable] = &[
    table("blocked_by", VirtualTable::BlockedBy, "who waits for whom at this node", BLOCKED_BY),
    table("caches", VirtualTable::Caches, "what this node holds in memory", CACHES),
    table("journal", VirtualTable::Journal, "the log of this node", JOURNAL),
    table("metrics", VirtualTable::Metrics, "everything this node counts, as its /metrics has it", METRICS),
    table("nodes", VirtualTable::Nodes, "all nodes, as this one sees them", NODES),
    table("peers", VirtualTable::Peers, "the links of this node", PEERS),
    table("settings", VirtualTable::Settings, "the configuration in force, without secrets", SETTINGS),
    table("stores", VirtualTable::Stores, "the command stores of this node", STORES),
    table("transactions", VirtualTable::Transactions, "what this node is at work on, 1000 rows at most", TRANSACTIONS),
];

const NODES: &[SystemColumn] = &[
    partition("node", I),
    regular("client_address", T),
    regular("clock_lead_us", L),
    regular("is_local", B),
    regular("is_up", B),
    regular("peer_address", T),
    regular("reason", T),
    regular("schema_version", L),
    regular("state", T),
    regular("token", L),
];

const STORES: &[SystemColumn] = &[
    partition("store", I),
    regular("blocked", L),
    regular("commands", L),
    regular("held_answers", L),
    regular("keys", L),
    regular("oldest_blocked", T),
    regular("oldest_blocked_us", L),
    regular("row_bytes", L),
    regular("rows", L),
    regular("rows_not_checkpointed", L),
    regular("watched", L),
];

const TRANSACTIONS: &[SystemColumn] = &[
    partition("txn_id", T),
    clustering("place", T),
    regular("age_us", L),
    regular("ballot", T),
    regular("begun_by", I),
    regular("has_client", B),
    regular("keys", I),
    regular("kind", T),
    regular("phase", T),
];

const BLOCKED_BY: &[SystemColumn] = &[
    partition("txn_id", T),
    clustering("store", I),
    clustering("blocked_by", T),
    regular("age_us", L),
    regular("blocker_age_us", L),
    regular("blocker_phase", T),
];

const JOURNAL: &[SystemColumn] = &[
    partition("key", T),
    regular("appended", L),
    regular("batches", L),
    regular("durable", L),
    regular("failure", T),
    regular("index_bytes", L),
    regular("live_bytes", L),
    regular("max_bytes", L),
    regular("pending_bytes", L),
    regular("pending_max_bytes", L),
    regular("segments", L),
    regular("sync", T),
    regular("syncs", L),
];

const CACHES: &[SystemColumn] =
    &[partition("name", T), regular("bytes", L), regular("entries", L), regular("max_bytes", L)];

const PEERS: &[SystemColumn] = &[
    partition("node", I),
    regular("clock_lead_us", L),
    regular("connected", B),
    regular("connects", L),
    regular("dropped_messages", L),
    regular("failure", T),
    regular("incarnation", T),
    regular("losses", L),
    regular("queue_max_bytes", L),
    regular("queued_bytes", L),
    regular("received_bytes", L),
    regular("received_frames", L),
    regular("received_messages", L),
    regular("refused_frames", L),
    regular("refused_messages", L),
    regular("sent_bytes", L),
    regular("sent_frames", L),
    regular("sent_messages", L),
];

const SETTINGS: &[SystemColumn] = &[partition("section", T), clustering("name", T), regular("value", T)];

const METRICS: &[SystemColumn] =
    &[partition("name", T), clustering("labels", T), regular("help", T), regular("kind", T), regular("value", L)];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::tables::ColumnKind;

    #[test]
    fn columns_stand_as_select_star_shows_them() {
        for table in TABLES {
            let regular: Vec<&str> = names(table, |kind| kind == ColumnKind::Regular);
            assert!(regular.is_sorted_by(|a, b| a < b), "{}", table.name);
            let keys = names(table, |kind| kind != ColumnKind::Regular).len();
            assert!(table.columns[keys..].iter().all(|column| column.kind == ColumnKind::Regular), "{}", table.name);
        }
    }

    fn names(table: &SystemTable, wanted: impl Fn(ColumnKind) -> bool) -> Vec<&'static str> {
        table.columns.iter().filter(|column| wanted(column.kind)).map(|column| column.name).collect()
    }
}
