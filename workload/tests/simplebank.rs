//! The driver against a bank that keeps real balances and misbehaves on demand.

#[path = "../../client/tests/fake/mod.rs"]
mod fake;

mod bank;

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use bank::{Bank, Fate};
use workload::{
    Action, Args, CheckArgs, CheckReport, Error, InitArgs, Kind, Ledger, Mix, Pairing, Progress, Report, RunArgs,
    RunReport, SimplebankArgs, TargetArgs, Tick, Workload, simplebank,
};

const CUSTOMERS: u64 = 40;

fn target(bank: &Bank) -> TargetArgs {
    let contacts = vec![bank.server.address.clone()];
    TargetArgs { contacts, customers: CUSTOMERS, ..CheckArgs::default().target }
}

fn run_args(bank: &Bank, mix: &str, cycles: u64) -> RunArgs {
    let mix: Mix = mix.parse().expect("a mix");
    RunArgs { target: target(bank), mix, cycles: Some(cycles), clients: 8, ..RunArgs::default() }
}

async fn init(bank: &Bank) {
    let args = InitArgs { target: target(bank), ..InitArgs::default() };
    let report = simplebank::init(&args, &mut ()).await.expect("loaded");
    assert_eq!((report.rows_counted, bank.row_count()), (2 * CUSTOMERS, 2 * CUSTOMERS as usize));
}

async fn run(args: &RunArgs, ledger: &Arc<Ledger>) -> RunReport {
    simplebank::run(args, ledger, &mut ()).await.expect("a report")
}

async fn check(bank: &Bank, ledger: Option<&Arc<Ledger>>) -> CheckReport {
    let args = CheckArgs { target: target(bank), passes: 1, ..CheckArgs::default() };
    simplebank::check(&args, ledger, &mut ()).await.expect("a report")
}

fn books(bank: &Bank) -> Arc<Ledger> {
    Arc::new(target(bank).ledger().expect("small"))
}

fn broken(report: &CheckReport) -> Vec<&str> {
    report.checks.iter().filter(|check| !check.ok).map(|check| check.name).collect()
}

const DECK: &str = "balance=60,payment=25,transfer=10,audit=4,payroll=1";

#[tokio::test]
async fn the_mix_runs_and_every_balance_is_as_booked() {
    for (protocol, literals) in [(4, false), (5, false), (5, true)] {
        let bank = Bank::start(|_| Fate::Normal).await;
        init(&bank).await;
        let mut args = run_args(&bank, DECK, 2_000);
        args.target.protocol = protocol;
        args.literals = literals;
        args.theta = 0.9;
        let ledger = books(&bank);
        let report = run(&args, &ledger).await;
        assert_eq!((report.totals.ops, report.totals.ok, report.totals.unknown), (2_000, 2_000, 0));
        assert_eq!(report.by_type.values().map(|one| one.ok).sum::<u64>(), 2_000);
        assert_eq!(report.totals.paths["fast"], 125, "one in sixteen is traced");
        assert!(report.totals.tps > 0.0 && report.totals.st.p99 > 0.0);
        let check = check(&bank, Some(&ledger)).await;
        assert!(check.is_ok(), "{check:?}");
        assert_eq!(check.checks.len(), 4);
    }
}

/// Field cases W03 and P18.
#[tokio::test]
async fn rejected_and_unknown_are_told_apart_and_never_sent_again() {
    let bank = Bank::start(|number| match number % 20 {
        0..10 => Fate::Rejected,
        10 if number % 40 == 10 => Fate::DoneUnknown,
        10 => Fate::NotDoneUnknown,
        _ => Fate::Normal,
    })
    .await;
    init(&bank).await;
    let ledger = books(&bank);
    let mut args = run_args(&bank, "transfer=1,payment=1,payroll=1", 2_000);
    args.errors_max = 50.0;
    let report = run(&args, &ledger).await;
    let totals = &report.totals;
    assert_eq!((totals.ok, totals.rejected(), totals.unknown, totals.other_errors()), (900, 1_000, 100, 0));
    assert_eq!(bank.log().len(), 2_000, "each cycle is sent once");
    assert!((totals.failed_percent - 55.0).abs() < 1e-9);
    let elapsed_s = report.workload.duration_s;
    assert!((totals.tps * elapsed_s - 900.0).abs() < 1e-6, "throughput counts successes only");
    let check = check(&bank, Some(&ledger)).await;
    assert!(check.is_ok(), "{check:?}");
    assert!(ledger.has_unknown());
    assert_eq!(Report::Run(Box::new(report)).exit_code(), 1, "more failed than --errors-max");
}

/// Field case P18.
#[tokio::test]
async fn lost_answers_are_unknown_once_and_the_data_lies_within_the_books() {
    let bank = Bank::start(|number| if number % 20 == 7 { Fate::DoneSilent } else { Fate::Normal }).await;
    init(&bank).await;
    let ledger = books(&bank);
    let mut args = run_args(&bank, "transfer=1", 400);
    args.target.timeout = Duration::from_millis(50);
    let report = run(&args, &ledger).await;
    // A slow machine may add unknowns of its own; none of them may be lost or sent twice.
    assert!(report.totals.unknown >= 20, "{:?}", report.totals.failures);
    assert_eq!((report.totals.ok + report.totals.unknown, bank.log().len()), (400, 400));
    let check = check(&bank, Some(&ledger)).await;
    assert!(check.is_ok(), "{check:?}");
}

#[tokio::test]
async fn no_success_at_all_prints_zeros() {
    let bank = Bank::start(|_| Fate::Rejected).await;
    init(&bank).await;
    let report = run(&run_args(&bank, "transfer=1", 50), &books(&bank)).await;
    assert_eq!((report.totals.tps, report.totals.st.p99, report.totals.failed_percent), (0.0, 0.0, 100.0));
    let report = Report::Run(Box::new(report));
    // JSON has no NaN and writes null instead.
    let json: serde_json::Value = serde_json::from_str(&report.json()).expect("JSON");
    assert_eq!((&json["totals"]["tps"], &json["totals"]["st"]["mean"]), (&0.0.into(), &0.0.into()));
    assert!(!report.text().contains("NaN"));
}

#[tokio::test]
async fn a_lost_and_a_doubled_write_are_found_though_the_total_is_kept() {
    for fate in [Fate::LostApply, Fate::DoubleApply] {
        let bank = Bank::start(move |number| if number == 77 { fate } else { Fate::Normal }).await;
        init(&bank).await;
        let ledger = books(&bank);
        run(&run_args(&bank, "transfer=1", 200), &ledger).await;
        let with_books = check(&bank, Some(&ledger)).await;
        assert_eq!(broken(&with_books), ["savings_are_as_booked", "checking_is_as_booked"], "{fate:?}");
        assert_eq!(Report::Check(with_books).exit_code(), 3);
        assert!(check(&bank, None).await.is_ok(), "without books the sum is all there is");
    }
}

#[tokio::test]
async fn a_dirty_read_ends_the_run_where_the_mix_allows_to_see_it() {
    for (mix, pairing) in [("balance=1,transfer=1", Pairing::Open), ("audit=1,payment=1", Pairing::Closed)] {
        let bank = Bank::start(|number| if number >= 500 { Fate::DirtyRead } else { Fate::Normal }).await;
        init(&bank).await;
        let mut args = run_args(&bank, mix, 100_000);
        args.pairing = pairing;
        let report = run(&args, &books(&bank)).await;
        let line = &report.checks[0];
        assert!(!line.ok && line.detail.contains("transaction [1,2,3]"), "{line:?}");
        assert!(report.totals.ops < 2_000, "it stops soon");
        assert_eq!(Report::Run(Box::new(report)).exit_code(), 3);
    }
}

#[tokio::test]
async fn clean_reads_are_counted_as_verified() {
    let bank = Bank::start(|_| Fate::Normal).await;
    init(&bank).await;
    let report = run(&run_args(&bank, "balance=1,transfer=1", 400), &books(&bank)).await;
    let balances = report.by_type["balance"].ok;
    assert!(report.checks[0].ok && report.checks[0].detail.starts_with(&format!("{balances} reads")));
}

#[tokio::test]
async fn the_same_seed_issues_the_same_transactions_whatever_the_clients() {
    let mut logs = vec![];
    for clients in [1, 16] {
        let bank = Bank::start(|_| Fate::Normal).await;
        init(&bank).await;
        let args = RunArgs { clients, ..run_args(&bank, DECK, 500) };
        run(&args, &books(&bank)).await;
        let mut log = bank.log();
        log.sort();
        logs.push(log);
    }
    assert_eq!(logs[0].len(), 500);
    assert_eq!(logs[0], logs[1]);
}

#[tokio::test]
async fn one_cycle_can_be_issued_again_alone() {
    let bank = Bank::start(|_| Fate::Normal).await;
    init(&bank).await;
    let args = RunArgs { clients: 1, ..run_args(&bank, DECK, 30) };
    run(&args, &books(&bank)).await;
    run(&RunArgs { only_cycle: Some(17), cycles: None, ..args }, &books(&bank)).await;
    let log = bank.log();
    assert_eq!((log.len(), &log[30]), (31, &log[17]));
}

#[tokio::test]
async fn a_missing_row_is_told_and_not_run_over() {
    let bank = Bank::start(|_| Fate::Normal).await;
    init(&bank).await;
    bank.remove_row(3, "SAVINGS");
    let error = simplebank::run(&run_args(&bank, "balance=1", 10_000), &books(&bank), &mut ()).await;
    assert!(matches!(&error, Err(Error::MissingRow { id: 3, account: "SAVINGS" })), "{error:?}");
    assert_eq!(broken(&check(&bank, None).await), ["rows_are_all_there", "total_is_kept"]);
}

#[tokio::test]
async fn a_refused_statement_ends_the_run_with_its_text() {
    let bank = Bank::start(|number| if number == 20 { Fate::Invalid } else { Fate::Normal }).await;
    init(&bank).await;
    let error = simplebank::run(&run_args(&bank, "transfer=1", 10_000), &books(&bank), &mut ()).await;
    let text = error.expect_err("refused").to_string();
    assert!(text.contains("transfer") && text.contains("no such table"), "{text}");
    assert!(bank.log().len() < 200);
}

#[tokio::test]
async fn senseless_options_are_refused_before_anything_is_sent() {
    let bank = Bank::start(|_| Fate::Normal).await;
    let mut args = run_args(&bank, DECK, 10);
    args.target.customers = 3;
    let ledger = Arc::new(args.target.ledger().expect("small"));
    let text = simplebank::run(&args, &ledger, &mut ()).await.expect_err("too few").to_string();
    assert!(text.contains("payroll names 4 different customers, but --customers is 3"), "{text}");
    let other = simplebank::run(&run_args(&bank, DECK, 10), &ledger, &mut ()).await.expect_err("other bank");
    assert!(other.to_string().contains("ledger is of another bank"));
    assert!(bank.log().is_empty());
}

struct StopAfter(u32);

impl Progress for StopAfter {
    fn tick(&mut self, tick: &Tick) -> ControlFlow<()> {
        assert!(tick.total.ok > 0 && tick.by_type.len() == 1);
        self.0 = self.0.saturating_sub(1);
        if self.0 == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

#[tokio::test]
async fn progress_can_end_a_run_and_still_get_its_report() {
    let bank = Bank::start(|_| Fate::Normal).await;
    init(&bank).await;
    let mut args = run_args(&bank, "transfer=1", 0);
    args.cycles = None;
    args.warmup = Duration::ZERO;
    args.duration = Duration::from_secs(3600);
    args.interval = Duration::from_millis(200);
    let ledger = books(&bank);
    let report = simplebank::run(&args, &ledger, &mut StopAfter(2)).await.expect("a report");
    assert!(report.stopped_early && report.workload.duration_s < 3000.0 && report.totals.ok > 0);
    assert_eq!(report.totals.ok as usize, bank.log().len());
    assert!(check(&bank, Some(&ledger)).await.is_ok());
}

#[tokio::test]
async fn the_command_line_carries_the_books_from_run_to_check() {
    let bank = Bank::start(|_| Fate::Normal).await;
    let path: PathBuf = std::env::temp_dir().join(format!("workload-ledger-{}", std::process::id()));
    let with_file = |target: TargetArgs| TargetArgs { ledger: Some(path.clone()), ..target };
    let command = |action| Args { workload: Workload::Simplebank(SimplebankArgs { action }) };
    let loading = InitArgs { target: with_file(target(&bank)), ..InitArgs::default() };
    workload::run(&command(Action::Init(loading)), &mut ()).await.expect("loaded");
    for seed in [1, 2] {
        let mut args = RunArgs { seed, ..run_args(&bank, DECK, 300) };
        args.target = with_file(args.target);
        let report = workload::run(&command(Action::Run(args)), &mut ()).await.expect("a report");
        assert_eq!(report.exit_code(), 0);
        let json: serde_json::Value = serde_json::from_str(&report.json()).expect("JSON");
        assert_eq!(json["totals"]["ok"], 300);
        assert_eq!(json["workload"]["seed"], seed);
        assert!(report.text().contains("300 ok, 0 rejected, 0 unknown"));
    }
    let checking = CheckArgs { target: with_file(target(&bank)), ..CheckArgs::default() };
    let report = workload::run(&command(Action::Check(checking)), &mut ()).await.expect("a report");
    assert_eq!(report.exit_code(), 0, "{}", report.text());
    assert!(report.text().contains("savings_are_as_booked"));
    let json: serde_json::Value = serde_json::from_str(&report.json()).expect("JSON");
    assert_eq!(json["sum"], 80_000);
    std::fs::remove_file(&path).expect("removed");
}

#[test]
fn a_type_alone_is_a_mix_of_one() {
    let args = RunArgs { kind: Some(Kind::Transfer), ..RunArgs::default() };
    assert_eq!(args.mix().kinds().collect::<Vec<_>>(), [Kind::Transfer]);
}
