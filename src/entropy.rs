//! The one source of unpredictable bytes: keys, nonces, incarnations, salts.

use crate::Error;

/// Fills `bytes` from the operating system.
///
/// *Errors*: [`Error::Failed`] if the system has none to give, which no supported one does once it has started.
pub fn fill(bytes: &mut [u8]) -> Result<(), Error> {
    getrandom::fill(bytes)
        .map_err(|error| Error::Failed(format!("the operating system gives no random bytes: {error}")))
}

/// A number nobody can guess.
///
/// *Errors*: as [`fill`].
pub fn number() -> Result<u64, Error> {
    let mut bytes = [0; 8];
    fill(&mut bytes)?;
    Ok(u64::from_le_bytes(bytes))
}

#[cfg(test)]
mod tests {
    #[test]
    fn two_numbers_differ() {
        assert_ne!(super::number().expect("random"), super::number().expect("random"));
    }
}
