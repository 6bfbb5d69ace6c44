use proptest::prelude::*;

use super::*;
use crate::keygen::to_hex;
use crate::keys::Party;

const CLUSTER: ClusterDigest = ClusterDigest([9; 8]);

fn session() -> Session {
    Session {
        wire: 1,
        from: Party { node: 1, incarnation: 0x11 },
        to: Party { node: 2, incarnation: 0x22 },
        transcript: [0; 32],
    }
}

fn key() -> LinkKey {
    LinkKey::new(&[5; 32])
}

fn ends() -> (Sealer, Opener) {
    (Sealer::new(CLUSTER, &session(), key()), Opener::new(CLUSTER, &session(), key()))
}

fn sealed(sealer: &mut Sealer, payload: &[u8]) -> Vec<u8> {
    let mut frame = Vec::new();
    sealer.seal(payload, 1, &mut frame).unwrap();
    frame
}

#[test]
fn frame_layout_is_pinned() {
    let (mut sealer, mut opener) = ends();
    sealer.set_epoch(6);
    let frame = sealed(&mut sealer, b"abc");
    let header = "41435046000109090909090909090000000000000006000000010000000200000000000000110000000000000001\
                  0000000100000003";
    assert_eq!(to_hex(&frame[..HEADER_LEN]), header);
    assert_eq!(frame[HEADER_LEN..HEADER_LEN + 3], *b"abc");
    // Computed by another implementation of HMAC-SHA256.
    assert_eq!(to_hex(&frame[HEADER_LEN + 3..]), "0db40596e7f245de0b155e7a6c0b5f4d");
    assert_eq!(claimed_len(frame.first_chunk().unwrap()), frame.len() as u64);
    let opened = opener.open(&frame).unwrap();
    assert_eq!((opened.from(), opened.epoch()), (1, 6));
    assert_eq!(*opened.get(), Payload { bytes: b"abc", count: 1 });
}

#[test]
fn sealing_in_place_makes_the_same_bytes() {
    let (mut one, mut two) = (ends().0, ends().0);
    let mut in_place = vec![0; HEADER_LEN];
    in_place.extend_from_slice(b"payload");
    two.seal_in_place(&mut in_place, 1).unwrap();
    assert_eq!(sealed(&mut one, b"payload"), in_place);
}

#[test]
fn buffer_without_header_room_is_refused() {
    let mut short = vec![0; HEADER_LEN - 1];
    assert_eq!(ends().0.seal_in_place(&mut short, 0), Err(Error::NoHeaderRoom(HEADER_LEN - 1)));
}

#[test]
fn replayed_or_reordered_frame_is_refused() {
    let (mut sealer, mut opener) = ends();
    let (first, second) = (sealed(&mut sealer, b"1"), sealed(&mut sealer, b"2"));
    assert!(opener.open(&first).is_ok());
    assert_eq!(opener.open(&first), Err(Refused::Replay { found: 1, last: 1 }));
    assert!(opener.open(&second).is_ok());
    assert_eq!(opener.open(&first), Err(Refused::Replay { found: 1, last: 2 }));
}

#[test]
fn lost_frame_leaves_a_gap_that_passes() {
    let (mut sealer, mut opener) = ends();
    sealed(&mut sealer, b"lost");
    assert!(opener.open(&sealed(&mut sealer, b"next")).is_ok());
}

#[test]
fn forged_sequence_number_does_not_move_the_link() {
    let (mut sealer, mut opener) = ends();
    let good = sealed(&mut sealer, b"x");
    let mut forged = good.clone();
    forged[38] = 0xff;
    assert_eq!(opener.open(&forged), Err(Refused::BadTag));
    assert!(opener.open(&good).is_ok());
}

#[test]
fn epoch_below_the_floor_is_refused() {
    let (mut sealer, mut opener) = ends();
    opener.set_epoch_floor(5);
    sealer.set_epoch(4);
    assert_eq!(opener.open(&sealed(&mut sealer, b"")), Err(Refused::Epoch { found: 4, floor: 5 }));
    sealer.set_epoch(6);
    assert!(opener.open(&sealed(&mut sealer, b"")).is_ok());
}

#[test]
fn truncated_and_extended_frames_are_refused() {
    let (mut sealer, mut opener) = ends();
    let frame = sealed(&mut sealer, b"payload");
    for len in 0..frame.len() {
        assert!(matches!(opener.open(&frame[..len]), Err(Refused::Length { .. })), "{len} bytes");
    }
    let longer = [&frame[..], &[0]].concat();
    assert!(matches!(opener.open(&longer), Err(Refused::Length { .. })));
}

#[test]
fn each_foreign_field_has_its_own_cause() {
    let (mut sealer, mut opener) = ends();
    let frame = sealed(&mut sealer, b"p");
    let fields = [
        (0, "bad_magic"),
        (5, "version"),
        (6, "cluster"),
        (25, "wrong_sender"),
        (29, "wrong_receiver"),
        (37, "incarnation"),
    ];
    for (at, cause) in fields {
        let mut bent = frame.clone();
        bent[at] ^= 1;
        assert_eq!(opener.open(&bent).unwrap_err().cause(), cause);
    }
}

#[test]
fn tag_of_another_length_or_half_right_is_refused() {
    let key = key();
    let tag = key.tag(b"covered");
    assert!(key.is_tag(b"covered", &tag));
    assert!(!key.is_tag(b"covered", &[0; TAG_LEN]));
    for at in 0..TAG_LEN {
        let mut wrong = tag;
        wrong[at] ^= 0x80;
        assert!(!key.is_tag(b"covered", &wrong), "byte {at}");
    }
}

#[test]
fn without_mac_only_the_zero_tag_passes() {
    let mut sealer = Sealer::new(CLUSTER, &session(), LinkKey::off());
    let mut opener = Opener::new(CLUSTER, &session(), LinkKey::off());
    let mut frame = sealed(&mut sealer, b"x");
    assert_eq!(frame[HEADER_LEN + 1..], [0; TAG_LEN]);
    frame[HEADER_LEN + 1] = 1;
    assert_eq!(opener.open(&frame), Err(Refused::BadTag));
    frame[HEADER_LEN + 1] = 0;
    assert!(opener.open(&frame).is_ok());
}

#[test]
fn mac_mode_refuses_frames_without_mac() {
    let mut bare = Sealer::new(CLUSTER, &session(), LinkKey::off());
    assert_eq!(ends().1.open(&sealed(&mut bare, b"x")), Err(Refused::BadTag));
}

proptest! {
    #[test]
    fn any_flipped_bit_is_refused(payload in proptest::collection::vec(any::<u8>(), 0..200), bit: prop::sample::Index) {
        let (mut sealer, mut opener) = ends();
        let good = sealed(&mut sealer, &payload);
        let mut bad = good.clone();
        let bit = bit.index(good.len() * 8);
        bad[bit / 8] ^= 1 << (bit % 8);
        prop_assert!(opener.open(&bad).is_err());
        prop_assert!(opener.open(&good).is_ok());
    }

    #[test]
    fn hostile_bytes_are_refused_without_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        prop_assert!(ends().1.open(&bytes).is_err());
    }

    #[test]
    fn what_is_sealed_opens(payload in proptest::collection::vec(any::<u8>(), 0..2000), count: u32, epoch: u64) {
        let (mut sealer, mut opener) = ends();
        sealer.set_epoch(epoch);
        let mut out = b"before".to_vec();
        sealer.seal(&payload, count, &mut out).unwrap();
        let opened = opener.open(&out[6..]).unwrap();
        prop_assert_eq!(opened.get(), &Payload { bytes: &payload, count });
        prop_assert_eq!(opened.epoch(), epoch);
    }
}
