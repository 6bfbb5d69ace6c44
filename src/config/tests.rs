use super::*;
use std::time::Duration;

const THREE: &str = include_str!("../../config/three-node.toml");

fn refused(text: &str) -> String {
    let error = Config::from_text("a.toml", text).expect_err("refused");
    assert_eq!(error.exit_code(), 2);
    error.to_string()
}

fn with(more: &str) -> String {
    refused(&format!("{THREE}\n{more}\n"))
}

#[test]
fn the_file_of_three_nodes_is_valid_and_serves_each() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("config/three-node.toml");
    for id in 1..=3 {
        let mut config = Config::read(&path).expect("valid");
        let node = config.choose_node(Some(id)).expect("known");
        let paths = config.paths_of(node);
        assert!(paths.data_dir.is_absolute() && paths.data_dir.ends_with(format!("data/three-node/node-{id}")));
        assert!(paths.key_file.ends_with(format!("keys/node-{id}.key")));
        assert_eq!(config.client_listen(node).map(|address| address.port()), Some(9041 + id as u16));
        assert_eq!(config.topology().expect("valid").nodes().len(), 3);
    }
}

/// Field case O04, as the next ones.
#[test]
fn misspelt_key_is_told_with_line_and_suggestion() {
    let line = THREE.lines().count() + 3;
    let error = with("[journal]\nsinc = \"group\"");
    assert_eq!(error, format!("a.toml:{line}: [journal] unknown key \"sinc\"; did you mean \"sync\"?"));
    assert!(with("[rows]\ncheckpoint_perod = \"30s\"").contains("did you mean \"checkpoint_period\"?"));
}

#[test]
fn key_in_the_wrong_section_is_sent_home() {
    assert!(
        with("[rows]\nsegment_size = \"1MiB\"")
            .contains("[rows] unknown key \"segment_size\"; it belongs to [journal]")
    );
    let error = refused(&format!("slow_read = \"1s\"\n{THREE}"));
    assert!(
        error.starts_with("a.toml:1: key \"slow_read\" stands outside any section; it belongs to [timeouts]"),
        "{error}"
    );
}

#[test]
fn unknown_sections_and_keys_list_what_there_is() {
    assert!(with("[jurnal]").contains("unknown section [jurnal]; did you mean [journal]?"));
    assert!(with("[hardened]\nf = 1").contains("unknown section [hardened]; there are node, cluster"));
    assert!(with("[paths]\nf = 1").contains("[paths] unknown key \"f\"; there are fast_path"));
    assert!(refused("journal = 3").contains("journal is a section; write [journal]"));
}

#[test]
fn key_of_a_node_is_checked_too() {
    let error = refused(&THREE.replacen("client_addr", "cliant_addr", 1));
    assert!(error.contains("[cluster] unknown key \"cliant_addr\"; did you mean \"client_addr\"?"), "{error}");
    let line = 1 + THREE.lines().position(|line| line.contains("id = 1,")).expect("there");
    assert!(error.starts_with(&format!("a.toml:{line}: ")), "{error}");
}

#[test]
fn value_of_the_wrong_type_names_key_value_and_meaning() {
    let error = with("[node2]");
    assert!(error.contains("did you mean [node]?"), "{error}");
    let error = refused(&THREE.replace("[node]", "[node]\nstores = \"2\""));
    assert!(
        error.contains("[node] stores = \"2\": invalid type") && error.contains("slices of the token ring"),
        "{error}"
    );
    let error = with("[journal]\nsync = \"sometimes\"");
    assert!(error.contains("[journal] sync = \"sometimes\": unknown variant"), "{error}");
    let error = with("[timeouts]\nslow_read = \"100\"");
    assert!(error.contains("[timeouts] slow_read = \"100\"") && error.contains("as in \"10s\""), "{error}");
}

#[test]
fn broken_toml_is_told_with_its_line() {
    assert!(refused("[node]\nid = = 3").starts_with("a.toml:2: "));
    assert!(refused(&format!("{THREE}\n[node]")).starts_with(&format!("a.toml:{}: ", THREE.lines().count() + 2)));
}

#[test]
fn empty_missing_and_huge_files_are_refused() {
    assert!(refused("").contains("[cluster] id: missing; give the cluster 32 hexadecimal digits"));
    let missing = Config::read(Path::new("/nowhere/a.toml")).expect_err("refused").to_string();
    assert!(missing.starts_with("/nowhere/a.toml: cannot be read: "), "{missing}");
    let huge = std::env::temp_dir().join(format!("accordd-huge-{}.toml", std::process::id()));
    std::fs::write(&huge, vec![b'#'; 10 << 20]).expect("written");
    let error = Config::read(&huge).expect_err("refused").to_string();
    std::fs::remove_file(&huge).expect("removed");
    assert!(error.contains("10485760 bytes; a configuration has at most 1048576"), "{error}");
}

#[test]
fn nodes_are_checked_against_each_other() {
    assert!(refused(&THREE.replace("id = 2,", "id = 1,")).contains("[cluster] nodes: id: 1 is given twice"));
    assert!(refused(&THREE.replace("7402", "7401")).contains("peer_addr: 127.0.0.1:7401 is taken by node 1"));
    assert!(refused(&THREE.replace("9044", "0")).contains("client_addr: 127.0.0.1:0 cannot be connected to"));
    assert!(refused(&THREE.replacen("id = 1,", "id = 1, token = 5,", 1)).contains("token: missing; give every node"));
    let same = THREE.replace("peer_addr", "token = 5, peer_addr");
    assert!(refused(&same).contains("token: 5 is node 1's; tokens are unique"));
    assert!(refused("[cluster]\nid = \"00112233445566778899aabbccddeeff\"").contains("[cluster] nodes: no node"));
    assert!(refused("[cluster]\nid = \"xyz\"").contains("a.toml:2: [cluster] id: \"xyz\" is no cluster id"));
}

#[test]
fn one_directory_for_all_nodes_is_refused() {
    assert!(
        refused(&THREE.replace("node-{id}\"\n\n[cluster]", "node\"\n\n[cluster]")).contains("put {id} into the path")
    );
}

#[test]
fn contradicting_values_are_refused() {
    assert!(with("[timeouts]\nrpc_timeout = \"10ms\"").contains("10ms is shorter than slow_pre_accept = 50ms"));
    assert!(with("[journal]\nmax_bytes = \"32MiB\"").contains("at least two times segment_size"));
    assert!(with("[peer_port]\nqueue_max = \"16MiB\"").contains("less than frame_max"));
    assert!(with("[client_port]\nin_flight_max = 0").contains("choose 1 or more"));
    assert!(with("[rows]\nmemory_max = \"1KiB\"").contains("less than 1MiB"));
}

#[test]
fn node_is_chosen_by_flag_before_file() {
    let mut config = Config::from_text("a.toml", &THREE.replace("[node]", "[node]\nid = 2")).expect("valid");
    assert_eq!(config.choose_node(None).expect("file"), NodeId(2));
    assert_eq!(config.choose_node(Some(3)).expect("flag"), NodeId(3));
    assert!(config.choose_node(Some(4)).expect_err("unknown").to_string().contains("these are 1, 2, 3"));
    let mut config = Config::from_text("a.toml", THREE).expect("valid");
    assert!(config.choose_node(None).expect_err("unsaid").to_string().contains("Give --node with one of 1, 2, 3"));
    assert!(refused(&THREE.replace("[node]", "[node]\nid = 7")).contains("[node] id: 7 is not among"));
}

#[test]
fn settings_that_pass_are_taken_by_the_rooms() {
    let config = Config::from_text("a.toml", THREE).expect("valid");
    assert_eq!(config.port_config(), cql_server::PortConfig::default());
    let (ours, theirs) = (config.transport_settings(), transport::Settings::default());
    assert_eq!(format!("{ours:?}"), format!("{theirs:?}"));
    let journal = config.journal_options([1; 32], 2);
    assert_eq!(format!("{journal:?}"), format!("{:?}", journal::Options::new([1; 32], 2)));
    assert_eq!(config.progress_config(), command_store::ProgressConfig::default());
    let topology = std::sync::Arc::new(config.topology().expect("valid"));
    let ours = config.coordinator_config(NodeId(1), std::sync::Arc::clone(&topology));
    let theirs = coordinator::CoordinatorConfig::new(NodeId(1), topology);
    assert_eq!(format!("{ours:?}"), format!("{theirs:?}"));
    let rows = config.row_options(Path::new("/d"), [1; 32]);
    assert_eq!(format!("{rows:?}"), format!("{:?}", journal::RowOptions::new(Path::new("/d"), [1; 32])));
}

#[test]
fn paths_start_at_the_directory_of_the_file() {
    let from = |path: &str| from_base(Path::new("/etc/accordd"), Path::new(path));
    assert_eq!(from("keys/a"), Path::new("/etc/accordd/keys/a"));
    assert_eq!(from("../../var/{id}"), Path::new("/var/{id}"));
    assert_eq!(from("/var/a"), Path::new("/var/a"));
}

#[test]
fn text_in_force_reads_back() {
    let mut config = Config::from_text("a.toml", THREE).expect("valid");
    config.choose_node(Some(2)).expect("known");
    config.timeouts.slow_read = Duration::from_micros(1500);
    config.timeouts.rpc_timeout = Duration::from_secs(1);
    assert_eq!(Config::from_text("b.toml", &config.to_text()).expect("valid"), config);
}

#[test]
fn metrics_port_lies_above_the_client_port_or_where_it_is_told() {
    let listen = |more: &str| {
        let config = Config::from_text("a.toml", &format!("{THREE}\n[metrics]\n{more}\n")).expect("valid");
        config.metrics_listen(NodeId(2)).map(|address| address.to_string())
    };
    assert_eq!(listen("").as_deref(), Some("127.0.0.1:10043"));
    assert_eq!(listen("address = \"::1\"\nport = 9180").as_deref(), Some("[::1]:9180"));
    assert_eq!(listen("address = \"\""), None);
    assert!(with("[metrics]\naddress = \"here\"").contains("\"here\" is no IP address"));
}
