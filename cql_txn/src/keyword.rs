//! Which words belong to the language.
//!
//! *Source*: [CQL 1.1] and the lexical appendix of the CQL manual. LET, THEN, END, COMMIT and TRANSACTION are ordinary words.

/// Words that name nothing unless quoted. Sorted.
#[rustfmt::skip]
const RESERVED: [&str; 62] = [
    "add", "allow", "alter", "and", "apply", "asc", "authorize", "batch", "begin", "by", "columnfamily", "create",
    "default", "delete", "desc", "describe", "drop", "entries", "execute", "from", "full", "grant", "if", "in",
    "index", "infinity", "insert", "into", "is", "keyspace", "limit", "materialized", "mbean", "mbeans", "modify",
    "nan", "norecursive", "not", "null", "of", "on", "or", "order", "primary", "rename", "replace", "revoke",
    "schema", "select", "set", "table", "to", "token", "truncate", "unlogged", "unset", "update", "use", "using",
    "view", "where", "with",
];

/// Words with a meaning somewhere that may still be names, but not the name of a LET. Sorted.
#[rustfmt::skip]
const UNRESERVED: [&str; 88] = [
    "access", "aggregate", "aggregates", "all", "as", "ascii", "between", "bigint", "blob", "boolean", "called",
    "cast", "clustering", "commit", "compact", "contains", "count", "counter", "custom", "datacenters", "date",
    "decimal", "distinct", "double", "duration", "end", "exists", "filtering", "finalfunc", "float", "frozen",
    "function", "functions", "group", "hashed", "inet", "initcond", "input", "int", "json", "key", "keys",
    "keyspaces", "language", "let", "like", "list", "login", "map", "masked", "nologin", "nosuperuser", "options",
    "partition", "password", "per", "permission", "permissions", "returns", "role", "roles", "select_masked", "sfunc",
    "smallint", "static", "storage", "stype", "superuser", "text", "then", "time", "timestamp", "timeuuid", "tinyint",
    "transaction", "trigger", "ttl", "tuple", "type", "unmask", "user", "users", "uuid", "values", "varchar",
    "varint", "vector", "writetime",
];

const LONGEST: usize = 13;

/// Whether `word`, in any case, must be quoted to be a name.
pub(crate) fn is_reserved(word: &str) -> bool {
    listed(&RESERVED, word)
}

/// Whether `word`, in any case, is a word of the language at all.
pub(crate) fn is_keyword(word: &str) -> bool {
    is_reserved(word) || listed(&UNRESERVED, word)
}

fn listed(list: &[&str], word: &str) -> bool {
    let mut lower = [0; LONGEST];
    let Some(lower) = lower.get_mut(..word.len()) else { return false };
    lower.copy_from_slice(word.as_bytes());
    lower.make_ascii_lowercase();
    list.binary_search_by(|known| known.as_bytes().cmp(lower)).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_sorted_and_fit_the_longest_word() {
        for list in [&RESERVED[..], &UNRESERVED[..]] {
            assert!(list.is_sorted() && list.iter().all(|word| word.len() <= LONGEST));
        }
    }

    #[test]
    fn case_does_not_matter_and_transaction_words_are_free() {
        assert!(is_reserved("SeLeCt") && is_keyword("User") && !is_reserved("user"));
        assert!(
            !is_reserved("let") && !is_reserved("commit") && !is_keyword("balance") && !is_keyword("a_very_long_name")
        );
    }
}
