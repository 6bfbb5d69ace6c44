//! A value and the peer that provably sent it.

/// A value that came out of a checked frame, with its sender.
///
/// *Shape*: the fields are private and only this crate constructs it, so a function that takes `Verified<T>` cannot be
/// handed an unchecked message. [`Verified::map`] and [`Verified::try_map`] carry the proof from bytes to messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Verified<T> {
    inner: T,
    from: u32,
    epoch: u64,
}

impl<T> Verified<T> {
    pub(crate) const fn new(inner: T, from: u32, epoch: u64) -> Self {
        Self { inner, from, epoch }
    }

    /// The node that sent it.
    pub const fn from(&self) -> u32 {
        self.from
    }

    /// The epoch its sender stood in when it sealed the frame.
    pub const fn epoch(&self) -> u64 {
        self.epoch
    }

    pub const fn get(&self) -> &T {
        &self.inner
    }

    /// Gives up the proof and keeps the value.
    pub fn into_inner(self) -> T {
        self.inner
    }

    /// The same proof over what `change` makes of the value.
    pub fn map<U>(self, change: impl FnOnce(T) -> U) -> Verified<U> {
        Verified { inner: change(self.inner), from: self.from, epoch: self.epoch }
    }

    /// The same proof over what `change` makes of the value, for instance the message its bytes decode to.
    pub fn try_map<U, E>(self, change: impl FnOnce(T) -> Result<U, E>) -> Result<Verified<U>, E> {
        Ok(Verified { inner: change(self.inner)?, from: self.from, epoch: self.epoch })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn try_map_keeps_sender_and_epoch() {
        let text = Verified::new(&b"17"[..], 3, 9);
        let number = text.try_map(|bytes| std::str::from_utf8(bytes).unwrap().parse::<u32>()).unwrap();
        assert_eq!((*number.get(), number.from(), number.epoch()), (17, 3, 9));
    }

    #[test]
    fn try_map_hands_the_error_on() {
        let text = Verified::new("x", 3, 9);
        assert!(text.try_map(str::parse::<u32>).is_err());
    }
}
