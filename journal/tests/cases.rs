//! The journal's field cases, one test per shape; the case is in the name.

mod harness;

use harness::{HeldSyncs, batch_of, dir, id, number_of, numbers, open, open_log, options, segment, write_synced};
use journal::{AfterFailure, Batch, Durable, Error, FaultDisk, Kind, Log, Lsn, Options, RECORD_HEADER_SIZE, SyncMode};
use std::time::Duration;

/// Five synced records, the last of 137 bytes, at rest; the bytes of the only segment.
fn five_records(disk: &FaultDisk) -> Vec<u8> {
    let options = options();
    let mut log = open_log(disk, &options).expect("new").log;
    for (number, size) in [(1, 10), (2, 0), (3, 200), (4, 55), (5, 137 - RECORD_HEADER_SIZE)] {
        write_synced(&mut log, &options, number, size).expect("written");
    }
    disk.kill();
    disk.contents(&segment(1)).expect("one segment")
}

#[test]
fn j01_torn_last_record_at_each_byte() {
    let whole = five_records(&FaultDisk::new(1));
    let start_of_last = whole.len() - 137;
    for cut in 0..=137 {
        let disk = FaultDisk::new(1);
        disk.replace(&segment(1), whole[..start_of_last + cut].to_vec());
        let opened = open_log(&disk, &options()).expect("starts");
        let expected: Vec<u64> = if cut == 137 { (1..=5).collect() } else { (1..=4).collect() };
        assert_eq!(numbers(opened.replay.clone()), expected, "cut {cut}");
        let warnings: Vec<String> = opened.replay.warnings().iter().map(ToString::to_string).collect();
        if (1..137).contains(&cut) {
            assert_eq!(warnings.len(), 1, "cut {cut}");
            assert!(warnings[0].contains("segment-000001.log"), "{}", warnings[0]);
            assert!(warnings[0].contains(&format!("byte {start_of_last}")), "{}", warnings[0]);
            assert_eq!(disk.contents(&segment(1)).expect("there").len(), start_of_last, "file is cut back");
        } else {
            assert_eq!(warnings, [""; 0], "cut {cut}");
        }
        let mut log = opened.log;
        write_synced(&mut log, &options(), 6, 20).expect("appends behind the cut");
        disk.cut_power();
        let again = numbers(open_log(&disk, &options()).expect("starts again").replay);
        assert_eq!(again, [expected, vec![6]].concat(), "cut {cut}");
    }
}

#[test]
fn j01_torn_tail_of_zeros_or_garbage() {
    let whole = five_records(&FaultDisk::new(1));
    let start_of_last = whole.len() - 137;
    for (cut, fill) in [(0, 0), (40, 0), (135, 0), (0, 0xff), (40, 0x37)] {
        let disk = FaultDisk::new(1);
        let mut bytes = whole[..start_of_last + cut].to_vec();
        bytes.resize(whole.len() + 500, fill);
        disk.replace(&segment(1), bytes);
        let opened = open_log(&disk, &options()).expect("starts");
        assert_eq!(numbers(opened.replay), [1, 2, 3, 4], "cut {cut}, fill {fill}");
    }
}

#[test]
fn j01_rot_before_the_tail_is_no_torn_tail() {
    let whole = five_records(&FaultDisk::new(1));
    let last_batch = whole.len() - 137 - RECORD_HEADER_SIZE;
    for at in 72..last_batch {
        let disk = FaultDisk::new(1);
        let mut bytes = whole.clone();
        bytes[at] ^= 0x04;
        disk.replace(&segment(1), bytes);
        match open_log(&disk, &options()) {
            Err(Error::Corrupt { path, .. }) => assert_eq!(path, segment(1)),
            Err(other) => panic!("byte {at}: {other}"),
            Ok(opened) => panic!("byte {at}: {:?} were believed", numbers(opened.replay)),
        }
    }
}

#[test]
fn j01_rot_in_the_last_record_is_seen_once_the_journal_was_closed() {
    let disk = FaultDisk::new(1);
    let mut running = open(&disk, &options());
    let position = running.append(1, 100).expect("appended");
    running.await_durable(position).expect("durable");
    running.journal.close().expect("closes");
    let mut bytes = disk.contents(&segment(1)).expect("there");
    bytes[72 + 2 * RECORD_HEADER_SIZE + 50] ^= 1;
    disk.replace(&segment(1), bytes);
    assert!(matches!(open_log(&disk, &options()), Err(Error::Corrupt { .. })));
}

#[test]
fn j02_record_that_ends_exactly_at_the_segment_end() {
    let options = options();
    let size = options.segment_size as usize;
    for short_of in 0..=16 {
        let disk = FaultDisk::new(short_of as u64);
        let mut log = open_log(&disk, &options).expect("new").log;
        write_synced(&mut log, &options, 1, 300).expect("first");
        let used = disk.contents(&segment(1)).expect("there").len();
        let payload = size - short_of - used - 2 * RECORD_HEADER_SIZE;
        write_synced(&mut log, &options, 2, payload).expect("fills");
        assert_eq!(disk.contents(&segment(1)).expect("there").len(), size - short_of);
        disk.cut_power();
        let opened = open_log(&disk, &options).expect("opens");
        assert_eq!(numbers(opened.replay), [1, 2], "{short_of} short of the end");
        let mut log = opened.log;
        write_synced(&mut log, &options, 3, 10).expect("goes on in a new segment");
        disk.cut_power();
        assert_eq!(numbers(open_log(&disk, &options).expect("opens").replay), [1, 2, 3]);
        assert!(disk.contents(&segment(2)).is_some());
    }
}

#[test]
fn j02_a_record_over_the_maximum_is_refused_at_write_time() {
    let options = options();
    let disk = FaultDisk::new(2);
    let mut running = open(&disk, &options);
    let max = options.record_max();
    let position = running.append(1, max - RECORD_HEADER_SIZE).expect("the largest record");
    running.await_durable(position).expect("durable");
    for size in [max + 1, options.segment_size as usize, options.segment_size as usize + 1] {
        let refused =
            running.journal.batch().push(Kind::COMMAND_DELTA, 1, 1, &id(2), &vec![0; size - RECORD_HEADER_SIZE]);
        assert!(matches!(refused, Err(Error::RecordTooLarge { .. })), "{size}: {refused:?}");
        let mut foreign = Batch::with_record_max(usize::MAX);
        foreign.push(Kind::COMMAND_DELTA, 1, 1, &id(2), &vec![0; size - RECORD_HEADER_SIZE]).expect("no limit here");
        let refused = running.journal.append(&mut foreign);
        assert!(matches!(refused, Err(Error::RecordTooLarge { .. })), "{size}: {refused:?}");
    }
    running.journal.close().expect("still healthy");
    assert_eq!(numbers(open(&disk, &options).replay), [1]);
}

#[test]
fn j02_a_zero_filled_tail_is_no_record() {
    let disk = FaultDisk::new(3);
    let mut log = open_log(&disk, &options()).expect("new").log;
    write_synced(&mut log, &options(), 1, 100).expect("written");
    let mut bytes = disk.contents(&segment(1)).expect("there");
    bytes.resize(4096, 0);
    disk.replace(&segment(1), bytes);
    let opened = open_log(&disk, &options()).expect("opens");
    assert_eq!(numbers(opened.replay), [1]);
}

#[test]
fn j03_one_failed_fsync_is_final() {
    for (seed, after) in (0..20).flat_map(|seed| [(seed, AfterFailure::Keep), (seed, AfterFailure::Revert)]) {
        let disk = FaultDisk::new(seed);
        let mut running = open(&disk, &options());
        disk.fail_sync(30 + seed, after);
        let mut acked = Vec::new();
        let failure = loop {
            let number = acked.len() as u64;
            let Ok(position) = running.append(number, 150) else { break "refused".to_owned() };
            match running.await_durable(position) {
                Ok(()) => acked.push(number),
                Err(text) => break text,
            }
        };
        assert!(failure.contains("EIO"), "{failure}");
        let refused = running.append(999, 10).expect_err("poisoned").to_string();
        assert!(refused.contains("EIO") && refused.contains("restart"), "{refused}");
        assert!(running.journal.close().is_err());
        assert_eq!(running.news.try_iter().collect::<Vec<Durable>>(), [], "nothing is published after the failure");
        disk.cut_power();
        let found = numbers(open(&disk, &options()).replay);
        assert!(found.starts_with(&acked), "acked {acked:?}, found {found:?}");
    }
}

#[test]
fn j03_what_a_restart_after_a_failed_fsync_finds_survives_the_next_power_cut() {
    for seed in 0..20 {
        let disk = FaultDisk::new(seed);
        let mut running = open(&disk, &options());
        let position = running.append(1, 150).expect("appended");
        running.await_durable(position).expect("durable");
        disk.fail_sync(1, AfterFailure::Keep);
        let position = running.append(2, 150).expect("appended");
        running.await_durable(position).expect_err("failed");
        drop(running);
        // Only the process restarts: the cache still shows record 2 and calls it clean.
        disk.kill();
        let running = open(&disk, &options());
        let shown = numbers(running.replay.clone());
        assert_eq!(shown, [1, 2]);
        disk.cut_power();
        drop(running);
        assert_eq!(numbers(open(&disk, &options()).replay), shown, "seed {seed}");
    }
}

#[test]
fn j03_a_mark_that_was_never_synced_does_not_hide_what_follows_it() {
    let disk = FaultDisk::new(0);
    let mut log = open_log(&disk, &options()).expect("new").log;
    write_synced(&mut log, &options(), 1, 0).expect("written");
    log.attest().expect("written, not synced");
    disk.fail_sync(1, AfterFailure::Keep);
    write_synced(&mut log, &options(), 2, 0).expect_err("failed");
    disk.kill();
    let shown = numbers(open_log(&disk, &options()).expect("opens").replay);
    assert_eq!(shown, [1, 2]);
    disk.cut_power();
    assert_eq!(numbers(open_log(&disk, &options()).expect("opens").replay), shown);
}

#[test]
fn j03_a_failed_write_is_final_too_and_leaves_a_clean_log() {
    let disk = FaultDisk::new(5);
    let mut running = open(&disk, &options());
    let position = running.append(1, 150).expect("appended");
    running.await_durable(position).expect("durable");
    disk.fail_write(1);
    let position = running.append(2, 150).expect("queued");
    running.await_durable(position).expect_err("no space");
    assert!(matches!(running.append(3, 10), Err(Error::Poisoned(_))));
    drop(running);
    assert_eq!(numbers(open(&disk, &options()).replay), [1]);
}

#[test]
fn j04_new_segment_whose_directory_entry_was_not_synced() {
    let options = options();
    let disk = FaultDisk::new(4);
    let mut acked = Vec::new();
    for round in 0..100 {
        let mut running = open(&disk, &options);
        let found = numbers(running.replay.clone());
        assert_eq!(found, acked, "round {round}");
        let before = running.journal.stats().segment_count;
        while running.journal.stats().segment_count == before {
            let number = acked.len() as u64;
            let position = running.append(number, 700).expect("appended");
            running.await_durable(position).expect("durable");
            acked.push(number);
        }
        disk.cut_power();
    }
}

#[test]
fn j04_forgetting_leaves_no_gap_after_a_power_cut() {
    let options = options();
    for seed in 0..30 {
        let disk = FaultDisk::new(seed);
        let mut log = open_log(&disk, &options).expect("new").log;
        let positions: Vec<Lsn> =
            (0..40).map(|number| write_synced(&mut log, &options, number, 500).expect("written")).collect();
        let forgotten = log.forget_below(positions[30]);
        assert!(forgotten.segments.len() > 2);
        let mount = disk.mount();
        // The power goes after some of the removals, the last of them without its directory sync.
        let done = seed as usize % forgotten.segments.len();
        Log::remove(dir(), &*mount, &forgotten.segments[..done]).expect("removed");
        journal::Disk::remove(&*mount, &segment(forgotten.segments[done])).expect("removed");
        disk.cut_power();
        let found = numbers(open_log(&disk, &options).expect("no gap").replay);
        assert!((30..40).all(|number| found.contains(&number)), "{found:?}");
    }
}

#[test]
fn j07_replaying_twice_gives_the_same() {
    let options = options();
    let disk = FaultDisk::new(7);
    let mut log = open_log(&disk, &options).expect("new").log;
    for number in 0..60 {
        write_synced(&mut log, &options, number, 200).expect("written");
    }
    log.write(&[batch_of(&options, 60, 900)]).expect("written, not synced");
    disk.cut_power();
    let first: Vec<_> =
        open_log(&disk, &options).expect("opens").replay.map(|record| record.expect("readable")).collect();
    for read in [0, 1, 7, 30, 59] {
        // A run that dies in the midst of its replay.
        let replay = open_log(&disk, &options).expect("opens").replay;
        assert_eq!(replay.take(read).map(|record| record.expect("readable")).collect::<Vec<_>>(), first[..read]);
        disk.kill();
    }
    let mut replay = open_log(&disk, &options).expect("opens").replay;
    assert_eq!(replay.clone().map(|record| record.expect("readable")).collect::<Vec<_>>(), first);
    replay.skip_to(first[40].position);
    let rest: Vec<u64> = replay.map(|record| number_of(&record.expect("readable"))).collect();
    assert_eq!(rest, first[41..].iter().map(number_of).collect::<Vec<u64>>());
}

#[test]
fn j08_flushed_before_acked() {
    let options = options();
    let disk = FaultDisk::new(8);
    for round in 0..200 {
        let mut running = open(&disk, &options);
        let position = running.append(round, 80).expect("appended");
        running.await_durable(position).expect("durable");
        disk.cut_power();
        drop(running);
        let running = open(&disk, &options);
        assert_eq!(running.read(round).expect("readable").len(), 1, "round {round}");
        disk.kill();
    }
}

#[test]
fn j08_sixty_four_appends_behind_a_slow_sync_share_the_next_one() {
    let disk = FaultDisk::new(9);
    let options = Options { segment_size: 1 << 20, ..options() };
    let mut running = open(&disk, &options);
    let before = disk.sync_count();
    let held = HeldSyncs::of(&disk);
    running.append(0, 100).expect("appended");
    disk.await_held_sync();
    let last = (1..64).map(|number| running.append(number, 100).expect("appended")).last().expect("some");
    drop(held);
    running.await_durable(last).expect("durable");
    assert_eq!(disk.sync_count() - before, 2);
}

#[test]
fn j08_periodic_mode_says_so_and_publishes_before_the_sync() {
    let disk = FaultDisk::new(10);
    let sync = SyncMode::Periodic { interval: Duration::from_secs(3600) };
    let mut running = open(&disk, &Options { sync, ..options() });
    let warnings: Vec<String> = running.replay.warnings().iter().map(ToString::to_string).collect();
    assert!(warnings.iter().any(|text| text.contains("periodic")), "{warnings:?}");
    let before = disk.sync_count();
    let position = running.append(1, 100).expect("appended");
    assert_eq!(running.news.recv(), Ok(Durable::Written(position)));
    assert_eq!(disk.sync_count(), before);
    running.journal.close().expect("syncs at the end");
    disk.cut_power();
    assert_eq!(numbers(open(&disk, &options()).replay), [1]);
}

#[test]
fn o03_appends_and_reads_go_on_while_a_sync_hangs() {
    let disk = FaultDisk::new(11);
    let mut running = open(&disk, &options());
    let first = running.append(1, 100).expect("appended");
    running.await_durable(first).expect("durable");
    let held = HeldSyncs::of(&disk);
    running.append(2, 100).expect("appended");
    disk.await_held_sync();
    let queued = running.append(3, 100).expect("the caller does not wait");
    let (tell, answer) = std::sync::mpsc::channel();
    let reader = running.journal.reader();
    let read = |number, after| {
        let tell = tell.clone();
        let answer = Box::new(move |found: Result<Vec<_>, Error>| {
            let _ = tell.send((number, found.expect("readable").len()));
        });
        reader.read(1, &id(number), after, answer).expect("asked");
    };
    read(3, queued);
    read(2, first);
    assert_eq!(answer.recv(), Ok((2, 1)), "written and not yet synced: a read sees it");
    drop(held);
    assert_eq!(answer.recv(), Ok((3, 1)), "a read of what is queued waits for its write only");
    running.await_durable(queued).expect("durable");
}

#[test]
fn a_full_queue_is_said_and_empties_again() {
    let disk = FaultDisk::new(12);
    let options = Options { pending_max: 8192, ..options() };
    let mut running = open(&disk, &options);
    let held = HeldSyncs::of(&disk);
    let (accepted, refused) = {
        let mut position = Lsn::ZERO;
        loop {
            match running.append(1, 1000) {
                Ok(next) => position = next,
                Err(error) => break (position, error),
            }
        }
    };
    assert!(matches!(refused, Error::Full { max: 8192, .. }), "{refused}");
    assert!(running.journal.pending_bytes() <= 8192);
    drop(held);
    running.await_durable(accepted).expect("durable");
    assert_eq!(running.journal.pending_bytes(), 0);
    running.append(1, 1000).expect("room again");
}

#[test]
fn the_cap_on_live_bytes_holds_until_something_is_forgotten() {
    let disk = FaultDisk::new(13);
    let options = Options { max_bytes: 16384, ..options() };
    let mut running = open(&disk, &options);
    let (mut last, mut number) = (Lsn::ZERO, 0);
    let refused = loop {
        match running.append(number, 1000) {
            Ok(position) => last = position,
            Err(error) => break error,
        }
        running.await_durable(last).expect("durable");
        number += 1;
    };
    assert!(matches!(refused, Error::OverCapacity { max: 16384, .. }), "{refused}");
    assert!(running.journal.stats().live_bytes <= 16384 + 4096);
    let (tell, done) = std::sync::mpsc::channel();
    running.journal.forget_below(last, move |forgotten| tell.send(forgotten).expect("waiting")).expect("asked");
    let forgotten = done.recv().expect("answered").expect("removed");
    assert!(!forgotten.segments.is_empty() && !forgotten.is_held);
    while running.append(number, 1000).is_err() {
        std::thread::yield_now();
    }
    assert_eq!(running.read(0).expect("readable"), Vec::<Vec<u8>>::new(), "forgotten ids are gone");
    assert_eq!(running.read(number).expect("readable").len(), 1);
}

#[test]
fn forgetting_never_takes_the_newest_reservation_or_node_fact() {
    let options = options();
    let disk = FaultDisk::new(14);
    let mut log = open_log(&disk, &options).expect("new").log;
    let mut facts = Batch::new(&options);
    journal::HlcReservation { upto: 77 }.push(&mut facts).expect("fits");
    facts.push(Kind::NODE_META, 1, 0, &id(1), b"incarnation 3").expect("fits");
    log.write(&[facts.clone()]).expect("written");
    let last = (0..40).map(|number| write_synced(&mut log, &options, number, 500).expect("written")).last();
    let last = last.expect("some");
    let held = log.forget_below(last);
    assert!(held.is_held && held.segments.is_empty());
    log.write(&[facts]).expect("appended again");
    log.sync().expect("synced");
    let free = log.forget_below(last);
    assert!(!free.is_held && !free.segments.is_empty());
    Log::remove(dir(), &*disk.mount(), &free.segments).expect("removed");
    let opened = open_log(&disk, &options).expect("opens");
    assert_eq!(opened.replay.hlc_reserved(), Some(77));
    assert!(opened.replay.first() > Lsn::ZERO);
    assert_eq!(opened.log.appended(), log.appended());
}

#[test]
fn a_reservation_is_handed_back_at_replay() {
    let disk = FaultDisk::new(15);
    let mut running = open(&disk, &options());
    assert_eq!(running.replay.hlc_reserved(), None);
    running.journal.reserve_hlc(500).expect("appended");
    let position = running.journal.reserve_hlc(900).expect("appended");
    running.await_durable(position).expect("durable");
    disk.cut_power();
    assert_eq!(open(&disk, &options()).replay.hlc_reserved(), Some(900));
}

#[test]
fn a_directory_of_another_node_is_refused_with_file_and_remedy() {
    let disk = FaultDisk::new(16);
    drop(open(&disk, &options()));
    let foreign = Options { owner: [1; 32], ..options() };
    let refused = open_log(&disk, &foreign).err().expect("refused");
    let text = refused.to_string();
    assert!(matches!(refused, Error::Foreign { .. }));
    assert!(text.contains("segment-000001.log") && text.contains("data_dir"), "{text}");
}

#[test]
fn a_missing_or_shortened_sealed_segment_is_corruption() {
    let options = options();
    let write = || {
        let disk = FaultDisk::new(17);
        let mut log = open_log(&disk, &options).expect("new").log;
        for number in 0..30 {
            write_synced(&mut log, &options, number, 500).expect("written");
        }
        disk
    };
    let disk = write();
    journal::Disk::remove(&*disk.mount(), &segment(2)).expect("removed");
    let text = open_log(&disk, &options).err().expect("refused").to_string();
    assert!(text.contains("segment 000002 is missing"), "{text}");

    let disk = write();
    let mut bytes = disk.contents(&segment(2)).expect("there");
    *bytes.last_mut().expect("not empty") ^= 1;
    disk.replace(&segment(2), bytes);
    let text = open_log(&disk, &options).err().expect("refused").to_string();
    assert!(text.contains("segment-000002.log") && text.contains("later segments exist"), "{text}");

    // Cut at a record's border: every checksum is right, only the positions tell.
    let disk = write();
    let bytes = disk.contents(&segment(2)).expect("there");
    let last_batch = 2 * RECORD_HEADER_SIZE + 500;
    disk.replace(&segment(2), bytes[..bytes.len() - last_batch].to_vec());
    let text = open_log(&disk, &options).err().expect("refused").to_string();
    assert!(text.contains("segment-000003.log") && text.contains("begins at position"), "{text}");
}

#[test]
fn a_kind_of_a_newer_program_is_refused_by_number() {
    let disk = FaultDisk::new(18);
    let mut log = open_log(&disk, &options()).expect("new").log;
    write_synced(&mut log, &options(), 1, 0).expect("written");
    let mut bytes = disk.contents(&segment(1)).expect("there");
    let record = bytes.len() - RECORD_HEADER_SIZE;
    bytes[record + 4] = 0x61;
    let crc = crc32fast::hash(&bytes[record..record + 28]);
    bytes[record + 28..].copy_from_slice(&crc.to_be_bytes());
    disk.replace(&segment(1), bytes);
    let text = open_log(&disk, &options()).err().expect("refused").to_string();
    assert!(text.contains("record kind 97") && text.contains("newer"), "{text}");
}

#[test]
fn partial_updates_of_one_id_come_back_in_append_order() {
    let disk = FaultDisk::new(19);
    let mut running = open(&disk, &options());
    for payload_size in [1, 3000, 2, 3000, 3, 4, 5, 6, 7] {
        running.append(1, payload_size).expect("appended");
        running.append(2, 10).expect("appended");
    }
    let sizes = |running: &harness::Running| -> Vec<usize> {
        running.read(1).expect("readable").iter().map(Vec::len).collect()
    };
    assert_eq!(sizes(&running), [1, 3000, 2, 3000, 3, 4, 5, 6, 7]);
    running.journal.close().expect("closes");
    assert_eq!(sizes(&open(&disk, &options())), [1, 3000, 2, 3000, 3, 4, 5, 6, 7]);
}

#[test]
fn the_golden_segment_opens() {
    let unhex = |line: &str| -> Vec<u8> {
        let digits = line.as_bytes().chunks(2);
        digits.map(|pair| u8::from_str_radix(std::str::from_utf8(pair).expect("text"), 16).expect("hex")).collect()
    };
    let golden = include_str!("golden/journal.hex");
    let bytes: Vec<u8> = golden.lines().filter(|line| !line.starts_with('#')).flat_map(unhex).collect();
    let disk = FaultDisk::new(20);
    disk.replace(&segment(17), bytes);
    let opened = open_log(&disk, &Options { owner: [0xab; 32], ..options() }).expect("opens for ever");
    assert_eq!(opened.replay.warnings(), []);
    let records: Vec<_> = opened.replay.map(|record| record.expect("readable")).collect();
    assert_eq!(records.len(), 1);
    let record = &records[0];
    assert_eq!((record.position, record.segment, record.store), (Lsn(40960 + 37), 17, 0x0304));
    assert_eq!((record.kind, record.version, &record.id), (Kind::COMMAND_DELTA, 2, b"twenty bytes of id!!"));
    assert_eq!(record.payload, b"hello");
}

#[test]
fn real_files_come_back() {
    let path = std::path::PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("journal-{}", std::process::id()));
    let disk = std::sync::Arc::new(journal::RealDisk);
    let mut running = harness::open_on(disk.clone(), &path, &options()).expect("new");
    let mut last = Lsn::ZERO;
    for number in 0..30 {
        last = running.append(number, 700).expect("appended");
    }
    running.await_durable(last).expect("durable");
    assert_eq!(running.read(29).expect("readable").len(), 1);
    running.journal.close().expect("closes");
    let running = harness::open_on(disk, &path, &options()).expect("opens");
    assert_eq!(running.replay.end(), last);
    assert_eq!(numbers(running.replay.clone()), (0..30).collect::<Vec<u64>>());
    assert!(running.journal.stats().segment_count > 5);
    drop(running);
    std::fs::remove_dir_all(path).expect("clean up");
}
