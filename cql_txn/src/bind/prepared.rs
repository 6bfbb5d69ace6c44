//! A prepared statement and its bindings.

use crate::ddl::Ddl;
use crate::error::{At, Error};
use crate::schema::{Schema, schema_key};
use crate::template::{Source, Template, Value};
use crate::value::Type;
use protocol::{Blob, Key, TxnKind};

/// A column of a result or a bind variable.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ColumnSpec {
    /// Its keyspace.
    pub keyspace: String,
    /// Its table.
    pub table: String,
    /// Its name in the result; of a variable the name of the marker or of the column it is for.
    pub name: String,
    /// Its type.
    pub ty: Type,
}

impl Default for ColumnSpec {
    fn default() -> Self {
        Self { keyspace: String::new(), table: String::new(), name: String::new(), ty: Type::Int }
    }
}

/// What a prepared statement does.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Action {
    /// Changes the keyspace of the connection; it exists. Runs no transaction.
    Use(String),
    /// Changes the schema, by a transaction on the schema's key.
    Ddl(Ddl),
    /// Reads or writes rows.
    Txn,
}

/// A table that a statement touches, for permissions.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TableAccess {
    /// Its keyspace.
    pub keyspace: String,
    /// Its name.
    pub table: String,
    /// SELECT is needed.
    pub is_read: bool,
    /// MODIFY is needed.
    pub is_written: bool,
}

/// A statement whose names have been resolved; bind it as often as needed.
#[derive(Clone, PartialEq, Debug)]
pub struct Prepared {
    action: Action,
    variables: Vec<ColumnSpec>,
    result: Option<Vec<ColumnSpec>>,
    key_markers: Vec<u16>,
    accesses: Vec<TableAccess>,
    warnings: Vec<String>,
    schema_version: u64,
    template: Template,
}

/// A transaction ready to be run.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Bound {
    /// Read or Write.
    pub kind: TxnKind,
    /// Its keys, sorted, each once, at least one.
    pub keys: Vec<Key>,
    /// Its body.
    pub body: Blob,
    /// Whether it may be run as an ephemeral read instead: it only reads, and one key only.
    pub ephemeral_candidate: bool,
    /// What the client should know beside the result.
    pub warnings: Vec<String>,
}

impl Prepared {
    pub(super) fn without_template(action: Action, schema_version: u64) -> Self {
        Self { action, schema_version, ..Self::of_template(Template::default(), vec![], None, vec![], vec![], 0) }
    }

    pub(super) fn of_template(
        template: Template,
        variables: Vec<ColumnSpec>,
        result: Option<Vec<ColumnSpec>>,
        accesses: Vec<TableAccess>,
        warnings: Vec<String>,
        schema_version: u64,
    ) -> Self {
        let key_markers = template.partitions.iter().find_map(|partition| {
            let marker = |sources: &[Source]| match sources {
                [Source::Marker { index, .. }] => Some(*index),
                _ => None,
            };
            partition.parts.iter().map(|part| marker(&part.sources)).collect::<Option<Vec<u16>>>()
        });
        let key_markers = key_markers.unwrap_or_default();
        Self { action: Action::Txn, variables, result, key_markers, accesses, warnings, schema_version, template }
    }

    /// What it does.
    pub fn action(&self) -> &Action {
        &self.action
    }

    /// The bind variables in text order.
    pub fn variables(&self) -> &[ColumnSpec] {
        &self.variables
    }

    /// Which variables make up a partition key, in the order of the key; empty if none is bound as a whole.
    ///
    /// A hint for routing, nothing more.
    pub fn partition_key_markers(&self) -> &[u16] {
        &self.key_markers
    }

    /// The columns of its rows; `None` if it answers with none.
    pub fn result_columns(&self) -> Option<&[ColumnSpec]> {
        self.result.as_deref()
    }

    /// The tables it touches.
    pub fn accesses(&self) -> &[TableAccess] {
        &self.accesses
    }

    /// The version of the schema under which it was prepared.
    pub fn schema_version(&self) -> u64 {
        self.schema_version
    }

    /// Fills in `values`, one for each variable.
    ///
    /// *Shape*: the same values under the same schema give the same bytes.
    /// *Errors*: wrong number or form of values, null where none may be, two statements that assign one cell, a table that has
    /// gone since the statement was prepared.
    pub fn bind(&self, values: &[Value<'_>], schema: &Schema) -> Result<Bound, Error> {
        if values.len() != self.variables.len() {
            let (wanted, got) = (self.variables.len(), values.len());
            return Err(Error::invalid(
                At::NOWHERE,
                format!("the statement has {wanted} bind markers, but {got} values came"),
            ));
        }
        let (keys, body, kind) = match &self.action {
            Action::Use(_) => return Err(Error::server("USE runs no transaction; set the keyspace of the connection")),
            Action::Ddl(ddl) => (vec![schema_key(schema.largest_group)], ddl.encode(), TxnKind::Write),
            Action::Txn => {
                self.tables_are_still_there(schema)?;
                let (keys, body) = self.template.fill(values)?;
                let body = Blob { kind: crate::BLOB_PLAN, version: crate::BLOB_VERSION, bytes: body.into() };
                (keys, body, if self.template.is_read_only() { TxnKind::Read } else { TxnKind::Write })
            }
        };
        let ephemeral_candidate = kind == TxnKind::Read && keys.len() == 1;
        Ok(Bound { kind, keys, body, ephemeral_candidate, warnings: self.warnings.clone() })
    }

    fn tables_are_still_there(&self, schema: &Schema) -> Result<(), Error> {
        if schema.version == self.schema_version {
            return Ok(());
        }
        for used in &self.template.tables {
            let keyspace = schema.keyspaces.get(&used.keyspace);
            let is_same_group = keyspace.is_some_and(|keyspace| keyspace.replication.factor == used.group);
            let is_same_table = schema.table(&used.keyspace, &used.name).is_some_and(|table| table.id == used.id);
            if !is_same_group || !is_same_table {
                let message =
                    format!("table {}.{} has been dropped; prepare the statement again", used.keyspace, used.name);
                return Err(Error::invalid(At::NOWHERE, message));
            }
        }
        Ok(())
    }
}
