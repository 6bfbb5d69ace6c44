//! Which system tables there are, and their columns.

use super::rows::{self, View};
use super::virtual_tables;
use crate::backend::VirtualTable;
use crate::wire_type::{Cell, WireType};

/// A table answered from memory.
pub(crate) struct SystemTable {
    pub(crate) keyspace: &'static str,
    pub(crate) name: &'static str,
    /// In the order of `SELECT *`: partition key, clustering, the rest by name.
    pub(crate) columns: &'static [SystemColumn],
    pub(crate) comment: &'static str,
    pub(crate) source: Source,
}

/// Where the rows of a table come from.
#[derive(Clone, Copy)]
pub(crate) enum Source {
    /// All its rows, with a cell for each column.
    Port(fn(&View<'_>) -> Vec<Vec<Cell>>),
    /// The node makes them when it is asked.
    Node(VirtualTable),
}

/// A column of such a table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct SystemColumn {
    pub(crate) name: &'static str,
    pub(crate) ty: WireType,
    pub(crate) kind: ColumnKind,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ColumnKind {
    Partition,
    Clustering,
    Static,
    Regular,
}

pub(super) const fn partition(name: &'static str, ty: WireType) -> SystemColumn {
    SystemColumn { name, ty, kind: ColumnKind::Partition }
}

pub(super) const fn clustering(name: &'static str, ty: WireType) -> SystemColumn {
    SystemColumn { name, ty, kind: ColumnKind::Clustering }
}

pub(super) const fn regular(name: &'static str, ty: WireType) -> SystemColumn {
    SystemColumn { name, ty, kind: ColumnKind::Regular }
}

const T: WireType = WireType::TEXT;

/// The keyspaces answered here or reserved, so that no user table is looked for in them.
const KEYSPACES: &[&str] =
    &["system", "system_auth", "system_distributed", "system_schema", "system_traces", "system_views", VIRTUAL, OWN];
const VIRTUAL: &str = "system_virtual_schema";
/// What a node shows of itself.
pub(super) const OWN: &str = "accord";

pub(crate) fn is_system_keyspace(keyspace: &str) -> bool {
    KEYSPACES.contains(&keyspace)
}

/// The keyspaces of ordinary system tables, each once.
pub(crate) fn described_keyspaces() -> impl Iterator<Item = &'static str> {
    ["system", "system_schema", VIRTUAL].into_iter()
}

pub(crate) fn find(keyspace: &str, name: &str) -> Option<&'static SystemTable> {
    all().find(|table| table.keyspace == keyspace && table.name == name)
}

/// All of them, virtual ones included.
pub(crate) fn all() -> impl Iterator<Item = &'static SystemTable> {
    TABLES.iter().chain(virtual_tables::TABLES)
}

/// Those described in `system_schema`.
pub(crate) fn ordinary() -> impl Iterator<Item = &'static SystemTable> {
    TABLES.iter()
}

/// Those described in `system_virtual_schema`.
pub(crate) fn of_node() -> impl Iterator<Item = &'static SystemTable> {
    virtual_tables::TABLES.iter()
}

const fn table(
    (keyspace, name): (&'static str, &'static str),
    columns: &'static [SystemColumn],
    rows: fn(&View<'_>) -> Vec<Vec<Cell>>,
) -> SystemTable {
    SystemTable { keyspace, name, columns, comment: "", source: Source::Port(rows) }
}

fn empty(_: &View<'_>) -> Vec<Vec<Cell>> {
    Vec::new()
}

static TABLES: &[SystemTable] = &[
    table(("system", "local"), LOCAL, rows::local),
    table(("system", "peers"), PEERS, rows::peers),
    table(("system", "peers_v2"), PEERS_V2, rows::peers_v2),
    table(("system", "prepared_statements"), PREPARED_STATEMENTS, empty),
    table(("system_schema", "keyspaces"), SCHEMA_KEYSPACES, rows::keyspaces),
    table(("system_schema", "tables"), SCHEMA_TABLES, rows::tables),
    table(("system_schema", "columns"), SCHEMA_COLUMNS, rows::columns),
    table(("system_schema", "types"), SCHEMA_TYPES, empty),
    table(("system_schema", "functions"), SCHEMA_FUNCTIONS, empty),
    table(("system_schema", "aggregates"), SCHEMA_AGGREGATES, empty),
    table(("system_schema", "indexes"), SCHEMA_INDEXES, empty),
    table(("system_schema", "triggers"), SCHEMA_TRIGGERS, empty),
    table(("system_schema", "views"), SCHEMA_VIEWS, empty),
    table(("system_schema", "dropped_columns"), SCHEMA_DROPPED, empty),
    table(("system_schema", "column_masks"), SCHEMA_MASKS, empty),
    table((VIRTUAL, "keyspaces"), &[partition("keyspace_name", T)], rows::virtual_keyspaces),
    table((VIRTUAL, "tables"), VIRTUAL_TABLES, rows::virtual_tables),
    table((VIRTUAL, "columns"), SCHEMA_COLUMNS, rows::virtual_columns),
];

const LOCAL: &[SystemColumn] = &[
    partition("key", T),
    regular("bootstrapped", T),
    regular("broadcast_address", WireType::INET),
    regular("broadcast_port", WireType::INT),
    regular("cluster_name", T),
    regular("cql_version", T),
    regular("data_center", T),
    regular("gossip_generation", WireType::INT),
    regular("host_id", WireType::UUID),
    regular("listen_address", WireType::INET),
    regular("listen_port", WireType::INT),
    regular("native_protocol_version", T),
    regular("partitioner", T),
    regular("rack", T),
    regular("release_version", T),
    regular("rpc_address", WireType::INET),
    regular("rpc_port", WireType::INT),
    regular("schema_version", WireType::UUID),
    regular("tokens", WireType::TEXT_SET),
    regular("truncated_at", WireType::TRUNCATIONS),
];

const PEERS: &[SystemColumn] = &[
    partition("peer", WireType::INET),
    regular("data_center", T),
    regular("host_id", WireType::UUID),
    regular("preferred_ip", WireType::INET),
    regular("rack", T),
    regular("release_version", T),
    regular("rpc_address", WireType::INET),
    regular("schema_version", WireType::UUID),
    regular("tokens", WireType::TEXT_SET),
];

const PEERS_V2: &[SystemColumn] = &[
    partition("peer", WireType::INET),
    clustering("peer_port", WireType::INT),
    regular("data_center", T),
    regular("host_id", WireType::UUID),
    regular("native_address", WireType::INET),
    regular("native_port", WireType::INT),
    regular("preferred_ip", WireType::INET),
    regular("preferred_port", WireType::INT),
    regular("rack", T),
    regular("release_version", T),
    regular("schema_version", WireType::UUID),
    regular("tokens", WireType::TEXT_SET),
];

const PREPARED_STATEMENTS: &[SystemColumn] =
    &[partition("prepared_id", WireType::BLOB), regular("logged_keyspace", T), regular("query_string", T)];

const SCHEMA_KEYSPACES: &[SystemColumn] = &[
    partition("keyspace_name", T),
    regular("durable_writes", WireType::BOOLEAN),
    regular("replication", WireType::TEXT_MAP),
];

const SCHEMA_TABLES: &[SystemColumn] = &[
    partition("keyspace_name", T),
    clustering("table_name", T),
    regular("additional_write_policy", T),
    regular("allow_auto_snapshot", WireType::BOOLEAN),
    regular("bloom_filter_fp_chance", WireType::DOUBLE),
    regular("caching", WireType::TEXT_MAP),
    regular("cdc", WireType::BOOLEAN),
    regular("comment", T),
    regular("compaction", WireType::TEXT_MAP),
    regular("compression", WireType::TEXT_MAP),
    regular("crc_check_chance", WireType::DOUBLE),
    regular("dclocal_read_repair_chance", WireType::DOUBLE),
    regular("default_time_to_live", WireType::INT),
    regular("extensions", WireType::BLOB_MAP),
    regular("flags", WireType::TEXT_SET),
    regular("gc_grace_seconds", WireType::INT),
    regular("id", WireType::UUID),
    regular("incremental_backups", WireType::BOOLEAN),
    regular("max_index_interval", WireType::INT),
    regular("memtable", T),
    regular("memtable_flush_period_in_ms", WireType::INT),
    regular("min_index_interval", WireType::INT),
    regular("read_repair", T),
    regular("read_repair_chance", WireType::DOUBLE),
    regular("speculative_retry", T),
    regular("transactional_migration_from", T),
    regular("transactional_mode", T),
];

const SCHEMA_COLUMNS: &[SystemColumn] = &[
    partition("keyspace_name", T),
    clustering("table_name", T),
    clustering("column_name", T),
    regular("clustering_order", T),
    regular("column_name_bytes", WireType::BLOB),
    regular("kind", T),
    regular("position", WireType::INT),
    regular("type", T),
];

const SCHEMA_TYPES: &[SystemColumn] = &[
    partition("keyspace_name", T),
    clustering("type_name", T),
    regular("field_names", WireType::TEXT_LIST),
    regular("field_types", WireType::TEXT_LIST),
];

const SCHEMA_FUNCTIONS: &[SystemColumn] = &[
    partition("keyspace_name", T),
    clustering("function_name", T),
    clustering("argument_types", WireType::TEXT_LIST),
    regular("argument_names", WireType::TEXT_LIST),
    regular("body", T),
    regular("called_on_null_input", WireType::BOOLEAN),
    regular("language", T),
    regular("return_type", T),
];

const SCHEMA_AGGREGATES: &[SystemColumn] = &[
    partition("keyspace_name", T),
    clustering("aggregate_name", T),
    clustering("argument_types", WireType::TEXT_LIST),
    regular("final_func", T),
    regular("initcond", T),
    regular("return_type", T),
    regular("state_func", T),
    regular("state_type", T),
];

const SCHEMA_INDEXES: &[SystemColumn] = &[
    partition("keyspace_name", T),
    clustering("table_name", T),
    clustering("index_name", T),
    regular("kind", T),
    regular("options", WireType::TEXT_MAP),
];

const SCHEMA_TRIGGERS: &[SystemColumn] = &[
    partition("keyspace_name", T),
    clustering("table_name", T),
    clustering("trigger_name", T),
    regular("options", WireType::TEXT_MAP),
];

const SCHEMA_VIEWS: &[SystemColumn] = &[
    partition("keyspace_name", T),
    clustering("view_name", T),
    regular("base_table_id", WireType::UUID),
    regular("base_table_name", T),
    regular("id", WireType::UUID),
    regular("include_all_columns", WireType::BOOLEAN),
    regular("where_clause", T),
];

const SCHEMA_DROPPED: &[SystemColumn] = &[
    partition("keyspace_name", T),
    clustering("table_name", T),
    clustering("column_name", T),
    regular("kind", T),
    regular("type", T),
];

const SCHEMA_MASKS: &[SystemColumn] = &[
    partition("keyspace_name", T),
    clustering("table_name", T),
    clustering("column_name", T),
    regular("function_keyspace", T),
    regular("function_name", T),
];

const VIRTUAL_TABLES: &[SystemColumn] =
    &[partition("keyspace_name", T), clustering("table_name", T), regular("comment", T)];
