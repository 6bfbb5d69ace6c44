//! The admin-signed record that says which keys speak for which id.
//!
//! Layout, big-endian, 183 bytes:
//!
//! | bytes | field |
//! |---|---|
//! | 8 | `"AHC1.id"` and layout number 1 |
//! | 16 | cluster id |
//! | 4 | id of the node or client |
//! | 1 | role: 1 node, 2 client |
//! | 33 | ECDSA P-256 public key, compressed SEC1 |
//! | 33 | ECDH P-256 public key, compressed SEC1, never the same key |
//! | 8, 8 | valid from, valid to (inclusive), Unix seconds |
//! | 8 | serial number |
//! | 64 | ECDSA signature of the admin key over the 119 bytes before it, low s |
//!
//! The record is canonical: bytes that decode encode to themselves.

use p256::ecdsa::{SigningKey, VerifyingKey};
use p256::elliptic_curve::Generate;
use p256::{PublicKey, SecretKey};

use crate::rand_core::CryptoRng;
use crate::sign::{SIGNATURE_LEN, SignatureBytes, sign, verify};
use crate::{ClusterId, Error};

const PREFIX: &[u8; 8] = b"AHC1.id\x01";
const POINT_LEN: usize = 33;
const BODY_LEN: usize = 8 + 16 + 4 + 1 + 2 * POINT_LEN + 3 * 8;

/// Length of an encoded record in bytes.
pub const RECORD_LEN: usize = BODY_LEN + SIGNATURE_LEN;

/// What the holder of an identity may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Role {
    Node = 1,
    Client = 2,
}

impl Role {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Node => "node",
            Self::Client => "client",
        }
    }

    const fn from_byte(byte: u8) -> Result<Self, Error> {
        match byte {
            1 => Ok(Self::Node),
            2 => Ok(Self::Client),
            unknown => Err(Error::UnknownRole(unknown)),
        }
    }
}

/// The claims of a record.
///
/// *Units*: `not_before` and `not_after` are Unix seconds, both inclusive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claims {
    pub cluster: ClusterId,
    pub id: u32,
    pub role: Role,
    pub verifying: VerifyingKey,
    pub agreement: PublicKey,
    pub not_before: u64,
    pub not_after: u64,
    pub serial: u64,
}

impl Claims {
    fn encode(&self) -> [u8; BODY_LEN] {
        let mut out = [0; BODY_LEN];
        let mut rest = &mut out[..];
        put(&mut rest, PREFIX);
        put(&mut rest, &self.cluster.0);
        put(&mut rest, &self.id.to_be_bytes());
        put(&mut rest, &[self.role as u8]);
        put(&mut rest, &point(&self.verifying.into()));
        put(&mut rest, &point(&self.agreement));
        put(&mut rest, &self.not_before.to_be_bytes());
        put(&mut rest, &self.not_after.to_be_bytes());
        put(&mut rest, &self.serial.to_be_bytes());
        out
    }

    fn decode(body: &[u8; BODY_LEN]) -> Result<Self, Error> {
        let mut rest = &body[..];
        if &take::<8>(&mut rest) != PREFIX {
            return Err(Error::Layout("does not begin with AHC1.id, layout 1; is this another file?"));
        }
        let claims = Self {
            cluster: ClusterId(take(&mut rest)),
            id: u32::from_be_bytes(take(&mut rest)),
            role: Role::from_byte(take::<1>(&mut rest)[0])?,
            verifying: parse_point(&take(&mut rest), "the ECDSA key is not a compressed point of P-256")?.into(),
            agreement: parse_point(&take(&mut rest), "the ECDH key is not a compressed point of P-256")?,
            not_before: u64::from_be_bytes(take(&mut rest)),
            not_after: u64::from_be_bytes(take(&mut rest)),
            serial: u64::from_be_bytes(take(&mut rest)),
        };
        claims.check()?;
        Ok(claims)
    }

    fn check(&self) -> Result<(), Error> {
        if self.not_before > self.not_after {
            return Err(Error::Layout("ends before it begins: not_before is later than not_after"));
        }
        if PublicKey::from(self.verifying) == self.agreement {
            return Err(Error::Layout("the ECDSA key and the ECDH key are the same; they must be separate"));
        }
        Ok(())
    }
}

/// A record as it is stored and configured: well-formed, its signature not yet checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdentityRecord {
    claims: Claims,
    signature: SignatureBytes,
}

impl IdentityRecord {
    pub fn encode(&self) -> [u8; RECORD_LEN] {
        let mut out = [0; RECORD_LEN];
        out[..BODY_LEN].copy_from_slice(&self.claims.encode());
        out[BODY_LEN..].copy_from_slice(&self.signature);
        out
    }

    /// *Errors*: any length but [`RECORD_LEN`], a foreign prefix, an unknown role, a bad point, an empty validity.
    pub fn decode(bytes: &[u8]) -> Result<Self, Error> {
        let record: &[u8; RECORD_LEN] = bytes.try_into().map_err(|_| Error::Length {
            what: "identity record",
            expected: RECORD_LEN,
            found: bytes.len(),
        })?;
        let mut rest = &record[..];
        let claims = Claims::decode(&take(&mut rest))?;
        Ok(Self { claims, signature: take(&mut rest) })
    }

    /// What the record says, believed by nobody yet: for messages to the operator.
    pub const fn claims(&self) -> &Claims {
        &self.claims
    }

    /// Checks the record against the admin key, the cluster and the time.
    ///
    /// *Units*: `now` is Unix seconds.
    pub fn verify(&self, admin: &AdminPublic, cluster: ClusterId, now: u64) -> Result<Identity, Error> {
        let Claims { id, role, not_before, not_after, .. } = self.claims;
        let role = role.name();
        verify(&admin.0, &self.claims.encode(), &self.signature).map_err(|_| Error::AdminSignature { role, id })?;
        if self.claims.cluster != cluster {
            let (found, expected) = (self.claims.cluster.to_string(), cluster.to_string());
            return Err(Error::WrongCluster { role, id, found, expected });
        }
        if now < not_before || now > not_after {
            return Err(Error::NotValidNow { role, id, not_before, not_after, now });
        }
        Ok(Identity(self.claims.clone()))
    }
}

/// A record whose signature, cluster and validity were checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity(Claims);

impl Identity {
    pub const fn id(&self) -> u32 {
        self.0.id
    }

    pub const fn role(&self) -> Role {
        self.0.role
    }

    pub const fn claims(&self) -> &Claims {
        &self.0
    }

    /// Checks a signature of this identity over `message` (which begins with its own domain prefix).
    pub fn verify(&self, message: &[u8], signature: &SignatureBytes) -> Result<(), Error> {
        verify(&self.0.verifying, message, signature)
    }
}

/// The secret key of the cluster's administrator; needed to issue records, never by a running node.
#[derive(Clone)]
pub struct AdminSecret(pub(crate) SigningKey);

impl AdminSecret {
    pub fn generate(rng: &mut impl CryptoRng) -> Self {
        Self(SecretKey::generate_from_rng(rng).into())
    }

    pub fn public(&self) -> AdminPublic {
        AdminPublic(*self.0.verifying_key())
    }

    /// Signs the claims. *Errors*: claims that no decoder would accept.
    pub fn issue(&self, claims: Claims) -> Result<IdentityRecord, Error> {
        claims.check()?;
        let signature = sign(&self.0, &claims.encode());
        Ok(IdentityRecord { claims, signature })
    }
}

impl std::fmt::Debug for AdminSecret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("AdminSecret([redacted])")
    }
}

/// The public key every node checks identity records against.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AdminPublic(pub(crate) VerifyingKey);

fn point(key: &PublicKey) -> [u8; POINT_LEN] {
    let encoded = VerifyingKey::from(key).to_sec1_point(true);
    let mut out = [0; POINT_LEN];
    out.copy_from_slice(encoded.as_bytes());
    out
}

fn parse_point(bytes: &[u8; POINT_LEN], problem: &'static str) -> Result<PublicKey, Error> {
    PublicKey::from_sec1_bytes(bytes).map_err(|_| Error::Layout(problem))
}

fn put(rest: &mut &mut [u8], bytes: &[u8]) {
    let (head, tail) = std::mem::take(rest).split_at_mut(bytes.len());
    head.copy_from_slice(bytes);
    *rest = tail;
}

/// The next `N` bytes of a layout whose total length was checked before.
fn take<const N: usize>(rest: &mut &[u8]) -> [u8; N] {
    let (head, tail) = rest.split_first_chunk().expect("a fixed layout is read to its checked length and no further");
    *rest = tail;
    *head
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::keygen::to_hex;
    use crate::keys::NodeSecrets;
    use crate::test_rng::TestRng;

    const CLUSTER: ClusterId = ClusterId([7; 16]);

    fn issued() -> (AdminSecret, IdentityRecord) {
        let mut rng = TestRng::new(1);
        let admin = AdminSecret::generate(&mut rng);
        let secrets = NodeSecrets::generate(&mut rng);
        let record = admin.issue(secrets.claims(CLUSTER, 3, Role::Node, 100, 200, 42)).unwrap();
        (admin, record)
    }

    #[test]
    fn record_layout_is_pinned() {
        let (_, record) = issued();
        let bytes = record.encode();
        assert_eq!(bytes.len(), 183);
        assert_eq!(&bytes[..8], b"AHC1.id\x01");
        assert_eq!(bytes[8..24], [7; 16]);
        assert_eq!(to_hex(&bytes[24..29]), "0000000301");
        assert!(matches!(bytes[29], 2 | 3) && matches!(bytes[62], 2 | 3), "compressed points");
        assert_eq!(to_hex(&bytes[95..119]), "000000000000006400000000000000c8000000000000002a");
        assert_eq!(IdentityRecord::decode(&bytes).unwrap(), record);
    }

    #[test]
    fn record_verifies_within_its_validity_only() {
        let (admin, record) = issued();
        for (now, valid) in [(99, false), (100, true), (200, true), (201, false)] {
            assert_eq!(record.verify(&admin.public(), CLUSTER, now).is_ok(), valid, "at {now}");
        }
    }

    #[test]
    fn record_of_another_admin_is_refused() {
        let (_, record) = issued();
        let stranger = AdminSecret::generate(&mut TestRng::new(2)).public();
        assert_eq!(record.verify(&stranger, CLUSTER, 150), Err(Error::AdminSignature { role: "node", id: 3 }));
    }

    #[test]
    fn record_of_another_cluster_is_refused() {
        let (admin, record) = issued();
        let error = record.verify(&admin.public(), ClusterId([8; 16]), 150).unwrap_err();
        assert!(matches!(error, Error::WrongCluster { id: 3, .. }), "{error}");
    }

    #[test]
    fn other_lengths_are_refused() {
        let bytes = issued().1.encode();
        for len in [0, 8, BODY_LEN, RECORD_LEN - 1] {
            assert!(matches!(IdentityRecord::decode(&bytes[..len]), Err(Error::Length { .. })));
        }
        let longer = [&bytes[..], &[0]].concat();
        assert!(matches!(IdentityRecord::decode(&longer), Err(Error::Length { .. })));
    }

    #[test]
    fn one_key_for_both_purposes_is_refused() {
        let (admin, record) = issued();
        let mut claims = record.claims().clone();
        claims.agreement = claims.verifying.into();
        assert!(matches!(admin.issue(claims), Err(Error::Layout(_))));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn any_flipped_bit_is_refused(bit in 0..RECORD_LEN * 8) {
            let (admin, record) = issued();
            let mut bytes = record.encode();
            bytes[bit / 8] ^= 1 << (bit % 8);
            let accepted = IdentityRecord::decode(&bytes).and_then(|r| r.verify(&admin.public(), CLUSTER, 150));
            prop_assert!(accepted.is_err());
        }

        #[test]
        fn what_decodes_encodes_to_itself(at in 0..RECORD_LEN, byte: u8) {
            let mut bytes = issued().1.encode();
            bytes[at] = byte;
            if let Ok(record) = IdentityRecord::decode(&bytes) {
                prop_assert_eq!(record.encode(), bytes);
            }
        }
    }
}
