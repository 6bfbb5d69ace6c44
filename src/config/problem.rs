use std::fmt;

/// What is wrong with the value of a key, before it is known where in a file it stands.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Problem {
    pub(crate) section: &'static str,
    pub(crate) key: &'static str,
    /// Which entry of `[cluster] nodes`, and which of its keys.
    pub(crate) entry: Option<(usize, &'static str)>,
    /// What is wrong and what to do.
    pub(crate) text: String,
}

impl Problem {
    pub(crate) fn new(section: &'static str, key: &'static str, text: impl Into<String>) -> Self {
        Self { section, key, entry: None, text: text.into() }
    }

    pub(crate) fn of_entry(at: usize, key: &'static str, text: impl Into<String>) -> Self {
        Self { section: "cluster", key: "nodes", entry: Some((at, key)), text: text.into() }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { section, key, entry, text } = self;
        match entry {
            Some((_, of_entry)) => write!(f, "[{section}] {key}: {of_entry}: {text}"),
            None => write!(f, "[{section}] {key}: {text}"),
        }
    }
}
