//! What a text says, before names have a meaning.

mod ddl;

pub use ddl::*;

use crate::error::At;

/// A parsed text: one statement and the bind markers in it.
#[derive(Clone, PartialEq, Debug)]
pub struct Statement {
    /// The statement.
    pub kind: StatementKind,
    /// Its markers in text order; a [`TermKind::Marker`] is an index into them.
    pub markers: Vec<Marker>,
}

/// Every kind of statement.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub enum StatementKind {
    /// `USE keyspace`
    Use(Name),
    /// `CREATE KEYSPACE`
    CreateKeyspace(CreateKeyspace),
    /// `DROP KEYSPACE`
    DropKeyspace(DropKeyspace),
    /// `CREATE TABLE`
    CreateTable(CreateTable),
    /// `DROP TABLE`
    DropTable(DropTable),
    /// `ALTER TABLE`
    AlterTable(AlterTable),
    /// `TRUNCATE`
    Truncate(TableName),
    /// `CREATE TYPE`
    CreateType(CreateType),
    /// `DROP TYPE`
    DropType(DropTable),
    /// `BEGIN BATCH … APPLY BATCH`
    Batch(Batch),
    /// A SELECT of its own.
    Select(Select),
    /// An INSERT, UPDATE or DELETE of its own.
    Mutation(Mutation),
    /// `BEGIN TRANSACTION … COMMIT TRANSACTION`
    Transaction(Transaction),
}

/// An identifier, folded to lower case unless it was quoted.
#[derive(Clone, PartialEq, Debug)]
pub struct Name {
    /// The name.
    pub text: String,
    /// Where it stands.
    pub at: At,
}

/// A table, perhaps with its keyspace.
#[derive(Clone, PartialEq, Debug)]
pub struct TableName {
    /// The keyspace, if written.
    pub keyspace: Option<Name>,
    /// The table.
    pub name: Name,
}

/// A bind marker.
#[derive(Clone, PartialEq, Debug)]
pub struct Marker {
    /// The name of `:name`; `None` for `?`.
    pub name: Option<String>,
    /// Where it stands.
    pub at: At,
}

/// A constant or a marker.
#[derive(Clone, PartialEq, Debug)]
pub struct Term {
    /// What it is.
    pub kind: TermKind,
    /// Where it stands.
    pub at: At,
}

/// Kinds of term. Numbers keep their digits: their width is known only beside a column.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub enum TermKind {
    /// `null`
    Null,
    /// Digits, perhaps with a sign.
    Integer(String),
    /// Digits with a point or an exponent, NaN or Infinity.
    Float(String),
    /// `0x…`
    Blob(Vec<u8>),
    /// Digits in five groups.
    Uuid(String),
    /// `[…]`
    List(Vec<Term>),
    /// `{…}`; without elements it may also be an empty map.
    Set(Vec<Term>),
    /// `{key: value, …}`
    Map(Vec<(Term, Term)>),
    /// `(…)`
    Tuple(Vec<Term>),
    /// `{field: value, …}`
    Fields(Vec<(Name, Term)>),
    /// A string, unescaped.
    Text(String),
    /// `true` or `false`
    Boolean(bool),
    /// The marker of this index.
    Marker(u16),
}

/// A comparison.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Comparison {
    /// `=`
    Eq,
    /// `!=`
    Ne,
    /// `<`
    Lt,
    /// `<=`
    Le,
    /// `>`
    Gt,
    /// `>=`
    Ge,
}

impl Comparison {
    /// The operator with its sides exchanged.
    pub(crate) fn mirrored(self) -> Self {
        match self {
            Self::Lt => Self::Gt,
            Self::Le => Self::Ge,
            Self::Gt => Self::Lt,
            Self::Ge => Self::Le,
            same => same,
        }
    }

    /// As written.
    pub fn symbol(self) -> &'static str {
        match self {
            Self::Eq => "=",
            Self::Ne => "!=",
            Self::Lt => "<",
            Self::Le => "<=",
            Self::Gt => ">",
            Self::Ge => ">=",
        }
    }
}

/// One restriction of a WHERE clause.
#[derive(Clone, PartialEq, Debug)]
pub struct Relation {
    /// The restricted column.
    pub column: Name,
    /// How.
    pub test: RelationTest,
}

/// Kinds of restriction.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub enum RelationTest {
    /// `column op term`
    Compare(Comparison, Term),
    /// `column IN (terms)`
    In(Vec<Term>),
    /// `token(column, …) op …`; the name of the relation is the first column.
    Token,
}

/// An ordinary SELECT.
#[derive(Clone, PartialEq, Debug)]
pub struct Select {
    /// What is selected.
    pub selection: Selection,
    /// From where.
    pub table: TableName,
    /// Which rows.
    pub relations: Vec<Relation>,
    /// `GROUP BY`, `ORDER BY` and the others.
    pub clauses: Clauses,
    /// At most this many.
    pub limit: Option<Term>,
    /// Where it begins.
    pub at: At,
}

/// The rarer clauses of a SELECT.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Clauses {
    /// `GROUP BY`
    pub group_by: Vec<Name>,
    /// `ORDER BY`: column and whether it descends.
    pub order_by: Vec<(Name, bool)>,
    /// `ALLOW FILTERING`
    pub allow_filtering: bool,
}

/// The columns of a SELECT.
#[derive(Clone, PartialEq, Debug)]
pub enum Selection {
    /// `*`
    All,
    /// A list of columns.
    Columns(Vec<Selector>),
}

/// One selected thing.
#[derive(Clone, PartialEq, Debug)]
pub struct Selector {
    /// A function around it.
    pub function: Option<Function>,
    /// The column; `*` for `count(*)`.
    pub column: Name,
    /// A part of it.
    pub part: Option<Part>,
    /// Its name in the result, if given.
    pub alias: Option<Name>,
}

/// Functions of a selected column.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Function {
    /// `count(column)` or `count(*)`
    Count,
    /// `min(column)`
    Min,
    /// `max(column)`
    Max,
    /// `sum(column)`
    Sum,
    /// `writetime(column)`
    WriteTime,
}

impl Function {
    pub(crate) const ALL: [Self; 5] = [Self::Count, Self::Min, Self::Max, Self::Sum, Self::WriteTime];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Count => "count",
            Self::Min => "min",
            Self::Max => "max",
            Self::Sum => "sum",
            Self::WriteTime => "writetime",
        }
    }
}

/// A part of a collection or user type.
#[derive(Clone, PartialEq, Debug)]
pub enum Part {
    /// `[term]`
    Element(Term),
    /// `.field`
    Field(Name),
}

/// `reference`, `reference.column` or a part of the latter.
#[derive(Clone, PartialEq, Debug)]
pub struct Reference {
    /// The name given by a LET.
    pub name: Name,
    /// The column; `None` is the row.
    pub column: Option<Name>,
    /// A part of the column.
    pub part: Option<Part>,
}

/// What a column may be assigned: a term, or inside a transaction a reference.
#[derive(Clone, PartialEq, Debug)]
pub enum Operand {
    /// A constant or marker.
    Term(Term),
    /// A value that a LET has read.
    Reference(Reference),
}

/// INSERT, UPDATE or DELETE.
#[derive(Clone, PartialEq, Debug)]
pub enum Mutation {
    /// INSERT
    Insert(Insert),
    /// UPDATE
    Update(Update),
    /// DELETE
    Delete(Delete),
}

/// `INSERT INTO table (columns) VALUES (values)`
#[derive(Clone, PartialEq, Debug)]
pub struct Insert {
    /// The table.
    pub table: TableName,
    /// Columns and values, as many of one as of the other.
    pub values: Vec<(Name, Operand)>,
    /// `JSON …` instead of columns and values.
    pub json: Option<Json>,
    /// `IF NOT EXISTS`
    pub condition: Option<RowCondition>,
    /// `USING …`
    pub using: Using,
    /// Where it begins.
    pub at: At,
}

/// `JSON 'text' DEFAULT …`
#[derive(Clone, PartialEq, Debug)]
pub struct Json {
    /// An object with a field for each column.
    pub text: String,
    /// `DEFAULT UNSET`: columns that it does not name are left alone instead of becoming null.
    pub keeps_others: bool,
    /// Where it stands.
    pub at: At,
}

/// `UPDATE table SET … WHERE …`
#[derive(Clone, PartialEq, Debug)]
pub struct Update {
    /// The table.
    pub table: TableName,
    /// `USING …`
    pub using: Using,
    /// The assignments.
    pub assignments: Vec<Assignment>,
    /// Which row.
    pub relations: Vec<Relation>,
    /// `IF …`
    pub condition: Option<RowCondition>,
    /// Where it begins.
    pub at: At,
}

/// `DELETE columns FROM table WHERE …`
#[derive(Clone, PartialEq, Debug)]
pub struct Delete {
    /// Columns, or parts of them, to clear; none means the row.
    pub columns: Vec<(Name, Option<Part>)>,
    /// The table.
    pub table: TableName,
    /// `USING …`
    pub using: Using,
    /// Which row or partition.
    pub relations: Vec<Relation>,
    /// `IF …`
    pub condition: Option<RowCondition>,
    /// Where it begins.
    pub at: At,
}

/// One assignment of an UPDATE.
#[derive(Clone, PartialEq, Debug)]
pub struct Assignment {
    /// The column.
    pub column: Name,
    /// The part that is assigned.
    pub part: Option<Part>,
    /// What happens to it.
    pub op: AssignmentOp,
    /// The right-hand side.
    pub operand: Operand,
}

/// Kinds of assignment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum AssignmentOp {
    /// `x = v`
    Set,
    /// `x += v`, `x = x + v`
    Add,
    /// `x -= v`, `x = x - v`
    Subtract,
    /// `x = v + x`
    Prepend,
}

/// Time clauses of a mutation.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Using {
    /// `USING TIMESTAMP`
    pub timestamp: Option<Term>,
    /// `USING TTL`
    pub ttl: Option<Term>,
}

/// The IF clause of a single statement.
#[derive(Clone, PartialEq, Debug)]
pub struct RowCondition {
    /// What is asked.
    pub kind: RowConditionKind,
    /// Where it begins.
    pub at: At,
}

/// Kinds of IF clause of a single statement.
#[derive(Clone, PartialEq, Debug)]
pub enum RowConditionKind {
    /// `IF NOT EXISTS`
    NotExists,
    /// `IF EXISTS`
    Exists,
    /// `IF column op term AND …`
    Columns(Vec<(Name, Comparison, Term)>),
}

/// `BEGIN BATCH … APPLY BATCH`
#[derive(Clone, PartialEq, Debug)]
pub struct Batch {
    /// `UNLOGGED`
    pub unlogged: bool,
    /// `USING TIMESTAMP`
    pub using: Using,
    /// The statements in order.
    pub mutations: Vec<Mutation>,
    /// Where it begins.
    pub at: At,
}

/// `BEGIN TRANSACTION … COMMIT TRANSACTION`
#[derive(Clone, PartialEq, Debug)]
pub struct Transaction {
    /// The LETs in order.
    pub lets: Vec<Let>,
    /// The SELECT.
    pub returning: Option<Returning>,
    /// The conditions of IF, all of which must hold; `None` without IF.
    pub conditions: Option<Vec<Condition>>,
    /// The mutations in order.
    pub mutations: Vec<Mutation>,
    /// Where it begins.
    pub at: At,
}

/// `LET name = (SELECT …)`
#[derive(Clone, PartialEq, Debug)]
pub struct Let {
    /// The name.
    pub name: Name,
    /// The read.
    pub select: Select,
}

/// What a transaction gives back.
#[derive(Clone, PartialEq, Debug)]
pub enum Returning {
    /// The rows of a SELECT.
    Select(Select),
    /// One row of references.
    References(Vec<Reference>, At),
}

/// One condition of IF.
#[derive(Clone, PartialEq, Debug)]
pub struct Condition {
    /// What is looked at.
    pub reference: Reference,
    /// What must hold.
    pub test: ConditionTest,
}

/// Kinds of condition.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub enum ConditionTest {
    /// `IS NULL`
    Null,
    /// `IS NOT NULL`
    NotNull,
    /// `reference op term`
    Compare(Comparison, Term),
}
