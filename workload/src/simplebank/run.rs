//! `run`: starts the clients, tells what happens while they run, and sums up.

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use client::{Payload, RequestOptions};
use tokio::task::JoinSet;
use tokio::time::{MissedTickBehavior, interval};

use crate::args::RunArgs;
use crate::books::Shelves;
use crate::error::Error;
use crate::progress::Progress;
use crate::report::{CheckLine, RunReport};
use crate::simplebank::client_loop::{Cycles, Events, Run, Window, run_client};
use crate::simplebank::ledger::Ledger;
use crate::simplebank::live::LiveCheck;
use crate::simplebank::plan::Plan;
use crate::simplebank::statements::Issue;
use crate::ticker::Ticker;

const INTERVAL_MIN: Duration = Duration::from_millis(10);

/// Issues transactions in a closed loop and measures them; every effect, warm-up included, goes into `ledger`.
///
/// *Errors*: [`Error::Usage`] before anything is sent; [`Error::Refused`] or [`Error::MissingRow`] if going on makes no sense. The
/// ledger holds what was issued in either case.
pub async fn run(args: &RunArgs, ledger: &Arc<Ledger>, progress: &mut dyn Progress) -> Result<RunReport, Error> {
    args.target.validate()?;
    args.target.match_ledger(ledger)?;
    validate(args)?;
    let plan = Plan::new(args)?;
    let session = args.target.connect(args.clients).await?;
    let issue = prepare(args, &session).await?;
    let (live, note) = LiveCheck::of(args, ledger);
    let started_at = SystemTime::now();
    let (window, cycles) = schedule(args, Instant::now());
    let run = Arc::new(Run {
        session,
        issue,
        plan,
        ledger: ledger.clone(),
        shelves: Shelves::new(args.clients as usize),
        window,
        live,
        live_sum: 2 * i128::from(args.target.initial_balance),
        trace_every: args.trace_every,
        cycles,
        traced: RequestOptions { payload: Payload::trace(), ..RequestOptions::default() },
        plain: RequestOptions::default(),
        events: Events::default(),
    });
    let mut ticker = Ticker::new(args.mix().kinds(), window.begin);
    let stopped_early = drive(&run, args, &mut ticker, progress).await?;
    if let Some(error) = run.events.take_failure() {
        return Err(error);
    }
    let measured_s = measured_seconds(args, window, stopped_early || !run.events.violations().is_empty());
    let books = run.shelves.measured();
    let mut report = RunReport::new(args, started_at, measured_s, &books, ticker.into_series());
    report.stopped_early = stopped_early;
    report.notes.extend(note);
    report.notes.extend(run.events.notes());
    report.checks.extend(live_line(&run));
    Ok(report)
}

fn validate(args: &RunArgs) -> Result<(), Error> {
    if args.interval < INTERVAL_MIN {
        return Err(Error::Usage(format!("--interval must be at least {INTERVAL_MIN:?}")));
    }
    if !(0.0..=100.0).contains(&args.errors_max) {
        return Err(Error::Usage(format!("--errors-max is a percentage, not {}", args.errors_max)));
    }
    if args.duration.is_zero() && args.cycles.is_none() && args.only_cycle.is_none() {
        return Err(Error::Usage("--duration must be more than 0".to_owned()));
    }
    Ok(())
}

async fn prepare(args: &RunArgs, session: &client::Session) -> Result<Issue, Error> {
    let keyspace = &args.target.keyspace;
    if args.literals {
        return Ok(Issue::Literals { keyspace: keyspace.clone() });
    }
    let prepared = Issue::prepare(session, keyspace, args.mix().kinds()).await;
    prepared.map_err(|source| Error::Statement { what: "prepare the transactions".to_owned(), source })
}

/// The measured window and the cycles to issue; a fixed number of cycles is measured from the first on.
fn schedule(args: &RunArgs, now: Instant) -> (Window, Cycles) {
    let fixed = args.only_cycle.map(|cycle| (cycle, 1)).or(args.cycles.map(|count| (0, count)));
    match fixed {
        Some((first, count)) => (Window { begin: now, end: None }, Cycles::new(first, Some(count), None)),
        None => {
            let begin = now + args.warmup;
            let end = begin + args.duration;
            (Window { begin, end: Some(end) }, Cycles::new(0, None, Some(end)))
        }
    }
}

/// Runs the clients to their end; true if `progress` ended the run.
async fn drive(
    run: &Arc<Run>,
    args: &RunArgs,
    ticker: &mut Ticker,
    progress: &mut dyn Progress,
) -> Result<bool, Error> {
    let mut clients = JoinSet::new();
    for client in 0..args.clients as usize {
        clients.spawn(run_client(run.clone(), client));
    }
    let mut ticks = interval(args.interval);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    ticks.tick().await;
    let mut stopped = false;
    loop {
        tokio::select! {
            ended = clients.join_next() => match ended {
                None => break,
                Some(Ok(())) => {}
                Some(Err(error)) => return Err(Error::Worker(error.to_string())),
            },
            _ = ticks.tick() => {
                if progress.tick(&ticker.tick(&run.shelves)).is_break() && !stopped {
                    stopped = true;
                    run.cycles.stop();
                }
            }
        }
    }
    if let Some(last) = ticker.last_tick(&run.shelves) {
        // The run is over; there is nothing left to break.
        let _ = progress.tick(&last);
    }
    Ok(stopped)
}

fn measured_seconds(args: &RunArgs, window: Window, cut_short: bool) -> f64 {
    match window.end {
        Some(_) if !cut_short => args.duration.as_secs_f64(),
        _ => {
            let now = window.end.map_or_else(Instant::now, |end| end.min(Instant::now()));
            now.saturating_duration_since(window.begin).as_secs_f64()
        }
    }
}

fn live_line(run: &Run) -> Option<CheckLine> {
    run.live.kind()?;
    let violations = run.events.violations();
    let detail = match violations.is_empty() {
        true => format!("{} reads returned {} in all", run.events.verified_count(), run.live_sum),
        false => violations.join("; "),
    };
    Some(CheckLine::new(run.live.name(), violations.is_empty(), detail))
}
