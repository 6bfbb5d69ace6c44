//! Statements on the schema: everything about them that needs no schema is checked here. *Source*: [CQL 2].

use super::{Action, types};
use crate::ast::{
    AlterTable, Alteration, ColumnDefinition, CreateKeyspace, CreateTable, CreateType, Name, OptionValue, PrimaryKey,
    StatementKind, TableName, TableOption,
};
use crate::ddl::{Ddl, TableChange};
use crate::error::{At, Class, Error};
use crate::schema::{Column, ColumnKind, KEY_COLUMNS_MAX, Replication, Schema, Table, TransactionalMode};
use crate::value::{Type, UserType};
use protocol::TableId;
use std::collections::BTreeMap;

/// The action of a statement on the schema; `None` for any other.
pub(super) fn action(kind: &StatementKind, schema: &Schema, keyspace: Option<&str>) -> Result<Option<Action>, Error> {
    let ddl = match kind {
        StatementKind::Use(name) if schema.keyspaces.contains_key(&name.text) || is_system(&name.text) => {
            return Ok(Some(Action::Use(name.text.clone())));
        }
        StatementKind::Use(name) => return Err(Error::invalid(name.at, format!("unknown keyspace {}", name.text))),
        StatementKind::CreateKeyspace(create) => create_keyspace(create)?,
        StatementKind::DropKeyspace(drop) => {
            refuse_system(&drop.name.text, drop.name.at)?;
            Ddl::DropKeyspace { name: drop.name.text.clone(), if_exists: drop.if_exists }
        }
        StatementKind::CreateTable(create) => {
            let keyspace = keyspace_of(&create.table, keyspace)?;
            let table = table(create, schema, &keyspace)?;
            Ddl::CreateTable { keyspace, if_not_exists: create.if_not_exists, table }
        }
        StatementKind::DropTable(drop) => {
            let keyspace = keyspace_of(&drop.table, keyspace)?;
            Ddl::DropTable { keyspace, name: drop.table.name.text.clone(), if_exists: drop.if_exists }
        }
        StatementKind::AlterTable(alter) => alter_table(alter, schema, keyspace)?,
        StatementKind::Truncate(table) => {
            let keyspace = keyspace_of(table, keyspace)?;
            Ddl::Truncate { keyspace, name: table.name.text.clone() }
        }
        StatementKind::CreateType(create) => create_type(create, schema, keyspace)?,
        StatementKind::DropType(drop) => {
            let keyspace = keyspace_of(&drop.table, keyspace)?;
            Ddl::DropType { keyspace, name: drop.table.name.text.clone(), if_exists: drop.if_exists }
        }
        _ => return Ok(None),
    };
    Ok(Some(Action::Ddl(ddl)))
}

const SYSTEM: [&str; 5] = ["system", "system_schema", "system_auth", "system_traces", "system_virtual_schema"];

/// Longest name of a keyspace or table.
const NAME_MAX: usize = 48;

/// Most columns of a table.
const COLUMNS_MAX: usize = 1000;

fn is_system(keyspace: &str) -> bool {
    SYSTEM.contains(&keyspace)
}

pub(super) fn refuse_system(keyspace: &str, at: At) -> Result<(), Error> {
    if is_system(keyspace) {
        return Err(Error::new(Class::Unauthorized, at, format!("keyspace {keyspace} belongs to the system")));
    }
    Ok(())
}

fn keyspace_of(table: &TableName, current: Option<&str>) -> Result<String, Error> {
    let (keyspace, at) = match (&table.keyspace, current) {
        (Some(keyspace), _) => (keyspace.text.clone(), keyspace.at),
        (None, Some(keyspace)) => (keyspace.to_owned(), table.name.at),
        (None, None) => {
            let message = format!("no keyspace is in use; write keyspace.{} or USE one first", table.name.text);
            return Err(Error::invalid(table.name.at, message));
        }
    };
    refuse_system(&keyspace, at).map(|()| keyspace)
}

fn check_name(name: &Name, what: &str) -> Result<(), Error> {
    let is_fine =
        name.text.len() <= NAME_MAX && name.text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    if is_fine {
        return Ok(());
    }
    let message = format!("the name of a {what} has letters, digits and '_' only, {NAME_MAX} at most");
    Err(Error::invalid(name.at, message))
}

fn create_keyspace(create: &CreateKeyspace) -> Result<Ddl, Error> {
    check_name(&create.name, "keyspace")?;
    refuse_system(&create.name.text, create.name.at)?;
    let (mut replication_map, mut durable_writes) = (None, true);
    for option in &create.options {
        match (&*option.name.text, &option.value) {
            ("replication", OptionValue::Map(entries)) => replication_map = Some(replication(entries, option.name.at)?),
            ("durable_writes", OptionValue::Scalar(value)) if value == "true" || value == "false" => {
                durable_writes = value == "true";
            }
            ("replication" | "durable_writes", _) => {
                let message = format!("option {} has a value of the wrong form", option.name.text);
                return Err(Error::config(option.name.at, message));
            }
            (name, _) => return Err(Error::config(option.name.at, format!("unknown option {name} of a keyspace"))),
        }
    }
    let Some(replication) = replication_map else {
        let message = "a keyspace needs WITH replication = {'class': 'SimpleStrategy', 'replication_factor': n}";
        return Err(Error::config(create.name.at, message));
    };
    let (name, if_not_exists) = (create.name.text.clone(), create.if_not_exists);
    Ok(Ddl::CreateKeyspace { name, if_not_exists, replication, durable_writes })
}

fn replication(entries: &[(String, String)], at: At) -> Result<Replication, Error> {
    let mut options = BTreeMap::new();
    let mut factors = Vec::new();
    for (key, value) in entries {
        let value = if key == "class" { value.rsplit('.').next().unwrap_or(value) } else { value };
        if options.insert(key.clone(), value.to_owned()).is_some() {
            return Err(Error::config(at, format!("replication names {key} twice")));
        }
        if key != "class" {
            let factor = value.parse::<u8>().ok().filter(|factor| *factor > 0);
            let message =
                || Error::config(at, format!("replication: {key} must be a number from 1 to 255, not {value}"));
            factors.push((key, factor.ok_or_else(message)?));
        }
    }
    match (options.get("class").map(String::as_str), &factors[..]) {
        (Some("SimpleStrategy"), [(key, factor)]) if *key == "replication_factor" => {
            Ok(Replication { factor: *factor, options })
        }
        (Some("NetworkTopologyStrategy"), [(_, factor)]) => Ok(Replication { factor: *factor, options }),
        (Some("SimpleStrategy"), _) => {
            Err(Error::config(at, "SimpleStrategy takes replication_factor and nothing else"))
        }
        (Some("NetworkTopologyStrategy"), _) => {
            Err(Error::config(at, "NetworkTopologyStrategy takes replication_factor or one data centre"))
        }
        (Some(class), _) => Err(Error::config(at, format!("unknown replication class {class}; use SimpleStrategy"))),
        (None, _) => Err(Error::config(at, "replication names no class; add 'class': 'SimpleStrategy'")),
    }
}

fn create_type(create: &CreateType, schema: &Schema, current: Option<&str>) -> Result<Ddl, Error> {
    let keyspace = keyspace_of(&create.name, current)?;
    check_name(&create.name.name, "type")?;
    if Type::named(&create.name.name.text).is_some() {
        return Err(Error::invalid(create.name.name.at, "a type of the language has this name"));
    }
    let mut fields: Vec<(String, Type)> = Vec::with_capacity(create.fields.len());
    for (name, ty) in &create.fields {
        if fields.iter().any(|(known, _)| *known == name.text) {
            return Err(Error::invalid(name.at, format!("field {} is defined twice", name.text)));
        }
        let ty_of = types::resolve(ty, schema, &keyspace)?;
        if ty_of == Type::Counter {
            return Err(Error::invalid(name.at, "a counter cannot be part of a type"));
        }
        fields.push((name.text.clone(), ty_of));
    }
    let ty = UserType { keyspace, name: create.name.name.text.clone(), fields };
    Ok(Ddl::CreateType { if_not_exists: create.if_not_exists, ty })
}

fn alter_table(alter: &AlterTable, schema: &Schema, current: Option<&str>) -> Result<Ddl, Error> {
    let keyspace = keyspace_of(&alter.table, current)?;
    let change = match &alter.change {
        Alteration::Add { if_not_exists, columns } => {
            let no_key = PrimaryKey { partition: Vec::new(), clustering: Vec::new() };
            if let Some(column) = columns.iter().find(|column| column.is_primary_key) {
                return Err(Error::invalid(column.name.at, "the primary key of a table cannot change"));
            }
            let columns = columns.iter().map(|definition| column(definition, 0, &no_key, schema, &keyspace));
            TableChange::Add { if_not_exists: *if_not_exists, columns: columns.collect::<Result<_, _>>()? }
        }
        Alteration::Drop(names) => TableChange::Drop(names.iter().map(|name| name.text.clone()).collect()),
        Alteration::Rename(names) => {
            TableChange::Rename(names.iter().map(|(from, to)| (from.text.clone(), to.text.clone())).collect())
        }
        Alteration::With(options) => {
            let (mode, kept) = table_options(options)?;
            let has_mode = options.iter().any(|option| option.name.text == "transactional_mode");
            TableChange::With { mode: has_mode.then_some(mode), options: kept }
        }
    };
    let name = alter.table.name.text.clone();
    Ok(Ddl::AlterTable { keyspace, name, if_exists: alter.if_exists, change })
}

fn table(create: &CreateTable, schema: &Schema, keyspace: &str) -> Result<Table, Error> {
    let name = &create.table.name;
    check_name(name, "table")?;
    if create.columns.len() > COLUMNS_MAX {
        return Err(Error::invalid(name.at, format!("a table has at most {COLUMNS_MAX} columns")));
    }
    let key = primary_key(create)?;
    let mut columns = Vec::with_capacity(create.columns.len());
    for definition in &create.columns {
        columns.push((position(definition, &key), column(definition, columns.len() as u16, &key, schema, keyspace)?));
    }
    columns.sort_by(|(left, one), (right, other)| (one.kind, left, &one.name).cmp(&(other.kind, right, &other.name)));
    let mut columns: Vec<Column> = columns.into_iter().map(|(_, column)| column).collect();
    clustering_order(&create.clustering_order, &key, &mut columns)?;
    let (mode, options) = table_options(&create.options)?;
    check_columns(&columns, &create.table.name, mode)?;
    let next_column = columns.len() as u16;
    let id = TableId::default();
    Ok(Table { id, name: name.text.clone(), columns, next_column, transactional_mode: mode, options })
}

/// The primary key, however it was written; its columns exist and are named once.
fn primary_key(create: &CreateTable) -> Result<PrimaryKey, Error> {
    let mut names: Vec<&str> = Vec::with_capacity(create.columns.len());
    for column in &create.columns {
        if names.contains(&&*column.name.text) {
            return Err(Error::invalid(column.name.at, format!("column {} is defined twice", column.name.text)));
        }
        names.push(&column.name.text);
    }
    let mut inline = create.columns.iter().filter(|column| column.is_primary_key);
    let key = match (&create.primary_key, inline.next(), inline.next()) {
        (Some(key), None, _) => key.clone(),
        (None, Some(column), None) => PrimaryKey { partition: vec![column.name.clone()], clustering: vec![] },
        (None, None, _) => return Err(Error::invalid(create.table.name.at, "the table has no PRIMARY KEY")),
        (_, Some(column), _) => return Err(Error::invalid(column.name.at, "PRIMARY KEY is given twice")),
    };
    let mut seen: Vec<&str> = Vec::new();
    for column in key.partition.iter().chain(&key.clustering) {
        if !names.contains(&&*column.text) {
            return Err(Error::invalid(column.at, format!("the primary key names the unknown column {}", column.text)));
        }
        if seen.contains(&&*column.text) {
            return Err(Error::invalid(column.at, format!("the primary key names column {} twice", column.text)));
        }
        seen.push(&column.text);
    }
    if key.partition.len() > KEY_COLUMNS_MAX || key.clustering.len() > KEY_COLUMNS_MAX {
        return Err(Error::invalid(create.table.name.at, format!("a key has at most {KEY_COLUMNS_MAX} columns")));
    }
    Ok(key)
}

fn place_in(names: &[Name], name: &Name) -> Option<usize> {
    names.iter().position(|known| known.text == name.text)
}

/// The order of a column among those of its kind, as far as the key gives one.
fn position(definition: &ColumnDefinition, key: &PrimaryKey) -> usize {
    place_in(&key.partition, &definition.name).or(place_in(&key.clustering, &definition.name)).unwrap_or_default()
}

/// Rules about columns that need all of them.
fn check_columns(columns: &[Column], table: &Name, mode: TransactionalMode) -> Result<(), Error> {
    let is_key = |column: &&Column| matches!(column.kind, ColumnKind::PartitionKey | ColumnKind::Clustering);
    let unfit = |column: &&Column| column.ty.is_open() || column.ty == Type::Counter;
    if let Some(column) = columns.iter().filter(is_key).find(unfit) {
        let message = format!("column {} of type {} cannot be part of a key", column.name, column.ty.cql_name());
        return Err(Error::invalid(table.at, message));
    }
    let has_clustering = columns.iter().any(|column| column.kind == ColumnKind::Clustering);
    if let Some(column) = columns.iter().find(|column| column.kind == ColumnKind::Static && !has_clustering) {
        let message = format!("column {} cannot be static: there are no clustering columns", column.name);
        return Err(Error::invalid(table.at, message));
    }
    let (counters, others) = columns
        .iter()
        .filter(|column| !is_key(column))
        .partition::<Vec<&Column>, _>(|column| column.ty == Type::Counter);
    if counters.is_empty() {
        return Ok(());
    }
    if mode == TransactionalMode::Full {
        return Err(Error::invalid(table.at, "counters and transactional_mode exclude each other"));
    }
    if !others.is_empty() {
        return Err(Error::invalid(table.at, "a table has counters only, or none, beside its key"));
    }
    Ok(())
}

fn column(
    definition: &ColumnDefinition,
    id: u16,
    key: &PrimaryKey,
    schema: &Schema,
    keyspace: &str,
) -> Result<Column, Error> {
    let ty = types::resolve(&definition.type_name, schema, keyspace)?;
    let is_key = place_in(&key.partition, &definition.name).or(place_in(&key.clustering, &definition.name)).is_some();
    if definition.is_static && is_key {
        return Err(Error::invalid(definition.name.at, "a column of the primary key cannot be static"));
    }
    let kind = if definition.is_static {
        ColumnKind::Static
    } else if place_in(&key.partition, &definition.name).is_some() {
        ColumnKind::PartitionKey
    } else if place_in(&key.clustering, &definition.name).is_some() {
        ColumnKind::Clustering
    } else {
        ColumnKind::Regular
    };
    Ok(Column { id, name: definition.name.text.clone(), ty, kind, descending: false })
}

fn clustering_order(order: &[(Name, bool)], key: &PrimaryKey, columns: &mut [Column]) -> Result<(), Error> {
    if order.is_empty() {
        return Ok(());
    }
    let is_whole = order.len() == key.clustering.len()
        && order.iter().zip(&key.clustering).all(|((ordered, _), column)| ordered.text == column.text);
    if !is_whole {
        let message = "CLUSTERING ORDER BY must name every clustering column, in the order of the primary key";
        return Err(Error::invalid(order[0].0.at, message));
    }
    for ((_, descending), column) in order.iter().zip(columns.iter_mut().skip(key.partition.len())) {
        column.descending = *descending;
    }
    Ok(())
}

/// Options that are kept for those who ask, and change nothing.
const KEPT: [&str; 17] = [
    "additional_write_policy",
    "allow_auto_snapshot",
    "bloom_filter_fp_chance",
    "caching",
    "cdc",
    "comment",
    "compaction",
    "compression",
    "crc_check_chance",
    "fast_path",
    "gc_grace_seconds",
    "incremental_backups",
    "max_index_interval",
    "memtable_flush_period_in_ms",
    "min_index_interval",
    "read_repair",
    "speculative_retry",
];

fn table_options(options: &[TableOption]) -> Result<(TransactionalMode, BTreeMap<String, String>), Error> {
    let (mut mode, mut kept) = (TransactionalMode::Off, BTreeMap::new());
    let mut seen: Vec<&str> = Vec::new();
    for option in options {
        let (name, at) = (&*option.name.text, option.name.at);
        if seen.contains(&name) {
            return Err(Error::syntax(at, format!("option {name} is given twice")));
        }
        seen.push(name);
        let value = option.value.to_string();
        match name {
            "transactional_mode" => mode = transactional_mode(&value, at)?,
            "transactional_migration_from" if value.eq_ignore_ascii_case("none") => {}
            "transactional_migration_from" => {
                return Err(Error::config(at, "transactional_migration_from can only be 'none'"));
            }
            "default_time_to_live" if value == "0" => {}
            "default_time_to_live" => return Err(Error::config(at, "default_time_to_live is not supported yet")),
            name if KEPT.contains(&name) => {
                kept.insert(name.to_owned(), value);
            }
            name => return Err(Error::config(at, format!("unknown option {name} of a table"))),
        }
    }
    Ok((mode, kept))
}

fn transactional_mode(value: &str, at: At) -> Result<TransactionalMode, Error> {
    match &*value.to_ascii_lowercase() {
        "off" => Ok(TransactionalMode::Off),
        "full" => Ok(TransactionalMode::Full),
        _ => Err(Error::config(at, format!("transactional_mode is 'full' or 'off', not '{value}'"))),
    }
}
