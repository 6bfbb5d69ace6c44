//! Tables, columns, terms and WHERE clauses.

use super::{Binder, UsedTable};
use crate::ast::{Comparison, Name, Relation, RelationTest, TableName, Term};
use crate::error::{At, Error};
use crate::schema::{Column, TransactionalMode};
use crate::template::{KeyPart, PartitionUse, RowsUse, Source};

/// What a WHERE clause selects.
pub(super) struct Restricted {
    /// Index of the partition use.
    pub(super) partition: usize,
    /// The rows within it.
    pub(super) rows: RowsUse,
    /// Whether every clustering column is given by `=` or IN.
    pub(super) is_every_row: bool,
    /// Whether it is one row at most.
    pub(super) is_one_row: bool,
    /// Whether the partition key is given by `=`.
    pub(super) is_one_partition: bool,
}

impl Restricted {
    /// Whether no clustering column is restricted.
    pub(super) fn is_bare(&self) -> bool {
        self.rows.prefix.is_empty() && self.rows.bounds.is_empty()
    }
}

/// A key column and the values given for it.
pub(super) type Given<'t> = (usize, Vec<&'t Term>);

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

    fn key_part(&mut self, table: usize, column: usize, terms: &[&Term]) -> Result<KeyPart, Error> {
        let mut sources = Vec::with_capacity(terms.len());
        for term in terms {
            let source = self.source(table, column, term)?;
            if source == Source::Null {
                let name = &self.column_at(table, column).name;
                return Err(Error::invalid(term.at, format!("key column {name} may not be null")));
            }
            sources.push(source);
        }
        let column = self.column_at(table, column);
        let at = terms.first().map_or(At::NOWHERE, |term| term.at);
        Ok(KeyPart { sources, ty: column.ty.clone(), descending: column.descending, name: column.name.clone(), at })
    }

    /// The rows that `relations` select: a whole partition key, clustering columns from the first on, and bounds of the next.
    pub(super) fn restrict(&mut self, table: usize, relations: &[Relation], at: At) -> Result<Restricted, Error> {
        let (mut given, mut bounds): (Vec<Given<'_>>, Vec<(usize, Comparison, &Term)>) = (Vec::new(), Vec::new());
        for relation in relations {
            let column = self.column(table, &relation.column)?;
            let name = &relation.column;
            if relation.test == RelationTest::Token {
                return Err(Error::invalid(
                    name.at,
                    "a range of tokens cannot be read here; restrict the partition key by '='",
                ));
            }
            if !self.tables[table].is_key(column) {
                let message =
                    format!("column {} is not part of the primary key; rows are found by their key", name.text);
                return Err(Error::invalid(name.at, message));
            }
            let terms: Vec<&Term> = match &relation.test {
                RelationTest::Compare(Comparison::Eq, term) => vec![term],
                RelationTest::In(terms) => terms.iter().collect(),
                RelationTest::Compare(Comparison::Ne, _) => {
                    return Err(Error::invalid(name.at, "'!=' does not select rows"));
                }
                RelationTest::Compare(comparison, term) => {
                    bounds.push((column, *comparison, term));
                    continue;
                }
                RelationTest::Token => Vec::new(),
            };
            if given.iter().any(|(known, _)| *known == column) || bounds.iter().any(|(known, ..)| *known == column) {
                return Err(Error::invalid(name.at, format!("column {} is restricted twice", name.text)));
            }
            given.push((column, terms));
        }
        self.restricted(table, &given, &bounds, at)
    }

    /// The same of key columns and their terms.
    pub(super) fn restricted(
        &mut self,
        table: usize,
        given: &[Given<'_>],
        bounds: &[(usize, Comparison, &Term)],
        at: At,
    ) -> Result<Restricted, Error> {
        let partition_count = self.tables[table].table.partition_key().len();
        let clustering_count = self.tables[table].table.clustering().len();
        let terms_of = |column: usize| given.iter().find(|(known, _)| *known == column).map(|(_, terms)| &terms[..]);
        let mut parts = Vec::with_capacity(partition_count);
        for column in 0..partition_count {
            let Some(terms) = terms_of(column) else {
                let name = &self.column_at(table, column).name;
                let message = format!("column {name} of the partition key is not given; restrict it by '='");
                return Err(Error::invalid(at, message));
            };
            parts.push(self.key_part(table, column, terms)?);
        }
        let mut rows = RowsUse::default();
        for column in partition_count..partition_count + clustering_count {
            let bound_terms: Vec<_> = bounds.iter().filter(|(known, ..)| *known == column).collect();
            let is_next = partition_count + rows.prefix.len() == column;
            let term_at = terms_of(column).map(|terms| terms.first().map_or(at, |term| term.at));
            if let Some(at) = term_at.or(bound_terms.first().map(|(_, _, term)| term.at))
                && !is_next
            {
                let name = &self.column_at(table, column).name;
                let message = format!("clustering column {name} is given, but not the one before it");
                return Err(Error::invalid(at, message));
            }
            if let Some(terms) = terms_of(column) {
                let part = self.key_part(table, column, terms)?;
                rows.prefix.push(part);
            }
            for (_, comparison, term) in bound_terms {
                let part = self.key_part(table, column, &[term])?;
                rows.bounds.push((*comparison, part));
            }
        }
        let is_one = |part: &KeyPart| part.sources.len() == 1;
        let is_every_row = rows.prefix.len() == clustering_count;
        let is_one_row = is_every_row && rows.prefix.iter().all(is_one) && parts.iter().all(is_one);
        let is_one_partition = parts.iter().all(is_one);
        if parts.iter().any(|part| part.sources.is_empty()) {
            return Err(Error::invalid(at, "IN on the partition key lists nothing"));
        }
        self.template.partitions.push(PartitionUse { table, parts });
        let partition = self.template.partitions.len() - 1;
        Ok(Restricted { partition, rows, is_every_row, is_one_row, is_one_partition })
    }
}
