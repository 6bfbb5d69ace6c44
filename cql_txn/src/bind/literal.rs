//! Terms as sources of values of a type.

use super::{Binder, ColumnSpec};
use crate::ast::{Name, Term, TermKind};
use crate::error::Error;
use crate::template::{PartUse, Source};
use crate::value::{ScalarText, Type, composite, from_text};
use std::borrow::Cow;

impl Binder<'_> {
    /// The source of a value for `column` of `table`.
    pub(super) fn source(&mut self, table: usize, column: usize, term: &Term) -> Result<Source, Error> {
        let column = self.column_at(table, column);
        let spec = self.tables[table].spec(column);
        self.source_of(spec, term)
    }

    /// The source of a value for a variable of the form `spec`.
    pub(super) fn source_of(&mut self, mut spec: ColumnSpec, term: &Term) -> Result<Source, Error> {
        if let TermKind::Marker(index) = &term.kind {
            let (ty, place) = (spec.ty.clone(), usize::from(*index));
            if let Some(name) = self.markers.get(place).and_then(|marker| marker.name.clone()) {
                spec.name = name;
            }
            if let Some(variable) = self.variables.get_mut(place) {
                *variable = Some(spec);
            }
            return Ok(Source::Marker { index: *index, ty });
        }
        let wrong = |why: String| Error::invalid(term.at, format!("column {}: {why}", spec.name));
        let constant = match &term.kind {
            TermKind::Null => return Ok(Source::Null),
            TermKind::Integer(digits) => ScalarText::Integer(digits),
            TermKind::Float(digits) => ScalarText::Float(digits),
            TermKind::Text(text) => ScalarText::Text(text),
            TermKind::Boolean(value) => ScalarText::Boolean(*value),
            TermKind::Blob(bytes) => ScalarText::Blob(bytes),
            TermKind::Uuid(text) => ScalarText::Uuid(text),
            kind => {
                let parts = part_types(&spec.ty, kind).map_err(wrong)?;
                return self.composite_of(&spec, parts, term);
            }
        };
        from_text(&spec.ty, constant).map(Source::Bytes).map_err(wrong)
    }

    /// A value put together from terms, at once if they are all constants.
    fn composite_of(
        &mut self,
        spec: &ColumnSpec,
        terms: Vec<(Type, Option<&Term>)>,
        term: &Term,
    ) -> Result<Source, Error> {
        let mut parts = Vec::with_capacity(terms.len());
        for (ty, part) in terms {
            parts.push(match part {
                Some(part) => self.source_of(ColumnSpec { ty, ..spec.clone() }, part)?,
                None => Source::Null,
            });
        }
        let known = parts.iter().map(|part| match part {
            Source::Bytes(bytes) => Some(Some(Cow::Borrowed(&bytes[..]))),
            Source::Null => Some(None),
            _ => None,
        });
        match known.collect::<Option<Vec<_>>>() {
            Some(known) => composite(&spec.ty, known)
                .map(Source::Bytes)
                .map_err(|why| Error::invalid(term.at, format!("column {}: {why}", spec.name))),
            None => Ok(Source::Composite { ty: spec.ty.clone(), parts }),
        }
    }

    /// A part of a column of the form `spec`: where it is found, and the form of its value.
    pub(super) fn part_of(
        &mut self,
        spec: &ColumnSpec,
        part: Option<&crate::ast::Part>,
    ) -> Result<(PartUse, ColumnSpec), Error> {
        use crate::ast::Part;
        let wrong = |at, what: &str| {
            let message = format!("column {} of type {} has no {what}", spec.name, spec.ty.cql_name());
            Error::invalid(at, message)
        };
        let of = |ty: &Type, name: String| ColumnSpec { ty: ty.clone(), name, ..spec.clone() };
        match part {
            None => Ok((PartUse::Whole, spec.clone())),
            Some(Part::Element(term)) => {
                let (key, value) = match spec.ty.thawed() {
                    Type::List(of) => (&Type::Int, &**of),
                    Type::Set(of) => (&**of, &**of),
                    Type::Map(of) => (&of.0, &of.1),
                    _ => return Err(wrong(term.at, "elements")),
                };
                let source = self.source_of(of(key, spec.name.clone()), term)?;
                let shown = match &source {
                    Source::Bytes(bytes) => {
                        let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
                        format!("{}[0x{digits}]", spec.name)
                    }
                    Source::Null => {
                        return Err(Error::invalid(term.at, "the index or key of an element may not be null"));
                    }
                    _ => format!("{}[?]", spec.name),
                };
                Ok((PartUse::Element(source), of(value, shown)))
            }
            Some(Part::Field(Name { text, at })) => {
                let Type::User(user) = spec.ty.thawed() else { return Err(wrong(*at, "fields")) };
                let Some(number) = user.fields.iter().position(|(name, _)| name == text) else {
                    return Err(wrong(*at, &format!("field {text}")));
                };
                let shown = format!("{}.0x{number:04x}", spec.name);
                Ok((PartUse::Field(number as u16), of(&user.fields[number].1, shown)))
            }
        }
    }
}

/// The types of the terms in a bracketed value, in the order in which they are stored.
fn part_types<'t>(ty: &Type, kind: &'t TermKind) -> Result<Vec<(Type, Option<&'t Term>)>, String> {
    Ok(match (ty.thawed(), kind) {
        (Type::List(of), TermKind::List(terms)) | (Type::Set(of), TermKind::Set(terms)) => {
            terms.iter().map(|term| ((**of).clone(), Some(term))).collect()
        }
        (Type::Map(of), TermKind::Map(entries)) => {
            let entry = |(key, value)| [(of.0.clone(), Some(key)), (of.1.clone(), Some(value))];
            entries.iter().map(|(key, value)| (key, value)).flat_map(entry).collect()
        }
        (Type::Map(_), TermKind::Set(terms)) if terms.is_empty() => Vec::new(),
        (Type::Tuple(of), TermKind::Tuple(terms)) if terms.len() <= of.len() => {
            of.iter().enumerate().map(|(at, ty)| (ty.clone(), terms.get(at))).collect()
        }
        (Type::User(of), TermKind::Set(terms)) if terms.is_empty() => {
            of.fields.iter().map(|(_, ty)| (ty.clone(), None)).collect()
        }
        (Type::User(of), TermKind::Fields(fields)) => {
            let unknown = fields.iter().find(|(name, _)| of.fields.iter().all(|(known, _)| *known != name.text));
            if let Some((name, _)) = unknown {
                return Err(format!("type {} has no field {}", of.name, name.text));
            }
            let term = |wanted: &str| fields.iter().find(|(name, _)| name.text == wanted).map(|(_, term)| term);
            of.fields.iter().map(|(name, ty)| (ty.clone(), term(name))).collect()
        }
        (ty, _) => return Err(format!("a value of type {} expected, found a value in other brackets", ty.cql_name())),
    })
}
