use auth::Payload;

/// Bytes before each message of a frame: its length.
pub(crate) const PREFIX: usize = 4;

/// The messages of one frame, over the frame's own bytes: each is a big-endian u32 length and then the message.
///
/// *Shape*: checked as a whole when it is made, so iterating cannot fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Batch<'a> {
    bytes: &'a [u8],
    count: u32,
}

/// Why the payload of a well-sealed frame is no batch: the peer has a bug or speaks another version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BatchError {
    #[error("message {index} of a frame is cut short at byte {at}")]
    CutShort { index: u32, at: usize },
    #[error("frame announces {announced} messages but {left} bytes follow the last of them")]
    Trailing { announced: u32, left: usize },
}

impl<'a> Batch<'a> {
    /// *Errors*: unless exactly the announced number of messages fills the payload.
    pub fn parse(payload: Payload<'a>) -> Result<Self, BatchError> {
        let Payload { bytes, count } = payload;
        let mut rest = bytes;
        for index in 0..count {
            let at = bytes.len() - rest.len();
            (_, rest) = split(rest).ok_or(BatchError::CutShort { index, at })?;
        }
        if rest.is_empty() {
            Ok(Self { bytes, count })
        } else {
            Err(BatchError::Trailing { announced: count, left: rest.len() })
        }
    }

    /// Number of messages.
    pub const fn len(&self) -> usize {
        self.count as usize
    }

    pub const fn is_empty(&self) -> bool {
        self.count == 0
    }

    pub const fn iter(&self) -> Messages<'a> {
        Messages { rest: self.bytes }
    }
}

impl<'a> IntoIterator for Batch<'a> {
    type Item = &'a [u8];
    type IntoIter = Messages<'a>;

    fn into_iter(self) -> Messages<'a> {
        self.iter()
    }
}

/// The messages of a [`Batch`] in the order they were sent.
#[derive(Debug, Clone)]
pub struct Messages<'a> {
    rest: &'a [u8],
}

impl<'a> Iterator for Messages<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let (message, rest) = split(self.rest)?;
        self.rest = rest;
        Some(message)
    }
}

fn split(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (len, rest) = bytes.split_first_chunk::<PREFIX>()?;
    rest.split_at_checked(usize::try_from(u32::from_be_bytes(*len)).ok()?)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn payload(messages: &[Vec<u8>]) -> Vec<u8> {
        messages.iter().flat_map(|m| [&(m.len() as u32).to_be_bytes()[..], m].concat()).collect()
    }

    #[test]
    fn message_longer_than_the_payload_is_refused() {
        let bytes = [0, 0, 0, 1, 9, 0xff, 0xff, 0xff, 0xff, 1];
        assert_eq!(Batch::parse(Payload { bytes: &bytes, count: 2 }), Err(BatchError::CutShort { index: 1, at: 5 }));
    }

    #[test]
    fn huge_announced_count_is_refused() {
        assert_eq!(
            Batch::parse(Payload { bytes: &[], count: u32::MAX }),
            Err(BatchError::CutShort { index: 0, at: 0 })
        );
    }

    proptest! {
        #[test]
        fn messages_come_out_as_they_went_in(messages: Vec<Vec<u8>>) {
            let bytes = payload(&messages);
            let count = messages.len() as u32;
            let batch = Batch::parse(Payload { bytes: &bytes, count }).unwrap();
            prop_assert_eq!(batch.len(), messages.len());
            prop_assert!(batch.iter().eq(messages.iter().map(Vec::as_slice)));
            let with = |count| Batch::parse(Payload { bytes: &bytes, count });
            prop_assert!(with(count + 1).is_err());
            if count > 0 {
                prop_assert!(with(count - 1).is_err());
            }
        }
    }
}
