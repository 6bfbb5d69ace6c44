//! CREATE and DROP of keyspaces and tables. *Source*: [CQL 2].

use super::{DEPTH_MAX, Parser, unquote};
use crate::ast::{
    AlterTable, Alteration, ColumnDefinition, CreateKeyspace, CreateTable, CreateType, DropKeyspace, DropTable, Name,
    OptionValue, PrimaryKey, StatementKind, TableOption, TypeName,
};
use crate::error::Error;
use crate::lexer::{Kind, Symbol};

impl Parser<'_> {
    /// After CREATE.
    pub(super) fn create(&mut self) -> Result<StatementKind, Error> {
        if self.accept_word("keyspace")? || self.accept_word("schema")? {
            return self.create_keyspace().map(StatementKind::CreateKeyspace);
        }
        if self.accept_word("table")? || self.accept_word("columnfamily")? {
            return self.create_table().map(StatementKind::CreateTable);
        }
        if self.accept_word("type")? {
            return self.create_type().map(StatementKind::CreateType);
        }
        Err(self.unless_unknown("KEYSPACE, TABLE or TYPE"))
    }

    /// After DROP.
    pub(super) fn drop(&mut self) -> Result<StatementKind, Error> {
        if self.accept_word("keyspace")? || self.accept_word("schema")? {
            let if_exists = self.if_exists()?;
            return Ok(StatementKind::DropKeyspace(DropKeyspace { name: self.name("a keyspace")?, if_exists }));
        }
        if self.accept_word("table")? || self.accept_word("columnfamily")? {
            let if_exists = self.if_exists()?;
            return Ok(StatementKind::DropTable(DropTable { table: self.table_name()?, if_exists }));
        }
        if self.accept_word("type")? {
            let if_exists = self.if_exists()?;
            return Ok(StatementKind::DropType(DropTable { table: self.table_name()?, if_exists }));
        }
        Err(self.unless_unknown("KEYSPACE, TABLE or TYPE"))
    }

    /// After ALTER.
    pub(super) fn alter(&mut self) -> Result<StatementKind, Error> {
        if !self.accept_word("table")? && !self.accept_word("columnfamily")? {
            return Err(match ["keyspace", "type", "role", "user"].iter().any(|word| self.is_word(word)) {
                true => self.not_offered("this statement"),
                false => self.unexpected("TABLE"),
            });
        }
        let if_exists = self.if_exists()?;
        let table = self.table_name()?;
        let change = if self.accept_word("add")? {
            let if_not_exists = self.if_not_exists()?;
            Alteration::Add { if_not_exists, columns: self.perhaps_bracketed(Self::column_definition)? }
        } else if self.accept_word("drop")? {
            Alteration::Drop(self.perhaps_bracketed(|parser| parser.name("a column"))?)
        } else if self.accept_word("rename")? {
            Alteration::Rename(self.renamings()?)
        } else if self.accept_word("with")? {
            let mut options = vec![self.option()?];
            while self.accept_word("and")? {
                self.room_for_one_more(options.len())?;
                options.push(self.option()?);
            }
            Alteration::With(options)
        } else {
            return Err(self.unexpected("ADD, DROP, RENAME or WITH"));
        };
        Ok(StatementKind::AlterTable(AlterTable { table, if_exists, change }))
    }

    fn renamings(&mut self) -> Result<Vec<(Name, Name)>, Error> {
        let mut renamings = Vec::new();
        loop {
            self.room_for_one_more(renamings.len())?;
            let from = self.name("a column")?;
            self.expect_word("to")?;
            renamings.push((from, self.name("a column")?));
            if !self.accept_word("and")? {
                return Ok(renamings);
            }
        }
    }

    fn perhaps_bracketed<T>(&mut self, item: impl Fn(&mut Self) -> Result<T, Error>) -> Result<Vec<T>, Error> {
        let bracketed = self.accept(Symbol::Open)?;
        let items = self.list(item)?;
        if bracketed {
            self.expect(Symbol::Close)?;
        }
        Ok(items)
    }

    fn create_type(&mut self) -> Result<CreateType, Error> {
        let if_not_exists = self.if_not_exists()?;
        let name = self.table_name()?;
        self.expect(Symbol::Open)?;
        let fields = self.list(|parser| Ok((parser.name("a field")?, parser.type_name()?)))?;
        self.expect(Symbol::Close)?;
        Ok(CreateType { name, if_not_exists, fields })
    }

    fn type_name(&mut self) -> Result<TypeName, Error> {
        let name = match self.is_word("set") {
            true => Name { text: "set".to_owned(), at: self.advance()?.at },
            false => self.name("a type")?,
        };
        let mut arguments = Vec::new();
        if self.accept(Symbol::Lt)? {
            self.depth += 1;
            if self.depth > DEPTH_MAX {
                return Err(Error::syntax(name.at, format!("types nest deeper than {DEPTH_MAX} levels")));
            }
            arguments = self.list(Self::type_name)?;
            self.expect(Symbol::Gt)?;
            self.depth -= 1;
        }
        Ok(TypeName { name, arguments })
    }

    fn unless_unknown(&self, wanted: &str) -> Error {
        const LATER: [&str; 9] =
            ["role", "user", "index", "function", "aggregate", "materialized", "trigger", "custom", "or"];
        if LATER.iter().any(|word| self.is_word(word)) {
            self.not_offered("this statement")
        } else {
            self.unexpected(wanted)
        }
    }

    fn if_exists(&mut self) -> Result<bool, Error> {
        if !self.accept_word("if")? {
            return Ok(false);
        }
        self.expect_word("exists").map(|()| true)
    }

    fn if_not_exists(&mut self) -> Result<bool, Error> {
        if !self.accept_word("if")? {
            return Ok(false);
        }
        self.expect_word("not")?;
        self.expect_word("exists").map(|()| true)
    }

    fn create_keyspace(&mut self) -> Result<CreateKeyspace, Error> {
        let if_not_exists = self.if_not_exists()?;
        let name = self.name("a keyspace")?;
        let mut options = Vec::new();
        if self.accept_word("with")? {
            options.push(self.option()?);
            while self.accept_word("and")? {
                self.room_for_one_more(options.len())?;
                options.push(self.option()?);
            }
        }
        Ok(CreateKeyspace { name, if_not_exists, options })
    }

    fn create_table(&mut self) -> Result<CreateTable, Error> {
        let if_not_exists = self.if_not_exists()?;
        let table = self.table_name()?;
        let (mut columns, mut primary_key) = (Vec::new(), None);
        self.expect(Symbol::Open)?;
        loop {
            self.room_for_one_more(columns.len())?;
            if self.is_word("primary") {
                let clause = self.primary_key()?;
                if primary_key.replace(clause).is_some() {
                    return Err(Error::syntax(self.token.at, "PRIMARY KEY is given twice"));
                }
            } else {
                columns.push(self.column_definition()?);
            }
            if !self.accept(Symbol::Comma)? {
                break;
            }
        }
        self.expect(Symbol::Close)?;
        let mut create =
            CreateTable { table, if_not_exists, columns, primary_key, clustering_order: vec![], options: vec![] };
        if self.accept_word("with")? {
            self.table_option(&mut create)?;
            while self.accept_word("and")? {
                self.room_for_one_more(create.options.len())?;
                self.table_option(&mut create)?;
            }
        }
        Ok(create)
    }

    fn column_definition(&mut self) -> Result<ColumnDefinition, Error> {
        let name = self.name("a column")?;
        let type_name = self.type_name()?;
        let is_static = self.accept_word("static")?;
        let is_primary_key = self.accept_word("primary")?;
        if is_primary_key {
            self.expect_word("key")?;
        }
        Ok(ColumnDefinition { name, type_name, is_static, is_primary_key })
    }

    fn primary_key(&mut self) -> Result<PrimaryKey, Error> {
        self.expect_word("primary")?;
        self.expect_word("key")?;
        self.expect(Symbol::Open)?;
        let column = |parser: &mut Self| parser.name("a column");
        let partition = if self.accept(Symbol::Open)? {
            let partition = self.list(column)?;
            self.expect(Symbol::Close)?;
            partition
        } else {
            vec![self.name("a column")?]
        };
        let clustering = if self.accept(Symbol::Comma)? { self.list(column)? } else { Vec::new() };
        self.expect(Symbol::Close)?;
        Ok(PrimaryKey { partition, clustering })
    }

    fn table_option(&mut self, create: &mut CreateTable) -> Result<(), Error> {
        if self.is_word("clustering") && self.second().1.eq_ignore_ascii_case("order") {
            self.advance()?;
            self.advance()?;
            self.expect_word("by")?;
            self.expect(Symbol::Open)?;
            let order = self.list(|parser| Ok((parser.name("a column")?, parser.descends()?)))?;
            create.clustering_order.extend(order);
            return self.expect(Symbol::Close);
        }
        if self.is_word("compact") {
            return Err(self.not_offered("COMPACT STORAGE"));
        }
        create.options.push(self.option()?);
        Ok(())
    }

    pub(super) fn descends(&mut self) -> Result<bool, Error> {
        let descends = self.accept_word("desc")?;
        if !descends {
            self.accept_word("asc")?;
        }
        Ok(descends)
    }

    fn option(&mut self) -> Result<TableOption, Error> {
        let name: Name = self.name("an option")?;
        self.expect(Symbol::Eq)?;
        if !self.accept(Symbol::OpenCurly)? {
            return Ok(TableOption { name, value: OptionValue::Scalar(self.option_constant()?) });
        }
        let mut entries = Vec::new();
        while !self.is(Symbol::CloseCurly) {
            self.room_for_one_more(entries.len())?;
            let key = self.option_constant()?;
            self.expect(Symbol::Colon)?;
            entries.push((key, self.option_constant()?));
            if !self.accept(Symbol::Comma)? {
                break;
            }
        }
        self.expect(Symbol::CloseCurly)?;
        Ok(TableOption { name, value: OptionValue::Map(entries) })
    }

    fn option_constant(&mut self) -> Result<String, Error> {
        let text = match self.token.kind {
            Kind::Text => unquote(self.slice(), '\''),
            Kind::Integer | Kind::Float => self.slice().to_owned(),
            Kind::Word if self.is_word("true") || self.is_word("false") => self.slice().to_ascii_lowercase(),
            _ => return Err(self.unexpected("a constant")),
        };
        self.advance()?;
        Ok(text)
    }
}
