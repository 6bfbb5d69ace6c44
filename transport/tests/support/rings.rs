//! Key rings of a small cluster, made from a seed.
#![allow(dead_code, reason = "each test program uses a part of it")]

use std::convert::Infallible;
use std::sync::atomic::{AtomicU64, Ordering};

use auth::rand_core::{TryCryptoRng, TryRng};
use auth::{AdminSecret, ClusterId, Identity, KeyRing, NodeSecrets, Role};
use sha2::{Digest, Sha256};

pub(crate) const CLUSTER: ClusterId = ClusterId([7; 16]);

/// The administrator and the members of a cluster.
pub(crate) struct Cast {
    admin: AdminSecret,
    rng: TestRng,
    members: Vec<Member>,
}

#[derive(Clone)]
pub(crate) struct Member {
    secrets: NodeSecrets,
    identity: Identity,
}

impl Cast {
    /// Nodes 1 to `count`.
    pub(crate) fn new(count: u32) -> Self {
        let mut rng = TestRng(0);
        let admin = AdminSecret::generate(&mut rng);
        let mut cast = Self { admin, rng, members: Vec::new() };
        cast.members = (1..=count).map(|id| cast.member(id)).collect();
        cast
    }

    /// New keys for an id, with a valid record; nobody else knows of them.
    pub(crate) fn member(&mut self, id: u32) -> Member {
        let secrets = NodeSecrets::generate(&mut self.rng);
        let record = self.admin.issue(secrets.claims(CLUSTER, id, Role::Node, 0, 10, 1)).unwrap();
        let identity = record.verify(&self.admin.public(), CLUSTER, 5).unwrap();
        Member { secrets, identity }
    }

    /// The ring of node `id`, which knows all members.
    pub(crate) fn ring(&self, id: u32) -> KeyRing {
        self.ring_of(&self.members[id as usize - 1], CLUSTER)
    }

    /// The ring of `member`, which knows all members but the one it stands for.
    pub(crate) fn ring_of(&self, member: &Member, cluster: ClusterId) -> KeyRing {
        let own = member.identity.id();
        let peers = self.members.iter().map(|peer| peer.identity.clone()).filter(|peer| peer.id() != own);
        KeyRing::new(cluster, member.secrets.clone(), &member.identity, peers).unwrap()
    }
}

/// Numbers nobody repeats within one test program; unpredictable enough for a test.
pub(crate) fn entropy(bytes: &mut [u8]) {
    static DRAWN: AtomicU64 = AtomicU64::new(0);
    let drawn = DRAWN.fetch_add(1, Ordering::Relaxed);
    let block = Sha256::digest(drawn.to_be_bytes());
    for (byte, random) in bytes.iter_mut().zip(block.iter().cycle()) {
        *byte = *random;
    }
}

/// A repeatable stream: SHA-256 of a counter.
pub(crate) struct TestRng(u64);

impl TryRng for TestRng {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        let mut bytes = [0; 4];
        self.try_fill_bytes(&mut bytes)?;
        Ok(u32::from_be_bytes(bytes))
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        let mut bytes = [0; 8];
        self.try_fill_bytes(&mut bytes)?;
        Ok(u64::from_be_bytes(bytes))
    }

    fn try_fill_bytes(&mut self, out: &mut [u8]) -> Result<(), Infallible> {
        for chunk in out.chunks_mut(32) {
            self.0 += 1;
            chunk.copy_from_slice(&Sha256::digest(self.0.to_be_bytes())[..chunk.len()]);
        }
        Ok(())
    }
}

impl TryCryptoRng for TestRng {}
