//! The keys a node holds and what it derives from them.
//!
//! The static ECDH secrets of two nodes give one shared secret per pair; HKDF turns it into one key per direction and
//! per pair of incarnations, so a frame of one link, direction or process life never passes on another.

use std::collections::BTreeMap;

use p256::ecdh::diffie_hellman;
use p256::ecdsa::SigningKey;
use p256::elliptic_curve::Generate;
use p256::elliptic_curve::zeroize::Zeroizing;
use p256::{PublicKey, SecretKey};
use sha2::{Digest, Sha256};

use crate::frame::{LinkKey, Opener, Sealer, TAG_LEN, Tag};
use crate::hkdf::Prk;
use crate::identity::{Claims, Identity, Role};
use crate::rand_core::CryptoRng;
use crate::sign::{SignatureBytes, sign};
use crate::{ClusterDigest, ClusterId, Error, Verified};

/// How the frames between two nodes are protected; both ends must agree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Suite {
    /// No protection, tags are zero: only to measure what the tags cost.
    Off = 0,
    /// HMAC-SHA256 with a 256-bit key, tag cut to 128 bits.
    Hmac128 = 1,
}

/// One end of a link: a node in one of its process lives.
///
/// *Shape*: `incarnation` is random per process start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Party {
    pub node: u32,
    pub incarnation: u64,
}

/// What the two ends of one directed link agreed on; every field is bound into the link's key.
///
/// *Shape*: frames go `from` to `to` only. `transcript` is a hash over the greetings of both ends with their fresh
/// nonces (zero where there are none, as in the simulator).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Session {
    pub wire: u16,
    pub from: Party,
    pub to: Party,
    pub transcript: [u8; 32],
}

/// What a key derived for a session may be used for.
#[derive(Clone, Copy)]
#[repr(u8)]
enum Purpose {
    Frames = 1,
    Greeting = 2,
}

impl Session {
    /// Hash over the greetings of both ends, the opener of the connection first.
    pub fn transcript_of(dialler: &[u8], acceptor: &[u8]) -> [u8; 32] {
        let mut hash = Sha256::new().chain_update(b"AHC1.hello");
        for greeting in [dialler, acceptor] {
            hash.update((greeting.len() as u64).to_be_bytes());
            hash.update(greeting);
        }
        hash.finalize().into()
    }

    fn info(&self, purpose: Purpose) -> Vec<u8> {
        let mut info = Vec::with_capacity(80);
        info.extend_from_slice(b"AHC1.kdf.link");
        info.push(purpose as u8);
        info.extend_from_slice(&self.wire.to_be_bytes());
        for party in [self.from, self.to] {
            info.extend_from_slice(&party.node.to_be_bytes());
            info.extend_from_slice(&party.incarnation.to_be_bytes());
        }
        info.extend_from_slice(&self.transcript);
        info
    }

    const fn reversed(self) -> Self {
        Self { from: self.to, to: self.from, ..self }
    }
}

/// The secret keys of one node or client: one to sign, another to agree on keys.
#[derive(Clone)]
pub struct NodeSecrets {
    pub(crate) signing: SigningKey,
    pub(crate) agreement: SecretKey,
}

impl NodeSecrets {
    pub fn generate(rng: &mut impl CryptoRng) -> Self {
        Self { signing: SecretKey::generate_from_rng(rng).into(), agreement: SecretKey::generate_from_rng(rng) }
    }

    /// The claims an admin signs for the holder of these keys. *Units*: validity in Unix seconds, both ends included.
    pub fn claims(
        &self,
        cluster: ClusterId,
        id: u32,
        role: Role,
        not_before: u64,
        not_after: u64,
        serial: u64,
    ) -> Claims {
        let verifying = *self.signing.verifying_key();
        let agreement = self.agreement.public_key();
        Claims { cluster, id, role, verifying, agreement, not_before, not_after, serial }
    }

    /// Signs `message`, which must begin with its own domain prefix.
    pub fn sign(&self, message: &[u8]) -> SignatureBytes {
        sign(&self.signing, message)
    }

    fn check(&self, identity: &Identity) -> Result<(), Error> {
        let claims = identity.claims();
        let mismatch = |which| Error::KeyMismatch { id: claims.id, which };
        if *self.signing.verifying_key() != claims.verifying {
            return Err(mismatch("signing"));
        }
        if self.agreement.public_key() != claims.agreement {
            return Err(mismatch("ECDH"));
        }
        Ok(())
    }
}

impl std::fmt::Debug for NodeSecrets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("NodeSecrets([redacted])")
    }
}

/// The keys one node works with: its own secrets and what it shares with each configured peer.
#[derive(Debug)]
pub struct KeyRing {
    cluster: ClusterId,
    digest: ClusterDigest,
    own: u32,
    /// None only where tags are off.
    secrets: Option<NodeSecrets>,
    peers: BTreeMap<u32, Peer>,
}

#[derive(Debug)]
struct Peer {
    keyed: Option<Keyed>,
}

#[derive(Debug)]
struct Keyed {
    identity: Identity,
    shared: Prk,
}

impl KeyRing {
    /// Agrees on a secret with each peer (one ECDH each, about 0.1 ms).
    ///
    /// *Errors*: secrets that are not those of `identity`, a peer that is no node, two records of one node or one key.
    pub fn new(
        cluster: ClusterId,
        secrets: NodeSecrets,
        identity: &Identity,
        peers: impl IntoIterator<Item = Identity>,
    ) -> Result<Self, Error> {
        secrets.check(identity)?;
        must_be_node(identity)?;
        let own = identity.id();
        let mut known: BTreeMap<u32, Identity> = BTreeMap::new();
        known.insert(own, identity.clone());
        for peer in peers {
            must_be_node(&peer)?;
            must_be_new(&known, &peer)?;
            known.insert(peer.id(), peer);
        }
        known.remove(&own);
        let peers = known.into_iter().map(|(id, identity)| {
            let shared = agree(cluster, &secrets.agreement, &identity.claims().agreement);
            (id, Peer { keyed: Some(Keyed { identity, shared }) })
        });
        let peers = peers.collect();
        Ok(Self { cluster, digest: cluster.digest(), own, secrets: Some(secrets), peers })
    }

    /// A ring without keys, for `mac = off`: anyone who reaches the port can pose as a node.
    pub fn without_keys(cluster: ClusterId, own: u32, peers: impl IntoIterator<Item = u32>) -> Self {
        let peers = peers.into_iter().filter(|id| *id != own).map(|id| (id, Peer { keyed: None })).collect();
        Self { cluster, digest: cluster.digest(), own, secrets: None, peers }
    }

    pub const fn own(&self) -> u32 {
        self.own
    }

    pub const fn cluster(&self) -> ClusterId {
        self.cluster
    }

    pub const fn digest(&self) -> ClusterDigest {
        self.digest
    }

    pub const fn suite(&self) -> Suite {
        if self.secrets.is_some() { Suite::Hmac128 } else { Suite::Off }
    }

    /// Own secrets, to sign statements with; none where tags are off.
    pub const fn secrets(&self) -> Option<&NodeSecrets> {
        self.secrets.as_ref()
    }

    /// Ids of the configured peers, ascending, without this node.
    pub fn peers(&self) -> impl Iterator<Item = u32> + '_ {
        self.peers.keys().copied()
    }

    pub fn is_peer(&self, node: u32) -> bool {
        self.peers.contains_key(&node)
    }

    /// The verified identity of a peer; none where tags are off.
    pub fn identity(&self, node: u32) -> Option<&Identity> {
        self.peers.get(&node)?.keyed.as_ref().map(|keyed| &keyed.identity)
    }

    /// The sending end of a session this node is the `from` of.
    pub fn sealer(&self, session: &Session) -> Result<Sealer, Error> {
        self.must_be(session.from.node, session, "seal frames it sends")?;
        Ok(Sealer::new(self.digest, session, self.key(session.to.node, session, Purpose::Frames)?))
    }

    /// The receiving end of a session this node is the `to` of.
    pub fn opener(&self, session: &Session) -> Result<Opener, Error> {
        self.must_be(session.to.node, session, "open frames sent to it")?;
        Ok(Opener::new(self.digest, session, self.key(session.from.node, session, Purpose::Frames)?))
    }

    /// The tag by which the receiving end of `session` proves its key before the first frame is sent to it.
    pub fn greeting_tag(&self, session: &Session) -> Result<[u8; TAG_LEN], Error> {
        self.must_be(session.to.node, session, "greet the end that will send to it")?;
        Ok(self.greeting_key(session, session.from.node)?.tag(&[]))
    }

    /// Whether `tag` is the receiving end's [`KeyRing::greeting_tag`]; compared in constant time.
    pub fn check_greeting_tag(&self, session: &Session, tag: &Tag) -> Result<bool, Error> {
        self.must_be(session.from.node, session, "check the greeting of the end it will send to")?;
        Ok(self.greeting_key(session, session.to.node)?.is_tag(&[], tag))
    }

    /// A value this node says to itself: it never crossed a wire, so there is nothing to check.
    pub const fn own_word<T>(&self, value: T, epoch: u64) -> Verified<T> {
        Verified::new(value, self.own, epoch)
    }

    fn greeting_key(&self, session: &Session, peer: u32) -> Result<LinkKey, Error> {
        self.key(peer, &session.reversed(), Purpose::Greeting)
    }

    fn key(&self, peer: u32, session: &Session, purpose: Purpose) -> Result<LinkKey, Error> {
        let Some(keyed) = &self.peers.get(&peer).ok_or(Error::UnknownPeer(peer))?.keyed else {
            return Ok(LinkKey::off());
        };
        let mut key = Zeroizing::new([0; 32]);
        keyed.shared.expand(&session.info(purpose), &mut *key)?;
        Ok(LinkKey::new(&key))
    }

    const fn must_be(&self, end: u32, session: &Session, action: &'static str) -> Result<(), Error> {
        if end == self.own {
            return Ok(());
        }
        Err(Error::WrongSide { own: self.own, from: session.from.node, to: session.to.node, action })
    }
}

fn agree(cluster: ClusterId, secret: &SecretKey, public: &PublicKey) -> Prk {
    let shared = diffie_hellman(secret.to_nonzero_scalar(), public.as_affine());
    Prk::extract(&cluster.0, shared.raw_secret_bytes())
}

fn must_be_node(identity: &Identity) -> Result<(), Error> {
    match identity.role() {
        Role::Node => Ok(()),
        other => Err(Error::NotANode { id: identity.id(), role: other.name() }),
    }
}

fn must_be_new(known: &BTreeMap<u32, Identity>, peer: &Identity) -> Result<(), Error> {
    if known.contains_key(&peer.id()) {
        return Err(Error::DuplicateNode(peer.id()));
    }
    let same = |a: &Claims, b: &Claims| a.agreement == b.agreement || a.verifying == b.verifying;
    match known.values().find(|other| same(other.claims(), peer.claims())) {
        Some(other) => Err(Error::SharedKey { first: other.id(), second: peer.id() }),
        None => Ok(()),
    }
}

#[cfg(test)]
#[path = "keys_tests.rs"]
mod tests;
