//! DDL statements as values, and what they do to a schema.

mod alter;

pub use alter::TableChange;

use crate::encoding::{Reader, put_bytes};
use crate::error::{At, Class, Error};
use crate::schema::{Keyspace, Replication, Schema, Table, decode_exactly};
use crate::value::UserType;
use protocol::{Blob, TableId};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Most tables of a schema.
const TABLES_MAX: usize = 4096;

/// Most keyspaces of a schema.
const KEYSPACES_MAX: usize = 1024;

/// A DDL statement with every name resolved and every option checked, as far as that needs no schema.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Ddl {
    /// CREATE KEYSPACE
    CreateKeyspace {
        /// Its name.
        name: String,
        /// Nothing happens if it exists.
        if_not_exists: bool,
        /// Its replication.
        replication: Replication,
        /// Its option of that name.
        durable_writes: bool,
    },
    /// DROP KEYSPACE
    DropKeyspace {
        /// Its name.
        name: String,
        /// Nothing happens if it does not exist.
        if_exists: bool,
    },
    /// CREATE TABLE
    CreateTable {
        /// Where.
        keyspace: String,
        /// Nothing happens if it exists.
        if_not_exists: bool,
        /// The table; its number is given when the statement runs.
        table: Table,
    },
    /// DROP TABLE
    DropTable {
        /// Where.
        keyspace: String,
        /// Its name.
        name: String,
        /// Nothing happens if it does not exist.
        if_exists: bool,
    },
    /// ALTER TABLE
    AlterTable {
        /// Where.
        keyspace: String,
        /// Its name.
        name: String,
        /// Nothing happens if it does not exist.
        if_exists: bool,
        /// What changes.
        change: TableChange,
    },
    /// TRUNCATE: the table goes on under a new number, so that its rows are no longer found.
    Truncate {
        /// Where.
        keyspace: String,
        /// Its name.
        name: String,
    },
    /// CREATE TYPE
    CreateType {
        /// Nothing happens if it exists.
        if_not_exists: bool,
        /// The type.
        ty: UserType,
    },
    /// DROP TYPE
    DropType {
        /// Where.
        keyspace: String,
        /// Its name.
        name: String,
        /// Nothing happens if it does not exist.
        if_exists: bool,
    },
}

/// What a DDL statement has changed, as the client port announces it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Change {
    /// What happened.
    pub kind: ChangeKind,
    /// The keyspace.
    pub keyspace: String,
    /// The table; empty if the change is to the keyspace.
    pub table: String,
}

/// Kinds of change.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum ChangeKind {
    /// Nothing: the IF clause was not met.
    Nothing = 0,
    /// CREATED
    Created = 1,
    /// UPDATED
    Updated = 2,
    /// DROPPED
    Dropped = 3,
}

impl ChangeKind {
    pub(crate) fn from_ordinal(ordinal: u8) -> Option<Self> {
        [Self::Nothing, Self::Created, Self::Updated, Self::Dropped].into_iter().find(|kind| *kind as u8 == ordinal)
    }
}

/// Runs `ddl` on `schema`.
///
/// *Shape*: the version rises by one unless the change is [`ChangeKind::Nothing`].
/// *Errors*: the object exists or does not, or a bound is reached; the schema is then as it was.
pub fn apply_ddl(schema: &Schema, ddl: &Ddl) -> Result<(Schema, Change), Error> {
    let mut next = schema.clone();
    let change = match ddl {
        Ddl::CreateKeyspace { name, if_not_exists, replication, durable_writes } => {
            next.create_keyspace(name, *if_not_exists, replication, *durable_writes)
        }
        Ddl::DropKeyspace { name, if_exists } => next.drop_keyspace(name, *if_exists),
        Ddl::CreateTable { keyspace, if_not_exists, table } => next.create_table(keyspace, *if_not_exists, table),
        Ddl::DropTable { keyspace, name, if_exists } => next.drop_table(keyspace, name, *if_exists),
        Ddl::AlterTable { keyspace, name, if_exists, change } => next.alter_table(keyspace, name, *if_exists, change),
        Ddl::Truncate { keyspace, name } => next.truncate(keyspace, name),
        Ddl::CreateType { if_not_exists, ty } => next.create_type(*if_not_exists, ty),
        Ddl::DropType { keyspace, name, if_exists } => next.drop_type(keyspace, name, *if_exists),
    }?;
    if change.kind != ChangeKind::Nothing {
        next.version += 1;
    }
    Ok((next, change))
}

impl Change {
    fn of(kind: ChangeKind, keyspace: &str, table: &str) -> Self {
        Self { kind, keyspace: keyspace.to_owned(), table: table.to_owned() }
    }

    pub(crate) fn put(&self, out: &mut Vec<u8>) {
        out.push(self.kind as u8);
        put_bytes(out, self.keyspace.as_bytes());
        put_bytes(out, self.table.as_bytes());
    }

    pub(crate) fn take(from: &mut Reader<'_>) -> Option<Self> {
        let kind = ChangeKind::from_ordinal(from.u8()?)?;
        Some(Self::of(kind, from.text()?, from.text()?))
    }
}

impl Ddl {
    /// The transaction body.
    pub(crate) fn encode(&self) -> Blob {
        let bytes = rmp_serde::to_vec(self).expect("a DDL statement is plain data and a vector takes any length");
        Blob { kind: crate::BLOB_DDL, version: crate::BLOB_VERSION, bytes: bytes.into() }
    }

    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        decode_exactly(bytes)
    }
}

impl Schema {
    fn create_keyspace(
        &mut self,
        name: &str,
        if_not_exists: bool,
        replication: &Replication,
        durable_writes: bool,
    ) -> Result<Change, Error> {
        if self.keyspaces.contains_key(name) {
            let nothing = Change::of(ChangeKind::Nothing, name, "");
            return if if_not_exists { Ok(nothing) } else { Err(exists(name, "")) };
        }
        let (factor, most) = (replication.factor, self.largest_group);
        if factor == 0 || factor > most {
            let message =
                format!("keyspace {name}: replication factor {factor} needs {factor} nodes; choose 1 to {most}");
            return Err(Error::config(At::NOWHERE, message));
        }
        if self.keyspaces.len() >= KEYSPACES_MAX {
            return Err(invalid(format!("there are {KEYSPACES_MAX} keyspaces already; drop one first")));
        }
        let keyspace = Keyspace {
            id: self.next_keyspace,
            name: name.to_owned(),
            replication: replication.clone(),
            durable_writes,
            tables: BTreeMap::new(),
            types: BTreeMap::new(),
        };
        self.next_keyspace += 1;
        self.keyspaces.insert(name.to_owned(), keyspace);
        Ok(Change::of(ChangeKind::Created, name, ""))
    }

    fn drop_keyspace(&mut self, name: &str, if_exists: bool) -> Result<Change, Error> {
        match self.keyspaces.remove(name) {
            Some(_) => Ok(Change::of(ChangeKind::Dropped, name, "")),
            None if if_exists => Ok(Change::of(ChangeKind::Nothing, name, "")),
            None => Err(invalid(format!("keyspace {name} does not exist"))),
        }
    }

    fn create_table(&mut self, keyspace: &str, if_not_exists: bool, table: &Table) -> Result<Change, Error> {
        let (count, id) = (self.table_count(), TableId(self.next_table));
        let tables = &mut self.keyspace_mut(keyspace)?.tables;
        if tables.contains_key(&table.name) {
            let nothing = Change::of(ChangeKind::Nothing, keyspace, &table.name);
            return if if_not_exists { Ok(nothing) } else { Err(exists(keyspace, &table.name)) };
        }
        if !table.is_sound() {
            return Err(invalid(format!("the definition of table {keyspace}.{} is not sound", table.name)));
        }
        if count >= TABLES_MAX {
            return Err(invalid(format!("there are {TABLES_MAX} tables already; drop one first")));
        }
        tables.insert(table.name.clone(), Table { id, ..table.clone() });
        self.next_table += 1;
        Ok(Change::of(ChangeKind::Created, keyspace, &table.name))
    }

    fn drop_table(&mut self, keyspace: &str, name: &str, if_exists: bool) -> Result<Change, Error> {
        let removed = match self.keyspaces.get_mut(keyspace) {
            None if if_exists => None,
            _ => self.keyspace_mut(keyspace)?.tables.remove(name),
        };
        match removed {
            Some(_) => Ok(Change::of(ChangeKind::Dropped, keyspace, name)),
            None if if_exists => Ok(Change::of(ChangeKind::Nothing, keyspace, name)),
            None => Err(invalid(format!("table {keyspace}.{name} does not exist"))),
        }
    }

    fn keyspace_mut(&mut self, name: &str) -> Result<&mut Keyspace, Error> {
        self.keyspaces.get_mut(name).ok_or_else(|| invalid(format!("keyspace {name} does not exist")))
    }
}

fn invalid(message: String) -> Error {
    Error::invalid(At::NOWHERE, message)
}

fn exists(keyspace: &str, table: &str) -> Error {
    let message = match table {
        "" => format!("keyspace {keyspace} exists already"),
        table => format!("table {keyspace}.{table} exists already"),
    };
    let class = Class::AlreadyExists { keyspace: keyspace.to_owned(), table: table.to_owned() };
    Error::new(class, At::NOWHERE, message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    fn run(schema: &Schema, text: &str) -> Result<(Schema, Change), Error> {
        apply_ddl(schema, &testing::ddl(schema, text))
    }

    #[test]
    fn a_table_made_again_has_another_number() {
        let schema = testing::schema();
        let before = schema.table("bank", "accounts").unwrap().id;
        let (schema, _) = run(&schema, "DROP TABLE accounts").unwrap();
        let (schema, change) = run(&schema, "CREATE TABLE accounts (id int PRIMARY KEY)").unwrap();
        assert!(schema.table("bank", "accounts").unwrap().id > before);
        assert_eq!(change, Change::of(ChangeKind::Created, "bank", "accounts"));
    }

    #[test]
    fn an_if_clause_that_is_not_met_changes_nothing() {
        let schema = testing::schema();
        for text in [
            "CREATE TABLE IF NOT EXISTS accounts (x int PRIMARY KEY)",
            "DROP TABLE IF EXISTS none.such",
            "DROP KEYSPACE IF EXISTS nope",
        ] {
            let (next, change) = run(&schema, text).unwrap();
            assert_eq!((change.kind, &next), (ChangeKind::Nothing, &schema), "{text}");
        }
    }

    #[test]
    fn what_exists_and_what_does_not_is_told() {
        let schema = testing::schema();
        let class = |text| run(&schema, text).unwrap_err().class;
        let table = Class::AlreadyExists { keyspace: "bank".into(), table: "accounts".into() };
        assert_eq!(class("CREATE TABLE accounts (x int PRIMARY KEY)"), table);
        assert_eq!(class("DROP TABLE nope"), Class::Invalid);
        assert_eq!(class("DROP KEYSPACE nope"), Class::Invalid);
        let options = "WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 9}";
        assert_eq!(class(&format!("CREATE KEYSPACE big {options}")), Class::Config);
    }

    #[test]
    fn a_statement_survives_its_body() {
        let ddl = testing::ddl(&testing::schema(), testing::ACCOUNTS);
        let blob = ddl.encode();
        assert_eq!(Ddl::decode(&blob.bytes), Some(ddl));
        assert_eq!(Ddl::decode(&blob.bytes[1..]), None);
    }
}
