//! The live table of a run: redrawn in place on a terminal, plain lines elsewhere.

use std::fmt::Write as _;
use std::io::{IsTerminal, Write as _, stdout};
use std::ops::ControlFlow;
use tokio::sync::watch;
use workload::{Format, Progress, TextProgress, Tick, TickRow};

/// Says when somebody wants the demonstration to end.
#[derive(Clone)]
pub(super) struct Stop(watch::Receiver<bool>);

impl Stop {
    /// Ctrl-C or SIGTERM; a second one ends the process.
    pub(super) fn on_signal() -> Self {
        let (tell, told) = watch::channel(false);
        tokio::spawn(async move {
            Self::again().await;
            tell.send_replace(true);
            Self::again().await;
            std::process::exit(130);
        });
        Self(told)
    }

    /// The next signal.
    pub(super) async fn again() {
        use tokio::signal::unix::{SignalKind, signal};
        let Ok(mut terminate) = signal(SignalKind::terminate()) else { return };
        tokio::select! {
            _ = terminate.recv() => {}
            _ = tokio::signal::ctrl_c() => {}
        }
    }

    pub(super) async fn wait(&self) {
        // an end without a word means that nobody can ask any more
        if self.0.clone().wait_for(|stopped| *stopped).await.is_err() {
            std::future::pending::<()>().await;
        }
    }

    fn is_wanted(&self) -> bool {
        *self.0.borrow()
    }
}

enum Manner {
    Silent,
    Lines(TextProgress<std::io::Stdout>),
    /// Lines on the screen that the next table replaces.
    Table(usize),
}

/// Shows progress.
pub(super) struct Screen {
    manner: Manner,
    stop: Stop,
}

impl Screen {
    pub(super) fn new(format: Format, stop: Stop) -> Self {
        let manner = match format {
            Format::Json => Manner::Silent,
            Format::Text if stdout().is_terminal() => Manner::Table(0),
            Format::Text => Manner::Lines(TextProgress::new(stdout())),
        };
        Self { manner, stop }
    }

    /// What is on the screen stays there.
    pub(super) fn close(&mut self) {
        if let Manner::Table(lines) = &mut self.manner {
            *lines = 0;
        }
    }

    fn draw(lines: &mut usize, text: &str) {
        let mut out = String::new();
        if *lines > 0 {
            // up to where the last one began, and clear from there
            let _ = write!(out, "\x1b[{lines}A\x1b[J");
        }
        out += text;
        *lines = text.lines().count();
        let mut screen = stdout().lock();
        // whoever closed it does not look any more
        let _ = screen.write_all(out.as_bytes()).and_then(|()| screen.flush());
    }
}

impl Progress for Screen {
    fn tick(&mut self, tick: &Tick) -> ControlFlow<()> {
        match &mut self.manner {
            Manner::Silent => {}
            Manner::Lines(lines) => drop(lines.tick(tick)),
            Manner::Table(lines) => Self::draw(lines, &table(tick)),
        }
        if self.stop.is_wanted() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    fn step(&mut self, what: &str, done: u64, total: u64) {
        match &mut self.manner {
            Manner::Silent => {}
            Manner::Lines(lines) => lines.step(what, done, total),
            Manner::Table(lines) => Self::draw(lines, &format!("{what}: {done} of {total}\n")),
        }
    }
}

fn table(tick: &Tick) -> String {
    let warm_up = if tick.is_warmup { "   (warm-up)" } else { "" };
    let mut text = format!("{:8.1} s{warm_up}\n", tick.elapsed_s);
    text += "type         ops/s   failed    p50 ms    p95 ms    p99 ms   fast %  medium %   slow %\n";
    for row in tick.by_type.iter().chain([&tick.total]) {
        text += &line(row);
    }
    text
}

fn line(row: &TickRow) -> String {
    format!(
        "{:<9} {:8.0} {:8} {:9.2} {:9.2} {:9.2} {:8.1} {:9.1} {:8.1}\n",
        row.name,
        row.tps,
        row.failed_total,
        row.p50_ms,
        row.p95_ms,
        row.p99_ms,
        row.fast_percent,
        row.medium_percent,
        row.slow_percent
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_has_a_line_per_type_and_one_for_all() {
        let row = |name| TickRow {
            name,
            ok: 1,
            failed: 0,
            unknown: 0,
            failed_total: 0,
            tps: 1.0,
            tps_total: 1.0,
            p50_ms: 0.5,
            p95_ms: 0.5,
            p99_ms: 0.5,
            max_ms: 0.5,
            fast_percent: 99.0,
            medium_percent: 1.0,
            slow_percent: 0.0,
            ephemeral_percent: 0.0,
        };
        let by_type = vec![row("balance"), row("payment")];
        let text = table(&Tick { elapsed_s: 1.0, is_warmup: true, by_type, total: row("total") });
        let names: Vec<&str> = text.lines().filter_map(|line| line.split_whitespace().next()).collect();
        assert_eq!(names, ["1.0", "type", "balance", "payment", "total"]);
    }
}
