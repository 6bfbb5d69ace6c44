//! SELECT and its restrictions.

use super::Parser;
use crate::ast::{
    Clauses, Comparison, Function, Name, Reference, Relation, RelationTest, Returning, Select, Selection, Selector,
    TableName, Term,
};
use crate::error::{At, Error};
use crate::lexer::{Kind, Symbol};

impl Parser<'_> {
    pub(super) fn select_statement(&mut self) -> Result<Select, Error> {
        let at = self.token.at;
        self.expect_word("select")?;
        let selection = self.selection()?;
        self.expect_word("from")?;
        self.select_rest(selection, at)
    }

    /// The SELECT of a LET: no alias, no modifier, a WHERE, and nothing behind it but a LIMIT.
    pub(super) fn let_select(&mut self) -> Result<Select, Error> {
        let at = self.token.at;
        self.expect_word("select")?;
        let selection =
            if self.accept(Symbol::Star)? { Selection::All } else { Selection::Columns(self.list(Self::selector)?) };
        self.expect_word("from")?;
        let table = self.table_name()?;
        if !self.accept_word("where")? {
            return Err(self.unexpected("WHERE"));
        }
        let relations = self.relations()?;
        let limit = if self.is_word("limit") { Some(self.limit()?) } else { None };
        Ok(Select { selection, table, relations, clauses: Clauses::default(), limit, at })
    }

    /// The SELECT of a transaction: rows of a table, or a list of references. What follows the list tells which.
    pub(super) fn returning(&mut self) -> Result<Returning, Error> {
        let at = self.token.at;
        self.expect_word("select")?;
        if self.is(Symbol::Star) || self.is_modifier() {
            let selection = self.selection()?;
            self.expect_word("from")?;
            return self.select_rest(selection, at).map(Returning::Select);
        }
        let items = self.list(|parser| {
            let selector = parser.selector()?;
            let field = match &selector.part {
                Some(crate::ast::Part::Field(name)) if selector.function.is_none() => name.clone(),
                _ => return Ok((selector.clone(), None, parser.alias()?)),
            };
            let part = parser.part()?;
            let reference = Reference { name: selector.column.clone(), column: Some(field), part };
            Ok((selector, Some(reference), parser.alias()?))
        })?;
        let is_plain = |selector: &Selector| selector.function.is_none() && selector.part.is_none();
        let are_references = items
            .iter()
            .all(|(selector, reference, alias)| alias.is_none() && (reference.is_some() || is_plain(selector)));
        if self.is(Symbol::Semicolon) && are_references {
            let row = |selector: Selector| Reference { name: selector.column, column: None, part: None };
            let references =
                items.into_iter().map(|(selector, reference, _)| reference.unwrap_or_else(|| row(selector)));
            return Ok(Returning::References(references.collect(), at));
        }
        self.expect_word("from")?;
        if let Some(reference) = items.iter().find_map(|(_, reference, _)| reference.as_ref()) {
            let message = "a SELECT with FROM names columns of its table, not references";
            return Err(Error::syntax(reference.name.at, message));
        }
        let columns = items.into_iter().map(|(selector, _, alias)| Selector { alias, ..selector });
        self.select_rest(Selection::Columns(columns.collect()), at).map(Returning::Select)
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
        let selector = |parser: &mut Self| Ok(Selector { alias: None, ..parser.selector()? });
        self.list(|parser| {
            let selector = selector(parser)?;
            Ok(Selector { alias: parser.alias()?, ..selector })
        })
        .map(Selection::Columns)
    }

    /// A column, a part of one, or a function of one.
    fn selector(&mut self) -> Result<Selector, Error> {
        if self.token.kind == Kind::Word && self.second().0 == Kind::Symbol(Symbol::Open) {
            return self.function();
        }
        if matches!(self.token.kind, Kind::Integer | Kind::Text | Kind::Symbol(Symbol::Question | Symbol::Colon)) {
            return Err(self.not_offered("selecting a constant"));
        }
        let column = self.name("a column")?;
        // A dot may also belong to a reference, whose column may have a part of its own.
        let part = if self.accept(Symbol::Dot)? {
            Some(crate::ast::Part::Field(self.name("a column or field")?))
        } else {
            self.part()?
        };
        Ok(Selector { function: None, column, part, alias: None })
    }

    fn function(&mut self) -> Result<Selector, Error> {
        let Some(function) = Function::ALL.into_iter().find(|function| self.is_word(function.name())) else {
            return Err(self.not_offered("a function"));
        };
        self.advance()?;
        self.expect(Symbol::Open)?;
        let is_one = self.token.kind == Kind::Integer && self.slice() == "1";
        let column = if function == Function::Count && (self.is(Symbol::Star) || is_one) {
            Name { text: "*".to_owned(), at: self.advance()?.at }
        } else {
            self.name("a column")?
        };
        self.expect(Symbol::Close)?;
        Ok(Selector { function: Some(function), column, part: None, alias: None })
    }

    fn alias(&mut self) -> Result<Option<Name>, Error> {
        if self.accept_word("as")? { self.name("a result column").map(Some) } else { Ok(None) }
    }

    fn select_rest(&mut self, selection: Selection, at: At) -> Result<Select, Error> {
        let table: TableName = self.table_name()?;
        let relations = if self.accept_word("where")? { self.relations()? } else { Vec::new() };
        let mut clauses = Clauses::default();
        if self.accept_word("group")? {
            self.expect_word("by")?;
            clauses.group_by = self.list(|parser| parser.name("a column"))?;
        }
        if self.accept_word("order")? {
            self.expect_word("by")?;
            clauses.order_by = self.list(|parser| Ok((parser.name("a column")?, parser.descends()?)))?;
        }
        if self.is_word("per") {
            return Err(self.not_offered("PER PARTITION LIMIT"));
        }
        let limit = if self.is_word("limit") { Some(self.limit()?) } else { None };
        if self.accept_word("allow")? {
            self.expect_word("filtering")?;
            clauses.allow_filtering = true;
        }
        Ok(Select { selection, table, relations, clauses, limit, at })
    }

    fn limit(&mut self) -> Result<Term, Error> {
        self.expect_word("limit")?;
        match self.token.kind {
            Kind::Integer | Kind::Symbol(Symbol::Question | Symbol::Colon) => self.term(),
            _ => Err(self.unexpected("a number or a bind marker after LIMIT")),
        }
    }

    /// The restrictions after WHERE.
    pub(super) fn relations(&mut self) -> Result<Vec<Relation>, Error> {
        let mut relations = Vec::new();
        loop {
            self.room_for_one_more(relations.len())?;
            if self.second().1.eq_ignore_ascii_case("between") {
                self.between(&mut relations)?;
            } else {
                relations.push(self.relation()?);
            }
            if !self.accept_word("and")? {
                return Ok(relations);
            }
        }
    }

    /// `column BETWEEN low AND high`: the same as `column >= low AND column <= high`.
    fn between(&mut self, relations: &mut Vec<Relation>) -> Result<(), Error> {
        let column = self.name("a column")?;
        self.expect_word("between")?;
        let low = RelationTest::Compare(Comparison::Ge, self.term()?);
        self.expect_word("and")?;
        let high = RelationTest::Compare(Comparison::Le, self.term()?);
        relations.push(Relation { column: column.clone(), test: low });
        relations.push(Relation { column, test: high });
        Ok(())
    }

    fn relation(&mut self) -> Result<Relation, Error> {
        if self.is_word("token") {
            return self.token_relation();
        }
        if self.is(Symbol::Open) {
            return Err(self.not_offered("a restriction on several columns or in brackets"));
        }
        let column = self.name("a column")?;
        if self.is(Symbol::OpenSquare) || self.is_word("contains") {
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

    /// `token(columns) op value`, where the value may be `token(values)`: checked, and remembered as what it is.
    fn token_relation(&mut self) -> Result<Relation, Error> {
        self.expect_word("token")?;
        self.expect(Symbol::Open)?;
        let columns = self.list(|parser| parser.name("a column"))?;
        self.expect(Symbol::Close)?;
        self.comparison()?;
        if self.accept_word("token")? {
            self.expect(Symbol::Open)?;
            self.list(Self::term)?;
            self.expect(Symbol::Close)?;
        } else {
            self.term()?;
        }
        let first = columns.into_iter().next();
        let column = first.ok_or_else(|| self.unexpected("a column"))?;
        Ok(Relation { column, test: RelationTest::Token })
    }
}
