/// Why a key, an identity or a seal could not be made or used. Refusals of frames are [`crate::Refused`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    #[error("{what}: {found} bytes, expected {expected}")]
    Length { what: &'static str, expected: usize, found: usize },
    #[error("{what}: character {found:?} at position {at} is not a hexadecimal digit")]
    Hex { what: &'static str, at: usize, found: char },
    #[error("{what}: odd number of hexadecimal digits ({digits}); a digit is missing")]
    HexOdd { what: &'static str, digits: usize },
    #[error("{what}: {problem}")]
    Pem { what: &'static str, problem: String },
    #[error("identity record: {0}")]
    Layout(&'static str),
    #[error("identity record: unknown role {0}; this version knows 1 (node) and 2 (client)")]
    UnknownRole(u8),
    #[error(
        "identity record of {role} {id}: signature does not match the admin key; issue the record with this cluster's admin key"
    )]
    AdminSignature { role: &'static str, id: u32 },
    #[error("identity record of {role} {id} belongs to cluster {found}, this is cluster {expected}")]
    WrongCluster { role: &'static str, id: u32, found: String, expected: String },
    #[error(
        "identity record of {role} {id} is valid from {not_before} to {not_after} (Unix seconds), now is {now}; issue a new one"
    )]
    NotValidNow { role: &'static str, id: u32, not_before: u64, not_after: u64, now: u64 },
    #[error("node {id}: the {which} key does not match its identity record (are key_file and ecdh_key_file swapped?)")]
    KeyMismatch { id: u32, which: &'static str },
    #[error("identity record of id {id} has role {role}, a peer must be a node")]
    NotANode { id: u32, role: &'static str },
    #[error("two identity records for node {0}; keep the one with the higher serial")]
    DuplicateNode(u32),
    #[error("nodes {first} and {second} have the same public key; each node needs its own")]
    SharedKey { first: u32, second: u32 },
    #[error("no identity record of node {0} in the key ring; add it to the configuration")]
    UnknownPeer(u32),
    #[error("session {from} to {to}: node {own} can only {action}")]
    WrongSide { own: u32, from: u32, to: u32, action: &'static str },
    #[error("signature does not match")]
    Signature,
    #[error("signature is the high-s twin of another form; only the low-s form is accepted")]
    HighS,
    #[error("{wanted} bytes asked of HKDF, at most {max} can be derived")]
    DeriveLength { wanted: usize, max: usize },
    #[error("payload of {0} bytes does not fit a frame's 32-bit length")]
    PayloadTooLong(usize),
    #[error("frame buffer of {0} bytes has no room reserved for the header")]
    NoHeaderRoom(usize),
    #[error("sequence numbers of this link are used up; reconnect to get a new key")]
    SequenceExhausted,
}
