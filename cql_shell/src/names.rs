//! Names of the schema, for completion, and the words to complete a line with.

/// Most names kept of each kind.
pub(crate) const NAMES_MAX: usize = 10_000;
/// Most words offered.
const OFFERED_MAX: usize = 200;

const KEYWORDS: [&str; 62] = [
    "ALTER",
    "AND",
    "APPLY",
    "ASC",
    "BATCH",
    "BEGIN",
    "BETWEEN",
    "BY",
    "CLUSTERING",
    "COMMIT",
    "CONSISTENCY",
    "CONTAINS",
    "CREATE",
    "DELETE",
    "DESC",
    "DESCRIBE",
    "DROP",
    "END",
    "EXISTS",
    "EXIT",
    "EXPAND",
    "FROM",
    "FULL",
    "HELP",
    "IF",
    "IN",
    "INSERT",
    "INTO",
    "IS",
    "JSON",
    "KEY",
    "KEYSPACE",
    "KEYSPACES",
    "LET",
    "LIMIT",
    "NOT",
    "NULL",
    "OFF",
    "ON",
    "ORDER",
    "PRIMARY",
    "QUIT",
    "REPLICATION",
    "SELECT",
    "SET",
    "SOURCE",
    "STATIC",
    "TABLE",
    "TABLES",
    "THEN",
    "TIMESTAMP",
    "TOKEN",
    "TRANSACTION",
    "TRANSACTIONAL_MODE",
    "TRUNCATE",
    "TTL",
    "UNLOGGED",
    "UPDATE",
    "USE",
    "USING",
    "VALUES",
    "WHERE",
];

/// Words in front of a table's name.
const BEFORE_TABLES: [&str; 5] = ["FROM", "INTO", "UPDATE", "TABLE", "TRUNCATE"];

/// The schema's names, as CQL must have them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Names {
    pub(crate) keyspaces: Vec<String>,
    /// Keyspace and table.
    pub(crate) tables: Vec<(String, String)>,
    pub(crate) columns: Vec<String>,
    /// The keyspace in use.
    pub(crate) used: Option<String>,
}

impl Names {
    /// Where the word before `position` begins, and what it may become.
    pub(crate) fn complete(&self, line: &str, position: usize) -> (usize, Vec<String>) {
        let before = line.get(..position).unwrap_or(line);
        let start = before
            .rfind(|c: char| !is_word(c))
            .map_or(0, |at| at + before[at..].chars().next().map_or(1, char::len_utf8));
        let (before, word) = before.split_at(start);
        let mut found = self.candidates(before, word);
        found.sort_unstable();
        found.dedup();
        found.truncate(OFFERED_MAX);
        (start, found)
    }

    fn candidates(&self, before: &str, word: &str) -> Vec<String> {
        if let Some(owner) = before.strip_suffix('.') {
            let owner = owner.rsplit(|c: char| !is_word(c)).next().unwrap_or("");
            let tables = self.tables.iter().filter(|(keyspace, _)| keyspace == owner).map(|(_, table)| table);
            let found = starting(tables, word);
            // behind a reference of a transaction, not a keyspace
            return if found.is_empty() { starting(self.columns.iter(), word) } else { found };
        }
        let last = before.trim_end().rsplit(|c: char| !is_word(c)).next().unwrap_or("").to_ascii_uppercase();
        if last == "USE" || last == "KEYSPACE" {
            return starting(self.keyspaces.iter(), word);
        }
        let used = |keyspace: &String| self.used.as_ref() == Some(keyspace);
        let tables = self.tables.iter().filter(|(keyspace, _)| used(keyspace)).map(|(_, table)| table);
        if BEFORE_TABLES.contains(&last.as_str()) {
            return starting(tables.chain(&self.keyspaces), word);
        }
        if word.is_empty() {
            return Vec::new();
        }
        let mut found = starting(self.columns.iter().chain(tables).chain(&self.keyspaces), word);
        let (capitals, is_lower) = (word.to_ascii_uppercase(), word.chars().all(|c| !c.is_ascii_uppercase()));
        let keywords = KEYWORDS.iter().filter(|keyword| keyword.starts_with(&capitals));
        found.extend(keywords.map(|keyword| if is_lower { keyword.to_lowercase() } else { (*keyword).to_owned() }));
        found
    }
}

fn starting<'a>(names: impl Iterator<Item = &'a String>, word: &str) -> Vec<String> {
    names.filter(|name| name.starts_with(word)).cloned().collect()
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '"'
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn names() -> Names {
        Names {
            keyspaces: vec!["bank".to_owned(), "shop".to_owned()],
            tables: vec![("bank".to_owned(), "accounts".to_owned()), ("shop".to_owned(), "baskets".to_owned())],
            columns: vec!["balance".to_owned(), "owner".to_owned()],
            used: Some("bank".to_owned()),
        }
    }

    fn offered(line: &str) -> Vec<String> {
        names().complete(line, line.len()).1
    }

    #[test]
    fn tables_follow_from_and_keyspaces_follow_use() {
        assert_eq!(offered("SELECT * FROM "), ["accounts", "bank", "shop"]);
        assert_eq!(offered("SELECT * FROM shop.b"), ["baskets"]);
        assert_eq!(offered("use s"), ["shop"]);
    }

    #[test]
    fn keywords_keep_the_case_of_what_was_typed() {
        assert_eq!(offered("sel"), ["select"]);
        assert_eq!(offered("SEL"), ["SELECT"]);
        assert_eq!(offered("SELECT ba"), ["balance", "bank", "batch"]);
        assert_eq!(offered("SELECT a.ow"), ["owner"]);
        assert!(offered("SELECT ").is_empty());
    }

    #[test]
    fn word_begins_behind_the_last_mark() {
        assert_eq!(names().complete("SELECT é(bal", "SELECT é(bal".len()), (10, vec!["balance".to_owned()]));
    }

    proptest! {
        #[test]
        fn law_no_line_panics(line: String, position: usize) {
            let (start, _) = names().complete(&line, position % (line.len() + 2));
            prop_assert!(line.is_char_boundary(start));
        }
    }
}
