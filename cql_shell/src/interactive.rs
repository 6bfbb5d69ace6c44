//! A person at a terminal.

use std::sync::PoisonError;

use crate::editor::{Input, SharedNames, Terminal};
use crate::error::Error;
use crate::escape::escape;
use crate::schema;
use crate::shell::{Outcome, Shell};
use crate::splitter::{Splitter, Statement};

/// Reads and runs statements until the user leaves.
///
/// *Errors*: [`Error::Failed`] if the terminal cannot be used.
pub(crate) async fn run(shell: &mut Shell) -> Result<(), Error> {
    let names = SharedNames::default();
    let mut terminal = Terminal::open(names.clone())?;
    println!("Connected to {}. HELP shows the commands.", shell.link.address());
    loop {
        if std::mem::take(&mut shell.is_schema_new) {
            refresh(shell, &names).await;
        }
        let prompt = format!("{}> ", escape(shell.link.keyspace().unwrap_or("cql")));
        // on a thread of its own, so that the connection lives on while the user thinks
        let reading = tokio::task::spawn_blocking(move || {
            let input = terminal.read(&prompt);
            (terminal, input)
        });
        let (returned, input) = reading.await.map_err(|error| Error::Failed(format!("terminal: {error}")))?;
        terminal = returned;
        match input? {
            Input::Dropped => {}
            Input::End => break,
            Input::Text(text) if run_text(shell, &text).await == Outcome::Exit => break,
            Input::Text(_) => {}
        }
    }
    terminal.save();
    Ok(())
}

/// Reads the names again; without them, or when Ctrl-C says to wait no longer, there is less to complete and nothing is wrong.
async fn refresh(shell: &mut Shell, names: &SharedNames) {
    tokio::select! {
        found = schema::names(&mut shell.link) => {
            if let Ok(found) = found {
                *names.lock().unwrap_or_else(PoisonError::into_inner) = found;
            }
        }
        _ = tokio::signal::ctrl_c() => {}
    }
}

/// Runs what was typed at once, up to the first statement that fails.
async fn run_text(shell: &mut Shell, text: &str) -> Outcome {
    let mut splitter = Splitter::default();
    let split = splitter.push(text).and_then(|()| splitter.finish());
    while let Some(statement) = splitter.pop() {
        let outcome = run_or_drop(shell, &statement).await;
        if !shell.goes_on(outcome) {
            return outcome;
        }
    }
    match split {
        Ok(()) => Outcome::Done,
        Err(error) => shell.fail(&format!("error: {error}\n")),
    }
}

/// Runs a statement until it is done or Ctrl-C says to wait no longer.
async fn run_or_drop(shell: &mut Shell, statement: &Statement) -> Outcome {
    tokio::select! {
        outcome = shell.run(statement, None) => return outcome,
        _ = tokio::signal::ctrl_c() => {}
    }
    shell.abandon()
}
