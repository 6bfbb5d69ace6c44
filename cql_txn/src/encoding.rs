//! Bytes in and out: the few shapes from which plans, rows, write sets and results are built.
//!
//! A reader never panics and answers `None` on anything it does not expect.

/// Reads from the front of a byte string.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reader<'a>(pub(crate) &'a [u8]);

impl<'a> Reader<'a> {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (head, tail) = self.0.split_at_checked(count)?;
        self.0 = tail;
        Some(head)
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Option<&'a [u8; N]> {
        let (head, tail) = self.0.split_first_chunk()?;
        self.0 = tail;
        Some(head)
    }

    pub(crate) fn u8(&mut self) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }

    pub(crate) fn u16(&mut self) -> Option<u16> {
        self.array().map(|bytes| u16::from_be_bytes(*bytes))
    }

    pub(crate) fn u32(&mut self) -> Option<u32> {
        self.array().map(|bytes| u32::from_be_bytes(*bytes))
    }

    pub(crate) fn u64(&mut self) -> Option<u64> {
        self.array().map(|bytes| u64::from_be_bytes(*bytes))
    }

    /// A count or length: seven bits a byte, lowest first, in its shortest form only.
    pub(crate) fn count(&mut self) -> Option<usize> {
        let mut value = 0u32;
        for shift in [0, 7, 14, 21, 28] {
            let byte = self.u8()?;
            let bits = u32::from(byte & 0x7f);
            if shift == 28 && bits > 0xf || byte == 0 && shift > 0 {
                return None;
            }
            value |= bits << shift;
            if byte & 0x80 == 0 {
                return Some(value as usize);
            }
        }
        None
    }

    /// A count of things of at least `size` bytes each, refused if they cannot all be there.
    pub(crate) fn count_of(&mut self, size: usize) -> Option<usize> {
        self.count().filter(|count| count.saturating_mul(size) <= self.0.len())
    }

    pub(crate) fn bytes(&mut self) -> Option<&'a [u8]> {
        let length = self.count()?;
        self.take(length)
    }

    pub(crate) fn text(&mut self) -> Option<&'a str> {
        std::str::from_utf8(self.bytes()?).ok()
    }

    /// A value that may be null.
    pub(crate) fn nullable(&mut self) -> Option<Option<&'a [u8]>> {
        match self.count()? {
            0 => Some(None),
            length => self.take(length - 1).map(Some),
        }
    }

    /// `value`, if nothing is left over.
    pub(crate) fn end<T>(&self, value: T) -> Option<T> {
        self.is_empty().then_some(value)
    }
}

/// Appends a count or length, at most `u32::MAX`.
pub(crate) fn put_count(out: &mut Vec<u8>, count: usize) {
    let mut rest = u32::try_from(count).expect("statements, rows and values are bounded far below 4 GiB");
    while rest >= 0x80 {
        out.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    out.push(rest as u8);
}

pub(crate) fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put_count(out, bytes.len());
    out.extend_from_slice(bytes);
}

pub(crate) fn put_nullable(out: &mut Vec<u8>, value: Option<&[u8]>) {
    match value {
        None => out.push(0),
        Some(bytes) => {
            put_count(out, bytes.len() + 1);
            out.extend_from_slice(bytes);
        }
    }
}

/// Two hexadecimal digits for each byte.
pub(crate) fn unhex(digits: &str) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16).map(|value| value as u8);
    let (pairs, rest) = digits.as_bytes().as_chunks::<2>();
    if !rest.is_empty() {
        return None;
    }
    pairs.iter().map(|[high, low]| Some(digit(*high)? << 4 | digit(*low)?)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn law_counts_come_back_and_garbage_is_refused_quietly(count: u32, noise: Vec<u8>) {
            let mut out = Vec::new();
            put_count(&mut out, count as usize);
            let mut reader = Reader(&out);
            prop_assert_eq!(reader.count(), Some(count as usize));
            prop_assert!(reader.is_empty());
            let mut reader = Reader(&noise);
            while reader.count().is_some() && !reader.is_empty() {}
        }
    }

    #[test]
    fn a_padded_count_is_refused() {
        assert_eq!(Reader(&[0x80, 0x00]).count(), None);
        assert_eq!(Reader(&[0xff, 0xff, 0xff, 0xff, 0x1f]).count(), None);
    }

    #[test]
    fn null_and_empty_differ() {
        let mut out = Vec::new();
        put_nullable(&mut out, None);
        put_nullable(&mut out, Some(b""));
        let mut reader = Reader(&out);
        assert_eq!(reader.nullable(), Some(None));
        assert_eq!(reader.nullable(), Some(Some(&b""[..])));
    }
}
