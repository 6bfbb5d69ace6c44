//! A statement made ready: what it does, what it takes and what it returns.

use crate::error::Error;
use crate::request::Values;
use crate::response::{ColumnSpec, Columns, PreparedResult, result_metadata_id};
use crate::system::SystemSelect;
use crate::wire_type::{ColumnType, digest};
use cql_txn::ast::StatementKind;
use cql_txn::{Schema, Value};
use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};

/// Names a prepared statement on every node alike.
pub(crate) type StatementId = [u8; 16];

/// What a statement does.
pub(crate) enum Plan {
    /// Reads a system table of this node.
    System(SystemSelect),
    /// Makes a keyspace the one of unqualified names.
    Use(String),
    /// Is a transaction, a schema statement among them.
    Language(Box<cql_txn::Prepared>),
}

/// A statement, ready for one version of the schema.
pub(crate) struct Statement {
    text: String,
    /// The keyspace of unqualified names; `None` if the text has none of those.
    keyspace: Option<String>,
    /// Made when it is first asked for: texts sent as they are never need it.
    id: OnceCell<StatementId>,
    schema_version: u64,
    plan: Plan,
    markers: Columns,
    marker_names: Vec<String>,
    key_markers: Vec<u16>,
    columns: Option<Columns>,
    /// `[applied]` alone, of a statement that shows more if it was not.
    first_column: Option<Columns>,
    is_redefined: bool,
}

impl Statement {
    /// Parses and prepares `text`; `keyspace` is that of unqualified names.
    ///
    /// A text without unqualified names is the same statement whatever the keyspace, so it is tried without one first.
    pub(crate) fn of(text: &str, keyspace: Option<&str>, schema: &Schema) -> Result<Self, Error> {
        if let Some(select) = SystemSelect::parse(text, None) {
            return Ok(Self::of_system(text, None, schema, select?));
        }
        if let Some(select) = SystemSelect::parse(text, keyspace) {
            return Ok(Self::of_system(text, keyspace, schema, select?));
        }
        let parsed = cql_txn::parse(text)?;
        if let StatementKind::Use(name) = &parsed.kind {
            return Ok(Self::bare(text, None, schema, Plan::Use(name.text.clone())));
        }
        let (prepared, keyspace) = match (cql_txn::prepare(&parsed, schema, None), keyspace) {
            (Ok(prepared), _) => (prepared, None),
            (Err(_), Some(keyspace)) => (cql_txn::prepare(&parsed, schema, Some(keyspace))?, Some(keyspace)),
            (Err(error), None) => return Err(error.into()),
        };
        Ok(Self::of_language(text, keyspace, schema, prepared))
    }

    fn of_system(text: &str, keyspace: Option<&str>, schema: &Schema, select: SystemSelect) -> Self {
        let (markers, columns) = (Columns::new(&select.markers()), Columns::new(&select.columns()));
        let marker_names = select.markers().iter().map(|marker| marker.name.to_owned()).collect();
        Self {
            markers,
            marker_names,
            columns: Some(columns),
            ..Self::bare(text, keyspace, schema, Plan::System(select))
        }
    }

    fn of_language(text: &str, keyspace: Option<&str>, schema: &Schema, prepared: cql_txn::Prepared) -> Self {
        let specs = |columns: &[cql_txn::ColumnSpec]| Columns::new(&columns.iter().map(spec_of).collect::<Vec<_>>());
        Self {
            markers: specs(prepared.variables()),
            marker_names: prepared.variables().iter().map(|variable| variable.name.clone()).collect(),
            key_markers: prepared.partition_key_markers().to_vec(),
            columns: prepared.result_columns().map(specs),
            first_column: prepared.result_columns().and_then(first_of_several).map(specs),
            ..Self::bare(text, keyspace, schema, Plan::Language(Box::new(prepared)))
        }
    }

    fn bare(text: &str, keyspace: Option<&str>, schema: &Schema, plan: Plan) -> Self {
        Self {
            text: text.to_owned(),
            keyspace: keyspace.map(str::to_owned),
            id: OnceCell::new(),
            schema_version: schema.version,
            plan,
            markers: Columns::new(&[]),
            marker_names: Vec::new(),
            key_markers: Vec::new(),
            columns: None,
            first_column: None,
            is_redefined: false,
        }
    }

    /// The same text under a newer schema.
    pub(crate) fn renewed(&self, schema: &Schema) -> Result<Self, Error> {
        let mut renewed = Self::of(&self.text, self.keyspace.as_deref(), schema)?;
        renewed.is_redefined = self.is_redefined || renewed.result_metadata_id() != self.result_metadata_id();
        Ok(renewed)
    }

    /// Whether it was made from this text in this keyspace, or in any.
    pub(crate) fn is_of(&self, text: &str, keyspace: Option<&str>) -> bool {
        self.text == text && self.keyspace.as_deref().is_none_or(|of| Some(of) == keyspace)
    }

    pub(crate) fn id(&self) -> StatementId {
        *self.id.get_or_init(|| match &self.keyspace {
            Some(keyspace) => digest("statement in a keyspace", &[keyspace.as_bytes(), self.text.as_bytes()]),
            None => digest("statement", &[self.text.as_bytes()]),
        })
    }

    pub(crate) fn schema_version(&self) -> u64 {
        self.schema_version
    }

    pub(crate) fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The columns of its rows; `None` if it returns none.
    pub(crate) fn columns(&self) -> Option<&Columns> {
        self.columns.as_ref()
    }

    /// The column that is left of several if a statement with IF was applied.
    pub(crate) fn first_column(&self) -> Option<&Columns> {
        self.first_column.as_ref()
    }

    pub(crate) fn result_metadata_id(&self) -> [u8; 16] {
        result_metadata_id(self.columns.as_ref())
    }

    /// Whether its columns are others than when it was first prepared.
    pub(crate) fn is_redefined(&self) -> bool {
        self.is_redefined
    }

    /// *Units*: bytes, roughly; a plan weighs a few times its text.
    pub(crate) fn weight(&self) -> usize {
        4 * self.text.len() + 256
    }

    pub(crate) fn as_prepared(&self) -> PreparedResult<'_> {
        PreparedResult {
            id: self.id(),
            markers: &self.markers,
            key_markers: &self.key_markers,
            columns: self.columns.as_ref(),
        }
    }

    /// Values given by name, in the order of the markers; a name that stands at several markers serves them all.
    ///
    /// *Errors*: Invalid if a marker has no value or a value no marker.
    pub(crate) fn in_marker_order<'a>(&self, names: &[&str], values: &Values<'a>) -> Result<Values<'a>, Error> {
        let markers: BTreeSet<&str> = self.marker_names.iter().map(String::as_str).collect();
        if let Some(unused) = names.iter().find(|name| !markers.contains(*name)) {
            return Err(Error::Invalid(format!("value for {unused:?}, but the statement has no such marker")));
        }
        let given: BTreeMap<&str, Value<'a>> = names.iter().copied().zip(values.iter().copied()).collect();
        let value_of = |marker: &String| -> Result<Value<'a>, Error> {
            let found = given.get(marker.as_str()).copied();
            found.ok_or_else(|| Error::Invalid(format!("no value for marker :{marker}")))
        };
        self.marker_names.iter().map(value_of).collect()
    }
}

fn first_of_several(columns: &[cql_txn::ColumnSpec]) -> Option<&[cql_txn::ColumnSpec]> {
    let is_conditional = columns.len() > 1 && columns[0].name == "[applied]";
    columns.get(..1).filter(|_| is_conditional)
}

fn spec_of(column: &cql_txn::ColumnSpec) -> ColumnSpec<'_> {
    let ty = ColumnType::Language(&column.ty);
    ColumnSpec { keyspace: &column.keyspace, table: &column.table, name: &column.name, ty }
}
