//! What a node is told before it starts.

use super::Prober;
use crate::Error;
use crate::clock::Clock;
use crate::config::{Config, Mac};
use auth::{KeyRing, keygen};
use protocol::NodeId;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

/// Everything a node needs to start.
#[derive(Debug)]
pub struct NodeSetup {
    /// The cluster, limits and times.
    pub config: Arc<Config>,
    /// Which node of it.
    pub id: NodeId,
    /// Its keys, and what it shares with each peer.
    pub ring: KeyRing,
    /// Where its files are.
    pub data_dir: PathBuf,
    /// How rows are examined after a hard stop.
    pub prober: Prober,
    /// The clocks of the process.
    pub clock: Clock,
}

impl NodeSetup {
    /// Of a node whose keys lie where the configuration says.
    ///
    /// *Errors*: key files that are missing, broken, foreign or expired; each says which file and what to do.
    pub fn from_files(config: Arc<Config>, id: NodeId) -> Result<Self, Error> {
        let ring = ring_from_files(&config, id)?;
        let data_dir = config.paths_of(id).data_dir;
        Ok(Self { config, id, ring, data_dir, prober: Prober::own_program()?, clock: Clock::start() })
    }
}

/// Seconds since 1970, against which identities are checked.
fn unix_seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

fn ring_from_files(config: &Config, id: NodeId) -> Result<KeyRing, Error> {
    let cluster = config.cluster_id();
    let ids = config.cluster.nodes.iter().map(|entry| NodeId(entry.id));
    if config.security.mac == Mac::Off {
        return Ok(KeyRing::without_keys(cluster, id.0, ids.map(|id| id.0)));
    }
    let own = config.paths_of(id);
    let admin = read(&own.admin_public_file, keygen::parse_admin_public)?;
    let signing = read_text(&own.key_file)?;
    let secrets = read(&own.ecdh_key_file, |text| keygen::parse_node_secrets(&signing, text))?;
    let now = unix_seconds();
    let identity = |node: NodeId| {
        let path = config.paths_of(node).identity_file;
        let identity = read(&path, |text| keygen::parse_identity(text)?.verify(&admin, cluster, now))?;
        if identity.id() == node.0 {
            return Ok(identity);
        }
        Err(Error::Config(format!("{}: it is the identity of node {}, not of {node}", path.display(), identity.id())))
    };
    let mine = identity(id)?;
    let peers = ids.filter(|peer| *peer != id).map(identity).collect::<Result<Vec<_>, Error>>()?;
    KeyRing::new(cluster, secrets, &mine, peers)
        .map_err(|error| Error::Config(format!("[security] the key files of node {} do not fit: {error}", id.0)))
}

fn read_text(path: &Path) -> Result<String, Error> {
    std::fs::read_to_string(path).map_err(|error| {
        Error::Config(format!(
            "{}: cannot read it: {error}; make key files with `accordd keygen` or correct [security]",
            path.display()
        ))
    })
}

fn read<T>(path: &Path, parse: impl FnOnce(&str) -> Result<T, auth::Error>) -> Result<T, Error> {
    parse(&read_text(path)?).map_err(|error| Error::Config(format!("{}: {error}", path.display())))
}
