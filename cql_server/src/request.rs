//! Requests: the body of an envelope to what the client wants.
//!
//! Everything borrows from the body. Trailing bytes are a mistake of the client and refused. *Source*: [CQL 4.3, 4.4].

use crate::envelope::{Header, flag, opcode};
use crate::error::Error;
use crate::payload::{self, Asked};
use crate::wire::Reader;
use cql_txn::Value;
use smallvec::SmallVec;

/// Values of one statement, in the order of the request.
pub(crate) type Values<'a> = SmallVec<[Value<'a>; 8]>;

/// What a client asks for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Request<'a> {
    Options,
    Startup(Vec<(&'a str, &'a str)>),
    Register(Vec<&'a str>),
    Query { text: &'a str, parameters: Parameters<'a> },
    Prepare { text: &'a str, keyspace: Option<&'a str> },
    Execute { id: &'a [u8], result_metadata_id: Option<&'a [u8]>, parameters: Parameters<'a> },
    Batch,
    AuthResponse,
}

/// What accompanies a statement.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Parameters<'a> {
    pub(crate) values: Values<'a>,
    /// Names of the values, one each, if the request named them.
    pub(crate) names: Option<Vec<&'a str>>,
    pub(crate) skip_metadata: bool,
    pub(crate) keyspace: Option<&'a str>,
}

const VALUES: u32 = 0x01;
const SKIP_METADATA: u32 = 0x02;
const PAGE_SIZE: u32 = 0x04;
const PAGING_STATE: u32 = 0x08;
const SERIAL_CONSISTENCY: u32 = 0x10;
const TIMESTAMP: u32 = 0x20;
const NAMES: u32 = 0x40;
const KEYSPACE: u32 = 0x80;
const NOW_IN_SECONDS: u32 = 0x100;
const CONSISTENCY_MAX: u16 = 10;
const PREPARE_KEYSPACE: u32 = 0x01;

impl<'a> Request<'a> {
    /// Decodes the body of `header`, and what its payload asks for.
    pub(crate) fn decode(header: &Header, body: &'a [u8]) -> Result<(Self, Asked), Error> {
        if header.flags & flag::COMPRESSED != 0 && header.version < 5 {
            return Err(Error::Protocol("compressed message, but no compression was agreed on in STARTUP".into()));
        }
        let mut reader = Reader::new(body);
        let has_payload = header.flags & flag::PAYLOAD != 0;
        let asked = if has_payload { payload::read(&mut reader)? } else { Asked::default() };
        let request = Self::decode_message(header, &mut reader)?;
        if !reader.is_empty() {
            let left = reader.rest().len();
            return Err(Error::Protocol(format!(
                "{left} bytes left over behind a message of opcode {:#04x}",
                header.opcode
            )));
        }
        Ok((request, asked))
    }

    fn decode_message(header: &Header, reader: &mut Reader<'a>) -> Result<Self, Error> {
        let version = header.version;
        Ok(match header.opcode {
            opcode::OPTIONS => Self::Options,
            opcode::STARTUP => Self::Startup(reader.string_map("STARTUP options")?),
            opcode::REGISTER => Self::Register(reader.string_list("REGISTER event types")?),
            opcode::QUERY => {
                let text = reader.long_string("QUERY text")?;
                Self::Query { text, parameters: Parameters::decode(reader, version)? }
            }
            opcode::PREPARE => {
                let text = reader.long_string("PREPARE text")?;
                let flags = if version >= 5 { reader.i32("PREPARE flags")? as u32 } else { 0 };
                if flags & !PREPARE_KEYSPACE != 0 {
                    return Err(Error::Protocol(format!("PREPARE flags {flags:#x}: only 0x1 (keyspace) is known")));
                }
                let named = flags & PREPARE_KEYSPACE != 0;
                let keyspace = if named { Some(reader.string("PREPARE keyspace")?) } else { None };
                Self::Prepare { text, keyspace }
            }
            opcode::EXECUTE => {
                let id = reader.short_bytes("EXECUTE statement id")?;
                let result_metadata_id =
                    if version >= 5 { Some(reader.short_bytes("EXECUTE result metadata id")?) } else { None };
                Self::Execute { id, result_metadata_id, parameters: Parameters::decode(reader, version)? }
            }
            // Refused whatever it holds, so its body is passed over.
            opcode::BATCH | opcode::AUTH_RESPONSE => {
                reader.take(reader.rest().len(), "body")?;
                if header.opcode == opcode::BATCH { Self::Batch } else { Self::AuthResponse }
            }
            other => return Err(Error::Protocol(format!("opcode {other:#04x} is not a request"))),
        })
    }
}

impl<'a> Parameters<'a> {
    fn decode(reader: &mut Reader<'a>, version: u8) -> Result<Self, Error> {
        let consistency = reader.u16("consistency")?;
        if consistency > CONSISTENCY_MAX {
            return Err(Error::Protocol(format!("unknown consistency {consistency:#06x}")));
        }
        let flags = if version >= 5 { reader.i32("query flags")? as u32 } else { reader.u8("query flags")?.into() };
        let known = if version >= 5 { 2 * NOW_IN_SECONDS - 1 } else { KEYSPACE - 1 };
        if flags & !known != 0 {
            return Err(Error::Protocol(format!("query flags {flags:#x}: unknown in version {version}")));
        }
        let mut parameters = Self { skip_metadata: flags & SKIP_METADATA != 0, ..Self::default() };
        if flags & VALUES != 0 {
            parameters.decode_values(reader, flags & NAMES != 0)?;
        }
        if flags & PAGE_SIZE != 0 {
            reader.i32("page size")?;
        }
        if flags & PAGING_STATE != 0 && reader.bytes("paging state")?.is_some() {
            return Err(Error::Protocol("paging state: this server never handed one out".into()));
        }
        if flags & SERIAL_CONSISTENCY != 0 {
            reader.u16("serial consistency")?;
        }
        if flags & TIMESTAMP != 0 && reader.i64("timestamp")? < 0 {
            return Err(Error::Invalid("timestamp of the request is negative".into()));
        }
        if flags & KEYSPACE != 0 {
            parameters.keyspace = Some(reader.string("keyspace")?);
        }
        if flags & NOW_IN_SECONDS != 0 {
            reader.i32("now in seconds")?;
        }
        Ok(parameters)
    }

    fn decode_values(&mut self, reader: &mut Reader<'a>, named: bool) -> Result<(), Error> {
        let mut names = Vec::new();
        for _ in 0..reader.u16("number of values")? {
            if named {
                names.push(reader.string("name of a value")?);
            }
            self.values.push(reader.value("value")?);
        }
        self.names = named.then_some(names);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::Put;
    use proptest::prelude::*;

    fn header(version: u8, opcode: u8) -> Header {
        Header { version, flags: 0, stream: 1, opcode, body_len: 0 }
    }

    fn decode(version: u8, opcode: u8, body: &[u8]) -> Result<Request<'_>, Error> {
        Request::decode(&header(version, opcode), body).map(|(request, _)| request)
    }

    fn query(flags: &[u8], fields: &[u8]) -> Vec<u8> {
        let mut body = vec![0, 0, 0, 1, b'q', 0, 1];
        body.extend_from_slice(flags);
        body.extend_from_slice(fields);
        body
    }

    #[test]
    fn fields_follow_in_the_order_of_their_flags() {
        let mut fields = vec![0, 2, 0, 0, 0, 1, 7, 0xff, 0xff, 0xff, 0xff];
        fields.put_i32(5000);
        fields.put_u16(8);
        fields.extend_from_slice(&9i64.to_be_bytes());
        let body = query(&[0x37], &fields);
        let Ok(Request::Query { text: "q", parameters }) = decode(4, opcode::QUERY, &body) else { panic!("refused") };
        assert_eq!(parameters.values[..], [Value::Bytes(&[7]), Value::Null]);
        assert!(parameters.skip_metadata && parameters.keyspace.is_none());
    }

    #[test]
    fn keyspace_of_a_query_is_a_matter_of_version_five() {
        let body = query(&[0, 0, 0, 0x80], &[0, 1, b'k']);
        let Ok(Request::Query { parameters, .. }) = decode(5, opcode::QUERY, &body) else { panic!("refused") };
        assert_eq!(parameters.keyspace, Some("k"));
        assert!(decode(4, opcode::QUERY, &query(&[0x80], &[0, 1, b'k'])).is_err());
    }

    #[test]
    fn names_come_before_their_values() {
        let body = query(&[0x41], &[0, 1, 0, 1, b'a', 0xff, 0xff, 0xff, 0xfe]);
        let Ok(Request::Query { parameters, .. }) = decode(4, opcode::QUERY, &body) else { panic!("refused") };
        assert_eq!(parameters.names, Some(vec!["a"]));
        assert_eq!(parameters.values[..], [Value::NotSet]);
    }

    #[test]
    fn message_cut_short_or_with_a_tail_is_refused() {
        let whole = query(&[0x01], &[0, 1, 0, 0, 0, 2, 1, 2]);
        assert!(decode(4, opcode::QUERY, &whole).is_ok());
        for len in 0..whole.len() {
            assert!(matches!(decode(4, opcode::QUERY, &whole[..len]), Err(Error::Protocol(_))), "{len}");
        }
        let tailed = [&whole[..], &[0]].concat();
        assert!(matches!(decode(4, opcode::QUERY, &tailed), Err(Error::Protocol(_))));
    }

    #[test]
    fn compressed_body_is_refused_in_version_four() {
        let compressed = Header { flags: flag::COMPRESSED, ..header(4, opcode::OPTIONS) };
        assert!(Request::decode(&compressed, &[]).is_err());
    }

    proptest! {
        #[test]
        fn garbage_never_panics(version in 4u8..=5, opcode in 0u8..=0x10, flags: u8, body in any::<Vec<u8>>()) {
            let _ = Request::decode(&Header { version, flags, stream: 0, opcode, body_len: body.len() }, &body);
        }
    }
}
