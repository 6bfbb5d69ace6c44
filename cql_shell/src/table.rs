//! Rows for a reader: an aligned table, or one block for each row.

use client::ColumnType;

use crate::escape::{escape, width};
use crate::grid::Grid;
use crate::literal::cell;

/// How null is written; a text that reads the same is put in quotes.
const NULL: &str = "null";

/// Names, types and rows in columns; numbers stand to the right.
pub(crate) fn write(grid: &Grid<'_>) -> String {
    let columns: Vec<Aligned> = (0..grid.columns.len()).map(|at| Aligned::new(grid, at)).collect();
    let rule: Vec<String> = columns.iter().map(|column| "-".repeat(column.width + 2)).collect();
    let line = |nth: usize| {
        let cells: Vec<String> = columns.iter().map(|column| column.cell(nth)).collect();
        format!("{}\n", cells.join(" |").trim_end())
    };
    let mut out: String = (0..HEAD).map(line).collect();
    out.push_str(&rule.join("+"));
    out.push('\n');
    out.extend((HEAD..HEAD + grid.rows.len()).map(line));
    out
}

/// A block of `name | value` lines for each row.
pub(crate) fn write_expanded(grid: &Grid<'_>) -> String {
    let names: Vec<String> = grid.columns.iter().map(|column| escape(&column.name).into_owned()).collect();
    let widest = names.iter().map(|name| width(name)).max().unwrap_or(0);
    let mut out = String::new();
    for (nth, row) in grid.rows.iter().enumerate() {
        out.push_str(&format!("@ row {}\n{}+{}\n", nth + 1, "-".repeat(widest + 2), "-".repeat(widest + 2)));
        for ((column, name), raw) in grid.columns.iter().zip(&names).zip(row) {
            let gap = " ".repeat(widest - width(name));
            out.push_str(&format!(" {name}{gap} | {}\n", shown(&column.kind, *raw)));
        }
    }
    out
}

/// Lines above the rule: name and type.
const HEAD: usize = 2;

/// One column of the table, each cell with the place it takes.
struct Aligned {
    width: usize,
    is_right: bool,
    cells: Vec<String>,
}

impl Aligned {
    fn new(grid: &Grid<'_>, at: usize) -> Self {
        let column = &grid.columns[at];
        let head = [escape(&column.name).into_owned(), escape(&column.kind.to_string()).into_owned()];
        let values = grid.rows.iter().map(|row| shown(&column.kind, row.get(at).copied().flatten()));
        let cells: Vec<String> = head.into_iter().chain(values).collect();
        let width = cells.iter().map(|cell| width(cell)).max().unwrap_or(0);
        Self { width, is_right: is_number(&column.kind), cells }
    }

    fn cell(&self, line: usize) -> String {
        let text = self.cells.get(line).map_or("", String::as_str);
        let gap = " ".repeat(self.width - width(text));
        if self.is_right { format!(" {gap}{text}") } else { format!(" {text}{gap}") }
    }
}

fn shown(kind: &ColumnType, raw: Option<&[u8]>) -> String {
    match cell(kind, raw) {
        None => NULL.to_owned(),
        Some(text) if text == NULL => format!("'{NULL}'"),
        Some(text) => escape(&text).into_owned(),
    }
}

const fn is_number(kind: &ColumnType) -> bool {
    use ColumnType as Type;
    matches!(
        kind,
        Type::Bigint
            | Type::Counter
            | Type::Decimal
            | Type::Double
            | Type::Float
            | Type::Int
            | Type::Smallint
            | Type::Tinyint
            | Type::Varint
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grid::tests::{columns, with_sample};

    #[test]
    fn columns_are_aligned_by_the_cells_they_take() {
        with_sample(|grid| {
            let wanted = [
                "  id | Name         | tags           | balance",
                " int | text         | set<text>      |  bigint",
                "-----+--------------+----------------+---------",
                "   1 | Ann \"銀\",\\nB | {'a', 'it''s'} |      -1",
                " 256 | 'null'       | null           |    null",
                "",
            ];
            assert_eq!(write(grid), wanted.join("\n"));
        });
    }

    #[test]
    fn table_without_rows_has_its_head() {
        let columns = columns();
        let grid = Grid { columns: &columns[..2], rows: Vec::new() };
        assert_eq!(write(&grid), "  id | Name\n int | text\n-----+------\n");
    }

    #[test]
    fn expanded_rows_have_a_line_for_each_column() {
        with_sample(|grid| {
            let text = write_expanded(grid);
            assert!(text.starts_with("@ row 1\n---------+---------\n id      | 1\n"), "{text}");
            assert!(text.contains("@ row 2\n") && text.ends_with(" tags    | null\n balance | null\n"), "{text}");
        });
    }
}
