//! The files of cases; their format is described at the head of the shared one.

use serde::Deserialize;
use std::collections::BTreeMap;
use toml::Value;

/// A file of cases.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CaseFile {
    pub(crate) format: u32,
    pub(crate) keyspace: String,
    pub(crate) schema: Vec<String>,
    #[serde(rename = "case")]
    pub(crate) cases: Vec<Case>,
}

/// One case: statements that must succeed, then statements with what is expected of them.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Case {
    pub(crate) name: String,
    pub(crate) what: String,
    #[serde(default)]
    pub(crate) setup: Vec<String>,
    pub(crate) run: Vec<(String, Expected)>,
    #[serde(default)]
    pub(crate) tags: Vec<String>,
    #[serde(default)]
    pub(crate) doubtful: bool,
    #[serde(default, rename = "src")]
    _src: String,
    #[serde(default, rename = "note")]
    _note: String,
}

/// What a statement must answer.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Expected {
    rows: Option<Vec<Vec<Value>>>,
    #[serde(default)]
    void: bool,
    #[serde(default)]
    ok: bool,
    error: Option<ErrorClass>,
    #[serde(default)]
    pub(crate) order: Order,
    pub(crate) columns: Option<Vec<String>>,
    pub(crate) types: Option<Vec<String>>,
    #[serde(default)]
    pub(crate) binds: Binds,
    pub(crate) bind_types: Option<Vec<String>>,
    #[serde(default)]
    pub(crate) prepare: bool,
    #[serde(default, rename = "why")]
    _why: String,
    #[serde(default)]
    pub(crate) mentions: Vec<String>,
    #[serde(default)]
    pub(crate) warns: Vec<String>,
}

/// The one outcome of a statement.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Outcome<'a> {
    Rows(&'a [Vec<Value>]),
    Void,
    Good,
    Error(ErrorClass),
}

/// How rows are compared.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Order {
    #[default]
    AsWritten,
    Any,
}

/// Values for the markers.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum Binds {
    InOrder(Vec<Value>),
    ByName(BTreeMap<String, Value>),
}

impl Default for Binds {
    fn default() -> Self {
        Self::InOrder(Vec::new())
    }
}

impl Binds {
    pub(crate) fn is_empty(&self) -> bool {
        match self {
            Self::InOrder(values) => values.is_empty(),
            Self::ByName(values) => values.is_empty(),
        }
    }
}

/// A class of errors, named after its code in the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ErrorClass {
    Syntax = 0x2000,
    Unauthorized = 0x2100,
    Invalid = 0x2200,
    Config = 0x2300,
    AlreadyExists = 0x2400,
    Server = 0x0000,
}

impl Expected {
    /// The outcome that is expected; exactly one must be given.
    pub(crate) fn outcome(&self) -> Result<Outcome<'_>, String> {
        let rows = self.rows.as_deref().map(Outcome::Rows);
        let void = self.void.then_some(Outcome::Void);
        let good = self.ok.then_some(Outcome::Good);
        let error = self.error.map(Outcome::Error);
        let mut given = [rows, void, good, error].into_iter().flatten();
        match (given.next(), given.next()) {
            (Some(one), None) => Ok(one),
            _ => Err("exactly one of rows, void, ok and error must be given".to_owned()),
        }
    }
}

impl CaseFile {
    /// Reads a file of cases.
    ///
    /// *Errors*: a text that names the place, for anything the format does not know.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let file: Self = toml::from_str(text).map_err(|error| error.to_string())?;
        if file.format != 1 {
            return Err(format!("format {} is not 1, the one known here", file.format));
        }
        let mut names: Vec<&str> = file.cases.iter().map(|case| case.name.as_str()).collect();
        names.sort_unstable();
        if let Some(pair) = names.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(format!("two cases are called {:?}", pair[0]));
        }
        for case in &file.cases {
            for (statement, expected) in &case.run {
                expected.outcome().map_err(|problem| format!("{}: {statement}: {problem}", case.name))?;
                if expected.bind_types.is_some() && !expected.prepare {
                    return Err(format!("{}: {statement}: bind_types goes with prepare = true only", case.name));
                }
            }
        }
        Ok(file)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(expected: &str) -> Result<CaseFile, String> {
        let head = "format = 1\nkeyspace = \"k\"\nschema = []\n[[case]]\nname = \"a\"\nwhat = \"w\"\n";
        CaseFile::parse(&format!("{head}run = [[\"S\", {expected}]]"))
    }

    #[test]
    fn a_statement_has_exactly_one_outcome() {
        assert!(with("{ void = true }").is_ok());
        assert!(with("{ void = true, ok = true }").is_err());
        assert!(with("{ columns = [] }").is_err());
    }

    #[test]
    fn binds_are_an_array_or_a_table() {
        let file = with("{ ok = true, binds = { n = 1 } }").expect("well formed");
        assert!(matches!(&file.cases[0].run[0].1.binds, Binds::ByName(values) if values.len() == 1));
        let file = with("{ ok = true, binds = [1, \"@null\"] }").expect("well formed");
        assert!(matches!(&file.cases[0].run[0].1.binds, Binds::InOrder(values) if values.len() == 2));
    }

    #[test]
    fn a_misspelt_key_is_refused() {
        assert!(with("{ ok = true, collumns = [] }").is_err());
    }
}
