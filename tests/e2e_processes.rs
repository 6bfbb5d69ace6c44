//! Three `accordd serve` processes: keys from `keygen`, one killed with SIGKILL under load, all stopped with SIGTERM.

mod cluster;

use accordd::config::{Config, NodeEntry};
use client::{ConnectOptions, Connection};
use cluster::{TempDir, bank};
use std::fs::{self, File};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus};
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::{Duration, Instant};
use tokio::time::sleep;
use workload::simplebank;
use workload::{Progress, RunArgs, Tick};

const PROGRAM: &str = env!("CARGO_BIN_EXE_accordd");
const PATIENCE: Duration = Duration::from_secs(30);

/// Processes of one cluster; what still runs at the end is killed.
struct Processes {
    dir: TempDir,
    file: PathBuf,
    contacts: Vec<String>,
    nodes: Vec<Option<Child>>,
}

impl Processes {
    fn prepare(name: &str) -> Self {
        let dir = TempDir::new(name);
        let file = dir.path().join("cluster.toml");
        let mut config = Config::default();
        config.cluster.id = Some("00112233445566778899aabbccddeeff".into());
        let ports = free_ports(6);
        let address = |port: u16| SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        config.cluster.nodes = (0..3)
            .map(|at| NodeEntry {
                id: at as u32 + 1,
                peer_addr: address(ports[2 * at]),
                client_addr: Some(address(ports[2 * at + 1])),
                identity: None,
                token: None,
            })
            .collect();
        fs::write(&file, config.to_text()).expect("written");
        let made = Command::new(PROGRAM).arg("keygen").arg("--config").arg(&file).output().expect("runs");
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        let contacts = (0..3).map(|at| address(ports[2 * at + 1]).to_string()).collect();
        Self { dir, file, contacts, nodes: vec![None, None, None] }
    }

    fn start(&mut self, index: usize) {
        let log = self.dir.path().join(format!("node-{}.log", index + 1));
        let log = File::options().create(true).append(true).open(log).expect("a log file");
        let mut node = Command::new(PROGRAM);
        node.args(["serve", "--node", &(index + 1).to_string(), "--config"]).arg(&self.file).stderr(log);
        self.nodes[index] = Some(node.spawn().expect("starts"));
    }

    async fn wait_serving(&self, index: usize) {
        let deadline = Instant::now() + PATIENCE;
        while let Err(error) = Connection::connect(&self.contacts[index], &ConnectOptions::default()).await {
            assert!(Instant::now() < deadline, "node {}: {error}\n{}", index + 1, self.log(index));
            sleep(Duration::from_millis(20)).await;
        }
    }

    fn log(&self, index: usize) -> String {
        fs::read_to_string(self.dir.path().join(format!("node-{}.log", index + 1))).unwrap_or_default()
    }

    fn kill(&mut self, index: usize) {
        if let Some(mut node) = self.nodes[index].take() {
            node.kill().expect("SIGKILL");
            node.wait().expect("ended");
        }
    }

    fn terminate(&mut self) -> Vec<ExitStatus> {
        let nodes: Vec<Child> = self.nodes.iter_mut().filter_map(Option::take).collect();
        for node in &nodes {
            let sent = Command::new("kill").args(["-TERM", &node.id().to_string()]).status().expect("kill runs");
            assert!(sent.success());
        }
        nodes.into_iter().map(|mut node| node.wait().expect("ended")).collect()
    }
}

impl Drop for Processes {
    fn drop(&mut self) {
        (0..self.nodes.len()).for_each(|index| self.kill(index));
    }
}

fn free_ports(count: usize) -> Vec<u16> {
    let is_free = |port: &u16| TcpListener::bind((Ipv4Addr::LOCALHOST, *port)).is_ok();
    static GIVEN: AtomicU16 = AtomicU16::new(0);
    let first = 22_000 + (std::process::id() % 500) as u16 * 16 + GIVEN.fetch_add(count as u16, Ordering::Relaxed);
    (first..).filter(is_free).take(count).collect()
}

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
