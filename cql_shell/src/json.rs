//! Rows as JSON: one object a line.

use client::ColumnType;

use crate::grid::Grid;
use crate::literal::{invalid, literal};
use crate::parts;
use crate::scalar::{self, Scalar};

/// One line for each row, its columns in order.
///
/// Numbers are JSON numbers whatever their length; what JSON cannot say (NaN, bytes that are no value) is a string.
pub(crate) fn write(grid: &Grid<'_>) -> String {
    let mut out = String::new();
    for row in &grid.rows {
        let cells = grid.columns.iter().zip(row);
        let fields = cells.map(|(column, raw)| (column.name.clone(), value(&column.kind, *raw)));
        out.push_str(&object(fields));
        out.push('\n');
    }
    out
}

fn value(kind: &ColumnType, raw: Option<&[u8]>) -> String {
    let Some(raw) = raw else { return "null".to_owned() };
    match scalar::read(kind, raw) {
        Some(Scalar::Number(digits)) => digits,
        Some(Scalar::Boolean(flag)) => flag.to_string(),
        Some(Scalar::Text(text)) => string(text),
        Some(Scalar::NotFinite(text)) => string(text),
        Some(Scalar::Quoted(text) | Scalar::Bare(text)) => string(&text),
        None => nested(kind, raw).unwrap_or_else(|| string(&invalid(kind, raw))),
    }
}

fn nested(kind: &ColumnType, raw: &[u8]) -> Option<String> {
    match kind {
        ColumnType::List(of) | ColumnType::Set(of) => Some(array(parts::elements(&[of], raw)?)),
        ColumnType::Tuple(kinds) => Some(array(parts::components(kinds.iter(), raw)?)),
        ColumnType::Map(key, of) => {
            let entries = parts::elements(&[key, of], raw)?;
            let pairs = entries.chunks_exact(2).map(|pair| (word(pair[0].0, pair[0].1), value(pair[1].0, pair[1].1)));
            Some(object(pairs))
        }
        ColumnType::Udt(_, _, fields) => {
            let components = parts::components(fields.iter().map(|(_, kind)| kind), raw)?;
            let named = fields.iter().zip(components);
            Some(object(named.map(|((name, _), (kind, raw))| (name.clone(), value(kind, raw)))))
        }
        _ => None,
    }
}

/// A key of a map: text as it is, anything else as its literal.
fn word(kind: &ColumnType, raw: Option<&[u8]>) -> String {
    match raw.and_then(|raw| scalar::read(kind, raw)) {
        Some(Scalar::Text(text)) => text.to_owned(),
        Some(Scalar::Quoted(text)) => text,
        _ => literal(kind, raw),
    }
}

fn array(parts: Vec<parts::Part<'_>>) -> String {
    let parts: Vec<String> = parts.into_iter().map(|(kind, raw)| value(kind, raw)).collect();
    format!("[{}]", parts.join(","))
}

fn object(fields: impl Iterator<Item = (String, String)>) -> String {
    let fields: Vec<String> = fields.map(|(name, value)| format!("{}:{value}", string(&name))).collect();
    format!("{{{}}}", fields.join(","))
}

fn string(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::literal::tests::{counted, types};
    use ColumnType as Type;
    use proptest::prelude::*;

    #[test]
    fn rows_are_objects_of_one_line() {
        crate::grid::tests::with_sample(|grid| {
            let wanted = r#"{"id":1,"Name":"Ann \"銀\",\nB","tags":["a","it's"],"balance":-1}
{"id":256,"Name":"null","tags":null,"balance":null}
"#;
            assert_eq!(write(grid), wanted);
        });
    }

    #[test]
    fn maps_are_objects_and_sets_are_arrays() {
        let map = Type::Map(Box::new(Type::Int), Box::new(Type::Set(Box::new(Type::Text))));
        let raw = counted(1, &[&[0, 0, 0, 5], &counted(1, &[b"a\"b"])]);
        assert_eq!(value(&map, Some(&raw)), r#"{"5":["a\"b"]}"#);
    }

    #[test]
    fn what_json_cannot_say_is_a_string() {
        assert_eq!(value(&Type::Double, Some(&f64::NAN.to_be_bytes())), "\"NaN\"");
        assert_eq!(value(&Type::Int, Some(&[1])), "\"<no int: 0x01>\"");
        assert_eq!(value(&Type::Text, Some(b"\x1b\n")), "\"\\u001b\\n\"");
    }

    proptest! {
        #[test]
        fn law_any_value_is_json(kind in types(), raw: Vec<u8>) {
            let text = value(&kind, Some(&raw));
            // a number of any length is JSON, but not one that serde_json keeps
            let bounded = !text.contains(['E', 'e']);
            prop_assert!(!bounded || serde_json::from_str::<serde_json::Value>(&text).is_ok(), "{}", text);
        }
    }
}
