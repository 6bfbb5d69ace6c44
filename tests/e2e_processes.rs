//! Three `accordd serve` processes: keys from `keygen`, one killed with SIGKILL under load, all stopped with SIGTERM.

mod cluster;

use cluster::bank;
use cluster::processes::{PATIENCE, PROGRAM, Processes};
use std::net::{SocketAddr, TcpListener};
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};
use workload::simplebank;
use workload::{Progress, RunArgs, Tick};

/// Kills a node at the second tick and starts it again at the sixth.
struct Killer<'a> {
    processes: &'a mut Processes,
    ticks: u32,
}

impl Progress for Killer<'_> {
    fn tick(&mut self, _: &Tick) -> std::ops::ControlFlow<()> {
        self.ticks += 1;
        match self.ticks {
            2 => self.processes.kill(1),
            6 => self.processes.start(1),
            _ => {}
        }
        std::ops::ControlFlow::Continue(())
    }
}

#[tokio::test]
async fn e2e_a_process_killed_under_load_loses_no_acknowledged_write() {
    let mut processes = Processes::prepare("processes");
    (0..3).for_each(|index| processes.start(index));
    for index in 0..3 {
        processes.wait_serving(index).await;
    }
    let (init, run, check) = bank(processes.contacts.clone());
    simplebank::init(&init, &mut ()).await.expect("loaded");
    let ledger = Arc::new(run.target.ledger().expect("books"));
    let run = RunArgs { duration: Duration::from_secs(6), interval: Duration::from_millis(500), ..run };
    let mut killer = Killer { processes: &mut processes, ticks: 0 };
    let report = simplebank::run(&run, &ledger, &mut killer).await.expect("a report");
    assert!(report.totals.ok > 100, "{:?} {:?}", report.totals.failures, report.notes);
    processes.wait_serving(1).await;
    let report = simplebank::check(&check, Some(&ledger), &mut ()).await.expect("checked");
    assert!(report.is_ok(), "{:?}", report.checks);
    for (index, ended) in processes.terminate().into_iter().enumerate() {
        assert_eq!(ended.code(), Some(0), "node {}\n{}", index + 1, processes.log(index));
        assert!(!processes.log(index).contains("ERROR"), "{}", processes.log(index));
    }
}

#[test]
fn e2e_a_directory_in_use_and_a_port_in_use_are_one_sentence_each() {
    let mut processes = Processes::prepare("taken");
    let serve = |processes: &Processes| {
        let mut node = Command::new(PROGRAM);
        node.args(["serve", "--node", "1", "--config"]).arg(&processes.file).output().expect("runs")
    };
    let held = TcpListener::bind(processes.contacts[0].parse::<SocketAddr>().expect("an address")).expect("bound");
    let refused = serve(&processes);
    let text = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(1), "{text}");
    assert!(text.contains("[client_port] listen") && text.contains(&processes.contacts[0]), "{text}");
    drop(held);
    processes.start(0);
    let deadline = Instant::now() + PATIENCE;
    while !processes.log(0).contains("is ready") {
        assert!(Instant::now() < deadline, "{}", processes.log(0));
        std::thread::sleep(Duration::from_millis(10));
    }
    let refused = serve(&processes);
    let text = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(1), "{text}");
    assert!(text.contains("in use by process"), "{text}");
}
