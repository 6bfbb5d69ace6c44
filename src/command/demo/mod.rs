//! `accordd demo`: a whole cluster in one process, a bank on it, and proof that no money was made or lost.

mod chaos;
mod report;
mod screen;

use super::say;
use crate::Error;
use crate::config::Config;
use crate::node::{Figures, LocalCluster, NodeReport, Prober, abort_on_panic};
use chaos::Chaos;
use report::Summary;
use screen::{Screen, Stop};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::spawn_blocking;
use workload::simplebank::{self, Ledger};
use workload::{CheckArgs, CheckReport, Format, InitArgs, Progress, RunArgs, RunReport};

/// Exit code of a broken invariant, as `workload` has it.
const EXIT_BROKEN: u8 = 3;

/// How long nodes get to find each other.
const LINK_PATIENCE: Duration = Duration::from_secs(20);

/// Load before the measurement begins.
const WARM_UP: Duration = Duration::from_secs(1);

/// Replicas of each row, if there are as many nodes.
const REPLICAS: u32 = 3;

/// One transaction in so many is asked which path it took.
const TRACE_EVERY: u64 = 4;

/// Options of `demo`.
#[derive(Debug, Clone, clap::Args)]
pub struct Args {
    /// Nodes, each on its own thread with its own files.
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=9))]
    pub nodes: u32,
    /// How long the load runs.
    #[arg(long, value_name = "TIME", default_value = "20s", value_parser = crate::config::parse_duration)]
    pub duration: Duration,
    /// Customers of the bank, two accounts each.
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u64).range(4..=10_000_000))]
    pub customers: u64,
    /// Clients, each with one transaction under way.
    #[arg(long, value_name = "N", default_value_t = 32, value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub clients: u32,
    /// Kill a node every so often while the load runs, and start it again two seconds later.
    #[arg(long, value_name = "TIME", value_parser = crate::config::parse_duration)]
    pub kill_every: Option<Duration>,
    /// Leave the cluster running after the report until Ctrl-C, and keep its files.
    #[arg(long)]
    pub keep: bool,
    /// A table for people, or one JSON object at the end.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
}

/// Runs it; 0 only if every invariant holds, else 3.
///
/// *Errors*: no ports, no directory, or a load that leaves nothing to report.
pub fn run(args: &Args) -> Result<u8, Error> {
    crate::logging::start("warn");
    abort_on_panic();
    let dir = std::env::temp_dir().join(format!("accordd-demo-{}", std::process::id()));
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Error::Failed(format!("cannot start a runtime: {error}")))?;
    let outcome = runtime.block_on(demonstrate(args, &dir));
    if args.keep {
        tell(args, &format!("files are kept in {}\n", dir.display()));
    } else if let Err(error) = std::fs::remove_dir_all(&dir) {
        tracing::warn!("{}: cannot remove it: {error}", dir.display());
    }
    outcome
}

async fn demonstrate(args: &Args, dir: &Path) -> Result<u8, Error> {
    let mut cluster = LocalCluster::prepare(Config::default(), args.nodes, dir, Prober::own_program()?)?;
    tell(args, &format!("starting {} nodes in {}\n", args.nodes, dir.display()));
    cluster.start_all().await?;
    cluster.wait_linked(LINK_PATIENCE).await?;
    let contacts = cluster.contacts();
    tell(args, &report::how_to_connect(&contacts));
    let stop = Stop::on_signal();
    let loaded = load(args, &contacts, &mut cluster, &stop).await;
    let code = match &loaded {
        Ok(summary) => {
            say(&summary.print(args.format));
            if summary.is_ok() { super::OK } else { EXIT_BROKEN }
        }
        Err(_) => super::FAILED,
    };
    if args.keep && loaded.is_ok() {
        tell(args, &format!("{}still running; Ctrl-C ends it\n", report::how_to_connect(&contacts)));
        Stop::again().await;
    }
    let stopped = spawn_blocking(move || cluster.stop()).await;
    let in_time = stopped.map_err(|error| Error::Failed(format!("stopping the nodes: {error}")))??;
    if !in_time {
        tracing::warn!("some clients were still waiting for an answer when the nodes stopped");
    }
    loaded.map(|_| code)
}

/// Loads the bank, runs the mix, checks the books.
async fn load(args: &Args, contacts: &[String], cluster: &mut LocalCluster, stop: &Stop) -> Result<Summary, Error> {
    let (init, run, check) = workloads(args, contacts);
    let mut screen = Screen::new(args.format, stop.clone());
    let loading = simplebank::init(&init, &mut screen);
    tokio::select! {
        loaded = loading => loaded?,
        () = stop.wait() => return Err(Error::Failed("stopped before the bank was loaded".to_owned())),
    };
    let ledger = Arc::new(run.target.ledger()?);
    let chaos = args.kill_every.map(|period| Chaos::new(period, cluster));
    let (run, kills) = run_under(&run, &ledger, &mut screen, chaos).await?;
    screen.close();
    let check = check_books(&check, &ledger, &mut screen).await?;
    let figures = figures(&cluster.reports().await);
    Ok(Summary { run, check, kills, figures })
}

/// The measured run, nodes being killed meanwhile if that is wanted; all nodes are up again afterwards.
async fn run_under(
    args: &RunArgs,
    ledger: &Arc<Ledger>,
    screen: &mut Screen,
    chaos: Option<Chaos<'_>>,
) -> Result<(RunReport, u32), Error> {
    let Some(mut chaos) = chaos else { return Ok((simplebank::run(args, ledger, screen).await?, 0)) };
    let report = {
        let running = simplebank::run(args, ledger, screen);
        tokio::pin!(running);
        loop {
            tokio::select! {
                report = &mut running => break report?,
                () = chaos.wait() => {}
            }
            // the clients go on meanwhile; a start that was given up half-way would hold the directory
            chaos.act().await?;
        }
    };
    chaos.heal().await?;
    Ok((report, chaos.kills()))
}

async fn check_books(
    args: &CheckArgs,
    ledger: &Arc<Ledger>,
    progress: &mut dyn Progress,
) -> Result<CheckReport, Error> {
    Ok(simplebank::check(args, Some(ledger), progress).await?)
}

fn workloads(args: &Args, contacts: &[String]) -> (InitArgs, RunArgs, CheckArgs) {
    let mut init = InitArgs::default();
    init.target.contacts = contacts.to_vec();
    init.target.customers = args.customers;
    init.target.rf = args.nodes.min(REPLICAS) as u8;
    let target = init.target.clone();
    let run = RunArgs {
        target: target.clone(),
        clients: args.clients,
        duration: args.duration,
        warmup: WARM_UP,
        trace_every: TRACE_EVERY,
        ..RunArgs::default()
    };
    let check = CheckArgs { target, ..CheckArgs::default() };
    (init, run, check)
}

fn figures(reports: &[NodeReport]) -> Figures {
    reports.iter().fold(Figures::default(), |sum, report| sum + report.figures)
}

/// To people only: JSON stays one object.
fn tell(args: &Args, text: &str) {
    if args.format == Format::Text {
        say(text);
    }
}
