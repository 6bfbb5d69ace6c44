//! Rows as comma-separated values (RFC 4180, with plain line ends): one line of names, one line for each row.

use crate::grid::Grid;
use crate::literal::cell;

/// Null is an empty field, an empty text is `""`.
pub(crate) fn write(grid: &Grid<'_>) -> String {
    let mut out = line(grid.columns.iter().map(|column| field(Some(&column.name))));
    for row in &grid.rows {
        let cells = grid.columns.iter().zip(row);
        out.push_str(&line(cells.map(|(column, raw)| field(cell(&column.kind, *raw).as_deref()))));
    }
    out
}

fn line(fields: impl Iterator<Item = String>) -> String {
    fields.collect::<Vec<_>>().join(",") + "\n"
}

fn field(text: Option<&str>) -> String {
    match text {
        None => String::new(),
        Some(text) if text.is_empty() || text.contains([',', '"', '\n', '\r']) => {
            format!("\"{}\"", text.replace('"', "\"\""))
        }
        Some(text) => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_follow_one_line_of_names() {
        crate::grid::tests::with_sample(|grid| {
            let wanted = "id,Name,tags,balance\n1,\"Ann \"\"銀\"\",\nB\",\"{'a', 'it''s'}\",-1\n256,null,,\n";
            assert_eq!(write(grid), wanted);
        });
    }

    #[test]
    fn null_and_empty_text_differ() {
        assert_eq!(
            [field(None), field(Some("")), field(Some("a")), field(Some("a,\"b"))],
            ["", "\"\"", "a", "\"a,\"\"b\""]
        );
    }
}
