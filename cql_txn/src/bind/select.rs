//! Reads: the SELECT of a statement, of a LET, and references to what was read.

use super::{Binder, ColumnSpec, UsedLet};
use crate::ast::{Function, Let, Name, Reference, Select, Selection, Selector, Term};
use crate::error::{At, Error};
use crate::plan::{Columns, WRITE_TIME};
use crate::template::{ItemUse, LimitUse, PartUse, ReadUse, ReferenceUse, ReturningUse, Source};
use crate::value::{Type, is_number};

impl<'a> Binder<'a> {
    /// A SELECT that answers with rows; their columns.
    pub(super) fn returning_select(&mut self, select: &Select) -> Result<Vec<ColumnSpec>, Error> {
        if self.in_transaction {
            let first = select.clauses.order_by.first().map(|(name, _)| name.at);
            if let Some(at) = first.or(select.clauses.group_by.first().map(|name| name.at)) {
                return Err(Error::invalid(at, "the SELECT of a transaction takes neither ORDER BY nor GROUP BY"));
            }
        }
        if let Some(name) = select.clauses.group_by.first() {
            return Err(Error::invalid(name.at, "GROUP BY is not supported yet"));
        }
        let table = self.table(&select.table)?;
        self.tables[table].is_read = true;
        let (items, specs) = self.selected(table, &select.selection)?;
        let read = self.read(table, select, &items, false)?;
        self.template.returning = ReturningUse::Rows { read, items };
        Ok(specs)
    }

    /// What a selection shows: its items, and how they look in a result.
    fn selected(&mut self, table: usize, selection: &Selection) -> Result<(Vec<ItemUse>, Vec<ColumnSpec>), Error> {
        let (mut items, mut specs) = (Vec::new(), Vec::new());
        match selection {
            Selection::All => {
                let used = &mut self.tables[table];
                for column in &used.table.columns {
                    let column_index = Some(used.index_of(column));
                    items.push(ItemUse { function: None, column: column_index, part: PartUse::Whole, at: At::NOWHERE });
                    specs.push(used.spec(column));
                }
            }
            Selection::Columns(selectors) => {
                for selector in selectors {
                    let (item, mut spec) = self.selected_item(table, selector)?;
                    if let Some(alias) = &selector.alias {
                        spec.name = alias.text.clone();
                    }
                    items.push(item);
                    specs.push(spec);
                }
            }
        }
        Ok((items, specs))
    }

    fn selected_item(&mut self, table: usize, selector: &Selector) -> Result<(ItemUse, ColumnSpec), Error> {
        let at = selector.column.at;
        if let (Some(Function::Count), "*") = (selector.function, &*selector.column.text) {
            self.refuse_aggregate(at)?;
            let key = self.tables[table].spec(self.column_at(table, 0));
            let spec = ColumnSpec { name: "count".to_owned(), ty: Type::BigInt, ..key };
            return Ok((ItemUse { function: selector.function, column: None, part: PartUse::Whole, at }, spec));
        }
        let column = self.column(table, &selector.column)?;
        let spec = self.tables[table].spec(self.column_at(table, column));
        let (part, mut spec) = self.part_of(&spec, selector.part.as_ref())?;
        let Some(function) = selector.function else {
            return Ok((ItemUse { function: None, column: Some(column), part, at }, spec));
        };
        if function == Function::WriteTime {
            if self.tables[table].is_key(column) {
                return Err(Error::invalid(at, format!("column {} of the key has no time of writing", spec.name)));
            }
            let (name, ty) = (format!("writetime({})", spec.name), Type::BigInt);
            spec = ColumnSpec { name, ty, ..spec };
        } else {
            self.refuse_aggregate(at)?;
            if function == Function::Sum && !is_number(&spec.ty) {
                return Err(Error::invalid(
                    at,
                    format!("column {} of type {} has no sum", spec.name, spec.ty.cql_name()),
                ));
            }
            spec.name = match function {
                Function::Count => format!("count({})", spec.name),
                function => format!("system.{}({})", function.name(), spec.name),
            };
            if function == Function::Count {
                spec.ty = Type::BigInt;
            }
        }
        Ok((ItemUse { function: Some(function), column: Some(column), part, at }, spec))
    }

    fn refuse_aggregate(&self, at: At) -> Result<(), Error> {
        match self.in_transaction {
            true => Err(Error::invalid(at, "a transaction selects no aggregates such as count")),
            false => Ok(()),
        }
    }

    /// Adds a read of what `items` need; its index.
    fn read(&mut self, table: usize, select: &Select, items: &[ItemUse], is_let: bool) -> Result<usize, Error> {
        let restricted = self.restrict(table, &select.relations, select.at)?;
        if self.in_transaction && !restricted.is_one_partition && (is_let || select.limit.is_some()) {
            let message = "IN on the partition key goes with neither LET nor LIMIT in a transaction";
            return Err(Error::invalid(select.at, message));
        }
        let must_be_one = is_let && !restricted.is_one_row;
        if must_be_one && select.limit.is_none() {
            let message = "LET reads one row: restrict every primary key column by '=' or say LIMIT 1";
            return Err(Error::invalid(select.at, message));
        }
        let limit = match &select.limit {
            Some(term) => Some(self.limit(term, must_be_one)?),
            None => None,
        };
        let backwards = self.backwards(table, select, restricted.is_one_partition)?;
        let mut wanted: Vec<usize> = Vec::with_capacity(items.len());
        for item in items {
            let time = if item.function == Some(Function::WriteTime) { usize::from(WRITE_TIME) } else { 0 };
            wanted.extend(item.column.map(|column| column | time));
        }
        let limit = limit.filter(|_| items.iter().all(|item| !is_aggregate(item)));
        let (partition, rows) = (restricted.partition, restricted.rows);
        let columns = self.fetched(table, &wanted);
        self.template.reads.push(ReadUse { partition, rows, by_row: false, limit, backwards, columns });
        Ok(self.template.reads.len() - 1)
    }

    /// Whether ORDER BY asks for the rows from last to first.
    fn backwards(&mut self, table: usize, select: &Select, is_one_partition: bool) -> Result<bool, Error> {
        let Some((first, _)) = select.clauses.order_by.first() else { return Ok(false) };
        if !is_one_partition {
            return Err(Error::invalid(first.at, "ORDER BY needs one partition: restrict its key by '='"));
        }
        let clustering = self.tables[table].table.clustering();
        let mut turned = Vec::new();
        for (place, (name, descends)) in select.clauses.order_by.iter().enumerate() {
            match clustering.get(place).filter(|column| column.name == name.text) {
                Some(column) => turned.push(column.descending != *descends),
                None => {
                    let message = "ORDER BY names clustering columns in the order of the primary key";
                    return Err(Error::invalid(name.at, message));
                }
            }
        }
        if turned.iter().any(|turn| *turn != turned[0]) {
            let message = "ORDER BY follows the order of the table, or turns all of it round";
            return Err(Error::invalid(first.at, message));
        }
        Ok(turned[0])
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
        let (items, _) = self.selected(table, &of.select.selection)?;
        let read = self.read(table, &of.select, &items, true)?;
        let columns = match of.select.selection {
            Selection::All => None,
            Selection::Columns(_) => {
                let plain = items.iter().filter(|item| item.function.is_none() && item.part == PartUse::Whole);
                Some(plain.filter_map(|item| item.column).collect())
            }
        };
        self.lets.push(UsedLet { name: &of.name.text, read, table, columns });
        Ok(())
    }

    /// Resolves a reference to its LET; the table too. Its part is left to the caller.
    pub(super) fn reference(&mut self, reference: &Reference) -> Result<(ReferenceUse, usize), Error> {
        let name = &reference.name;
        let Some(place) = self.lets.iter().position(|known| known.name == name.text) else {
            return Err(Error::invalid(name.at, format!("unknown reference {}; no LET has this name", name.text)));
        };
        let UsedLet { read, table, .. } = self.lets[place];
        let of = |column| ReferenceUse { read, column, part: PartUse::Whole, at: name.at };
        let Some(column_name) = &reference.column else { return Ok((of(None), table)) };
        let column = self.column(table, column_name)?;
        if self.lets[place].columns.as_ref().is_some_and(|selected| !selected.contains(&column)) {
            let message = format!("column {} is not among those that LET {} selects", column_name.text, name.text);
            return Err(Error::invalid(column_name.at, message));
        }
        Ok((of(Some(column)), table))
    }

    /// Resolves a reference that must name a column or a part of one; what it is and of what type.
    pub(super) fn column_reference(
        &mut self,
        reference: &Reference,
        role: &str,
    ) -> Result<(ReferenceUse, ColumnSpec), Error> {
        let (mut of, table) = self.reference(reference)?;
        let (Some(column), Some(name)) = (of.column, &reference.column) else {
            let Name { text, at } = &reference.name;
            return Err(Error::invalid(*at, format!("{role} needs a column: write {text}.column, not the row {text}")));
        };
        let mut spec = self.tables[table].spec(self.column_at(table, column));
        spec.name = format!("{}.{}", reference.name.text, name.text);
        let (part, spec) = self.part_of(&spec, reference.part.as_ref())?;
        of.part = part;
        Ok((of, spec))
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

fn is_aggregate(item: &ItemUse) -> bool {
    item.function.is_some_and(|function| function != Function::WriteTime)
}
