//! Field case O02: a panic in one actor ends the whole process, and the next start comes back from the journal alone.
//!
//! Needs the feature `mutants`, without which no panic can be planted.
#![cfg(feature = "mutants")]

mod cluster;

use cluster::bank;
use cluster::processes::{PROGRAM, Processes};
use std::ops::ControlFlow;
use std::process::{Command, ExitStatus};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::time::sleep;
use workload::simplebank::{self, Ledger};
use workload::{CheckArgs, Progress, RunArgs, Tick};

/// How long a process may live on, the time until the planted place is reached included.
const LIMIT: Duration = Duration::from_secs(10);

/// Transactions that are acknowledged before the panic, and after the node is back.
const CYCLES: u64 = 200;

/// Three processes and a bank, all of whose clients talk to the first node.
struct Bank {
    processes: Processes,
    ledger: Arc<Ledger>,
    run: RunArgs,
    check: CheckArgs,
}

impl Bank {
    /// A bank with some history, behind a first node that was killed.
    async fn without_first_node(name: &str) -> Self {
        let mut processes = Processes::prepare(name);
        (0..3).for_each(|index| processes.start(index));
        for index in 0..3 {
            processes.wait_serving(index).await;
        }
        let (init, run, check) = bank(vec![processes.contacts[0].clone()]);
        simplebank::init(&init, &mut ()).await.expect("loaded");
        let ledger = Arc::new(run.target.ledger().expect("books"));
        let mut bank = Self { processes, ledger, run, check };
        bank.pay().await;
        bank.processes.kill(0);
        bank
    }

    /// Some transactions through the first node, all of which succeed.
    async fn pay(&self) {
        let run = RunArgs { cycles: Some(CYCLES), ..self.run.clone() };
        let report = simplebank::run(&run, &self.ledger, &mut ()).await.expect("a report");
        assert_eq!(report.totals.ok, CYCLES, "{:?} {:?}", report.totals.failures, report.notes);
    }

    fn start_planted(&mut self, planted: &str) {
        self.processes.start_with(0, &[("ACCORDD_PANIC_AT", planted)]);
    }

    /// Offers load to the first node until it ends, and tells how it ended.
    async fn load_until_end(&mut self) -> Option<ExitStatus> {
        let run = RunArgs { duration: LIMIT, interval: Duration::from_millis(50), ..self.run.clone() };
        let mut watch = Watch { processes: &mut self.processes, ended: None };
        let report = simplebank::run(&run, &self.ledger, &mut watch).await.expect("a report");
        println!("{} transactions succeeded, {} did not", report.totals.ok, report.totals.ops - report.totals.ok);
        watch.ended
    }

    /// Waits until the first node ends, and tells how it ended.
    async fn wait_end(&mut self) -> Option<ExitStatus> {
        let deadline = Instant::now() + LIMIT;
        loop {
            let ended = self.processes.ended(0);
            if ended.is_some() || Instant::now() >= deadline {
                return ended;
            }
            sleep(Duration::from_millis(20)).await;
        }
    }

    /// The first node has ended with a message, and whoever asks is told.
    fn assert_died(&self, place: &str, ended: Option<ExitStatus>) {
        let log = self.processes.log(0);
        let ended = ended.unwrap_or_else(|| panic!("a panic at {place} does not end the process\n{log}"));
        println!("{place}: {ended}");
        assert!(!ended.success(), "{place}: {ended}");
        assert!(log.contains(&format!("planted at {place}")), "{place}\n{log}");
        let mut status = Command::new(PROGRAM);
        let status = status.arg("status").arg("--config").arg(&self.processes.file).output().expect("runs");
        assert_eq!(status.status.code(), Some(1), "{}", String::from_utf8_lossy(&status.stdout));
    }

    /// Without the planted panic the node serves again, and nothing acknowledged is lost.
    async fn assert_comes_back(mut self) {
        self.processes.start(0);
        self.processes.wait_serving(0).await;
        self.pay().await;
        let report = simplebank::check(&self.check, Some(&self.ledger), &mut ()).await.expect("checked");
        assert!(report.is_ok(), "{:?}", report.checks);
        for (index, ended) in self.processes.terminate().into_iter().enumerate() {
            let log = self.processes.log(index);
            assert_eq!(ended.code(), Some(0), "node {}\n{log}", index + 1);
            let errors = log.matches("ERROR").count();
            assert_eq!(errors, usize::from(index == 0), "the panic is the only error\n{log}");
        }
    }
}

/// Ends the load once the first node has ended.
struct Watch<'a> {
    processes: &'a mut Processes,
    ended: Option<ExitStatus>,
}

impl Progress for Watch<'_> {
    fn tick(&mut self, _: &Tick) -> ControlFlow<()> {
        self.ended = self.ended.or_else(|| self.processes.ended(0));
        if self.ended.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

/// The place is passed a hundred times first: the node serves, and has acknowledged writes in memory, when it panics.
async fn dies_under_load(place: &str) {
    let mut bank = Bank::without_first_node(place).await;
    bank.start_planted(&format!("{place}:100"));
    bank.processes.wait_serving(0).await;
    let ended = bank.load_until_end().await;
    bank.assert_died(place, ended);
    bank.assert_comes_back().await;
}

#[tokio::test]
async fn o02_panic_of_a_store_in_pre_accept_ends_the_process() {
    dies_under_load("store-pre-accept").await;
}

#[tokio::test]
async fn o02_panic_of_a_store_in_apply_ends_the_process() {
    dies_under_load("store-apply").await;
}

#[tokio::test]
async fn o02_panic_of_the_coordinator_ends_the_process() {
    dies_under_load("coordinator").await;
}

#[tokio::test]
async fn o02_panic_of_the_journal_thread_ends_the_process() {
    dies_under_load("journal").await;
}

/// A part of the log, some thousands of records long, is folded by then.
#[tokio::test]
async fn o02_panic_in_replay_ends_the_process() {
    let mut bank = Bank::without_first_node("replay").await;
    bank.start_planted("replay:500");
    let ended = bank.wait_end().await;
    bank.assert_died("replay", ended);
    bank.assert_comes_back().await;
}
