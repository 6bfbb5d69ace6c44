//! Where a statement ends, told by its words alone: at a `;`, at the end of the line, or with the words that close a block.

/// How the statement under way will end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Shape {
    /// No word yet.
    #[default]
    Fresh,
    /// A command of the shell: ends with the line or at a `;`.
    Line,
    /// `BEGIN`, perhaps with the kind of a batch behind it: the next word decides.
    Begin,
    /// Inside a transaction or batch; `closing` after a word that may close it.
    Block { closing: bool },
    /// The block is closed; a `;` may follow.
    Closed,
    /// Anything else: ends at a `;`.
    Plain,
}

/// First words of the shell's own commands, which need no `;`.
const LINE_WORDS: [&str; 9] = ["CONSISTENCY", "DESC", "DESCRIBE", "EXIT", "EXPAND", "HELP", "QUIT", "SOURCE", "USE"];

/// The longest word that means anything here.
pub(crate) const WORD_MAX: usize = 12;

impl Shape {
    /// The shape after one more word, given in capitals.
    ///
    /// Either pair of closing words closes either kind of block: a wrong pair is for the server to refuse, and nobody should
    /// be left in a block that no words they know can end.
    pub(crate) fn after_word(self, word: &str) -> Self {
        match (self, word) {
            (Self::Fresh, "BEGIN") => Self::Begin,
            (Self::Fresh, word) if LINE_WORDS.contains(&word) => Self::Line,
            (Self::Fresh, _) => Self::Plain,
            (Self::Begin, "TRANSACTION" | "BATCH") => Self::Block { closing: false },
            (Self::Begin, "UNLOGGED" | "LOGGED" | "COUNTER") => Self::Begin,
            (Self::Begin, _) => Self::Plain,
            (Self::Block { .. }, "COMMIT" | "APPLY") => Self::Block { closing: true },
            (Self::Block { closing: true }, "TRANSACTION" | "BATCH") => Self::Closed,
            (Self::Block { .. }, _) => Self::Block { closing: false },
            (other, _) => other,
        }
    }

    /// The shape after a string, a quoted name or a mark.
    pub(crate) fn after_mark(self) -> Self {
        match self {
            Self::Fresh | Self::Begin => Self::Plain,
            Self::Block { .. } => Self::Block { closing: false },
            other => other,
        }
    }

    pub(crate) fn ends_at_semicolon(self) -> bool {
        !matches!(self, Self::Block { .. })
    }

    pub(crate) fn ends_at_newline(self) -> bool {
        matches!(self, Self::Line | Self::Closed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(words: &str) -> Shape {
        words.split(' ').fold(Shape::Fresh, |shape, word| match word {
            "," => shape.after_mark(),
            word => shape.after_word(word),
        })
    }

    #[test]
    fn block_closes_only_with_adjacent_words() {
        assert_eq!(shape("BEGIN TRANSACTION X COMMIT TRANSACTION"), Shape::Closed);
        assert_eq!(shape("BEGIN UNLOGGED BATCH X APPLY BATCH"), Shape::Closed);
        assert_eq!(shape("BEGIN TRANSACTION X COMMIT , TRANSACTION"), Shape::Block { closing: false });
        assert_eq!(shape("BEGIN TRANSACTION COMMIT X TRANSACTION"), Shape::Block { closing: false });
    }

    #[test]
    fn words_of_a_block_mean_nothing_outside() {
        assert_eq!(shape("SELECT COMMIT TRANSACTION"), Shape::Plain);
        assert_eq!(shape("BEGIN X TRANSACTION"), Shape::Plain);
        assert_eq!(shape(", BEGIN TRANSACTION"), Shape::Plain);
    }

    #[test]
    fn only_the_first_word_makes_a_command() {
        assert_eq!(shape("HELP ME"), Shape::Line);
        assert_eq!(shape("SELECT HELP"), Shape::Plain);
    }

    #[test]
    fn no_word_that_counts_is_longer_than_the_bound() {
        let block = ["BEGIN", "TRANSACTION", "BATCH", "UNLOGGED", "LOGGED", "COUNTER", "COMMIT", "APPLY"];
        assert!(LINE_WORDS.iter().chain(&block).all(|word| word.len() < WORD_MAX));
    }
}
