//! Nodes that die while the load runs.

use crate::Error;
use crate::node::LocalCluster;
use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;
use tokio::task::spawn_blocking;
use tokio::time::{Instant, sleep_until};
use tracing::info;

/// How long a killed node stays away.
const AWAY: Duration = Duration::from_secs(2);

/// Kills one node after the other, and starts each again.
pub(super) struct Chaos {
    period: Duration,
    cluster: Rc<RefCell<LocalCluster>>,
    next_kill: Instant,
    victim: usize,
    /// Killed, and when it may come back.
    away: Option<(usize, Instant)>,
    kills: u32,
}

impl Chaos {
    pub(super) fn new(period: Duration, cluster: Rc<RefCell<LocalCluster>>) -> Self {
        let next_kill = Instant::now() + period;
        Self { period, cluster, next_kill, victim: 0, away: None, kills: 0 }
    }

    pub(super) fn kills(&self) -> u32 {
        self.kills
    }

    /// Waits for the next thing to do and does it. A future dropped while it waits has done nothing.
    pub(super) async fn step(&mut self) -> Result<(), Error> {
        match self.away {
            Some((_, back)) => {
                sleep_until(back).await;
                self.heal().await
            }
            None => {
                sleep_until(self.next_kill).await;
                self.kill().await;
                Ok(())
            }
        }
    }

    /// Starts whoever is away.
    pub(super) async fn heal(&mut self) -> Result<(), Error> {
        self.away = None;
        self.cluster.borrow_mut().start_all().await
    }

    async fn kill(&mut self) {
        let index = self.victim;
        let (node, count) = {
            let mut cluster = self.cluster.borrow_mut();
            (cluster.take(index), cluster.len())
        };
        self.victim = (index + 1) % count;
        self.away = Some((index, Instant::now() + AWAY));
        self.next_kill = Instant::now() + self.period.max(AWAY);
        if let Some(node) = node {
            info!(node = index + 1, "killing node {}", index + 1);
            self.kills += 1;
            // if the load ends meanwhile, the thread goes on to its end by itself
            let _ = spawn_blocking(move || node.kill()).await;
        }
    }
}
