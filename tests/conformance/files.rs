//! Which files of cases run.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

/// Where the shared file lies, relative to the repository.
const SHARED: &str = "../shared/conformance/cql_txn.toml";
/// The project's own files.
const OWN: &str = "tests/conformance/cases";

/// The files to run, and what could not be found.
#[derive(Debug)]
pub(crate) struct Sources {
    pub(crate) files: Vec<PathBuf>,
    pub(crate) missing: Vec<String>,
}

/// The shared file if it is there, the project's own files, and those the environment names.
pub(crate) fn sources() -> Sources {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let shared = root.join(SHARED);
    let mut files = own(&root.join(OWN));
    let mut missing = Vec::new();
    if shared.is_file() {
        files.insert(0, shared);
    } else {
        missing.push(format!("{}: no such file; the shared cases do not run", shared.display()));
    }
    files.extend(named());
    Sources { files, missing }
}

fn own(dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).unwrap_or_else(|error| panic!("{}: {error}", dir.display()));
    let paths = entries.map(|entry| entry.expect("readable").path());
    let mut files: Vec<PathBuf> = paths.filter(|path| path.extension().is_some_and(|it| it == "toml")).collect();
    files.sort();
    files
}

fn named() -> Vec<PathBuf> {
    let Ok(list) = env::var("CONFORMANCE_FILES") else { return Vec::new() };
    let names = list.split([':', ',']).map(str::trim).filter(|name| !name.is_empty());
    names.map(|name| caller_directory().join(name)).collect()
}

/// The directory `cargo` was called in: cargo itself moves a test to its package.
fn caller_directory() -> PathBuf {
    env::var_os("PWD").map_or_else(|| env::current_dir().expect("a directory"), PathBuf::from)
}

/// Whether the environment asks for the case of this name.
pub(crate) fn is_wanted(name: &str) -> bool {
    let Ok(list) = env::var("CONFORMANCE_CASE") else { return true };
    list.split(',').map(str::trim).any(|wanted| match wanted.strip_suffix('*') {
        Some(start) => name.starts_with(start),
        None => name == wanted,
    })
}
