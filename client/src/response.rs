//! Answers: RESULT in its five kinds, and ERROR.

use std::sync::Arc;

use crate::column::{Column, decode_columns};
use crate::error::{Detail, Error, ErrorCode, ServerError};
use crate::frame::{Envelope, Version, flag, opcode};
use crate::payload::Payload;
use crate::rows::{Rows, decode_metadata, decode_rows};
use crate::wire::Reader;

/// A good answer and what came beside it.
#[derive(Debug, Clone)]
pub struct Response {
    pub answer: Answer,
    /// Custom payload of the answer; empty if there was none.
    pub payload: Payload,
    pub warnings: Vec<String>,
}

impl Response {
    /// The rows, if the answer has any.
    pub fn rows(&self) -> Option<&Rows> {
        match &self.answer {
            Answer::Rows(rows) => Some(rows),
            _ => None,
        }
    }
}

/// The kinds of RESULT.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Answer {
    Void,
    Rows(Rows),
    SetKeyspace(String),
    SchemaChange(SchemaChange),
    Prepared(Prepared),
}

impl Answer {
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Void => "void",
            Self::Rows(_) => "rows",
            Self::SetKeyspace(_) => "set keyspace",
            Self::SchemaChange(_) => "schema change",
            Self::Prepared(_) => "prepared statement",
        }
    }
}

/// What a DDL statement did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SchemaChange {
    /// `CREATED`, `UPDATED` or `DROPPED`.
    pub change: String,
    /// `KEYSPACE`, `TABLE`, `TYPE`, `FUNCTION` or `AGGREGATE`.
    pub target: String,
    pub keyspace: String,
    /// Name of the object; empty for a keyspace.
    pub name: String,
}

/// A statement the server has prepared.
#[derive(Debug, Clone)]
pub struct Prepared {
    /// The server's id of the statement.
    pub id: Vec<u8>,
    /// Digest of the result's columns; empty in v4.
    pub result_metadata_id: Vec<u8>,
    /// The markers in text order.
    pub parameters: Vec<Column>,
    /// Positions of the markers that make the partition key; empty if it is not bound.
    pub partition_key: Vec<u16>,
    /// The columns of the result; empty if it has no rows.
    pub columns: Arc<[Column]>,
}

#[cfg(test)]
impl Prepared {
    pub(crate) fn for_test(id: Vec<u8>, result_metadata_id: Vec<u8>) -> Self {
        let columns = Vec::new().into();
        Self { id, result_metadata_id, parameters: Vec::new(), partition_key: Vec::new(), columns }
    }
}

/// Reads an answer to QUERY, PREPARE or EXECUTE.
///
/// *Shape*: `known` are the columns of the executed statement, for answers that leave them out.
/// *Errors*: [`Error::Server`] if the server refused, [`Error::Decode`] if the answer is malformed.
pub(crate) fn decode(envelope: &Envelope, version: Version, known: Option<&Arc<[Column]>>) -> Result<Response, Error> {
    let mut reader = Reader::new(&envelope.body);
    let (payload, warnings) = decode_prefix(&mut reader, envelope.flags)?;
    match envelope.opcode {
        opcode::RESULT => {
            let answer = decode_result(&envelope.body, &mut reader, version, known)?;
            Ok(Response { answer, payload, warnings })
        }
        opcode::ERROR => Err(decode_error(&mut reader, payload, warnings)?),
        _ => Err(Error::Unexpected { wanted: "result", got: "another kind of answer" }),
    }
}

/// The error of an ERROR envelope, for answers during the handshake.
pub(crate) fn server_error(envelope: &Envelope) -> Result<Error, Error> {
    let mut reader = Reader::new(&envelope.body);
    let (payload, warnings) = decode_prefix(&mut reader, envelope.flags)?;
    decode_error(&mut reader, payload, warnings)
}

fn decode_prefix(reader: &mut Reader<'_>, flags: u8) -> Result<(Payload, Vec<String>), Error> {
    if flags & flag::TRACING != 0 {
        for _ in 0..16 {
            reader.u8("tracing id")?;
        }
    }
    let warnings = match flags & flag::WARNINGS {
        0 => Vec::new(),
        _ => reader.string_list("warnings")?,
    };
    let payload = match flags & flag::PAYLOAD {
        0 => Payload::default(),
        _ => Payload::decode(reader)?,
    };
    Ok((payload, warnings))
}

fn decode_result(
    body: &[u8],
    reader: &mut Reader<'_>,
    version: Version,
    known: Option<&Arc<[Column]>>,
) -> Result<Answer, Error> {
    let at = reader.at();
    match reader.i32("result kind")? {
        1 => Ok(Answer::Void),
        2 => decode_rows(body, reader, known).map(Answer::Rows),
        3 => reader.string("keyspace").map(|keyspace| Answer::SetKeyspace(keyspace.to_owned())),
        4 => decode_prepared(reader, version).map(Answer::Prepared),
        5 => decode_schema_change(reader).map(Answer::SchemaChange),
        _ => Err(Error::Decode { what: "result kind", at }),
    }
}

fn decode_schema_change(reader: &mut Reader<'_>) -> Result<SchemaChange, Error> {
    let change = reader.string("schema change")?.to_owned();
    let target = reader.string("schema target")?.to_owned();
    let keyspace = reader.string("keyspace")?.to_owned();
    let name = if target == "KEYSPACE" { String::new() } else { reader.string("object name")?.to_owned() };
    Ok(SchemaChange { change, target, keyspace, name })
}

fn decode_prepared(reader: &mut Reader<'_>, version: Version) -> Result<Prepared, Error> {
    let id = reader.short_bytes("statement id")?.to_vec();
    let result_metadata_id = match version {
        Version::V4 => Vec::new(),
        Version::V5 => reader.short_bytes("result metadata id")?.to_vec(),
    };
    let flags = reader.i32("bind metadata flags")?;
    let count = reader.count("marker count")?;
    let key_count = reader.count("partition key size")?;
    let partition_key = (0..key_count).map(|_| reader.u16("partition key position")).collect::<Result<_, _>>()?;
    let parameters = decode_columns(reader, count, flags & 0x01 != 0)?;
    let columns = decode_metadata(reader)?.columns.unwrap_or_default().into();
    Ok(Prepared { id, result_metadata_id, parameters, partition_key, columns })
}

fn decode_error(reader: &mut Reader<'_>, payload: Payload, warnings: Vec<String>) -> Result<Error, Error> {
    let code = ErrorCode::from_number(reader.i32("error code")?);
    let message = reader.string("error text")?.to_owned();
    // The code and the text are what matters; fields after them that cannot be read do not hide it.
    let detail = decode_detail(reader, code).unwrap_or(Detail::None);
    Ok(Error::Server(Box::new(ServerError { code, message, detail, payload, warnings })))
}

fn decode_detail(reader: &mut Reader<'_>, code: ErrorCode) -> Result<Detail, Error> {
    match code {
        ErrorCode::Unavailable => {
            reader.u16("consistency")?;
            Ok(Detail::Unavailable { required: reader.i32("required")?, alive: reader.i32("alive")? })
        }
        ErrorCode::WriteTimeout | ErrorCode::ReadTimeout | ErrorCode::CasWriteUnknown => {
            reader.u16("consistency")?;
            let received = reader.i32("received")?;
            let required = reader.i32("required")?;
            let write_type = match code {
                ErrorCode::WriteTimeout => reader.string("write type")?.to_owned(),
                _ => String::new(),
            };
            Ok(Detail::Timeout { received, required, write_type })
        }
        ErrorCode::Unprepared => Ok(Detail::Unprepared { id: reader.short_bytes("statement id")?.to_vec() }),
        ErrorCode::AlreadyExists => Ok(Detail::AlreadyExists {
            keyspace: reader.string("keyspace")?.to_owned(),
            table: reader.string("table")?.to_owned(),
        }),
        _ => Ok(Detail::None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn envelope(flags: u8, opcode: u8, body: &[u8]) -> Envelope {
        Envelope { flags, stream: 0, opcode, body: body.to_vec() }
    }

    #[test]
    fn prefix_order_is_tracing_warnings_payload() {
        let mut body = vec![7; 16];
        body.extend_from_slice(&[0, 1, 0, 2, b'h', b'm']);
        body.extend_from_slice(&[0, 1, 0, 1, b'k', 0, 0, 0, 1, b'v']);
        body.extend_from_slice(&[0, 0, 0, 1]);
        let flags = flag::TRACING | flag::WARNINGS | flag::PAYLOAD;
        let response = decode(&envelope(flags, opcode::RESULT, &body), Version::V4, None).expect("well formed");
        assert!(matches!(response.answer, Answer::Void));
        assert_eq!(response.warnings, ["hm"]);
        assert_eq!(response.payload.text("k"), Some("v"));
    }

    #[test]
    fn a_write_timeout_keeps_its_text_and_fields() {
        let mut body = vec![0, 0, 0x11, 0, 0, 4, b's', b'l', b'o', b'w', 0, 8, 0, 0, 0, 1, 0, 0, 0, 2];
        body.extend_from_slice(&[0, 3, b'C', b'A', b'S']);
        let error = decode(&envelope(0, opcode::ERROR, &body), Version::V5, None).expect_err("an error");
        let error = error.server().expect("the server's").clone();
        assert_eq!((error.code, error.message.as_str()), (ErrorCode::WriteTimeout, "slow"));
        assert_eq!(error.detail, Detail::Timeout { received: 1, required: 2, write_type: "CAS".into() });
    }

    #[test]
    fn missing_error_fields_do_not_hide_the_code() {
        let body = [0, 0, 0x10, 0, 0, 0];
        let error = decode(&envelope(0, opcode::ERROR, &body), Version::V4, None).expect_err("an error");
        let error = error.server().expect("the server's").clone();
        assert_eq!((error.code, error.detail), (ErrorCode::Unavailable, Detail::None));
    }

    proptest! {
        #[test]
        fn law_no_bytes_panic(flags in 0u8..16, opcode in 0u8..9, body: Vec<u8>, kind in 0u8..6) {
            let mut framed = vec![0, 0, 0, kind];
            framed.extend_from_slice(&body);
            for version in [Version::V4, Version::V5] {
                let _ = decode(&envelope(flags, opcode, &body), version, None);
                let _ = decode(&envelope(0, opcode::RESULT, &framed), version, None);
            }
        }
    }
}
