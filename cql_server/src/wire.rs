//! The notations of the native protocol: how numbers, strings and lists are written.
//!
//! Reading borrows from the input and never allocates for a length the input only claims to have. *Source*: [CQL 4.1].

use crate::error::Error;
use cql_txn::Value;

/// A cursor over the body of one message.
#[derive(Clone, Debug)]
pub(crate) struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    pub(crate) fn new(body: &'a [u8]) -> Self {
        Self { rest: body }
    }

    pub(crate) fn rest(&self) -> &'a [u8] {
        self.rest
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    pub(crate) fn take(&mut self, len: usize, what: &str) -> Result<&'a [u8], Error> {
        let Some((head, tail)) = self.rest.split_at_checked(len) else {
            let left = self.rest.len();
            return Err(Error::Protocol(format!("{what}: {len} bytes announced, {left} bytes left in the message")));
        };
        self.rest = tail;
        Ok(head)
    }

    fn array<const N: usize>(&mut self, what: &str) -> Result<[u8; N], Error> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N, what)?);
        Ok(array)
    }

    pub(crate) fn u8(&mut self, what: &str) -> Result<u8, Error> {
        Ok(self.array::<1>(what)?[0])
    }

    pub(crate) fn u16(&mut self, what: &str) -> Result<u16, Error> {
        Ok(u16::from_be_bytes(self.array(what)?))
    }

    pub(crate) fn i32(&mut self, what: &str) -> Result<i32, Error> {
        Ok(i32::from_be_bytes(self.array(what)?))
    }

    pub(crate) fn i64(&mut self, what: &str) -> Result<i64, Error> {
        Ok(i64::from_be_bytes(self.array(what)?))
    }

    fn text(bytes: &'a [u8], what: &str) -> Result<&'a str, Error> {
        std::str::from_utf8(bytes).map_err(|bad| Error::Protocol(format!("{what}: not UTF-8: {bad}")))
    }

    pub(crate) fn string(&mut self, what: &str) -> Result<&'a str, Error> {
        let len = self.u16(what)?;
        Self::text(self.take(len.into(), what)?, what)
    }

    pub(crate) fn long_string(&mut self, what: &str) -> Result<&'a str, Error> {
        let len = self.i32(what)?;
        let len = usize::try_from(len).map_err(|_| Error::Protocol(format!("{what}: negative length {len}")))?;
        Self::text(self.take(len, what)?, what)
    }

    pub(crate) fn short_bytes(&mut self, what: &str) -> Result<&'a [u8], Error> {
        let len = self.u16(what)?;
        self.take(len.into(), what)
    }

    /// Bytes with a signed length; any negative length is null.
    pub(crate) fn bytes(&mut self, what: &str) -> Result<Option<&'a [u8]>, Error> {
        match usize::try_from(self.i32(what)?) {
            Ok(len) => self.take(len, what).map(Some),
            Err(_) => Ok(None),
        }
    }

    /// A bound value: -1 is null, -2 is "not set", anything below is a mistake.
    pub(crate) fn value(&mut self, what: &str) -> Result<Value<'a>, Error> {
        match self.i32(what)? {
            -1 => Ok(Value::Null),
            -2 => Ok(Value::NotSet),
            len => {
                let len = usize::try_from(len)
                    .map_err(|_| Error::Protocol(format!("{what}: length {len}; only -1 and -2 may be negative")))?;
                self.take(len, what).map(Value::Bytes)
            }
        }
    }

    pub(crate) fn string_list(&mut self, what: &str) -> Result<Vec<&'a str>, Error> {
        let count = self.u16(what)?;
        (0..count).map(|_| self.string(what)).collect()
    }

    pub(crate) fn string_map(&mut self, what: &str) -> Result<Vec<(&'a str, &'a str)>, Error> {
        let count = self.u16(what)?;
        (0..count).map(|_| Ok((self.string(what)?, self.string(what)?))).collect()
    }
}

/// As much of `text` as fits `max` bytes without cutting a character.
pub(crate) fn beginning(text: &str, max: usize) -> &str {
    let fits = (0..=max.min(text.len())).rev().find(|end| text.is_char_boundary(*end));
    &text[..fits.unwrap_or(0)]
}

/// Writing the same notations to the end of a buffer.
pub(crate) trait Put {
    fn put_u16(&mut self, value: u16);
    fn put_i32(&mut self, value: i32);
    /// A short string; a longer one is cut at a character, since the notation holds no more.
    fn put_string(&mut self, text: &str);
    fn put_short_bytes(&mut self, bytes: &[u8]);
    fn put_bytes(&mut self, bytes: Option<&[u8]>);
    fn put_string_list<'a>(&mut self, list: impl ExactSizeIterator<Item = &'a str>);
}

impl Put for Vec<u8> {
    fn put_u16(&mut self, value: u16) {
        self.extend_from_slice(&value.to_be_bytes());
    }

    fn put_i32(&mut self, value: i32) {
        self.extend_from_slice(&value.to_be_bytes());
    }

    fn put_string(&mut self, text: &str) {
        let text = beginning(text, usize::from(u16::MAX));
        self.put_u16(text.len() as u16);
        self.extend_from_slice(text.as_bytes());
    }

    fn put_short_bytes(&mut self, bytes: &[u8]) {
        let cut = bytes.len().min(usize::from(u16::MAX));
        self.put_u16(cut as u16);
        self.extend_from_slice(&bytes[..cut]);
    }

    fn put_bytes(&mut self, bytes: Option<&[u8]>) {
        match bytes {
            Some(bytes) => {
                self.put_i32(bytes.len() as i32);
                self.extend_from_slice(bytes);
            }
            None => self.put_i32(-1),
        }
    }

    fn put_string_list<'a>(&mut self, list: impl ExactSizeIterator<Item = &'a str>) {
        let count = list.len().min(usize::from(u16::MAX));
        self.put_u16(count as u16);
        list.take(count).for_each(|text| self.put_string(text));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn lengths_below_minus_two_are_protocol_errors() {
        let value = |len: i32| Reader::new(&len.to_be_bytes()).value("v").map(|given| given == Value::Null);
        assert_eq!(value(-1), Ok(true));
        assert_eq!(value(-2), Ok(false));
        assert!(matches!(value(-3), Err(Error::Protocol(_))));
        assert!(matches!(value(i32::MIN), Err(Error::Protocol(_))));
    }

    #[test]
    fn announced_length_beyond_the_message_is_refused() {
        assert!(Reader::new(&[0, 9, b'a']).string("s").is_err());
        assert!(Reader::new(&[0x7f, 0xff, 0xff, 0xff, b'a']).long_string("s").is_err());
        assert!(Reader::new(&[0xff, 0xff]).string_list("l").is_err());
    }

    #[test]
    fn long_text_is_cut_at_a_character() {
        let mut out = Vec::new();
        out.put_string(&"é".repeat(40_000));
        let text = Reader::new(&out).string("s").expect("valid");
        assert_eq!(text.len(), 65_534);
    }

    proptest! {
        #[test]
        fn strings_and_bytes_round_trip(text in ".{0,40}", bytes in proptest::option::of(any::<Vec<u8>>())) {
            let mut out = Vec::new();
            out.put_string(&text);
            out.put_bytes(bytes.as_deref());
            let mut reader = Reader::new(&out);
            prop_assert_eq!(reader.string("s").expect("string"), text);
            prop_assert_eq!(reader.bytes("b").expect("bytes"), bytes.as_deref());
            prop_assert!(reader.is_empty());
        }

        #[test]
        fn garbage_never_panics(bytes in any::<Vec<u8>>()) {
            let _ = Reader::new(&bytes).string_map("m");
            let _ = Reader::new(&bytes).value("v");
            let _ = Reader::new(&bytes).long_string("t");
        }
    }
}
