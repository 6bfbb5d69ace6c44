//! One process per data directory.

use crate::Error;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, Write};
use std::path::Path;

/// Holds the data directory for this process; released on drop or when the process ends, however it ends.
#[derive(Debug)]
pub struct DirLock {
    _file: File,
}

impl DirLock {
    /// Locks `dir/LOCK` and writes the process id into it. The directory must exist.
    ///
    /// # Errors
    /// `Locked` with the holder's process id if another process (or another part of this one) has it.
    pub fn acquire(dir: &Path) -> Result<Self, Error> {
        let path = dir.join("LOCK");
        let opened = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path);
        let mut file = opened.map_err(Error::io("open the lock file", &path))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(Error::Locked { holder: holder(&mut file), path }),
            Err(TryLockError::Error(source)) => return Err(Error::io("lock", &path)(source)),
        }
        file.set_len(0)
            .and_then(|()| file.rewind())
            .and_then(|()| writeln!(file, "{}", std::process::id()))
            .map_err(Error::io("write the process id", &path))?;
        Ok(Self { _file: file })
    }
}

fn holder(file: &mut File) -> String {
    let mut text = String::new();
    // The id is a courtesy: whoever holds the lock may not have written it yet.
    match file.take(20).read_to_string(&mut text) {
        Ok(_) if text.trim().parse::<u32>().is_ok() => format!("process {}", text.trim()),
        _ => "another process".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_lock_is_refused_with_the_holder_and_free_after_drop() {
        let dir = std::env::temp_dir().join(format!("journal-lock-{}", std::process::id()));
        std::fs::create_dir_all(&dir).expect("directory");
        let held = DirLock::acquire(&dir).expect("first");
        let refused = DirLock::acquire(&dir).expect_err("second").to_string();
        assert!(refused.contains(&format!("process {}", std::process::id())), "{refused}");
        drop(held);
        DirLock::acquire(&dir).expect("after drop");
        std::fs::remove_dir_all(&dir).expect("clean up");
    }
}
