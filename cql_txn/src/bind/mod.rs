//! Names and types: a parsed statement and a schema become a prepared one. *Source*: [CQL 1.4, 1.5, 1.8].

mod ddl;
mod json;
mod literal;
mod mutation;
mod names;
mod prepared;
mod select;
mod single;
mod transaction;
mod types;

pub use prepared::{Action, Bound, ColumnSpec, Prepared, TableAccess};

use crate::ast::{Marker, Statement, StatementKind, Term};
use crate::error::Error;
use crate::plan::{PlanColumn, PlanTable};
use crate::schema::{Column, ColumnKind, Keyspace, Schema, Table};
use crate::template::{TableUse, Template};
use std::borrow::Cow;

/// Gives meaning to `statement` under `schema`; unqualified tables are those of `keyspace`.
///
/// *Errors*: everything of [CQL 1.8] that can be told before values are bound, in the order given there.
pub fn prepare(statement: &Statement, schema: &Schema, keyspace: Option<&str>) -> Result<Prepared, Error> {
    if let Some(action) = ddl::action(&statement.kind, schema, keyspace)? {
        return match statement.markers.first() {
            Some(marker) => Err(Error::syntax(marker.at, "a statement on the schema takes no bind markers")),
            None => Ok(Prepared::without_template(action, schema.version)),
        };
    }
    let mut binder = Binder::new(schema, keyspace, &statement.markers);
    let result = match &statement.kind {
        StatementKind::Select(select) => Some(binder.returning_select(select)?),
        StatementKind::Mutation(mutation) => binder.single(std::slice::from_ref(mutation))?,
        StatementKind::Batch(batch) => binder.batch(batch)?,
        StatementKind::Transaction(transaction) => binder.transaction(transaction)?,
        _ => return Err(Error::server("a statement on the schema was not recognised as one")),
    };
    Ok(binder.finish(result))
}

/// A table that the statement names, and those of its columns that it uses: the key first.
struct UsedTable<'a> {
    keyspace: &'a Keyspace,
    table: &'a Table,
    columns: Vec<&'a Column>,
    is_read: bool,
    is_written: bool,
}

/// A LET: its name, its read, and the columns that it has selected.
struct UsedLet<'a> {
    name: &'a str,
    read: usize,
    table: usize,
    /// `None` is all of them.
    columns: Option<Vec<usize>>,
}

/// A statement on its way from names to numbers.
struct Binder<'a> {
    schema: &'a Schema,
    keyspace: Option<&'a str>,
    markers: &'a [Marker],
    variables: Vec<Option<ColumnSpec>>,
    tables: Vec<UsedTable<'a>>,
    lets: Vec<UsedLet<'a>>,
    template: Template,
    warnings: Vec<String>,
    in_transaction: bool,
    /// A statement with IF of its own, or a batch with one.
    is_conditional: bool,
    /// The read and columns that a statement with IF shows if it was not applied.
    shown_if_not_applied: Option<(usize, Vec<usize>)>,
    /// USING TIMESTAMP of a batch.
    batch_time: Option<Term>,
}

impl<'a> Binder<'a> {
    fn new(schema: &'a Schema, keyspace: Option<&'a str>, markers: &'a [Marker]) -> Self {
        Self {
            schema,
            keyspace,
            markers,
            variables: vec![None; markers.len()],
            tables: Vec::new(),
            lets: Vec::new(),
            template: Template::default(),
            warnings: Vec::new(),
            in_transaction: false,
            is_conditional: false,
            shown_if_not_applied: None,
            batch_time: None,
        }
    }

    fn finish(self, result: Option<Vec<ColumnSpec>>) -> Prepared {
        let Self { mut template, tables, variables, schema, warnings, .. } = self;
        let plan_tables: Vec<PlanTable<'_>> = tables.iter().map(UsedTable::plan).collect();
        template.seal(&plan_tables);
        template.tables = tables.iter().map(UsedTable::table_use).collect();
        let accesses = tables.iter().map(UsedTable::access).collect();
        let variables = variables.into_iter().map(Option::unwrap_or_default).collect();
        Prepared::of_template(template, variables, result, accesses, warnings, schema.version)
    }
}

impl<'a> UsedTable<'a> {
    fn new(keyspace: &'a Keyspace, table: &'a Table) -> Self {
        let columns = table.partition_key().iter().chain(table.clustering()).collect();
        Self { keyspace, table, columns, is_read: false, is_written: false }
    }

    /// The place of `column` among the columns used, which it joins if it is new.
    fn index_of(&mut self, column: &'a Column) -> usize {
        self.columns.iter().position(|known| known.id == column.id).unwrap_or_else(|| {
            self.columns.push(column);
            self.columns.len() - 1
        })
    }

    fn is_key(&self, index: usize) -> bool {
        index < self.table.partition_key().len() + self.table.clustering().len()
    }

    fn is_static(&self, index: usize) -> bool {
        self.columns[index].kind == ColumnKind::Static
    }

    fn spec(&self, column: &Column) -> ColumnSpec {
        ColumnSpec {
            keyspace: self.keyspace.name.clone(),
            table: self.table.name.clone(),
            name: column.name.clone(),
            ty: column.ty.clone(),
        }
    }

    fn plan(&self) -> PlanTable<'a> {
        let column = |column: &&'a Column| PlanColumn {
            id: column.id,
            ty: column.ty.clone(),
            descending: column.descending,
            is_static: column.kind == ColumnKind::Static,
            name: Cow::Borrowed(&*column.name),
        };
        PlanTable {
            id: self.table.id,
            name: Cow::Owned(format!("{}.{}", self.keyspace.name, self.table.name)),
            partition_count: self.table.partition_key().len(),
            clustering_count: self.table.clustering().len(),
            columns: self.columns.iter().map(column).collect(),
        }
    }

    fn table_use(&self) -> TableUse {
        TableUse {
            id: self.table.id,
            group: self.keyspace.replication.factor,
            keyspace: self.keyspace.name.clone(),
            name: self.table.name.clone(),
            statics: (0..self.columns.len()).filter(|column| self.is_static(*column)).collect(),
        }
    }

    fn access(&self) -> TableAccess {
        TableAccess {
            keyspace: self.keyspace.name.clone(),
            table: self.table.name.clone(),
            is_read: self.is_read,
            is_written: self.is_written,
        }
    }
}
