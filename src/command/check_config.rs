//! `accordd check-config FILE`: what `serve` would refuse, without starting anything.

use super::{OK, say};
use crate::Error;
use crate::config::{Config, Mac, Sync};
use std::fmt::Write;
use std::path::PathBuf;

/// Options of `check-config`.
#[derive(Debug, Clone, clap::Args)]
pub struct Args {
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Check it for this node.
    #[arg(long, value_name = "ID", env = "ACCORDD_NODE")]
    pub node: Option<u32>,
}

/// Reads and checks the file, and says what it describes.
///
/// *Errors*: what is wrong with the file.
pub fn run(args: &Args) -> Result<u8, Error> {
    let mut config = Config::read(&args.file)?;
    if args.node.is_some() {
        config.choose_node(args.node)?;
    }
    say(&summary(&args.file.display().to_string(), &config));
    Ok(OK)
}

fn summary(name: &str, config: &Config) -> String {
    let cluster = &config.cluster;
    let mut text = format!("{name}: valid; cluster {:?}, {} nodes\n", cluster.name, cluster.nodes.len());
    for (node, (_, token)) in cluster.nodes.iter().zip(config.tokens()) {
        let (peers, clients) = (node.peer_addr, node.client_address());
        let _ = writeln!(text, "  node {}: peers {peers}, clients {clients}, token {}", node.id, token.0);
    }
    if config.security.mac == Mac::Off {
        text.push_str("warning: [security] mac = \"off\": anybody on the network can speak for a node\n");
    }
    if config.journal.sync == Sync::Periodic {
        text.push_str(
            "warning: [journal] sync = \"periodic\": a power cut loses what was answered since the last sync\n",
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn risky_settings_are_pointed_out() {
        let text = include_str!("../../config/three-node.toml");
        let config = Config::from_text("a", text).expect("valid");
        assert!(!summary("a", &config).contains("warning"));
        let risky = text.replace("[security]", "[journal]\nsync = \"periodic\"\n[security]\nmac = \"off\"");
        let summary = summary("a", &Config::from_text("a", &risky).expect("valid"));
        assert_eq!(summary.matches("warning: ").count(), 2, "{summary}");
        assert!(summary.contains("node 2: peers 127.0.0.1:7402, clients 127.0.0.1:9043"), "{summary}");
    }
}
