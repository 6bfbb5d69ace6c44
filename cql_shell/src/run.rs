//! From the options to the exit code.

use std::io::IsTerminal;

use crate::args::Args;
use crate::error::Error;
use crate::escape::clean;
use crate::interactive;
use crate::link::Link;
use crate::script::{self, Source};
use crate::shell::Shell;

/// Exit code if all is well.
const OK: u8 = 0;
/// Exit code if a statement failed.
const FAILED: u8 = 1;

/// Runs the shell; must be called inside a tokio runtime. Answers the exit code: 0, or 1 if a statement of a script failed.
///
/// *Errors*: [`Error::Usage`] if the file cannot be opened, [`Error::Failed`] if no node answers or the terminal is gone.
pub async fn run(args: &Args) -> Result<u8, Error> {
    let source = match (&args.execute, &args.file) {
        (Some(text), _) => Some(Source::text(text.clone())),
        (None, Some(file)) => Some(Source::file(file)?),
        (None, None) if !std::io::stdin().is_terminal() => Some(Source::standard_input()),
        (None, None) => None,
    };
    let link = Link::open(args).await.map_err(|error| Error::Failed(clean(&error.to_string())))?;
    let mut shell = Shell::new(link, args);
    match source {
        Some(source) => {
            script::run(&mut shell, source).await;
            Ok(if shell.has_failed { FAILED } else { OK })
        }
        None => interactive::run(&mut shell).await.map(|()| OK),
    }
}
