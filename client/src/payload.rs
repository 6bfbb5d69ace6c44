//! The custom payload: named byte strings beside a request or an answer.

use crate::error::Error;
use crate::wire::{self, Reader};

/// Asks the server to say how it ran the transaction; the value is empty.
pub const TRACE_KEY: &str = "accord.trace";
/// The path taken, as text: `fast`, `medium`, `slow`, `ephemeral` or `recovery`.
pub const PATH_KEY: &str = "accord.path";
/// The transaction's id, as text.
pub const TXN_ID_KEY: &str = "accord.txn_id";

/// A custom payload; empty means none is sent.
///
/// *Shape*: entries in the order given, at most 65,535; the first of equal keys is the one that counts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Payload {
    entries: Vec<(String, Vec<u8>)>,
}

impl Payload {
    /// A payload that asks for the path of the transaction.
    pub fn trace() -> Self {
        Self::default().with(TRACE_KEY, Vec::new())
    }

    /// The same payload with one more entry.
    pub fn with(mut self, key: &str, value: Vec<u8>) -> Self {
        self.entries.push((key.to_owned(), value));
        self
    }

    /// The value under `key`; a null value reads as empty.
    pub fn get(&self, key: &str) -> Option<&[u8]> {
        self.entries.iter().find(|(known, _)| known == key).map(|(_, value)| value.as_slice())
    }

    /// The value under `key` as text, if it is UTF-8.
    pub fn text(&self, key: &str) -> Option<&str> {
        self.get(key).and_then(|value| std::str::from_utf8(value).ok())
    }

    /// Whether there is nothing to send.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The entries in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.entries.iter().map(|(key, value)| (key.as_str(), value.as_slice()))
    }

    pub(crate) fn encode(&self, out: &mut Vec<u8>) -> Result<(), Error> {
        let count = wire::short_length(self.entries.len(), "custom payload")?;
        out.extend_from_slice(&count.to_be_bytes());
        for (key, value) in &self.entries {
            wire::put_string(out, key)?;
            wire::put_bytes(out, value)?;
        }
        Ok(())
    }

    pub(crate) fn decode(reader: &mut Reader<'_>) -> Result<Self, Error> {
        let count = reader.u16("custom payload")?;
        let mut entries = Vec::new();
        for _ in 0..count {
            let key = reader.string("custom payload key")?.to_owned();
            let value = reader.bytes("custom payload value")?.unwrap_or_default().to_vec();
            entries.push((key, value));
        }
        Ok(Self { entries })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_null_value_reads_as_empty() {
        let raw = [0, 1, 0, 1, b'k', 0xff, 0xff, 0xff, 0xff];
        let payload = Payload::decode(&mut Reader::new(&raw)).expect("well formed");
        assert_eq!(payload.get("k"), Some(&[][..]));
    }

    proptest! {
        #[test]
        fn law_payload_survives_a_round_trip(entries in proptest::collection::vec((".{0,8}", any::<Vec<u8>>()), 0..5)) {
            let payload = entries.into_iter().fold(Payload::default(), |payload, (key, value)| payload.with(&key, value));
            let mut out = Vec::new();
            payload.encode(&mut out).expect("short enough");
            prop_assert_eq!(Payload::decode(&mut Reader::new(&out)).expect("well formed"), payload);
        }
    }
}
