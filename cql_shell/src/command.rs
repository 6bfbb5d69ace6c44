//! What a statement asks for: something of the shell itself, or text for the server.

use client::Consistency;

/// A statement by what the shell does with it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Command {
    /// Everything that goes to the server as it is, `USE` among it.
    Server,
    Help,
    Exit,
    Describe(Describe),
    /// Shows the level, or sets it.
    Consistency(Option<Consistency>),
    Source(String),
    /// Shows whether rows are printed as blocks, or sets it.
    Expand(Option<bool>),
}

/// What to describe; names are as the server keeps them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Describe {
    Keyspaces,
    Tables,
    Keyspace(Option<String>),
    Table { keyspace: Option<String>, table: String },
}

/// The levels by the names CQL gives them.
pub(crate) const LEVELS: [(&str, Consistency); 11] = [
    ("ANY", Consistency::Any),
    ("ONE", Consistency::One),
    ("TWO", Consistency::Two),
    ("THREE", Consistency::Three),
    ("QUORUM", Consistency::Quorum),
    ("ALL", Consistency::All),
    ("LOCAL_QUORUM", Consistency::LocalQuorum),
    ("EACH_QUORUM", Consistency::EachQuorum),
    ("SERIAL", Consistency::Serial),
    ("LOCAL_SERIAL", Consistency::LocalSerial),
    ("LOCAL_ONE", Consistency::LocalOne),
];

/// Reads a statement's first words.
///
/// *Errors*: a sentence, for a command of the shell that is not well formed.
pub(crate) fn parse(text: &str) -> Result<Command, String> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let capitals: Vec<String> = words.iter().take(3).map(|word| word.to_ascii_uppercase()).collect();
    let capitals: Vec<&str> = capitals.iter().map(String::as_str).collect();
    match (capitals.as_slice(), words.len()) {
        (["HELP" | "EXIT" | "QUIT" | "EXPAND" | "CONSISTENCY" | "SOURCE" | "DESC" | "DESCRIBE", ..], _) => {}
        _ => return Ok(Command::Server),
    }
    match capitals.as_slice() {
        ["HELP", ..] => Ok(Command::Help),
        ["EXIT" | "QUIT"] => Ok(Command::Exit),
        ["EXPAND"] => Ok(Command::Expand(None)),
        ["EXPAND", "ON"] => Ok(Command::Expand(Some(true))),
        ["EXPAND", "OFF"] => Ok(Command::Expand(Some(false))),
        ["CONSISTENCY"] => Ok(Command::Consistency(None)),
        ["CONSISTENCY", level] if words.len() == 2 => consistency(level),
        ["SOURCE", ..] => file_name(text).map(Command::Source),
        ["DESC" | "DESCRIBE", rest @ ..] => describe(rest, &words),
        [first, ..] => Err(format!("{first} does not take these words; HELP shows what it takes")),
        [] => Ok(Command::Server),
    }
}

fn consistency(level: &str) -> Result<Command, String> {
    let found = LEVELS.iter().find(|(name, _)| *name == level);
    found.map(|(_, level)| Command::Consistency(Some(*level))).ok_or_else(|| {
        let names: Vec<&str> = LEVELS.iter().map(|(name, _)| *name).collect();
        format!("no consistency level {level}; there are {}", names.join(", "))
    })
}

/// The file's name, in quotes or not.
fn file_name(text: &str) -> Result<String, String> {
    let rest = text.split_once(char::is_whitespace).map_or("", |(_, rest)| rest.trim());
    let quoted = rest.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\''));
    let name = quoted.map_or_else(|| rest.to_owned(), |name| name.replace("''", "'"));
    if name.is_empty() { Err("SOURCE takes a file: SOURCE 'schema.cql'".to_owned()) } else { Ok(name) }
}

fn describe(kind: &[&str], words: &[&str]) -> Result<Command, String> {
    let usage = || "DESCRIBE takes KEYSPACES, TABLES, KEYSPACE [name] or TABLE [keyspace.]name".to_owned();
    // a name that is no plain word may hold blanks
    let name = || Some(words.get(2..)?.join(" ")).filter(|name| !name.is_empty());
    let what = match kind {
        ["KEYSPACES"] => Describe::Keyspaces,
        ["TABLES"] => Describe::Tables,
        ["KEYSPACE", ..] => match name().map(|name| names(&name).ok_or_else(usage)).transpose()? {
            None => Describe::Keyspace(None),
            Some((None, keyspace)) => Describe::Keyspace(Some(keyspace)),
            Some((Some(_), _)) => return Err(usage()),
        },
        ["TABLE", ..] => {
            let (keyspace, table) = name().and_then(|name| names(&name)).ok_or_else(usage)?;
            Describe::Table { keyspace, table }
        }
        _ => return Err(usage()),
    };
    Ok(Command::Describe(what))
}

/// Cuts `[keyspace.]name`; either may be in double quotes.
fn names(text: &str) -> Option<(Option<String>, String)> {
    let (first, rest) = one_name(text)?;
    match rest.trim_start().strip_prefix('.') {
        None if rest.trim().is_empty() => Some((None, first)),
        None => None,
        Some(rest) => {
            let (second, rest) = one_name(rest.trim_start())?;
            rest.trim().is_empty().then_some((Some(first), second))
        }
    }
}

fn one_name(text: &str) -> Option<(String, &str)> {
    let Some(quoted) = text.strip_prefix('"') else {
        let end = text.find(|c: char| c == '.' || c.is_whitespace()).unwrap_or(text.len());
        return (end > 0).then(|| (text[..end].to_lowercase(), &text[end..]));
    };
    let mut name = String::new();
    let mut rest = quoted;
    loop {
        let (before, after) = rest.split_once('"')?;
        name.push_str(before);
        match after.strip_prefix('"') {
            Some(more) => {
                name.push('"');
                rest = more;
            }
            None => return Some((name, after)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn table(keyspace: Option<&str>, table: &str) -> Result<Command, String> {
        Ok(Command::Describe(Describe::Table { keyspace: keyspace.map(str::to_owned), table: table.to_owned() }))
    }

    #[test]
    fn commands_are_told_from_statements() {
        for text in ["SELECT 1", "USE bank", "BEGIN TRANSACTION", "helper", "- 1"] {
            assert_eq!(parse(text), Ok(Command::Server), "{text}");
        }
        assert_eq!(parse("help me"), Ok(Command::Help));
        assert_eq!(parse("Quit"), Ok(Command::Exit));
        assert_eq!(parse("expand on"), Ok(Command::Expand(Some(true))));
        assert_eq!(parse("consistency local_one"), Ok(Command::Consistency(Some(Consistency::LocalOne))));
        assert_eq!(parse("SOURCE 'it''s a file.cql'"), Ok(Command::Source("it's a file.cql".to_owned())));
    }

    #[test]
    fn described_names_fold_unless_quoted() {
        assert_eq!(parse("DESC TABLE Bank.Accounts"), table(Some("bank"), "accounts"));
        assert_eq!(parse("describe table \"A b\".\"c\"\"d\""), table(Some("A b"), "c\"d"));
        assert_eq!(parse("desc keyspace"), Ok(Command::Describe(Describe::Keyspace(None))));
        assert_eq!(parse("desc keyspace K"), Ok(Command::Describe(Describe::Keyspace(Some("k".to_owned())))));
    }

    #[test]
    fn commands_that_are_not_well_formed_say_what_they_take() {
        for text in
            ["exit now", "expand maybe", "consistency many", "source", "describe", "desc table", "desc table a.b.c"]
        {
            assert!(parse(text).is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn law_no_text_panics(rest: String) {
            for word in ["DESC TABLE ", "DESC KEYSPACE ", "SOURCE ", "CONSISTENCY ", ""] {
                let _ = parse(&format!("{word}{rest}"));
            }
        }
    }
}
