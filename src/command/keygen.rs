//! `accordd keygen`: the admin key of a new cluster, and keys and identity of each of its nodes.

use super::{OK, say};
use crate::Error;
use crate::clock::Clock;
use crate::config::Config;
use auth::ClusterId;
use auth::keygen::{ClusterFiles, Request, new_cluster, to_hex};
use auth::rand_core::{TryCryptoRng, TryRng, UnwrapErr};
use protocol::NodeId;
use std::fmt::Write;
use std::fs;
use std::io::Write as _;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

const DAY_S: u64 = 24 * 60 * 60;
/// Clocks that are behind by less than this accept a fresh identity.
const BEFORE_S: u64 = DAY_S;

/// Options of `keygen`.
#[derive(Debug, Clone, clap::Args)]
pub struct Args {
    /// Make what this configuration names, where it names it.
    #[arg(long, value_name = "FILE", required_unless_present = "out", conflicts_with_all = ["out", "nodes", "cluster_id"])]
    pub config: Option<PathBuf>,
    /// Make keys in this directory and print the sections to put into a configuration.
    #[arg(long, value_name = "DIR", requires = "nodes")]
    pub out: Option<PathBuf>,
    /// Number of nodes; their ids are 1, 2, ...
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=64))]
    pub nodes: Option<u32>,
    /// Id of the cluster, 32 hexadecimal digits; drawn if not given.
    #[arg(long, value_name = "HEX")]
    pub cluster_id: Option<ClusterId>,
    /// How long the identities are valid.
    #[arg(long, value_name = "DAYS", default_value_t = 3650, value_parser = clap::value_parser!(u64).range(1..=36_500))]
    pub days: u64,
}

/// A file to be written.
struct NewFile<'a> {
    path: PathBuf,
    text: &'a str,
    is_secret: bool,
}

/// Writes the files, none of which may exist before.
///
/// *Errors*: [`Error::Config`] for a refused configuration, [`Error::Failed`] for a file that exists or cannot be written.
pub fn run(args: &Args) -> Result<u8, Error> {
    let (config, drawn) = match (&args.config, &args.out) {
        (Some(file), _) => (Config::read(file)?, false),
        (None, Some(out)) => (plain_config(out, args)?, true),
        (None, None) => return Err(Error::Config("give --config FILE or --out DIR --nodes N".into())),
    };
    let keys = new_keys(&config, args.days)?;
    let files = files_of(&config, &keys);
    write_all(&files)?;
    say(&told(&files, drawn.then_some(&config)));
    Ok(OK)
}

/// A configuration of nothing but ids and key files below `out`.
fn plain_config(out: &Path, args: &Args) -> Result<Config, Error> {
    let mut config = Config::default();
    let id = match args.cluster_id {
        Some(id) => id,
        None => {
            let mut bytes = [0; 16];
            crate::entropy::fill(&mut bytes)?;
            ClusterId(bytes)
        }
    };
    config.cluster.id = Some(to_hex(&id.0));
    let address = std::net::SocketAddr::from(([127, 0, 0, 1], 0));
    let entry =
        |id| crate::config::NodeEntry { id, peer_addr: address, client_addr: None, identity: None, token: None };
    config.cluster.nodes = (1..=args.nodes.unwrap_or(0)).map(entry).collect();
    let out = std::path::absolute(out).map_err(|error| Error::Config(format!("{}: {error}", out.display())))?;
    let security = &mut config.security;
    let files = [
        &mut security.identity_file,
        &mut security.key_file,
        &mut security.ecdh_key_file,
        &mut security.admin_public_file,
    ];
    for file in files {
        *file = out.join(file.file_name().unwrap_or_default());
    }
    Ok(config)
}

pub(crate) fn new_keys(config: &Config, days: u64) -> Result<ClusterFiles, Error> {
    let now_s = Clock::start().now().wall.0 / 1_000_000;
    let request = Request {
        cluster: config.cluster_id(),
        nodes: config.cluster.nodes.iter().map(|node| node.id).collect(),
        not_before: now_s.saturating_sub(BEFORE_S),
        not_after: now_s + days * DAY_S,
        first_serial: 1,
    };
    // The generator cannot report a failure of the source half-way, so the source is asked once before.
    crate::entropy::fill(&mut [0; 32])?;
    new_cluster(&mut UnwrapErr(SystemRandom), &request).map_err(|error| Error::Failed(format!("keygen: {error}")))
}

fn files_of<'a>(config: &Config, keys: &'a ClusterFiles) -> Vec<NewFile<'a>> {
    let admin_public = config.paths_of(NodeId(0)).admin_public_file;
    let secret = NewFile { path: admin_secret_path(&admin_public), text: keys.admin_secret.expose(), is_secret: true };
    let mut files = vec![secret, NewFile { path: admin_public, text: &keys.admin_public, is_secret: false }];
    for node in &keys.nodes {
        let paths = config.paths_of(NodeId(node.id));
        files.push(NewFile { path: paths.identity_file, text: &node.identity, is_secret: false });
        files.push(NewFile { path: paths.key_file, text: node.signing.expose(), is_secret: true });
        files.push(NewFile { path: paths.ecdh_key_file, text: node.agreement.expose(), is_secret: true });
    }
    files
}

fn admin_secret_path(admin_public: &Path) -> PathBuf {
    admin_public.with_file_name("admin.secret")
}

fn write_all(files: &[NewFile<'_>]) -> Result<(), Error> {
    if let Some(file) = files.iter().find(|file| file.path.exists()) {
        let text = "exists already; keys are never overwritten: keep them, or move them away first";
        return Err(Error::Failed(format!("{}: {text}", file.path.display())));
    }
    for file in files {
        write(file).map_err(|error| Error::Failed(format!("{}: cannot be written: {error}", file.path.display())))?;
    }
    Ok(())
}

fn write(file: &NewFile<'_>) -> std::io::Result<()> {
    if let Some(dir) = file.path.parent() {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
    }
    let mode = if file.is_secret { 0o600 } else { 0o644 };
    let mut out = fs::OpenOptions::new().write(true).create_new(true).mode(mode).open(&file.path)?;
    out.write_all(file.text.as_bytes())?;
    out.sync_all()
}

fn told(files: &[NewFile<'_>], drawn: Option<&Config>) -> String {
    let mut text = String::new();
    for file in files {
        let secret = if file.is_secret { "  (secret, mode 0600)" } else { "" };
        let _ = writeln!(text, "wrote {}{secret}", file.path.display());
    }
    text.push_str("admin.secret signs identities and is no node's business: keep it away from the nodes.\n");
    let Some(config) = drawn else { return text };
    let security = &config.security;
    let _ = write!(
        text,
        "\nFor the configuration:\n\n[cluster]\nid = {:?}\n\n[security]\n",
        config.cluster_id().to_string()
    );
    let paths = [
        ("identity_file", &security.identity_file),
        ("key_file", &security.key_file),
        ("ecdh_key_file", &security.ecdh_key_file),
        ("admin_public_file", &security.admin_public_file),
    ];
    for (key, path) in paths {
        let _ = writeln!(text, "{key} = {:?}", path.display().to_string());
    }
    text
}

/// The system's randomness in the form the key makers take.
struct SystemRandom;

impl TryRng for SystemRandom {
    type Error = Error;

    fn try_next_u32(&mut self) -> Result<u32, Error> {
        crate::entropy::number().map(|number| number as u32)
    }

    fn try_next_u64(&mut self) -> Result<u64, Error> {
        crate::entropy::number()
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Error> {
        crate::entropy::fill(bytes)
    }
}

impl TryCryptoRng for SystemRandom {}
