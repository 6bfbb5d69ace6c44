use std::fmt;
use std::str::FromStr;

use sha2::{Digest, Sha256};

use crate::Error;
use crate::keygen::{from_hex, to_hex};

/// Identity of a cluster: 16 bytes chosen once, bound into every signature, key and frame.
///
/// *Shape*: text form is 32 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClusterId(pub [u8; 16]);

/// First 8 bytes of a hash of the cluster id, as peer frames and greetings carry it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClusterDigest(pub [u8; 8]);

impl ClusterId {
    /// The short form for frame headers; it tells clusters apart, keys bind the full id.
    pub fn digest(&self) -> ClusterDigest {
        let hash = Sha256::new().chain_update(b"AHC1.cluster").chain_update(self.0).finalize();
        let mut short = [0; 8];
        short.copy_from_slice(&hash[..8]);
        ClusterDigest(short)
    }
}

impl FromStr for ClusterId {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let bytes = from_hex("cluster id", text)?;
        let found = bytes.len();
        let id = bytes.try_into().map_err(|_| Error::Length { what: "cluster id", expected: 16, found })?;
        Ok(Self(id))
    }
}

impl fmt::Display for ClusterId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&to_hex(&self.0))
    }
}

impl fmt::Debug for ClusterId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ClusterId({self})")
    }
}

impl fmt::Display for ClusterDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&to_hex(&self.0))
    }
}

impl fmt::Debug for ClusterDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ClusterDigest({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cluster_id_text_parses_back() {
        let id = ClusterId(std::array::from_fn(|i| i as u8 * 7));
        assert_eq!(id.to_string().parse::<ClusterId>().unwrap(), id);
    }

    #[test]
    fn short_cluster_id_names_its_length() {
        let error = "00ff".parse::<ClusterId>().unwrap_err();
        assert_eq!(error.to_string(), "cluster id: 2 bytes, expected 16");
    }

    #[test]
    fn digest_differs_between_clusters() {
        assert_ne!(ClusterId([0; 16]).digest(), ClusterId([1; 16]).digest());
    }
}
