//! The text of a file and where in it things stand, for refusals that name line and key.

use super::problem::Problem;
use super::reference;
use crate::Error;
use std::ops::Range;
use std::path::Path;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A configuration is a page of text; anything larger is another file.
const FILE_MAX: u64 = 1 << 20;
/// Values longer than this are cut in messages.
const VALUE_SHOWN: usize = 60;

/// A file's name and text.
pub(crate) struct Source {
    name: String,
    text: String,
}

impl Source {
    pub(crate) fn new(name: &str, text: String) -> Self {
        Self { name: name.to_owned(), text }
    }

    pub(crate) fn read(path: &Path) -> Result<Self, Error> {
        let name = path.display();
        let wrong = |error: std::io::Error| Error::Config(format!("{name}: cannot be read: {error}; check the path"));
        let size = std::fs::metadata(path).map_err(wrong)?.len();
        if size > FILE_MAX {
            let text = format!("{name}: {size} bytes; a configuration has at most {FILE_MAX}, is this another file?");
            return Err(Error::Config(text));
        }
        let text = std::fs::read_to_string(path).map_err(wrong)?;
        Ok(Self::new(&name.to_string(), text))
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    fn at(&self, offset: usize, text: &str) -> Error {
        let line = 1 + self.text.bytes().take(offset).filter(|byte| *byte == b'\n').count();
        Error::Config(format!("{}:{line}: {text}", self.name))
    }

    /// Refuses keys that mean nothing, with the nearest one that does.
    pub(crate) fn check_keys(&self) -> Result<(), Error> {
        let table = DeTable::parse(&self.text).map_err(|error| self.refused(&error))?;
        for (section, value) in table.get_ref() {
            let known = reference::section_keys(section.get_ref());
            let (Some(known), DeValue::Table(keys)) = (known, value.get_ref()) else {
                return Err(self.at(section.span().start, &unknown_section(section.get_ref())));
            };
            for (key, value) in keys {
                if !known.contains(&key.get_ref().as_ref()) {
                    let text = unknown_key(section.get_ref(), key.get_ref(), &known);
                    return Err(self.at(key.span().start, &text));
                }
                if let ("cluster", "nodes", DeValue::Array(nodes)) =
                    (section.get_ref().as_ref(), key.get_ref().as_ref(), value.get_ref())
                {
                    nodes.iter().try_for_each(|node| self.check_entry(node))?;
                }
            }
        }
        Ok(())
    }

    fn check_entry(&self, node: &Spanned<DeValue<'_>>) -> Result<(), Error> {
        let DeValue::Table(keys) = node.get_ref() else { return Ok(()) };
        let known = reference::entry_keys();
        match keys.keys().find(|key| !known.contains(&key.get_ref().as_ref())) {
            Some(key) => Err(self.at(key.span().start, &unknown_key("cluster", key.get_ref(), known))),
            None => Ok(()),
        }
    }

    /// What the TOML reader refused, with place, key and value.
    pub(crate) fn refused(&self, error: &toml::de::Error) -> Error {
        let message = error.message().replace('\n', ", ");
        let Some(span) = error.span() else {
            return Error::Config(format!("{}: the file as a whole: {message}", self.name));
        };
        let found = DeTable::parse(&self.text).ok().and_then(|table| key_at(table.get_ref(), &span));
        match found {
            Some((section, key)) => {
                let value: String = self.text.get(span.clone()).unwrap_or("").chars().take(VALUE_SHOWN).collect();
                let remedy = reference::comment_of(&section, &key).map_or(String::new(), |text| format!(" ({text})"));
                let value = value.lines().next().unwrap_or("");
                self.at(span.start, &format!("[{section}] {key} = {value}: {message}{remedy}"))
            }
            None => self.at(span.start, &message),
        }
    }

    /// The place of a value that is wrong by the rules of `validate`.
    pub(crate) fn problem(&self, problem: &Problem) -> Error {
        let place = DeTable::parse(&self.text).ok().and_then(|table| place_of(table.get_ref(), problem));
        place.map_or_else(
            || Error::Config(format!("{}: {problem}", self.name)),
            |offset| self.at(offset, &problem.to_string()),
        )
    }
}

fn unknown_section(name: &str) -> String {
    let sections = reference::sections();
    if let Some(home) = reference::home_of(name) {
        return format!("key {name:?} stands outside any section; it belongs to [{home}]");
    }
    if sections.contains(&name) {
        return format!("{name} is a section; write [{name}] on a line of its own");
    }
    let shown: String = name.chars().take(VALUE_SHOWN).collect();
    match nearest(name, &sections) {
        Some(near) => format!("unknown section [{shown}]; did you mean [{near}]?"),
        None => format!("unknown section [{shown}]; there are {}", sections.join(", ")),
    }
}

fn unknown_key(section: &str, name: &str, known: &[&str]) -> String {
    let shown: String = name.chars().take(VALUE_SHOWN).collect();
    if let Some(near) = nearest(name, known) {
        return format!("[{section}] unknown key {shown:?}; did you mean {near:?}?");
    }
    match reference::home_of(name) {
        Some(home) => format!("[{section}] unknown key {shown:?}; it belongs to [{home}]"),
        None => format!("[{section}] unknown key {shown:?}; there are {}", known.join(", ")),
    }
}

/// The one of `known` that is at most a third of its letters away.
fn nearest<'a>(name: &str, known: &[&'a str]) -> Option<&'a str> {
    let name: String = name.chars().take(VALUE_SHOWN).collect();
    let near = known.iter().map(|key| (distance(&name, key), *key)).min()?;
    (near.0 <= near.1.len().div_ceil(3)).then_some(near.1)
}

/// Letters to insert, drop or replace to get from one word to the other.
fn distance(from: &str, to: &str) -> usize {
    let to: Vec<char> = to.chars().collect();
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (at, letter) in from.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = at + 1;
        for column in 0..to.len() {
            let replaced = diagonal + usize::from(letter != to[column]);
            diagonal = row[column + 1];
            row[column + 1] = replaced.min(diagonal + 1).min(row[column] + 1);
        }
    }
    row[to.len()]
}

/// Section and key whose value covers `span`.
fn key_at(table: &DeTable<'_>, span: &Range<usize>) -> Option<(String, String)> {
    let covers = |outer: Range<usize>| outer.start <= span.start && span.end <= outer.end;
    for (section, value) in table {
        let DeValue::Table(keys) = value.get_ref() else { continue };
        if let Some((key, _)) = keys.iter().find(|(_, value)| covers(value.span())) {
            return Some((section.get_ref().to_string(), key.get_ref().to_string()));
        }
    }
    None
}

/// Offset of the value a problem is about: the key's, the entry's, else the section's.
fn place_of(table: &DeTable<'_>, problem: &Problem) -> Option<usize> {
    let (section, value) = table.iter().find(|(name, _)| name.get_ref() == problem.section)?;
    let DeValue::Table(keys) = value.get_ref() else { return None };
    let Some((name, value)) = keys.iter().find(|(name, _)| name.get_ref() == problem.key) else {
        return Some(section.span().start);
    };
    let entry = match (problem.entry, value.get_ref()) {
        (Some((at, key)), DeValue::Array(nodes)) => nodes.get(at).map(|node| place_in_entry(node, key)),
        _ => None,
    };
    Some(entry.unwrap_or(name.span().start))
}

fn place_in_entry(node: &Spanned<DeValue<'_>>, key: &str) -> usize {
    let DeValue::Table(keys) = node.get_ref() else { return node.span().start };
    let found = keys.keys().find(|name| name.get_ref() == key);
    found.map_or(node.span().start, |name| name.span().start)
}
