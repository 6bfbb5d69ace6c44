//! Constants, markers, comparisons and the references of a transaction.

use super::{LIST_MAX, Parser, unquote};
use crate::ast::{Comparison, Marker, Operand, Reference, Term, TermKind};
use crate::error::Error;
use crate::lexer::{Kind, Symbol};

impl Parser<'_> {
    pub(super) fn term(&mut self) -> Result<Term, Error> {
        let at = self.token.at;
        let kind = match self.token.kind {
            Kind::Symbol(Symbol::Question | Symbol::Colon) => return self.marker(),
            Kind::Integer => TermKind::Integer(self.slice().to_owned()),
            Kind::Text => TermKind::Text(unquote(self.slice(), '\'')),
            Kind::DollarText => TermKind::Text(self.slice()[2..self.slice().len() - 2].to_owned()),
            Kind::Word => self.word_term()?,
            Kind::Float | Kind::Blob | Kind::Uuid => return Err(self.not_offered("a constant of this type")),
            Kind::Symbol(Symbol::Open) => return Err(self.not_offered("a tuple, cast or bracketed value")),
            Kind::Symbol(Symbol::OpenSquare | Symbol::OpenCurly) => return Err(self.not_offered("a collection")),
            _ => return Err(self.unexpected("a value")),
        };
        self.advance()?;
        Ok(Term { kind, at })
    }

    fn word_term(&self) -> Result<TermKind, Error> {
        if self.is_word("null") {
            return Ok(TermKind::Null);
        }
        if self.is_word("true") || self.is_word("false") {
            return Ok(TermKind::Boolean(self.is_word("true")));
        }
        if self.second().0 == Kind::Symbol(Symbol::Open) {
            return Err(self.not_offered("a function"));
        }
        Err(self.unexpected("a value"))
    }

    fn marker(&mut self) -> Result<Term, Error> {
        let at = self.token.at;
        let name = if self.accept(Symbol::Question)? {
            None
        } else {
            self.expect(Symbol::Colon)?;
            Some(self.name("a bind marker")?.text)
        };
        let index = u16::try_from(self.markers.len()).ok().filter(|index| usize::from(*index) < LIST_MAX);
        let Some(index) = index else {
            return Err(Error::invalid(at, format!("a statement takes at most {LIST_MAX} bind markers")));
        };
        self.markers.push(Marker { name, at });
        Ok(Term { kind: TermKind::Marker(index), at })
    }

    /// Whether a name stands here rather than a constant.
    pub(super) fn at_name(&self) -> bool {
        match self.token.kind {
            Kind::QuotedName => true,
            Kind::Word => {
                let is_constant = ["true", "false", "null", "nan", "infinity"].iter().any(|word| self.is_word(word));
                !is_constant && self.second().0 != Kind::Symbol(Symbol::Open)
            }
            _ => false,
        }
    }

    pub(super) fn reference(&mut self) -> Result<Reference, Error> {
        let name = self.name("a LET")?;
        let column = if self.accept(Symbol::Dot)? { Some(self.name("a column")?) } else { None };
        if self.is(Symbol::OpenSquare) || self.is(Symbol::Dot) {
            return Err(self.not_offered("a reference to an element or field"));
        }
        Ok(Reference { name, column })
    }

    /// A term, or a reference where they are allowed.
    pub(super) fn operand(&mut self) -> Result<Operand, Error> {
        if !self.at_name() {
            return self.term().map(Operand::Term);
        }
        if !self.in_transaction {
            return Err(self.unexpected("a value"));
        }
        let reference = self.reference()?;
        if self.is(Symbol::Plus) || self.is(Symbol::Minus) {
            let message = "arithmetic on a reference is only possible with += and -=";
            return Err(Error::syntax(self.token.at, message));
        }
        Ok(Operand::Reference(reference))
    }

    pub(super) fn comparison(&mut self) -> Result<Comparison, Error> {
        let comparison = match self.token.kind {
            Kind::Symbol(Symbol::Eq) => Comparison::Eq,
            Kind::Symbol(Symbol::Ne) => Comparison::Ne,
            Kind::Symbol(Symbol::Lt) => Comparison::Lt,
            Kind::Symbol(Symbol::Le) => Comparison::Le,
            Kind::Symbol(Symbol::Gt) => Comparison::Gt,
            Kind::Symbol(Symbol::Ge) => Comparison::Ge,
            _ => return Err(self.unexpected("a comparison such as '='")),
        };
        self.advance()?;
        Ok(comparison)
    }
}
