//! The configuration file: read once, checked whole, refused with place and remedy.
//!
//! One file serves every node of a cluster: `{id}` in a path stands for the node's id, and [`Config::choose_node`] says which
//! node a process is.

mod convert;
mod problem;
mod reference;
mod sections;
mod source;
mod units;
mod validate;

pub use reference::reference_text;
pub use sections::{
    ClientPortSection, ClusterSection, JournalSection, LimitsSection, METRICS_PORT_STEP, Mac, MetricsSection,
    NodeEntry, NodeSection, PathsSection, PeerPortSection, RowsSection, SecuritySection, Sync, TimeoutsSection,
};

pub(crate) use units::duration::parse as parse_duration;

use crate::Error;
use protocol::NodeId;
use serde::{Deserialize, Serialize};
use source::Source;
use std::path::{Path, PathBuf};

/// Everything a node is told before it starts.
///
/// *Shape*: paths are absolute once read from a file; relative ones in the file start at the file's directory.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    pub node: NodeSection,
    pub cluster: ClusterSection,
    pub client_port: ClientPortSection,
    pub peer_port: PeerPortSection,
    pub security: SecuritySection,
    pub journal: JournalSection,
    pub rows: RowsSection,
    pub paths: PathsSection,
    pub limits: LimitsSection,
    pub timeouts: TimeoutsSection,
    pub metrics: MetricsSection,
}

/// Where a node keeps and finds its files.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NodePaths {
    pub data_dir: PathBuf,
    pub identity_file: PathBuf,
    pub key_file: PathBuf,
    pub ecdh_key_file: PathBuf,
    pub admin_public_file: PathBuf,
}

impl Config {
    /// Reads and checks a file.
    ///
    /// *Errors*: [`Error::Config`] with file, line, key and remedy.
    pub fn read(path: &Path) -> Result<Self, Error> {
        let source = Source::read(path)?;
        let mut config = Self::parse(&source)?;
        config.start_paths_at(path)?;
        Ok(config)
    }

    /// Reads and checks a text that came from nowhere on disk; paths stay as they are.
    ///
    /// *Errors*: as [`Config::read`], with `name` in place of the file.
    pub fn from_text(name: &str, text: &str) -> Result<Self, Error> {
        Self::parse(&Source::new(name, text.to_owned()))
    }

    fn parse(source: &Source) -> Result<Self, Error> {
        source.check_keys()?;
        let config: Self = toml::from_str(source.text()).map_err(|error| source.refused(&error))?;
        config.validate().map_err(|problem| source.problem(&problem))?;
        Ok(config)
    }

    /// Checks what no single key shows, for a value that was not read from a file.
    ///
    /// *Errors*: [`Error::Config`].
    pub fn check(&self) -> Result<(), Error> {
        self.validate().map_err(|problem| Error::Config(problem.to_string()))
    }

    fn start_paths_at(&mut self, file: &Path) -> Result<(), Error> {
        let place = |error| Error::Config(format!("{}: cannot tell its directory: {error}", file.display()));
        let file = file.canonicalize().map_err(place)?;
        let base = file.parent().unwrap_or(Path::new("/"));
        let SecuritySection { identity_file, key_file, ecdh_key_file, admin_public_file, .. } = &mut self.security;
        let identities = self.cluster.nodes.iter_mut().filter_map(|node| node.identity.as_mut());
        let paths = [&mut self.node.data_dir, identity_file, key_file, ecdh_key_file, admin_public_file];
        for path in paths.into_iter().chain(identities) {
            *path = from_base(base, path);
        }
        Ok(())
    }

    /// Fixes which node this process is: `asked` (a flag or variable) before `[node] id`.
    ///
    /// *Errors*: [`Error::Config`] if neither says so or the cluster has no such node.
    pub fn choose_node(&mut self, asked: Option<u32>) -> Result<NodeId, Error> {
        let known = || self.cluster.nodes.iter().map(|node| node.id.to_string()).collect::<Vec<_>>().join(", ");
        let Some(id) = asked.or(self.node.id) else {
            return Err(Error::Config(format!("which node is this? Give --node with one of {}", known())));
        };
        if self.entry(NodeId(id)).is_none() {
            return Err(Error::Config(format!("node {id} is not among [cluster] nodes; these are {}", known())));
        }
        self.node.id = Some(id);
        Ok(NodeId(id))
    }

    /// The entry of a node in `[cluster] nodes`.
    pub fn entry(&self, node: NodeId) -> Option<&NodeEntry> {
        self.cluster.nodes.iter().find(|entry| entry.id == node.0)
    }

    /// The files of a node, `{id}` replaced.
    pub fn paths_of(&self, node: NodeId) -> NodePaths {
        let security = &self.security;
        let named = self.entry(node).and_then(|entry| entry.identity.as_ref());
        NodePaths {
            data_dir: with_id(&self.node.data_dir, node),
            identity_file: with_id(named.unwrap_or(&security.identity_file), node),
            key_file: with_id(&security.key_file, node),
            ecdh_key_file: with_id(&security.ecdh_key_file, node),
            admin_public_file: with_id(&security.admin_public_file, node),
        }
    }

    /// The configuration in force as TOML, for the log; it holds file names and no secrets.
    pub fn to_text(&self) -> String {
        toml::to_string(self).unwrap_or_else(|error| format!("# cannot be printed: {error}\n"))
    }
}

/// `path` as seen from `base`, which has no links in it, so that a leading `..` is its parent.
fn from_base(base: &Path, path: &Path) -> PathBuf {
    let mut start = base;
    let mut rest = path;
    while let (Ok(below), Some(above)) = (rest.strip_prefix(".."), start.parent()) {
        (start, rest) = (above, below);
    }
    start.join(rest)
}

fn with_id(path: &Path, node: NodeId) -> PathBuf {
    path.to_string_lossy().replace("{id}", &node.0.to_string()).into()
}

#[cfg(test)]
mod tests;
