//! What a transaction tells its client.

use crate::ddl::Change;
use crate::encoding::{Reader, put_bytes, put_count, put_nullable};
use crate::error::{At, Class, Error};
use protocol::Blob;

/// The decoded result of a transaction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TxnResult {
    /// The answer.
    pub outcome: Outcome,
    /// Things that went otherwise than the text may suggest, for the client's eyes.
    pub warnings: Vec<String>,
}

/// The answer of a transaction.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Outcome {
    /// Nothing to show.
    Void,
    /// Rows; their columns are those of [`crate::Prepared::result_columns`]. `None` is null.
    Rows(Vec<Vec<Option<Vec<u8>>>>),
    /// The schema has changed and is now at this version.
    Schema(Change, u64),
    /// Refused while it ran; nothing was written.
    Rejected(Error),
}

/// Reads a result.
///
/// *Errors*: [`Class::Server`] if the bytes are not exactly one result of a known version.
pub fn decode_result(blob: &Blob) -> Result<TxnResult, Error> {
    let known = blob.kind == crate::BLOB_RESULT && blob.version == crate::BLOB_VERSION;
    let result = if known { take_result(&blob.bytes) } else { None };
    result.ok_or_else(|| {
        Error::server(format!("result of kind {}, version {} cannot be read by this build", blob.kind, blob.version))
    })
}

pub(crate) fn blob(bytes: Vec<u8>) -> Blob {
    Blob { kind: crate::BLOB_RESULT, version: crate::BLOB_VERSION, bytes: bytes.into() }
}

/// Begins a result with its warnings.
pub(crate) fn begin(warnings: &[String]) -> Vec<u8> {
    let mut out = Vec::with_capacity(32);
    put_count(&mut out, warnings.len());
    warnings.iter().for_each(|warning| put_bytes(&mut out, warning.as_bytes()));
    out
}

pub(crate) fn void(warnings: &[String]) -> Blob {
    let mut out = begin(warnings);
    out.push(VOID);
    blob(out)
}

/// Starts rows; every value follows by [`put_nullable`], row by row.
pub(crate) fn put_rows_head(out: &mut Vec<u8>, columns: usize, rows: usize) {
    out.push(ROWS);
    put_count(out, columns);
    put_count(out, rows);
}

pub(crate) fn put_value(out: &mut Vec<u8>, value: Option<&[u8]>) {
    put_nullable(out, value);
}

pub(crate) fn schema(change: &Change, version: u64) -> Blob {
    let mut out = begin(&[]);
    out.push(SCHEMA);
    out.extend_from_slice(&version.to_be_bytes());
    change.put(&mut out);
    blob(out)
}

pub(crate) fn rejected(error: &Error) -> Blob {
    let mut out = begin(&[]);
    out.push(REJECTED);
    let (class, keyspace, table) = match &error.class {
        Class::Syntax => (0, "", ""),
        Class::Unauthorized => (1, "", ""),
        Class::Invalid => (2, "", ""),
        Class::Config => (3, "", ""),
        Class::AlreadyExists { keyspace, table } => (4, &**keyspace, &**table),
        Class::Server => (5, "", ""),
    };
    out.push(class);
    out.extend_from_slice(&error.at.line.to_be_bytes());
    out.extend_from_slice(&error.at.column.to_be_bytes());
    [&*error.message, keyspace, table].iter().for_each(|text| put_bytes(&mut out, text.as_bytes()));
    blob(out)
}

fn take_result(bytes: &[u8]) -> Option<TxnResult> {
    let mut from = Reader(bytes);
    let count = from.count_of(1)?;
    let warnings = (0..count).map(|_| from.text().map(str::to_owned)).collect::<Option<Vec<_>>>()?;
    let outcome = match from.u8()? {
        VOID => Outcome::Void,
        ROWS => take_rows(&mut from)?,
        SCHEMA => {
            let version = from.u64()?;
            Outcome::Schema(Change::take(&mut from)?, version)
        }
        REJECTED => Outcome::Rejected(take_error(&mut from)?),
        _ => return None,
    };
    from.end(TxnResult { outcome, warnings })
}

fn take_rows(from: &mut Reader<'_>) -> Option<Outcome> {
    let columns = from.count().filter(|columns| *columns > 0)?;
    let rows = from.count_of(columns)?;
    let row = |_| (0..columns).map(|_| from.nullable().map(|value| value.map(<[u8]>::to_vec))).collect();
    (0..rows).map(row).collect::<Option<Vec<_>>>().map(Outcome::Rows)
}

fn take_error(from: &mut Reader<'_>) -> Option<Error> {
    let class = from.u8()?;
    let at = At { line: from.u32()?, column: from.u32()? };
    let (message, keyspace, table) = (from.text()?, from.text()?, from.text()?);
    let class = match class {
        0 => Class::Syntax,
        1 => Class::Unauthorized,
        2 => Class::Invalid,
        3 => Class::Config,
        4 => Class::AlreadyExists { keyspace: keyspace.to_owned(), table: table.to_owned() },
        5 => Class::Server,
        _ => return None,
    };
    Some(Error::new(class, at, message))
}

const VOID: u8 = 0;
const ROWS: u8 = 1;
const SCHEMA: u8 = 2;
const REJECTED: u8 = 3;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ddl::ChangeKind;
    use proptest::prelude::*;

    #[test]
    fn every_outcome_comes_back() {
        let change = Change { kind: ChangeKind::Dropped, keyspace: "k".into(), table: "t".into() };
        let class = Class::AlreadyExists { keyspace: "k".into(), table: "t".into() };
        let error = Error::new(class, At { line: 1, column: 2 }, "no");
        assert_eq!(decode_result(&schema(&change, 7)).unwrap().outcome, Outcome::Schema(change, 7));
        assert_eq!(decode_result(&rejected(&error)).unwrap().outcome, Outcome::Rejected(error));
        let warnings = vec!["careful".to_owned()];
        assert_eq!(decode_result(&void(&warnings)).unwrap(), TxnResult { outcome: Outcome::Void, warnings });
        let mut out = begin(&[]);
        put_rows_head(&mut out, 2, 1);
        put_value(&mut out, None);
        put_value(&mut out, Some(b"v"));
        let rows = vec![vec![None, Some(b"v".to_vec())]];
        assert_eq!(decode_result(&blob(out)).unwrap().outcome, Outcome::Rows(rows));
    }

    proptest! {
        #[test]
        fn law_garbage_is_refused_quietly(noise: Vec<u8>, kind in 0u8..4, version in 0u8..3) {
            let _ = decode_result(&Blob { kind, version, bytes: noise.into() });
        }
    }
}
