//! Key and identity files as text: what `accordd keygen` writes and a node reads at start.
//!
//! Secret keys are PKCS#8 PEM, the admin's public key is SPKI PEM, an identity record is one line of hexadecimal digits
//! below comment lines that begin with `#`. Pure: text in, text out; the caller keeps secret files at mode 0600.

use p256::elliptic_curve::zeroize::Zeroizing;
use p256::pkcs8::{DecodePrivateKey, DecodePublicKey, EncodePrivateKey, EncodePublicKey, LineEnding};
use p256::{PublicKey, SecretKey};

use crate::identity::{AdminPublic, AdminSecret, IdentityRecord, RECORD_LEN, Role};
use crate::keys::NodeSecrets;
use crate::rand_core::CryptoRng;
use crate::{ClusterId, Error};

/// Which identities to make.
///
/// *Units*: validity in Unix seconds, both ends included. Serials run on from `first_serial`.
#[derive(Debug, Clone)]
pub struct Request {
    pub cluster: ClusterId,
    pub nodes: Vec<u32>,
    pub not_before: u64,
    pub not_after: u64,
    pub first_serial: u64,
}

/// Everything a new cluster needs, as the text of its files.
#[derive(Debug)]
pub struct ClusterFiles {
    /// Goes to the administrator, not to a node.
    pub admin_secret: SecretText,
    pub admin_public: String,
    pub nodes: Vec<NodeFiles>,
}

/// The files of one node.
#[derive(Debug)]
pub struct NodeFiles {
    pub id: u32,
    /// For `key_file`.
    pub signing: SecretText,
    /// For `ecdh_key_file`.
    pub agreement: SecretText,
    /// For `identity_file`; not secret, every peer has a copy.
    pub identity: String,
}

/// Text that is wiped when dropped and never shown by `Debug`.
pub struct SecretText(Zeroizing<String>);

impl SecretText {
    /// The text itself, to be written to a file only its owner may read.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Debug for SecretText {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SecretText([redacted])")
    }
}

/// Makes a new admin key and keys and identities for the nodes of `request`.
///
/// *Errors*: the same node named twice, or an empty validity.
pub fn new_cluster(rng: &mut impl CryptoRng, request: &Request) -> Result<ClusterFiles, Error> {
    let admin = AdminSecret::generate(rng);
    let nodes = more_nodes(rng, &admin, request)?;
    Ok(ClusterFiles {
        admin_secret: admin_secret_text(&admin)?,
        admin_public: admin_public_text(&admin.public())?,
        nodes,
    })
}

/// Makes keys and identities for further nodes under an admin key that exists already.
pub fn more_nodes(rng: &mut impl CryptoRng, admin: &AdminSecret, request: &Request) -> Result<Vec<NodeFiles>, Error> {
    let mut seen = std::collections::BTreeSet::new();
    if let Some(twice) = request.nodes.iter().find(|id| !seen.insert(**id)) {
        return Err(Error::DuplicateNode(*twice));
    }
    let Request { cluster, not_before, not_after, first_serial, .. } = *request;
    let node = |(serial, id): (u64, &u32)| {
        let secrets = NodeSecrets::generate(rng);
        let record = admin.issue(secrets.claims(cluster, *id, Role::Node, not_before, not_after, serial))?;
        let signing = secret_text(&SecretKey::from(&secrets.signing), "signing key")?;
        let agreement = secret_text(&secrets.agreement, "ECDH key")?;
        Ok(NodeFiles { id: *id, signing, agreement, identity: identity_text(&record) })
    };
    (first_serial..).zip(&request.nodes).map(node).collect()
}

pub fn admin_secret_text(admin: &AdminSecret) -> Result<SecretText, Error> {
    secret_text(&SecretKey::from(&admin.0), "admin secret key")
}

pub fn admin_public_text(admin: &AdminPublic) -> Result<String, Error> {
    PublicKey::from(admin.0)
        .to_public_key_pem(LineEnding::LF)
        .map_err(|e| pem_error("admin public key", &e.to_string()))
}

/// The record as a file: comment lines for people, then one line of hexadecimal digits.
pub fn identity_text(record: &IdentityRecord) -> String {
    let claims = record.claims();
    format!(
        "# accordd identity record of {} {}, serial {}\n# cluster {}, valid {} to {} (Unix seconds)\n{}\n",
        claims.role.name(),
        claims.id,
        claims.serial,
        claims.cluster,
        claims.not_before,
        claims.not_after,
        to_hex(&record.encode())
    )
}

pub fn parse_admin_secret(text: &str) -> Result<AdminSecret, Error> {
    Ok(AdminSecret(parse_secret(text, "admin secret key")?.into()))
}

pub fn parse_admin_public(text: &str) -> Result<AdminPublic, Error> {
    let what = "admin public key";
    if text.contains("PRIVATE KEY") {
        return Err(pem_error(what, "the file holds a private key; nodes need the public one only"));
    }
    let key =
        PublicKey::from_public_key_pem(text.trim()).map_err(|e| expected_pem(what, "PUBLIC KEY", &e.to_string()))?;
    Ok(AdminPublic(key.into()))
}

/// The two secret files of a node: `key_file`, then `ecdh_key_file`.
pub fn parse_node_secrets(signing: &str, agreement: &str) -> Result<NodeSecrets, Error> {
    let signing = parse_secret(signing, "signing key")?.into();
    Ok(NodeSecrets { signing, agreement: parse_secret(agreement, "ECDH key")? })
}

/// *Errors*: anything but comment lines and one record; the record's signature is checked later, by `verify`.
pub fn parse_identity(text: &str) -> Result<IdentityRecord, Error> {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    let mut digits = String::with_capacity(2 * RECORD_LEN);
    for line in lines {
        // A wrong file can be large; a record cannot.
        if digits.len() + line.len() > 2 * RECORD_LEN {
            return Err(Error::Layout("longer than one record; is this another file?"));
        }
        digits.push_str(line);
    }
    IdentityRecord::decode(&from_hex("identity record", &digits)?)
}

fn secret_text(key: &SecretKey, what: &'static str) -> Result<SecretText, Error> {
    key.to_pkcs8_pem(LineEnding::LF).map(SecretText).map_err(|e| pem_error(what, &e.to_string()))
}

fn parse_secret(text: &str, what: &'static str) -> Result<SecretKey, Error> {
    if text.contains("PUBLIC KEY") {
        return Err(pem_error(what, "the file holds a public key, the secret one is needed"));
    }
    SecretKey::from_pkcs8_pem(text.trim()).map_err(|e| expected_pem(what, "PRIVATE KEY", &e.to_string()))
}

fn expected_pem(what: &'static str, label: &str, cause: &str) -> Error {
    pem_error(what, &format!("expected one P-256 key in a PEM block \"{label}\" as accordd keygen writes it ({cause})"))
}

fn pem_error(what: &'static str, problem: &str) -> Error {
    Error::Pem { what, problem: problem.to_owned() }
}

/// Lower-case hexadecimal digits of `bytes`.
pub fn to_hex(bytes: &[u8]) -> String {
    bytes
        .iter()
        .flat_map(|byte| [byte >> 4, byte & 15])
        .map(|digit| char::from(b"0123456789abcdef"[usize::from(digit)]))
        .collect()
}

/// Bytes of a text of hexadecimal digits of either case. `what` names the text in errors.
pub fn from_hex(what: &'static str, text: &str) -> Result<Vec<u8>, Error> {
    let digit = |(at, found): (usize, char)| match found.to_digit(16) {
        Some(value) => Ok(value as u8),
        None => Err(Error::Hex { what, at: at + 1, found }),
    };
    let digits = text.chars().enumerate().map(digit).collect::<Result<Vec<u8>, Error>>()?;
    let pairs = digits.chunks_exact(2);
    if !pairs.remainder().is_empty() {
        return Err(Error::HexOdd { what, digits: digits.len() });
    }
    Ok(pairs.map(|pair| pair[0] << 4 | pair[1]).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::KeyRing;
    use crate::test_rng::TestRng;

    const CLUSTER: ClusterId = ClusterId([7; 16]);

    fn files() -> ClusterFiles {
        let request = Request { cluster: CLUSTER, nodes: vec![1, 2, 3], not_before: 0, not_after: 10, first_serial: 1 };
        new_cluster(&mut TestRng::new(1), &request).unwrap()
    }

    #[test]
    fn files_of_a_new_cluster_make_key_rings() {
        let files = files();
        let admin = parse_admin_public(&files.admin_public).unwrap();
        let identities: Vec<_> = files
            .nodes
            .iter()
            .map(|node| parse_identity(&node.identity).unwrap().verify(&admin, CLUSTER, 5).unwrap())
            .collect();
        for (own, node) in files.nodes.iter().enumerate() {
            let secrets = parse_node_secrets(node.signing.expose(), node.agreement.expose()).unwrap();
            let peers = identities.iter().filter(|peer| peer.id() != node.id).cloned();
            let ring = KeyRing::new(CLUSTER, secrets, &identities[own], peers).unwrap();
            assert_eq!(ring.peers().count(), 2);
        }
    }

    #[test]
    fn admin_secret_parses_back_and_issues_more() {
        let files = files();
        let admin = parse_admin_secret(files.admin_secret.expose()).unwrap();
        assert_eq!(admin_public_text(&admin.public()).unwrap(), files.admin_public);
        let request = Request { cluster: CLUSTER, nodes: vec![4], not_before: 0, not_after: 10, first_serial: 4 };
        let more = more_nodes(&mut TestRng::new(2), &admin, &request).unwrap();
        let record = parse_identity(&more[0].identity).unwrap();
        assert_eq!((record.claims().id, record.claims().serial), (4, 4));
        assert!(record.verify(&admin.public(), CLUSTER, 5).is_ok());
    }

    #[test]
    fn same_randomness_gives_the_same_files() {
        assert_eq!(files().nodes[2].identity, files().nodes[2].identity);
    }

    #[test]
    fn node_named_twice_is_refused() {
        let request = Request { cluster: CLUSTER, nodes: vec![1, 1], not_before: 0, not_after: 1, first_serial: 1 };
        assert_eq!(new_cluster(&mut TestRng::new(1), &request).unwrap_err(), Error::DuplicateNode(1));
    }

    #[test]
    fn wrong_kind_of_file_is_named() {
        let files = files();
        let public_for_secret = parse_admin_secret(&files.admin_public).unwrap_err().to_string();
        assert!(public_for_secret.contains("holds a public key"), "{public_for_secret}");
        let secret_for_public = parse_admin_public(files.admin_secret.expose()).unwrap_err().to_string();
        assert!(secret_for_public.contains("holds a private key"), "{secret_for_public}");
        let garbage = parse_node_secrets("", files.nodes[0].agreement.expose()).unwrap_err().to_string();
        assert!(garbage.starts_with("signing key: expected one P-256 key"), "{garbage}");
        assert!(matches!(parse_identity(&files.admin_public), Err(Error::Hex { .. } | Error::Layout(_))));
    }

    #[test]
    fn hex_errors_say_where() {
        assert_eq!(from_hex("key", "0x"), Err(Error::Hex { what: "key", at: 2, found: 'x' }));
        assert_eq!(from_hex("key", "abc"), Err(Error::HexOdd { what: "key", digits: 3 }));
        assert_eq!(from_hex("key", "aBcD"), Ok(vec![0xab, 0xcd]));
        assert_eq!(to_hex(&[0xab, 0x0d]), "ab0d");
    }

    #[test]
    fn damaged_identity_files_are_refused() {
        let text = files().nodes[0].identity.clone();
        let cut = text.trim_end();
        assert!(matches!(parse_identity(&cut[..cut.len() - 2]), Err(Error::Length { .. })));
        assert!(matches!(parse_identity(&format!("{text}00")), Err(Error::Layout(_))));
        assert!(matches!(parse_identity(""), Err(Error::Length { found: 0, .. })));
    }
}
