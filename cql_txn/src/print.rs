//! Statements back to text: one line, keywords in capitals, names quoted only where they must be.

mod ddl;
#[cfg(test)]
mod laws;

use crate::ast::{
    Assignment, AssignmentOp, Batch, Clauses, Condition, ConditionTest, Delete, Insert, Marker, Mutation, Name,
    Operand, Part, Reference, Relation, RelationTest, Returning, RowCondition, RowConditionKind, Select, Selection,
    Selector, Statement, StatementKind, TableName, Term, TermKind, Transaction, Update, Using,
};
use crate::keyword;
use std::fmt::{self, Display, Formatter};

/// A text that parses to the same statement, whatever layout it had.
impl Display for Statement {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        Printer { f, markers: &self.markers }.statement(&self.kind)
    }
}

struct Printer<'p, 'f> {
    f: &'p mut Formatter<'f>,
    markers: &'p [Marker],
}

impl Printer<'_, '_> {
    fn text(&mut self, text: &str) -> fmt::Result {
        self.f.write_str(text)
    }

    /// `items` with `between` them.
    fn each<T>(&mut self, items: &[T], between: &str, print: impl Fn(&mut Self, &T) -> fmt::Result) -> fmt::Result {
        for (position, item) in items.iter().enumerate() {
            if position > 0 {
                self.text(between)?;
            }
            print(self, item)?;
        }
        Ok(())
    }

    fn statement(&mut self, kind: &StatementKind) -> fmt::Result {
        match kind {
            StatementKind::Use(name) => {
                self.text("USE ")?;
                self.name(name)
            }
            StatementKind::CreateKeyspace(create) => {
                self.text(if create.if_not_exists { "CREATE KEYSPACE IF NOT EXISTS " } else { "CREATE KEYSPACE " })?;
                self.name(&create.name)?;
                self.options(" WITH ", &create.options)
            }
            StatementKind::DropKeyspace(drop) => {
                self.text(if drop.if_exists { "DROP KEYSPACE IF EXISTS " } else { "DROP KEYSPACE " })?;
                self.name(&drop.name)
            }
            StatementKind::CreateTable(create) => self.create_table(create),
            StatementKind::DropTable(drop) => {
                self.text(if drop.if_exists { "DROP TABLE IF EXISTS " } else { "DROP TABLE " })?;
                self.table(&drop.table)
            }
            StatementKind::AlterTable(alter) => self.alter_table(alter),
            StatementKind::Truncate(table) => {
                self.text("TRUNCATE ")?;
                self.table(table)
            }
            StatementKind::CreateType(create) => self.create_type(create),
            StatementKind::DropType(drop) => {
                self.text(if drop.if_exists { "DROP TYPE IF EXISTS " } else { "DROP TYPE " })?;
                self.table(&drop.table)
            }
            StatementKind::Batch(batch) => self.batch(batch),
            StatementKind::Select(select) => self.select(select),
            StatementKind::Mutation(mutation) => self.mutation(mutation),
            StatementKind::Transaction(transaction) => self.transaction(transaction),
        }
    }

    fn name(&mut self, name: &Name) -> fmt::Result {
        let text = &name.text;
        let is_plain = text.starts_with(|first: char| first.is_ascii_lowercase())
            && text.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_')
            && !keyword::is_reserved(text)
            && !matches!(&**text, "true" | "false");
        if is_plain { self.text(text) } else { write!(self.f, "\"{}\"", text.replace('"', "\"\"")) }
    }

    fn table(&mut self, table: &TableName) -> fmt::Result {
        if let Some(keyspace) = &table.keyspace {
            self.name(keyspace)?;
            self.text(".")?;
        }
        self.name(&table.name)
    }

    fn string(&mut self, text: &str) -> fmt::Result {
        write!(self.f, "'{}'", text.replace('\'', "''"))
    }

    fn term(&mut self, term: &Term) -> fmt::Result {
        match &term.kind {
            TermKind::Null => self.text("null"),
            TermKind::Integer(digits) | TermKind::Float(digits) | TermKind::Uuid(digits) => self.text(digits),
            TermKind::Blob(bytes) => {
                self.text("0x")?;
                bytes.iter().try_for_each(|byte| write!(self.f, "{byte:02x}"))
            }
            TermKind::List(terms) => self.bracketed("[", terms, "]", Self::term),
            TermKind::Set(terms) => self.bracketed("{", terms, "}", Self::term),
            TermKind::Tuple(terms) => self.bracketed("(", terms, ")", Self::term),
            TermKind::Map(entries) => self.bracketed("{", entries, "}", |printer, (key, value)| {
                printer.term(key)?;
                printer.text(": ")?;
                printer.term(value)
            }),
            TermKind::Fields(fields) => self.bracketed("{", fields, "}", |printer, (name, value)| {
                printer.name(name)?;
                printer.text(": ")?;
                printer.term(value)
            }),
            TermKind::Text(text) => self.string(text),
            TermKind::Boolean(value) => write!(self.f, "{value}"),
            TermKind::Marker(index) => {
                match self.markers.get(usize::from(*index)).and_then(|marker| marker.name.clone()) {
                    Some(text) => {
                        self.text(":")?;
                        self.name(&Name { text, at: term.at })
                    }
                    None => self.text("?"),
                }
            }
        }
    }

    fn bracketed<T>(
        &mut self,
        open: &str,
        items: &[T],
        close: &str,
        print: impl Fn(&mut Self, &T) -> fmt::Result,
    ) -> fmt::Result {
        self.text(open)?;
        self.each(items, ", ", print)?;
        self.text(close)
    }

    fn reference(&mut self, reference: &Reference) -> fmt::Result {
        self.name(&reference.name)?;
        let Some(column) = &reference.column else { return Ok(()) };
        self.text(".")?;
        self.name(column)?;
        self.part(reference.part.as_ref())
    }

    fn part(&mut self, part: Option<&Part>) -> fmt::Result {
        match part {
            None => Ok(()),
            Some(Part::Element(term)) => {
                self.text("[")?;
                self.term(term)?;
                self.text("]")
            }
            Some(Part::Field(name)) => {
                self.text(".")?;
                self.name(name)
            }
        }
    }

    fn operand(&mut self, operand: &Operand) -> fmt::Result {
        match operand {
            Operand::Term(term) => self.term(term),
            Operand::Reference(reference) => self.reference(reference),
        }
    }

    fn select(&mut self, select: &Select) -> fmt::Result {
        self.text("SELECT ")?;
        match &select.selection {
            Selection::All => self.text("*")?,
            Selection::Columns(columns) => self.each(columns, ", ", Self::selector)?,
        }
        self.text(" FROM ")?;
        self.table(&select.table)?;
        self.relations(&select.relations)?;
        self.clauses(&select.clauses)?;
        let allowed = if select.clauses.allow_filtering { " ALLOW FILTERING" } else { "" };
        self.limit(select.limit.as_ref())?;
        self.text(allowed)
    }

    fn clauses(&mut self, clauses: &Clauses) -> fmt::Result {
        if !clauses.group_by.is_empty() {
            self.text(" GROUP BY ")?;
            self.each(&clauses.group_by, ", ", Self::name)?;
        }
        if !clauses.order_by.is_empty() {
            self.text(" ORDER BY ")?;
            self.each(&clauses.order_by, ", ", Self::ordered)?;
        }
        Ok(())
    }

    fn ordered(&mut self, (column, descends): &(Name, bool)) -> fmt::Result {
        self.name(column)?;
        self.text(if *descends { " DESC" } else { " ASC" })
    }

    fn limit(&mut self, limit: Option<&Term>) -> fmt::Result {
        let Some(limit) = limit else { return Ok(()) };
        self.text(" LIMIT ")?;
        self.term(limit)
    }

    fn selector(&mut self, selector: &Selector) -> fmt::Result {
        match selector.function {
            Some(function) => {
                write!(self.f, "{}(", function.name())?;
                if selector.column.text == "*" {
                    self.text("*")?
                } else {
                    self.name(&selector.column)?
                }
                self.text(")")?;
            }
            None => self.name(&selector.column)?,
        }
        self.part(selector.part.as_ref())?;
        let Some(alias) = &selector.alias else { return Ok(()) };
        self.text(" AS ")?;
        self.name(alias)
    }

    fn relations(&mut self, relations: &[Relation]) -> fmt::Result {
        if relations.is_empty() {
            return Ok(());
        }
        self.text(" WHERE ")?;
        self.each(relations, " AND ", |printer, relation| {
            if relation.test == RelationTest::Token {
                printer.text("token(")?;
                printer.name(&relation.column)?;
                return printer.text(") > 0");
            }
            printer.name(&relation.column)?;
            match &relation.test {
                RelationTest::Token => Ok(()),
                RelationTest::Compare(comparison, term) => {
                    write!(printer.f, " {} ", comparison.symbol())?;
                    printer.term(term)
                }
                RelationTest::In(terms) => {
                    printer.text(" IN (")?;
                    printer.each(terms, ", ", Self::term)?;
                    printer.text(")")
                }
            }
        })
    }

    fn mutation(&mut self, mutation: &Mutation) -> fmt::Result {
        match mutation {
            Mutation::Insert(insert) => self.insert(insert),
            Mutation::Update(update) => self.update(update),
            Mutation::Delete(delete) => self.delete(delete),
        }
    }

    fn insert(&mut self, insert: &Insert) -> fmt::Result {
        self.text("INSERT INTO ")?;
        self.table(&insert.table)?;
        if let Some(json) = &insert.json {
            self.text(" JSON ")?;
            self.string(&json.text)?;
            self.text(if json.keeps_others { " DEFAULT UNSET" } else { "" })?;
            self.row_condition(insert.condition.as_ref())?;
            return self.using(&insert.using);
        }
        self.text(" (")?;
        self.each(&insert.values, ", ", |printer, (name, _)| printer.name(name))?;
        self.text(") VALUES (")?;
        self.each(&insert.values, ", ", |printer, (_, value)| printer.operand(value))?;
        self.text(")")?;
        self.row_condition(insert.condition.as_ref())?;
        self.using(&insert.using)
    }

    fn update(&mut self, update: &Update) -> fmt::Result {
        self.text("UPDATE ")?;
        self.table(&update.table)?;
        self.using(&update.using)?;
        self.text(" SET ")?;
        self.each(&update.assignments, ", ", Self::assignment)?;
        self.relations(&update.relations)?;
        self.row_condition(update.condition.as_ref())
    }

    fn assignment(&mut self, of: &Assignment) -> fmt::Result {
        self.name(&of.column)?;
        self.part(of.part.as_ref())?;
        self.text(match of.op {
            AssignmentOp::Add => " += ",
            AssignmentOp::Subtract => " -= ",
            AssignmentOp::Set | AssignmentOp::Prepend => " = ",
        })?;
        self.operand(&of.operand)?;
        if of.op != AssignmentOp::Prepend {
            return Ok(());
        }
        self.text(" + ")?;
        self.name(&of.column)
    }

    fn delete(&mut self, delete: &Delete) -> fmt::Result {
        self.text("DELETE ")?;
        self.each(&delete.columns, ", ", |printer, (name, part)| {
            printer.name(name)?;
            printer.part(part.as_ref())
        })?;
        self.text(if delete.columns.is_empty() { "FROM " } else { " FROM " })?;
        self.table(&delete.table)?;
        self.using(&delete.using)?;
        self.relations(&delete.relations)?;
        self.row_condition(delete.condition.as_ref())
    }

    fn using(&mut self, using: &Using) -> fmt::Result {
        let mut word = " USING ";
        for (name, term) in [("TIMESTAMP ", &using.timestamp), ("TTL ", &using.ttl)] {
            let Some(term) = term else { continue };
            self.text(word)?;
            self.text(name)?;
            self.term(term)?;
            word = " AND ";
        }
        Ok(())
    }

    fn row_condition(&mut self, condition: Option<&RowCondition>) -> fmt::Result {
        match condition.map(|condition| &condition.kind) {
            None => Ok(()),
            Some(RowConditionKind::NotExists) => self.text(" IF NOT EXISTS"),
            Some(RowConditionKind::Exists) => self.text(" IF EXISTS"),
            Some(RowConditionKind::Columns(tests)) => {
                self.text(" IF ")?;
                self.each(tests, " AND ", |printer, (column, comparison, term)| {
                    printer.name(column)?;
                    write!(printer.f, " {} ", comparison.symbol())?;
                    printer.term(term)
                })
            }
        }
    }

    fn batch(&mut self, of: &Batch) -> fmt::Result {
        self.text(if of.unlogged { "BEGIN UNLOGGED BATCH" } else { "BEGIN BATCH" })?;
        self.using(&of.using)?;
        for mutation in &of.mutations {
            self.text(" ")?;
            self.mutation(mutation)?;
            self.text(";")?;
        }
        self.text(" APPLY BATCH")
    }

    fn transaction(&mut self, of: &Transaction) -> fmt::Result {
        self.text("BEGIN TRANSACTION ")?;
        for clause in &of.lets {
            self.text("LET ")?;
            self.name(&clause.name)?;
            self.text(" = (")?;
            self.select(&clause.select)?;
            self.text("); ")?;
        }
        match &of.returning {
            None => {}
            Some(Returning::Select(select)) => {
                self.select(select)?;
                self.text("; ")?;
            }
            Some(Returning::References(references, _)) => {
                self.text("SELECT ")?;
                self.each(references, ", ", Self::reference)?;
                self.text("; ")?;
            }
        }
        if let Some(conditions) = &of.conditions {
            self.text("IF ")?;
            self.each(conditions, " AND ", Self::condition)?;
            self.text(" THEN ")?;
        }
        for mutation in &of.mutations {
            self.mutation(mutation)?;
            self.text("; ")?;
        }
        self.text(if of.conditions.is_some() { "END IF COMMIT TRANSACTION" } else { "COMMIT TRANSACTION" })
    }

    fn condition(&mut self, condition: &Condition) -> fmt::Result {
        self.reference(&condition.reference)?;
        match &condition.test {
            ConditionTest::Null => self.text(" IS NULL"),
            ConditionTest::NotNull => self.text(" IS NOT NULL"),
            ConditionTest::Compare(comparison, term) => {
                write!(self.f, " {} ", comparison.symbol())?;
                self.term(term)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::testing;

    #[test]
    fn a_printed_statement_parses_to_the_same_statement() {
        for text in [
            "use \"Mixed \"\"Case\"",
            "create keyspace if not exists k with replication = {'class': 'SimpleStrategy', 'it''s': 3} and durable_writes = true",
            "drop keyspace if exists k",
            "create table if not exists k.t (a int, b text static, c int, primary key ((a, b), c)) \
             with clustering order by (c desc) and comment = 'x' and compaction = {'class': 'y'}",
            "create table t (a int primary key)",
            "create table t (a int primary key, b set<frozen<list<text>>>, c map<text, tuple<int, person>>)",
            "create type if not exists k.person (height int, \"Age\" frozen<set<int>>)",
            "drop type if exists person",
            "alter table t add (x int, y list<int>)",
            "alter table if exists k.t drop x",
            "alter table t rename a to b and c to d",
            "alter table t with comment = 'x' and transactional_mode = 'full'",
            "truncate table t",
            "insert into t (a, b, c, d, e) values (1.5e3, 0xCAFE, 5b6962dd-3f90-4c93-8f61-eabfa4a803e2, -nan, infinity)",
            "insert into t (a, b, c, d, e, f) values ([1, [?]], {1, 2}, {'a': {x: 1}}, ('a', null), {}, {height: :h})",
            "insert into t json '{\"a\": 1}' default unset if not exists",
            "select count(*), count(a), min(b) as m, writetime(c), mp['x'], u.f from t where p = 1 \
             group by q order by q desc, r limit 3 allow filtering",
            "select a from t where token(a) > token(5)",
            "update t set li[0] = 1, u.f = 2, st += {1}, mp -= {'a'} where p = 1",
            "delete mp['a'], u.f, li[:i] from t where p = 1 and q > 2 and q <= 3",
            "begin unlogged batch using timestamp 5 insert into t (p) values (1) delete from t where p = 2; apply batch",
            "begin transaction let a = (select u, mp from t where p = 1); select a.u.f, a.mp[?]; if a.mp['x'] = 1 \
             and a.u.f is null then update t set w = a.mp['x'] where p = 1; end if commit transaction",
            "drop table t",
            "select * from t",
            "select a as b, \"select\" from k.t where p = 1 and q in (1, :x) and r >= 'it''s' limit ?",
            "insert into t (a, b, \"True\") values (1, null, true) if not exists using timestamp 5 and ttl ?",
            "update t using timestamp ? set a = 1, b = b + 2, c = c -2, d = 3 + d where p = 1 if a = 1 and b != null",
            "delete a, b from t using timestamp 4 where p = -1 if exists",
            "delete from t where p = $$a'b$$",
            "begin transaction let a = (select * from t where p = :\"P q\" limit 1); select a.w, a.\"Z\"; \
             if a is not null and 3 < a.w and a.w is null then update t set w += a.w where p = 1; \
             insert into t (p, w) values (1, a.w); delete from t where p = 2; end if apply transaction",
            "begin transaction select w as v from t where p = 1; commit transaction;",
        ] {
            let statement = crate::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
            let printed = statement.to_string();
            let again = crate::parse(&printed).unwrap_or_else(|error| panic!("{printed}: {error}"));
            assert_eq!(again.to_string(), printed);
            assert_eq!(without_places(&again), without_places(&statement));
        }
    }

    /// The tree with every place taken out.
    pub(super) fn without_places(statement: &crate::ast::Statement) -> String {
        let tree = format!("{statement:?}");
        let mut pieces = tree.split("At {");
        let first = pieces.next().unwrap_or_default().to_owned();
        pieces.fold(first, |tree, piece| tree + piece.split_once('}').map_or(piece, |(_, rest)| rest))
    }

    #[test]
    fn a_printed_transaction_binds_to_the_same_body() {
        let schema = testing::schema();
        for text in testing::SIMPLE_BANK {
            let printed = crate::parse(text).unwrap().to_string();
            assert_eq!(testing::bound(&schema, &printed), testing::bound(&schema, text));
        }
    }
}
