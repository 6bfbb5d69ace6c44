//! Command-line options.

use std::path::PathBuf;

use clap::ValueEnum;

/// Options of `cql`.
#[derive(Clone, clap::Args)]
pub struct Args {
    /// A node's client port as host:port; repeat for several nodes, the first that answers is used.
    #[arg(long = "contact", value_name = "HOST:PORT", default_values_t = ["127.0.0.1:9042".to_owned()])]
    pub contacts: Vec<String>,
    /// Keyspace to use from the start.
    #[arg(long, short)]
    pub keyspace: Option<String>,
    /// User to log in as, where the cluster asks for it.
    #[arg(long, short, requires = "password")]
    pub user: Option<String>,
    /// Password of the user, nothing without one; in the environment nobody sees it in a list of processes.
    #[arg(long, short, env = "ACCORDD_PASSWORD", hide_env_values = true)]
    pub password: Option<String>,
    /// Run these statements and end.
    #[arg(long, short, value_name = "TEXT", conflicts_with = "file")]
    pub execute: Option<String>,
    /// Run the statements of this file and end.
    #[arg(long, short, value_name = "FILE")]
    pub file: Option<PathBuf>,
    /// Go on after a statement that failed; the exit code tells of it still.
    #[arg(long = "continue")]
    pub keep_going: bool,
    /// How rows are printed: an aligned table, one JSON object a row, or comma-separated values.
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub format: Format,
    /// Print rows only, without counts, paths and latencies.
    #[arg(long)]
    pub no_footer: bool,
    /// Version of the native protocol.
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u8).range(4..=5))]
    pub protocol: u8,
    /// Seconds to wait for an answer.
    #[arg(long, value_name = "SECONDS", default_value_t = 12, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub timeout: u64,
}

impl std::fmt::Debug for Args {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // whatever prints the command line must not print the password
        f.debug_struct("Args").field("contacts", &self.contacts).field("user", &self.user).finish_non_exhaustive()
    }
}

/// How rows are printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Format {
    #[default]
    Table,
    Json,
    Csv,
}
