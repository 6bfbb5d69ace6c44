use std::ops::RangeInclusive;
use std::time::Duration;

use auth::frame::{HEADER_LEN, TAG_LEN};

use crate::Error;

/// Limits and times of the peer port.
///
/// *Units*: bytes where a name ends in `_max` unless it counts connections.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Bytes towards one peer, waiting or being written, beyond which new work is refused.
    pub queue_max: usize,
    /// Longest frame sent or taken; also the bound for work that must not be refused.
    pub frame_max: usize,
    /// Connections that have not proved a key yet; further ones are closed at once.
    pub unauthenticated_max: usize,
    pub connect_timeout: Duration,
    pub handshake_timeout: Duration,
    /// How long one write may wait for a peer that does not read.
    pub write_timeout: Duration,
    /// First and longest pause between attempts to connect.
    pub backoff: RangeInclusive<Duration>,
    /// Wire versions this build speaks; 0 is none.
    pub wire: RangeInclusive<u16>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            queue_max: 4 << 20,
            frame_max: 16 << 20,
            unauthenticated_max: 64,
            connect_timeout: Duration::from_secs(2),
            handshake_timeout: Duration::from_secs(5),
            write_timeout: Duration::from_secs(10),
            backoff: Duration::from_millis(50)..=Duration::from_secs(2),
            wire: 1..=1,
        }
    }
}

impl Settings {
    /// Longest payload that fits a frame.
    pub(crate) const fn payload_max(&self) -> usize {
        self.frame_max.saturating_sub(HEADER_LEN + TAG_LEN)
    }

    pub(crate) fn validate(&self) -> Result<(), Error> {
        let wrong = |text: String| Err(Error::Settings(text));
        if u32::try_from(self.frame_max).is_err() {
            return wrong(format!(
                "frame_max = {}: the longest frame the format allows is {}",
                self.frame_max,
                u32::MAX
            ));
        }
        if self.queue_max == 0 || self.queue_max > self.payload_max() {
            let (queue, most) = (self.queue_max, self.payload_max());
            return wrong(format!("queue_max = {queue}: must be at least 1 and fit one frame, at most {most}"));
        }
        if self.unauthenticated_max == 0 {
            return wrong("unauthenticated_max = 0: no peer could ever connect; use 1 or more".to_owned());
        }
        if self.backoff.is_empty() || self.backoff.start().is_zero() {
            return wrong(format!("backoff {:?}: must begin above 0 and not end before it begins", self.backoff));
        }
        if self.wire.is_empty() || *self.wire.start() == 0 {
            return wrong(format!("wire versions {:?}: must begin at 1 or above and not be empty", self.wire));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(change: impl FnOnce(&mut Settings)) -> String {
        let mut settings = Settings::default();
        change(&mut settings);
        settings.validate().unwrap_err().to_string()
    }

    #[test]
    fn defaults_are_valid() {
        assert!(Settings::default().validate().is_ok());
    }

    #[test]
    fn queue_must_fit_one_frame() {
        let text = refused(|s| s.queue_max = s.frame_max);
        assert!(text.starts_with("[peer_port] queue_max = 16777216"), "{text}");
        assert!(refused(|s| s.frame_max = 10).contains("queue_max"));
    }

    #[test]
    fn senseless_limits_are_refused() {
        assert!(refused(|s| s.unauthenticated_max = 0).contains("unauthenticated_max"));
        assert!(refused(|s| s.backoff = Duration::ZERO..=Duration::ZERO).contains("backoff"));
        assert!(refused(|s| s.wire = 0..=1).contains("wire"));
        assert!(refused(|s| s.frame_max = usize::MAX).contains("frame_max"));
    }
}
