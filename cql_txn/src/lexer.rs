//! Text to tokens, one at a time and without copying: a token is a kind and a span.
//!
//! *Source*: [CQL 1.1].

use crate::error::{At, Error};

/// What a token is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// Letters, digits and `_`, from a letter: a keyword or a name.
    Word,
    /// `"…"`
    QuotedName,
    /// `'…'`
    Text,
    /// `$$…$$`
    DollarText,
    /// Digits, perhaps after a minus.
    Integer,
    /// With a point or an exponent.
    Float,
    /// `0x…`
    Blob,
    /// 8-4-4-4-12 hexadecimal digits.
    Uuid,
    /// An operator or a mark.
    Symbol(Symbol),
    /// The end of the text.
    End,
}

macro_rules! symbols {
    ($($name:ident $text:literal)*) => {
        /// Operators and punctuation.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub(crate) enum Symbol { $($name),* }

        impl Symbol {
            /// Longer ones first, so that the first match is the right one.
            const ALL: &'static [Self] = &[$(Self::$name),*];

            pub(crate) fn text(self) -> &'static str {
                match self { $(Self::$name => $text),* }
            }
        }
    };
}

symbols! {
    Le "<=" Ge ">=" Ne "!=" AddAssign "+=" SubtractAssign "-="
    Open "(" Close ")" OpenSquare "[" CloseSquare "]" OpenCurly "{" CloseCurly "}"
    Comma "," Semicolon ";" Dot "." Colon ":" Question "?" Eq "=" Lt "<" Gt ">"
    Plus "+" Minus "-" Star "*" Slash "/" Percent "%"
}

/// A piece of the text.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Token {
    pub(crate) kind: Kind,
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) at: At,
}

/// A place in a text from which tokens are cut.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lexer<'a> {
    text: &'a str,
    position: usize,
    line: u32,
    line_start: usize,
}

impl<'a> Lexer<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        Self { text, position: 0, line: 1, line_start: 0 }
    }

    /// The characters of `token`.
    pub(crate) fn slice(&self, token: Token) -> &'a str {
        &self.text[token.start..token.end]
    }

    /// Cuts the next token; at the end it answers [`Kind::End`] again and again.
    pub(crate) fn next_token(&mut self) -> Result<Token, Error> {
        self.skip_blanks()?;
        let (start, at) = (self.position, self.here());
        let kind = match self.byte(0) {
            None => Kind::End,
            Some(b'"') => self.quoted(b'"', Kind::QuotedName)?,
            Some(b'\'') => self.quoted(b'\'', Kind::Text)?,
            Some(b'$') => self.dollar_text()?,
            Some(first) if first.is_ascii_hexdigit() && self.is_uuid() => {
                self.position += UUID_LENGTH;
                Kind::Uuid
            }
            Some(first) if first.is_ascii_alphabetic() => {
                self.skip_while(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
                Kind::Word
            }
            Some(b'0') if matches!(self.byte(1), Some(b'x' | b'X')) => self.blob()?,
            Some(first) if first.is_ascii_digit() => self.number()?,
            Some(b'-') if self.byte(1).is_some_and(|byte| byte.is_ascii_digit()) => self.number()?,
            Some(_) => self.symbol()?,
        };
        Ok(Token { kind, start, end: self.position, at })
    }

    fn here(&self) -> At {
        let column = (self.position - self.line_start + 1).try_into().unwrap_or(u32::MAX);
        At { line: self.line, column }
    }

    fn byte(&self, ahead: usize) -> Option<u8> {
        self.text.as_bytes().get(self.position + ahead).copied()
    }

    fn rest(&self) -> &'a [u8] {
        &self.text.as_bytes()[self.position..]
    }

    fn skip_while(&mut self, wanted: impl Fn(u8) -> bool) {
        self.position += self.rest().iter().take_while(|byte| wanted(**byte)).count();
    }

    /// Moves on by `count` bytes, counting the lines in them.
    fn pass(&mut self, count: usize) {
        for (offset, _) in self.rest()[..count].iter().enumerate().filter(|(_, byte)| **byte == b'\n') {
            self.line = self.line.saturating_add(1);
            self.line_start = self.position + offset + 1;
        }
        self.position += count;
    }

    fn skip_blanks(&mut self) -> Result<(), Error> {
        loop {
            let rest = self.rest();
            match rest {
                [b' ' | b'\t' | b'\r' | b'\n', ..] => {
                    self.pass(rest.iter().take_while(|byte| matches!(byte, b' ' | b'\t' | b'\r' | b'\n')).count());
                }
                [b'-', b'-', ..] | [b'/', b'/', ..] => self.skip_while(|byte| byte != b'\n'),
                [b'/', b'*', ..] => {
                    let end = rest[2..].windows(2).position(|pair| pair == b"*/");
                    let Some(end) = end else {
                        return Err(Error::syntax(self.here(), "this comment is not closed; end it with */"));
                    };
                    self.pass(end + 4);
                }
                _ => return Ok(()),
            }
        }
    }

    /// A run between `quote`s, where a doubled one stands for itself.
    fn quoted(&mut self, quote: u8, kind: Kind) -> Result<Kind, Error> {
        let rest = self.rest();
        let mut length = 1;
        loop {
            let Some(found) = rest[length..].iter().position(|byte| *byte == quote) else {
                let what = if kind == Kind::Text { "string" } else { "quoted name" };
                let quote = char::from(quote);
                return Err(Error::syntax(self.here(), format!("this {what} is not closed; end it with {quote}")));
            };
            length += found + 1;
            if rest.get(length) != Some(&quote) {
                self.pass(length);
                return Ok(kind);
            }
            length += 1;
        }
    }

    fn dollar_text(&mut self) -> Result<Kind, Error> {
        let end = self.rest().strip_prefix(b"$$").map(|rest| rest.windows(2).position(|pair| pair == b"$$"));
        match end {
            Some(Some(end)) => {
                self.pass(end + 4);
                Ok(Kind::DollarText)
            }
            Some(None) => Err(Error::syntax(self.here(), "this string is not closed; end it with $$")),
            None => Err(Error::syntax(self.here(), "unexpected character '$'")),
        }
    }

    fn is_uuid(&self) -> bool {
        let rest = self.rest();
        rest.get(UUID_LENGTH).is_none_or(|byte| !byte.is_ascii_alphanumeric())
            && rest.get(8) == Some(&b'-')
            && rest.len() >= UUID_LENGTH
            && rest[..UUID_LENGTH].iter().enumerate().all(|(at, byte)| match at {
                8 | 13 | 18 | 23 => *byte == b'-',
                _ => byte.is_ascii_hexdigit(),
            })
    }

    fn blob(&mut self) -> Result<Kind, Error> {
        self.position += 2;
        self.skip_while(|byte| byte.is_ascii_hexdigit());
        self.no_letter_follows(Kind::Blob)
    }

    fn number(&mut self) -> Result<Kind, Error> {
        self.position += 1;
        self.skip_while(|byte| byte.is_ascii_digit());
        let mut kind = Kind::Integer;
        if self.byte(0) == Some(b'.') && self.byte(1).is_some_and(|byte| byte.is_ascii_digit()) {
            kind = Kind::Float;
            self.position += 1;
            self.skip_while(|byte| byte.is_ascii_digit());
        }
        if matches!(self.byte(0), Some(b'e' | b'E')) {
            let sign = usize::from(matches!(self.byte(1), Some(b'+' | b'-')));
            if self.byte(1 + sign).is_some_and(|byte| byte.is_ascii_digit()) {
                kind = Kind::Float;
                self.position += 1 + sign;
                self.skip_while(|byte| byte.is_ascii_digit());
            }
        }
        self.no_letter_follows(kind)
    }

    fn no_letter_follows(&self, kind: Kind) -> Result<Kind, Error> {
        match self.byte(0) {
            Some(byte) if byte.is_ascii_alphanumeric() || byte == b'_' => {
                let what = if kind == Kind::Blob { "hexadecimal" } else { "decimal" };
                Err(Error::syntax(self.here(), format!("'{}' is not a {what} digit", char::from(byte))))
            }
            _ => Ok(kind),
        }
    }

    fn symbol(&mut self) -> Result<Kind, Error> {
        let rest = &self.text[self.position..];
        match Symbol::ALL.iter().find(|symbol| rest.starts_with(symbol.text())) {
            Some(symbol) => {
                self.position += symbol.text().len();
                Ok(Kind::Symbol(*symbol))
            }
            None => {
                let found = rest.chars().next().unwrap_or_default();
                Err(Error::syntax(self.here(), format!("unexpected character {found:?}")))
            }
        }
    }
}

const UUID_LENGTH: usize = 36;

#[cfg(test)]
mod tests {
    use super::*;
    use Kind::{Blob, DollarText, Float, Integer, QuotedName, Text, Uuid, Word};

    fn kinds(text: &str) -> Result<Vec<Kind>, Error> {
        let mut lexer = Lexer::new(text);
        let mut kinds = Vec::new();
        loop {
            match lexer.next_token()?.kind {
                Kind::End => return Ok(kinds),
                kind => kinds.push(kind),
            }
        }
    }

    #[test]
    fn a_minus_before_a_digit_belongs_to_the_number() {
        assert_eq!(kinds("x -3").unwrap(), [Word, Integer]);
        assert_eq!(kinds("x - 3").unwrap(), [Word, Kind::Symbol(Symbol::Minus), Integer]);
        assert_eq!(kinds("x -= 3").unwrap(), [Word, Kind::Symbol(Symbol::SubtractAssign), Integer]);
    }

    #[test]
    fn every_sort_of_constant_is_told_apart() {
        let text = "'a''b' $$x'y$$ \"A \"\"b\" 0xCAFE 1.5e-3 2e4 7 123e4567-e89b-12d3-a456-426614174000";
        assert_eq!(kinds(text).unwrap(), [Text, DollarText, QuotedName, Blob, Float, Float, Integer, Uuid]);
    }

    #[test]
    fn comments_are_blanks_and_lines_are_counted() {
        let mut lexer = Lexer::new("-- one\n/* two\n */ // three\n  'a\nb' end");
        assert_eq!(lexer.next_token().unwrap().at, At { line: 4, column: 3 });
        assert_eq!(lexer.next_token().unwrap().at, At { line: 5, column: 4 });
    }

    #[test]
    fn broken_tokens_are_errors_with_a_place() {
        for text in ["'open", "\"open", "$$open", "/* open", "12ab", "0xfg", "a \0 b", "$", "é"] {
            assert!(kinds(text).unwrap_err().line() == 1, "{text:?}");
        }
    }
}
