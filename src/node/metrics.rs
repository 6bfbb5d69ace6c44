//! Everything a node counts, by name: one list for `accord.metrics`, for Prometheus and for `accordd status`.
//!
//! All values are whole numbers; units stand in the names.

use super::counters::ENDS;
use super::observer::Seen;
use super::tables::{big, text};
use cql_server::VirtualRow;
use std::fmt::Write;

/// Doublings between two buckets of the latency histogram as Prometheus is told it.
const LATENCY_LE_US: [u64; 14] =
    [127, 255, 511, 1_023, 2_047, 4_095, 8_191, 16_383, 32_767, 65_535, 262_143, 1_048_575, 4_194_303, 16_777_215];

/// What kind of number it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// Only rises, from zero at the start of the node.
    Counter,
    /// Goes up and down.
    Gauge,
    /// Part of a histogram: `_bucket`, `_sum` or `_count`.
    Histogram,
}

/// One number.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Sample {
    name: &'static str,
    /// As Prometheus writes them, without the braces.
    labels: String,
    help: &'static str,
    kind: Kind,
    value: i64,
}

impl Kind {
    const fn name(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
            Self::Histogram => "histogram",
        }
    }
}

impl Sample {
    pub(crate) fn into_row(self) -> VirtualRow {
        let kind = text(self.kind.name());
        vec![
            ("name", text(self.name)),
            ("labels", text(self.labels)),
            ("help", text(self.help)),
            ("kind", kind),
            ("value", big(self.value)),
        ]
    }

    /// The name of the whole, of which it may be a part.
    fn family(&self) -> &'static str {
        if self.kind != Kind::Histogram {
            return self.name;
        }
        let parts = ["_bucket", "_sum", "_count"];
        parts.iter().find_map(|part| self.name.strip_suffix(part)).unwrap_or(self.name)
    }
}

/// The text format of Prometheus, version 0.0.4.
pub(crate) fn exposition(samples: &[Sample]) -> String {
    let mut out = String::new();
    let mut family = "";
    for sample in samples {
        if sample.family() != family {
            family = sample.family();
            let _ = writeln!(out, "# HELP {family} {}\n# TYPE {family} {}", sample.help, sample.kind.name());
        }
        let Sample { name, labels, value, .. } = sample;
        let _ = match labels.is_empty() {
            true => writeln!(out, "{name} {value}"),
            false => writeln!(out, "{name}{{{labels}}} {value}"),
        };
    }
    out
}

/// Gathers samples.
#[derive(Default)]
struct List(Vec<Sample>);

impl List {
    fn add(&mut self, kind: Kind, name: &'static str, labels: String, value: impl TryInto<i64>, help: &'static str) {
        self.0.push(Sample { name, labels, help, kind, value: value.try_into().unwrap_or(i64::MAX) });
    }

    fn counter(&mut self, name: &'static str, value: u64, help: &'static str) {
        self.add(Kind::Counter, name, String::new(), value, help);
    }

    fn gauge(&mut self, name: &'static str, value: u64, help: &'static str) {
        self.add(Kind::Gauge, name, String::new(), value, help);
    }
}

/// All samples, those of one name side by side.
pub(crate) fn samples(seen: &Seen) -> Vec<Sample> {
    let mut list = List::default();
    add_health(&mut list, seen);
    add_transactions(&mut list, seen);
    add_coordination(&mut list, seen);
    add_replica(&mut list, seen);
    add_journal(&mut list, seen);
    add_links(&mut list, seen);
    list.0
}

fn add_health(list: &mut List, seen: &Seen) {
    let backend = &seen.backend;
    list.gauge("accordd_ready", u64::from(backend.not_ready().is_none()), "1 if clients should use this node");
    let is_fatal = backend.health.fatal().is_some() || seen.durability.failed.is_some();
    list.gauge("accordd_fatal", u64::from(is_fatal), "1 if the node must not go on");
    list.gauge("accordd_uptime_seconds", seen.now.mono.0 / 1_000_000, "time since the process read its clock first");
    list.gauge("accordd_schema_version", backend.schema.current().version, "version of the schema in force here");
}

fn add_transactions(list: &mut List, seen: &Seen) {
    let ends = &seen.counters.ends;
    let label = |at: usize| format!("outcome=\"{}\",path=\"{}\"", ENDS[at].0, ENDS[at].1);
    for (at, count) in ends.counts().into_iter().enumerate() {
        let help = "transactions of clients of this node, by outcome and by path or reason";
        list.add(Kind::Counter, "accordd_transactions_total", label(at), count, help);
    }
    let (counts, minute) = ends.last_minute(seen.now.mono);
    for (at, count) in counts.into_iter().enumerate() {
        list.add(Kind::Gauge, "accordd_last_minute_transactions", label(at), count, "the same over the last minute");
    }
    for (quantile, share) in [("0.5", 0.5), ("0.99", 0.99)] {
        if let Some(us) = minute.quantile(share) {
            let help = "time to the answer of applied transactions over the last minute";
            let label = format!("quantile=\"{quantile}\"");
            list.add(Kind::Gauge, "accordd_last_minute_latency_microseconds", label, us, help);
        }
    }
    add_latencies(list, seen);
}

fn add_latencies(list: &mut List, seen: &Seen) {
    let help = "time from a client's request to its answer, of applied transactions";
    let (times, sum) = seen.counters.ends.latencies();
    for le in LATENCY_LE_US {
        let below: u64 = times.buckets().filter(|(upper, _)| *upper <= le).map(|(_, count)| count).sum();
        let label = format!("le=\"{le}\"");
        list.add(Kind::Histogram, "accordd_latency_microseconds_bucket", label, below, help);
    }
    let all = times.count();
    list.add(Kind::Histogram, "accordd_latency_microseconds_bucket", "le=\"+Inf\"".to_owned(), all, help);
    list.add(Kind::Histogram, "accordd_latency_microseconds_sum", String::new(), sum, help);
    list.add(Kind::Histogram, "accordd_latency_microseconds_count", String::new(), all, help);
}

fn add_coordination(list: &mut List, seen: &Seen) {
    let (look, figures) = (&seen.coordinator, seen.counters.figures());
    let decided = [("fast", figures.fast), ("medium", figures.medium), ("slow", figures.slow)];
    for (path, count) in decided {
        let help = "transactions begun here that were decided, by path; their clients may have gone";
        list.add(Kind::Counter, "accordd_paths_total", format!("path=\"{path}\""), count, help);
    }
    list.gauge("accordd_coordinations", look.count as u64, "coordinations under way at this node");
    list.gauge("accordd_coordinations_live", look.live_count as u64, "those that a client waits for");
    list.gauge("accordd_recoveries_running", look.recovering_count as u64, "those that finish what others began");
    list.counter("accordd_recoveries_total", figures.recoveries, "recoveries begun here");
    list.counter("accordd_invalidations_total", figures.invalidations, "invalidations begun here");
    list.counter("accordd_preempted_total", figures.preempted, "coordinations overtaken by a higher ballot");
    list.counter("accordd_rejected_total", figures.rejected, "transactions a replica refused to let start");
    list.counter("accordd_clock_skew_total", figures.clock_skew, "messages refused for a clock too far ahead");
    list.counter("accordd_another_reader_total", figures.another_reader, "reads asked of a second replica");
    list.counter("accordd_bad_messages_total", figures.bad_messages, "messages of peers that could not be read");
    list.counter("accordd_unsent_messages_total", figures.unsent_messages, "messages that found no place on a link");
}

fn add_replica(list: &mut List, seen: &Seen) {
    let watched = seen.sum(|store| store.machine.watched_count);
    list.gauge("accordd_progress_backlog", watched, "unfinished transactions the stores watch");
    let blocked = seen.sum(|store| store.machine.blocked_count);
    list.gauge("accordd_blocked", blocked, "transactions that wait for others before them");
    let age = seen.oldest_blocked().map_or(0, |id| seen.age_us(id));
    list.gauge("accordd_oldest_blocked_microseconds", age, "age of the oldest of those, 0 if there is none");
    let held = seen.sum(|store| store.held_count);
    list.gauge("accordd_held_answers", held, "answers of stores that wait for the disk");
    list.gauge("accordd_commands", seen.sum(|store| store.machine.command_count), "commands in memory");
    list.gauge("accordd_conflict_keys", seen.sum(|store| store.machine.key_count), "keys with conflicts on record");
    list.gauge("accordd_rows", seen.sum(|store| store.row_count), "partitions in memory");
    list.gauge("accordd_row_bytes", seen.sum(|store| store.row_bytes), "their size");
    list.gauge("accordd_row_max_bytes", seen.backend.config.rows.memory_max, "size of rows at which writes stop");
    let dirty = seen.sum(|store| store.dirty_count);
    list.gauge("accordd_rows_not_checkpointed", dirty, "partitions no checkpoint has yet");
}

fn add_journal(list: &mut List, seen: &Seen) {
    let log = seen.backend.log.borrow();
    let config = &seen.backend.config.journal;
    if let Some(stats) = log.stats() {
        list.gauge("accordd_journal_live_bytes", stats.live_bytes, "size of the log files");
        list.gauge("accordd_journal_segments", stats.segment_count as u64, "number of the log files");
        list.gauge("accordd_journal_pending_bytes", stats.pending_bytes as u64, "appended and not yet on disk");
        list.gauge("accordd_journal_index_bytes", stats.index_bytes as u64, "memory of the index of the log");
        list.counter("accordd_journal_batches_total", stats.batch_count, "batches written");
        list.counter("accordd_journal_syncs_total", stats.sync_count, "syncs that made a position durable");
    }
    list.gauge("accordd_journal_max_bytes", config.max_bytes, "size of the log at which new work is refused");
    list.gauge("accordd_journal_pending_max_bytes", config.pending_max, "bound of what may wait for the disk");
}

fn add_links(list: &mut List, seen: &Seen) {
    type Of = fn(&transport::Link) -> u64;
    let figures: [(Kind, &str, Of, &str); 7] = [
        (
            Kind::Gauge,
            "accordd_link_connected",
            |link| u64::from(link.connected_to().is_some()),
            "1 if the peer can be sent to",
        ),
        (Kind::Gauge, "accordd_link_queued_bytes", |link| link.queued_bytes() as u64, "what waits for the peer"),
        (Kind::Counter, "accordd_link_sent_bytes_total", |link| link.counters().bytes.get(), "written to the peer"),
        (
            Kind::Counter,
            "accordd_link_sent_messages_total",
            |link| link.counters().messages.get(),
            "messages written to the peer",
        ),
        (
            Kind::Counter,
            "accordd_link_dropped_messages_total",
            |link| link.counters().dropped_messages.get(),
            "messages dropped because the peer was away",
        ),
        (
            Kind::Counter,
            "accordd_link_refused_messages_total",
            |link| link.counters().refused_full.get() + link.counters().refused_new.get(),
            "messages that found the queue full",
        ),
        (
            Kind::Counter,
            "accordd_link_losses_total",
            |link| link.counters().losses.get(),
            "connections that ended by themselves",
        ),
    ];
    let links = &seen.backend.links;
    for (kind, name, of, help) in figures {
        for (peer, link) in links.iter() {
            list.add(kind, name, format!("peer=\"{}\"", peer.0), of(link), help);
        }
    }
    for peer in links.keys() {
        if let Some(lead) = seen.counters.lead_of(*peer, seen.now.mono) {
            let help = "how far the peer's clock is ahead, less the way here, over the last half minute";
            list.add(Kind::Gauge, "accordd_peer_clock_lead_microseconds", format!("peer=\"{}\"", peer.0), lead, help);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_family_is_introduced_once_and_its_parts_follow() {
        let mut list = List::default();
        list.counter("a_total", 3, "what a is");
        for le in ["1", "+Inf"] {
            list.add(Kind::Histogram, "t_bucket", format!("le=\"{le}\""), 2u64, "time");
        }
        list.add(Kind::Histogram, "t_sum", String::new(), 9u64, "time");
        let expected = "# HELP a_total what a is\n# TYPE a_total counter\na_total 3\n# HELP t time\n# TYPE t histogram\n\
                        t_bucket{le=\"1\"} 2\nt_bucket{le=\"+Inf\"} 2\nt_sum 9\n";
        assert_eq!(exposition(&list.0), expected);
    }

    #[test]
    fn a_number_beyond_the_type_is_its_greatest() {
        let mut list = List::default();
        list.gauge("g", u64::MAX, "much");
        assert_eq!(list.0[0].value, i64::MAX);
    }
}
