//! ALTER TABLE, TRUNCATE and types.

use super::{Change, ChangeKind, exists, invalid};
use crate::error::Error;
use crate::schema::{Column, ColumnKind, Schema, Table, TransactionalMode};
use crate::value::{Type, UserType};
use protocol::TableId;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What ALTER TABLE changes, as far as it can be checked without the table.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub enum TableChange {
    /// ADD
    Add {
        /// A column that exists is left out instead of being an error.
        if_not_exists: bool,
        /// The columns; their numbers are given when the statement runs.
        columns: Vec<Column>,
    },
    /// DROP
    Drop(Vec<String>),
    /// RENAME of key columns: from, to.
    Rename(Vec<(String, String)>),
    /// WITH
    With {
        /// The mode, if it is given.
        mode: Option<TransactionalMode>,
        /// Other options.
        options: BTreeMap<String, String>,
    },
}

/// Most types of a keyspace.
const TYPES_MAX: usize = 1024;

impl Schema {
    pub(super) fn alter_table(
        &mut self,
        keyspace: &str,
        name: &str,
        if_exists: bool,
        change: &TableChange,
    ) -> Result<Change, Error> {
        let tables = &mut self.keyspace_mut(keyspace)?.tables;
        let Some(table) = tables.get_mut(name) else {
            let nothing = Change::of(ChangeKind::Nothing, keyspace, name);
            return if if_exists { Ok(nothing) } else { Err(unknown(keyspace, name)) };
        };
        let mut next = table.clone();
        next.change(change)?;
        if !next.is_sound() {
            return Err(invalid(format!("table {keyspace}.{name} would not be sound after this change")));
        }
        let is_counting = next.columns.iter().any(|column| column.ty == Type::Counter);
        if is_counting && next.transactional_mode == TransactionalMode::Full {
            return Err(invalid(format!(
                "table {keyspace}.{name}: counters and transactional_mode exclude each other"
            )));
        }
        *table = next;
        Ok(Change::of(ChangeKind::Updated, keyspace, name))
    }

    pub(super) fn truncate(&mut self, keyspace: &str, name: &str) -> Result<Change, Error> {
        let id = TableId(self.next_table);
        let table = self.keyspace_mut(keyspace)?.tables.get_mut(name).ok_or_else(|| unknown(keyspace, name))?;
        table.id = id;
        self.next_table += 1;
        Ok(Change::of(ChangeKind::Updated, keyspace, name))
    }

    pub(super) fn create_type(&mut self, if_not_exists: bool, ty: &UserType) -> Result<Change, Error> {
        let types = &mut self.keyspace_mut(&ty.keyspace)?.types;
        if types.contains_key(&ty.name) {
            let nothing = Change::of(ChangeKind::Nothing, &ty.keyspace, "");
            return if if_not_exists { Ok(nothing) } else { Err(exists(&ty.keyspace, &ty.name)) };
        }
        if types.len() >= TYPES_MAX {
            return Err(invalid(format!("keyspace {} has {TYPES_MAX} types already", ty.keyspace)));
        }
        types.insert(ty.name.clone(), ty.clone());
        Ok(Change::of(ChangeKind::Updated, &ty.keyspace, ""))
    }

    pub(super) fn drop_type(&mut self, keyspace: &str, name: &str, if_exists: bool) -> Result<Change, Error> {
        let of = self.keyspace_mut(keyspace)?;
        let user = of.tables.values().find(|table| table.columns.iter().any(|column| uses(&column.ty, name)));
        if let Some(table) = user {
            return Err(invalid(format!("type {name} is used by table {keyspace}.{}", table.name)));
        }
        match of.types.remove(name) {
            Some(_) => Ok(Change::of(ChangeKind::Updated, keyspace, "")),
            None if if_exists => Ok(Change::of(ChangeKind::Nothing, keyspace, "")),
            None => Err(invalid(format!("type {keyspace}.{name} does not exist"))),
        }
    }
}

impl Table {
    fn change(&mut self, change: &TableChange) -> Result<(), Error> {
        match change {
            TableChange::Add { if_not_exists, columns } => {
                columns.iter().try_for_each(|column| self.add(column, *if_not_exists))
            }
            TableChange::Drop(names) => names.iter().try_for_each(|name| self.drop_column(name)),
            TableChange::Rename(names) => names.iter().try_for_each(|(from, to)| self.rename(from, to)),
            TableChange::With { mode, options } => {
                self.transactional_mode = mode.unwrap_or(self.transactional_mode);
                self.options.extend(options.clone());
                Ok(())
            }
        }
    }

    fn add(&mut self, column: &Column, if_not_exists: bool) -> Result<(), Error> {
        if self.column(&column.name).is_some() {
            let message = format!("column {} exists already", column.name);
            return if if_not_exists { Ok(()) } else { Err(invalid(message)) };
        }
        if column.kind == ColumnKind::Static && self.clustering().is_empty() {
            return Err(invalid(format!("column {} cannot be static: there are no clustering columns", column.name)));
        }
        let id = self.next_column;
        self.next_column =
            id.checked_add(1).ok_or_else(|| invalid("the table has used all column numbers".to_owned()))?;
        self.columns.push(Column { id, ..column.clone() });
        let keys = self.partition_key().len() + self.clustering().len();
        self.columns[keys..].sort_by(|left, right| (left.kind, &left.name).cmp(&(right.kind, &right.name)));
        Ok(())
    }

    fn place_of(&self, name: &str) -> Result<usize, Error> {
        let place = self.columns.iter().position(|column| column.name == name);
        place.ok_or_else(|| invalid(format!("column {name} does not exist")))
    }

    fn drop_column(&mut self, name: &str) -> Result<(), Error> {
        let place = self.place_of(name)?;
        if matches!(self.columns[place].kind, ColumnKind::PartitionKey | ColumnKind::Clustering) {
            return Err(invalid(format!("column {name} is part of the primary key and cannot be dropped")));
        }
        self.columns.remove(place);
        Ok(())
    }

    fn rename(&mut self, from: &str, to: &str) -> Result<(), Error> {
        let place = self.place_of(from)?;
        if self.column(to).is_some() {
            return Err(invalid(format!("column {to} exists already")));
        }
        let column = &mut self.columns[place];
        if !matches!(column.kind, ColumnKind::PartitionKey | ColumnKind::Clustering) {
            return Err(invalid(format!("column {from} is not part of the primary key; only those can be renamed")));
        }
        column.name = to.to_owned();
        Ok(())
    }
}

fn uses(ty: &Type, name: &str) -> bool {
    match ty.thawed() {
        Type::List(of) | Type::Set(of) => uses(of, name),
        Type::Map(of) => uses(&of.0, name) || uses(&of.1, name),
        Type::Tuple(of) => of.iter().any(|ty| uses(ty, name)),
        Type::User(of) => of.name == name || of.fields.iter().any(|(_, ty)| uses(ty, name)),
        _ => false,
    }
}

fn unknown(keyspace: &str, table: &str) -> Error {
    invalid(format!("table {keyspace}.{table} does not exist"))
}
