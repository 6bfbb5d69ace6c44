//! Reads: the SELECT of a statement, of a LET, and references to what was read.

use super::{Binder, ColumnSpec, UsedLet};
use crate::ast::{Let, Name, Reference, Select, Selection, Term};
use crate::error::Error;
use crate::plan::{ColumnRef, Columns};
use crate::template::{LimitUse, ReadUse, ReturningUse, Source};
use crate::value::Type;

impl<'a> Binder<'a> {
    /// A SELECT that answers with rows; their columns.
    pub(super) fn returning_select(&mut self, select: &Select) -> Result<Vec<ColumnSpec>, Error> {
        let table = self.table(&select.table)?;
        self.tables[table].is_read = true;
        let (columns, specs) = self.selected(table, &select.selection)?;
        let read = self.read(table, select, &columns, false)?;
        let columns: Vec<u16> = columns.iter().map(|column| *column as u16).collect();
        self.template.returning = ReturningUse::Rows { read, columns: Columns::of(&columns) };
        Ok(specs)
    }

    /// The columns of a selection: their places, and how they show in a result.
    fn selected(&mut self, table: usize, selection: &Selection) -> Result<(Vec<usize>, Vec<ColumnSpec>), Error> {
        let (mut columns, mut specs) = (Vec::new(), Vec::new());
        match selection {
            Selection::All => {
                let used = &mut self.tables[table];
                for column in &used.table.columns {
                    columns.push(used.index_of(column));
                    specs.push(used.spec(column));
                }
            }
            Selection::Columns(selectors) => {
                for selector in selectors {
                    let column = self.column(table, &selector.column)?;
                    let mut spec = self.tables[table].spec(self.column_at(table, column));
                    if let Some(alias) = &selector.alias {
                        spec.name = alias.text.clone();
                    }
                    columns.push(column);
                    specs.push(spec);
                }
            }
        }
        Ok((columns, specs))
    }

    /// Adds a read of `columns`; its index.
    fn read(&mut self, table: usize, select: &Select, columns: &[usize], is_let: bool) -> Result<usize, Error> {
        let restricted = self.restrict(table, &select.relations, select.at)?;
        let must_be_one = is_let && !restricted.is_one_row;
        if must_be_one && select.limit.is_none() {
            let message = "LET reads one row: restrict every primary key column by '=' or say LIMIT 1";
            return Err(Error::invalid(select.at, message));
        }
        let limit = match &select.limit {
            Some(term) => Some(self.limit(term, must_be_one)?),
            None => None,
        };
        self.template.reads.push(ReadUse {
            partition: restricted.partition,
            prefix: restricted.clustering,
            limit,
            columns: self.fetched(table, columns),
        });
        Ok(self.template.reads.len() - 1)
    }

    /// Those of `columns` that are not part of the key, each once.
    pub(super) fn fetched(&self, table: usize, columns: &[usize]) -> Columns<'static> {
        let mut fetched: Vec<u16> =
            columns.iter().filter(|column| !self.tables[table].is_key(**column)).map(|column| *column as u16).collect();
        fetched.sort_unstable();
        fetched.dedup();
        Columns::of(&fetched)
    }

    fn limit(&mut self, term: &Term, must_be_one: bool) -> Result<LimitUse, Error> {
        let spec =
            ColumnSpec { name: "[limit]".to_owned(), ty: Type::Int, ..self.tables[0].spec(self.column_at(0, 0)) };
        let source = self.source_of(spec, term)?;
        let limit = LimitUse { source, must_be_one, at: term.at };
        if !matches!(limit.source, Source::Marker { .. }) {
            limit.check()?;
        }
        Ok(limit)
    }

    pub(super) fn let_clause(&mut self, of: &'a Let) -> Result<(), Error> {
        if self.lets.iter().any(|known| known.name == of.name.text) {
            return Err(Error::invalid(of.name.at, format!("LET {} is given twice", of.name.text)));
        }
        let table = self.table(&of.select.table)?;
        self.tables[table].is_read = true;
        let (columns, _) = self.selected(table, &of.select.selection)?;
        let read = self.read(table, &of.select, &columns, true)?;
        let columns = match of.select.selection {
            Selection::All => None,
            Selection::Columns(_) => Some(columns),
        };
        self.lets.push(UsedLet { name: &of.name.text, read, table, columns });
        Ok(())
    }

    /// Resolves a reference to its LET; the table too.
    pub(super) fn reference(&mut self, reference: &Reference) -> Result<(ColumnRef, usize), Error> {
        let name = &reference.name;
        let Some(at) = self.lets.iter().position(|known| known.name == name.text) else {
            return Err(Error::invalid(name.at, format!("unknown reference {}; no LET has this name", name.text)));
        };
        let UsedLet { read, table, .. } = self.lets[at];
        let Some(column_name) = &reference.column else { return Ok((ColumnRef { read, column: None }, table)) };
        let column = self.column(table, column_name)?;
        if self.lets[at].columns.as_ref().is_some_and(|selected| !selected.contains(&column)) {
            let message = format!("column {} is not among those that LET {} selects", column_name.text, name.text);
            return Err(Error::invalid(column_name.at, message));
        }
        Ok((ColumnRef { read, column: Some(column) }, table))
    }

    /// Resolves a reference that must name a column; what it is and of what type.
    pub(super) fn column_reference(
        &mut self,
        reference: &Reference,
        role: &str,
    ) -> Result<(ColumnRef, ColumnSpec), Error> {
        let (at, table) = self.reference(reference)?;
        let (Some(column), Some(name)) = (at.column, &reference.column) else {
            let Name { text, at } = &reference.name;
            return Err(Error::invalid(*at, format!("{role} needs a column: write {text}.column, not the row {text}")));
        };
        let mut spec = self.tables[table].spec(self.column_at(table, column));
        spec.name = format!("{}.{}", reference.name.text, name.text);
        Ok((at, spec))
    }

    pub(super) fn returning_references(&mut self, references: &[Reference]) -> Result<Vec<ColumnSpec>, Error> {
        let (mut columns, mut specs) = (Vec::new(), Vec::new());
        for reference in references {
            let (at, spec) = self.column_reference(reference, "SELECT")?;
            columns.push(at);
            specs.push(spec);
        }
        self.template.returning = ReturningUse::References(columns);
        Ok(specs)
    }
}
