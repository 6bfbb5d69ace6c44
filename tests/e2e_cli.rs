//! The commands as a user types them: the real binary, its words and its exit codes.

use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A directory that goes when the test ends well.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let dir = std::env::temp_dir().join(format!("accordd-cli-{name}-{}", std::process::id()));
        std::fs::create_dir_all(dir.join("config")).expect("created");
        Self(dir)
    }

    /// The ready-made file of three nodes, in a place of its own.
    fn three_node(&self, change: impl Fn(String) -> String) -> PathBuf {
        let path = self.0.join("config/three-node.toml");
        std::fs::write(&path, change(include_str!("../config/three-node.toml").to_owned())).expect("written");
        path
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }
}

fn accordd(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_accordd"))
        .args(arguments)
        .env_remove("ACCORDD_NODE")
        .env_remove("ACCORDD_CONFIG")
        .output()
        .expect("starts")
}

fn out(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn err(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn text(path: &Path) -> &str {
    path.to_str().expect("UTF-8")
}

#[test]
fn wrong_words_end_with_code_two() {
    for arguments in [&["frobnicate"][..], &[], &["sim", "replay", "x"], &["keygen"], &["status"]] {
        assert_eq!(accordd(arguments).status.code(), Some(2), "{arguments:?}");
    }
    let usage = accordd(&["workload", "simplebank", "run", "--customers", "2", "--type", "payroll"]);
    assert_eq!(usage.status.code(), Some(2), "{}", err(&usage));
}

#[test]
fn misspelt_key_is_refused_by_check_config() {
    let scratch = Scratch::new("misspelt");
    let path = scratch.three_node(|file| file + "\n[journal]\nsinc = \"group\"\n");
    let output = accordd(&["check-config", text(&path)]);
    assert_eq!(output.status.code(), Some(2));
    let error = err(&output);
    assert!(error.ends_with("[journal] unknown key \"sinc\"; did you mean \"sync\"?\n"), "{error}");
    assert!(error.starts_with(&format!("accordd: {}:", path.display())), "{error}");
    assert_eq!(error.lines().count(), 1, "{error}");
}

#[test]
fn valid_file_is_described() {
    let scratch = Scratch::new("valid");
    let path = scratch.three_node(|file| file);
    let output = accordd(&["check-config", text(&path), "--node", "2"]);
    assert!(output.status.success(), "{}", err(&output));
    assert!(out(&output).contains("node 3: peers 127.0.0.1:7403, clients 127.0.0.1:9044"));
    assert_eq!(accordd(&["check-config", text(&path), "--node", "4"]).status.code(), Some(2));
}

#[test]
fn config_prints_the_reference() {
    let output = accordd(&["config"]);
    assert!(output.status.success());
    assert_eq!(out(&output), include_str!("../config/reference.toml"));
}

#[test]
fn keys_are_made_where_the_file_says_and_never_twice() {
    let scratch = Scratch::new("keys");
    let path = scratch.three_node(|file| file);
    let output = accordd(&["keygen", "--config", text(&path)]);
    assert!(output.status.success(), "{}", err(&output));
    let keys = scratch.0.join("data/three-node/keys");
    for name in ["admin.secret", "node-1.key", "node-3.ecdh.key"] {
        let mode = std::fs::metadata(keys.join(name)).expect(name).permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
    let admin = std::fs::read_to_string(keys.join("admin.public")).expect("there");
    let admin = auth::keygen::parse_admin_public(&admin).expect("a public key");
    let record = std::fs::read_to_string(keys.join("node-2.identity")).expect("there");
    let record = auth::keygen::parse_identity(&record).expect("a record");
    let cluster = "3c0de0000000000000000000acc0fd03".parse().expect("an id");
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("after 1970").as_secs();
    assert_eq!(record.verify(&admin, cluster, now).expect("signed").id(), 2);

    let before = std::fs::read(keys.join("node-1.key")).expect("there");
    let again = accordd(&["keygen", "--config", text(&path)]);
    assert_eq!(again.status.code(), Some(1));
    assert!(err(&again).contains("keys are never overwritten"), "{}", err(&again));
    assert_eq!(std::fs::read(keys.join("node-1.key")).expect("there"), before);
}

#[test]
fn keys_for_a_directory_come_with_their_sections() {
    let scratch = Scratch::new("out");
    let dir = scratch.0.join("keys");
    let output = accordd(&["keygen", "--out", text(&dir), "--nodes", "2"]);
    assert!(output.status.success(), "{}", err(&output));
    let printed = out(&output);
    let sections = &printed[printed.find("[cluster]").expect("printed")..];
    let nodes = "nodes = [{ id = 1, peer_addr = \"127.0.0.1:1\" }, { id = 2, peer_addr = \"127.0.0.2:1\" }]\n";
    let file = sections.replace("[security]", &format!("{nodes}[security]"));
    let config = accordd::config::Config::from_text("printed", &file).expect("valid");
    for node in [1, 2] {
        assert!(config.paths_of(protocol::NodeId(node)).ecdh_key_file.exists());
    }
}

#[test]
fn seed_has_the_same_trace_in_another_process() {
    let first = accordd(&["sim", "replay", "7"]);
    let second = accordd(&["sim", "replay", "0x7", "--trace"]);
    let line = |output: &Output| {
        let text = out(output);
        text.lines().find(|line| line.starts_with("seed 7: ")).expect("told").to_owned()
    };
    assert_eq!(line(&first), line(&second));
    assert!(out(&second).lines().count() > out(&first).lines().count() + 50, "a trace is printed");
    assert_ne!(line(&first).replace("seed 7", ""), {
        let other = out(&accordd(&["sim", "replay", "8"]));
        other.lines().next().expect("told").replace("seed 8", "")
    });
}

#[test]
fn run_tells_its_base_and_its_counts() {
    let output = accordd(&["sim", "run", "--seeds", "5", "--generator", "calm", "--jobs", "1"]);
    assert!(output.status.success(), "{}", out(&output));
    let printed = out(&output);
    assert!(printed.starts_with("5 seeds from ") && printed.contains("distinct traces"), "{printed}");
    assert!(printed.contains("missing: ") && printed.ends_with("5 passed, 0 failed\n"), "{printed}");
}

#[test]
fn seed_file_is_run_and_its_mistakes_are_told() {
    let scratch = Scratch::new("seeds");
    let path = scratch.0.join("seeds.txt");
    std::fs::write(&path, "# why\n3 generator=calm # a note\n\n0x4\n").expect("written");
    let output = accordd(&["sim", "run", "--file", text(&path)]);
    assert!(output.status.success() && out(&output).ends_with("2 passed, 0 failed\n"), "{}", out(&output));
    std::fs::write(&path, "3\n4 island\n").expect("written");
    let output = accordd(&["sim", "run", "--file", text(&path)]);
    assert_eq!(output.status.code(), Some(2));
    assert!(err(&output).contains("seeds.txt:2: `island`: write generator=NAME"), "{}", err(&output));
    std::fs::write(&path, "# none yet\n").expect("written");
    assert!(err(&accordd(&["sim", "run", "--file", text(&path)])).contains("names no seed"));
}

#[test]
fn status_of_a_cluster_that_is_down_ends_with_code_two() {
    let scratch = Scratch::new("status");
    // bound for as long as the test runs and never answering: nobody else can take the port and answer
    let silent: Vec<_> = (0..3).map(|_| TcpListener::bind("127.0.0.1:0").expect("bound")).collect();
    let ports: Vec<u16> = silent.iter().map(|port| port.local_addr().expect("bound").port()).collect();
    let path = scratch.three_node(|file| {
        [9042, 9043, 9044]
            .iter()
            .zip(&ports)
            .fold(file, |file, (from, to)| file.replace(&from.to_string(), &to.to_string()))
    });
    let output = accordd(&["status", "--config", text(&path), "--json", "--timeout", "1"]);
    assert_eq!(output.status.code(), Some(2), "{}", out(&output));
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!((&report["up"], &report["down"]), (&0.into(), &3.into()));
    assert!(report["nodes"][0]["reason"].as_str().is_some_and(|reason| !reason.is_empty()));
}

#[test]
fn serve_without_keys_says_how_to_make_them() {
    let scratch = Scratch::new("keyless");
    let path = scratch.three_node(|file| file);
    let output = accordd(&["serve", "--config", text(&path), "--node", "1"]);
    assert_eq!(output.status.code(), Some(2), "{}", err(&output));
    assert!(err(&output).contains("accordd keygen"), "{}", err(&output));
    let output = accordd(&["serve", "--config", text(&path)]);
    assert!(err(&output).contains("Give --node with one of 1, 2, 3"), "{}", err(&output));
}

#[test]
fn serve_names_a_port_that_is_taken() {
    let scratch = Scratch::new("port");
    let taken = TcpListener::bind("127.0.0.1:0").expect("bound");
    let address = taken.local_addr().expect("bound").to_string();
    // the peer port comes to nobody's hands: it is bound on an address of its own
    let path =
        scratch.three_node(|file| file.replace("127.0.0.1:9042", &address).replace("127.0.0.1:740", "127.0.7.1:740"));
    assert!(accordd(&["keygen", "--config", text(&path)]).status.success());
    let output = accordd(&["serve", "--config", text(&path), "--node", "1"]);
    assert_eq!(output.status.code(), Some(1), "{}", err(&output));
    let error = err(&output);
    let last = error.lines().last().expect("a sentence");
    assert!(last.contains(&address) && last.contains("in use"), "{error}");
}

#[test]
fn python_driver_runs_the_bank_on_three_processes() {
    let Ok(python) = std::env::var("ACCORDD_PYTHON") else {
        println!("SKIPPED: ACCORDD_PYTHON names no Python with the package cassandra-driver");
        return;
    };
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/python/test_driver.py");
    let output = Command::new(python).arg(script).arg(env!("CARGO_BIN_EXE_accordd")).output().expect("starts");
    assert!(output.status.success(), "{}\n{}", out(&output), err(&output));
    println!("{}", err(&output));
}
