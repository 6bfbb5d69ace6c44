//! The line editor: input of many lines, history in the user's state directory, completion.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use rustyline::completion::Completer;
use rustyline::error::ReadlineError;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::history::DefaultHistory;
use rustyline::validate::{ValidationContext, ValidationResult, Validator};
use rustyline::{CompletionType, Config, Context, Editor, Helper};

use crate::error::Error;
use crate::names::Names;
use crate::splitter::is_complete;

/// Entries the history keeps.
const ENTRIES_MAX: usize = 1000;
/// Longest entry the history takes, in bytes.
const ENTRY_MAX: usize = 16 << 10;

/// Names of the schema, as the editor and the session share them.
pub(crate) type SharedNames = Arc<Mutex<Names>>;

/// What came from the terminal.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Input {
    /// Whole statements.
    Text(String),
    /// Ctrl-C: what was typed is dropped.
    Dropped,
    /// Ctrl-D.
    End,
}

/// The terminal's editor.
pub(crate) struct Terminal {
    editor: Editor<Assistant, DefaultHistory>,
    history: Option<PathBuf>,
}

impl Terminal {
    /// An editor with the history of earlier sessions, if there is one.
    ///
    /// *Errors*: [`Error::Failed`] if the terminal cannot be used.
    pub(crate) fn open(names: SharedNames) -> Result<Self, Error> {
        let config = Config::builder()
            .completion_type(CompletionType::List)
            .max_history_size(ENTRIES_MAX)
            .and_then(|builder| builder.history_ignore_dups(true))
            .map_err(failed)?
            .history_ignore_space(true)
            .build();
        let mut editor = Editor::with_config(config).map_err(failed)?;
        editor.set_helper(Some(Assistant { names }));
        let history = history_file();
        if let Some(file) = &history {
            // the first session has none
            let _ = editor.load_history(file);
        }
        Ok(Self { editor, history })
    }

    /// Reads whole statements; waits for the user.
    ///
    /// *Errors*: [`Error::Failed`] if the terminal is gone.
    pub(crate) fn read(&mut self, prompt: &str) -> Result<Input, Error> {
        match self.editor.readline(prompt) {
            Ok(text) => {
                if is_memorable(&text) {
                    let _ = self.editor.add_history_entry(text.trim());
                }
                Ok(Input::Text(text))
            }
            Err(ReadlineError::Interrupted) => Ok(Input::Dropped),
            Err(ReadlineError::Eof) => Ok(Input::End),
            Err(error) => Err(failed(error)),
        }
    }

    /// Keeps the history for the next session; that it cannot is no failure of this one.
    pub(crate) fn save(&mut self) {
        if let Some(file) = &self.history {
            if let Some(directory) = file.parent() {
                let _ = std::fs::create_dir_all(directory);
            }
            let _ = self.editor.save_history(file);
        }
    }
}

/// Passwords are not written to disk, nor is what a person would not type.
fn is_memorable(text: &str) -> bool {
    let is_secret = text.to_ascii_uppercase().contains("PASSWORD");
    !text.trim().is_empty() && text.len() <= ENTRY_MAX && !is_secret
}

fn history_file() -> Option<PathBuf> {
    let state = std::env::var_os("XDG_STATE_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    let home = || std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".local/state"));
    Some(state.or_else(home)?.join("accordd/cql_history"))
}

fn failed(error: ReadlineError) -> Error {
    Error::Failed(format!("terminal: {error}"))
}

/// What the editor asks while a line is typed.
struct Assistant {
    names: SharedNames,
}

impl Helper for Assistant {}
impl Highlighter for Assistant {}

impl Hinter for Assistant {
    type Hint = String;
}

impl Validator for Assistant {
    fn validate(&self, context: &mut ValidationContext<'_>) -> rustyline::Result<ValidationResult> {
        let whole = is_complete(context.input());
        Ok(if whole { ValidationResult::Valid(None) } else { ValidationResult::Incomplete })
    }
}

impl Completer for Assistant {
    type Candidate = String;

    fn complete(&self, line: &str, position: usize, _: &Context<'_>) -> rustyline::Result<(usize, Vec<String>)> {
        Ok(self.names.lock().unwrap_or_else(PoisonError::into_inner).complete(line, position))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_and_long_texts_are_not_kept() {
        assert!(is_memorable("SELECT 1;"));
        assert!(!is_memorable("CREATE ROLE r WITH password = 'x';"));
        assert!(!is_memorable(" \n"));
        assert!(!is_memorable(&"x".repeat(ENTRY_MAX + 1)));
    }
}
