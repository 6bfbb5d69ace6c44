use std::future::Future;
use std::sync::Arc;

use auth::{ClusterId, KeyRing};
use tokio::io::{DuplexStream, duplex};

use super::*;
use crate::Settings;
use crate::test_rings::{CLUSTER, Cast, entropy};

type Outcome = (Result<Dialled, HandshakeFailure>, Result<Accepted, HandshakeFailure>);

fn endpoint(ring: KeyRing, settings: Settings) -> Arc<Endpoint> {
    let incarnation = 100 + u64::from(ring.own());
    Endpoint::new(ring, incarnation, settings, entropy).unwrap()
}

fn node(cast: &Cast, id: u32) -> Arc<Endpoint> {
    endpoint(cast.ring(id), Settings::default())
}

fn run<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(future)
}

/// Both ends over a pipe; each closes its end when it is done, as a socket would.
fn meet(dialler: &Endpoint, acceptor: &Endpoint, peer: u32) -> Outcome {
    let (mut one, mut two) = duplex(1024);
    run(async {
        tokio::join!(
            async {
                let outcome = dial(&mut one, dialler, peer).await;
                drop(one);
                outcome
            },
            async {
                let outcome = accept(&mut two, acceptor).await;
                drop(two);
                outcome
            }
        )
    })
}

fn causes(outcome: &Outcome) -> (&'static str, &'static str) {
    let label = |failure: Option<&HandshakeFailure>| failure.map_or("ok", HandshakeFailure::cause);
    (label(outcome.0.as_ref().err()), label(outcome.1.as_ref().err()))
}

#[test]
fn members_agree_and_the_next_frame_opens() {
    let cast = Cast::new(2);
    let (dialled, accepted) = meet(&node(&cast, 1), &node(&cast, 2), 2);
    let (mut dialled, mut accepted) = (dialled.unwrap(), accepted.unwrap());
    assert_eq!((dialled.wire, accepted.wire), (1, 1));
    assert_eq!(dialled.peer, Party { node: 2, incarnation: 102 });
    assert_eq!(accepted.peer, Party { node: 1, incarnation: 101 });
    let mut frame = Vec::new();
    dialled.sealer.seal(b"first", 1, &mut frame).unwrap();
    assert_eq!(accepted.opener.open(&frame).unwrap().get().bytes, b"first");
}

#[test]
fn each_handshake_has_a_key_of_its_own() {
    let cast = Cast::new(2);
    let (one, two) = (node(&cast, 1), node(&cast, 2));
    let mut earlier = meet(&one, &two, 2).0.unwrap();
    let mut later = meet(&one, &two, 2).1.unwrap();
    let mut frame = Vec::new();
    earlier.sealer.seal(b"old", 1, &mut frame).unwrap();
    assert_eq!(later.opener.open(&frame), Err(Refused::BadTag));
}

#[test]
fn wrong_key_is_named_at_both_ends() {
    let mut cast = Cast::new(2);
    let impostor = cast.member(2);
    let impostor = endpoint(cast.ring_of(&impostor, CLUSTER), Settings::default());
    let honest = node(&cast, 1);
    assert_eq!(causes(&meet(&honest, &impostor, 2)), ("wrong_key", "wrong_key"));
    assert_eq!(causes(&meet(&impostor, &honest, 1)), ("wrong_key", "wrong_key"));
}

#[test]
fn strangers_get_no_answer() {
    let mut cast = Cast::new(2);
    let stranger = cast.member(9);
    let stranger = endpoint(cast.ring_of(&stranger, CLUSTER), Settings::default());
    assert_eq!(causes(&meet(&stranger, &node(&cast, 2), 2)), ("closed", "not_configured"));

    let foreign = KeyRing::without_keys(ClusterId([8; 16]), 1, [2]);
    let foreign = endpoint(foreign, Settings::default());
    assert_eq!(causes(&meet(&foreign, &node(&cast, 2), 2)), ("closed", "wrong_cluster"));
}

#[test]
fn unprotected_node_is_refused_by_a_protected_one() {
    let cast = Cast::new(2);
    let bare = endpoint(KeyRing::without_keys(CLUSTER, 1, [2]), Settings::default());
    assert_eq!(causes(&meet(&bare, &node(&cast, 2), 2)), ("closed", "suite_mismatch"));
    assert_eq!(causes(&meet(&node(&cast, 2), &bare, 1)), ("closed", "suite_mismatch"));
}

#[test]
fn unprotected_nodes_understand_each_other() {
    let bare = |own| endpoint(KeyRing::without_keys(CLUSTER, own, [1, 2]), Settings::default());
    assert_eq!(causes(&meet(&bare(1), &bare(2), 2)), ("ok", "ok"));
}

#[test]
fn misdirected_connections_are_named() {
    let cast = Cast::new(3);
    assert_eq!(causes(&meet(&node(&cast, 1), &node(&cast, 1), 2)), ("closed", "own_id"));
    assert_eq!(causes(&meet(&node(&cast, 1), &node(&cast, 3), 2)), ("closed", "wrong_addressee"));
}

#[test]
fn versions_without_overlap_are_named_at_both_ends() {
    let cast = Cast::new(2);
    let with = |id, wire| endpoint(cast.ring(id), Settings { wire, ..Settings::default() });
    let outcome = meet(&with(1, 1..=2), &with(2, 3..=4), 2);
    assert_eq!(causes(&outcome), ("no_common_version", "no_common_version"));
    let text = outcome.0.unwrap_err().to_string();
    assert_eq!(text, "node 2 speaks wire versions 3 to 4, this node 1 to 2; upgrade one of them");
    let (dialled, accepted) = meet(&with(1, 1..=4), &with(2, 2..=3), 2);
    assert_eq!((dialled.unwrap().wire, accepted.unwrap().wire), (3, 3));
}

/// Passes `count` bytes on, with bit `flip` of them flipped; false once an end has closed.
async fn relay(from: &mut DuplexStream, to: &mut DuplexStream, count: usize, flip: Option<usize>) -> bool {
    let mut bytes = vec![0; count];
    if from.read_exact(&mut bytes).await.is_err() {
        return false;
    }
    if let Some(bit) = flip {
        bytes[bit / 8] ^= 1 << (bit % 8);
    }
    to.write_all(&bytes).await.is_ok()
}

/// A handshake through someone in the middle who flips one bit of message `part` (hello, answer, proof).
fn tampered(one: &Endpoint, two: &Endpoint, part: usize, bit: usize) -> (bool, bool) {
    let ((mut dialler, mut near), (mut far, mut acceptor)) = (duplex(1024), duplex(1024));
    let flip = |at| (at == part).then_some(bit);
    let middle = async {
        let _ = relay(&mut near, &mut far, HELLO_LEN, flip(0)).await
            && relay(&mut far, &mut near, HELLO_LEN + TAG_LEN, flip(1)).await
            && relay(&mut near, &mut far, PROOF_LEN, flip(2)).await;
        drop((near, far));
    };
    run(async {
        let (dialled, accepted, ()) = tokio::join!(
            async {
                let outcome = dial(&mut dialler, one, 2).await;
                drop(dialler);
                outcome
            },
            async {
                let outcome = accept(&mut acceptor, two).await;
                drop(acceptor);
                outcome
            },
            middle
        );
        (dialled.is_ok(), accepted.is_ok())
    })
}

#[test]
fn no_flipped_bit_of_a_handshake_convinces_both_ends() {
    let cast = Cast::new(2);
    let (one, two) = (node(&cast, 1), node(&cast, 2));
    assert_eq!(tampered(&one, &two, 3, 0), (true, true), "untouched");
    for (part, len) in [(0, HELLO_LEN), (1, HELLO_LEN + TAG_LEN), (2, PROOF_LEN)] {
        for bit in 0..len * 8 {
            // A bent answer tag is noticed by the dialler only, a bent proof by the acceptor only.
            let expected = match part {
                1 if bit >= HELLO_LEN * 8 => (false, true),
                2 => (true, false),
                _ => (false, false),
            };
            assert_eq!(tampered(&one, &two, part, bit), expected, "bit {bit} of message {part}");
        }
    }
}

#[test]
fn garbage_is_no_greeting() {
    let cast = Cast::new(2);
    let (mut one, mut two) = duplex(1024);
    let node = node(&cast, 2);
    let failure = run(async {
        one.write_all(&[b'G'; HELLO_LEN]).await.unwrap();
        accept(&mut two, &node).await.unwrap_err()
    });
    assert_eq!(failure.cause(), "not_a_peer");
}

#[test]
fn proof_that_claims_a_payload_is_refused() {
    let cast = Cast::new(2);
    let (mut one, mut two) = duplex(1024);
    let (honest, node) = (node(&cast, 1), node(&cast, 2));
    let failure = run(async {
        one.write_all(&greeting(&honest, 2).encode()).await.unwrap();
        let mut proof = [0; PROOF_LEN];
        proof[HEADER_LEN - 4..HEADER_LEN].fill(0xff);
        one.write_all(&proof).await.unwrap();
        accept(&mut two, &node).await.unwrap_err()
    });
    assert!(matches!(failure, HandshakeFailure::BadProof { node: 1, refused: Refused::Length { .. } }), "{failure}");
}
