//! What changed between two schemas, as registered clients are told.

use crate::response::SchemaChange;
use cql_txn::{Change, ChangeKind, Keyspace, Schema};

const CREATED: &str = "CREATED";
const UPDATED: &str = "UPDATED";
const DROPPED: &str = "DROPPED";

impl SchemaChange {
    fn of_keyspace(change: &'static str, keyspace: &Keyspace) -> Self {
        Self { change, keyspace: keyspace.name.clone(), table: None }
    }

    fn of_table(change: &'static str, keyspace: &Keyspace, table: &str) -> Self {
        Self { change, keyspace: keyspace.name.clone(), table: Some(table.to_owned()) }
    }

    /// The outcome of a statement; `None` if its IF clause was not met and nothing changed.
    pub(crate) fn of_statement(change: &Change) -> Option<Self> {
        let word = match change.kind {
            ChangeKind::Nothing => return None,
            ChangeKind::Created => CREATED,
            ChangeKind::Updated => UPDATED,
            ChangeKind::Dropped => DROPPED,
        };
        let table = Some(change.table.clone()).filter(|table| !table.is_empty());
        Some(Self { change: word, keyspace: change.keyspace.clone(), table })
    }
}

/// All changes from `old` to `new`, drops first. A keyspace or table made anew under its old name is dropped and created.
pub(crate) fn changes(old: &Schema, new: &Schema) -> Vec<SchemaChange> {
    let mut dropped = Vec::new();
    let mut made = Vec::new();
    for keyspace in old.keyspaces.values() {
        if new.keyspaces.get(&keyspace.name).is_none_or(|now| now.id != keyspace.id) {
            dropped.push(SchemaChange::of_keyspace(DROPPED, keyspace));
        }
    }
    for keyspace in new.keyspaces.values() {
        let before = old.keyspaces.get(&keyspace.name).filter(|before| before.id == keyspace.id);
        match before {
            None => made.push(SchemaChange::of_keyspace(CREATED, keyspace)),
            Some(before) if before.replication.options != keyspace.replication.options => {
                made.push(SchemaChange::of_keyspace(UPDATED, keyspace));
            }
            Some(_) => {}
        }
        table_changes(before, keyspace, &mut dropped, &mut made);
    }
    dropped.append(&mut made);
    dropped
}

fn table_changes(
    before: Option<&Keyspace>,
    now: &Keyspace,
    dropped: &mut Vec<SchemaChange>,
    made: &mut Vec<SchemaChange>,
) {
    for table in before.iter().flat_map(|keyspace| keyspace.tables.values()) {
        if now.tables.get(&table.name).is_none_or(|after| after.id != table.id) {
            dropped.push(SchemaChange::of_table(DROPPED, now, &table.name));
        }
    }
    for table in now.tables.values() {
        match before.and_then(|keyspace| keyspace.tables.get(&table.name)).filter(|old| old.id == table.id) {
            None => made.push(SchemaChange::of_table(CREATED, now, &table.name)),
            Some(old) if old != table => made.push(SchemaChange::of_table(UPDATED, now, &table.name)),
            Some(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(schema: &Schema, text: &str) -> Schema {
        let parsed = cql_txn::parse(text).expect("text");
        let prepared = cql_txn::prepare(&parsed, schema, None).expect("statement");
        let cql_txn::Action::Ddl(ddl) = prepared.action() else { panic!("not DDL") };
        cql_txn::apply_ddl(schema, ddl).expect("applies").0
    }

    fn words(old: &Schema, new: &Schema) -> Vec<String> {
        let word = |change: SchemaChange| format!("{} {} {:?}", change.change, change.keyspace, change.table);
        changes(old, new).into_iter().map(word).collect()
    }

    #[test]
    fn a_table_made_anew_is_dropped_and_created() {
        let create = "CREATE TABLE k.t (a int PRIMARY KEY) WITH transactional_mode = 'full'";
        let keyspace = "CREATE KEYSPACE k WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}";
        let none = Schema::new(1);
        let first = run(&run(&none, keyspace), create);
        let again = run(&run(&first, "DROP TABLE k.t"), create);
        assert_eq!(words(&none, &first), ["CREATED k None", "CREATED k Some(\"t\")"]);
        assert_eq!(words(&first, &again), ["DROPPED k Some(\"t\")", "CREATED k Some(\"t\")"]);
        assert_eq!(words(&first, &none), ["DROPPED k None"]);
        assert!(words(&first, &first).is_empty());
    }
}
