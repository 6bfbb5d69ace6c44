//! Writes: INSERT, UPDATE and DELETE.

use super::Binder;
use super::names::Restricted;
use crate::ast::{
    Assignment, AssignmentOp, Delete, Insert, Mutation, Name, Operand, RowCondition, Term, Update, Using,
};
use crate::error::{At, Error};
use crate::plan::{Op, WriteKind};
use crate::template::{AssignmentUse, OperandUse, ReadUse, Source, WriteUse};
use crate::value::Type;

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
        let (mut keys, mut assignments, mut seen): (Vec<(usize, &Term)>, _, Vec<usize>) = (vec![], vec![], vec![]);
        for (name, operand) in &insert.values {
            let column = self.column(table, name)?;
            if seen.contains(&column) {
                return Err(Error::invalid(name.at, format!("column {} is given twice", name.text)));
            }
            seen.push(column);
            match operand {
                Operand::Term(term) if self.tables[table].is_key(column) => keys.push((column, term)),
                Operand::Reference(_) if self.tables[table].is_key(column) => {
                    let message = format!("key column {} cannot be taken from a reference", name.text);
                    return Err(Error::invalid(name.at, message));
                }
                operand => {
                    let operand = self.operand(table, column, operand)?;
                    assignments.push(AssignmentUse { column, op: Op::Set, operand, at: name.at });
                }
            }
        }
        let restricted = self.restricted(table, &keys, insert.at)?;
        if !restricted.is_one_row {
            return Err(Error::invalid(insert.at, "INSERT needs a value for every column of the primary key"));
        }
        self.refuse_condition(insert.condition.as_ref())?;
        self.refuse_times(&insert.using)?;
        self.write(WriteKind::Insert, restricted, assignments, insert.at);
        Ok(())
    }

    fn update(&mut self, update: &Update) -> Result<(), Error> {
        let table = self.written(&update.table)?;
        if !self.in_transaction {
            // With IF an increment would be legal here, so the reason to give is IF.
            self.refuse_condition(update.condition.as_ref())?;
        }
        let restricted = self.restrict(table, &update.relations, update.at)?;
        if !restricted.is_one_row {
            return Err(Error::invalid(update.at, "UPDATE needs every column of the primary key in its WHERE"));
        }
        let mut assignments: Vec<AssignmentUse> = Vec::with_capacity(update.assignments.len());
        for assignment in &update.assignments {
            let assigned = self.assignment(table, &restricted, assignment)?;
            if assignments.iter().any(|known| known.column == assigned.column) {
                let message = format!("column {} is assigned twice", assignment.column.text);
                return Err(Error::syntax(assignment.column.at, message));
            }
            assignments.push(assigned);
        }
        self.refuse_condition(update.condition.as_ref())?;
        self.refuse_times(&update.using)?;
        self.write(WriteKind::Update, restricted, assignments, update.at);
        Ok(())
    }

    fn delete(&mut self, delete: &Delete) -> Result<(), Error> {
        let table = self.written(&delete.table)?;
        let restricted = self.restrict(table, &delete.relations, delete.at)?;
        let mut assignments: Vec<AssignmentUse> = Vec::with_capacity(delete.columns.len());
        for name in &delete.columns {
            let column = self.assignable(table, name)?;
            if assignments.iter().all(|known| known.column != column) {
                let operand = OperandUse::Value(Source::Null);
                assignments.push(AssignmentUse { column, op: Op::Set, operand, at: name.at });
            }
        }
        self.refuse_condition(delete.condition.as_ref())?;
        self.refuse_times(&delete.using)?;
        let is_whole_partition = restricted.clustering.is_empty() && !restricted.is_one_row;
        let kind = match (restricted.is_one_row, delete.columns.is_empty()) {
            (true, true) => WriteKind::DeleteRow,
            (true, false) => WriteKind::Update,
            (false, true) if is_whole_partition => WriteKind::DeletePartition,
            (false, true) => return Err(Error::invalid(delete.at, "deleting a range of rows is not supported yet")),
            (false, false) => {
                let message = "deleting columns needs every column of the primary key in its WHERE";
                return Err(Error::invalid(delete.at, message));
            }
        };
        self.write(kind, restricted, assignments, delete.at);
        Ok(())
    }

    fn written(&mut self, name: &crate::ast::TableName) -> Result<usize, Error> {
        let table = self.table(name)?;
        self.tables[table].is_written = true;
        Ok(table)
    }

    fn write(&mut self, kind: WriteKind, restricted: Restricted, assignments: Vec<AssignmentUse>, at: At) {
        let Restricted { partition, clustering, .. } = restricted;
        self.template.writes.push(WriteUse { partition, kind, clustering, assignments, at });
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

    fn assignment(&mut self, table: usize, restricted: &Restricted, of: &Assignment) -> Result<AssignmentUse, Error> {
        let column = self.assignable(table, &of.column)?;
        let operand = self.operand(table, column, &of.operand)?;
        let ty = self.column_at(table, column).ty;
        let at = of.column.at;
        let name = &of.column.text;
        let op = match of.op {
            AssignmentOp::Set => return Ok(AssignmentUse { column, op: Op::Set, operand, at }),
            AssignmentOp::Add if ty.is_number() || ty == Type::Text => Op::Add,
            AssignmentOp::Subtract if ty.is_number() => Op::Subtract,
            AssignmentOp::Prepend => {
                return Err(Error::invalid(at, format!("column {name} is no list; write {name} = {name} + value")));
            }
            AssignmentOp::Add | AssignmentOp::Subtract => {
                let sign = if of.op == AssignmentOp::Add { '+' } else { '-' };
                return Err(Error::invalid(at, format!("column {name} of type {} knows no '{sign}'", ty.cql_name())));
            }
        };
        if !self.in_transaction {
            let message = format!("column {name} depends on its old value; do this inside BEGIN TRANSACTION");
            return Err(Error::invalid(at, message));
        }
        if operand == OperandUse::Value(Source::Null) {
            return Err(Error::invalid(at, format!("null cannot be added to or subtracted from column {name}")));
        }
        let read = self.old_value(table, restricted, column);
        Ok(AssignmentUse { column, op: op(read), operand, at })
    }

    /// Adds the read of the value that an assignment starts from.
    fn old_value(&mut self, table: usize, restricted: &Restricted, column: usize) -> usize {
        self.tables[table].is_read = true;
        self.template.reads.push(ReadUse {
            partition: restricted.partition,
            prefix: restricted.clustering.clone(),
            limit: None,
            columns: self.fetched(table, &[column]),
        });
        self.template.reads.len() - 1
    }

    fn operand(&mut self, table: usize, column: usize, operand: &Operand) -> Result<OperandUse, Error> {
        let reference = match operand {
            Operand::Term(term) => return self.source(table, column, term).map(OperandUse::Value),
            Operand::Reference(reference) => reference,
        };
        let (at, spec) = self.column_reference(reference, "an assignment")?;
        let column = self.column_at(table, column);
        if spec.ty != column.ty {
            let (from, to) = (spec.ty.cql_name(), column.ty.cql_name());
            let message = format!(
                "{} is of type {from} and cannot be assigned to column {} of type {to}",
                spec.name, column.name
            );
            return Err(Error::invalid(reference.name.at, message));
        }
        Ok(OperandUse::Reference(at))
    }

    fn refuse_condition(&self, condition: Option<&RowCondition>) -> Result<(), Error> {
        let Some(condition) = condition else { return Ok(()) };
        let message = match self.in_transaction {
            true => "a statement inside a transaction takes no IF; use IF … THEN … END IF",
            false => "IF on a single statement is not supported yet; use BEGIN TRANSACTION with LET and IF",
        };
        Err(Error::invalid(condition.at, message))
    }

    fn refuse_times(&mut self, using: &Using) -> Result<(), Error> {
        if let Some(ttl) = &using.ttl {
            return Err(Error::invalid(ttl.at, "USING TTL is not supported yet"));
        }
        let Some(timestamp) = &using.timestamp else { return Ok(()) };
        if self.in_transaction {
            return Err(Error::invalid(
                timestamp.at,
                "USING TIMESTAMP has no meaning inside a transaction; leave it out",
            ));
        }
        let table = self.tables.len() - 1;
        let key = self.tables[table].spec(self.column_at(table, 0));
        let spec = super::ColumnSpec { name: "[timestamp]".to_owned(), ty: Type::BigInt, ..key };
        self.source_of(spec, timestamp)?;
        self.warnings
            .push("USING TIMESTAMP does not influence the order of writes on a transactional table".to_owned());
        Ok(())
    }
}
