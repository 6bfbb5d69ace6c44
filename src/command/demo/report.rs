//! What a demonstration has shown.

use crate::node::Figures;
use serde::Serialize;
use std::fmt::Write;
use workload::{CheckReport, Format, Report, RunReport};

/// Everything a demonstration found.
#[derive(Debug)]
pub(super) struct Summary {
    pub(super) run: RunReport,
    pub(super) check: CheckReport,
    pub(super) kills: u32,
    pub(super) figures: Figures,
}

/// The JSON form.
#[derive(Serialize)]
struct Json<'a> {
    ok: bool,
    kills: u32,
    paths: Paths,
    run: &'a RunReport,
    check: &'a CheckReport,
}

/// Transactions that the nodes now running have decided, by path.
#[derive(Serialize)]
struct Paths {
    fast: u64,
    medium: u64,
    slow: u64,
    recoveries: u64,
}

impl Summary {
    /// Whether every invariant holds.
    pub(super) fn is_ok(&self) -> bool {
        self.check.is_ok() && self.run.checks.iter().all(|check| check.ok)
    }

    pub(super) fn print(&self, format: Format) -> String {
        match format {
            Format::Json => self.json(),
            Format::Text => self.text(),
        }
    }

    fn json(&self) -> String {
        let Figures { fast, medium, slow, recoveries, .. } = self.figures;
        let paths = Paths { fast, medium, slow, recoveries };
        let form = Json { ok: self.is_ok(), kills: self.kills, paths, run: &self.run, check: &self.check };
        // plain structs with text keys: nothing in them can fail to be written
        serde_json::to_string_pretty(&form).unwrap_or_default() + "\n"
    }

    fn text(&self) -> String {
        let mut text = Report::Run(Box::new(self.run.clone())).text();
        text += "\n";
        text += &shares(&self.figures);
        if self.kills > 0 {
            let _ = writeln!(text, "nodes killed and started again under load: {}", self.kills);
        }
        text += &Report::Check(self.check.clone()).text();
        text += match self.is_ok() {
            true => "\nno money was made or lost\n",
            false => "\nTHE BOOKS DO NOT BALANCE: this is a bug, please report it with everything above\n",
        };
        text
    }
}

/// The share of each path among transactions the running nodes have coordinated.
fn shares(figures: &Figures) -> String {
    let Figures { fast, medium, slow, recoveries, .. } = *figures;
    let all = (fast + medium + slow).max(1) as f64;
    let percent = |count: u64| count as f64 / all * 100.0;
    format!(
        "paths of all transactions since the nodes started: {:.2} % fast, {:.2} % medium, {:.2} % slow; {recoveries} recoveries\n",
        percent(fast),
        percent(medium),
        percent(slow)
    )
}

/// Addresses, and what to type.
pub(super) fn how_to_connect(contacts: &[String]) -> String {
    let first = contacts.first().map_or("127.0.0.1:9042", String::as_str);
    let (host, port) = first.rsplit_once(':').unwrap_or((first, "9042"));
    format!(
        "clients connect to {}\n  cqlsh {host} {port}\n  python: cassandra.cluster.Cluster([\"{host}\"], port={port}).connect()\n",
        contacts.join(", ")
    )
}
