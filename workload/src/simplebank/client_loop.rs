//! The closed loop of one client: draw, send, settle, again.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use client::{PATH_KEY, Payload, RequestOptions, Response, Session};

use crate::books::{Entry, PATHS, Shelves};
use crate::error::Error;
use crate::outcome::{Failure, FailureClass};
use crate::simplebank::ledger::Ledger;
use crate::simplebank::live::{self, LiveCheck};
use crate::simplebank::plan::{Plan, Transaction};
use crate::simplebank::statements::Issue;

/// Pause after a request that found no connection, so that a cluster that is away is not asked a million times a second.
const AWAY_PAUSE: Duration = Duration::from_millis(20);
/// Violations a report quotes.
const VIOLATIONS_MAX: usize = 10;

/// What is measured: transactions that begin at or after `begin`, and before `end` if there is one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Window {
    pub(crate) begin: Instant,
    pub(crate) end: Option<Instant>,
}

impl Window {
    fn has(&self, at: Instant) -> bool {
        at >= self.begin && self.end.is_none_or(|end| at < end)
    }
}

/// What all clients of a run share.
pub(crate) struct Run {
    pub(crate) session: Session,
    pub(crate) issue: Issue,
    pub(crate) plan: Plan,
    pub(crate) ledger: Arc<Ledger>,
    pub(crate) shelves: Shelves,
    pub(crate) window: Window,
    pub(crate) live: LiveCheck,
    /// Sum every verified read must show.
    pub(crate) live_sum: i128,
    pub(crate) trace_every: u64,
    pub(crate) cycles: Cycles,
    pub(crate) traced: RequestOptions,
    pub(crate) plain: RequestOptions,
    pub(crate) events: Events,
}

/// The next cycle number, and whether there is one.
#[derive(Debug)]
pub(crate) struct Cycles {
    next: AtomicU64,
    end: u64,
    deadline: Option<Instant>,
    stopped: AtomicBool,
}

impl Cycles {
    pub(crate) fn new(first: u64, count: Option<u64>, deadline: Option<Instant>) -> Self {
        let end = count.map_or(u64::MAX, |count| first.saturating_add(count));
        Self { next: AtomicU64::new(first), end, deadline, stopped: AtomicBool::new(false) }
    }

    fn take(&self) -> Option<u64> {
        if self.stopped.load(Ordering::Relaxed) || self.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            return None;
        }
        let cycle = self.next.fetch_add(1, Ordering::Relaxed);
        (cycle < self.end).then_some(cycle)
    }

    pub(crate) fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
    }
}

/// Rare things the clients come upon.
#[derive(Debug, Default)]
pub(crate) struct Events {
    inner: Mutex<EventsInner>,
}

#[derive(Debug, Default)]
struct EventsInner {
    failure: Option<Error>,
    violations: Vec<String>,
    verified_count: u64,
    warning_count: u64,
    first_warning: Option<String>,
    first_error: [Option<String>; FailureClass::ALL.len()],
}

impl Events {
    fn with<T>(&self, note: impl FnOnce(&mut EventsInner) -> T) -> T {
        note(&mut self.inner.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn take_failure(&self) -> Option<Error> {
        self.with(|events| events.failure.take())
    }

    pub(crate) fn violations(&self) -> Vec<String> {
        self.with(|events| events.violations.clone())
    }

    pub(crate) fn verified_count(&self) -> u64 {
        self.with(|events| events.verified_count)
    }

    /// Sentences for the report: warnings of the server, and one error text per class.
    pub(crate) fn notes(&self) -> Vec<String> {
        self.with(|events| {
            let warning = events
                .first_warning
                .iter()
                .map(|first| format!("{} answers carried warnings, the first: {first}", events.warning_count));
            let errors = FailureClass::ALL.iter().zip(&events.first_error);
            let errors = errors.filter_map(|(class, text)| {
                text.as_ref().map(|text| format!("first of class {}: {text}", class.name()))
            });
            warning.chain(errors).collect()
        })
    }
}

/// Runs client number `client` until the cycles end.
pub(crate) async fn run_client(run: Arc<Run>, client: usize) {
    while let Some(cycle) = run.cycles.take() {
        let transaction = run.plan.transaction(cycle);
        let options = if run.is_traced(cycle, &transaction) { &run.traced } else { &run.plain };
        let began = Instant::now();
        let outcome = run.issue.send(&run.session, &transaction, options).await;
        let ended = Instant::now();
        let (failure, path) = match &outcome {
            Ok(response) => (None, run.settle(cycle, &transaction, response)),
            Err(error) => (Some(run.fail(cycle, &transaction, error)), None),
        };
        let (measured, inside) = (run.window.has(began), run.window.has(began) && run.window.has(ended));
        let service = ended - began;
        run.shelves.record(client, &Entry { kind: transaction.kind, service, failure, path, measured, inside });
        if failure.is_some_and(|failure| failure.class == FailureClass::Connection) {
            tokio::time::sleep(AWAY_PAUSE).await;
        }
        // A server on this very thread, or an answer that was there at once, must not keep the other clients waiting.
        tokio::task::consume_budget().await;
    }
}

impl Run {
    fn is_traced(&self, cycle: u64, transaction: &Transaction) -> bool {
        self.live.kind() == Some(transaction.kind) || (self.trace_every > 0 && cycle.is_multiple_of(self.trace_every))
    }

    /// Books a success; returns the path if it was told.
    fn settle(&self, cycle: u64, transaction: &Transaction, response: &Response) -> Option<usize> {
        if transaction.kind.is_write() {
            self.ledger.acknowledge(transaction);
        } else {
            self.look_at(cycle, transaction, response);
        }
        if let Some(warning) = response.warnings.first() {
            self.events.with(|events| {
                events.warning_count += 1;
                events.first_warning.get_or_insert_with(|| warning.clone());
            });
        }
        path(&response.payload)
    }

    fn look_at(&self, cycle: u64, transaction: &Transaction, response: &Response) {
        let numbers = match live::numbers(transaction, response) {
            Ok(numbers) => numbers,
            Err(error) => return self.give_up(error),
        };
        if self.live.kind() != Some(transaction.kind) {
            return;
        }
        let sum: i128 = numbers.map(i128::from).iter().sum();
        self.events.with(|events| {
            events.verified_count += 1;
            if sum != self.live_sum && events.violations.len() < VIOLATIONS_MAX {
                events.violations.push(live::violation(cycle, transaction, numbers, &response.payload));
                self.cycles.stop();
            }
        });
    }

    /// Books a failure. A write of unknown outcome is booked as such and never sent again.
    fn fail(&self, cycle: u64, transaction: &Transaction, error: &client::Error) -> Failure {
        let failure = Failure::from(error);
        if failure.unknown {
            self.ledger.doubt(transaction);
        }
        self.events.with(|events| {
            events.first_error[failure.class.index()].get_or_insert_with(|| error.to_string());
        });
        if failure.class == FailureClass::Invalid {
            let kind = transaction.kind.name();
            self.give_up(Error::Refused { cycle, kind, source: error.clone() });
        }
        failure
    }

    fn give_up(&self, error: Error) {
        self.cycles.stop();
        self.events.with(|events| {
            events.failure.get_or_insert(error);
        });
    }
}

/// Position of the told path in [`PATHS`].
fn path(payload: &Payload) -> Option<usize> {
    let told = payload.text(PATH_KEY)?;
    PATHS.iter().position(|path| *path == told)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cycles_end_at_their_count_and_when_stopped() {
        let cycles = Cycles::new(5, Some(2), None);
        assert_eq!([cycles.take(), cycles.take(), cycles.take()], [Some(5), Some(6), None]);
        let cycles = Cycles::new(0, None, None);
        assert_eq!(cycles.take(), Some(0));
        cycles.stop();
        assert_eq!(cycles.take(), None);
    }

    #[test]
    fn a_path_is_known_by_its_name() {
        let told = |name: &str| path(&Payload::default().with(PATH_KEY, name.as_bytes().to_vec()));
        assert_eq!((told("fast"), told("recovery"), told("scenic")), (Some(1), Some(4), None));
        assert_eq!(path(&Payload::default()), None);
    }
}
