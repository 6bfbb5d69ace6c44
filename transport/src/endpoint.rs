use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use auth::{KeyRing, Party};

use crate::{Error, Settings};

/// A source of unpredictable bytes: nonces of greetings, jitter of reconnects.
pub trait Entropy: Send + Sync {
    fn fill(&self, bytes: &mut [u8]);
}

impl<F: Fn(&mut [u8]) + Send + Sync> Entropy for F {
    fn fill(&self, bytes: &mut [u8]) {
        self(bytes);
    }
}

/// What all links and the listener of one node share.
///
/// *Shape*: `incarnation` is random per process start.
pub struct Endpoint {
    pub(crate) ring: KeyRing,
    pub(crate) incarnation: u64,
    pub(crate) settings: Settings,
    entropy: Box<dyn Entropy>,
    epoch: AtomicU64,
    epoch_floor: AtomicU64,
}

impl Endpoint {
    /// *Errors*: settings that contradict themselves.
    pub fn new(
        ring: KeyRing,
        incarnation: u64,
        settings: Settings,
        entropy: impl Entropy + 'static,
    ) -> Result<Arc<Self>, Error> {
        settings.validate()?;
        let (epoch, epoch_floor) = (AtomicU64::new(0), AtomicU64::new(0));
        Ok(Arc::new(Self { ring, incarnation, settings, entropy: Box::new(entropy), epoch, epoch_floor }))
    }

    /// Id of this node.
    pub const fn own(&self) -> u32 {
        self.ring.own()
    }

    pub const fn ring(&self) -> &KeyRing {
        &self.ring
    }

    /// The epoch that frames carry from now on.
    pub fn set_epoch(&self, epoch: u64) {
        self.epoch.store(epoch, Ordering::Relaxed);
    }

    /// Frames that carry an earlier epoch are refused from now on. Raising it cuts off every peer that has not learnt
    /// the epoch by other means: for revoked keys, not for ordinary topology changes.
    pub fn set_epoch_floor(&self, epoch: u64) {
        self.epoch_floor.store(epoch, Ordering::Relaxed);
    }

    pub(crate) fn epoch(&self) -> u64 {
        self.epoch.load(Ordering::Relaxed)
    }

    pub(crate) fn epoch_floor(&self) -> u64 {
        self.epoch_floor.load(Ordering::Relaxed)
    }

    pub(crate) const fn party(&self) -> Party {
        Party { node: self.ring.own(), incarnation: self.incarnation }
    }

    pub(crate) fn random<const N: usize>(&self) -> [u8; N] {
        let mut bytes = [0; N];
        self.entropy.fill(&mut bytes);
        bytes
    }
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Endpoint")
            .field("own", &self.own())
            .field("incarnation", &self.incarnation)
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
}
