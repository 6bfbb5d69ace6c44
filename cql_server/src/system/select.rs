//! A reader of `SELECT … FROM system….` : enough of the language for what drivers ask, and nothing else.
//!
//! Selectors are `*`, columns, `toJson(column)`, each with an alias; conditions are equalities of columns with literals or markers.

use super::tables::{self, Source, SystemColumn, SystemTable};
use crate::error::Error;
use crate::response::ColumnSpec;
use crate::wire::{Reader, beginning};
use crate::wire_type::{Cell, WireType, bigint, boolean, inet, int, text};
use cql_txn::Value;
use std::net::IpAddr;

/// Columns and conditions one statement may have.
const PARTS_MAX: usize = 100;
/// *Units*: bytes; a longer text is left to the language.
const TEXT_MAX_BYTES: usize = 16 << 10;

/// A statement over one system table.
pub(crate) struct SystemSelect {
    table: &'static SystemTable,
    selectors: Vec<Selector>,
    conditions: Vec<(usize, Operand)>,
    limit: Option<Operand>,
    markers: Vec<(Option<String>, WireType, &'static str)>,
}

struct Selector {
    column: usize,
    as_json: bool,
    name: String,
}

/// The conditions of one run.
pub(crate) struct Wanted {
    equal: Vec<(usize, Cell)>,
    limit: usize,
}

enum Operand {
    Literal(Vec<u8>),
    Marker(usize),
}

impl SystemSelect {
    /// Reads `text`; `None` if it is no SELECT from a system keyspace, so that the language must have it.
    pub(crate) fn parse(statement: &str, keyspace: Option<&str>) -> Option<Result<Self, Error>> {
        let mut scan = Scan { rest: statement };
        if statement.len() > TEXT_MAX_BYTES || !scan.word("select") {
            return None;
        }
        let selected = scan.clone();
        while !scan.word("from") {
            scan.next_token()?;
        }
        let first = scan.name()?;
        let (keyspace, name) = match scan.symbol('.') {
            true => (first, scan.name()?),
            false => (keyspace?.to_owned(), first),
        };
        tables::is_system_keyspace(&keyspace).then(|| Self::parse_parts(selected, scan, &keyspace, &name))
    }

    fn parse_parts(mut selected: Scan<'_>, mut scan: Scan<'_>, keyspace: &str, name: &str) -> Result<Self, Error> {
        let table = tables::find(keyspace, name)
            .ok_or_else(|| Error::Invalid(format!("table {keyspace}.{name} does not exist")))?;
        let selectors = selectors(&mut selected, table)?;
        let mut select = Self { table, selectors, conditions: Vec::new(), limit: None, markers: Vec::new() };
        let mut has_more = scan.word("where");
        while has_more {
            let column = column_of(table, &scan.name().ok_or_else(|| unreadable(&scan))?)?;
            if !scan.symbol('=') {
                return Err(Error::Invalid(format!("system tables take '=' only, before {:?}", scan.shown())));
            }
            let SystemColumn { name, ty, .. } = table.columns[column];
            let operand = select.operand(&mut scan, ty, name)?;
            select.conditions.push((column, operand));
            has_more = scan.word("and") && select.conditions.len() < PARTS_MAX;
        }
        if scan.word("limit") {
            select.limit = Some(select.operand(&mut scan, WireType::INT, "[limit]")?);
        }
        let _ = scan.word("allow") && scan.word("filtering");
        while scan.symbol(';') {}
        if scan.next_token().is_some() { Err(unreadable(&scan)) } else { Ok(select) }
    }

    fn operand(&mut self, scan: &mut Scan<'_>, ty: WireType, column: &'static str) -> Result<Operand, Error> {
        let token = scan.next_token().ok_or_else(|| unreadable(scan))?;
        let name = match token {
            Token::Symbol('?') => None,
            Token::Symbol(':') => Some(scan.name().ok_or_else(|| unreadable(scan))?),
            literal => return literal_bytes(literal, ty, column).map(Operand::Literal),
        };
        self.markers.push((name, ty, column));
        Ok(Operand::Marker(self.markers.len() - 1))
    }

    /// The columns of its result.
    pub(crate) fn columns(&self) -> Vec<ColumnSpec<'_>> {
        let type_of = |selector: &Selector| match selector.as_json {
            true => WireType::TEXT,
            false => self.table.columns[selector.column].ty,
        };
        self.selectors.iter().map(|selector| self.spec(&selector.name, type_of(selector))).collect()
    }

    fn spec<'a>(&self, name: &'a str, ty: WireType) -> ColumnSpec<'a> {
        ColumnSpec { keyspace: self.table.keyspace, table: self.table.name, name, ty: ty.into() }
    }

    /// Its markers, in text order.
    pub(crate) fn markers(&self) -> Vec<ColumnSpec<'_>> {
        self.markers.iter().map(|(name, ty, column)| self.spec(name.as_deref().unwrap_or(column), *ty)).collect()
    }

    /// Where the rows come from.
    pub(crate) fn source(&self) -> Source {
        self.table.source
    }

    /// The columns of its table.
    pub(super) fn table_columns(&self) -> &'static [SystemColumn] {
        self.table.columns
    }

    /// Conditions and limit with their values.
    ///
    /// *Errors*: Invalid if a marker is null or not set.
    pub(crate) fn bind(&self, values: &[Value<'_>]) -> Result<Wanted, Error> {
        if values.len() != self.markers.len() {
            let (given, wanted) = (values.len(), self.markers.len());
            return Err(Error::Invalid(format!("{given} values for {wanted} markers")));
        }
        let bytes_of = |operand: &'_ Operand| -> Result<Vec<u8>, Error> {
            match operand {
                Operand::Literal(bytes) => Ok(bytes.clone()),
                Operand::Marker(index) => match values[*index] {
                    Value::Bytes(bytes) => Ok(bytes.to_vec()),
                    _ => Err(Error::Invalid("null or not set in a condition".into())),
                },
            }
        };
        let mut equal = Vec::new();
        for (column, operand) in &self.conditions {
            equal.push((*column, Some(bytes_of(operand)?)));
        }
        let limit = self.limit.as_ref().map(bytes_of).transpose()?;
        let limit = limit.map_or(Ok(i32::MAX), |bytes| Reader::new(&bytes).i32("LIMIT"))?;
        let limit = usize::try_from(limit).map_err(|_| Error::Invalid("LIMIT is negative".into()))?;
        Ok(Wanted { equal, limit })
    }

    /// Those of all rows that are wanted, with the cells selected.
    pub(crate) fn pick(&self, wanted: &Wanted, rows: Vec<Vec<Cell>>) -> Vec<Vec<Cell>> {
        let matching = rows.into_iter().filter(|row| wanted.equal.iter().all(|(i, want)| row[*i] == *want));
        matching.take(wanted.limit).map(|row| self.project(&row)).collect()
    }

    fn project(&self, row: &[Cell]) -> Vec<Cell> {
        let cell = |selector: &Selector| {
            let cell = row[selector.column].clone();
            if selector.as_json { cell.and_then(|bytes| text_map_as_json(&bytes)) } else { cell }
        };
        self.selectors.iter().map(cell).collect()
    }
}

fn column_of(table: &SystemTable, name: &str) -> Result<usize, Error> {
    let found = table.columns.iter().position(|column| column.name == name);
    found.ok_or_else(|| Error::Invalid(format!("table {}.{} has no column {name}", table.keyspace, table.name)))
}

fn selectors(scan: &mut Scan<'_>, table: &SystemTable) -> Result<Vec<Selector>, Error> {
    if scan.symbol('*') {
        let all = table.columns.iter().enumerate();
        let all = all.map(|(column, of)| Selector { column, as_json: false, name: of.name.to_owned() }).collect();
        return if scan.word("from") { Ok(all) } else { Err(unreadable(scan)) };
    }
    let _ = scan.word("distinct");
    let mut selectors = Vec::new();
    while selectors.len() < PARTS_MAX {
        let first = scan.name().ok_or_else(|| unreadable(scan))?;
        let as_json = matches!(first.as_str(), "tojson" | "to_json") && scan.symbol('(');
        let name = if as_json { scan.name().ok_or_else(|| unreadable(scan))? } else { first };
        let column = column_of(table, &name)?;
        if as_json && (!scan.symbol(')') || table.columns[column].ty != WireType::TEXT_MAP) {
            return Err(Error::Invalid("toJson is known for columns of type map<text, text> only".into()));
        }
        let shown = if as_json { format!("system.tojson({name})") } else { name };
        let name = if scan.word("as") { scan.name().ok_or_else(|| unreadable(scan))? } else { shown };
        selectors.push(Selector { column, as_json, name });
        if !scan.symbol(',') {
            return if scan.word("from") { Ok(selectors) } else { Err(unreadable(scan)) };
        }
    }
    Err(Error::Invalid(format!("more than {PARTS_MAX} selectors")))
}

fn unreadable(scan: &Scan<'_>) -> Error {
    Error::Syntax(format!("system tables are read by simple SELECTs only; not understood before {:?}", scan.shown()))
}

fn literal_bytes(literal: Token<'_>, ty: WireType, column: &str) -> Result<Vec<u8>, Error> {
    let cell = match (&literal, ty) {
        (Token::Text(value), WireType::TEXT) => text(value),
        (Token::Text(value), WireType::INET) => value.parse::<IpAddr>().ok().and_then(inet),
        (Token::Word(digits), WireType::INT) => digits.parse::<i32>().ok().and_then(int),
        (Token::Word(digits), WireType::BIGINT) => digits.parse::<i64>().ok().and_then(bigint),
        (Token::Word(word), WireType::BOOLEAN) => word.to_ascii_lowercase().parse::<bool>().ok().and_then(boolean),
        _ => None,
    };
    cell.ok_or_else(|| Error::Invalid(format!("column {column} of type {} does not take this value", ty.cql_name())))
}

/// `{"key": "value", …}`; `None` if the bytes are no map of text.
fn text_map_as_json(bytes: &[u8]) -> Cell {
    let mut reader = Reader::new(bytes);
    let mut parts = Vec::new();
    for _ in 0..reader.i32("map").ok()? {
        let mut quoted = || Some(format!("{:?}", std::str::from_utf8(reader.bytes("entry").ok()??).ok()?));
        parts.push(format!("{}: {}", quoted()?, quoted()?));
    }
    text(format!("{{{}}}", parts.join(", ")))
}

/// A position in the text.
#[derive(Clone)]
struct Scan<'a> {
    rest: &'a str,
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum Token<'a> {
    /// Letters, digits, `_`, or a number with its sign.
    Word(&'a str),
    /// `"…"`
    Quoted(String),
    /// `'…'`
    Text(String),
    Symbol(char),
}

impl<'a> Scan<'a> {
    fn shown(&self) -> &'a str {
        beginning(self.rest, 20)
    }

    fn skip_blanks(&mut self) {
        loop {
            self.rest = self.rest.trim_start();
            let ends = [("--", "\n"), ("//", "\n"), ("/*", "*/")];
            let Some((start, end)) = ends.into_iter().find(|(start, _)| self.rest.starts_with(start)) else { return };
            let body = &self.rest[start.len()..];
            self.rest = body.find(end).map_or("", |at| &body[at + end.len()..]);
        }
    }

    fn next_token(&mut self) -> Option<Token<'a>> {
        self.skip_blanks();
        let first = self.rest.chars().next()?;
        if first == '\'' || first == '"' {
            let (content, rest) = quoted(self.rest, first)?;
            self.rest = rest;
            return Some(if first == '"' { Token::Quoted(content) } else { Token::Text(content) });
        }
        let is_part = |c: char| c.is_alphanumeric() || c == '_';
        let is_number = first == '-' && self.rest[1..].starts_with(|c: char| c.is_ascii_digit());
        let from = usize::from(is_number);
        let len = self.rest[from..].find(|c| !is_part(c)).map_or(self.rest.len(), |len| len + from);
        if len == 0 {
            self.rest = &self.rest[first.len_utf8()..];
            return Some(Token::Symbol(first));
        }
        let (word, rest) = self.rest.split_at(len);
        self.rest = rest;
        Some(Token::Word(word))
    }

    fn accept(&mut self, wanted: impl FnOnce(&Token<'a>) -> bool) -> bool {
        let mut ahead = self.clone();
        let is_next = ahead.next_token().as_ref().is_some_and(wanted);
        if is_next {
            *self = ahead;
        }
        is_next
    }

    fn word(&mut self, word: &str) -> bool {
        self.accept(|token| matches!(token, Token::Word(next) if next.eq_ignore_ascii_case(word)))
    }

    fn symbol(&mut self, symbol: char) -> bool {
        self.accept(|token| *token == Token::Symbol(symbol))
    }

    fn name(&mut self) -> Option<String> {
        match self.next_token()? {
            Token::Word(word) => Some(word.to_ascii_lowercase()),
            Token::Quoted(name) => Some(name),
            _ => None,
        }
    }
}

/// The content between `quote`s, doubled ones undone, and what follows.
fn quoted(text: &str, quote: char) -> Option<(String, &str)> {
    let mut content = String::new();
    let mut rest = &text[1..];
    loop {
        let end = rest.find(quote)?;
        content.push_str(&rest[..end]);
        rest = &rest[end + 1..];
        match rest.strip_prefix(quote) {
            Some(after) => {
                content.push(quote);
                rest = after;
            }
            None => return Some((content, rest)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::rows::tests::with_view;
    use super::*;
    use proptest::prelude::*;

    fn run(statement: &str, values: &[Value<'_>]) -> Result<Vec<Vec<Cell>>, Error> {
        let select = SystemSelect::parse(statement, None).expect("a system table")?;
        let wanted = select.bind(values)?;
        let Source::Port(rows) = select.source() else { panic!("rows of the node") };
        Ok(with_view(|view| select.pick(&wanted, rows(view))))
    }

    fn names(statement: &str) -> Vec<String> {
        let select = SystemSelect::parse(statement, None).expect("a system table").expect("valid");
        select.columns().iter().map(|column| column.name.to_owned()).collect()
    }

    #[test]
    fn user_tables_are_left_to_the_language() {
        assert!(SystemSelect::parse("SELECT * FROM ks.system", None).is_none());
        assert!(SystemSelect::parse("UPDATE system.local SET x = 1", None).is_none());
        assert!(SystemSelect::parse("SELECT a.b, c.d", None).is_none());
        assert!(SystemSelect::parse("SELECT * FROM local", Some("ks")).is_none());
        assert!(SystemSelect::parse("SELECT * FROM local", Some("system")).is_some());
    }

    #[test]
    fn condition_on_the_key_takes_literals_and_markers() {
        assert_eq!(run("SELECT key FROM system.local WHERE key='local'", &[]), Ok(vec![vec![text("local")]]));
        assert_eq!(run("select KEY from System.Local where KEY = 'other';", &[]), Ok(vec![]));
        let marked = "SELECT * FROM system.peers_v2 WHERE peer = :address and peer_port = :port";
        let values = [Value::Bytes(&[10, 0, 0, 2]), Value::Bytes(&[0, 0, 0x1b, 0x58])];
        assert_eq!(run(marked, &values).map(|rows| rows.len()), Ok(1));
        assert!(run(marked, &values[..1]).is_err() && run(marked, &[Value::Null, Value::NotSet]).is_err());
        assert_eq!(run("SELECT rack FROM system.peers WHERE peer = '10.0.0.2'", &[]), Ok(vec![vec![text("r1")]]));
    }

    #[test]
    fn columns_come_as_selected() {
        assert_eq!(names("SELECT host_id, peer AS p FROM system.peers"), ["host_id", "p"]);
        assert_eq!(names("SELECT * FROM system_virtual_schema.keyspaces"), ["keyspace_name"]);
        let json = "SELECT keyspace_name, toJson(replication) AS replication FROM system_schema.keyspaces LIMIT 1";
        assert_eq!(names(json), ["keyspace_name", "replication"]);
        let rows = run(json, &[]).expect("valid");
        let shown = rows[0][1].as_deref().expect("a map");
        assert!(shown.starts_with(b"{\"class\": \""), "{}", String::from_utf8_lossy(shown));
    }

    #[test]
    fn unknown_table_and_column_are_invalid() {
        assert!(matches!(run("SELECT * FROM system_schema.scylla_tables", &[]), Err(Error::Invalid(_))));
        assert!(matches!(run("SELECT nonsense FROM system.local", &[]), Err(Error::Invalid(_))));
        assert!(matches!(run("SELECT * FROM system.local WHERE key > 'a'", &[]), Err(Error::Invalid(_))));
        assert!(matches!(run("SELECT * FROM system.local ORDER BY key", &[]), Err(Error::Syntax(_))));
    }

    proptest! {
        #[test]
        fn any_text_is_read_without_panic(tail in ".{0,60}", cut in 0usize..80) {
            let whole = "SELECT a, toJson(b) FROM system.peers WHERE peer = '10.0.0.2' AND x = ? LIMIT 3 -- c";
            let _ = SystemSelect::parse(&format!("{}{tail}", &whole[..cut.min(whole.len())]), Some("system"));
        }
    }
}
