//! The custom payload: what rides along with a request and with its answer.
//!
//! An answer carries a payload only if the request asked for it, since some drivers cannot read one. *Source*: [CQL 4.7].

use crate::error::Error;
use crate::wire::Reader;
use protocol::TxnId;

/// A request carries this key, with any value, to be told how its transaction went.
const TRACE_KEY: &str = "accord.trace";
const PATH_KEY: &str = "accord.path";
const TXN_ID_KEY: &str = "accord.txn_id";

/// What the payload of a request asks for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Asked {
    /// Path and id of the transaction.
    pub(crate) trace: bool,
}

/// Takes the payload off the front of a request's body. Keys that mean nothing here are passed over.
pub(crate) fn read(reader: &mut Reader<'_>) -> Result<Asked, Error> {
    let mut asked = Asked::default();
    for _ in 0..reader.u16("custom payload")? {
        let key = reader.string("custom payload key")?;
        reader.bytes("custom payload value")?;
        asked.trace |= key == TRACE_KEY;
    }
    Ok(asked)
}

/// The payload of an answer: built only where it was asked for.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Trace {
    txn_id: Option<String>,
    path: Option<&'static str>,
}

impl Trace {
    /// What became of the transaction `txn_id`, which took `path` if it is known.
    pub(crate) fn of(asked: Asked, txn_id: TxnId, path: Option<&'static str>) -> Self {
        if !asked.trace {
            return Self::default();
        }
        Self { txn_id: Some(txn_id.to_string()), path }
    }

    /// The entries, in the order in which they are sent.
    pub(crate) fn entries(&self) -> Vec<(&'static str, &[u8])> {
        let path = self.path.map(|path| (PATH_KEY, path.as_bytes()));
        let txn_id = self.txn_id.as_ref().map(|id| (TXN_ID_KEY, id.as_bytes()));
        path.into_iter().chain(txn_id).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::Put;

    #[test]
    fn only_the_trace_key_asks_for_a_trace() {
        for (key, expected) in [("accord.trace", true), ("accord.tracing", false)] {
            let mut body = Vec::new();
            body.put_u16(1);
            body.put_string(key);
            body.put_bytes(Some(b"1"));
            let mut reader = Reader::new(&body);
            assert_eq!(read(&mut reader), Ok(Asked { trace: expected }));
            assert!(reader.is_empty());
        }
    }

    #[test]
    fn nothing_is_sent_unasked() {
        assert!(Trace::of(Asked::default(), TxnId::NONE, Some("fast")).entries().is_empty());
        let trace = Trace::of(Asked { trace: true }, TxnId::NONE, Some("fast"));
        assert_eq!(trace.entries()[0], ("accord.path", &b"fast"[..]));
        assert_eq!(trace.entries()[1].1, TxnId::NONE.to_string().as_bytes());
    }
}
