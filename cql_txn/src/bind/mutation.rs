//! Writes: INSERT, UPDATE and DELETE.

use super::Binder;
use super::names::{Given, Restricted};
use crate::ast::{Assignment, AssignmentOp, Delete, Insert, Mutation, Name, Operand, RowCondition, Update, Using};
use crate::error::{At, Error};
use crate::plan::{Columns, Op, WriteKind};
use crate::template::{AssignmentUse, OperandUse, PartUse, ReadUse, RowsUse, Source, WriteUse};
use crate::value::{Type, is_number};

impl Binder<'_> {
    pub(super) fn mutation(&mut self, mutation: &Mutation) -> Result<(), Error> {
        match mutation {
            Mutation::Insert(insert) => self.insert(insert),
            Mutation::Update(update) => self.update(update),
            Mutation::Delete(delete) => self.delete(delete),
        }
    }

    fn insert(&mut self, insert: &Insert) -> Result<(), Error> {
        let table = self.written(&insert.table)?;
        let (mut keys, mut assignments, mut seen): (Vec<Given<'_>>, Vec<AssignmentUse>, Vec<usize>) =
            Default::default();
        let from_json;
        let values = match &insert.json {
            Some(json) => {
                from_json = self.json_values(table, (&json.text, json.at), json.keeps_others)?;
                &from_json
            }
            None => &insert.values,
        };
        for (name, operand) in values {
            let column = self.column(table, name)?;
            if seen.contains(&column) {
                return Err(Error::invalid(name.at, format!("column {} is given twice", name.text)));
            }
            seen.push(column);
            match operand {
                Operand::Term(term) if self.tables[table].is_key(column) => keys.push((column, vec![term])),
                Operand::Reference(_) if self.tables[table].is_key(column) => {
                    let message = format!("key column {} cannot be taken from a reference", name.text);
                    return Err(Error::invalid(name.at, message));
                }
                operand => {
                    let operand = self.operand(table, column, operand)?;
                    assignments.push(self.set(table, column, operand, name.at));
                }
            }
        }
        let restricted = self.restricted(table, &keys, &[], insert.at)?;
        let is_static_only = restricted.is_bare() && !assignments.is_empty() && assignments.iter().all(|a| a.is_static);
        if !restricted.is_every_row && !is_static_only {
            return Err(Error::invalid(insert.at, "INSERT needs a value for every column of the primary key"));
        }
        let kind = if restricted.is_every_row { WriteKind::Insert } else { WriteKind::Update };
        self.own_condition(table, &restricted, insert.condition.as_ref())?;
        let shown = self.times(&insert.using)?;
        self.write(kind, restricted, shown, assignments, insert.at);
        Ok(())
    }

    fn update(&mut self, update: &Update) -> Result<(), Error> {
        let table = self.written(&update.table)?;
        let restricted = self.restrict(table, &update.relations, update.at)?;
        let mut assignments: Vec<AssignmentUse> = Vec::with_capacity(update.assignments.len());
        let mut is_static_only = restricted.is_bare();
        for assignment in &update.assignments {
            let column = self.assignable(table, &assignment.column)?;
            is_static_only &= self.tables[table].is_static(column);
        }
        if !restricted.is_every_row && !is_static_only {
            return Err(Error::invalid(update.at, "UPDATE needs every column of the primary key in its WHERE"));
        }
        for assignment in &update.assignments {
            let assigned = self.assignment(table, &restricted, assignment)?;
            let is_same = |known: &AssignmentUse| {
                known.column == assigned.column && (known.op != Op::Put || assigned.op != Op::Put)
            };
            if assignments.iter().any(is_same) {
                let message = format!("column {} is assigned twice", assignment.column.text);
                return Err(Error::syntax(assignment.column.at, message));
            }
            assignments.push(assigned);
        }
        self.own_condition(table, &restricted, update.condition.as_ref())?;
        let shown = self.times(&update.using)?;
        self.write(WriteKind::Update, restricted, shown, assignments, update.at);
        Ok(())
    }

    fn delete(&mut self, delete: &Delete) -> Result<(), Error> {
        let table = self.written(&delete.table)?;
        let restricted = self.restrict(table, &delete.relations, delete.at)?;
        let mut assignments: Vec<AssignmentUse> = Vec::with_capacity(delete.columns.len());
        for (name, part) in &delete.columns {
            let column = self.assignable(table, name)?;
            let null = OperandUse::Value(Source::Null);
            if let Some(part) = part {
                let of = self.part_assignment(table, &restricted, (column, name, part), null)?;
                assignments.push(of);
            } else if assignments.iter().all(|known| known.column != column) {
                assignments.push(self.set(table, column, null, name.at));
            }
        }
        if delete.condition.is_some() && !restricted.is_one_row && !assignments.iter().all(|a| a.is_static) {
            return Err(Error::invalid(delete.at, "a DELETE with IF needs every column of the primary key by '='"));
        }
        self.own_condition(table, &restricted, delete.condition.as_ref())?;
        let shown = self.times(&delete.using)?;
        let is_static_only = restricted.is_bare() && assignments.iter().all(|a| a.is_static);
        let kind = match (restricted.is_every_row, delete.columns.is_empty()) {
            (true, true) => WriteKind::DeleteRow,
            (true, false) => WriteKind::Update,
            (false, true) if restricted.is_bare() => WriteKind::DeletePartition,
            (false, true) => WriteKind::DeleteFound(self.found(&restricted)),
            (false, false) if is_static_only => WriteKind::Update,
            (false, false) => {
                let message = "deleting columns needs every column of the primary key in its WHERE";
                return Err(Error::invalid(delete.at, message));
            }
        };
        self.write(kind, restricted, shown, assignments, delete.at);
        Ok(())
    }

    /// Adds the read that finds the rows of a range.
    fn found(&mut self, restricted: &Restricted) -> usize {
        let (partition, rows) = (restricted.partition, restricted.rows.clone());
        let columns = Columns::of(&[]);
        self.template.reads.push(ReadUse { partition, rows, by_row: false, limit: None, backwards: false, columns });
        self.template.reads.len() - 1
    }

    fn written(&mut self, name: &crate::ast::TableName) -> Result<usize, Error> {
        if let Some(keyspace) = name.keyspace.as_ref().map(|keyspace| &*keyspace.text).or(self.keyspace) {
            super::ddl::refuse_system(keyspace, name.name.at)?;
        }
        let table = self.table(name)?;
        self.tables[table].is_written = true;
        Ok(table)
    }

    fn write(
        &mut self,
        kind: WriteKind,
        restricted: Restricted,
        shown: Option<Source>,
        assignments: Vec<AssignmentUse>,
        at: At,
    ) {
        let Restricted { partition, rows, .. } = restricted;
        self.template.writes.push(WriteUse { partition, kind, rows, shown, assignments, at });
    }

    /// A column that is not part of the key.
    fn assignable(&mut self, table: usize, name: &Name) -> Result<usize, Error> {
        let column = self.column(table, name)?;
        if !self.tables[table].is_key(column) {
            return Ok(column);
        }
        let message = format!("column {} is part of the primary key and cannot be changed", name.text);
        Err(Error::invalid(name.at, message))
    }

    fn set(&self, table: usize, column: usize, operand: OperandUse, at: At) -> AssignmentUse {
        let is_static = self.tables[table].is_static(column);
        AssignmentUse { column, op: Op::Set, operand, read: None, is_static, part: PartUse::Whole, at }
    }

    fn assignment(&mut self, table: usize, restricted: &Restricted, of: &Assignment) -> Result<AssignmentUse, Error> {
        let column = self.assignable(table, &of.column)?;
        let (ty, at, name) = (self.column_at(table, column).ty.clone(), of.column.at, &of.column.text);
        if let Some(part) = &of.part {
            let spec = self.tables[table].spec(self.column_at(table, column));
            let (_, spec) = self.part_of(&spec, Some(part))?;
            let operand = self.operand_of(spec, &of.operand)?;
            return self.part_assignment(table, restricted, (column, &of.column, part), operand);
        }
        if of.op == AssignmentOp::Set {
            let operand = self.operand(table, column, &of.operand)?;
            return Ok(self.set(table, column, operand, at));
        }
        let knows = match (&ty, of.op) {
            (Type::List(_), _) => true,
            (_, AssignmentOp::Prepend) => {
                return Err(Error::invalid(at, format!("column {name} is no list; write {name} = {name} + value")));
            }
            (Type::Set(_) | Type::Map(_), _) => true,
            (Type::Text | Type::Ascii, op) => op == AssignmentOp::Add,
            (ty, _) => is_number(ty),
        };
        if !knows {
            let sign = if of.op == AssignmentOp::Add { '+' } else { '-' };
            return Err(Error::invalid(at, format!("column {name} of type {} knows no '{sign}'", ty.cql_name())));
        }
        if !self.in_transaction && !self.is_conditional && !ty.is_open_collection() {
            let message = format!("column {name} depends on its old value; do this inside BEGIN TRANSACTION");
            return Err(Error::invalid(at, message));
        }
        let mut spec = self.tables[table].spec(self.column_at(table, column));
        if let (Type::Map(of), AssignmentOp::Subtract) = (&ty, of.op) {
            spec.ty = Type::Set(Box::new(of.0.clone()));
        }
        let operand = self.operand_of(spec, &of.operand)?;
        if operand == OperandUse::Value(Source::Null) {
            return Err(Error::invalid(at, format!("null cannot be added to or subtracted from column {name}")));
        }
        let op = match of.op {
            AssignmentOp::Subtract => Op::Subtract,
            AssignmentOp::Prepend => Op::Prepend,
            AssignmentOp::Add | AssignmentOp::Set => Op::Add,
        };
        let read = Some(self.old_value(table, restricted, column));
        let is_static = self.tables[table].is_static(column);
        Ok(AssignmentUse { column, op, operand, read, is_static, part: PartUse::Whole, at })
    }

    /// A part of a column is assigned, or removed if `operand` is null.
    fn part_assignment(
        &mut self,
        table: usize,
        restricted: &Restricted,
        (column, name, part): (usize, &Name, &crate::ast::Part),
        operand: OperandUse,
    ) -> Result<AssignmentUse, Error> {
        let spec = self.tables[table].spec(self.column_at(table, column));
        let is_removal = operand == OperandUse::Value(Source::Null);
        let is_fitting = spec.ty.is_open() && (is_removal || !matches!(spec.ty, Type::Set(_)));
        if !is_fitting {
            let message = format!("no part of column {} of type {} can be assigned", name.text, spec.ty.cql_name());
            return Err(Error::invalid(name.at, message));
        }
        let (part, _) = self.part_of(&spec, Some(part))?;
        let read = Some(self.old_value(table, restricted, column));
        let is_static = self.tables[table].is_static(column);
        Ok(AssignmentUse { column, op: Op::Put, operand, read, is_static, part, at: name.at })
    }

    /// Adds the read of the value that an assignment starts from.
    fn old_value(&mut self, table: usize, restricted: &Restricted, column: usize) -> usize {
        // Adding to a set is no reading for the one who may only write, although it is done by reading.
        let ty = &self.column_at(table, column).ty;
        self.tables[table].is_read |= !ty.is_open() || matches!(ty, Type::List(_));
        let is_static = self.tables[table].is_static(column);
        let rows = if is_static { RowsUse::default() } else { restricted.rows.clone() };
        // Of a static column the first row of the partition shows the value as well as any other.
        let limit = is_static.then(crate::template::LimitUse::one);
        let columns = self.fetched(table, &[column]);
        let partition = restricted.partition;
        self.template.reads.push(ReadUse { partition, rows, by_row: !is_static, limit, backwards: false, columns });
        self.template.reads.len() - 1
    }

    fn operand(&mut self, table: usize, column: usize, operand: &Operand) -> Result<OperandUse, Error> {
        let spec = self.tables[table].spec(self.column_at(table, column));
        self.operand_of(spec, operand)
    }

    fn operand_of(&mut self, wanted: super::ColumnSpec, operand: &Operand) -> Result<OperandUse, Error> {
        let reference = match operand {
            Operand::Term(term) => return self.source_of(wanted, term).map(OperandUse::Value),
            Operand::Reference(reference) => reference,
        };
        let (at, spec) = self.column_reference(reference, "an assignment")?;
        if !wanted.ty.accepts(&spec.ty) {
            let (from, to) = (spec.ty.cql_name(), wanted.ty.cql_name());
            let message = format!(
                "{} is of type {from} and cannot be assigned to column {} of type {to}",
                spec.name, wanted.name
            );
            return Err(Error::invalid(reference.name.at, message));
        }
        Ok(OperandUse::Reference(at))
    }

    fn own_condition(&mut self, table: usize, restricted: &Restricted, of: Option<&RowCondition>) -> Result<(), Error> {
        let Some(condition) = of else { return Ok(()) };
        if self.in_transaction {
            let message = "a statement inside a transaction takes no IF; use IF … THEN … END IF";
            return Err(Error::invalid(condition.at, message));
        }
        self.row_condition(table, restricted, condition)
    }

    /// What `writetime()` will show, if the statement says so.
    fn times(&mut self, using: &Using) -> Result<Option<Source>, Error> {
        if let Some(ttl) = &using.ttl {
            return Err(Error::invalid(
                ttl.at,
                match self.in_transaction {
                    true => "USING TTL has no meaning inside a transaction; leave it out",
                    false => "USING TTL is not supported yet",
                },
            ));
        }
        let batch_time = self.batch_time.clone();
        let Some(timestamp) = using.timestamp.as_ref().or(batch_time.as_ref()) else { return Ok(None) };
        if self.in_transaction {
            return Err(Error::invalid(
                timestamp.at,
                "USING TIMESTAMP has no meaning inside a transaction; leave it out",
            ));
        }
        let table = self.tables.len() - 1;
        let key = self.tables[table].spec(self.column_at(table, 0));
        let spec = super::ColumnSpec { name: "[timestamp]".to_owned(), ty: Type::BigInt, ..key };
        let source = self.source_of(spec, timestamp)?;
        let warning = "USING TIMESTAMP does not influence the order of writes on a transactional table";
        if !self.warnings.iter().any(|known| known == warning) {
            self.warnings.push(warning.to_owned());
        }
        Ok(Some(source))
    }
}
