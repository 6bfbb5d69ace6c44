//! `accordd serve`: one node of a cluster, until it is told to stop.

use super::OK;
use crate::Error;
use crate::config::Config;
use crate::node::{Node, NodeSetup, abort_on_panic, stop_process};
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tracing::{info, warn};

/// Not everything under way had ended when the node stopped; nothing that was answered is lost.
const EXIT_LATE: u8 = 3;

/// Options of `serve`.
#[derive(Debug, Clone, clap::Args)]
pub struct Args {
    /// The configuration, the same file for every node.
    #[arg(long, value_name = "FILE")]
    pub config: PathBuf,
    /// Which node this is, if the file does not say.
    #[arg(long, value_name = "ID", env = "ACCORDD_NODE")]
    pub node: Option<u32>,
}

/// Serves until SIGTERM or SIGINT, then ends in order; a second signal ends at once. 0: all under way had ended, 3: not all.
///
/// *Errors*: [`Error::Config`] for a refused configuration or keys, [`Error::Failed`] for a port or directory that cannot be used.
pub fn run(args: &Args) -> Result<u8, Error> {
    crate::logging::start("info");
    let mut config = Config::read(&args.config)?;
    let id = config.choose_node(args.node)?;
    abort_on_panic();
    let setup = NodeSetup::from_files(Arc::new(config), id)?;
    actix::System::new().block_on(serve(setup))
}

async fn serve(setup: NodeSetup) -> Result<u8, Error> {
    let listen = |kind| signal(kind).map_err(|error| Error::Failed(format!("cannot listen for signals: {error}")));
    let (mut terminate, mut interrupt) = (listen(SignalKind::terminate())?, listen(SignalKind::interrupt())?);
    let node = tokio::select! {
        node = Node::start(setup, Rc::new(|why| stop_process(&why))) => node?,
        () = either(&mut terminate, &mut interrupt) => return Ok(OK),
    };
    either(&mut terminate, &mut interrupt).await;
    info!("stopping; a second signal ends at once");
    tokio::select! {
        ended = node.stop() => Ok(if ended? { OK } else { EXIT_LATE }),
        () = either(&mut terminate, &mut interrupt) => {
            warn!("stopped at once; the next start replays the journal");
            std::process::exit(i32::from(EXIT_LATE));
        }
    }
}

async fn either(terminate: &mut Signal, interrupt: &mut Signal) {
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
}
