//! Tokens to statements: recursive descent with one token of lookahead, and positions kept in the tree.
//!
//! The rules that call themselves (values, types) count their depth and stop at [`DEPTH_MAX`].
//! *Source*: [CQL 1.2, 2].

mod ddl;
mod mutation;
mod select;
mod term;
mod transaction;

use crate::ast::{Marker, Mutation, Name, Statement, StatementKind, TableName};
use crate::error::{At, Error};
use crate::keyword;
use crate::lexer::{Kind, Lexer, Symbol, Token};

/// Longest text that is parsed. *Units*: bytes.
pub const TEXT_MAX: usize = 16 << 20;

/// Longest list of anything in a text: columns, conditions, statements, markers.
const LIST_MAX: usize = 4096;

/// Deepest nesting of values and types.
const DEPTH_MAX: usize = 16;

/// Parses one statement, perhaps followed by semicolons.
///
/// *Errors*: [`crate::Class::Syntax`] where the text leaves the grammar, [`crate::Class::Invalid`] where it uses a part of CQL
/// that is not offered; both with line and column.
pub fn parse(text: &str) -> Result<Statement, Error> {
    if text.len() > TEXT_MAX {
        let message = format!("the statement has {} bytes; the longest accepted has {TEXT_MAX}", text.len());
        return Err(Error::invalid(At { line: 1, column: 1 }, message));
    }
    let mut parser = Parser::new(text)?;
    let kind = parser.statement()?;
    while parser.accept(Symbol::Semicolon)? {}
    if parser.token.kind != Kind::End {
        return Err(parser.unexpected("the end of the statement"));
    }
    Ok(Statement { kind, markers: parser.markers })
}

struct Parser<'a> {
    lexer: Lexer<'a>,
    token: Token,
    markers: Vec<Marker>,
    /// References are values only inside a transaction.
    in_transaction: bool,
    /// Brackets around this place.
    depth: usize,
}

impl<'a> Parser<'a> {
    fn new(text: &'a str) -> Result<Self, Error> {
        let mut lexer = Lexer::new(text);
        let token = lexer.next_token()?;
        Ok(Self { lexer, token, markers: Vec::new(), in_transaction: false, depth: 0 })
    }

    fn statement(&mut self) -> Result<StatementKind, Error> {
        if self.at_mutation() {
            return self.mutation().map(StatementKind::Mutation);
        }
        if self.is_word("select") {
            return self.select_statement().map(StatementKind::Select);
        }
        if self.is_word("begin") {
            return self.begin();
        }
        if self.accept_word("use")? {
            return self.name("a keyspace").map(StatementKind::Use);
        }
        if self.accept_word("create")? {
            return self.create();
        }
        if self.accept_word("drop")? {
            return self.drop();
        }
        if self.accept_word("alter")? {
            return self.alter();
        }
        if self.accept_word("truncate")? {
            self.accept_word("table")?;
            return self.table_name().map(StatementKind::Truncate);
        }
        const LATER: [&str; 6] = ["grant", "revoke", "list", "describe", "desc", "batch"];
        if LATER.iter().any(|word| self.is_word(word)) {
            return Err(self.not_offered("this statement"));
        }
        Err(self
            .unexpected("a statement such as SELECT, INSERT, UPDATE, DELETE, BEGIN TRANSACTION, CREATE, DROP or USE"))
    }

    fn at_mutation(&self) -> bool {
        self.is_word("insert") || self.is_word("update") || self.is_word("delete")
    }

    fn mutation(&mut self) -> Result<Mutation, Error> {
        if self.is_word("insert") {
            self.insert().map(Mutation::Insert)
        } else if self.is_word("update") {
            self.update().map(Mutation::Update)
        } else {
            self.delete().map(Mutation::Delete)
        }
    }

    fn slice(&self) -> &'a str {
        self.lexer.slice(self.token)
    }

    fn advance(&mut self) -> Result<Token, Error> {
        let next = self.lexer.next_token()?;
        Ok(std::mem::replace(&mut self.token, next))
    }

    /// The kind of the token after this one; a broken one counts as the end and is reported when it is reached.
    fn second(&self) -> (Kind, &'a str) {
        let mut ahead = self.lexer;
        ahead.next_token().map_or((Kind::End, ""), |token| (token.kind, ahead.slice(token)))
    }

    fn is(&self, symbol: Symbol) -> bool {
        self.token.kind == Kind::Symbol(symbol)
    }

    fn is_word(&self, word: &str) -> bool {
        self.token.kind == Kind::Word && self.slice().eq_ignore_ascii_case(word)
    }

    fn accept(&mut self, symbol: Symbol) -> Result<bool, Error> {
        let found = self.is(symbol);
        if found {
            self.advance()?;
        }
        Ok(found)
    }

    fn accept_word(&mut self, word: &str) -> Result<bool, Error> {
        let found = self.is_word(word);
        if found {
            self.advance()?;
        }
        Ok(found)
    }

    fn expect(&mut self, symbol: Symbol) -> Result<(), Error> {
        if self.accept(symbol)? { Ok(()) } else { Err(self.unexpected(&format!("'{}'", symbol.text()))) }
    }

    fn expect_word(&mut self, word: &str) -> Result<(), Error> {
        if self.accept_word(word)? { Ok(()) } else { Err(self.unexpected(&word.to_ascii_uppercase())) }
    }

    fn unexpected(&self, wanted: &str) -> Error {
        Error::syntax(self.token.at, format!("{wanted} expected, found {}", self.found()))
    }

    fn not_offered(&self, what: &str) -> Error {
        Error::invalid(self.token.at, format!("{what} is not supported yet (at {})", self.found()))
    }

    /// This token in words, cut to a readable length.
    fn found(&self) -> String {
        const SHOWN: usize = 40;
        let slice = self.slice();
        match slice.char_indices().nth(SHOWN) {
            None if self.token.kind == Kind::End => "the end of the text".to_owned(),
            None => format!("'{slice}'"),
            Some((end, _)) => format!("'{}…'", &slice[..end]),
        }
    }

    /// An identifier; `what` says in an error what it would have named.
    fn name(&mut self, what: &str) -> Result<Name, Error> {
        let text = match self.token.kind {
            Kind::Word if !keyword::is_reserved(self.slice()) => self.slice().to_ascii_lowercase(),
            Kind::Word => {
                let message = format!("the name of {what} expected, found the reserved word {}", self.found());
                return Err(Error::syntax(self.token.at, message));
            }
            Kind::QuotedName => unquote(self.slice(), '"'),
            _ => return Err(self.unexpected(&format!("the name of {what}"))),
        };
        let at = self.advance()?.at;
        if text.is_empty() {
            return Err(Error::syntax(at, format!("the name of {what} may not be empty")));
        }
        Ok(Name { text, at })
    }

    fn table_name(&mut self) -> Result<TableName, Error> {
        let first = self.name("a table")?;
        if !self.accept(Symbol::Dot)? {
            return Ok(TableName { keyspace: None, name: first });
        }
        Ok(TableName { keyspace: Some(first), name: self.name("a table")? })
    }

    /// One or more of `item`, separated by commas.
    fn list<T>(&mut self, item: impl Fn(&mut Self) -> Result<T, Error>) -> Result<Vec<T>, Error> {
        let mut items = vec![item(self)?];
        while self.accept(Symbol::Comma)? {
            self.room_for_one_more(items.len())?;
            items.push(item(self)?);
        }
        Ok(items)
    }

    fn room_for_one_more(&self, count: usize) -> Result<(), Error> {
        if count < LIST_MAX {
            return Ok(());
        }
        Err(Error::invalid(self.token.at, format!("more than {LIST_MAX} in one list; split the statement")))
    }
}

/// The inside of a quoted token, its doubled quotes made single.
fn unquote(slice: &str, quote: char) -> String {
    let inside = slice.get(1..slice.len().saturating_sub(1)).unwrap_or_default();
    if !inside.contains(quote) {
        return inside.to_owned();
    }
    inside.replace(if quote == '"' { "\"\"" } else { "''" }, if quote == '"' { "\"" } else { "'" })
}
