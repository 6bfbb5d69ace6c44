//! The primitive notations of the native protocol: big-endian numbers, strings, lists and maps with length prefixes.

use crate::error::Error;

/// Reads notations off the front of a body; every length is checked against what is left.
#[derive(Debug)]
pub(crate) struct Reader<'a> {
    rest: &'a [u8],
    body_bytes: usize,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(body: &'a [u8]) -> Self {
        Self { rest: body, body_bytes: body.len() }
    }

    /// Offset of the next byte in the body.
    pub(crate) fn at(&self) -> usize {
        self.body_bytes - self.rest.len()
    }

    /// Bytes not read yet.
    pub(crate) fn left(&self) -> usize {
        self.rest.len()
    }

    fn take(&mut self, count: usize, what: &'static str) -> Result<&'a [u8], Error> {
        match self.rest.split_at_checked(count) {
            Some((head, rest)) => {
                self.rest = rest;
                Ok(head)
            }
            None => Err(Error::Decode { what, at: self.at() }),
        }
    }

    fn array<const N: usize>(&mut self, what: &'static str) -> Result<[u8; N], Error> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N, what)?);
        Ok(array)
    }

    pub(crate) fn u8(&mut self, what: &'static str) -> Result<u8, Error> {
        self.array::<1>(what).map(|[byte]| byte)
    }

    pub(crate) fn u16(&mut self, what: &'static str) -> Result<u16, Error> {
        self.array(what).map(u16::from_be_bytes)
    }

    pub(crate) fn i32(&mut self, what: &'static str) -> Result<i32, Error> {
        self.array(what).map(i32::from_be_bytes)
    }

    /// A count written as an int; negative or larger than the bytes left is refused, so it may size a vector.
    pub(crate) fn count(&mut self, what: &'static str) -> Result<usize, Error> {
        let at = self.at();
        let count = self.i32(what)?;
        usize::try_from(count).ok().filter(|count| *count <= self.left()).ok_or(Error::Decode { what, at })
    }

    pub(crate) fn string(&mut self, what: &'static str) -> Result<&'a str, Error> {
        let at = self.at();
        let raw = self.short_bytes(what)?;
        std::str::from_utf8(raw).map_err(|_| Error::Decode { what, at })
    }

    pub(crate) fn short_bytes(&mut self, what: &'static str) -> Result<&'a [u8], Error> {
        let length = self.u16(what)?;
        self.take(usize::from(length), what)
    }

    /// An int length and as many bytes; a negative length is null.
    pub(crate) fn bytes(&mut self, what: &'static str) -> Result<Option<&'a [u8]>, Error> {
        let length = self.i32(what)?;
        usize::try_from(length).ok().map(|length| self.take(length, what)).transpose()
    }

    pub(crate) fn string_list(&mut self, what: &'static str) -> Result<Vec<String>, Error> {
        let count = self.u16(what)?;
        (0..count).map(|_| self.string(what).map(str::to_owned)).collect()
    }
}

/// Appends a string with a short length.
///
/// *Errors*: [`Error::TooLong`] beyond 65,535 bytes.
pub(crate) fn put_string(out: &mut Vec<u8>, string: &str) -> Result<(), Error> {
    put_short_bytes(out, string.as_bytes())
}

/// Appends bytes with a short length.
pub(crate) fn put_short_bytes(out: &mut Vec<u8>, bytes: &[u8]) -> Result<(), Error> {
    let length = short_length(bytes.len(), "short string")?;
    out.extend_from_slice(&length.to_be_bytes());
    out.extend_from_slice(bytes);
    Ok(())
}

/// Appends bytes with an int length.
pub(crate) fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) -> Result<(), Error> {
    let max = i32::MAX as usize;
    let length = i32::try_from(bytes.len()).map_err(|_| Error::TooLong { what: "value", length: bytes.len(), max })?;
    out.extend_from_slice(&length.to_be_bytes());
    out.extend_from_slice(bytes);
    Ok(())
}

/// Appends a value: its bytes, or length -1 for null.
pub(crate) fn put_value(out: &mut Vec<u8>, value: Option<&[u8]>) -> Result<(), Error> {
    match value {
        Some(bytes) => put_bytes(out, bytes),
        None => {
            out.extend_from_slice(&(-1i32).to_be_bytes());
            Ok(())
        }
    }
}

/// A count or length that must fit in two bytes.
pub(crate) fn short_length(length: usize, what: &'static str) -> Result<u16, Error> {
    u16::try_from(length).map_err(|_| Error::TooLong { what, length, max: usize::from(u16::MAX) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_length_beyond_the_body_is_refused_with_its_place() {
        let mut reader = Reader::new(&[0, 9, b'a']);
        assert!(matches!(reader.string("name"), Err(Error::Decode { what: "name", .. })));
    }

    #[test]
    fn a_count_larger_than_the_rest_is_refused() {
        let mut reader = Reader::new(&[0x7f, 0xff, 0xff, 0xff, 1]);
        assert!(matches!(reader.count("rows"), Err(Error::Decode { what: "rows", at: 0 })));
    }

    #[test]
    fn text_that_is_not_utf8_is_refused() {
        assert!(Reader::new(&[0, 1, 0xff]).string("name").is_err());
    }

    #[test]
    fn a_string_of_65536_bytes_does_not_fit() {
        let long = "x".repeat(65_536);
        assert!(matches!(put_string(&mut Vec::new(), &long), Err(Error::TooLong { length: 65_536, .. })));
    }

    proptest! {
        #[test]
        fn law_value_survives_a_round_trip(value: Option<Vec<u8>>) {
            let mut out = Vec::new();
            put_value(&mut out, value.as_deref()).expect("short enough");
            let mut reader = Reader::new(&out);
            prop_assert_eq!(reader.bytes("value").expect("well formed"), value.as_deref());
            prop_assert_eq!(reader.left(), 0);
        }
    }
}
