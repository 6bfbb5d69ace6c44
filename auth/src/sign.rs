use p256::ecdsa::signature::{Signer, Verifier};
use p256::ecdsa::{Signature, SigningKey, VerifyingKey};

use crate::Error;

/// Bytes of a signature: r and s, 32 big-endian bytes each.
pub const SIGNATURE_LEN: usize = 64;

/// An ECDSA P-256 signature in its only accepted form: fixed length, low s.
///
/// Never an identity of what it signs: the signer may make as many as it likes.
pub type SignatureBytes = [u8; SIGNATURE_LEN];

/// Signs SHA-256 of `message`, which must begin with its own domain prefix. Deterministic (RFC 6979).
pub(crate) fn sign(key: &SigningKey, message: &[u8]) -> SignatureBytes {
    let signature: Signature = key.sign(message);
    signature.normalize_s().to_bytes().into()
}

/// Accepts exactly what [`sign`] can have made with the secret half of `key`.
pub(crate) fn verify(key: &VerifyingKey, message: &[u8], signature: &SignatureBytes) -> Result<(), Error> {
    let signature = Signature::from_slice(signature).map_err(|_| Error::Signature)?;
    // p256 takes both s and n - s; one form only, or one statement could be counted as two.
    if signature.normalize_s() != signature {
        return Err(Error::HighS);
    }
    key.verify(message, &signature).map_err(|_| Error::Signature)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keygen::{from_hex, to_hex};

    /// The key of RFC 6979, A.2.5.
    fn rfc_key() -> SigningKey {
        let secret = from_hex("key", "c9afa9d845ba75166b5c215767b1d6934e50c3db36e89b127b8a622b120f6721").unwrap();
        SigningKey::from_slice(&secret).unwrap()
    }

    #[test]
    fn signatures_are_the_deterministic_ones_of_rfc_6979() {
        let raw: Signature = rfc_key().sign(b"sample");
        let r = "efd48b2aacb6a8fd1140dd9cd45e81d69d2c877b56aaf991c34d0ea84eaf3716";
        let s = "f7cb1c942d657c41d436c7a1b6e29f65f3e900dbb9aff4064dc4ab2f843acda8";
        assert_eq!(to_hex(&raw.to_bytes()), format!("{r}{s}"));
        // Here s is high, so what we hand out is its twin n - s.
        let low = "0834e36ad29a83bf2bc9385e491d6099c8fdf9d1ed67aa7ea5f51f93782857a9";
        assert_eq!(to_hex(&sign(&rfc_key(), b"sample")), format!("{r}{low}"));
    }

    #[test]
    fn high_s_twin_is_refused() {
        let key = rfc_key();
        let raw: Signature = key.sign(b"sample");
        assert!(key.verifying_key().verify(b"sample", &raw).is_ok(), "the library itself takes both forms");
        let twin: SignatureBytes = raw.to_bytes().into();
        assert_eq!(verify(key.verifying_key(), b"sample", &twin), Err(Error::HighS));
    }

    #[test]
    fn zero_and_oversized_scalars_are_refused() {
        let key = rfc_key();
        let good = sign(&key, b"m");
        for (range, byte) in [(0..32, 0), (32..64, 0), (0..32, 0xff), (32..64, 0xff)] {
            let mut bad = good;
            bad[range].fill(byte);
            assert!(verify(key.verifying_key(), b"m", &bad).is_err());
        }
        assert_eq!(verify(key.verifying_key(), b"m", &good), Ok(()));
        assert_eq!(verify(key.verifying_key(), b"n", &good), Err(Error::Signature));
    }
}
