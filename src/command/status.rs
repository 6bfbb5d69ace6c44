//! `accordd status`: which nodes answer, over the clients' protocol.

use super::say;
use crate::Error;
use crate::config::Config;
use client::{ConnectOptions, Connection, RequestOptions};
use serde::Serialize;
use std::fmt::Write;
use std::path::PathBuf;
use std::time::Duration;

/// Options of `status`.
#[derive(Debug, Clone, clap::Args)]
pub struct Args {
    /// Ask every node of this configuration.
    #[arg(long, value_name = "FILE")]
    pub config: PathBuf,
    /// Print one JSON object instead of a table.
    #[arg(long)]
    pub json: bool,
    /// Seconds a node has to answer.
    #[arg(long, value_name = "SECONDS", default_value_t = 3, value_parser = clap::value_parser!(u64).range(1..=600))]
    pub timeout: u64,
}

/// What is known of a node.
#[derive(Debug, Clone, Serialize)]
struct NodeStatus {
    id: u32,
    address: String,
    up: bool,
    release: Option<String>,
    schema_version: Option<String>,
    /// Why it counts as down.
    reason: Option<String>,
}

#[derive(Serialize)]
struct Report<'a> {
    cluster: &'a str,
    nodes: &'a [NodeStatus],
    up: usize,
    down: usize,
}

/// Asks all nodes at once; 0 if all are up, 1 if some are, 2 if none is.
///
/// *Errors*: a refused configuration.
pub fn run(args: &Args) -> Result<u8, Error> {
    let config = Config::read(&args.config)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Error::Failed(format!("cannot start a runtime: {error}")))?;
    let nodes = runtime.block_on(ask_all(&config, Duration::from_secs(args.timeout)));
    let up = nodes.iter().filter(|node| node.up).count();
    let report = Report { cluster: &config.cluster.name, nodes: &nodes, up, down: nodes.len() - up };
    if args.json {
        let text = serde_json::to_string_pretty(&report);
        say(&format!("{}\n", text.map_err(|error| Error::Failed(format!("status: {error}")))?));
    } else {
        say(&table(&report));
    }
    Ok(exit_code(up, nodes.len()))
}

const fn exit_code(up: usize, all: usize) -> u8 {
    match up {
        0 => 2,
        _ if up < all => 1,
        _ => 0,
    }
}

async fn ask_all(config: &Config, timeout: Duration) -> Vec<NodeStatus> {
    let mut asked = tokio::task::JoinSet::new();
    for entry in &config.cluster.nodes {
        let (id, address, cluster) = (entry.id, entry.client_address().to_string(), config.cluster.name.clone());
        asked.spawn(async move { ask(id, address, &cluster, timeout).await });
    }
    let mut nodes = asked.join_all().await;
    nodes.sort_by_key(|node| node.id);
    nodes
}

async fn ask(id: u32, address: String, cluster: &str, timeout: Duration) -> NodeStatus {
    let nothing = NodeStatus { id, address, up: false, release: None, schema_version: None, reason: None };
    match facts(&nothing.address, cluster, timeout).await {
        Ok((release, schema)) => {
            NodeStatus { up: true, release: Some(release), schema_version: Some(schema), ..nothing }
        }
        Err(reason) => NodeStatus { reason: Some(reason), ..nothing },
    }
}

/// Release and schema version, as the node's own `system.local` has them.
async fn facts(address: &str, cluster: &str, timeout: Duration) -> Result<(String, String), String> {
    let options = ConnectOptions { connect_timeout: timeout, request_timeout: timeout, ..ConnectOptions::default() };
    let connection = Connection::connect(address, &options).await.map_err(|error| error.to_string())?;
    let text = "SELECT cluster_name, release_version, schema_version FROM system.local WHERE key = 'local'";
    let response = connection.query(text, &[], &RequestOptions::default()).await.map_err(|error| error.to_string())?;
    let row = response.rows().and_then(|rows| rows.row(0)).ok_or("system.local is empty")?;
    let word = |at| row.text(at).map_err(|error| error.to_string()).map(Option::unwrap_or_default);
    let name = word(0)?;
    if name != cluster {
        return Err(format!("belongs to cluster {name:?}"));
    }
    Ok((word(1)?.to_owned(), row.bytes(2).map(uuid_text).unwrap_or_default()))
}

/// Groups of hexadecimal digits, as UUIDs are written.
fn uuid_text(bytes: &[u8]) -> String {
    let digits = auth::keygen::to_hex(bytes);
    let groups = [0..8, 8..12, 12..16, 16..20, 20..32];
    let groups: Option<Vec<&str>> = groups.into_iter().map(|group| digits.get(group)).collect();
    groups.map_or(digits.clone(), |groups| groups.join("-"))
}

fn table(report: &Report<'_>) -> String {
    let mut text = format!("cluster {:?}: {} up, {} down\n", report.cluster, report.up, report.down);
    for node in report.nodes {
        let state = if node.up { "up" } else { "down" };
        let _ = write!(text, "  node {:<3} {:<22} {state:<5}", node.id, node.address);
        let _ = match (&node.release, &node.schema_version, &node.reason) {
            (Some(release), Some(schema), _) => writeln!(text, " release {release}, schema {schema}"),
            (_, _, Some(reason)) => writeln!(text, " {reason}"),
            _ => writeln!(text),
        };
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exit_code_tells_all_some_none() {
        assert_eq!([exit_code(3, 3), exit_code(1, 3), exit_code(0, 3)], [0, 1, 2]);
    }

    #[test]
    fn schema_version_is_written_as_a_uuid() {
        assert_eq!(uuid_text(&[0xab; 16]), "abababab-abab-abab-abab-abababababab");
        assert_eq!(uuid_text(&[1]), "01");
    }

    #[test]
    fn reason_stands_beside_a_node_that_is_down() {
        let down = NodeStatus {
            id: 2,
            address: "127.0.0.1:9043".into(),
            up: false,
            release: None,
            schema_version: None,
            reason: Some("refused".into()),
        };
        let text = table(&Report { cluster: "c", nodes: &[down], up: 0, down: 1 });
        assert!(text.starts_with("cluster \"c\": 0 up, 1 down\n"), "{text}");
        assert!(text.contains("node 2") && text.ends_with("down  refused\n"), "{text}");
    }
}
