//! SELECT and WHERE.

use super::Parser;
use crate::ast::{
    Comparison, Name, Reference, Relation, RelationTest, Returning, Select, Selection, Selector, TableName, Term,
};
use crate::error::{At, Error};
use crate::lexer::{Kind, Symbol};

impl Parser<'_> {
    pub(super) fn select_statement(&mut self) -> Result<Select, Error> {
        let at = self.token.at;
        self.expect_word("select")?;
        let selection = self.selection()?;
        self.expect_word("from")?;
        let select = self.select_rest(selection, at)?;
        self.refuse_later_clauses()?;
        Ok(select)
    }

    /// The SELECT inside a LET: no alias, and nothing after LIMIT.
    pub(super) fn let_select(&mut self) -> Result<Select, Error> {
        let at = self.token.at;
        self.expect_word("select")?;
        let selection = if self.accept(Symbol::Star)? {
            Selection::All
        } else {
            let column = |parser: &mut Self| Ok(Selector { column: parser.selected_column()?, alias: None });
            Selection::Columns(self.list(column)?)
        };
        self.expect_word("from")?;
        let select = self.select_rest(selection, at)?;
        if select.relations.is_empty() {
            return Err(self.unexpected("WHERE"));
        }
        Ok(select)
    }

    /// The SELECT of a transaction: rows of a table, or a list of references. What follows the list tells which.
    pub(super) fn returning(&mut self) -> Result<Returning, Error> {
        let at = self.token.at;
        self.expect_word("select")?;
        if self.is(Symbol::Star) || self.is_modifier() {
            return self.returning_rows(at);
        }
        let items = self.list(|parser| {
            let reference = Reference { name: parser.selected_column()?, column: None };
            if parser.accept(Symbol::Dot)? {
                let column = Some(parser.name("a column")?);
                if parser.is(Symbol::OpenSquare) || parser.is(Symbol::Dot) {
                    return Err(parser.not_offered("a reference to an element or field"));
                }
                return Ok((Reference { column, ..reference }, None));
            }
            Ok((reference, parser.alias()?))
        })?;
        if self.is(Symbol::Semicolon) && items.iter().all(|(_, alias)| alias.is_none()) {
            return Ok(Returning::References(items.into_iter().map(|(reference, _)| reference).collect(), at));
        }
        self.expect_word("from")?;
        if let Some(column) = items.iter().find_map(|(reference, _)| reference.column.as_ref()) {
            return Err(Error::syntax(column.at, "a SELECT with FROM names columns of its table, not references"));
        }
        let columns = items.into_iter().map(|(reference, alias)| Selector { column: reference.name, alias });
        let select = self.select_rest(Selection::Columns(columns.collect()), at)?;
        self.refuse_later_clauses()?;
        Ok(Returning::Select(select))
    }

    fn returning_rows(&mut self, at: At) -> Result<Returning, Error> {
        let selection = self.selection()?;
        self.expect_word("from")?;
        let select = self.select_rest(selection, at)?;
        self.refuse_later_clauses()?;
        Ok(Returning::Select(select))
    }

    /// JSON or DISTINCT in their role as modifiers, not as names of columns.
    fn is_modifier(&self) -> bool {
        let (kind, word) = self.second();
        (self.is_word("json") || self.is_word("distinct"))
            && matches!(kind, Kind::Word | Kind::QuotedName | Kind::Symbol(Symbol::Star))
            && !word.eq_ignore_ascii_case("from")
            && !word.eq_ignore_ascii_case("as")
    }

    fn selection(&mut self) -> Result<Selection, Error> {
        if self.is_modifier() {
            return Err(self.not_offered("this form of SELECT"));
        }
        if self.accept(Symbol::Star)? {
            return Ok(Selection::All);
        }
        self.list(|parser| Ok(Selector { column: parser.selected_column()?, alias: parser.alias()? }))
            .map(Selection::Columns)
    }

    fn selected_column(&mut self) -> Result<Name, Error> {
        if self.token.kind == Kind::Word && self.second().0 == Kind::Symbol(Symbol::Open) {
            return Err(self.not_offered("a function"));
        }
        if matches!(self.token.kind, Kind::Integer | Kind::Text | Kind::Symbol(Symbol::Question | Symbol::Colon)) {
            return Err(self.not_offered("selecting a constant"));
        }
        let name = self.name("a column")?;
        if self.is(Symbol::OpenSquare) {
            return Err(self.not_offered("selecting an element"));
        }
        Ok(name)
    }

    fn alias(&mut self) -> Result<Option<Name>, Error> {
        if self.accept_word("as")? { self.name("a result column").map(Some) } else { Ok(None) }
    }

    fn select_rest(&mut self, selection: Selection, at: At) -> Result<Select, Error> {
        let table: TableName = self.table_name()?;
        let relations = if self.accept_word("where")? { self.relations()? } else { Vec::new() };
        let limit = if self.is_word("limit") { Some(self.limit()?) } else { None };
        Ok(Select { selection, table, relations, limit, at })
    }

    fn limit(&mut self) -> Result<Term, Error> {
        self.expect_word("limit")?;
        match self.token.kind {
            Kind::Integer | Kind::Symbol(Symbol::Question | Symbol::Colon) => self.term(),
            _ => Err(self.unexpected("a number or a bind marker after LIMIT")),
        }
    }

    fn refuse_later_clauses(&self) -> Result<(), Error> {
        for word in ["group", "order", "per", "allow", "limit"] {
            if self.is_word(word) {
                return Err(self.not_offered("this clause of SELECT"));
            }
        }
        Ok(())
    }

    /// The restrictions after WHERE.
    pub(super) fn relations(&mut self) -> Result<Vec<Relation>, Error> {
        let mut relations = vec![self.relation()?];
        while self.accept_word("and")? {
            self.room_for_one_more(relations.len())?;
            relations.push(self.relation()?);
        }
        Ok(relations)
    }

    fn relation(&mut self) -> Result<Relation, Error> {
        if self.is(Symbol::Open) || self.is_word("token") {
            return Err(self.not_offered("a restriction on several columns, on a token or in brackets"));
        }
        let column = self.name("a column")?;
        if self.is(Symbol::OpenSquare) || self.is_word("contains") || self.is_word("between") {
            return Err(self.not_offered("this restriction"));
        }
        if !self.accept_word("in")? {
            let comparison: Comparison = self.comparison()?;
            return Ok(Relation { column, test: RelationTest::Compare(comparison, self.term()?) });
        }
        self.expect(Symbol::Open)?;
        let terms = if self.is(Symbol::Close) { Vec::new() } else { self.list(Self::term)? };
        self.expect(Symbol::Close)?;
        Ok(Relation { column, test: RelationTest::In(terms) })
    }
}
