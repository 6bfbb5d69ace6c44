//! The bank on three nodes of this process: no money is made or lost, whatever is stopped and started.

mod cluster;

use accordd::config::Config;
use cluster::{PATIENCE, TempDir, bank, three_nodes};
use std::sync::Arc;
use workload::RunArgs;
use workload::simplebank;

#[tokio::test]
async fn e2e_simplebank_total_is_kept() {
    let dir = TempDir::new("total");
    let cluster = three_nodes(&dir, Config::default()).await;
    let (init, run, check) = bank(cluster.contacts());
    simplebank::init(&init, &mut ()).await.expect("loaded");
    let ledger = Arc::new(run.target.ledger().expect("books"));
    let run = RunArgs { cycles: Some(2_000), ..run };
    let report = simplebank::run(&run, &ledger, &mut ()).await.expect("a report");
    assert_eq!(report.totals.ok, 2_000, "{:?} {:?}", report.totals.failures, report.notes);
    let report = simplebank::check(&check, Some(&ledger), &mut ()).await.expect("checked");
    assert!(report.is_ok(), "{:?}", report.checks);
    assert!(cluster.stop().expect("stopped"), "everything ended in time");
}

#[tokio::test]
async fn e2e_restart_keeps_acknowledged_writes() {
    let dir = TempDir::new("restart");
    let mut cluster = three_nodes(&dir, Config::default()).await;
    let (init, run, check) = bank(cluster.contacts());
    simplebank::init(&init, &mut ()).await.expect("loaded");
    let ledger = Arc::new(run.target.ledger().expect("books"));
    for seed in 0..2 {
        let run = RunArgs { cycles: Some(500), seed, ..run.clone() };
        let report = simplebank::run(&run, &ledger, &mut ()).await.expect("a report");
        assert_eq!(report.totals.ok, 500, "{:?} {:?}", report.totals.failures, report.notes);
        // the first time all at once and hard, the second time in order
        for index in 0..cluster.len() {
            let node = cluster.take(index).expect("running");
            if seed == 0 { node.kill() } else { assert!(node.stop().is_ok()) }
        }
        cluster.start_all().await.expect("started again");
        cluster.wait_linked(PATIENCE).await.expect("linked again");
    }
    let report = simplebank::check(&check, Some(&ledger), &mut ()).await.expect("checked");
    assert!(report.is_ok(), "{:?}", report.checks);
    assert!(cluster.stop().is_ok());
}
