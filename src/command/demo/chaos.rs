//! Nodes that die while the load runs.

use crate::Error;
use crate::node::LocalCluster;
use std::time::Duration;
use tokio::task::spawn_blocking;
use tokio::time::{Instant, sleep_until};
use tracing::info;

/// How long a killed node stays away.
const AWAY: Duration = Duration::from_secs(2);

/// Kills one node after the other, and starts each again.
pub(super) struct Chaos<'a> {
    period: Duration,
    cluster: &'a mut LocalCluster,
    next_kill: Instant,
    victim: usize,
    /// When whoever was killed may come back.
    away: Option<Instant>,
    kills: u32,
}

impl<'a> Chaos<'a> {
    pub(super) fn new(period: Duration, cluster: &'a mut LocalCluster) -> Self {
        let next_kill = Instant::now() + period;
        Self { period, cluster, next_kill, victim: 0, away: None, kills: 0 }
    }

    pub(super) fn kills(&self) -> u32 {
        self.kills
    }

    /// Waits for the next thing to do; may be dropped and asked again.
    pub(super) async fn wait(&self) {
        sleep_until(self.away.unwrap_or(self.next_kill)).await;
    }

    /// Does what [`Chaos::wait`] has waited for; must not be dropped half-way.
    pub(super) async fn act(&mut self) -> Result<(), Error> {
        if self.away.is_some() {
            return self.heal().await;
        }
        self.kill().await;
        Ok(())
    }

    /// Starts whoever is away.
    pub(super) async fn heal(&mut self) -> Result<(), Error> {
        self.away = None;
        self.cluster.start_all().await
    }

    async fn kill(&mut self) {
        let index = self.victim;
        let node = self.cluster.take(index);
        self.victim = (index + 1) % self.cluster.len();
        self.away = Some(Instant::now() + AWAY);
        self.next_kill = Instant::now() + self.period.max(AWAY);
        if let Some(node) = node {
            info!(node = index + 1, "killing node {}", index + 1);
            self.kills += 1;
            // a thread that cannot be joined has ended all the same
            let _ = spawn_blocking(move || node.kill()).await;
        }
    }
}
