//! The rows of an answer as the writers take them.

use client::{Column, Rows};

/// Columns, and for each row one cell a column; `None` is null.
#[derive(Clone, Debug)]
pub(crate) struct Grid<'a> {
    pub(crate) columns: &'a [Column],
    pub(crate) rows: Vec<Vec<Option<&'a [u8]>>>,
}

impl<'a> Grid<'a> {
    pub(crate) fn new(rows: &'a Rows) -> Self {
        let columns = rows.columns();
        let cells = rows.iter().map(|row| (0..columns.len()).map(|at| row.bytes(at)).collect());
        Self { columns, rows: cells.collect() }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use client::ColumnType as Type;

    pub(crate) fn column(name: &str, kind: Type) -> Column {
        Column { keyspace: "k".to_owned(), table: "t".to_owned(), name: name.to_owned(), kind }
    }

    /// What the golden outputs of all formats show: numbers, text that needs care, a collection, nulls.
    pub(crate) fn columns() -> Vec<Column> {
        vec![
            column("id", Type::Int),
            column("Name", Type::Text),
            column("tags", Type::Set(Box::new(Type::Text))),
            column("balance", Type::Bigint),
        ]
    }

    pub(crate) fn with_sample(check: impl Fn(&Grid<'_>)) {
        let columns = columns();
        let tags = crate::literal::tests::counted(2, &[b"a", b"it's"]);
        let first: Vec<Option<&[u8]>> =
            vec![Some(&[0, 0, 0, 1]), Some("Ann \"銀\",\nB".as_bytes()), Some(&tags), Some(&[255; 8])];
        let second: Vec<Option<&[u8]>> = vec![Some(&[0, 0, 1, 0]), Some(b"null"), None, None];
        check(&Grid { columns: &columns, rows: vec![first, second] });
    }
}
