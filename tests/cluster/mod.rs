//! Clusters on this machine for end-to-end tests: nodes in this process, real sockets, real files.
#![allow(dead_code, reason = "each test program uses a part of it")]

pub(crate) mod processes;

use accordd::config::Config;
use accordd::node::{LocalCluster, Prober};
use std::path::{Path, PathBuf};
use std::sync::Once;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;
use workload::{CheckArgs, InitArgs, RunArgs};

/// How long nodes get to find each other.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// A directory that goes with the value.
pub(crate) struct TempDir(PathBuf);

impl TempDir {
    pub(crate) fn new(name: &str) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let nth = NEXT.fetch_add(1, Ordering::Relaxed);
        let dir = std::env::temp_dir().join(format!("accordd-{name}-{}-{nth}", std::process::id()));
        std::fs::create_dir_all(&dir).expect("a temporary directory");
        Self(dir)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for TempDir {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Examines rows with the program under test.
pub(crate) fn prober() -> Prober {
    Prober::Child(env!("CARGO_BIN_EXE_accordd").into())
}

/// Three nodes that know each other.
pub(crate) async fn three_nodes(dir: &TempDir, config: Config) -> LocalCluster {
    // an actor that dies must not leave a test that passes
    static HOOK: Once = Once::new();
    HOOK.call_once(accordd::node::abort_on_panic_of_a_node);
    let mut cluster = LocalCluster::prepare(config, 3, dir.path(), prober()).expect("prepared");
    cluster.start_all().await.expect("started");
    cluster.wait_linked(PATIENCE).await.expect("linked");
    cluster
}

/// A small bank at these nodes.
pub(crate) fn bank(contacts: Vec<String>) -> (InitArgs, RunArgs, CheckArgs) {
    let mut init = InitArgs::default();
    init.target.contacts = contacts;
    init.target.customers = 100;
    let target = init.target.clone();
    let run = RunArgs { target: target.clone(), clients: 16, warmup: Duration::ZERO, ..RunArgs::default() };
    let check = CheckArgs { target, ..CheckArgs::default() };
    (init, run, check)
}
