//! Tables, columns, terms and WHERE clauses.

use super::{Binder, ColumnSpec, UsedTable};
use crate::ast::{Comparison, Name, Relation, RelationTest, TableName, Term, TermKind};
use crate::error::{At, Error};
use crate::schema::{Column, TransactionalMode};
use crate::template::{KeyPart, PartitionUse, Source};
use crate::value::Type;

/// What a WHERE clause selects.
pub(super) struct Restricted {
    /// Index of the partition use.
    pub(super) partition: usize,
    /// The clustering columns given, from the first.
    pub(super) clustering: Vec<KeyPart>,
    /// Whether that is all of them.
    pub(super) is_one_row: bool,
}

impl<'a> Binder<'a> {
    /// The index of the table called `name` among those used.
    pub(super) fn table(&mut self, name: &TableName) -> Result<usize, Error> {
        let keyspace_name = match (&name.keyspace, self.keyspace) {
            (Some(keyspace), _) => &*keyspace.text,
            (None, Some(keyspace)) => keyspace,
            (None, None) => {
                let message = format!("no keyspace is in use; write keyspace.{} or USE one first", name.name.text);
                return Err(Error::invalid(name.name.at, message));
            }
        };
        let keyspace_at = name.keyspace.as_ref().map_or(name.name.at, |keyspace| keyspace.at);
        let keyspace = self.schema.keyspaces.get(keyspace_name);
        let keyspace =
            keyspace.ok_or_else(|| Error::invalid(keyspace_at, format!("unknown keyspace {keyspace_name}")))?;
        let table = keyspace.tables.get(&name.name.text).ok_or_else(|| {
            Error::invalid(name.name.at, format!("unknown table {} in keyspace {keyspace_name}", name.name.text))
        })?;
        if table.transactional_mode == TransactionalMode::Off {
            let table = format!("{keyspace_name}.{}", table.name);
            let message = if self.in_transaction {
                format!("table {table} has transactional_mode = 'off' and cannot take part in a transaction")
            } else {
                format!(
                    "table {table} has transactional_mode = 'off', which is not served yet; \
                         create it WITH transactional_mode = 'full'"
                )
            };
            return Err(Error::invalid(name.name.at, message));
        }
        let known = self.tables.iter().position(|used| used.table.id == table.id);
        Ok(known.unwrap_or_else(|| {
            self.tables.push(UsedTable::new(keyspace, table));
            self.tables.len() - 1
        }))
    }

    /// The index of the column called `name` among those used of `table`.
    pub(super) fn column(&mut self, table: usize, name: &Name) -> Result<usize, Error> {
        let used = &mut self.tables[table];
        match used.table.column(&name.text) {
            Some(column) => Ok(used.index_of(column)),
            None => {
                let place = format!("{}.{}", used.keyspace.name, used.table.name);
                Err(Error::invalid(name.at, format!("unknown column {} in table {place}", name.text)))
            }
        }
    }

    pub(super) fn column_at(&self, table: usize, index: usize) -> &'a Column {
        self.tables[table].columns[index]
    }

    /// The source of a value for `column` of `table`.
    pub(super) fn source(&mut self, table: usize, column: usize, term: &Term) -> Result<Source, Error> {
        let column = self.column_at(table, column);
        let spec = self.tables[table].spec(column);
        self.source_of(spec, term)
    }

    /// The source of a value for a variable of the form `spec`.
    pub(super) fn source_of(&mut self, mut spec: ColumnSpec, term: &Term) -> Result<Source, Error> {
        match &term.kind {
            TermKind::Marker(index) => {
                let (ty, place) = (spec.ty, usize::from(*index));
                if let Some(name) = self.markers.get(place).and_then(|marker| marker.name.clone()) {
                    spec.name = name;
                }
                if let Some(variable) = self.variables.get_mut(place) {
                    *variable = Some(spec);
                }
                Ok(Source::Marker { index: *index, ty })
            }
            TermKind::Null => Ok(Source::Null),
            constant => literal(spec.ty, constant)
                .map(Source::Bytes)
                .map_err(|why| Error::invalid(term.at, format!("column {}: {why}", spec.name))),
        }
    }

    fn key_part(&mut self, table: usize, column: usize, term: &Term) -> Result<KeyPart, Error> {
        let source = self.source(table, column, term)?;
        let column = self.column_at(table, column);
        if source == Source::Null {
            return Err(Error::invalid(term.at, format!("key column {} may not be null", column.name)));
        }
        let (ty, descending, name) = (column.ty, column.descending, column.name.clone());
        Ok(KeyPart { source, ty, descending, name, at: term.at })
    }

    /// The rows that `relations` select: a whole partition key, and clustering columns from the first on.
    pub(super) fn restrict(&mut self, table: usize, relations: &[Relation], at: At) -> Result<Restricted, Error> {
        let mut terms = Vec::with_capacity(relations.len());
        for relation in relations {
            let column = self.column(table, &relation.column)?;
            let name = &relation.column;
            if !self.tables[table].is_key(column) {
                let message =
                    format!("column {} is not part of the primary key; rows are found by their key", name.text);
                return Err(Error::invalid(name.at, message));
            }
            let RelationTest::Compare(Comparison::Eq, term) = &relation.test else {
                return Err(Error::invalid(name.at, "only '=' is supported yet in WHERE"));
            };
            if terms.iter().any(|(known, _)| *known == column) {
                return Err(Error::invalid(name.at, format!("column {} is restricted twice", name.text)));
            }
            terms.push((column, term));
        }
        self.restricted(table, &terms, at)
    }

    /// The same of key columns and their terms.
    pub(super) fn restricted(&mut self, table: usize, terms: &[(usize, &Term)], at: At) -> Result<Restricted, Error> {
        let partition_count = self.tables[table].table.partition_key().len();
        let clustering_count = self.tables[table].table.clustering().len();
        let term_of = |column: usize| terms.iter().find(|(known, _)| *known == column).map(|(_, term)| *term);
        let mut parts = Vec::with_capacity(partition_count);
        for column in 0..partition_count {
            let Some(term) = term_of(column) else {
                let name = &self.column_at(table, column).name;
                let message = format!("column {name} of the partition key is not given; restrict it by '='");
                return Err(Error::invalid(at, message));
            };
            parts.push(self.key_part(table, column, term)?);
        }
        let mut clustering = Vec::with_capacity(clustering_count);
        for column in partition_count..partition_count + clustering_count {
            match term_of(column) {
                Some(term) if partition_count + clustering.len() == column => {
                    clustering.push(self.key_part(table, column, term)?);
                }
                Some(term) => {
                    let name = &self.column_at(table, column).name;
                    let message = format!("clustering column {name} is given, but not the one before it");
                    return Err(Error::invalid(term.at, message));
                }
                None => {}
            }
        }
        self.template.partitions.push(PartitionUse { table, parts });
        let is_one_row = clustering.len() == clustering_count;
        Ok(Restricted { partition: self.template.partitions.len() - 1, clustering, is_one_row })
    }
}

/// The bytes of a constant as a value of type `ty`; the error says why it is none.
fn literal(ty: Type, constant: &TermKind) -> Result<Vec<u8>, String> {
    let name = ty.cql_name();
    match (ty, constant) {
        (Type::BigInt, TermKind::Integer(digits)) => {
            let value: Result<i64, _> = digits.parse();
            value.map(|value| value.to_be_bytes().to_vec()).map_err(|_| format!("{digits} does not fit type {name}"))
        }
        (Type::Int, TermKind::Integer(digits)) => {
            let value: Result<i32, _> = digits.parse();
            value.map(|value| value.to_be_bytes().to_vec()).map_err(|_| format!("{digits} does not fit type {name}"))
        }
        (Type::Text, TermKind::Text(text)) => Ok(text.clone().into_bytes()),
        (Type::Boolean, TermKind::Boolean(value)) => Ok(vec![u8::from(*value)]),
        (_, constant) => {
            let found = match constant {
                TermKind::Integer(_) => "a number",
                TermKind::Text(_) => "a string",
                TermKind::Boolean(_) => "a boolean",
                TermKind::Null | TermKind::Marker(_) => "no constant",
            };
            Err(format!("a value of type {name} expected, found {found}"))
        }
    }
}
