//! Errors with the line they are about and a mark under the place.

use crate::escape::{clean, escape, width};
use crate::splitter::{Place, Statement};

/// The message, and if it begins with `[line:column]` the line of the statement with a caret below.
///
/// *Shape*: lines are numbered as in the whole text the statement came from, `source` names it.
pub(crate) fn explain(statement: &Statement, source: Option<&str>, message: &str) -> String {
    let message = clean(message);
    let Some((at, rest)) = place(&message) else { return format!("{message}\n") };
    let Some(line) = statement.text.split('\n').nth(at.line - 1) else { return format!("{message}\n") };
    let number = statement.start.line + at.line - 1;
    let column = if at.line == 1 { statement.start.column + at.column - 1 } else { at.column };
    let place = source.map_or_else(|| format!("{number}:{column}"), |source| format!("{source}:{number}:{column}"));
    let (line, before) = window(line, at.column - 1);
    let margin = " ".repeat(number.to_string().len());
    format!("{place}: {rest}\n {number} | {line}\n {margin} | {}^\n", " ".repeat(before))
}

/// The `[line:column]` a message begins with, and the rest of it.
fn place(message: &str) -> Option<(Place, &str)> {
    let (numbers, rest) = message.strip_prefix('[')?.split_once(']')?;
    let (line, column) = numbers.split_once(':')?;
    let (line, column) = (line.parse().ok()?, column.parse().ok()?);
    let is_place = (1..=1 << 30).contains(&line) && (1..=1 << 30).contains(&column);
    is_place.then(|| (Place { line, column }, rest.trim_start()))
}

/// Bytes shown on either side of the place.
const SIDE_MAX: usize = 100;

/// The part of a line around `offset`, safe for a terminal, and the cells in front of the place.
fn window(line: &str, offset: usize) -> (String, usize) {
    let offset = boundary(line, offset);
    let start = boundary(line, offset.saturating_sub(SIDE_MAX));
    let end = boundary(line, offset.saturating_add(SIDE_MAX));
    let (before, after) = (shown(&line[start..offset]), shown(&line[offset..end]));
    (format!("{before}{after}"), width(&before))
}

/// The last place at or before `offset` where a character begins or the line ends.
fn boundary(line: &str, offset: usize) -> usize {
    (0..=offset.min(line.len())).rev().find(|at| line.is_char_boundary(*at)).unwrap_or(0)
}

fn shown(text: &str) -> String {
    escape(text.trim_end_matches('\r').replace('\t', " ").as_str()).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn statement(text: &str) -> Statement {
        Statement { text: text.to_owned(), start: Place { line: 10, column: 5 } }
    }

    #[test]
    fn caret_stands_below_the_column_in_bytes() {
        let text = explain(&statement("SELECT é\n FROM 銀 x"), Some("a.cql"), "[2:11] unexpected x");
        assert_eq!(text, "a.cql:11:11: unexpected x\n 11 |  FROM 銀 x\n    |          ^\n");
    }

    #[test]
    fn first_line_counts_from_where_the_statement_begins() {
        let text = explain(&statement("SELEC 1"), None, "[1:1] no");
        assert_eq!(text, "10:5: no\n 10 | SELEC 1\n    | ^\n");
    }

    #[test]
    fn message_without_a_place_stands_alone() {
        for message in ["no", "[x] no", "[0:1] no", "[9:1] no", "[1:99999999999999999999999] no"] {
            assert_eq!(explain(&statement("a"), None, message), format!("{message}\n"));
        }
    }

    #[test]
    fn long_line_is_shown_around_the_place() {
        let text = explain(&statement(&"é".repeat(1000)), None, "[1:1001] no");
        assert!(text.lines().all(|line| width(line) < 300), "{text}");
    }

    proptest! {
        #[test]
        fn law_no_message_panics(text: String, message in "\\[[0-9]{1,4}:[0-9]{1,4}\\].*") {
            explain(&statement(&text), None, &message);
        }
    }
}
