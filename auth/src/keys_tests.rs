use proptest::prelude::*;

use super::*;
use crate::test_rng::TestRng;
use crate::{AdminSecret, Refused};

const CLUSTER: ClusterId = ClusterId([7; 16]);

fn member(admin: &AdminSecret, rng: &mut TestRng, id: u32, role: Role) -> (NodeSecrets, Identity) {
    let secrets = NodeSecrets::generate(rng);
    let record = admin.issue(secrets.claims(CLUSTER, id, role, 0, 10, u64::from(id))).unwrap();
    let identity = record.verify(&admin.public(), CLUSTER, 5).unwrap();
    (secrets, identity)
}

fn members() -> Vec<(NodeSecrets, Identity)> {
    let mut rng = TestRng::new(1);
    let admin = AdminSecret::generate(&mut rng);
    (1..=3).map(|id| member(&admin, &mut rng, id, Role::Node)).collect()
}

fn ring(members: &[(NodeSecrets, Identity)], own: usize) -> KeyRing {
    let others = members.iter().enumerate().filter(|(i, _)| *i != own).map(|(_, m)| m.1.clone());
    KeyRing::new(CLUSTER, members[own].0.clone(), &members[own].1, others).unwrap()
}

fn session(from: u32, to: u32) -> Session {
    let party = |node| Party { node, incarnation: 100 + u64::from(node) };
    Session { wire: 1, from: party(from), to: party(to), transcript: [0; 32] }
}

#[test]
fn both_ends_derive_the_same_greeting() {
    let members = members();
    let (one, two) = (ring(&members, 0), ring(&members, 1));
    let tag = two.greeting_tag(&session(1, 2)).unwrap();
    assert_eq!(one.check_greeting_tag(&session(1, 2), &tag), Ok(true));
    let other = Session { transcript: [1; 32], ..session(1, 2) };
    assert_eq!(one.check_greeting_tag(&other, &tag), Ok(false));
}

/// Two versions of this program on one cluster derive the same keys. The bytes were computed by another program, from
/// the curve up.
#[test]
fn key_derivation_is_pinned() {
    let members = members();
    let (one, two) = (ring(&members, 0), ring(&members, 1));
    assert_eq!(crate::keygen::to_hex(&two.greeting_tag(&session(1, 2)).unwrap()), "d74e7b565ac903e064f6e1a4f12e26c0");
    let mut frame = Vec::new();
    one.sealer(&session(1, 2)).unwrap().seal(b"x", 1, &mut frame).unwrap();
    assert_eq!(crate::keygen::to_hex(&frame[frame.len() - TAG_LEN..]), "b4ff8b6d69907491ee3b0506f1428ca5");
}

#[test]
fn greeting_cannot_be_reflected() {
    let members = members();
    let (one, two) = (ring(&members, 0), ring(&members, 1));
    let tag = two.greeting_tag(&session(1, 2)).unwrap();
    assert_eq!(two.check_greeting_tag(&session(2, 1), &tag), Ok(false));
    assert_ne!(one.greeting_tag(&session(2, 1)).unwrap(), tag);
}

#[test]
fn transcript_tells_greetings_and_their_order_apart() {
    assert_ne!(Session::transcript_of(b"ab", b"c"), Session::transcript_of(b"a", b"bc"));
    assert_ne!(Session::transcript_of(b"a", b"b"), Session::transcript_of(b"b", b"a"));
}

#[test]
fn swapped_key_files_are_named() {
    let members = members();
    let (secrets, identity) = &members[0];
    let swapped = NodeSecrets { signing: secrets.agreement.clone().into(), agreement: (&secrets.signing).into() };
    let error = KeyRing::new(CLUSTER, swapped, identity, []).unwrap_err();
    assert_eq!(error, Error::KeyMismatch { id: 1, which: "signing" });
}

#[test]
fn one_key_under_two_ids_is_refused() {
    let mut rng = TestRng::new(1);
    let admin = AdminSecret::generate(&mut rng);
    let (secrets, identity) = member(&admin, &mut rng, 1, Role::Node);
    let twin = admin.issue(secrets.claims(CLUSTER, 2, Role::Node, 0, 10, 9)).unwrap();
    let twin = twin.verify(&admin.public(), CLUSTER, 5).unwrap();
    let error = KeyRing::new(CLUSTER, secrets, &identity, [twin]).unwrap_err();
    assert_eq!(error, Error::SharedKey { first: 1, second: 2 });
}

#[test]
fn two_records_of_one_node_are_refused() {
    let members = members();
    let peers = [members[1].1.clone(), members[1].1.clone()];
    let error = KeyRing::new(CLUSTER, members[0].0.clone(), &members[0].1, peers).unwrap_err();
    assert_eq!(error, Error::DuplicateNode(2));
}

#[test]
fn client_identity_is_no_peer() {
    let mut rng = TestRng::new(1);
    let admin = AdminSecret::generate(&mut rng);
    let (secrets, identity) = member(&admin, &mut rng, 1, Role::Node);
    let (_, client) = member(&admin, &mut rng, 2, Role::Client);
    let error = KeyRing::new(CLUSTER, secrets, &identity, [client]).unwrap_err();
    assert_eq!(error, Error::NotANode { id: 2, role: "client" });
}

#[test]
fn ring_seals_only_for_itself_and_known_peers() {
    let ring = ring(&members(), 0);
    assert!(matches!(ring.sealer(&session(2, 1)), Err(Error::WrongSide { own: 1, .. })));
    assert!(matches!(ring.opener(&session(1, 2)), Err(Error::WrongSide { own: 1, .. })));
    assert_eq!(ring.sealer(&session(1, 9)).unwrap_err(), Error::UnknownPeer(9));
}

#[test]
fn secrets_never_print() {
    let members = members();
    let shown = format!("{:?} {:?}", members[0].0, ring(&members, 0));
    assert!(shown.contains("[redacted]"));
    assert!(!shown.contains(&crate::keygen::to_hex(&members[0].0.agreement.to_bytes())));
}

/// One way in which the receiving end's view of a link can differ from the sending end's.
fn elsewhere(choice: u8, noise: u64) -> Session {
    let mut other = session(1, 2);
    match choice {
        0 => other.from.node = 3,
        1 => other.from.incarnation ^= noise,
        2 => other.to.incarnation ^= noise,
        3 => other.wire ^= noise as u16 | 1,
        4 => other.transcript[(noise % 32) as usize] ^= 1,
        _ => other = other.reversed(),
    }
    other
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn frame_moved_to_another_link_is_refused(choice in 0..6u8, noise in 1u64.., payload: Vec<u8>) {
        let members = members();
        let (one, two) = (ring(&members, 0), ring(&members, 1));
        let mut frame = Vec::new();
        one.sealer(&session(1, 2)).unwrap().seal(&payload, 1, &mut frame).unwrap();
        let other = elsewhere(choice, noise);
        // Of the reversed link node 1 is the receiver: its own frame must not come back to it.
        let receiver = if other.to.node == 1 { &one } else { &two };
        prop_assert!(receiver.opener(&other).unwrap().open(&frame).is_err());
        // The header's fields are hints only: rewritten to fit the other link, the tag still refuses.
        frame[4..6].copy_from_slice(&other.wire.to_be_bytes());
        frame[22..26].copy_from_slice(&other.from.node.to_be_bytes());
        frame[26..30].copy_from_slice(&other.to.node.to_be_bytes());
        frame[30..38].copy_from_slice(&other.from.incarnation.to_be_bytes());
        prop_assert_eq!(receiver.opener(&other).unwrap().open(&frame), Err(Refused::BadTag));
    }

    #[test]
    fn links_have_keys_of_their_own(choice in 0..6u8, noise in 1u64..) {
        let members = members();
        let (one, two) = (ring(&members, 0), ring(&members, 1));
        let other = elsewhere(choice, noise);
        let moved =
            if other.from.node == 3 { two.key(3, &other, Purpose::Frames) } else { one.key(2, &other, Purpose::Frames) };
        let usual = one.key(2, &session(1, 2), Purpose::Frames).unwrap();
        prop_assert_ne!(moved.unwrap().tag(b"same bytes"), usual.tag(b"same bytes"));
        let greeting = one.key(2, &session(1, 2), Purpose::Greeting).unwrap();
        prop_assert_ne!(greeting.tag(b"same bytes"), usual.tag(b"same bytes"));
    }
}
