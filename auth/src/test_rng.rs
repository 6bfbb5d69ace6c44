use std::convert::Infallible;

use sha2::{Digest, Sha256};

use crate::rand_core::{TryCryptoRng, TryRng};

/// A repeatable stream for tests: SHA-256 of (seed, counter).
pub(crate) struct TestRng {
    seed: u64,
    counter: u64,
}

impl TestRng {
    pub(crate) const fn new(seed: u64) -> Self {
        Self { seed, counter: 0 }
    }
}

impl TryRng for TestRng {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        let mut bytes = [0; 4];
        self.try_fill_bytes(&mut bytes)?;
        Ok(u32::from_be_bytes(bytes))
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        let mut bytes = [0; 8];
        self.try_fill_bytes(&mut bytes)?;
        Ok(u64::from_be_bytes(bytes))
    }

    fn try_fill_bytes(&mut self, out: &mut [u8]) -> Result<(), Infallible> {
        for chunk in out.chunks_mut(32) {
            self.counter += 1;
            let block =
                Sha256::new().chain_update(self.seed.to_be_bytes()).chain_update(self.counter.to_be_bytes()).finalize();
            chunk.copy_from_slice(&block[..chunk.len()]);
        }
        Ok(())
    }
}

impl TryCryptoRng for TestRng {}
