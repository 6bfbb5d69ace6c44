//! HKDF-SHA256 (RFC 5869): one secret in, many independent keys out.

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use crate::Error;

pub(crate) type HmacSha256 = Hmac<Sha256>;

const HASH_LEN: usize = 32;
/// Largest output the block counter of one byte allows.
const OUTPUT_MAX: usize = 255 * HASH_LEN;

/// A pseudo-random key after the extract step; `Debug` never shows it.
#[derive(Clone)]
pub struct Prk(HmacSha256);

impl Prk {
    /// Concentrates the randomness of `secret` into one key. *Source*: RFC 5869, 2.2.
    pub fn extract(salt: &[u8], secret: &[u8]) -> Self {
        let prk = keyed(salt).chain_update(secret).finalize();
        Self(keyed(prk.as_bytes()))
    }

    /// Fills `out` with key bytes that belong to `info` alone. *Source*: RFC 5869, 2.3.
    ///
    /// *Errors*: `out` longer than 8160 bytes.
    pub fn expand(&self, info: &[u8], out: &mut [u8]) -> Result<(), Error> {
        if out.len() > OUTPUT_MAX {
            return Err(Error::DeriveLength { wanted: out.len(), max: OUTPUT_MAX });
        }
        let mut previous: Option<hmac::digest::CtOutput<HmacSha256>> = None;
        for (index, chunk) in out.chunks_mut(HASH_LEN).enumerate() {
            let mut mac = self.0.clone();
            if let Some(block) = &previous {
                mac.update(block.as_bytes());
            }
            mac.update(info);
            mac.update(&[index as u8 + 1]);
            let block = mac.finalize();
            chunk.copy_from_slice(&block.as_bytes()[..chunk.len()]);
            previous = Some(block);
        }
        Ok(())
    }
}

impl std::fmt::Debug for Prk {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Prk([redacted])")
    }
}

/// HMAC takes a key of any length, so this cannot fail.
pub(crate) fn keyed(key: &[u8]) -> HmacSha256 {
    <HmacSha256 as KeyInit>::new_from_slice(key).expect("HMAC accepts keys of every length")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keygen::{from_hex, to_hex};

    fn okm(secret: &[u8], salt: &[u8], info: &[u8], len: usize) -> String {
        let mut out = vec![0; len];
        Prk::extract(salt, secret).expand(info, &mut out).unwrap();
        to_hex(&out)
    }

    #[test]
    fn rfc_5869_case_1_basic() {
        let salt = from_hex("salt", "000102030405060708090a0b0c").unwrap();
        let info = from_hex("info", "f0f1f2f3f4f5f6f7f8f9").unwrap();
        let expected = "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b887185865";
        assert_eq!(okm(&[0x0b; 22], &salt, &info, 42), expected);
    }

    #[test]
    fn rfc_5869_case_2_longer_inputs_and_output() {
        let secret: Vec<u8> = (0x00..=0x4f).collect();
        let salt: Vec<u8> = (0x60..=0xaf).collect();
        let info: Vec<u8> = (0xb0..=0xff).collect();
        let expected = "b11e398dc80327a1c8e7f78c596a49344f012eda2d4efad8a050cc4c19afa97c59045a99cac7827271cb41c65e590e09\
                        da3275600c2f09b8367793a9aca3db71cc30c58179ec3e87c14c01d5c1f3434f1d87";
        assert_eq!(okm(&secret, &salt, &info, 82), expected);
    }

    #[test]
    fn rfc_5869_case_3_empty_salt_and_info() {
        let expected = "8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d9d201395faa4b61a96c8";
        assert_eq!(okm(&[0x0b; 22], &[], &[], 42), expected);
    }

    #[test]
    fn output_beyond_255_blocks_is_refused() {
        let prk = Prk::extract(b"salt", b"secret");
        assert!(prk.expand(b"", &mut vec![0; OUTPUT_MAX]).is_ok());
        assert!(matches!(prk.expand(b"", &mut vec![0; OUTPUT_MAX + 1]), Err(Error::DeriveLength { .. })));
    }

    #[test]
    fn hmac_matches_rfc_4231_case_2() {
        let tag = keyed(b"Jefe").chain_update(b"what do ya want for nothing?").finalize();
        assert_eq!(to_hex(tag.as_bytes()), "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
    }
}
