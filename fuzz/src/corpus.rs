//! The inputs that are kept: `fuzz/corpus/<target>/`, one file each. Every input that failed once is among them for ever.

use crate::Target;
use std::fs;
use std::io;
use std::path::PathBuf;

/// Where the inputs of a target are.
pub fn directory(target: &Target) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("corpus").join(target.name)
}

/// All kept inputs of a target, by file name.
pub fn kept(target: &Target) -> Vec<(String, Vec<u8>)> {
    let Ok(entries) = fs::read_dir(directory(target)) else { return Vec::new() };
    let mut found: Vec<_> = entries
        .filter_map(|entry| {
            let entry = entry.ok()?;
            Some((entry.file_name().into_string().ok()?, fs::read(entry.path()).ok()?))
        })
        .collect();
    found.sort();
    found
}

/// Writes an input down under a name made of `kind` and its contents.
pub(crate) fn keep(target: &Target, kind: &str, input: &[u8]) -> io::Result<PathBuf> {
    let directory = directory(target);
    fs::create_dir_all(&directory)?;
    let path = directory.join(format!("{kind}-{:016x}", digest(input)));
    fs::write(&path, input)?;
    Ok(path)
}

/// FNV-1a: names files, protects nothing.
fn digest(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3))
}
