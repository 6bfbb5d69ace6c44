//! Cuts frames off a byte stream: magic and length are judged before anything is buffered for them.

use auth::frame::{HEADER_LEN, MAGIC, claimed_len};

/// Room for reads when no frame needs more, in bytes.
const ROOM: usize = 128 << 10;
/// Less room than this at the end of the buffer is not worth a read.
const READ_MIN: usize = 16 << 10;

/// Holds the bytes of one connection that are not yet whole frames.
///
/// *Shape*: read into [`FrameCutter::space`], report with [`FrameCutter::filled`], then take
/// [`FrameCutter::next_frame`] until it has none. Never holds more than one frame of the limit plus the room for reads.
#[derive(Debug)]
pub struct FrameCutter {
    /// Always initialised to its full length; bytes `start..end` are waiting.
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    frame_max: usize,
}

/// Why a stream cannot be cut any further; it must be closed, since the next frame's beginning is lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum CutError {
    #[error("bytes that are no peer frame")]
    BadMagic,
    #[error("frame claims {claimed} bytes, the limit is {max} (frame_max)")]
    TooLong { claimed: u64, max: usize },
}

impl FrameCutter {
    /// *Units*: `frame_max` in bytes, header and tag included.
    pub fn new(frame_max: usize) -> Self {
        Self { buffer: vec![0; ROOM], start: 0, end: 0, frame_max }
    }

    /// Where the next bytes of the stream go; never empty.
    pub fn space(&mut self) -> &mut [u8] {
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
            if self.buffer.len() > ROOM {
                // A large frame is behind us: give its memory back.
                self.buffer.truncate(ROOM);
                self.buffer.shrink_to_fit();
            }
        }
        let wanted = self.wanted();
        // At most one copy for each frame that begins in the buffer: afterwards `start` is 0.
        if self.start > 0 && (self.buffer.len() - self.start < wanted || self.buffer.len() - self.end < READ_MIN) {
            self.buffer.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.start = 0;
        }
        if self.end == self.buffer.len() {
            // Grows as bytes arrive, not as a header promises.
            let grown = (self.buffer.len() * 2).min(wanted).max(self.end + HEADER_LEN);
            self.buffer.resize(grown, 0);
        }
        &mut self.buffer[self.end..]
    }

    /// Bytes that the frame being received needs from `start` on. Its length has passed the limit.
    fn wanted(&self) -> usize {
        match self.waiting().first_chunk() {
            Some(header) => usize::try_from(claimed_len(header)).unwrap_or(self.frame_max).min(self.frame_max),
            None => HEADER_LEN,
        }
    }

    /// Tells that the first `count` bytes of [`FrameCutter::space`] were written.
    pub fn filled(&mut self, count: usize) {
        self.end = (self.end + count).min(self.buffer.len());
    }

    /// The next whole frame, unchecked but for magic and length.
    pub fn next_frame(&mut self) -> Result<Option<&[u8]>, CutError> {
        let waiting = &self.buffer[self.start..self.end];
        let seen = waiting.len().min(MAGIC.len());
        if waiting[..seen] != MAGIC[..seen] {
            return Err(CutError::BadMagic);
        }
        let Some(header) = waiting.first_chunk::<HEADER_LEN>() else { return Ok(None) };
        let claimed = claimed_len(header);
        let len = match usize::try_from(claimed) {
            Ok(len) if len <= self.frame_max => len,
            _ => return Err(CutError::TooLong { claimed, max: self.frame_max }),
        };
        if waiting.len() < len {
            return Ok(None);
        }
        let start = self.start;
        self.start += len;
        Ok(Some(&self.buffer[start..start + len]))
    }

    fn waiting(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    /// Whether the stream stands between two frames.
    pub const fn is_empty(&self) -> bool {
        self.start == self.end
    }
}

#[cfg(test)]
mod tests {
    use auth::frame::TAG_LEN;
    use proptest::prelude::*;

    use super::*;

    fn frame(payload: &[u8]) -> Vec<u8> {
        let mut frame = vec![7; HEADER_LEN];
        frame[..4].copy_from_slice(&MAGIC);
        frame[HEADER_LEN - 4..].copy_from_slice(&(payload.len() as u32).to_be_bytes());
        frame.extend_from_slice(payload);
        frame.extend_from_slice(&[8; TAG_LEN]);
        frame
    }

    /// Feeds `stream` in pieces of the given sizes, repeated, and collects what comes out.
    fn cut(stream: &[u8], sizes: &[usize], frame_max: usize) -> (Vec<Vec<u8>>, Option<CutError>) {
        let mut cutter = FrameCutter::new(frame_max);
        let (mut frames, mut rest, mut sizes) = (Vec::new(), stream, sizes.iter().cycle());
        while !rest.is_empty() {
            let space = cutter.space();
            let count = rest.len().min(*sizes.next().unwrap()).min(space.len());
            space[..count].copy_from_slice(&rest[..count]);
            rest = &rest[count..];
            cutter.filled(count);
            loop {
                match cutter.next_frame() {
                    Ok(Some(frame)) => frames.push(frame.to_vec()),
                    Ok(None) => break,
                    Err(error) => return (frames, Some(error)),
                }
            }
        }
        (frames, None)
    }

    #[test]
    fn frame_beyond_the_limit_is_refused_at_its_header() {
        let long = frame(&[0; 100]);
        let max = long.len() - 1;
        let (frames, error) = cut(&long[..HEADER_LEN], &[HEADER_LEN], max);
        assert_eq!(frames.len(), 0);
        assert_eq!(error, Some(CutError::TooLong { claimed: long.len() as u64, max }));
        assert_eq!(cut(&long, &[usize::MAX], long.len()), (vec![long.clone()], None));
    }

    #[test]
    fn header_that_promises_much_reserves_little() {
        let mut promise = frame(&[]);
        promise.truncate(HEADER_LEN);
        promise[HEADER_LEN - 4..].copy_from_slice(&(15u32 << 20).to_be_bytes());
        let mut cutter = FrameCutter::new(16 << 20);
        cutter.space()[..HEADER_LEN].copy_from_slice(&promise);
        cutter.filled(HEADER_LEN);
        assert_eq!(cutter.next_frame(), Ok(None));
        assert!(cutter.space().len() <= ROOM);
    }

    #[test]
    fn memory_of_a_large_frame_is_given_back() {
        let large = frame(&vec![1; 1 << 20]);
        let mut cutter = FrameCutter::new(16 << 20);
        let mut rest = &large[..];
        while !rest.is_empty() {
            let space = cutter.space();
            let count = space.len().min(rest.len());
            space[..count].copy_from_slice(&rest[..count]);
            cutter.filled(count);
            rest = &rest[count..];
        }
        assert_eq!(cutter.next_frame().unwrap(), Some(&large[..]));
        assert!(cutter.is_empty());
        assert_eq!(cutter.space().len(), ROOM);
    }

    #[test]
    fn foreign_protocol_is_refused_at_its_first_byte() {
        assert_eq!(cut(b"G", &[1], 1000).1, Some(CutError::BadMagic));
    }

    proptest! {
        #[test]
        fn chunked_equals_one_shot(
            lengths in proptest::collection::vec(0..3000usize, 0..20),
            sizes in proptest::collection::vec(1..5000usize, 1..8),
            garbage in proptest::collection::vec(any::<u8>(), 0..80),
        ) {
            let frames: Vec<_> = lengths.iter().map(|len| frame(&vec![*len as u8; *len])).collect();
            let stream = [frames.concat(), garbage].concat();
            let whole = cut(&stream, &[usize::MAX], 2900);
            prop_assert_eq!(&cut(&stream, &sizes, 2900), &whole);
            let fit = frames.iter().take_while(|frame| frame.len() <= 2900).count();
            prop_assert_eq!(&whole.0[..fit], &frames[..fit]);
        }

        #[test]
        fn frames_larger_than_the_room_are_cut(len in ROOM..3 * ROOM, sizes in proptest::collection::vec(1..ROOM, 1..5)) {
            let frames = vec![frame(b"before"), frame(&vec![3; len]), frame(b"after")];
            prop_assert_eq!(cut(&frames.concat(), &sizes, 4 * ROOM), (frames, None));
        }
    }
}
