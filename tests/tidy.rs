//! The rules of the house that a program can check.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Every room and the rooms it may import; `accordd` itself may import all.
const ARROWS: [(&str, &[&str]); 13] = [
    ("protocol", &[]),
    ("auth", &["protocol"]),
    ("command_store", &["protocol", "auth"]),
    ("coordinator", &["protocol", "auth"]),
    ("journal", &["protocol"]),
    ("cql_txn", &["protocol"]),
    ("cql_server", &["protocol", "cql_txn", "auth"]),
    ("transport", &["protocol", "auth"]),
    ("client", &["protocol", "auth"]),
    ("cql_shell", &["client"]),
    ("sim", &["protocol", "command_store", "coordinator", "journal", "cql_txn", "auth"]),
    ("workload", &["protocol", "client"]),
    ("fuzz", &["protocol", "auth", "journal", "cql_txn", "cql_server", "transport"]),
];

/// Rooms in which nothing waits and nothing depends on the order of a hash.
const PURE: [&str; 6] = ["protocol", "auth", "command_store", "coordinator", "cql_txn", "sim"];

/// Longest file, its tests at the bottom not counted.
const LINES_MAX: usize = 600;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// All files below `dir` whose name ends in `ending`.
fn files(dir: &Path, ending: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let Ok(entries) = fs::read_dir(dir) else { return found };
    for path in entries.map(|entry| entry.expect("readable").path()) {
        if path.is_dir() {
            found.extend(files(&path, ending));
        } else if path.to_string_lossy().ends_with(ending) {
            found.push(path);
        }
    }
    found.sort();
    found
}

fn sources() -> Vec<PathBuf> {
    let rooms = ARROWS
        .iter()
        .flat_map(|(room, _)| ["src", "tests", "examples", "benches"].map(|dir| root().join(room).join(dir)));
    let own = ["src", "tests", "benches"].map(|dir| root().join(dir));
    rooms.chain(own).flat_map(|dir| files(&dir, ".rs")).collect()
}

/// Code lines: those that are no comment, without what follows `//`.
fn code(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let lines = text.lines().enumerate().map(|(at, line)| (at + 1, line.split("//").next().unwrap_or("")));
    lines.filter(|(_, line)| !line.trim().is_empty())
}

fn assert_none(found: &[String], rule: &str) {
    assert!(found.is_empty(), "{rule}:\n{}", found.join("\n"));
}

#[test]
fn pure_rooms_never_wait() {
    let mut found = Vec::new();
    for path in PURE.iter().flat_map(|room| files(&root().join(room).join("src"), ".rs")) {
        if path.ends_with("actor.rs") {
            continue;
        }
        let text = read(&path);
        let waits = |line: &str| {
            let is_await = line.match_indices(".await").any(|(at, word)| {
                !line[at + word.len()..].starts_with(|next: char| next.is_alphanumeric() || next == '_')
            });
            is_await || line.contains("async ")
        };
        found.extend(code(&text).filter(|(_, line)| waits(line)).map(|(at, _)| format!("{}:{at}", path.display())));
    }
    assert_none(&found, "a pure room awaits");
}

#[test]
fn pure_rooms_use_no_hash_of_unknown_order() {
    let mut found = Vec::new();
    for path in PURE.iter().flat_map(|room| files(&root().join(room).join("src"), ".rs")) {
        let text = read(&path);
        let hashes = |line: &str| {
            let words: Vec<&str> = line.split(|c: char| !c.is_alphanumeric() && c != '_').collect();
            ["HashMap", "HashSet", "RandomState"].iter().any(|word| words.contains(word))
        };
        found.extend(code(&text).filter(|(_, line)| hashes(line)).map(|(at, _)| format!("{}:{at}", path.display())));
    }
    assert_none(&found, "a pure room uses a randomly ordered collection");
}

#[test]
fn pure_rooms_forbid_clocks_and_threads() {
    for room in PURE {
        let path = root().join(room).join("clippy.toml");
        let text = read(&path);
        for word in ["std::time::Instant::now", "std::time::SystemTime::now", "std::thread::spawn", "HashMap"] {
            assert!(text.contains(word), "{} does not forbid {word}", path.display());
        }
    }
}

#[test]
fn rooms_import_only_what_the_arrows_allow() {
    let rooms: BTreeSet<&str> = ARROWS.iter().map(|(room, _)| *room).collect();
    let mut found = Vec::new();
    for (room, allowed) in ARROWS {
        let text = read(&root().join(room).join("Cargo.toml"));
        let manifest: toml::Table = text.parse().expect("valid manifest");
        for table in ["dependencies", "build-dependencies"] {
            let dependencies = manifest.get(table).and_then(toml::Value::as_table);
            let names = dependencies.into_iter().flat_map(|table| table.keys());
            let foreign = names.filter(|name| rooms.contains(name.as_str()) && !allowed.contains(&name.as_str()));
            found.extend(foreign.map(|name| format!("{room} -> {name}")));
        }
    }
    assert_none(&found, "an arrow that the house does not have");
}

#[test]
fn every_room_is_a_member_and_known_here() {
    let manifest: toml::Table = read(&root().join("Cargo.toml")).parse().expect("valid manifest");
    let members = manifest["workspace"]["members"].as_array().expect("members");
    let members: BTreeSet<&str> = members.iter().filter_map(toml::Value::as_str).filter(|name| *name != ".").collect();
    assert_eq!(members, ARROWS.iter().map(|(room, _)| *room).collect());
}

#[test]
fn one_generation_of_cryptography_is_locked() {
    let lock = read(&root().join("Cargo.lock"));
    assert_eq!(lock.matches("\nname = \"digest\"\n").count(), 1, "Cargo.lock");
    assert_eq!(lock.matches("\nname = \"sha2\"\n").count(), 1, "Cargo.lock");
}

#[test]
fn licence_is_here_and_named_by_every_room() {
    let text = read(&root().join("LICENSE"));
    assert!(text.contains("Apache License") && text.contains("END OF TERMS AND CONDITIONS"));
    for (room, _) in ARROWS {
        assert!(read(&root().join(room).join("Cargo.toml")).contains("license.workspace = true"), "{room}");
    }
}

#[test]
fn reference_toml_is_complete() {
    let path = root().join("config/reference.toml");
    let wanted = accordd::config::reference_text();
    assert!(read(&path) == wanted, "{} differs; run `cargo run -- config > config/reference.toml`", path.display());
}

#[test]
fn ready_made_configurations_are_valid() {
    for path in files(&root().join("config"), ".toml") {
        if !path.ends_with("reference.toml") {
            accordd::config::Config::read(&path).unwrap_or_else(|error| panic!("{error}"));
        }
    }
}

#[test]
fn no_file_is_too_long_to_hold_one_thing() {
    let mut found = Vec::new();
    for path in sources() {
        let text = read(&path);
        let lines = text.lines().take_while(|line| *line != "mod tests {").count();
        if lines > LINES_MAX {
            found.push(format!("{}: {lines} lines, at most {LINES_MAX}", path.display()));
        }
    }
    assert_none(&found, "a file to split");
}

#[test]
fn documents_name_paths_that_exist() {
    let documents = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md"].map(|name| root().join(name));
    let documents = documents.into_iter().chain(files(&root().join("docs"), ".md"));
    let tops: BTreeSet<String> = fs::read_dir(root())
        .expect("readable")
        .map(|entry| entry.expect("readable").file_name().to_string_lossy().into_owned())
        .collect();
    let mut found = Vec::new();
    for document in documents {
        for (at, line) in read(&document).lines().enumerate() {
            // words in single back-ticks, at the odd places of the line
            for word in line.split('`').skip(1).step_by(2) {
                let is_path = word.contains('/') && word.chars().all(|c| c.is_alphanumeric() || "/._-".contains(c));
                let top = word.trim_start_matches("./").split('/').next().unwrap_or("");
                let is_made = ["target", "data", ".venv"].contains(&top);
                if is_path && tops.contains(top) && !is_made && !root().join(word).exists() {
                    found.push(format!("{}:{}: {word}", document.display(), at + 1));
                }
            }
        }
    }
    assert_none(&found, "a document names a path that does not exist");
}
