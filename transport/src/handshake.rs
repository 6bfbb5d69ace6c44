//! How two nodes come to believe each other before the first message.
//!
//! 1. The dialler says hello: versions, cluster, its id and incarnation, a fresh nonce.
//! 2. The acceptor checks that this is a configured peer and answers with its own hello and a tag over both, under a key
//!    only the two nodes can derive. Strangers get no answer at all.
//! 3. The dialler checks the tag and sends an empty frame, sealed with the link's key, as its own proof.
//!
//! Both hellos are part of every derived key, so neither a recorded nor an edited handshake leads anywhere. A dialler that
//! finds the acceptor's tag wrong still sends its proof: it gives nothing away and lets the acceptor log the same cause.

use std::io;
use std::time::Duration;

use auth::frame::{HEADER_LEN, TAG_LEN, Tag, claimed_len};
use auth::{ClusterDigest, Opener, Party, Refused, Sealer, Session};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

use crate::Endpoint;
use crate::hello::{HELLO_LEN, Hello, common_version};

const PROOF_LEN: usize = HEADER_LEN + TAG_LEN;

/// Why two ends did not come together; the text is the one line the operator reads.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HandshakeFailure {
    #[error("no greeting within {0:?}; is it a node of this cluster?")]
    Timeout(Duration),
    #[error("connection closed during the handshake; the other end's log says why, it gives strangers no answer")]
    Closed,
    #[error("connection failed during the handshake: {0}")]
    Io(io::Error),
    #[error("greeting is not one of this protocol; does something else use the peer port?")]
    NotAPeer,
    #[error("node {node} is of cluster {found}, this is {expected}; compare [cluster] id in both configurations")]
    WrongCluster { node: u32, found: ClusterDigest, expected: ClusterDigest },
    #[error("node {node} uses protection suite {found}, this node {expected}; set the same mac mode on both")]
    SuiteMismatch { node: u32, found: u8, expected: u8 },
    #[error("node {0} is not in this node's configuration; add it to [cluster] nodes with its identity record")]
    NotConfigured(u32),
    #[error("the peer says it is node {0}, which is this node: two nodes share an id, or peer_addr leads back here")]
    OwnId(u32),
    #[error("the peer wants node {found}, this is node {own}; compare peer_addr of both in the configuration")]
    WrongAddressee { found: u32, own: u32 },
    #[error("node {found} answers where node {expected} should be; compare peer_addr in the configuration")]
    WrongNode { found: u32, expected: u32 },
    #[error(
        "node {node} speaks wire versions {theirs_min} to {theirs_max}, this node {ours_min} to {ours_max}; upgrade one of them"
    )]
    NoCommonVersion { node: u32, theirs_min: u16, theirs_max: u16, ours_min: u16, ours_max: u16 },
    #[error("node {0} does not hold the key of its identity record; compare the record of both nodes on both sides")]
    WrongKey(u32),
    #[error("proof of node {node} refused: {refused}")]
    BadProof { node: u32, refused: Refused },
    #[error("no link key for node {node}: {problem}")]
    NoKey { node: u32, problem: auth::Error },
}

impl HandshakeFailure {
    /// Labels of the causes, in the order of [`HandshakeFailure::index`].
    pub const CAUSES: [&'static str; 14] = [
        "timeout",
        "closed",
        "io",
        "not_a_peer",
        "wrong_cluster",
        "suite_mismatch",
        "not_configured",
        "own_id",
        "wrong_addressee",
        "wrong_node",
        "no_common_version",
        "wrong_key",
        "bad_proof",
        "no_key",
    ];

    /// Position of the cause in [`HandshakeFailure::CAUSES`], for counters.
    pub const fn index(&self) -> usize {
        match self {
            Self::Timeout(_) => 0,
            Self::Closed => 1,
            Self::Io(_) => 2,
            Self::NotAPeer => 3,
            Self::WrongCluster { .. } => 4,
            Self::SuiteMismatch { .. } => 5,
            Self::NotConfigured(_) => 6,
            Self::OwnId(_) => 7,
            Self::WrongAddressee { .. } => 8,
            Self::WrongNode { .. } => 9,
            Self::NoCommonVersion { .. } => 10,
            Self::WrongKey(_) => 11,
            Self::BadProof { .. } => 12,
            Self::NoKey { .. } => 13,
        }
    }

    /// Label of the cause.
    pub const fn cause(&self) -> &'static str {
        Self::CAUSES[self.index()]
    }
}

impl From<io::Error> for HandshakeFailure {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe => Self::Closed,
            _ => Self::Io(error),
        }
    }
}

/// The dialler's result: it may send to the peer.
#[derive(Debug)]
pub(crate) struct Dialled {
    pub(crate) sealer: Sealer,
    pub(crate) peer: Party,
    pub(crate) wire: u16,
}

/// The acceptor's result: frames of the peer can be opened.
#[derive(Debug)]
pub(crate) struct Accepted {
    pub(crate) opener: Opener,
    pub(crate) peer: Party,
    pub(crate) wire: u16,
}

/// Greets the node that should be `peer` and proves the own key to it.
pub(crate) async fn dial(
    stream: &mut (impl AsyncRead + AsyncWrite + Unpin),
    endpoint: &Endpoint,
    peer: u32,
) -> Result<Dialled, HandshakeFailure> {
    let ours = greeting(endpoint, peer);
    stream.write_all(&ours.encode()).await?;
    let (theirs, their_bytes) = read_hello(stream).await?;
    let mut tag: Tag = [0; TAG_LEN];
    stream.read_exact(&mut tag).await?;
    check_cluster(endpoint, &theirs)?;
    if theirs.from.node != peer {
        return Err(HandshakeFailure::WrongNode { found: theirs.from.node, expected: peer });
    }
    check_addressee(endpoint, &theirs)?;
    let transcript = Session::transcript_of(&ours.encode(), &their_bytes);
    let wire = common_version(&ours.wire, &theirs.wire);
    let session = Session { wire, from: ours.from, to: theirs.from, transcript };
    let no_key = |problem| HandshakeFailure::NoKey { node: peer, problem };
    let proven = endpoint.ring.check_greeting_tag(&session, &tag).map_err(no_key)?;
    if proven && wire == 0 {
        return Err(no_common_version(&ours, &theirs));
    }
    let mut sealer = endpoint.ring.sealer(&session).map_err(no_key)?;
    sealer.set_epoch(endpoint.epoch());
    let mut proof = Vec::with_capacity(PROOF_LEN);
    sealer.seal(&[], 0, &mut proof).map_err(no_key)?;
    stream.write_all(&proof).await?;
    if proven { Ok(Dialled { sealer, peer: theirs.from, wire }) } else { Err(HandshakeFailure::WrongKey(peer)) }
}

/// Hears a greeting, answers a configured peer and waits for its proof.
pub(crate) async fn accept(
    stream: &mut (impl AsyncRead + AsyncWrite + Unpin),
    endpoint: &Endpoint,
) -> Result<Accepted, HandshakeFailure> {
    let (theirs, their_bytes) = read_hello(stream).await?;
    check_cluster(endpoint, &theirs)?;
    let node = theirs.from.node;
    if node == endpoint.own() {
        return Err(HandshakeFailure::OwnId(node));
    }
    if !endpoint.ring.is_peer(node) {
        return Err(HandshakeFailure::NotConfigured(node));
    }
    check_addressee(endpoint, &theirs)?;
    let ours = greeting(endpoint, node);
    let our_bytes = ours.encode();
    let wire = common_version(&ours.wire, &theirs.wire);
    let transcript = Session::transcript_of(&their_bytes, &our_bytes);
    let session = Session { wire, from: theirs.from, to: ours.from, transcript };
    let no_key = |problem| HandshakeFailure::NoKey { node, problem };
    let tag = endpoint.ring.greeting_tag(&session).map_err(no_key)?;
    stream.write_all(&[&our_bytes[..], &tag].concat()).await?;
    if wire == 0 {
        return Err(no_common_version(&ours, &theirs));
    }
    let mut opener = endpoint.ring.opener(&session).map_err(no_key)?;
    opener.set_epoch_floor(endpoint.epoch_floor());
    read_proof(stream, &mut opener).await?;
    Ok(Accepted { opener, peer: theirs.from, wire })
}

fn greeting(endpoint: &Endpoint, to: u32) -> Hello {
    Hello {
        wire: endpoint.settings.wire.clone(),
        suite: endpoint.ring.suite() as u8,
        cluster: endpoint.ring.digest(),
        from: endpoint.party(),
        to,
        nonce: endpoint.random(),
    }
}

async fn read_hello(stream: &mut (impl AsyncRead + Unpin)) -> Result<(Hello, [u8; HELLO_LEN]), HandshakeFailure> {
    let mut bytes = [0; HELLO_LEN];
    stream.read_exact(&mut bytes).await?;
    let hello = Hello::decode(&bytes).ok_or(HandshakeFailure::NotAPeer)?;
    Ok((hello, bytes))
}

/// Takes exactly an empty frame: an end that has proved nothing may not make us buffer more.
async fn read_proof(stream: &mut (impl AsyncRead + Unpin), opener: &mut Opener) -> Result<(), HandshakeFailure> {
    let node = opener.from();
    let mut proof = [0; PROOF_LEN];
    stream.read_exact(&mut proof).await?;
    let claimed = proof.first_chunk().map_or(0, claimed_len);
    if claimed != PROOF_LEN as u64 {
        return Err(HandshakeFailure::BadProof { node, refused: Refused::Length { claimed, found: PROOF_LEN } });
    }
    match opener.open(&proof) {
        Ok(_) => Ok(()),
        Err(Refused::BadTag) => Err(HandshakeFailure::WrongKey(node)),
        Err(refused) => Err(HandshakeFailure::BadProof { node, refused }),
    }
}

fn check_cluster(endpoint: &Endpoint, theirs: &Hello) -> Result<(), HandshakeFailure> {
    let node = theirs.from.node;
    let (found, expected) = (theirs.cluster, endpoint.ring.digest());
    if found != expected {
        return Err(HandshakeFailure::WrongCluster { node, found, expected });
    }
    let (found, expected) = (theirs.suite, endpoint.ring.suite() as u8);
    if found != expected {
        return Err(HandshakeFailure::SuiteMismatch { node, found, expected });
    }
    Ok(())
}

fn check_addressee(endpoint: &Endpoint, theirs: &Hello) -> Result<(), HandshakeFailure> {
    let (found, own) = (theirs.to, endpoint.own());
    if found == own { Ok(()) } else { Err(HandshakeFailure::WrongAddressee { found, own }) }
}

fn no_common_version(ours: &Hello, theirs: &Hello) -> HandshakeFailure {
    HandshakeFailure::NoCommonVersion {
        node: theirs.from.node,
        theirs_min: *theirs.wire.start(),
        theirs_max: *theirs.wire.end(),
        ours_min: *ours.wire.start(),
        ours_max: *ours.wire.end(),
    }
}

#[cfg(test)]
#[path = "handshake_tests.rs"]
mod tests;
