//! Measures group commit on a real directory: `cargo run --release -p journal --example journal_rate -- DIR`.

use journal::{Batch, Durable, Error, Index, Journal, Kind, Options, Placement, RealDisk};
use std::io::Write;
use std::path::Path;
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

const RECORD_COUNT: usize = 128;
const PAYLOAD_SIZE: usize = 512 - journal::RECORD_HEADER_SIZE;
const ROUND_COUNT: u64 = 4000;

fn id(number: u64) -> [u8; 20] {
    let mut id = [0; 20];
    id[12..].copy_from_slice(&number.to_be_bytes());
    id
}

fn fill(batch: &mut Batch, round: u64) -> Result<(), Error> {
    let payload = [round as u8; PAYLOAD_SIZE];
    (0..RECORD_COUNT as u64)
        .try_for_each(|nth| batch.push(Kind::COMMAND_DELTA, 1, 0, &id(round * RECORD_COUNT as u64 + nth), &payload))
}

fn median(mut times: Vec<Duration>) -> (Duration, Duration) {
    times.sort_unstable();
    (times[times.len() / 2], times[times.len() * 99 / 100])
}

/// What the disk itself takes: the same bytes appended to a growing file with one fdatasync each.
fn raw_sync(dir: &Path) -> Result<(Duration, Duration), std::io::Error> {
    let path = dir.join("raw");
    let mut file = std::fs::File::create(&path)?;
    let bytes = vec![7; RECORD_COUNT * 512];
    let mut times = Vec::new();
    for _ in 0..ROUND_COUNT / 4 {
        let start = Instant::now();
        file.write_all(&bytes)?;
        file.sync_data()?;
        times.push(start.elapsed());
    }
    std::fs::remove_file(path)?;
    Ok(median(times))
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let dir = std::env::args().nth(1).ok_or("usage: journal_rate DIR (an empty directory on the disk to measure)")?;
    let (tell, news) = mpsc::channel();
    let options = Options::new([0; 32], 1);
    let on_durable = Box::new(move |durable| {
        let _ = tell.send(durable);
    });
    let (mut journal, _) = Journal::open(Path::new(&dir), &options, Arc::new(RealDisk), on_durable)?;

    println!("raw write and fdatasync of the same bytes: median, p99 {:?}", raw_sync(Path::new(&dir))?);

    let (mut waits, mut appends) = (Vec::new(), Vec::new());
    let began = Instant::now();
    for round in 0..ROUND_COUNT {
        let mut batch = journal.batch();
        fill(&mut batch, round)?;
        let start = Instant::now();
        let position = journal.append(&mut batch)?;
        appends.push(start.elapsed());
        while !matches!(news.recv()?, Durable::Synced(upto) if upto >= position) {}
        waits.push(start.elapsed());
    }
    let rate = (ROUND_COUNT as usize * RECORD_COUNT) as f64 / began.elapsed().as_secs_f64();
    let ((wait, wait_p99), (append, append_p99)) = (median(waits), median(appends));
    println!(
        "{RECORD_COUNT} records of 512 B, append until durable: median {wait:?}, p99 {wait_p99:?}, {rate:.0} rec/s"
    );
    println!("append alone: median {append:?}, p99 {append_p99:?}");

    let stats = journal.stats();
    println!("{stats:?}");
    journal.close()?;
    let began = Instant::now();
    let (journal, replay) = Journal::open(Path::new(&dir), &options, Arc::new(RealDisk), Box::new(|_| {}))?;
    println!("open with {} segments, {} bytes: {:?}", stats.segment_count, stats.live_bytes, began.elapsed());
    let began = Instant::now();
    println!("replay of {} records: {:?}", replay.count(), began.elapsed());
    journal.close()?;

    let mut index = Index::default();
    for number in 0..4_000_000u64 {
        index.insert(&Placement { store: 0, id: id(number % 1_000_000), segment: 1, offset: number as u32 });
    }
    let (bytes, ids) = (index.memory_bytes(), index.id_count());
    println!("index: {ids} ids of 4 records, {bytes} bytes, {:.1} per id", bytes as f64 / ids as f64);
    Ok(())
}
