//! Constants, markers, comparisons and the references of a transaction.

use super::{DEPTH_MAX, LIST_MAX, Parser, unquote};
use crate::ast::{Comparison, Marker, Name, Operand, Part, Reference, Term, TermKind};
use crate::encoding::unhex;
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
            Kind::Float => TermKind::Float(self.slice().to_owned()),
            Kind::Uuid => TermKind::Uuid(self.slice().to_ascii_lowercase()),
            Kind::Blob => match unhex(&self.slice()[2..]) {
                Some(bytes) => TermKind::Blob(bytes),
                None => return Err(Error::syntax(at, "a blob has two hexadecimal digits for each byte")),
            },
            Kind::Symbol(Symbol::Open | Symbol::OpenSquare | Symbol::OpenCurly) => {
                self.depth += 1;
                if self.depth > DEPTH_MAX {
                    let message = format!("values nest deeper than {DEPTH_MAX} levels");
                    return Err(Error::syntax(at, message));
                }
                let kind = self.composite()?;
                self.depth -= 1;
                return Ok(Term { kind, at });
            }
            Kind::Symbol(Symbol::Minus) if self.second_is_word("nan") || self.second_is_word("infinity") => {
                self.advance()?;
                TermKind::Float(format!("-{}", self.slice().to_ascii_lowercase()))
            }
            _ => return Err(self.unexpected("a value")),
        };
        self.advance()?;
        Ok(Term { kind, at })
    }

    fn second_is_word(&self, word: &str) -> bool {
        let (kind, slice) = self.second();
        kind == Kind::Word && slice.eq_ignore_ascii_case(word)
    }

    /// A list, set, map, tuple or user type, from its bracket to its end.
    fn composite(&mut self) -> Result<TermKind, Error> {
        if self.accept(Symbol::OpenSquare)? {
            let items = if self.is(Symbol::CloseSquare) { Vec::new() } else { self.list(Self::term)? };
            self.expect(Symbol::CloseSquare)?;
            return Ok(TermKind::List(items));
        }
        if self.accept(Symbol::Open)? {
            let items = self.list(Self::term)?;
            self.expect(Symbol::Close)?;
            return Ok(TermKind::Tuple(items));
        }
        self.expect(Symbol::OpenCurly)?;
        let kind = if self.is(Symbol::CloseCurly) {
            TermKind::Set(Vec::new())
        } else if self.at_name() {
            TermKind::Fields(self.list(|parser| {
                let name: Name = parser.name("a field")?;
                parser.expect(Symbol::Colon)?;
                Ok((name, parser.term()?))
            })?)
        } else {
            self.set_or_map()?
        };
        self.expect(Symbol::CloseCurly)?;
        Ok(kind)
    }

    fn set_or_map(&mut self) -> Result<TermKind, Error> {
        let first = self.term()?;
        if !self.accept(Symbol::Colon)? {
            let mut items = vec![first];
            while self.accept(Symbol::Comma)? {
                self.room_for_one_more(items.len())?;
                items.push(self.term()?);
            }
            return Ok(TermKind::Set(items));
        }
        let mut entries = vec![(first, self.term()?)];
        while self.accept(Symbol::Comma)? {
            self.room_for_one_more(entries.len())?;
            let key = self.term()?;
            self.expect(Symbol::Colon)?;
            entries.push((key, self.term()?));
        }
        Ok(TermKind::Map(entries))
    }

    fn word_term(&self) -> Result<TermKind, Error> {
        if self.is_word("nan") || self.is_word("infinity") {
            return Ok(TermKind::Float(self.slice().to_ascii_lowercase()));
        }
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
        let part = if column.is_some() { self.part()? } else { None };
        Ok(Reference { name, column, part })
    }

    /// `[term]` or `.field`, one level deep.
    pub(super) fn part(&mut self) -> Result<Option<Part>, Error> {
        let part = if self.accept(Symbol::OpenSquare)? {
            let term = self.term()?;
            self.expect(Symbol::CloseSquare)?;
            Part::Element(term)
        } else if self.accept(Symbol::Dot)? {
            Part::Field(self.name("a field")?)
        } else {
            return Ok(None);
        };
        if self.is(Symbol::OpenSquare) || self.is(Symbol::Dot) {
            return Err(Error::syntax(self.token.at, "only one level of a value can be named: an element or a field"));
        }
        Ok(Some(part))
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
