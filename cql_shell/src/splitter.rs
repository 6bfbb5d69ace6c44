//! Cuts text into statements as it comes, in pieces of any size.
//!
//! Strings (`'..'`, `$$..$$`), quoted names and comments (`--`, `//`, `/* */`) hide what is in them. A character is looked at
//! once and never ahead, so where a piece ends makes no difference.

use std::collections::VecDeque;

use crate::block::{Shape, WORD_MAX};

/// Longest statement taken, in bytes.
pub(crate) const STATEMENT_MAX: usize = 1 << 20;

/// A place in the text that was fed. *Units*: lines and columns count from one, columns in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) line: usize,
    pub(crate) column: usize,
}

/// One statement, from its first to its last token, without the `;` that ended it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Statement {
    pub(crate) text: String,
    /// Where it begins.
    pub(crate) start: Place,
}

/// Why the text is no row of statements.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum SplitError {
    #[error("{what} that began in line {} is not closed; end it with {end}", .start.line)]
    Open { what: &'static str, end: &'static str, start: Place },
    #[error("the statement that began in line {} is longer than {STATEMENT_MAX} bytes", .start.line)]
    TooLong { start: Place },
}

/// What the last character was part of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Blank,
    Word,
    /// A `-`, `/` or `$` that the next character decides on.
    Half(char),
    LineComment,
    BlockComment {
        star: bool,
    },
    Quoted(char),
    Dollar {
        half: bool,
    },
}

/// The text since the last statement, and what it is so far.
#[derive(Debug)]
pub(crate) struct Splitter {
    /// From the first token of the statement under way, or from a half token or comment before it.
    pending: String,
    mode: Mode,
    shape: Shape,
    word: String,
    begun: Option<Place>,
    /// Where the last token of the statement ends in `pending`.
    token_end: usize,
    next: Place,
    /// Offset in `pending` and place of the half token, quotation or comment under way.
    mark: (usize, Place),
    too_long: bool,
    done: VecDeque<Statement>,
}

impl Default for Splitter {
    fn default() -> Self {
        let next = Place { line: 1, column: 1 };
        Self {
            pending: String::new(),
            mode: Mode::Blank,
            shape: Shape::Fresh,
            word: String::new(),
            begun: None,
            token_end: 0,
            next,
            mark: (0, next),
            too_long: false,
            done: VecDeque::new(),
        }
    }
}

impl Splitter {
    /// Takes more text.
    ///
    /// *Errors*: [`SplitError::TooLong`], after which nothing more is taken.
    pub(crate) fn push(&mut self, text: &str) -> Result<(), SplitError> {
        for c in text.chars() {
            if self.too_long {
                break;
            }
            self.step(c);
        }
        match self.too_long {
            true => Err(SplitError::TooLong { start: self.begun.unwrap_or(self.mark.1) }),
            false => Ok(()),
        }
    }

    /// The next whole statement.
    pub(crate) fn pop(&mut self) -> Option<Statement> {
        self.done.pop_front()
    }

    /// Whether a statement is under way, be it only a comment not closed.
    pub(crate) fn is_inside(&self) -> bool {
        self.begun.is_some() || !matches!(self.mode, Mode::Blank | Mode::LineComment)
    }

    /// The end of the text; a last statement needs no `;`.
    ///
    /// *Errors*: [`SplitError::Open`] if a string, comment, transaction or batch is not closed.
    pub(crate) fn finish(&mut self) -> Result<(), SplitError> {
        self.settle();
        let open = |what, end| Err(SplitError::Open { what, end, start: self.mark.1 });
        match self.mode {
            Mode::Quoted('"') => return open("the quoted name", "\""),
            Mode::Quoted(_) => return open("the string", "'"),
            Mode::Dollar { .. } => return open("the string", "$$"),
            Mode::BlockComment { .. } => return open("the comment", "*/"),
            Mode::Blank | Mode::Word | Mode::Half(_) | Mode::LineComment => {}
        }
        if let (Shape::Block { .. }, Some(start)) = (self.shape, self.begun) {
            let (what, end) = ("the transaction or batch", "COMMIT TRANSACTION or APPLY BATCH");
            return Err(SplitError::Open { what, end, start });
        }
        self.emit();
        Ok(())
    }

    fn step(&mut self, c: char) {
        if self.begun.is_none() && matches!(self.mode, Mode::Blank | Mode::LineComment | Mode::BlockComment { .. }) {
            self.pending.clear();
        }
        let place = self.next;
        match c {
            '\n' => self.next = Place { line: place.line + 1, column: 1 },
            _ => self.next.column += c.len_utf8(),
        }
        self.scan(c, place);
        if self.pending.len() > STATEMENT_MAX {
            self.too_long = true;
        }
    }

    fn scan(&mut self, c: char, place: Place) {
        match (self.mode, c) {
            (Mode::LineComment, '\n') => self.blank_or_token(c, place),
            (Mode::LineComment, _) => self.pending.push(c),
            (Mode::BlockComment { star: true }, '/') => self.enter(c, Mode::Blank),
            (Mode::BlockComment { .. }, _) => self.enter(c, Mode::BlockComment { star: c == '*' }),
            (Mode::Quoted(quote), _) if c == quote => self.close(c),
            (Mode::Dollar { half: true }, '$') => self.close(c),
            (Mode::Dollar { .. }, _) => self.enter(c, Mode::Dollar { half: c == '$' }),
            (Mode::Quoted(_), _) => self.pending.push(c),
            (Mode::Half('-'), '-') | (Mode::Half('/'), '/') => self.enter(c, Mode::LineComment),
            (Mode::Half('/'), '*') => self.enter(c, Mode::BlockComment { star: false }),
            (Mode::Half('$'), '$') => {
                let (at, start) = self.mark;
                self.token(at, start);
                self.mark.0 = 0;
                self.enter(c, Mode::Dollar { half: false });
            }
            (Mode::Word, _) if is_word(c) => self.letter(c),
            (Mode::Blank | Mode::Half(_) | Mode::Word, _) => {
                self.settle();
                self.blank_or_token(c, place);
            }
        }
    }

    /// A character between tokens: a blank, the end of the statement, or the first of a token.
    fn blank_or_token(&mut self, c: char, place: Place) {
        let at = self.pending.len();
        match c {
            '\n' if self.shape.ends_at_newline() => self.emit(),
            ';' if self.shape.ends_at_semicolon() => self.emit(),
            c if c.is_whitespace() => self.enter(c, Mode::Blank),
            '-' | '/' | '$' => {
                self.mark = (at, place);
                self.enter(c, Mode::Half(c));
            }
            '\'' | '"' => {
                self.token(at, place);
                self.mark = (0, place);
                self.enter(c, Mode::Quoted(c));
            }
            c if is_word(c) => {
                self.token(at, place);
                self.letter(c);
            }
            c => {
                self.token(at, place);
                self.close(c);
            }
        }
    }

    fn enter(&mut self, c: char, mode: Mode) {
        self.pending.push(c);
        self.mode = mode;
    }

    fn letter(&mut self, c: char) {
        self.enter(c, Mode::Word);
        if self.word.len() < WORD_MAX {
            self.word.push(c.to_ascii_uppercase());
        }
    }

    /// The last character of a string, a quoted name or a mark.
    fn close(&mut self, c: char) {
        self.enter(c, Mode::Blank);
        self.shape = self.shape.after_mark();
        self.token_end = self.pending.len();
    }

    /// A token begins at `at` of the pending text, and with it perhaps a statement.
    fn token(&mut self, at: usize, place: Place) {
        if self.shape == Shape::Closed {
            let rest = self.pending.split_off(at);
            self.emit();
            self.pending = rest;
        }
        self.begun.get_or_insert(place);
    }

    /// Ends the word or the half token under way.
    fn settle(&mut self) {
        match self.mode {
            Mode::Word => {
                self.shape = self.shape.after_word(&self.word);
                self.word.clear();
            }
            Mode::Half(_) => {
                let (at, place) = self.mark;
                self.token(at, place);
                self.shape = self.shape.after_mark();
            }
            _ => return,
        }
        self.token_end = self.pending.len();
        self.mode = Mode::Blank;
    }

    /// Hands the statement out, if there is one, and begins anew.
    fn emit(&mut self) {
        if let Some(start) = self.begun.take() {
            self.pending.truncate(self.token_end);
            self.done.push_back(Statement { text: std::mem::take(&mut self.pending), start });
        }
        self.pending.clear();
        (self.token_end, self.shape, self.mode) = (0, Shape::Fresh, Mode::Blank);
    }
}

/// Whether `text`, typed up to a newline, holds only whole statements.
pub(crate) fn is_complete(text: &str) -> bool {
    let mut splitter = Splitter::default();
    // what is too long will not get better by more of it
    splitter.push(text).and_then(|()| splitter.push("\n")).is_err() || !splitter.is_inside()
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn split(pieces: &[&str]) -> (Vec<Statement>, Option<SplitError>) {
        let mut splitter = Splitter::default();
        let mut outcome = pieces.iter().try_for_each(|piece| splitter.push(piece));
        outcome = outcome.and_then(|()| splitter.finish());
        (std::iter::from_fn(|| splitter.pop()).collect(), outcome.err())
    }

    fn texts(text: &str) -> Vec<String> {
        let (statements, error) = split(&[text]);
        assert_eq!(error, None, "{text}");
        statements.into_iter().map(|statement| statement.text).collect()
    }

    #[test]
    fn semicolons_end_statements_and_empty_ones_are_none() {
        assert_eq!(texts("SELECT 1;; ;SELECT 2 ;\n SELECT 3"), ["SELECT 1", "SELECT 2", "SELECT 3"]);
        assert!(texts(" ; -- nothing\n /* ; */ // ;\n").is_empty());
    }

    #[test]
    fn strings_names_and_comments_hide_semicolons() {
        assert_eq!(texts("a 'x;''y;' b;"), ["a 'x;''y;' b"]);
        assert_eq!(texts("a \"x;\"\"y;\" b;"), ["a \"x;\"\"y;\" b"]);
        assert_eq!(texts("a $$x;'$ ;$$ b;"), ["a $$x;'$ ;$$ b"]);
        assert_eq!(texts("a -- ;'\nb // ;\n/* ; ' */c;"), ["a -- ;'\nb // ;\n/* ; ' */c"]);
        assert_eq!(texts("a - b / c $ d;"), ["a - b / c $ d"]);
        assert_eq!(texts("a /**/;b/***/;"), ["a", "b"]);
    }

    #[test]
    fn transaction_ends_with_its_closing_words() {
        let text = "BEGIN TRANSACTION\n SELECT a FROM t WHERE k = ';';\n COMMIT TRANSACTION";
        assert_eq!(texts(&format!("{text};SELECT 1;")), [text, "SELECT 1"]);
        assert_eq!(texts(&format!("{text}\nSELECT 1;")), [text, "SELECT 1"]);
        assert_eq!(texts(&format!("{text} -- done\nSELECT 1;")), [text, "SELECT 1"]);
        assert_eq!(texts(&format!("{text} -5;")), [text, "-5"]);
        assert_eq!(texts(&format!("{text} $$a$$;")), [text, "$$a$$"]);
        assert_eq!(
            texts("begin /* x */ transaction a; apply\n transaction;"),
            ["begin /* x */ transaction a; apply\n transaction"]
        );
    }

    #[test]
    fn closing_words_in_strings_and_comments_close_nothing() {
        let text = "BEGIN TRANSACTION a 'COMMIT TRANSACTION'; -- COMMIT TRANSACTION\n b; COMMIT TRANSACTION";
        assert_eq!(texts(text), [text]);
        let text = "BEGIN TRANSACTION SELECT commit, transaction FROM t; COMMIT TRANSACTION";
        assert_eq!(texts(text), [text]);
        let text = "BEGIN TRANSACTION a; COMMIT TRANSACTIONS; COMMIT TRANSACTION";
        assert_eq!(texts(text), [text]);
    }

    #[test]
    fn batch_ends_with_apply_batch() {
        let text = "BEGIN UNLOGGED BATCH INSERT a; INSERT b; APPLY BATCH";
        assert_eq!(texts(&format!("{text};\nSELECT 1")), [text, "SELECT 1"]);
    }

    #[test]
    fn commands_end_with_the_line() {
        assert_eq!(
            texts("HELP\nuse bank -- mine\nSOURCE 'a;\nb'\nexit; DESC TABLES"),
            ["HELP", "use bank", "SOURCE 'a;\nb'", "exit", "DESC TABLES"]
        );
    }

    #[test]
    fn places_count_lines_and_bytes() {
        let (statements, _) = split(&["-- é\n  SELECT 'é'; - 1;"]);
        assert_eq!(statements[0].start, Place { line: 2, column: 3 });
        assert_eq!(statements[1].start, Place { line: 2, column: 16 });
    }

    #[test]
    fn text_that_stops_inside_something_names_it() {
        let what = |text| match split(&[text]).1 {
            Some(SplitError::Open { what, start, .. }) => (what, start.line),
            other => panic!("{text}: {other:?}"),
        };
        assert_eq!(what("a\n'b"), ("the string", 2));
        assert_eq!(what("a $$ b $"), ("the string", 1));
        assert_eq!(what("\n\n\"b"), ("the quoted name", 3));
        assert_eq!(what("a; /* b *"), ("the comment", 1));
        assert_eq!(what("\nBEGIN TRANSACTION a;\n COMMIT"), ("the transaction or batch", 2));
    }

    #[test]
    fn statement_without_end_is_refused_and_long_comments_are_not() {
        let long = "x".repeat(STATEMENT_MAX + 1);
        assert!(matches!(split(&["a '", &long]).1, Some(SplitError::TooLong { .. })));
        assert_eq!(split(&["-- ", &long, "\n/* ", &long, "*/ a;"]).0.len(), 1);
    }

    #[test]
    fn typed_text_is_complete_only_outside_of_everything() {
        for text in ["", "SELECT 1;", "HELP", "BEGIN TRANSACTION a; COMMIT TRANSACTION", "-- x", "a; -- b"] {
            assert!(is_complete(text), "{text}");
        }
        for text in ["SELECT 1", "a '", "/*", "BEGIN TRANSACTION a; COMMIT", "a; b", "BEGIN BATCH;", "- "] {
            assert!(!is_complete(text), "{text}");
        }
    }

    /// Text in which everything the splitter knows is likely.
    fn script() -> impl Strategy<Value = String> {
        let word = prop::sample::select(vec![
            "BEGIN",
            "TRANSACTION",
            "COMMIT",
            "APPLY",
            "BATCH",
            "HELP",
            "x",
            " ",
            "\n",
            ";",
            "'",
            "\"",
            "$",
            "$$",
            "-",
            "--",
            "/",
            "//",
            "/*",
            "*/",
            "*",
            "é",
            "5",
        ]);
        proptest::collection::vec(word, 0..40).prop_map(|words| words.concat())
    }

    proptest! {
        #[test]
        fn law_pieces_of_any_size_give_the_same_statements(text in script(), cuts: Vec<prop::sample::Index>) {
            let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(text.len() + 1)).collect();
            cuts.retain(|cut| text.is_char_boundary(*cut));
            cuts.extend([0, text.len()]);
            cuts.sort_unstable();
            let pieces: Vec<&str> = cuts.windows(2).map(|pair| &text[pair[0]..pair[1]]).collect();
            prop_assert_eq!(split(&pieces), split(&[&text]));
        }

        #[test]
        fn law_statements_stand_where_they_say(text in script()) {
            let lines: Vec<&str> = text.split('\n').collect();
            for statement in split(&[&text]).0 {
                let Place { line, column } = statement.start;
                let first = statement.text.split('\n').next().unwrap_or_default();
                prop_assert!(lines[line - 1][column - 1..].starts_with(first), "{:?}", statement);
                prop_assert!(!statement.text.trim().is_empty());
                prop_assert_eq!(statement.text.trim(), &statement.text);
            }
        }

        #[test]
        fn law_a_statement_splits_into_itself(text in script()) {
            for statement in split(&[&text]).0 {
                let again = split(&[&statement.text]);
                prop_assert_eq!(again.0.iter().map(|one| &one.text).collect::<Vec<_>>(), [&statement.text]);
            }
        }
    }
}
