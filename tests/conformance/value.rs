//! Values as the files write them, encoded for a column type, and values as the wire carries them, written for a reader.

use super::{literal, order};
use client::{Bind, ColumnType};
use toml::Value;

/// A value for a marker or a cell; the texts `@null` and `@unset` stand for themselves.
///
/// *Errors*: a text if the value cannot be of the type.
pub(crate) fn encode(value: &Value, kind: &ColumnType) -> Result<Bind, String> {
    match value.as_str() {
        Some("@null") => Ok(Bind::Null),
        Some("@unset") => Ok(Bind::Unset),
        _ => bytes(value, kind).map(Bind::Bytes),
    }
}

/// A value for a marker that the server did not announce; the type follows from the value alone.
pub(crate) fn encode_unannounced(value: &Value) -> Result<Bind, String> {
    let kind = match value {
        Value::Integer(_) => ColumnType::Int,
        Value::Float(_) => ColumnType::Double,
        Value::Boolean(_) => ColumnType::Boolean,
        _ => ColumnType::Text,
    };
    encode(value, &kind)
}

fn bytes(value: &Value, kind: &ColumnType) -> Result<Vec<u8>, String> {
    // raw bytes, whatever the type: so a case can send what is no value of the type
    if let Some(hex) = value.as_str().and_then(|text| text.strip_prefix("@blob:")) {
        return literal::hex(hex).ok_or_else(|| format!("{value} is no blob"));
    }
    let encoded = match value {
        Value::Integer(number) => integer(*number, kind),
        Value::Float(number) => float(*number, kind),
        Value::Boolean(flag) if *kind == ColumnType::Boolean => Some(vec![u8::from(*flag)]),
        Value::String(text) => literal::parse(text, kind),
        Value::Array(items) => return list(items, kind),
        Value::Table(_) => return table(value, kind),
        _ => None,
    };
    encoded.ok_or_else(|| format!("{value} is no {kind}"))
}

fn integer(number: i64, kind: &ColumnType) -> Option<Vec<u8>> {
    Some(match kind {
        ColumnType::Bigint | ColumnType::Counter | ColumnType::Timestamp | ColumnType::Time => {
            number.to_be_bytes().to_vec()
        }
        ColumnType::Int => i32::try_from(number).ok()?.to_be_bytes().to_vec(),
        ColumnType::Smallint => i16::try_from(number).ok()?.to_be_bytes().to_vec(),
        ColumnType::Tinyint => i8::try_from(number).ok()?.to_be_bytes().to_vec(),
        ColumnType::Date => u32::try_from(number).ok()?.to_be_bytes().to_vec(),
        ColumnType::Double | ColumnType::Float => return float(number as f64, kind),
        ColumnType::Varint => literal::minimal(number.into()),
        ColumnType::Decimal => literal::decimal_bytes(0, number.into()),
        _ => return None,
    })
}

fn float(number: f64, kind: &ColumnType) -> Option<Vec<u8>> {
    match kind {
        ColumnType::Double => Some(number.to_be_bytes().to_vec()),
        ColumnType::Float => Some((number as f32).to_be_bytes().to_vec()),
        _ => None,
    }
}

fn list(items: &[Value], kind: &ColumnType) -> Result<Vec<u8>, String> {
    let ColumnType::List(of) = kind else { return Err(format!("a list is no {kind}")) };
    let parts = items.iter().map(|item| bytes(item, of)).collect::<Result<Vec<_>, _>>()?;
    Ok(counted(parts.len(), parts.iter()))
}

fn table(value: &Value, kind: &ColumnType) -> Result<Vec<u8>, String> {
    let part = |name: &str| value.get(name).and_then(Value::as_array);
    match kind {
        ColumnType::Set(of) => set(part("set").ok_or_else(|| format!("{value} is no {kind}"))?, of),
        ColumnType::Map(key, of) => map(part("map").ok_or_else(|| format!("{value} is no {kind}"))?, key, of),
        ColumnType::Tuple(kinds) => components(part("tuple").ok_or_else(|| format!("{value} is no {kind}"))?, kinds),
        ColumnType::Udt(_, _, fields) => {
            let kinds: Vec<ColumnType> = fields.iter().map(|(_, kind)| kind.clone()).collect();
            components(part("tuple").ok_or_else(|| format!("{value} is no {kind}"))?, &kinds)
        }
        _ => Err(format!("{value} is no {kind}")),
    }
}

fn set(items: &[Value], of: &ColumnType) -> Result<Vec<u8>, String> {
    let mut parts = items.iter().map(|item| bytes(item, of)).collect::<Result<Vec<_>, _>>()?;
    parts.sort_by(|left, right| order::compare(of, left, right));
    parts.dedup();
    Ok(counted(parts.len(), parts.iter()))
}

fn map(entries: &[Value], key: &ColumnType, of: &ColumnType) -> Result<Vec<u8>, String> {
    let mut parts = Vec::new();
    for entry in entries {
        match entry.as_array().map(Vec::as_slice) {
            Some([left, right]) => parts.push((bytes(left, key)?, bytes(right, of)?)),
            _ => return Err(format!("{entry} is no entry of a map")),
        }
    }
    parts.sort_by(|left, right| order::compare(key, &left.0, &right.0));
    Ok(counted(parts.len(), parts.iter().flat_map(|(left, right)| [left, right])))
}

fn components(items: &[Value], kinds: &[ColumnType]) -> Result<Vec<u8>, String> {
    if items.len() > kinds.len() {
        return Err(format!("{} components where the type has {}", items.len(), kinds.len()));
    }
    let mut out = Vec::new();
    for (item, kind) in items.iter().zip(kinds) {
        match encode(item, kind)? {
            Bind::Bytes(part) => put(&mut out, &part),
            Bind::Null | Bind::Unset => out.extend((-1i32).to_be_bytes()),
        }
    }
    Ok(out)
}

fn counted<'a>(count: usize, parts: impl Iterator<Item = &'a Vec<u8>>) -> Vec<u8> {
    let mut out = (count as i32).to_be_bytes().to_vec();
    parts.for_each(|part| put(&mut out, part));
    out
}

fn put(out: &mut Vec<u8>, part: &[u8]) {
    out.extend((part.len() as i32).to_be_bytes());
    out.extend_from_slice(part);
}

/// A part of a value with its type; `None` is null.
pub(crate) type Part<'a> = (&'a ColumnType, Option<&'a [u8]>);

/// The parts of a collection, tuple or user-defined type, each with its type; `None` if the bytes are no such value.
pub(crate) fn parts<'a>(kind: &'a ColumnType, raw: &'a [u8]) -> Option<Vec<Part<'a>>> {
    let (kinds, mut rest): (Vec<&ColumnType>, &[u8]) = match kind {
        ColumnType::Tuple(kinds) => (kinds.iter().collect(), raw),
        ColumnType::Udt(_, _, fields) => (fields.iter().map(|(_, kind)| kind).collect(), raw),
        _ => {
            let (count, rest) = raw.split_first_chunk::<4>()?;
            let count = usize::try_from(i32::from_be_bytes(*count)).ok().filter(|count| *count <= raw.len())?;
            match kind {
                ColumnType::List(of) | ColumnType::Set(of) => (vec![&**of; count], rest),
                ColumnType::Map(key, of) => ([&**key, &**of].repeat(count), rest),
                _ => return None,
            }
        }
    };
    let kind_of_whole = kind;
    let mut found = Vec::new();
    for kind in kinds {
        let Some((length, after)) = rest.split_first_chunk::<4>() else {
            // a tuple may end early, a collection has said how many parts it has
            let may_end = rest.is_empty() && matches!(kind_of_whole, ColumnType::Tuple(_) | ColumnType::Udt(..));
            return may_end.then_some(found);
        };
        let Ok(length) = usize::try_from(i32::from_be_bytes(*length)) else {
            found.push((kind, None));
            rest = after;
            continue;
        };
        let (part, after) = after.split_at_checked(length)?;
        found.push((kind, Some(part)));
        rest = after;
    }
    rest.is_empty().then_some(found)
}

/// A cell for a reader, close to how the files write it.
pub(crate) fn show(kind: &ColumnType, raw: Option<&[u8]>) -> String {
    let Some(raw) = raw else { return "null".to_owned() };
    let shown = match kind {
        ColumnType::Ascii | ColumnType::Text => std::str::from_utf8(raw).ok().map(|text| format!("{text:?}")),
        ColumnType::Boolean => raw.first().map(|byte| (*byte != 0).to_string()),
        ColumnType::Double => raw.try_into().ok().map(|raw| format!("{:?}", f64::from_be_bytes(raw))),
        ColumnType::Float => raw.try_into().ok().map(|raw| format!("{:?}", f32::from_be_bytes(raw))),
        ColumnType::Decimal => order::decimal(raw).map(|(scale, unscaled)| format!("{unscaled}e-{scale}")),
        kind if order::is_integer(kind) => order::integer(raw).map(|number| number.to_string()),
        _ => parts(kind, raw).map(|parts| {
            let parts: Vec<String> = parts.into_iter().map(|(kind, part)| show(kind, part)).collect();
            format!("{kind}[{}]", parts.join(", "))
        }),
    };
    shown.unwrap_or_else(|| format!("0x{}", raw.iter().map(|byte| format!("{byte:02x}")).collect::<String>()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encoded(text: &str, kind: &ColumnType) -> Result<Bind, String> {
        let table: toml::Table = format!("v = {text}").parse().expect("TOML");
        encode(&table["v"], kind)
    }

    fn raw(text: &str, kind: &ColumnType) -> Vec<u8> {
        match encoded(text, kind) {
            Ok(Bind::Bytes(raw)) => raw,
            other => panic!("{text}: {other:?}"),
        }
    }

    #[test]
    fn null_and_unset_are_no_texts() {
        assert_eq!(encoded("\"@null\"", &ColumnType::Text), Ok(Bind::Null));
        assert_eq!(encoded("\"@unset\"", &ColumnType::Int), Ok(Bind::Unset));
    }

    #[test]
    fn a_set_is_sorted_by_number_and_loses_duplicates() {
        let kind = ColumnType::Set(Box::new(ColumnType::Tinyint));
        let wanted = [0, 0, 0, 2, 0, 0, 0, 1, 0xff, 0, 0, 0, 1, 1];
        assert_eq!(raw("{ set = [1, -1, 1] }", &kind), wanted);
    }

    #[test]
    fn a_value_of_another_type_is_refused() {
        assert!(encoded("\"x\"", &ColumnType::Int).is_err());
        assert!(encoded("128", &ColumnType::Tinyint).is_err());
        assert!(encoded("{ set = [1] }", &ColumnType::List(Box::new(ColumnType::Int))).is_err());
        assert!(encoded("true", &ColumnType::Int).is_err());
    }

    #[test]
    fn a_tuple_keeps_its_nulls() {
        let kind = ColumnType::Tuple(vec![ColumnType::Tinyint, ColumnType::Text]);
        let bytes = raw("{ tuple = [5, \"@null\"] }", &kind);
        assert_eq!(bytes, [0, 0, 0, 1, 5, 255, 255, 255, 255]);
        assert_eq!(show(&kind, Some(&bytes)), "tuple<tinyint, text>[5, null]");
    }

    #[test]
    fn a_map_is_shown_as_its_parts() {
        let kind = ColumnType::Map(Box::new(ColumnType::Text), Box::new(ColumnType::Int));
        let bytes = raw("{ map = [[\"y\", 2], [\"x\", 1]] }", &kind);
        assert_eq!(show(&kind, Some(&bytes)), "map<text, int>[\"x\", 1, \"y\", 2]");
        assert_eq!(show(&kind, Some(&bytes[..9])), "0x000000020000000178");
    }
}
