//! BEGIN TRANSACTION … COMMIT TRANSACTION. *Source*: [CQL 1.2].

use super::Parser;
use crate::ast::{Batch, Condition, ConditionTest, Let, Mutation, Reference, StatementKind, Transaction};
use crate::error::{At, Error};
use crate::keyword;
use crate::lexer::{Kind, Symbol};

impl Parser<'_> {
    pub(super) fn begin(&mut self) -> Result<StatementKind, Error> {
        let at = self.token.at;
        self.expect_word("begin")?;
        if self.is_word("batch") || self.is_word("unlogged") || self.is_word("counter") {
            return self.batch(at).map(StatementKind::Batch);
        }
        self.expect_word("transaction")?;
        self.in_transaction = true;
        self.transaction(at).map(StatementKind::Transaction)
    }

    fn batch(&mut self, at: At) -> Result<Batch, Error> {
        if self.is_word("counter") {
            return Err(self.not_offered("a batch of counters"));
        }
        let unlogged = self.accept_word("unlogged")?;
        self.expect_word("batch")?;
        let using = self.using()?;
        let mut mutations = Vec::new();
        while self.at_mutation() {
            self.room_for_one_more(mutations.len())?;
            mutations.push(self.mutation()?);
            self.accept(Symbol::Semicolon)?;
        }
        if !self.accept_word("apply")? {
            return Err(self.unexpected("INSERT, UPDATE, DELETE or APPLY BATCH"));
        }
        self.expect_word("batch")?;
        Ok(Batch { unlogged, using, mutations, at })
    }

    fn transaction(&mut self, at: At) -> Result<Transaction, Error> {
        let mut lets = Vec::new();
        while self.is_word("let") {
            self.room_for_one_more(lets.len())?;
            lets.push(self.let_clause()?);
            self.expect(Symbol::Semicolon)?;
        }
        let mut returning = None;
        if self.is_word("select") {
            returning = Some(self.returning()?);
            self.expect(Symbol::Semicolon)?;
        }
        let conditions = if self.accept_word("if")? { Some(self.conditions()?) } else { None };
        let mutations = self.mutations()?;
        if conditions.is_some() {
            if !self.accept_word("end")? {
                return Err(self.unexpected("INSERT, UPDATE, DELETE or END IF"));
            }
            self.expect_word("if")?;
        }
        self.close(conditions.is_some())?;
        Ok(Transaction { lets, returning, conditions, mutations, at })
    }

    fn mutations(&mut self) -> Result<Vec<Mutation>, Error> {
        let mut mutations = Vec::new();
        while self.at_mutation() {
            self.room_for_one_more(mutations.len())?;
            mutations.push(self.mutation()?);
            self.expect(Symbol::Semicolon)?;
        }
        Ok(mutations)
    }

    fn close(&mut self, after_if: bool) -> Result<(), Error> {
        if !self.accept_word("commit")? && !self.accept_word("apply")? {
            let wanted = if after_if { "COMMIT TRANSACTION" } else { "INSERT, UPDATE, DELETE or COMMIT TRANSACTION" };
            return Err(self.unexpected(wanted));
        }
        self.expect_word("transaction")
    }

    fn let_clause(&mut self) -> Result<Let, Error> {
        self.expect_word("let")?;
        if self.token.kind == Kind::Word && keyword::is_keyword(self.slice()) {
            return Err(self.unexpected("a name that is no word of the language"));
        }
        if self.token.kind != Kind::Word {
            return Err(self.unexpected("a plain name after LET"));
        }
        let name = self.name("a LET")?;
        self.expect(Symbol::Eq)?;
        self.expect(Symbol::Open)?;
        let select = self.let_select()?;
        self.expect(Symbol::Close)?;
        Ok(Let { name, select })
    }

    /// The conditions up to and with THEN.
    fn conditions(&mut self) -> Result<Vec<Condition>, Error> {
        let mut conditions = vec![self.condition()?];
        while self.accept_word("and")? {
            self.room_for_one_more(conditions.len())?;
            conditions.push(self.condition()?);
        }
        if self.accept_word("then")? { Ok(conditions) } else { Err(self.unexpected("AND or THEN")) }
    }

    fn condition(&mut self) -> Result<Condition, Error> {
        if self.is(Symbol::Open) || self.is_word("token") {
            return Err(self.unexpected("a reference or a value, without brackets,"));
        }
        if !self.at_name() {
            let term = self.term()?;
            let comparison = self.comparison()?.mirrored();
            let reference: Reference = self.reference()?;
            return Ok(Condition { reference, test: ConditionTest::Compare(comparison, term) });
        }
        let reference = self.reference()?;
        if !self.accept_word("is")? {
            let comparison = self.comparison()?;
            return Ok(Condition { reference, test: ConditionTest::Compare(comparison, self.term()?) });
        }
        let test = if self.accept_word("not")? { ConditionTest::NotNull } else { ConditionTest::Null };
        self.expect_word("null")?;
        Ok(Condition { reference, test })
    }
}
