//! The seam to the protocol: reading for a plan, executing it, applying what it writes. *Source*: [CQL 1.3, 1.4, 1.6].

mod execute;
mod returned;
mod slots;
mod writes;

use crate::ddl::{ChangeKind, Ddl, apply_ddl};
use crate::error::{At, Error};
use crate::plan::Plan;
use crate::result;
use crate::row::{self, Partition};
use crate::schema::{SCHEMA_TABLE, Schema, stored_version};
use protocol::{Blob, Bytes, Execution, Key, Semantics, Timestamp, TxnId};

/// CQL as the meaning of transaction bodies.
///
/// Pure and deterministic. Bytes that cannot be read lead to a rejected transaction; rows that cannot be read are never replaced.
#[derive(Clone, Copy, Debug, Default)]
pub struct CqlSemantics;

impl Semantics for CqlSemantics {
    fn read(&self, body: &Blob, key: &Key, rows: Option<&[u8]>, _at: Timestamp) -> Vec<u8> {
        if key.table == SCHEMA_TABLE {
            return rows.unwrap_or_default().to_vec();
        }
        match plan_bytes(body).and_then(Plan::decode_reads) {
            Some(plan) => slots::collect(&plan, key, rows),
            None => Vec::new(),
        }
    }

    fn execute(&self, body: &Blob, _id: TxnId, _at: Timestamp, data: &[(Key, Bytes)]) -> Execution {
        if body.kind == crate::BLOB_DDL && body.version == crate::BLOB_VERSION {
            return execute_ddl(&body.bytes, data);
        }
        let execution = match plan_bytes(body).and_then(Plan::decode) {
            Some(plan) => execute::run(&plan, data),
            None => {
                let (kind, version) = (body.kind, body.version);
                Err(Error::server(format!("a body of kind {kind}, version {version} cannot be read by this build")))
            }
        };
        execution.unwrap_or_else(|error| reject(&error))
    }

    fn refuse(&self, why: &str) -> Execution {
        reject(&Error::invalid(At::NOWHERE, why))
    }

    fn apply(&self, key: &Key, at: Timestamp, write: &[u8], rows: Option<&[u8]>) -> Option<Vec<u8>> {
        if key.table == SCHEMA_TABLE {
            let is_newer = stored_version(write) > rows.and_then(stored_version);
            return if is_newer { Some(write.to_vec()) } else { rows.map(<[u8]>::to_vec) };
        }
        row::merge(rows, write, &at.to_bytes()).unwrap_or_else(|| rows.map(<[u8]>::to_vec))
    }
}

/// The bytes of a body that is a plan of a version we know.
fn plan_bytes(body: &Blob) -> Option<&[u8]> {
    let is_known = body.kind == crate::BLOB_PLAN && body.version == crate::BLOB_VERSION;
    is_known.then_some(&body.bytes)
}

fn reject(error: &Error) -> Execution {
    Execution { writes: Vec::new(), result: result::rejected(error) }
}

fn execute_ddl(body: &[u8], data: &[(Key, Bytes)]) -> Execution {
    let run = || {
        let ddl = Ddl::decode(body).ok_or_else(|| Error::server("this DDL statement cannot be read by this build"))?;
        let [(key, stored)] = data else { return Err(Error::server("a DDL statement has exactly one key")) };
        let schema = match stored.is_empty() {
            true => Schema::new(key.routing.group),
            false => Schema::decode(stored)?,
        };
        apply_ddl(&schema, &ddl).map(|(schema, change)| (key.clone(), schema, change))
    };
    match run() {
        Err(error) => reject(&error),
        Ok((_, _, change)) if change.kind == ChangeKind::Nothing => {
            Execution { writes: Vec::new(), result: result::void(&[]) }
        }
        Ok((key, schema, change)) => {
            let result = result::schema(&change, schema.version);
            Execution { writes: vec![(key, schema.encode().into())], result }
        }
    }
}

/// Whether stored rows of a table can be opened by this build.
///
/// A cheap test of the head, for those who load rows from disk.
pub fn rows_are_readable(rows: &[u8]) -> bool {
    Partition::open(Some(rows)).is_some()
}
