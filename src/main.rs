//! The one binary: reads the command line, runs a sub-command, ends with its exit code.
//!
//! 0 is well, 1 is a failure found or something that cannot start, 2 is a word of the user's that is wrong; `status` and
//! `workload` say more in their help.

use accordd::{Error, command};
use clap::{Parser, Subcommand};
use mimalloc::MiMalloc;
use std::process::ExitCode;

/// A sixth of all instructions of a transaction went to the system's allocator.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

/// A leaderless, strictly serializable transactional store that speaks CQL.
#[derive(Debug, Parser)]
#[command(name = "accordd", version, propagate_version = true)]
struct Line {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Serve one node of a cluster. Exit code 3: not everything under way had ended when it stopped.
    Serve(command::serve::Args),
    /// Start a cluster in this process, run a bank on it, check the books. Exit code 3: an invariant is broken.
    Demo(command::demo::Args),
    /// Load a bank, run transactions on it, check that no money was made or lost. Exit code 3: an invariant is broken.
    Workload(Box<workload::Args>),
    /// Run the real machines under virtual time, faults and exact checkers.
    Sim(command::sim::Args),
    /// Ask every node of a configuration whether it is up. Exit code 0: all are, 1: some, 2: none.
    Status(command::status::Args),
    /// Type CQL, or run the statements of a file. Exit code 1: a statement of a script failed.
    Cql(Box<command::cql::Args>),
    /// Make the keys of a new cluster.
    Keygen(command::keygen::Args),
    /// Check a configuration without starting anything.
    CheckConfig(command::check_config::Args),
    /// Print every key of a configuration with its default and meaning.
    Config(command::config::Args),
    #[command(hide = true)]
    ProbeRows(command::probe_rows::Args),
}

fn main() -> ExitCode {
    let line = Line::parse();
    match run(&line.command) {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            eprintln!("accordd: {error}");
            ExitCode::from(error.exit_code())
        }
    }
}

fn run(command: &Command) -> Result<u8, Error> {
    match command {
        Command::Serve(args) => command::serve::run(args),
        Command::Demo(args) => command::demo::run(args),
        Command::Workload(args) => command::workload::run(args),
        Command::Sim(args) => command::sim::run(args),
        Command::Status(args) => command::status::run(args),
        Command::Cql(args) => command::cql::run(args),
        Command::Keygen(args) => command::keygen::run(args),
        Command::CheckConfig(args) => command::check_config::run(args),
        Command::Config(args) => command::config::run(args),
        Command::ProbeRows(args) => command::probe_rows::run(args),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_well_formed() {
        Line::command().debug_assert();
    }
}
