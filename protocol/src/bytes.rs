//! Shared byte strings: encoded once, copied by reference afterwards.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

/// An immutable byte string that is cheap to clone.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bytes(Arc<[u8]>);

impl Bytes {
    /// Copies `bytes` once.
    pub fn copy_of(bytes: &[u8]) -> Self {
        Self(bytes.into())
    }
}

impl Default for Bytes {
    fn default() -> Self {
        Self(Arc::from([]))
    }
}

impl From<Vec<u8>> for Bytes {
    fn from(bytes: Vec<u8>) -> Self {
        Self(bytes.into())
    }
}

impl Deref for Bytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SHOWN: usize = 16;
        f.write_str("x")?;
        self.0.iter().take(SHOWN).try_for_each(|byte| write!(f, "{byte:02x}"))?;
        if self.0.len() > SHOWN { write!(f, "…{}", self.0.len()) } else { Ok(()) }
    }
}

impl Serialize for Bytes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(&self.0)
    }
}

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl serde::de::Visitor<'_> for Visitor {
            type Value = Bytes;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a byte string")
            }
            fn visit_bytes<E>(self, bytes: &[u8]) -> Result<Bytes, E> {
                Ok(Bytes::copy_of(bytes))
            }
        }
        deserializer.deserialize_bytes(Visitor)
    }
}

/// Opaque content with a kind and a version, given its meaning by the injected [`crate::Semantics`].
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Blob {
    /// Which sort of content.
    pub kind: u8,
    /// Format version of that sort.
    pub version: u8,
    /// The content.
    pub bytes: Bytes,
}
