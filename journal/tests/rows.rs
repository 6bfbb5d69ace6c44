//! The row checkpoint on real files.

use journal::{
    Disk, Error, FaultDisk, Lsn, RealDisk, RowChange, RowCheckpoint, RowOptions, RowsFound, discard_snapshots, probe,
    set_aside,
};
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};

/// A directory of its own, removed at the end of the test.
struct TempDir(PathBuf);

impl TempDir {
    fn new() -> Self {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let name = format!("rows-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
        std::fs::create_dir_all(&path).expect("directory");
        Self(path)
    }
}

impl Drop for TempDir {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn put(key: &str, value: &str) -> RowChange {
    RowChange { key: key.into(), value: Some(value.into()) }
}

fn open(options: &RowOptions) -> RowCheckpoint {
    RowCheckpoint::open(options, Arc::new(RealDisk)).expect("opens")
}

fn all(rows: &RowCheckpoint) -> Vec<(String, String)> {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("text");
    let mut found = Vec::new();
    rows.load_all(|key, value| found.push((text(key), text(value)))).expect("readable");
    found
}

fn checkpoint(rows: &RowCheckpoint, position: u64) -> Result<Lsn, Error> {
    let (tell, done) = mpsc::channel();
    rows.checkpoint(Lsn(position), Box::new(move |end| tell.send(end).expect("waiting")))?;
    done.recv().expect("answered")
}

#[test]
fn rows_and_marker_come_back_after_a_checkpoint() {
    let dir = TempDir::new();
    let options = RowOptions::new(&dir.0, [1; 32]);
    let found = RowsFound::look(&options, &RealDisk).expect("empty");
    assert_eq!(found, RowsFound { marker: None, was_clean: false });
    let rows = open(&options);
    rows.apply(vec![put("a", "1"), put("b", "2"), put("a", "3")]).expect("taken");
    rows.apply(vec![RowChange { key: "b".into(), value: None }, put("c", "4")]).expect("taken");
    let (tell, answer) = mpsc::channel();
    rows.get(b"a", move |value| tell.send(value).expect("waiting")).expect("asked");
    assert_eq!(answer.recv().expect("answered").expect("readable"), Some(b"3".to_vec()));
    assert_eq!(checkpoint(&rows, 77).expect("durable"), Lsn(77));
    assert_eq!(RowsFound::look(&options, &RealDisk).expect("there").marker, Some(Lsn(77)));
    rows.close().expect("closes");
    let found = RowsFound::look(&options, &RealDisk).expect("there");
    assert_eq!(found, RowsFound { marker: Some(Lsn(77)), was_clean: true });
    probe(&options.rows_dir()).expect("sound");
    let rows = open(&options);
    assert!(!RowsFound::look(&options, &RealDisk).expect("there").was_clean, "open again means not clean");
    assert_eq!(all(&rows), [("a".into(), "3".into()), ("c".into(), "4".into())]);
}

#[test]
fn a_marker_that_cannot_be_written_fails_the_checkpoint_and_all_later_ones() {
    let dir = TempDir::new();
    let options = RowOptions::new(&dir.0, [1; 32]);
    // Rows on real files, the marker on a disk that fails.
    let disk = FaultDisk::new(1);
    let rows = RowCheckpoint::open(&options, disk.mount()).expect("opens");
    rows.apply(vec![put("a", "1")]).expect("taken");
    checkpoint(&rows, 5).expect("durable");
    disk.fail_sync(1, journal::AfterFailure::Keep);
    checkpoint(&rows, 6).expect_err("the marker's sync failed");
    checkpoint(&rows, 7).expect_err("final");
    assert!(rows.close().is_err());
    disk.cut_power();
    let found = RowsFound::look(&options, &*disk.mount()).expect("readable");
    assert_eq!(found, RowsFound { marker: Some(Lsn(5)), was_clean: false });
}

#[test]
fn too_many_changes_are_refused() {
    let dir = TempDir::new();
    let options = RowOptions { pending_max: 1000, ..RowOptions::new(&dir.0, [1; 32]) };
    let rows = open(&options);
    let refused = rows.apply(vec![put("a", &"x".repeat(2000))]);
    assert!(matches!(refused, Err(Error::RowsFull { max: 1000, .. })), "{refused:?}");
    rows.apply(vec![put("b", "1")]).expect("a refusal takes no room");
    checkpoint(&rows, 1).expect("durable");
    assert_eq!(all(&rows), [("b".into(), "1".into())]);
}

#[test]
fn a_damaged_directory_is_set_aside_with_its_marker() {
    let dir = TempDir::new();
    let options = RowOptions::new(&dir.0, [1; 32]);
    for round in 1..=2 {
        let rows = open(&options);
        rows.apply(vec![put("a", "1")]).expect("taken");
        checkpoint(&rows, 9).expect("durable");
        rows.close().expect("closes");
        let place = set_aside(&options, &RealDisk).expect("moved").expect("there was one");
        assert_eq!(place, dir.0.join(format!("rows.damaged.{round}")));
        assert!(place.join("db").exists() && !options.rows_dir().exists());
        let found = RowsFound::look(&options, &RealDisk).expect("there");
        assert_eq!(found, RowsFound { marker: None, was_clean: false });
    }
    assert_eq!(set_aside(&options, &RealDisk).expect("nothing to do"), None);
}

#[test]
fn a_cut_snapshot_fails_the_probe_and_discarding_it_helps() {
    let dir = TempDir::new();
    let options = RowOptions::new(&dir.0, [1; 32]);
    let rows = open(&options);
    rows.apply((0..1000).map(|number| put(&format!("k{number}"), "v")).collect()).expect("taken");
    checkpoint(&rows, 9).expect("durable");
    rows.close().expect("closes");
    drop(open(&options));
    let rows_dir = options.rows_dir();
    let snapshots: Vec<PathBuf> = std::fs::read_dir(&rows_dir)
        .expect("listed")
        .map(|entry| entry.expect("entry").path())
        .filter(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("snap.")))
        .collect();
    assert!(!snapshots.is_empty());
    for path in &snapshots {
        let bytes = std::fs::read(path).expect("read");
        std::fs::write(path, &bytes[..bytes.len() / 2]).expect("cut");
    }
    assert!(matches!(probe(&rows_dir), Err(Error::Rows { .. })));
    assert_eq!(discard_snapshots(&rows_dir).expect("removed"), snapshots.len());
    probe(&rows_dir).expect("sound without them");
    assert_eq!(all(&open(&options)).len(), 1000);
}

#[test]
fn probing_nothing_makes_nothing() {
    let dir = TempDir::new();
    let missing = dir.0.join("rows");
    probe(&missing).expect("nothing to judge");
    assert!(!missing.exists());
    RealDisk.sync_dir(&dir.0).expect("a real directory");
}
