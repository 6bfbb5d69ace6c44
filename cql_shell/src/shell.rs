//! One statement after the other: the shell's own commands, and what the server says to the rest.

use std::io::Write;
use std::time::Instant;

use client::{Answer, Consistency, Payload, RequestOptions, Response};

use crate::args::{Args, Format};
use crate::command::{self, Command, LEVELS};
use crate::escape::clean;
use crate::grid::Grid;
use crate::link::Link;
use crate::script::{self, Source};
use crate::splitter::Statement;
use crate::{csv, failure, footer, json, schema, table};

/// Files that SOURCE may open within each other.
const DEPTH_MAX: usize = 8;

/// How a statement or a script ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Done,
    Failed,
    /// `EXIT`, or nobody reads the output any more.
    Exit,
}

/// State of the shell.
pub(crate) struct Shell {
    pub(crate) link: Link,
    format: Format,
    has_footer: bool,
    is_expanded: bool,
    keep_going: bool,
    consistency: Consistency,
    depth: usize,
    /// Whether any statement failed so far.
    pub(crate) has_failed: bool,
    /// Whether names of the schema may have changed since this was last set to false.
    pub(crate) is_schema_new: bool,
}

impl Shell {
    pub(crate) fn new(link: Link, args: &Args) -> Self {
        Self {
            link,
            format: args.format,
            has_footer: !args.no_footer,
            is_expanded: false,
            keep_going: args.keep_going,
            consistency: Consistency::default(),
            depth: 0,
            has_failed: false,
            is_schema_new: true,
        }
    }

    /// Runs one statement of `source` and prints what comes of it.
    pub(crate) async fn run(&mut self, statement: &Statement, source: Option<&str>) -> Outcome {
        let command = match command::parse(&statement.text) {
            Ok(command) => command,
            Err(sentence) => return self.fail(&format!("error: {}\n", clean(&sentence))),
        };
        match command {
            Command::Server => self.ask(statement, source).await,
            Command::Help => self.say(HELP),
            Command::Exit => Outcome::Exit,
            Command::Describe(what) => match schema::describe(&mut self.link, &what).await {
                Ok(Ok(text)) => self.say(&clean(&text)),
                Ok(Err(sentence)) => self.fail(&format!("error: {}\n", clean(&sentence))),
                Err(error) => self.fail(&failure::describe(statement, source, &error)),
            },
            Command::Consistency(level) => {
                self.consistency = level.unwrap_or(self.consistency);
                let name = LEVELS.iter().find(|(_, level)| *level == self.consistency).map_or("?", |(name, _)| *name);
                self.say(&format!("consistency level {name}; transactional tables do not need it\n"))
            }
            Command::Expand(flag) => {
                self.is_expanded = flag.unwrap_or(self.is_expanded);
                self.say(if self.is_expanded { "expanded rows on\n" } else { "expanded rows off\n" })
            }
            Command::Source(file) => self.source(&file).await,
        }
    }

    /// Forgets a statement that nobody waits for any more, and the files it had opened.
    pub(crate) fn abandon(&mut self) -> Outcome {
        self.depth = 0;
        self.fail("Not waited for. The outcome is unknown: the statement may have taken effect, or may still.\n")
    }

    /// Whether a script goes on after an outcome.
    pub(crate) fn goes_on(&self, outcome: Outcome) -> bool {
        match outcome {
            Outcome::Done => true,
            Outcome::Failed => self.keep_going,
            Outcome::Exit => false,
        }
    }

    /// Tells standard error what went wrong.
    pub(crate) fn fail(&mut self, text: &str) -> Outcome {
        self.has_failed = true;
        let _ = std::io::stderr().lock().write_all(text.as_bytes());
        Outcome::Failed
    }

    async fn ask(&mut self, statement: &Statement, source: Option<&str>) -> Outcome {
        let options =
            RequestOptions { consistency: self.consistency, payload: Payload::trace(), ..RequestOptions::default() };
        let start = Instant::now();
        let outcome = self.link.query(&statement.text, &options).await;
        let took = start.elapsed();
        let warnings = match &outcome {
            Ok(response) => &response.warnings[..],
            Err(error) => error.server().map_or(&[][..], |server| &server.warnings[..]),
        };
        for warning in warnings {
            let _ = writeln!(std::io::stderr().lock(), "warning: {}", clean(warning));
        }
        match outcome {
            Ok(response) => {
                let changed = matches!(response.answer, Answer::SchemaChange(_) | Answer::SetKeyspace(_));
                self.is_schema_new |= changed;
                let text = self.answer(&response) + &self.footer(&response, took);
                self.say(&text)
            }
            Err(error) => self.fail(&failure::describe(statement, source, &error)),
        }
    }

    fn answer(&self, response: &Response) -> String {
        let Some(rows) = response.rows() else { return String::new() };
        let grid = Grid::new(rows);
        match (self.format, self.is_expanded) {
            (Format::Table, false) => table::write(&grid),
            (Format::Table, true) => table::write_expanded(&grid),
            (Format::Json, _) => json::write(&grid),
            (Format::Csv, _) => csv::write(&grid),
        }
    }

    /// The other formats are read by programs, which want rows and nothing else.
    fn footer(&self, response: &Response, took: std::time::Duration) -> String {
        if self.has_footer && self.format == Format::Table { footer::line(response, took) } else { String::new() }
    }

    async fn source(&mut self, file: &str) -> Outcome {
        if self.depth == DEPTH_MAX {
            return self.fail(&format!("error: SOURCE within SOURCE goes {DEPTH_MAX} files deep at most\n"));
        }
        let source = match Source::file(file.as_ref()) {
            Ok(source) => source,
            Err(error) => return self.fail(&format!("error: {}\n", clean(&error.to_string()))),
        };
        self.depth += 1;
        let outcome = Box::pin(script::run(self, source)).await;
        self.depth -= 1;
        outcome
    }

    fn say(&self, text: &str) -> Outcome {
        let mut out = std::io::stdout().lock();
        match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
            Ok(()) => Outcome::Done,
            Err(_) => Outcome::Exit,
        }
    }
}

const HELP: &str = "\
A statement ends with ; and a transaction with COMMIT TRANSACTION, a batch with APPLY BATCH. The shell's own commands:
  HELP                              this text
  USE keyspace                      names without a keyspace are of this one
  DESCRIBE KEYSPACES                all keyspaces; DESC for short
  DESCRIBE TABLES                   tables, of the keyspace in use if there is one
  DESCRIBE KEYSPACE [keyspace]      the statements that create it and its tables
  DESCRIBE TABLE [keyspace.]table   the statement that creates it
  CONSISTENCY [level]               show or set the level of requests
  EXPAND [ON|OFF]                   print each row as a block of lines
  SOURCE 'file'                     run the statements of a file
  EXIT, QUIT                        leave, as Ctrl-D does; Ctrl-C drops what was typed
";
