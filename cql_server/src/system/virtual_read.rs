//! A SELECT from a virtual table on its way: waits for the node, then writes to the line of its client.

use super::select::{SystemSelect, Wanted};
use super::tables::SystemColumn;
use crate::admission::Permit;
use crate::backend::{Field, VirtualRow};
use crate::envelope::{Prefix, opcode};
use crate::error::Error;
use crate::reply::Manner;
use crate::response::put_rows;
use crate::statement::{Plan, Statement};
use crate::wire_type::{Cell, WireType, bigint, boolean, int, text};
use std::rc::Rc;

/// A read under way. Dropped without an answer, it tells the client so.
pub(crate) struct VirtualRead {
    /// Held until the answer is written.
    permit: Permit,
    statement: Rc<Statement>,
    manner: Manner,
    wanted: Wanted,
    is_answered: bool,
}

impl VirtualRead {
    pub(crate) fn new(permit: Permit, statement: Rc<Statement>, manner: Manner, wanted: Wanted) -> Self {
        Self { permit, statement, manner, wanted, is_answered: false }
    }

    /// Answers with those of the table's rows that are wanted.
    pub(crate) fn deliver(mut self, rows: &[VirtualRow]) {
        let statement = Rc::clone(&self.statement);
        let (Plan::System(select), Some(columns)) = (statement.plan(), statement.columns()) else { return };
        match cells(select, rows) {
            Ok(rows) => {
                let rows = select.pick(&self.wanted, rows);
                self.is_answered = true;
                let write = |body: &mut Vec<u8>| put_rows(body, columns, self.manner.metadata, &rows);
                self.permit.line().send(self.manner.stream, opcode::RESULT, Prefix::NONE, write);
            }
            Err(error) => self.fail(&error),
        }
    }

    fn fail(&mut self, error: &Error) {
        self.is_answered = true;
        self.permit.line().send_error(self.manner.stream, Prefix::NONE, error);
    }
}

impl Drop for VirtualRead {
    fn drop(&mut self) {
        if !self.is_answered {
            self.fail(&Error::Overloaded("the node is stopping and shows nothing any more: ask another".into()));
        }
    }
}

/// The rows with a cell for each column of the table.
fn cells(select: &SystemSelect, rows: &[VirtualRow]) -> Result<Vec<Vec<Cell>>, Error> {
    let columns = select.table_columns();
    let place = |row: &VirtualRow| {
        let mut placed = vec![None; columns.len()];
        for (name, field) in row {
            let at = columns.iter().position(|column| column.name == *name && is_of(column, field));
            let at =
                at.ok_or_else(|| Error::Server(format!("the node shows {name} = {field:?}, which no column takes")))?;
            placed[at] = cell(field);
        }
        Ok(placed)
    };
    rows.iter().map(place).collect()
}

fn is_of(column: &SystemColumn, field: &Field) -> bool {
    column.ty
        == match field {
            Field::Text(_) => WireType::TEXT,
            Field::Int(_) => WireType::INT,
            Field::Bigint(_) => WireType::BIGINT,
            Field::Boolean(_) => WireType::BOOLEAN,
        }
}

fn cell(field: &Field) -> Cell {
    match field {
        Field::Text(value) => text(value),
        Field::Int(value) => int(*value),
        Field::Bigint(value) => bigint(*value),
        Field::Boolean(value) => boolean(*value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn select(statement: &str) -> SystemSelect {
        SystemSelect::parse(statement, None).expect("a system table").expect("valid")
    }

    #[test]
    fn a_column_left_out_is_null_and_a_condition_picks() {
        let select = select("SELECT value FROM accord.metrics WHERE name = 'b'");
        let rows: Vec<VirtualRow> = vec![
            vec![("name", Field::Text("a".into())), ("value", Field::Bigint(1))],
            vec![("name", Field::Text("b".into()))],
        ];
        let wanted = select.bind(&[]).expect("no markers");
        assert_eq!(select.pick(&wanted, cells(&select, &rows).expect("fits")), vec![vec![None]]);
    }

    #[test]
    fn a_field_that_no_column_takes_is_an_error_and_no_panic() {
        let select = select("SELECT * FROM accord.metrics");
        assert!(matches!(cells(&select, &[vec![("value", Field::Boolean(true))]]), Err(Error::Server(_))));
        assert!(matches!(cells(&select, &[vec![("nonsense", Field::Int(1))]]), Err(Error::Server(_))));
    }
}
