//! F4: a log file after anything may have happened to it. It is refused, or gives a beginning of what was written, never a record
//! that was not.
//!
//! *Shape* of an input: which of the log's files, then edits of five bytes each: an operation, an offset of two bytes, an
//! argument, a length. A first byte of 128 or more: the rest of the input takes the place of the newest file, whatever it is.

use super::Dice;
use crate::{Outcome, Target};
use journal::{Batch, Error, FaultDisk, Kind, Log, Options, RecordReader, Replayed};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// See the module.
pub const TARGET: Target = Target { name: "journal", run, seeds, dictionary: DICTIONARY, input_max: 8 << 10 };

const OWNER: [u8; 32] = [0x5a; 32];
const DIRECTORY: &str = "data/journal";
const IS_WHOLE: u8 = 128;

const DICTIONARY: &[&[u8]] = &[
    b"\x00\x00\x00\x00\x01",
    b"\x03\x00\x40\x00\x00",
    b"\x01\x00\x00\xff\x04",
    b"\xff\xff\xff\xff",
    b"\x00\x00\x00\x08\x01\x01\x00\x01",
];

fn options() -> Options {
    Options { segment_size: 1024, max_bytes: 1 << 20, pending_max: 1 << 16, ..Options::new(OWNER, 0xfeed) }
}

/// A log that was written and synced once; every input begins with a copy of it.
struct Written {
    files: Vec<(PathBuf, Vec<u8>)>,
    records: Vec<Replayed>,
}

fn written() -> &'static Written {
    static WRITTEN: OnceLock<Written> = OnceLock::new();
    WRITTEN.get_or_init(|| {
        let disk = FaultDisk::new(1);
        let options = options();
        let mut log = Log::open(Path::new(DIRECTORY), &options, disk.mount()).unwrap_or_else(|e| panic!("{e}")).log;
        for number in 0..24u8 {
            let mut batch = Batch::new(&options);
            for part in 0..=number % 3 {
                let kind = [Kind::COMMAND_DELTA, Kind::NODE_META, Kind::COMMAND_DELTA][usize::from(part)];
                let payload = vec![number ^ part; usize::from(number) * 5];
                batch.push(kind, 1, u16::from(part), &[number; 20], &payload).expect("fits");
            }
            log.write(&[batch]).expect("written");
            if number % 5 == 0 {
                log.sync().expect("synced");
            }
            if number == 11 {
                log.attest().expect("attested");
            }
        }
        log.sync().expect("synced");
        drop(log);
        let files = disk.names().into_iter().map(|name| (name.clone(), disk.contents(&name).expect("there")));
        let files: Vec<_> = files.collect();
        let records = read(&disk).unwrap_or_else(|error| panic!("{error}"));
        assert!(files.len() >= 3 && records.len() == 48, "{} files, {} records", files.len(), records.len());
        Written { files, records }
    })
}

/// Opens, replays and reads by id; what a node does at its start.
fn read(disk: &FaultDisk) -> Result<Vec<Replayed>, Error> {
    let opened = Log::open(Path::new(DIRECTORY), &options(), disk.mount())?;
    let records = opened.replay.collect::<Result<Vec<_>, _>>()?;
    let mut reader = RecordReader::new(Path::new(DIRECTORY), disk.mount());
    for record in &records {
        let found = reader.read(&opened.index, record.store, &record.id)?;
        let is_there = found.iter().any(|stored| stored.payload == record.payload);
        assert!(is_there || !record.kind.is_indexed(), "the index does not lead to a record of the replay");
    }
    Ok(records)
}

fn run(input: &[u8]) -> Outcome {
    let Written { files, records } = written();
    let disk = FaultDisk::new(1);
    files.iter().for_each(|(name, bytes)| disk.replace(name, bytes.clone()));
    let mut dice = Dice::new(input);
    let first = dice.byte();
    let is_whole = first >= IS_WHOLE;
    let (name, bytes) = &files[usize::from(first) % files.len()];
    if is_whole {
        disk.replace(&files[files.len() - 1].0, dice.rest().to_vec());
    } else {
        disk.replace(name, edited(bytes.clone(), &mut dice));
    }
    match read(&disk) {
        Ok(found) => {
            let lost = records.len().saturating_sub(found.len());
            is_of_what_was_written(&found, records, is_whole);
            Outcome::of(&format!("{} read, {} lost", Outcome::letter(found.len()), Outcome::letter(lost)))
        }
        Err(error) => {
            let text = error.to_string();
            assert!(text.len() <= 1000, "a refusal of {} bytes", text.len());
            Outcome::of(&text)
        }
    }
}

fn is_of_what_was_written(found: &[Replayed], records: &[Replayed], is_whole: bool) {
    let contents = |record: &Replayed| (record.kind, record.version, record.store, record.id, record.payload.clone());
    if is_whole {
        // Valid records copied to other places are no damage that a checksum of each can show.
        let known: BTreeSet<_> = records.iter().map(contents).collect();
        assert!(found.iter().all(|record| known.contains(&contents(record))), "a record that was never written");
    } else {
        assert!(found.len() <= records.len(), "more records than were written");
        let same = found.iter().zip(records).all(|(found, record)| found == record);
        assert!(same, "not a beginning of what was written");
    }
}

fn edited(mut bytes: Vec<u8>, dice: &mut Dice<'_>) -> Vec<u8> {
    while !dice.is_empty() {
        let (operation, offset, argument, len) = (dice.byte(), dice.u16(), dice.byte(), usize::from(dice.byte()));
        let at = offset.min(bytes.len());
        let end = (at + len).min(bytes.len());
        match operation % 4 {
            0 => bytes[at..end].iter_mut().take(1).for_each(|byte| *byte ^= 1 << (argument % 8)),
            1 => bytes[at..end].fill(argument),
            2 => bytes.truncate(at),
            _ => bytes.extend(std::iter::repeat_n(argument, len)),
        }
    }
    bytes
}

fn seeds() -> Vec<Vec<u8>> {
    let files = &written().files;
    let mut seeds: Vec<Vec<u8>> = (0..files.len() as u8)
        .flat_map(|file| {
            let edits: [&[u8]; 5] =
                [b"", b"\0\0\x20\x01\x01", b"\x01\x01\0\0\x40", b"\x02\x01\0\0\0", b"\x03\0\0\0\x20"];
            edits.map(|edit| [&[file][..], edit].concat())
        })
        .collect();
    seeds.extend(files.iter().map(|(_, bytes)| [&[IS_WHOLE][..], bytes].concat()));
    seeds
}
