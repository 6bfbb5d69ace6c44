//! What readers answer.

use crate::bytes::Bytes;
use crate::key::Key;
use serde::{Deserialize, Serialize};

/// The data of the own slice just before the transaction's execution time. Information.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ReadOk {
    /// One entry per key of the slice, sorted.
    pub data: Vec<(Key, Bytes)>,
}

/// The transaction is applied here and its pre-state is gone: ask another replica.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ReadSuperseded {}
