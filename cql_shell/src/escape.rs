//! Text for a terminal: nothing in it moves the cursor, and its width is known.

use std::borrow::Cow;

use unicode_width::UnicodeWidthStr;

/// The text with control characters, marks of writing direction and backslashes written out.
pub(crate) fn escape(text: &str) -> Cow<'_, str> {
    if !text.chars().any(|c| c == '\\' || is_unsafe(c)) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match c {
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if is_unsafe(c) => out.push_str(&format!("\\u{{{:x}}}", u32::from(c))),
            c => out.push(c),
        }
    }
    Cow::Owned(out)
}

/// A text of the server or the user that may have lines of its own; the rest of what could harm a terminal is written out.
pub(crate) fn clean(text: &str) -> String {
    let harmless = |c: char| c == '\n' || c == '\t' || !is_unsafe(c);
    text.chars().map(|c| if harmless(c) { c } else { char::REPLACEMENT_CHARACTER }).collect()
}

/// Cells of a terminal the text takes.
pub(crate) fn width(text: &str) -> usize {
    text.width()
}

fn is_unsafe(c: char) -> bool {
    c.is_control() || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_moves_the_cursor_is_left() {
        assert_eq!(escape("a\x1b[2J\nb\\\u{9b}\u{202e}é"), "a\\u{1b}[2J\\nb\\\\\\u{9b}\\u{202e}é");
        assert!(matches!(escape("plain é"), Cow::Borrowed(_)));
        assert_eq!(clean("a\x1b\nb"), "a\u{fffd}\nb");
    }

    #[test]
    fn wide_characters_take_two_cells() {
        assert_eq!((width("é"), width("銀行")), (1, 4));
    }
}
