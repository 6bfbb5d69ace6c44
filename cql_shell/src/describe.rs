//! Keyspaces and tables as the statements that would create them.

use crate::literal::{name, quoted};

/// A keyspace of the schema.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Keyspace {
    pub(crate) name: String,
    /// Replication as a literal.
    pub(crate) replication: String,
    pub(crate) durable_writes: bool,
}

/// A table of the schema.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Table {
    pub(crate) keyspace: String,
    pub(crate) name: String,
    pub(crate) comment: String,
    /// Empty if the server has no such mode.
    pub(crate) transactional_mode: String,
    pub(crate) columns: Vec<Column>,
}

/// A column of the schema, in the words of `system_schema.columns`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Column {
    pub(crate) name: String,
    pub(crate) kind: String,
    pub(crate) position: i32,
    pub(crate) clustering_order: String,
    pub(crate) ty: String,
}

/// `CREATE KEYSPACE`.
pub(crate) fn keyspace(keyspace: &Keyspace) -> String {
    let Keyspace { name: own, replication, durable_writes } = keyspace;
    format!("CREATE KEYSPACE {} WITH replication = {replication} AND durable_writes = {durable_writes};\n", name(own))
}

/// `CREATE TABLE`, the columns in the order of `SELECT *`.
pub(crate) fn table(table: &Table) -> String {
    let mut columns: Vec<&Column> = table.columns.iter().collect();
    columns.sort_by_key(|column| (rank(&column.kind), column.position, &column.name));
    let mut out = format!("CREATE TABLE {}.{} (\n", name(&table.keyspace), name(&table.name));
    for column in &columns {
        let mark = if column.kind == "static" { " STATIC" } else { "" };
        out.push_str(&format!("    {} {}{mark},\n", name(&column.name), column.ty));
    }
    out.push_str(&format!("    PRIMARY KEY ({})\n)", primary_key(&columns)));
    let options = options(table, &columns);
    if !options.is_empty() {
        out.push_str(&format!(" WITH {}", options.join("\n    AND ")));
    }
    out.push_str(";\n");
    out
}

fn rank(kind: &str) -> u8 {
    match kind {
        "partition_key" => 0,
        "clustering" => 1,
        "static" => 2,
        _ => 3,
    }
}

fn primary_key(columns: &[&Column]) -> String {
    let of = |kind: &str| -> Vec<String> {
        columns.iter().filter(|column| column.kind == kind).map(|column| name(&column.name)).collect()
    };
    let partition = of("partition_key");
    let partition = if partition.len() > 1 { format!("({})", partition.join(", ")) } else { partition.concat() };
    [vec![partition], of("clustering")].concat().join(", ")
}

fn options(table: &Table, columns: &[&Column]) -> Vec<String> {
    let clustering: Vec<&&Column> = columns.iter().filter(|column| column.kind == "clustering").collect();
    let mut options = Vec::new();
    if clustering.iter().any(|column| column.clustering_order.eq_ignore_ascii_case("desc")) {
        let orders = clustering
            .iter()
            .map(|column| format!("{} {}", name(&column.name), column.clustering_order.to_uppercase()));
        options.push(format!("CLUSTERING ORDER BY ({})", orders.collect::<Vec<_>>().join(", ")));
    }
    if !table.transactional_mode.is_empty() {
        options.push(format!("transactional_mode = {}", quoted(&table.transactional_mode)));
    }
    if !table.comment.is_empty() {
        options.push(format!("comment = {}", quoted(&table.comment)));
    }
    options
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(name: &str, kind: &str, position: i32, order: &str) -> Column {
        let ty = if kind == "static" { "list<text>" } else { "int" };
        Column { name: name.into(), kind: kind.into(), position, clustering_order: order.into(), ty: ty.into() }
    }

    #[test]
    fn table_is_described_in_the_order_of_its_key() {
        let columns = vec![
            column("z", "regular", -1, "none"),
            column("s", "static", -1, "none"),
            column("c", "clustering", 0, "desc"),
            column("B", "partition_key", 1, "none"),
            column("a", "partition_key", 0, "none"),
        ];
        let described = Table {
            keyspace: "k".into(),
            name: "t".into(),
            comment: "it's".into(),
            transactional_mode: "full".into(),
            columns,
        };
        let wanted = "CREATE TABLE k.t (\n    a int,\n    \"B\" int,\n    c int,\n    s list<text> STATIC,\n    z int,\n    \
            PRIMARY KEY ((a, \"B\"), c)\n) WITH CLUSTERING ORDER BY (c DESC)\n    AND transactional_mode = 'full'\n    \
            AND comment = 'it''s';\n";
        assert_eq!(table(&described), wanted);
    }

    #[test]
    fn table_without_options_has_no_with() {
        let columns = vec![column("a", "partition_key", 0, "none")];
        let plain = Table { keyspace: "k".into(), name: "t".into(), columns, ..Table::default() };
        assert_eq!(table(&plain), "CREATE TABLE k.t (\n    a int,\n    PRIMARY KEY (a)\n);\n");
    }
}
