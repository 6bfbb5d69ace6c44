//! INSERT JSON: an object as columns and their terms.

use super::Binder;
use crate::ast::{Name, Operand, Term, TermKind};
use crate::encoding::unhex;
use crate::error::{At, Error};
use crate::value::Type;
use serde_json::Value;

impl Binder<'_> {
    /// The columns of `table` and their values as `text` gives them; those it does not name are null unless `keeps_others`.
    pub(super) fn json_values(
        &mut self,
        table: usize,
        (text, at): (&str, At),
        keeps_others: bool,
    ) -> Result<Vec<(Name, Operand)>, Error> {
        let wrong = |why: String| Error::invalid(at, why);
        let parsed: Value = serde_json::from_str(text).map_err(|why| wrong(format!("this is no JSON: {why}")))?;
        let Value::Object(fields) = parsed else {
            return Err(wrong("INSERT JSON takes an object with a field for each column".to_owned()));
        };
        let mut values = Vec::with_capacity(fields.len());
        for (key, value) in &fields {
            let name = Name { text: column_name(key), at };
            let column = self.column(table, &name)?;
            let column = self.column_at(table, column);
            let kind = term(&column.ty, value, at).map_err(|why| wrong(format!("column {}: {why}", column.name)))?;
            values.push((name, Operand::Term(Term { kind, at })));
        }
        if !keeps_others {
            for column in &self.tables[table].table.columns {
                if values.iter().all(|(name, _)| name.text != column.name) {
                    let null = Term { kind: TermKind::Null, at };
                    values.push((Name { text: column.name.clone(), at }, Operand::Term(null)));
                }
            }
        }
        Ok(values)
    }
}

/// A field's name as a column's: folded unless it is quoted inside.
fn column_name(key: &str) -> String {
    match key.strip_prefix('"').and_then(|key| key.strip_suffix('"')) {
        Some(quoted) => quoted.to_owned(),
        None => key.to_ascii_lowercase(),
    }
}

fn term(ty: &Type, value: &Value, at: At) -> Result<TermKind, String> {
    let of = |ty: &Type, value: &Value| term(ty, value, at).map(|kind| Term { kind, at });
    Ok(match (ty.thawed(), value) {
        (_, Value::Null) => TermKind::Null,
        (_, Value::Bool(value)) => TermKind::Boolean(*value),
        (_, Value::Number(number)) => match number.to_string() {
            digits if digits.contains(['.', 'e', 'E']) => TermKind::Float(digits),
            digits => TermKind::Integer(digits),
        },
        (Type::Uuid | Type::TimeUuid, Value::String(text)) => TermKind::Uuid(text.clone()),
        (Type::Blob, Value::String(text)) => {
            let bytes = text.strip_prefix("0x").and_then(unhex);
            TermKind::Blob(bytes.ok_or_else(|| "a blob is written 0x and two digits for each byte".to_owned())?)
        }
        (Type::Text | Type::Ascii | Type::Inet | Type::Timestamp | Type::Date | Type::Time, Value::String(text)) => {
            TermKind::Text(text.clone())
        }
        (Type::Boolean, Value::String(text)) if text == "true" || text == "false" => TermKind::Boolean(text == "true"),
        (_, Value::String(text)) if text.contains(['.', 'e', 'E']) => TermKind::Float(text.clone()),
        (_, Value::String(text)) => TermKind::Integer(text.clone()),
        (Type::List(item), Value::Array(items)) => {
            TermKind::List(items.iter().map(|value| of(item, value)).collect::<Result<_, _>>()?)
        }
        (Type::Set(item), Value::Array(items)) => {
            TermKind::Set(items.iter().map(|value| of(item, value)).collect::<Result<_, _>>()?)
        }
        (Type::Tuple(types), Value::Array(items)) if types.len() == items.len() => {
            let items = types.iter().zip(items).map(|(ty, value)| of(ty, value));
            TermKind::Tuple(items.collect::<Result<_, _>>()?)
        }
        (Type::Map(entry), Value::Object(fields)) => {
            let entries = fields
                .iter()
                .map(|(key, value)| Ok((of(&entry.0, &Value::String(key.clone()))?, of(&entry.1, value)?)));
            TermKind::Map(entries.collect::<Result<_, String>>()?)
        }
        (Type::User(user), Value::Object(fields)) => {
            let fields = fields.iter().map(|(key, value)| {
                let known = user.fields.iter().find(|(name, _)| *name == column_name(key));
                let (name, ty) = known.ok_or_else(|| format!("type {} has no field {key}", user.name))?;
                Ok((Name { text: name.clone(), at }, of(ty, value)?))
            });
            TermKind::Fields(fields.collect::<Result<_, String>>()?)
        }
        (ty, _) => return Err(format!("a value of type {} expected", ty.cql_name())),
    })
}
