//! INSERT, UPDATE and DELETE.

use super::Parser;
use crate::ast::{
    Assignment, AssignmentOp, Delete, Insert, Json, Name, Operand, Part, RowCondition, RowConditionKind, TableName,
    Term, TermKind, Update, Using,
};
use crate::error::{At, Error};
use crate::lexer::{Kind, Symbol};

impl Parser<'_> {
    pub(super) fn insert(&mut self) -> Result<Insert, Error> {
        let at = self.token.at;
        self.expect_word("insert")?;
        self.expect_word("into")?;
        let table = self.table_name()?;
        if self.is_word("json") {
            return self.insert_json(table, at);
        }
        self.expect(Symbol::Open)?;
        let columns = self.list(|parser| parser.name("a column"))?;
        self.expect(Symbol::Close)?;
        self.expect_word("values")?;
        let values_at = self.token.at;
        self.expect(Symbol::Open)?;
        let values = self.list(Self::operand)?;
        self.expect(Symbol::Close)?;
        if columns.len() != values.len() {
            let message = format!("{} columns but {} values; give one value per column", columns.len(), values.len());
            return Err(Error::invalid(values_at, message));
        }
        let condition = self.insert_condition()?;
        let using = self.using()?;
        Ok(Insert { table, values: columns.into_iter().zip(values).collect(), json: None, condition, using, at })
    }

    fn insert_json(&mut self, table: TableName, at: At) -> Result<Insert, Error> {
        self.expect_word("json")?;
        let text_at = self.token.at;
        if self.is(Symbol::Question) || self.is(Symbol::Colon) {
            return Err(self.not_offered("INSERT JSON with a bind marker"));
        }
        let text = match self.term()?.kind {
            TermKind::Text(text) => text,
            _ => return Err(Error::syntax(text_at, "a string expected after JSON")),
        };
        let mut keeps_others = false;
        if self.accept_word("default")? {
            keeps_others = self.accept_word("unset")?;
            if !keeps_others {
                self.expect_word("null")?;
            }
        }
        let condition = self.insert_condition()?;
        let using = self.using()?;
        let json = Some(Json { text, keeps_others, at: text_at });
        Ok(Insert { table, values: Vec::new(), json, condition, using, at })
    }

    fn insert_condition(&mut self) -> Result<Option<RowCondition>, Error> {
        let at = self.token.at;
        if !self.accept_word("if")? {
            return Ok(None);
        }
        self.expect_word("not")?;
        self.expect_word("exists")?;
        Ok(Some(RowCondition { kind: RowConditionKind::NotExists, at }))
    }

    pub(super) fn update(&mut self) -> Result<Update, Error> {
        let at = self.token.at;
        self.expect_word("update")?;
        let table = self.table_name()?;
        let using = self.using()?;
        self.expect_word("set")?;
        let assignments = self.list(Self::assignment)?;
        self.expect_word("where")?;
        let relations = self.relations()?;
        let condition = self.row_condition()?;
        Ok(Update { table, using, assignments, relations, condition, at })
    }

    pub(super) fn delete(&mut self) -> Result<Delete, Error> {
        let at = self.token.at;
        self.expect_word("delete")?;
        let columns = if self.is_word("from") { Vec::new() } else { self.list(Self::deleted_column)? };
        self.expect_word("from")?;
        let table = self.table_name()?;
        let using = self.using()?;
        self.expect_word("where")?;
        let relations = self.relations()?;
        let condition = self.row_condition()?;
        Ok(Delete { columns, table, using, relations, condition, at })
    }

    fn deleted_column(&mut self) -> Result<(Name, Option<Part>), Error> {
        Ok((self.name("a column")?, self.part()?))
    }

    pub(super) fn using(&mut self) -> Result<Using, Error> {
        let mut using = Using::default();
        if !self.accept_word("using")? {
            return Ok(using);
        }
        loop {
            let slot = if self.is_word("timestamp") {
                &mut using.timestamp
            } else if self.is_word("ttl") {
                &mut using.ttl
            } else {
                return Err(self.unexpected("TIMESTAMP or TTL"));
            };
            if slot.is_some() {
                return Err(Error::syntax(self.token.at, "this clause is given twice"));
            }
            self.advance()?;
            *slot = Some(self.term()?);
            if !self.accept_word("and")? {
                return Ok(using);
            }
        }
    }

    fn row_condition(&mut self) -> Result<Option<RowCondition>, Error> {
        let at = self.token.at;
        if !self.accept_word("if")? {
            return Ok(None);
        }
        if self.is_word("exists") && self.second().0 != Kind::Symbol(Symbol::Eq) {
            self.advance()?;
            return Ok(Some(RowCondition { kind: RowConditionKind::Exists, at }));
        }
        let mut tests = vec![self.row_test()?];
        while self.accept_word("and")? {
            self.room_for_one_more(tests.len())?;
            tests.push(self.row_test()?);
        }
        Ok(Some(RowCondition { kind: RowConditionKind::Columns(tests), at }))
    }

    fn row_test(&mut self) -> Result<(Name, crate::ast::Comparison, Term), Error> {
        let column = self.name("a column")?;
        if self.is(Symbol::OpenSquare) || self.is(Symbol::Dot) || self.is_word("in") || self.is_word("contains") {
            return Err(self.not_offered("this condition"));
        }
        Ok((column, self.comparison()?, self.term()?))
    }

    fn assignment(&mut self) -> Result<Assignment, Error> {
        let column = self.name("a column")?;
        let part = self.part()?;
        if part.is_some() {
            self.expect(Symbol::Eq)?;
            return Ok(Assignment { column, part, op: AssignmentOp::Set, operand: self.operand()? });
        }
        if self.accept(Symbol::AddAssign)? {
            return Ok(Assignment { column, part, op: AssignmentOp::Add, operand: self.operand()? });
        }
        if self.accept(Symbol::SubtractAssign)? {
            return Ok(Assignment { column, part, op: AssignmentOp::Subtract, operand: self.operand()? });
        }
        self.expect(Symbol::Eq)?;
        let (op, operand) = if self.at_name() { self.assigned_name(&column)? } else { self.assigned_term(&column)? };
        Ok(Assignment { column, part, op, operand })
    }

    /// After `column =`, a name: `column + term`, `column - term`, `column -3`, or a reference.
    fn assigned_name(&mut self, column: &Name) -> Result<(AssignmentOp, Operand), Error> {
        let source = self.reference()?;
        let is_integer = self.token.kind == Kind::Integer;
        let is_sign = self.is(Symbol::Plus) || self.is(Symbol::Minus);
        if !is_integer && !is_sign {
            if !self.in_transaction {
                return Err(Error::syntax(
                    source.name.at,
                    "a value expected; a column can only be assigned from itself",
                ));
            }
            return Ok((AssignmentOp::Set, Operand::Reference(source)));
        }
        if source.column.is_some() {
            let message = "arithmetic on a reference is only possible with += and -=";
            return Err(Error::syntax(self.token.at, message));
        }
        same_column(column, &source.name)?;
        if is_integer {
            return Ok((AssignmentOp::Add, Operand::Term(self.term()?)));
        }
        let op = if self.is(Symbol::Plus) { AssignmentOp::Add } else { AssignmentOp::Subtract };
        self.advance()?;
        Ok((op, Operand::Term(self.term()?)))
    }

    /// After `column =`, a term: alone, or `term + column`.
    fn assigned_term(&mut self, column: &Name) -> Result<(AssignmentOp, Operand), Error> {
        let term = self.term()?;
        if !self.accept(Symbol::Plus)? {
            return Ok((AssignmentOp::Set, Operand::Term(term)));
        }
        let name = self.name("a column")?;
        same_column(column, &name)?;
        Ok((AssignmentOp::Prepend, Operand::Term(term)))
    }
}

fn same_column(assigned: &Name, named: &Name) -> Result<(), Error> {
    if assigned.text == named.text {
        return Ok(());
    }
    let message = format!("column {} can only be computed from itself, not from {}", assigned.text, named.text);
    Err(Error::syntax(named.at, message))
}
