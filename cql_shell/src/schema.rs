//! What `system_schema` says of keyspaces, tables and columns.

use client::{Error, RequestOptions, Response, Row};

use crate::command::Describe;
use crate::describe::{self, Column, Keyspace, Table};
use crate::link::Link;
use crate::literal::{literal, name, quoted};
use crate::names::{NAMES_MAX, Names};

/// Tables of the schema itself: of ordinary tables, and of those that nodes make up as they are read.
const SCHEMAS: [&str; 2] = ["system_schema", "system_virtual_schema"];

/// The answer to DESCRIBE, or a sentence why there is none.
pub(crate) async fn describe(link: &mut Link, what: &Describe) -> Result<Result<String, String>, Error> {
    let used =
        || link.keyspace().map(str::to_owned).ok_or_else(|| "no keyspace in use; name one, or USE it".to_owned());
    match what {
        Describe::Keyspaces => Ok(Ok(lines(keyspaces(link).await?.into_iter().map(|keyspace| name(&keyspace))))),
        Describe::Tables => {
            let mut tables = tables(link).await?;
            if let Some(used) = link.keyspace() {
                tables.retain(|(keyspace, _)| keyspace == used);
            }
            Ok(Ok(lines(tables.into_iter().map(|(keyspace, table)| format!("{}.{}", name(&keyspace), name(&table))))))
        }
        Describe::Keyspace(keyspace) => match keyspace.clone().map_or_else(used, Ok) {
            Ok(keyspace) => whole_keyspace(link, &keyspace).await,
            Err(sentence) => Ok(Err(sentence)),
        },
        Describe::Table { keyspace, table } => match keyspace.clone().map_or_else(used, Ok) {
            Ok(keyspace) => Ok(match one_table(link, &keyspace, table).await? {
                Some(table) => Ok(describe::table(&table)),
                None => Err(format!("no table {}.{}", name(&keyspace), name(table))),
            }),
            Err(sentence) => Ok(Err(sentence)),
        },
    }
}

/// All names, for completion.
pub(crate) async fn names(link: &mut Link) -> Result<Names, Error> {
    let quote = |found: String| name(&found);
    let keyspaces = keyspaces(link).await?.into_iter().map(quote).collect();
    let tables = tables(link).await?.into_iter().map(|(keyspace, table)| (quote(keyspace), quote(table))).collect();
    let rows = select(link, "SELECT column_name FROM system_schema.columns").await?;
    let columns = each(&rows, |row| text(row, 0)).into_iter().map(quote).collect();
    Ok(Names { keyspaces, tables, columns, used: link.keyspace().map(name) })
}

async fn keyspaces(link: &mut Link) -> Result<Vec<String>, Error> {
    let mut found = Vec::new();
    for schema in SCHEMAS {
        let rows = select(link, &format!("SELECT keyspace_name FROM {schema}.keyspaces")).await?;
        found.extend(each(&rows, |row| text(row, 0)));
    }
    found.sort_unstable();
    Ok(found)
}

async fn tables(link: &mut Link) -> Result<Vec<(String, String)>, Error> {
    let mut found = Vec::new();
    for schema in SCHEMAS {
        let rows = select(link, &format!("SELECT keyspace_name, table_name FROM {schema}.tables")).await?;
        found.extend(each(&rows, |row| (text(row, 0), text(row, 1))));
    }
    found.sort_unstable();
    Ok(found)
}

async fn whole_keyspace(link: &mut Link, keyspace: &str) -> Result<Result<String, String>, Error> {
    let condition = format!("WHERE keyspace_name = {}", quoted(keyspace));
    let query = format!("SELECT durable_writes, replication FROM system_schema.keyspaces {condition}");
    let rows = select(link, &query).await?;
    let mut out = each(&rows, |row| {
        let kind = rows.rows().and_then(|rows| rows.columns().get(1));
        let replication = kind.map_or_else(String::new, |column| literal(&column.kind, row.bytes(1)));
        let durable_writes = row.boolean(0).ok().flatten().unwrap_or(true);
        describe::keyspace(&Keyspace { name: keyspace.to_owned(), replication, durable_writes })
    })
    .concat();
    let tables = tables(link).await?;
    let tables: Vec<&String> = tables.iter().filter(|(owner, _)| owner == keyspace).map(|(_, table)| table).collect();
    if out.is_empty() && tables.is_empty() {
        return Ok(Err(format!("no keyspace {}", name(keyspace))));
    }
    for table in tables {
        // one that was dropped in between is left out
        let text = one_table(link, keyspace, table).await?.map(|table| describe::table(&table));
        out.push_str(&text.map_or_else(String::new, |text| format!("\n{text}")));
    }
    Ok(Ok(out))
}

async fn one_table(link: &mut Link, keyspace: &str, table: &str) -> Result<Option<Table>, Error> {
    let condition = format!("WHERE keyspace_name = {} AND table_name = {}", quoted(keyspace), quoted(table));
    for schema in SCHEMAS {
        let rows = select(link, &format!("SELECT * FROM {schema}.tables {condition}")).await?;
        let found = each(&rows, |row| Table {
            keyspace: keyspace.to_owned(),
            name: table.to_owned(),
            comment: named(row, "comment"),
            transactional_mode: named(row, "transactional_mode"),
            columns: Vec::new(),
        });
        let Some(found) = found.into_iter().next() else { continue };
        let rows = select(link, &format!("SELECT * FROM {schema}.columns {condition}")).await?;
        let columns = each(&rows, |row| Column {
            name: named(row, "column_name"),
            kind: named(row, "kind"),
            position: row.position("position").and_then(|at| row.int(at).ok().flatten()).unwrap_or(-1),
            clustering_order: named(row, "clustering_order"),
            ty: named(row, "type"),
        });
        return Ok(Some(Table { columns, ..found }));
    }
    Ok(None)
}

async fn select(link: &mut Link, text: &str) -> Result<Response, Error> {
    link.query(text, &RequestOptions::default()).await
}

fn each<T>(response: &Response, make: impl Fn(&Row<'_>) -> T) -> Vec<T> {
    response.rows().into_iter().flat_map(|rows| rows.iter()).take(NAMES_MAX).map(|row| make(&row)).collect()
}

/// A text cell; empty for null and for what is no text.
fn text(row: &Row<'_>, at: usize) -> String {
    row.text(at).ok().flatten().unwrap_or_default().to_owned()
}

fn named(row: &Row<'_>, column: &str) -> String {
    row.position(column).map(|at| text(row, at)).unwrap_or_default()
}

fn lines(names: impl Iterator<Item = String>) -> String {
    names.map(|name| name + "\n").collect()
}
