//! F6: the configuration file. Never a panic; a refusal says where and is of readable length; what is accepted prints and reads back.

use crate::{Outcome, Target};
use accordd::config::{Config, reference_text};

/// See the module.
pub const TARGET: Target = Target { name: "config", run, seeds, dictionary: DICTIONARY, input_max: 16 << 10 };

const THREE: &str = include_str!("../../../config/three-node.toml");

const DICTIONARY: &[&[u8]] = &[
    b"[node]\n",
    b"[cluster]\n",
    b"[client_port]\n",
    b"[peer_port]\n",
    b"[limits]\n",
    b"[journal]\n",
    b"[timeouts]\n",
    b"[[cluster.nodes]]\n",
    b"id = ",
    b"nodes = [",
    b"{ id = 1, peer_addr = \"127.0.0.1:7001\" },",
    b"token = ",
    b"\"10s\"",
    b"\"18446744073709551615h\"",
    b"\"64MiB\"",
    b"\"9999999999TiB\"",
    b"in_flight_max = 0\n",
    b"-1",
    b"9223372036854775807",
    b"1e400",
    b"nan",
    b"true",
    b"'''",
    b"\"\"\"",
    b"[[",
    b"]]",
    b"{",
    b"}",
    b".",
    b"\\u0000",
    b"\xc3\xa9",
    b"1979-05-27T07:32:00Z",
];

fn run(input: &[u8]) -> Outcome {
    let text = String::from_utf8_lossy(input);
    match Config::from_text("fuzz.toml", &text) {
        Ok(config) => {
            let again = Config::from_text("again.toml", &config.to_text()).unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(again, config, "what is printed reads back as another configuration");
            Outcome::of(&format!("accepted {}", Outcome::letter(config.cluster.nodes.len())))
        }
        Err(error) => {
            let shown = error.to_string();
            assert!(shown.len() <= 2000, "a refusal of {} bytes", shown.len());
            let place = shown.strip_prefix("fuzz.toml:").unwrap_or_else(|| panic!("says nothing of the file: {shown}"));
            let line = place.split(':').next().and_then(|line| line.parse::<usize>().ok());
            let lines = text.bytes().filter(|byte| *byte == b'\n').count() + 1;
            let names_part = ["[", "the file as a whole"].iter().any(|part| place.trim_start().starts_with(part));
            assert!(line.map_or(names_part, |line| (1..=lines).contains(&line)), "says not where: {shown}");
            Outcome::of(place)
        }
    }
}

fn seeds() -> Vec<Vec<u8>> {
    let more = [
        "[journal]\nsync = \"periodic\"\nsync_interval = \"1s\"\n",
        "[timeouts]\nrpc_timeout = \"10ms\"\n",
        "[client_port]\nenvelope_max = \"1KiB\"\nsinc = 3\n",
        "[limits]\ntxn_keys_max = 5\ntxn_max = \"1GiB\"\n",
    ];
    let mut seeds: Vec<Vec<u8>> = more.iter().map(|more| format!("{THREE}\n{more}").into_bytes()).collect();
    seeds.push(reference_text().into_bytes());
    seeds.push(THREE.as_bytes().to_vec());
    seeds
}
