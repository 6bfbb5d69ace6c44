//! The rows of the system tables, made from the schema and the node list when they are asked for.

use super::tables::{self, ColumnKind, SystemColumn, SystemTable};
use crate::backend::{Backend, NodeInfo};
use crate::wire_type::{Cell, boolean, double, inet, int, text, text_map, text_set, uuid, uuid_from_digest};
use cql_txn::{Keyspace, Schema, Table};
use std::sync::Arc;

/// Three numbers from 4 on: drivers then read `peers_v2` and the virtual schema.
const RELEASE_VERSION: &str = "6.0.0";
/// The language version, as SUPPORTED says it too.
pub(crate) const CQL_VERSION: &str = "3.4.8";
const PARTITIONER: &str = "org.apache.cassandra.dht.Murmur3Partitioner";
const LOCAL_REPLICATION: &[(&str, &str)] = &[("class", "org.apache.cassandra.locator.LocalStrategy")];

/// What the tables show, taken once per statement.
pub(crate) struct View<'a> {
    schema: Arc<Schema>,
    nodes: Vec<NodeInfo>,
    backend: &'a dyn Backend,
}

impl<'a> View<'a> {
    pub(crate) fn of(backend: &'a dyn Backend) -> Self {
        Self { schema: backend.schema(), nodes: backend.nodes(), backend }
    }

    fn host_id(&self, node: &NodeInfo) -> Cell {
        let cluster = self.backend.cluster_name();
        uuid(uuid_from_digest("host", &[cluster.as_bytes(), &node.id.0.to_be_bytes()]))
    }

    fn peers(&self) -> impl Iterator<Item = &NodeInfo> {
        let local = self.backend.local_node();
        // Drivers drop a row that lacks something, and complain: only complete ones are shown.
        self.nodes.iter().filter(move |node| node.id != local && !node.tokens.is_empty())
    }

    fn keyspaces(&self) -> impl Iterator<Item = &Keyspace> {
        self.schema.keyspaces.values()
    }

    fn user_tables(&self) -> impl Iterator<Item = (&Keyspace, &Table)> {
        self.keyspaces().flat_map(|keyspace| keyspace.tables.values().map(move |table| (keyspace, table)))
    }
}

/// The version drivers compare between nodes until all have the same.
pub(crate) fn schema_uuid(version: u64) -> [u8; 16] {
    uuid_from_digest("schema", &[&version.to_be_bytes()])
}

fn tokens(node: &NodeInfo) -> Cell {
    text_set(node.tokens.iter().map(i64::to_string).collect())
}

pub(super) fn local(view: &View<'_>) -> Vec<Vec<Cell>> {
    let local = view.backend.local_node();
    let Some(node) = view.nodes.iter().find(|node| node.id == local) else { return Vec::new() };
    vec![vec![
        text("local"),
        text("COMPLETED"),
        inet(node.address),
        int(node.peer_port.into()),
        text(view.backend.cluster_name()),
        text(CQL_VERSION),
        text(&node.data_centre),
        None,
        view.host_id(node),
        inet(node.address),
        int(node.peer_port.into()),
        text(crate::envelope::VERSION_MAX.to_string()),
        text(PARTITIONER),
        text(&node.rack),
        text(RELEASE_VERSION),
        inet(node.address),
        int(node.port.into()),
        uuid(schema_uuid(view.schema.version)),
        tokens(node),
        None,
    ]]
}

pub(super) fn peers(view: &View<'_>) -> Vec<Vec<Cell>> {
    let row = |node: &NodeInfo| {
        vec![
            inet(node.address),
            text(&node.data_centre),
            view.host_id(node),
            inet(node.address),
            text(&node.rack),
            text(RELEASE_VERSION),
            inet(node.address),
            uuid(schema_uuid(node.schema_version)),
            tokens(node),
        ]
    };
    view.peers().map(row).collect()
}

pub(super) fn peers_v2(view: &View<'_>) -> Vec<Vec<Cell>> {
    let row = |node: &NodeInfo| {
        vec![
            inet(node.address),
            int(node.peer_port.into()),
            text(&node.data_centre),
            view.host_id(node),
            inet(node.address),
            int(node.port.into()),
            inet(node.address),
            int(node.peer_port.into()),
            text(&node.rack),
            text(RELEASE_VERSION),
            uuid(schema_uuid(node.schema_version)),
            tokens(node),
        ]
    };
    view.peers().map(row).collect()
}

pub(super) fn keyspaces(view: &View<'_>) -> Vec<Vec<Cell>> {
    let own = tables::described_keyspaces().map(|name| vec![text(name), boolean(true), text_map(LOCAL_REPLICATION)]);
    let users = view.keyspaces().map(|keyspace| {
        let options = keyspace.replication.options.iter();
        let replication: Vec<_> = options.map(|(name, value)| (name.as_str(), value.as_str())).collect();
        vec![text(&keyspace.name), boolean(keyspace.durable_writes), text_map(&replication)]
    });
    own.chain(users).collect()
}

pub(super) fn tables(view: &View<'_>) -> Vec<Vec<Cell>> {
    let own = tables::ordinary().map(|table| {
        let id = uuid_from_digest("system table", &[table.keyspace.as_bytes(), table.name.as_bytes()]);
        table_row(table.keyspace, table.name, id, "", "off")
    });
    let users = view.user_tables().map(|(keyspace, table)| {
        let comment = table.options.get("comment").map_or("", String::as_str);
        let id = uuid_from_digest("table", &[&table.id.0.to_be_bytes()]);
        table_row(&keyspace.name, &table.name, id, comment, table.transactional_mode.name())
    });
    own.chain(users).collect()
}

/// Options that mean nothing here carry Cassandra's defaults, since some drivers stumble over nulls.
fn table_row(keyspace: &str, name: &str, id: [u8; 16], comment: &str, mode: &str) -> Vec<Cell> {
    vec![
        text(keyspace),
        text(name),
        text("99p"),
        boolean(true),
        double(0.01),
        text_map(&[("keys", "ALL"), ("rows_per_partition", "NONE")]),
        boolean(false),
        text(comment),
        text_map(&[("class", "org.apache.cassandra.db.compaction.SizeTieredCompactionStrategy")]),
        text_map(&[("enabled", "false")]),
        double(1.0),
        double(0.0),
        int(0),
        text_map(&[]),
        text_set(vec!["compound".to_owned()]),
        int(864_000),
        uuid(id),
        boolean(false),
        int(2048),
        text("default"),
        int(0),
        int(128),
        text("BLOCKING"),
        double(0.0),
        text("99p"),
        text("none"),
        text(mode),
    ]
}

pub(super) fn columns(view: &View<'_>) -> Vec<Vec<Cell>> {
    let mut rows: Vec<_> = tables::ordinary().flat_map(system_columns).collect();
    for (keyspace, table) in view.user_tables() {
        let mut place = Place::default();
        for column in &table.columns {
            let kind = kind_of(column.kind);
            let of = (keyspace.name.as_str(), table.name.as_str());
            rows.push(column_row(of, &column.name, &column.ty.cql_name(), (kind, place.next(kind), column.descending)));
        }
    }
    rows
}

fn system_columns(table: &SystemTable) -> Vec<Vec<Cell>> {
    let mut place = Place::default();
    let of = (table.keyspace, table.name);
    let row = |column: &SystemColumn| {
        let kind = column.kind;
        column_row(of, column.name, &column.ty.cql_name(), (kind, place.next(kind), false))
    };
    table.columns.iter().map(row).collect()
}

pub(super) fn virtual_keyspaces(_: &View<'_>) -> Vec<Vec<Cell>> {
    vec![vec![text(tables::OWN)]]
}

pub(super) fn virtual_tables(_: &View<'_>) -> Vec<Vec<Cell>> {
    let row = |table: &SystemTable| vec![text(table.keyspace), text(table.name), text(table.comment)];
    tables::of_node().map(row).collect()
}

pub(super) fn virtual_columns(_: &View<'_>) -> Vec<Vec<Cell>> {
    tables::of_node().flat_map(system_columns).collect()
}

/// Counts positions within the partition key and within the clustering key.
#[derive(Default)]
struct Place {
    partition: i32,
    clustering: i32,
}

impl Place {
    fn next(&mut self, kind: ColumnKind) -> i32 {
        let counter = match kind {
            ColumnKind::Partition => &mut self.partition,
            ColumnKind::Clustering => &mut self.clustering,
            ColumnKind::Static | ColumnKind::Regular => return -1,
        };
        *counter += 1;
        *counter - 1
    }
}

fn kind_of(kind: cql_txn::ColumnKind) -> ColumnKind {
    match kind {
        cql_txn::ColumnKind::PartitionKey => ColumnKind::Partition,
        cql_txn::ColumnKind::Clustering => ColumnKind::Clustering,
        cql_txn::ColumnKind::Static => ColumnKind::Static,
        _ => ColumnKind::Regular,
    }
}

fn column_row(
    (keyspace, table): (&str, &str),
    name: &str,
    ty: &str,
    (kind, position, descending): (ColumnKind, i32, bool),
) -> Vec<Cell> {
    let (kind, order) = match (kind, descending) {
        (ColumnKind::Partition, _) => ("partition_key", "none"),
        (ColumnKind::Clustering, false) => ("clustering", "asc"),
        (ColumnKind::Clustering, true) => ("clustering", "desc"),
        (ColumnKind::Static, _) => ("static", "none"),
        (ColumnKind::Regular, _) => ("regular", "none"),
    };
    let bytes = Some(name.as_bytes().to_vec());
    vec![text(keyspace), text(table), text(name), text(order), bytes, text(kind), int(position), text(ty)]
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::backend::{Answer, NewTxn};
    use protocol::NodeId;
    use std::net::{IpAddr, Ipv4Addr};

    /// Two nodes, the first of them this one, and one that is not complete yet.
    struct Two(Arc<Schema>);

    impl Backend for Two {
        fn schema(&self) -> Arc<Schema> {
            Arc::clone(&self.0)
        }

        fn submit(&self, _: NewTxn, _: Box<dyn FnOnce(Answer)>) {}

        fn when_schema_agreed(&self, _: u64, agreed: Box<dyn FnOnce()>) {
            agreed();
        }

        fn nodes(&self) -> Vec<NodeInfo> {
            let node = |id: u8, tokens: Vec<i64>| NodeInfo {
                id: NodeId(id.into()),
                address: IpAddr::V4(Ipv4Addr::new(10, 0, 0, id)),
                port: 9042,
                peer_port: 7000,
                tokens,
                is_up: true,
                schema_version: self.0.version,
                data_centre: "dc1".into(),
                rack: "r1".into(),
            };
            vec![node(1, vec![0]), node(2, vec![5, -5]), node(3, vec![])]
        }

        fn local_node(&self) -> NodeId {
            NodeId(1)
        }

        fn cluster_name(&self) -> String {
            "two".into()
        }
    }

    pub(in crate::system) fn with_view<T>(run: impl FnOnce(&View<'_>) -> T) -> T {
        let mut schema = Schema::new(2);
        for text in [
            "CREATE KEYSPACE bank WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 2}",
            "CREATE TABLE bank.t (a int, b text, c bigint, d boolean, PRIMARY KEY ((a, b), c)) \
             WITH CLUSTERING ORDER BY (c DESC) AND transactional_mode = 'full'",
        ] {
            let parsed = cql_txn::parse(text).expect("text");
            let prepared = cql_txn::prepare(&parsed, &schema, None).expect("statement");
            let cql_txn::Action::Ddl(ddl) = prepared.action() else { panic!("not DDL") };
            schema = cql_txn::apply_ddl(&schema, ddl).expect("applies").0;
        }
        let two = Two(Arc::new(schema));
        run(&View::of(&two))
    }

    #[test]
    fn every_row_has_a_cell_for_every_column() {
        with_view(|view| {
            for table in tables::ordinary() {
                let tables::Source::Port(rows) = table.source else { panic!("{} is no table of the port", table.name) };
                let rows = rows(view);
                assert!(rows.iter().all(|row| row.len() == table.columns.len()), "{}.{}", table.keyspace, table.name);
            }
        });
    }

    #[test]
    fn virtual_tables_are_described_apart_from_the_others() {
        with_view(|view| {
            let names: Vec<Cell> = virtual_tables(view).into_iter().map(|row| row[1].clone()).collect();
            assert!(names.contains(&text("blocked_by")) && names.len() == tables::of_node().count(), "{names:?}");
            assert!(virtual_columns(view).iter().all(|row| row[0] == text("accord") && row[7].is_some()));
            assert!(tables(view).iter().chain(&columns(view)).all(|row| row[0] != text("accord")));
        });
    }

    #[test]
    fn peers_leave_out_this_node_and_incomplete_ones() {
        with_view(|view| {
            assert_eq!(local(view).len(), 1);
            let peers = peers_v2(view);
            assert_eq!(peers.iter().map(|row| row[0].clone()).collect::<Vec<_>>(), [Some(vec![10, 0, 0, 2])]);
            assert_ne!(peers[0][3], None);
            assert_ne!(peers[0][3], local(view)[0][8]);
            assert_eq!(peers[0][10], local(view)[0][17]);
        });
    }

    #[test]
    fn columns_tell_their_place_in_the_key() {
        let shown = with_view(|view| {
            let own = columns(view).into_iter().filter(|row| row[0] == text("bank"));
            own.map(|row| (row[2].clone(), row[3].clone(), row[5].clone(), row[6].clone())).collect::<Vec<_>>()
        });
        let row = |name, order, kind, position| (text(name), text(order), text(kind), int(position));
        let expected = [
            row("a", "none", "partition_key", 0),
            row("b", "none", "partition_key", 1),
            row("c", "desc", "clustering", 0),
            row("d", "none", "regular", -1),
        ];
        assert_eq!(shown, expected);
    }

    #[test]
    fn schema_versions_have_one_uuid_everywhere() {
        assert_eq!(schema_uuid(3), schema_uuid(3));
        assert_ne!(schema_uuid(3), schema_uuid(4));
    }
}
