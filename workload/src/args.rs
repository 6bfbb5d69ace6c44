//! Command-line options.

use std::path::PathBuf;
use std::time::Duration;

use clap::{FromArgMatches, Subcommand, ValueEnum};

use crate::mix::{Kind, Mix};

/// Options of `workload`.
#[derive(Debug, Clone, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    pub workload: Workload,
}

/// The workloads.
#[derive(Debug, Clone, Subcommand)]
pub enum Workload {
    /// Money moving between customers in a closed economy.
    Simplebank(SimplebankArgs),
}

/// Options of `workload simplebank`.
#[derive(Debug, Clone, clap::Args)]
pub struct SimplebankArgs {
    #[command(subcommand)]
    pub action: Action,
}

/// What to do with the bank.
#[derive(Debug, Clone, Subcommand)]
pub enum Action {
    /// Create keyspace and table, load every row and count them.
    Init(InitArgs),
    /// Issue transactions and measure.
    Run(RunArgs),
    /// Read every row and compare with the books.
    Check(CheckArgs),
}

/// Which cluster and which bank.
#[derive(Debug, Clone, clap::Args)]
pub struct TargetArgs {
    /// A node's client port as host:port; repeat for several nodes.
    #[arg(long = "contact", value_name = "HOST:PORT", default_values_t = ["127.0.0.1:9042".to_owned()])]
    pub contacts: Vec<String>,
    #[arg(long, default_value = "bank")]
    pub keyspace: String,
    /// Number of customers, two rows each.
    #[arg(long, default_value_t = 100_000)]
    pub customers: u64,
    /// Balance of every row after init.
    #[arg(long, default_value_t = 1000, allow_negative_numbers = true)]
    pub initial_balance: i64,
    /// Replication factor of the keyspace: `init` creates it so, reports repeat it.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u8).range(1..))]
    pub rf: u8,
    /// Version of the native protocol.
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u8).range(4..=5))]
    pub protocol: u8,
    /// Connections to each contact.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=64))]
    pub connections: u16,
    /// Longest wait for an answer.
    #[arg(long, default_value = "12s", value_parser = parse_duration)]
    pub timeout: Duration,
    /// User to log in as, where the cluster asks for it.
    #[arg(long, requires = "password")]
    pub user: Option<String>,
    #[arg(long, requires = "user")]
    pub password: Option<String>,
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
    /// Books of every balance: `init` starts them, `run` adds to them, `check` compares with them.
    #[arg(long, value_name = "FILE")]
    pub ledger: Option<PathBuf>,
}

/// Options of `workload simplebank init`.
#[derive(Debug, Clone, clap::Args)]
pub struct InitArgs {
    #[command(flatten)]
    pub target: TargetArgs,
    /// Requests in flight.
    #[arg(long, default_value_t = 128, value_parser = clap::value_parser!(u32).range(1..=32_768))]
    pub in_flight: u32,
}

/// Options of `workload simplebank check`.
#[derive(Debug, Clone, clap::Args)]
pub struct CheckArgs {
    #[command(flatten)]
    pub target: TargetArgs,
    /// Reads in flight.
    #[arg(long, default_value_t = 128, value_parser = clap::value_parser!(u32).range(1..=32_768))]
    pub in_flight: u32,
    /// Passes to take before a mismatch counts, while transactions of unknown outcome may still settle.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub passes: u32,
}

/// Options of `workload simplebank run`.
#[derive(Debug, Clone, clap::Args)]
pub struct RunArgs {
    #[command(flatten)]
    pub target: TargetArgs,
    /// Skew of the choice of customers: 0 is uniform, any finite number above is Zipf.
    #[arg(long, default_value_t = 0.0)]
    pub theta: f64,
    /// Spread hot customers over the ids by a seeded bijection.
    #[arg(long)]
    pub scramble: bool,
    /// Relative frequency of each type.
    #[arg(long, default_value_t = Mix::default(), conflicts_with = "kind")]
    pub mix: Mix,
    /// Nothing but this type.
    #[arg(long = "type", value_name = "TYPE", value_enum)]
    pub kind: Option<Kind>,
    /// Draw each type for itself, or deal shuffled decks that hold the mix exactly.
    #[arg(long, value_enum, default_value_t = MixMode::Random)]
    pub mix_mode: MixMode,
    /// Whom payments and audits join: anybody, or customer 2i with 2i+1 so that audits can be verified.
    #[arg(long, value_enum, default_value_t = Pairing::Open)]
    pub pairing: Pairing,
    /// Clients, each with one request outstanding and the next one right after the answer.
    #[arg(long, alias = "threads", default_value_t = 32, value_parser = clap::value_parser!(u32).range(1..=65_536))]
    pub clients: u32,
    /// Time measured, after the warm-up.
    #[arg(long, default_value = "30s", value_parser = parse_duration)]
    pub duration: Duration,
    /// Time before the measurement; its transactions count for the books only.
    #[arg(long, default_value = "10s", value_parser = parse_duration)]
    pub warmup: Duration,
    /// Issue exactly so many transactions, all of them measured, instead of running for a time.
    #[arg(long, alias = "ops", value_name = "N")]
    pub cycles: Option<u64>,
    /// Issue this one cycle of the seed and nothing else.
    #[arg(long, value_name = "N", conflicts_with = "cycles")]
    pub only_cycle: Option<u64>,
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Prepare each statement once and send values only (the default).
    #[arg(long, conflicts_with = "literals")]
    pub prepared: bool,
    /// Send each transaction as a text with its values in it.
    #[arg(long)]
    pub literals: bool,
    /// Ask for the path of every N-th transaction; 0 asks for none.
    #[arg(long, value_name = "N", default_value_t = 16)]
    pub trace_every: u64,
    /// Time between two ticks.
    #[arg(long, default_value = "1s", value_parser = parse_duration)]
    pub interval: Duration,
    /// Fail (exit code 1) if more than this percentage of the measured transactions failed.
    #[arg(long, default_value_t = 100.0)]
    pub errors_max: f64,
}

impl RunArgs {
    /// The mix that `--type` and `--mix` come to.
    pub fn mix(&self) -> Mix {
        self.kind.map_or_else(|| self.mix.clone(), Mix::only)
    }
}

/// How results are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    Text,
    Json,
}

/// How types are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum MixMode {
    Random,
    Deck,
}

/// How the customers of payments and audits are joined.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Pairing {
    Open,
    Closed,
}

/// Options with nothing given on the command line, so that the defaults are written once.
fn defaults<T: clap::Args + FromArgMatches>() -> T {
    let command = T::augment_args(clap::Command::new("defaults").no_binary_name(true));
    let matches = command.get_matches_from(std::iter::empty::<&str>());
    T::from_arg_matches(&matches).unwrap_or_else(|error| error.exit())
}

impl Default for InitArgs {
    fn default() -> Self {
        defaults()
    }
}

impl Default for RunArgs {
    fn default() -> Self {
        defaults()
    }
}

impl Default for CheckArgs {
    fn default() -> Self {
        defaults()
    }
}

/// Reads `250ms`, `30s`, `5m` or `1h`.
fn parse_duration(text: &str) -> Result<Duration, String> {
    let unit_at = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(unit_at);
    let scale = match unit {
        "ms" => 1e-3,
        "s" => 1.0,
        "m" => 60.0,
        "h" => 3600.0,
        _ => return Err(format!("`{text}` needs a number and a unit: ms, s, m or h, as in 30s")),
    };
    let number: f64 = number.parse().map_err(|_| format!("`{number}` is no number"))?;
    Duration::try_from_secs_f64(number * scale).map_err(|error| format!("`{text}`: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        args: Args,
    }

    fn run(options: &[&str]) -> Result<RunArgs, clap::Error> {
        let line = Line::try_parse_from([&["workload", "simplebank", "run"], options].concat())?;
        match line.args.workload {
            Workload::Simplebank(SimplebankArgs { action: Action::Run(run) }) => Ok(run),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_command_line_is_well_formed() {
        use clap::CommandFactory;
        Line::command().debug_assert();
    }

    #[test]
    fn defaults_are_what_an_empty_command_line_gives() {
        assert_eq!(format!("{:?}", RunArgs::default()), format!("{:?}", run(&[]).expect("valid")));
        assert_eq!(InitArgs::default().target.rf, 3);
        assert_eq!(CheckArgs::default().target.keyspace, "bank");
    }

    #[test]
    fn options_are_read() {
        let args = run(&["--contact", "a:1", "--contact", "b:2", "--type", "transfer", "--duration", "1.5m"]);
        let args = args.expect("valid");
        assert_eq!(args.target.contacts, ["a:1", "b:2"]);
        assert_eq!(args.mix(), Mix::only(Kind::Transfer));
        assert_eq!(args.duration, Duration::from_secs(90));
        let mix = run(&["--mix", "balance=1,audit=3"]).expect("valid").mix();
        assert_eq!(mix.to_string(), "balance=1,audit=3");
    }

    #[test]
    fn contradictions_are_refused() {
        for options in [
            &["--mix", "balance=1", "--type", "transfer"][..],
            &["--prepared", "--literals"],
            &["--protocol", "3"],
            &["--duration", "30"],
            &["--clients", "0"],
            &["--user", "alice"],
        ] {
            assert!(run(options).is_err(), "{options:?}");
        }
    }
}
