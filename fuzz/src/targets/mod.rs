/// F1: the bytes of a client.
pub mod client_frames;
/// F6: the configuration file.
pub mod config;
/// F2: the text of a statement.
pub mod cql;
/// F4: a log file.
pub mod journal;
/// F8: operations against a model.
pub mod operations;
/// F3: the bytes of a peer.
pub mod peer_messages;

use crate::Target;

/// Every target.
pub fn all() -> [&'static Target; 6] {
    [
        &client_frames::TARGET,
        &cql::TARGET,
        &peer_messages::TARGET,
        &journal::TARGET,
        &config::TARGET,
        &operations::TARGET,
    ]
}

/// Takes small numbers off the front of an input; zeros once it is used up.
pub(crate) struct Dice<'a>(&'a [u8]);

impl<'a> Dice<'a> {
    pub(crate) fn new(input: &'a [u8]) -> Self {
        Self(input)
    }

    pub(crate) fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        *first
    }

    pub(crate) fn u16(&mut self) -> usize {
        usize::from(u16::from_be_bytes([self.byte(), self.byte()]))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn rest(&self) -> &'a [u8] {
        self.0
    }
}
