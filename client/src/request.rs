//! Requests as envelopes.

use std::time::Duration;

use crate::bind::Binds;
use crate::error::Error;
use crate::frame::{self, Version, flag, opcode};
use crate::payload::Payload;
use crate::response::Prepared;
use crate::wire;

/// Largest request body we send; the protocol's own limit.
const BODY_MAX: usize = 256 << 20;
const CQL_VERSION: &str = "3.4.5";

mod parameter {
    pub(super) const VALUES: u8 = 0x01;
    pub(super) const SKIP_METADATA: u8 = 0x02;
    pub(super) const NAMES: u8 = 0x40;
}

/// Consistency level of a request; transactional tables ignore it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Consistency {
    Any,
    One,
    Two,
    Three,
    #[default]
    Quorum,
    All,
    LocalQuorum,
    EachQuorum,
    Serial,
    LocalSerial,
    LocalOne,
}

/// What goes beside a statement and its values.
#[derive(Clone, Debug, Default)]
pub struct RequestOptions {
    pub consistency: Consistency,
    /// Custom payload to send; empty sends none.
    pub payload: Payload,
    /// Longest wait for the answer; the connection's default if not given.
    pub timeout: Option<Duration>,
}

pub(crate) fn options(version: Version) -> Result<Vec<u8>, Error> {
    finished(frame::begin(version, 0, opcode::OPTIONS))
}

pub(crate) fn startup(version: Version, cql_version: Option<&str>, driver: &str) -> Result<Vec<u8>, Error> {
    let mut out = frame::begin(version, 0, opcode::STARTUP);
    let entries = [("CQL_VERSION", cql_version.unwrap_or(CQL_VERSION)), ("DRIVER_NAME", driver)];
    out.extend_from_slice(&(entries.len() as u16).to_be_bytes());
    for (key, value) in entries {
        wire::put_string(&mut out, key)?;
        wire::put_string(&mut out, value)?;
    }
    finished(out)
}

pub(crate) fn auth_response(version: Version, user: &str, password: &str) -> Result<Vec<u8>, Error> {
    let mut out = frame::begin(version, 0, opcode::AUTH_RESPONSE);
    wire::put_bytes(&mut out, format!("\0{user}\0{password}").as_bytes())?;
    finished(out)
}

pub(crate) fn query(
    version: Version,
    text: &str,
    binds: Binds<'_>,
    options: &RequestOptions,
) -> Result<Vec<u8>, Error> {
    let mut out = begin_with_payload(version, opcode::QUERY, &options.payload)?;
    wire::put_bytes(&mut out, text.as_bytes())?;
    put_parameters(&mut out, version, binds, false, options)?;
    finished(out)
}

pub(crate) fn prepare(version: Version, text: &str) -> Result<Vec<u8>, Error> {
    let mut out = frame::begin(version, 0, opcode::PREPARE);
    wire::put_bytes(&mut out, text.as_bytes())?;
    if version == Version::V5 {
        out.extend_from_slice(&0i32.to_be_bytes());
    }
    finished(out)
}

/// EXECUTE; in v5 known result columns are left out, since their id tells when they changed. In v4 nothing would.
pub(crate) fn execute(
    version: Version,
    statement: &Prepared,
    binds: Binds<'_>,
    options: &RequestOptions,
) -> Result<Vec<u8>, Error> {
    let mut out = begin_with_payload(version, opcode::EXECUTE, &options.payload)?;
    wire::put_short_bytes(&mut out, &statement.id)?;
    if version == Version::V5 {
        wire::put_short_bytes(&mut out, &statement.result_metadata_id)?;
    }
    let skip_metadata = version == Version::V5 && !statement.columns.is_empty();
    put_parameters(&mut out, version, binds, skip_metadata, options)?;
    finished(out)
}

fn begin_with_payload(version: Version, opcode: u8, payload: &Payload) -> Result<Vec<u8>, Error> {
    if payload.is_empty() {
        return Ok(frame::begin(version, 0, opcode));
    }
    let mut out = frame::begin(version, flag::PAYLOAD, opcode);
    payload.encode(&mut out)?;
    Ok(out)
}

fn put_parameters(
    out: &mut Vec<u8>,
    version: Version,
    binds: Binds<'_>,
    skip_metadata: bool,
    options: &RequestOptions,
) -> Result<(), Error> {
    out.extend_from_slice(&(options.consistency as u16).to_be_bytes());
    let flags = if binds.is_empty() { 0 } else { parameter::VALUES }
        | if skip_metadata { parameter::SKIP_METADATA } else { 0 }
        | if binds.is_named() { parameter::NAMES } else { 0 };
    match version {
        Version::V4 => out.push(flags),
        Version::V5 => out.extend_from_slice(&i32::from(flags).to_be_bytes()),
    }
    if binds.is_empty() { Ok(()) } else { binds.encode(out) }
}

fn finished(mut out: Vec<u8>) -> Result<Vec<u8>, Error> {
    frame::finish(&mut out, BODY_MAX)?;
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::column::{Column, ColumnType};
    use crate::value::int;

    #[test]
    fn a_v4_query_is_these_bytes() {
        let raw =
            query(Version::V4, "SELECT 1", Binds::Values(&[int(7), None]), &RequestOptions::default()).expect("short");
        let mut expected = vec![4, 0, 0, 0, 7, 0, 0, 0, 29, 0, 0, 0, 8];
        expected.extend_from_slice(b"SELECT 1");
        expected.extend_from_slice(&[0, 4, 1, 0, 2, 0, 0, 0, 4, 0, 0, 0, 7, 0xff, 0xff, 0xff, 0xff]);
        assert_eq!(raw, expected);
    }

    #[test]
    fn a_v5_execute_carries_the_metadata_id_and_wide_flags() {
        let mut statement = Prepared::for_test(vec![1, 2], vec![9]);
        let options = RequestOptions { payload: Payload::trace(), ..RequestOptions::default() };
        let raw = execute(Version::V5, &statement, Binds::Values(&[]), &options).expect("short");
        assert_eq!((raw[0], raw[1], raw[4]), (5, flag::PAYLOAD, opcode::EXECUTE));
        let tail = |flags| [0, 2, 1, 2, 0, 1, 9, 0, 4, 0, 0, 0, flags];
        assert!(raw.ends_with(&tail(0)), "without known columns the answer must bring them");
        let (keyspace, table, name) = ("k".into(), "t".into(), "c".into());
        statement.columns = vec![Column { keyspace, table, name, kind: ColumnType::Int }].into();
        let raw = execute(Version::V5, &statement, Binds::Values(&[]), &options).expect("short");
        assert!(raw.ends_with(&tail(parameter::SKIP_METADATA)));
    }

    #[test]
    fn named_values_set_their_flag() {
        let binds = [("n".to_owned(), crate::bind::Bind::Unset)];
        let raw = query(Version::V5, "S", Binds::ByName(&binds), &RequestOptions::default()).expect("short");
        assert!(raw.ends_with(&[0, 4, 0, 0, 0, 0x41, 0, 1, 0, 1, b'n', 255, 255, 255, 254]));
    }

    #[test]
    fn local_one_is_number_ten() {
        assert_eq!(Consistency::LocalOne as u16, 10);
    }
}
