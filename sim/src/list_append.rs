//! The simulator's language: lists that transactions read and append their own number to.
//!
//! Whatever is read shows exactly which writes came before, so one checker sees every anomaly.

use protocol::{Blob, Bytes, Execution, Key, Semantics, TableId, Timestamp, Token, TxnId};

/// Kind byte of a body.
const BODY: u8 = 1;
/// Kind byte of a result.
const RESULT: u8 = 2;

/// What a transaction does: which keys it reads, and to which it appends its number.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Operation {
    /// The number of the transaction, unique in the run.
    pub(crate) number: u32,
    /// Bit per key.
    pub(crate) reads: u8,
    /// Bit per key.
    pub(crate) appends: u8,
}

/// What one read saw: the key's number and its list.
pub(crate) type Observation = (u32, Vec<u32>);

/// The number of a key is its partition key.
pub(crate) fn key_of(number: u32, token: Token) -> Key {
    Key::with_token(1, token, TableId(1), &[number as u8])
}

pub(crate) fn number_of(key: &Key) -> u32 {
    key.partition.first().copied().map_or(0, u32::from)
}

impl Operation {
    pub(crate) fn to_body(&self) -> Blob {
        let mut bytes = self.number.to_be_bytes().to_vec();
        bytes.extend([self.reads, self.appends]);
        Blob { kind: BODY, version: 1, bytes: Bytes::from(bytes) }
    }

    fn of_body(body: &Blob) -> Self {
        let bytes = &body.bytes;
        Self {
            number: u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]),
            reads: bytes[4],
            appends: bytes[5],
        }
    }
}

/// The number of the transaction with this body.
pub(crate) fn number_of_body(body: &Blob) -> u32 {
    Operation::of_body(body).number
}

pub(crate) fn decode_list(bytes: &[u8]) -> Vec<u32> {
    bytes.chunks_exact(4).map(|four| u32::from_be_bytes([four[0], four[1], four[2], four[3]])).collect()
}

/// What the reads of a transaction saw, from its result.
pub(crate) fn observations(result: &Blob) -> Vec<Observation> {
    let mut rest: &[u8] = &result.bytes;
    let mut observed = Vec::new();
    while let [key, l0, l1, tail @ ..] = rest {
        let length = usize::from(u16::from_be_bytes([*l0, *l1])).min(tail.len());
        observed.push((u32::from(*key), decode_list(&tail[..length])));
        rest = &tail[length..];
    }
    observed
}

/// List-append, as a [`Semantics`].
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ListAppend;

impl Semantics for ListAppend {
    fn read(&self, body: &Blob, key: &Key, rows: Option<&[u8]>, _: Timestamp) -> Vec<u8> {
        let is_read = Operation::of_body(body).reads >> number_of(key) & 1 == 1;
        // a row is the list with its versions; the data is the list alone
        if is_read {
            rows.unwrap_or_default().chunks_exact(ENTRY).flat_map(|entry| entry[20..].to_vec()).collect()
        } else {
            Vec::new()
        }
    }

    fn execute(&self, body: &Blob, _: TxnId, _: Timestamp, data: &[(Key, Bytes)]) -> Execution {
        let operation = Operation::of_body(body);
        let mut result = Vec::new();
        let mut writes = Vec::new();
        for (key, list) in data {
            let number = number_of(key);
            if operation.reads >> number & 1 == 1 {
                result.push(number as u8);
                result.extend((list.len() as u16).to_be_bytes());
                result.extend_from_slice(list);
            }
            if operation.appends >> number & 1 == 1 {
                writes.push((key.clone(), Bytes::copy_of(&operation.number.to_be_bytes())));
            }
        }
        Execution { writes, result: Blob { kind: RESULT, version: 1, bytes: Bytes::from(result) } }
    }

    fn apply(&self, _: &Key, at: Timestamp, write: &[u8], rows: Option<&[u8]>) -> Option<Vec<u8>> {
        let mut rows = rows.unwrap_or_default().to_vec();
        let version = at.to_bytes();
        // again over its own outcome it changes nothing
        if rows.chunks_exact(ENTRY).any(|entry| entry[..20] == version) {
            return Some(rows);
        }
        rows.extend(version);
        rows.extend_from_slice(write);
        Some(rows)
    }
}

/// A version and a number.
const ENTRY: usize = 24;

/// The list that stored rows hold, with the version of each element.
pub(crate) fn versions(rows: &[u8]) -> Vec<([u8; 20], u32)> {
    let entry = |entry: &[u8]| {
        let version: [u8; 20] = entry[..20].try_into().expect("entries of 24 bytes");
        (version, u32::from_be_bytes([entry[20], entry[21], entry[22], entry[23]]))
    };
    rows.chunks_exact(ENTRY).map(entry).collect()
}
