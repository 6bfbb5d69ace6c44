//! Statements of their own and batches: INSERT, UPDATE and DELETE, perhaps with IF. *Source*: [CQL 1.9].

use super::names::Restricted;
use super::{Binder, ColumnSpec};
use crate::ast::{Batch, Comparison, Mutation, RowCondition, RowConditionKind, Using};
use crate::error::Error;
use crate::plan::Columns;
use crate::template::{
    ConditionUse, PartUse, ReadUse, ReferenceUse, ReturningUse, RowsUse, Source, TestUse, compared_with_null,
};
use crate::value::Type;

impl Binder<'_> {
    /// The result's columns, or `None`.
    pub(super) fn batch(&mut self, of: &Batch) -> Result<Option<Vec<ColumnSpec>>, Error> {
        self.template.is_batch = true;
        let Using { timestamp, ttl } = &of.using;
        if let Some(ttl) = ttl {
            return Err(Error::invalid(ttl.at, "a batch takes no TTL"));
        }
        if let Some(timestamp) = timestamp {
            self.batch_time = Some(timestamp.clone());
        }
        if of.mutations.is_empty() {
            return Err(Error::invalid(of.at, "the batch is empty"));
        }
        self.single(&of.mutations)
    }

    /// One mutation, or those of a batch.
    pub(super) fn single(&mut self, mutations: &[Mutation]) -> Result<Option<Vec<ColumnSpec>>, Error> {
        self.is_conditional = mutations.iter().any(|mutation| condition_of(mutation).is_some());
        mutations.iter().try_for_each(|mutation| self.mutation(mutation))?;
        if !self.is_conditional {
            return Ok(None);
        }
        let mut sources = self.template.partitions.iter().map(|of| of.parts.iter().map(|part| &part.sources));
        let is_one = sources.next().is_none_or(|first| sources.all(|other| other.eq(first.clone())));
        if self.tables.len() != 1 || !is_one {
            let at = mutations.iter().find_map(condition_of).map_or_else(Default::default, |condition| condition.at);
            return Err(Error::invalid(at, "a batch with IF stays within one partition of one table"));
        }
        let mut specs = vec![self.applied_spec()];
        let (read, columns) = match &self.shown_if_not_applied {
            Some((read, columns)) if mutations.len() == 1 => (Some(*read), columns.clone()),
            _ => (None, Vec::new()),
        };
        specs.extend(columns.iter().map(|column| self.tables[0].spec(self.column_at(0, *column))));
        let columns: Vec<u16> = columns.iter().map(|column| *column as u16).collect();
        self.template.returning = ReturningUse::Applied { read, columns: Columns::of(&columns) };
        Ok(Some(specs))
    }

    fn applied_spec(&self) -> ColumnSpec {
        let key = self.tables[0].spec(self.column_at(0, 0));
        ColumnSpec { name: "[applied]".to_owned(), ty: Type::Boolean, ..key }
    }

    /// The IF of a statement: a read of its row, and conditions on it.
    pub(super) fn row_condition(
        &mut self,
        table: usize,
        restricted: &Restricted,
        condition: &RowCondition,
    ) -> Result<(), Error> {
        let needs_row = match &condition.kind {
            RowConditionKind::Columns(tests) => {
                let mut needs_row = false;
                for (name, _, _) in tests {
                    let column = self.column(table, name)?;
                    if self.tables[table].is_key(column) {
                        let message =
                            format!("column {} is part of the primary key; IF tests other columns", name.text);
                        return Err(Error::invalid(name.at, message));
                    }
                    needs_row |= !self.tables[table].is_static(column);
                }
                needs_row
            }
            _ => true,
        };
        let has_rows = restricted.is_one_row || (!needs_row && restricted.is_one_partition && restricted.is_bare());
        if !has_rows {
            let message = "a statement with IF needs '=' on every column of the primary key";
            return Err(Error::invalid(condition.at, message));
        }
        self.tables[table].is_read = true;
        let read = self.template.reads.len();
        let (shown, tests) = self.row_tests(table, read, condition)?;
        let rows = if needs_row { restricted.rows.clone() } else { RowsUse::default() };
        let limit = None;
        let columns = self.fetched(table, &shown);
        let partition = restricted.partition;
        let reading = ReadUse { partition, rows, by_row: false, limit, backwards: false, columns };
        self.template.reads.push(reading);
        self.template.conditions.extend(tests);
        let shows = !matches!(condition.kind, RowConditionKind::Exists);
        self.shown_if_not_applied = Some((read, if shows { shown } else { Vec::new() }));
        Ok(())
    }

    /// The columns that are read, and what is asked of them.
    fn row_tests(
        &mut self,
        table: usize,
        read: usize,
        condition: &RowCondition,
    ) -> Result<(Vec<usize>, Vec<ConditionUse>), Error> {
        let at = condition.at;
        let of = |column, at| ReferenceUse { read, column, part: PartUse::Whole, at };
        let tests = match &condition.kind {
            RowConditionKind::Exists => {
                return Ok((vec![], vec![ConditionUse { column: of(None, at), test: TestUse::NotNull, at }]));
            }
            RowConditionKind::NotExists => {
                let used = &mut self.tables[table];
                let columns = used.table.columns.iter().map(|column| used.index_of(column)).collect();
                return Ok((columns, vec![ConditionUse { column: of(None, at), test: TestUse::Null, at }]));
            }
            RowConditionKind::Columns(tests) => tests,
        };
        let (mut shown, mut conditions) = (Vec::new(), Vec::new());
        for (name, comparison, term) in tests {
            let column = self.column(table, name)?;
            if !shown.contains(&column) {
                shown.push(column);
            }
            let test = match (self.source(table, column, term)?, *comparison) {
                (Source::Null, Comparison::Eq) => TestUse::Null,
                (Source::Null, Comparison::Ne) => TestUse::NotNull,
                (Source::Null, _) => return Err(compared_with_null(term.at)),
                (source, comparison) => TestUse::CompareOrNull(comparison, source),
            };
            conditions.push(ConditionUse { column: of(Some(column), term.at), test, at: term.at });
        }
        Ok((shown, conditions))
    }
}

fn condition_of(mutation: &Mutation) -> Option<&RowCondition> {
    match mutation {
        Mutation::Insert(insert) => insert.condition.as_ref(),
        Mutation::Update(update) => update.condition.as_ref(),
        Mutation::Delete(delete) => delete.condition.as_ref(),
    }
}
