//! Values as CQL writes them.

use client::ColumnType;

use crate::escape::escape;
use crate::parts::{self, Part};
use crate::scalar::{self, Scalar};

/// A whole cell of a table or of CSV: as a literal, but without quotes around the whole.
///
/// *Shape*: `None` for null. Text is as it came; bytes that are no value of their type are shown with what they should be.
pub(crate) fn cell(kind: &ColumnType, raw: Option<&[u8]>) -> Option<String> {
    let raw = raw?;
    Some(match scalar::read(kind, raw) {
        Some(Scalar::Text(text)) => text.to_owned(),
        Some(Scalar::Quoted(text)) => text,
        _ => value(kind, raw),
    })
}

/// A literal that CQL would take back.
pub(crate) fn literal(kind: &ColumnType, raw: Option<&[u8]>) -> String {
    raw.map_or_else(|| "null".to_owned(), |raw| value(kind, raw))
}

/// Text in single quotes.
pub(crate) fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// A name as CQL must have it: in double quotes unless it is a plain lower-case word.
pub(crate) fn name(name: &str) -> String {
    let is_plain = name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
    if is_plain { name.to_owned() } else { format!("\"{}\"", name.replace('"', "\"\"")) }
}

/// What is shown for bytes that are no value of the type.
pub(crate) fn invalid(kind: &ColumnType, raw: &[u8]) -> String {
    format!("<no {}: {}>", escape(&kind.to_string()), scalar::blob(raw))
}

fn value(kind: &ColumnType, raw: &[u8]) -> String {
    match scalar::read(kind, raw) {
        Some(Scalar::Text(text)) => quoted(text),
        Some(Scalar::Quoted(text)) => format!("'{text}'"),
        Some(Scalar::Number(text) | Scalar::Bare(text)) => text,
        Some(Scalar::Boolean(flag)) => flag.to_string(),
        Some(Scalar::NotFinite(word)) => word.to_owned(),
        None => nested(kind, raw).unwrap_or_else(|| invalid(kind, raw)),
    }
}

fn nested(kind: &ColumnType, raw: &[u8]) -> Option<String> {
    Some(match kind {
        ColumnType::List(of) => format!("[{}]", commas(parts::elements(&[of], raw)?)),
        ColumnType::Set(of) => format!("{{{}}}", commas(parts::elements(&[of], raw)?)),
        ColumnType::Map(key, of) => {
            let entries = parts::elements(&[key, of], raw)?;
            let entry =
                |pair: &[Part<'_>]| pair.iter().map(|(kind, raw)| literal(kind, *raw)).collect::<Vec<_>>().join(": ");
            format!("{{{}}}", entries.chunks(2).map(entry).collect::<Vec<_>>().join(", "))
        }
        ColumnType::Tuple(kinds) => format!("({})", commas(parts::components(kinds.iter(), raw)?)),
        ColumnType::Udt(_, _, fields) => {
            let components = parts::components(fields.iter().map(|(_, kind)| kind), raw)?;
            let named = fields.iter().zip(components);
            let named = named.map(|((field, _), (kind, raw))| format!("{}: {}", name(field), literal(kind, raw)));
            format!("{{{}}}", named.collect::<Vec<_>>().join(", "))
        }
        _ => return None,
    })
}

fn commas(parts: Vec<Part<'_>>) -> String {
    parts.into_iter().map(|(kind, raw)| literal(kind, raw)).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use ColumnType as Type;
    use proptest::prelude::*;

    fn put(out: &mut Vec<u8>, part: &[u8]) {
        out.extend((part.len() as i32).to_be_bytes());
        out.extend(part);
    }

    pub(crate) fn counted(count: i32, parts: &[&[u8]]) -> Vec<u8> {
        let mut out = count.to_be_bytes().to_vec();
        parts.iter().for_each(|part| put(&mut out, part));
        out
    }

    #[test]
    fn text_is_quoted_inside_and_not_outside() {
        assert_eq!(cell(&Type::Text, Some(b"it's")).as_deref(), Some("it's"));
        assert_eq!(literal(&Type::Text, Some(b"it's")), "'it''s'");
        let list = Type::List(Box::new(Type::Ascii));
        assert_eq!(cell(&list, Some(&counted(2, &[b"a", b"b'"]))).as_deref(), Some("['a', 'b''']"));
        assert_eq!(cell(&list, None), None);
    }

    #[test]
    fn collections_print_as_literals() {
        let set = Type::Set(Box::new(Type::Tinyint));
        assert_eq!(literal(&set, Some(&counted(2, &[&[1], &[2]]))), "{1, 2}");
        let map = Type::Map(Box::new(Type::Text), Box::new(set));
        let inner = counted(1, &[&[3]]);
        assert_eq!(literal(&map, Some(&counted(1, &[b"k", &inner]))), "{'k': {3}}");
        assert_eq!(literal(&map, Some(&counted(0, &[]))), "{}");
    }

    #[test]
    fn tuples_and_user_types_show_nulls() {
        let mut raw = Vec::new();
        put(&mut raw, &[7]);
        let tuple = Type::Tuple(vec![Type::Tinyint, Type::Inet]);
        assert_eq!(literal(&tuple, Some(&raw)), "(7, null)");
        let fields = vec![("a".to_owned(), Type::Tinyint), ("B".to_owned(), Type::Text)];
        let udt = Type::Udt("k".to_owned(), "t".to_owned(), fields);
        assert_eq!(literal(&udt, Some(&raw)), "{a: 7, \"B\": null}");
    }

    #[test]
    fn bytes_that_are_no_value_are_shown_as_such() {
        assert_eq!(cell(&Type::Int, Some(&[1])).as_deref(), Some("<no int: 0x01>"));
        let list = Type::List(Box::new(Type::Int));
        assert_eq!(literal(&list, Some(&[0, 0, 0, 9])), "<no list<int>: 0x00000009>");
    }

    #[test]
    fn names_are_quoted_where_they_must() {
        assert_eq!(
            [name("a_1"), name("A"), name("1a"), name("a\"b"), name("")],
            ["a_1", "\"A\"", "\"1a\"", "\"a\"\"b\"", "\"\""]
        );
    }

    /// Types as an answer can announce them, nested.
    pub(crate) fn types() -> impl Strategy<Value = Type> {
        let leaf = prop::sample::select(vec![
            Type::Ascii,
            Type::Bigint,
            Type::Blob,
            Type::Boolean,
            Type::Counter,
            Type::Decimal,
            Type::Double,
            Type::Float,
            Type::Int,
            Type::Timestamp,
            Type::Uuid,
            Type::Text,
            Type::Varint,
            Type::Timeuuid,
            Type::Inet,
            Type::Date,
            Type::Time,
            Type::Smallint,
            Type::Tinyint,
            Type::Duration,
            Type::Custom("c".to_owned()),
        ]);
        leaf.prop_recursive(3, 12, 3, |inner| {
            prop_oneof![
                inner.clone().prop_map(|of| Type::List(Box::new(of))),
                inner.clone().prop_map(|of| Type::Set(Box::new(of))),
                (inner.clone(), inner.clone()).prop_map(|(key, of)| Type::Map(Box::new(key), Box::new(of))),
                proptest::collection::vec(inner.clone(), 0..3).prop_map(Type::Tuple),
                proptest::collection::vec(("[a-c]", inner), 0..3).prop_map(|fields| Type::Udt(
                    "k".to_owned(),
                    "t".to_owned(),
                    fields
                )),
            ]
        })
    }

    proptest! {
        #[test]
        fn law_no_bytes_panic(kind in types(), raw: Vec<u8>) {
            literal(&kind, Some(&raw));
            cell(&kind, Some(&raw));
        }
    }
}
