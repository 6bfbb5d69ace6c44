//! Statements from a text, a file or standard input, run as they come.

use std::fs::File;
use std::io::{Cursor, Read};
use std::path::Path;

use crate::error::Error;
use crate::escape::clean;
use crate::shell::{Outcome, Shell};
use crate::splitter::Splitter;

/// Bytes read at once.
const PIECE: usize = 64 << 10;

/// Where statements come from.
pub(crate) struct Source {
    name: Option<String>,
    reader: Box<dyn Read + Send>,
    /// The bytes of a character whose end was not read yet.
    rest: Vec<u8>,
}

impl Source {
    /// A text of the command line.
    pub(crate) fn text(text: String) -> Self {
        Self { name: None, reader: Box::new(Cursor::new(text)), rest: Vec::new() }
    }

    /// A file.
    ///
    /// *Errors*: [`Error::Usage`] if it cannot be opened.
    pub(crate) fn file(path: &Path) -> Result<Self, Error> {
        let name = path.display().to_string();
        let file = File::open(path).map_err(|error| Error::Usage(format!("{name}: {error}")))?;
        Ok(Self { name: Some(name), reader: Box::new(file), rest: Vec::new() })
    }

    /// Standard input.
    pub(crate) fn standard_input() -> Self {
        Self { name: Some("stdin".to_owned()), reader: Box::new(std::io::stdin()), rest: Vec::new() }
    }

    /// The next piece; empty at the end. Waits on a thread of its own, so that the connection lives on.
    async fn next(self) -> Result<(Self, String), String> {
        let name = self.name.clone().unwrap_or_else(|| "text".to_owned());
        let read = tokio::task::spawn_blocking(move || {
            let mut source = self;
            source.read().map(|piece| (source, piece))
        });
        let outcome = read.await.map_err(|error| format!("{name}: {error}"))?;
        outcome.map_err(|reason| format!("{name}: {reason}"))
    }

    fn read(&mut self) -> Result<String, String> {
        loop {
            let mut piece = vec![0; PIECE];
            let count = match self.reader.read(&mut piece) {
                Ok(count) => count,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error.to_string()),
            };
            if count == 0 && !self.rest.is_empty() {
                return Err("not UTF-8 at its end".to_owned());
            }
            self.rest.extend_from_slice(&piece[..count]);
            let text = self.decode()?;
            if count == 0 || !text.is_empty() {
                return Ok(text);
            }
        }
    }

    /// Takes all whole characters.
    fn decode(&mut self) -> Result<String, String> {
        let bytes = std::mem::take(&mut self.rest);
        String::from_utf8(bytes).or_else(|error| {
            let (reason, valid) = (error.utf8_error(), error.utf8_error().valid_up_to());
            if reason.error_len().is_some() {
                return Err("not UTF-8; save it as UTF-8".to_owned());
            }
            let mut bytes = error.into_bytes();
            self.rest = bytes.split_off(valid);
            String::from_utf8(bytes).map_err(|error| error.to_string())
        })
    }
}

/// Runs all statements of a source, up to the first that fails unless the shell is to go on.
pub(crate) async fn run(shell: &mut Shell, mut source: Source) -> Outcome {
    let name = source.name.clone();
    let mut splitter = Splitter::default();
    let mut worst = Outcome::Done;
    loop {
        let piece = match source.next().await {
            Ok((next, piece)) => {
                source = next;
                piece
            }
            Err(reason) => return shell.fail(&format!("error: {}\n", clean(&reason))),
        };
        let split = if piece.is_empty() { splitter.finish() } else { splitter.push(&piece) };
        while let Some(statement) = splitter.pop() {
            let outcome = shell.run(&statement, name.as_deref()).await;
            if !shell.goes_on(outcome) {
                return outcome;
            }
            if outcome == Outcome::Failed {
                worst = outcome;
            }
        }
        if let Err(error) = split {
            let place = name.as_ref().map_or_else(String::new, |name| format!("{name}: "));
            return shell.fail(&clean(&format!("error: {place}{error}\n")));
        }
        if piece.is_empty() {
            return worst;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives one byte at a time.
    struct Slow(Cursor<Vec<u8>>);

    impl Read for Slow {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            self.0.read(&mut buffer[..1])
        }
    }

    fn slow(bytes: &[u8]) -> Source {
        Source { name: None, reader: Box::new(Slow(Cursor::new(bytes.to_vec()))), rest: Vec::new() }
    }

    #[test]
    fn characters_cut_in_the_middle_are_joined() {
        let mut source = slow("aé銀".as_bytes());
        let pieces: Vec<String> = (0..4).map(|_| source.read().expect("UTF-8")).collect();
        assert_eq!(pieces, ["a", "é", "銀", ""]);
    }

    #[test]
    fn bytes_that_are_no_text_are_refused() {
        let mut source = slow(b"a\xff");
        assert_eq!(source.read().as_deref(), Ok("a"));
        assert!(source.read().is_err());
        let mut source = slow(&"é".as_bytes()[..1]);
        assert!(source.read().is_err());
    }
}
