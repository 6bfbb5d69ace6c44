//! Statements on the schema.

use super::{Name, TableName};

/// `CREATE KEYSPACE`
#[derive(Clone, PartialEq, Debug)]
pub struct CreateKeyspace {
    /// Its name.
    pub name: Name,
    /// `IF NOT EXISTS`
    pub if_not_exists: bool,
    /// `WITH …`
    pub options: Vec<TableOption>,
}

/// `DROP KEYSPACE`
#[derive(Clone, PartialEq, Debug)]
pub struct DropKeyspace {
    /// Its name.
    pub name: Name,
    /// `IF EXISTS`
    pub if_exists: bool,
}

/// `CREATE TABLE`
#[derive(Clone, PartialEq, Debug)]
pub struct CreateTable {
    /// Its name.
    pub table: TableName,
    /// `IF NOT EXISTS`
    pub if_not_exists: bool,
    /// The columns in the order written.
    pub columns: Vec<ColumnDefinition>,
    /// The PRIMARY KEY clause, if there is one.
    pub primary_key: Option<PrimaryKey>,
    /// `CLUSTERING ORDER BY`: column and whether it descends.
    pub clustering_order: Vec<(Name, bool)>,
    /// `WITH …`
    pub options: Vec<TableOption>,
}

/// A column of CREATE TABLE.
#[derive(Clone, PartialEq, Debug)]
pub struct ColumnDefinition {
    /// Its name.
    pub name: Name,
    /// Its type.
    pub type_name: TypeName,
    /// `STATIC`
    pub is_static: bool,
    /// `PRIMARY KEY` beside the column.
    pub is_primary_key: bool,
}

/// A type as it is written: `name` or `name<types>`.
#[derive(Clone, PartialEq, Debug)]
pub struct TypeName {
    /// Its name, lower case unless quoted.
    pub name: Name,
    /// The types between the angle brackets.
    pub arguments: Vec<Self>,
}

/// `CREATE TYPE`
#[derive(Clone, PartialEq, Debug)]
pub struct CreateType {
    /// Its name.
    pub name: TableName,
    /// `IF NOT EXISTS`
    pub if_not_exists: bool,
    /// Its fields in order.
    pub fields: Vec<(Name, TypeName)>,
}

/// `ALTER TABLE`
#[derive(Clone, PartialEq, Debug)]
pub struct AlterTable {
    /// Its name.
    pub table: TableName,
    /// `IF EXISTS`
    pub if_exists: bool,
    /// What changes.
    pub change: Alteration,
}

/// What ALTER TABLE changes.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub enum Alteration {
    /// `ADD`
    Add {
        /// `IF NOT EXISTS`
        if_not_exists: bool,
        /// The columns.
        columns: Vec<ColumnDefinition>,
    },
    /// `DROP`
    Drop(Vec<Name>),
    /// `RENAME … TO …`
    Rename(Vec<(Name, Name)>),
    /// `WITH`
    With(Vec<TableOption>),
}

/// The PRIMARY KEY clause.
#[derive(Clone, PartialEq, Debug)]
pub struct PrimaryKey {
    /// Columns of the partition key.
    pub partition: Vec<Name>,
    /// Clustering columns.
    pub clustering: Vec<Name>,
}

/// `DROP TABLE`
#[derive(Clone, PartialEq, Debug)]
pub struct DropTable {
    /// Its name.
    pub table: TableName,
    /// `IF EXISTS`
    pub if_exists: bool,
}

/// `name = value` of a WITH clause.
#[derive(Clone, PartialEq, Debug)]
pub struct TableOption {
    /// The option.
    pub name: Name,
    /// Its value.
    pub value: OptionValue,
}

/// A value of an option.
#[derive(Clone, PartialEq, Debug)]
pub enum OptionValue {
    /// A constant, as text.
    Scalar(String),
    /// A map of constants, as text.
    Map(Vec<(String, String)>),
}

/// As the schema tables show it.
impl std::fmt::Display for OptionValue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Scalar(text) => f.write_str(text),
            Self::Map(entries) => {
                f.write_str("{")?;
                for (position, (key, value)) in entries.iter().enumerate() {
                    let comma = if position == 0 { "" } else { ", " };
                    write!(f, "{comma}'{key}': '{value}'")?;
                }
                f.write_str("}")
            }
        }
    }
}
