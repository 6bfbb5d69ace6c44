//! The rows of the virtual tables, from what was seen of the node.

use super::metrics;
use super::observer::{LIST_MAX, Seen};
use crate::config::Config;
use cql_server::{Field, VirtualRow, VirtualTable};
use protocol::{NodeId, TxnId, TxnKind};

/// Values of settings whose names hold one of these are not shown.
const SECRETS: [&str; 4] = ["key_file", "password", "secret", "private"];

pub(crate) fn rows(seen: &Seen, table: VirtualTable) -> Vec<VirtualRow> {
    match table {
        VirtualTable::Nodes => nodes(seen),
        VirtualTable::Stores => stores(seen),
        VirtualTable::Transactions => transactions(seen),
        VirtualTable::BlockedBy => blocked_by(seen),
        VirtualTable::Journal => vec![journal(seen)],
        VirtualTable::Caches => caches(seen),
        VirtualTable::Peers => peers(seen),
        VirtualTable::Settings => settings(&seen.backend.config),
        VirtualTable::Metrics => metrics::samples(seen).into_iter().map(metrics::Sample::into_row).collect(),
    }
}

pub(crate) fn text(value: impl ToString) -> Field {
    Field::Text(value.to_string())
}

/// A count, size or position; one beyond the type is shown as its greatest.
pub(crate) fn big(value: impl TryInto<i64>) -> Field {
    Field::Bigint(value.try_into().unwrap_or(i64::MAX))
}

fn id(node: NodeId) -> Field {
    small(node.0 as usize)
}

fn small(value: usize) -> Field {
    Field::Int(i32::try_from(value).unwrap_or(i32::MAX))
}

/// A row without the columns that have no value.
fn row<const N: usize>(columns: [(&'static str, Option<Field>); N]) -> VirtualRow {
    columns.into_iter().filter_map(|(name, field)| Some((name, field?))).collect()
}

fn nodes(seen: &Seen) -> Vec<VirtualRow> {
    let backend = &seen.backend;
    let tokens = backend.topology.nodes();
    let row_of = |entry: &crate::config::NodeEntry| {
        let node = NodeId(entry.id);
        let is_local = node == backend.node;
        let is_up = backend.is_live(node);
        let trouble = if is_local { backend.not_ready() } else { failure_of(seen, node) };
        let state = match (is_up, is_local, &trouble) {
            (false, ..) => "down",
            (true, true, Some(_)) => "not ready",
            (true, true, None) => "ready",
            (true, false, _) => "up",
        };
        row([
            ("node", Some(id(node))),
            ("client_address", Some(text(entry.client_address()))),
            ("clock_lead_us", seen.counters.lead_of(node, seen.now.mono).map(Field::Bigint)),
            ("is_local", Some(Field::Boolean(is_local))),
            ("is_up", Some(Field::Boolean(is_up))),
            ("peer_address", Some(text(entry.peer_addr))),
            ("reason", trouble.map(Field::Text)),
            ("schema_version", is_local.then(|| big(backend.schema.current().version))),
            ("state", Some(text(state))),
            ("token", tokens.iter().find(|(of, _)| *of == node).map(|(_, token)| Field::Bigint(token.0))),
        ])
    };
    backend.config.cluster.nodes.iter().map(row_of).collect()
}

fn failure_of(seen: &Seen, node: NodeId) -> Option<String> {
    seen.backend.links.get(&node).and_then(transport::Link::failure)
}

fn stores(seen: &Seen) -> Vec<VirtualRow> {
    let row_of = |(at, store): (usize, &command_store::actor::ActorLook)| {
        let machine = &store.machine;
        row([
            ("store", Some(small(at))),
            ("blocked", Some(big(machine.blocked_count))),
            ("commands", Some(big(machine.command_count))),
            ("held_answers", Some(big(store.held_count))),
            ("keys", Some(big(machine.key_count))),
            ("oldest_blocked", machine.oldest_blocked.map(text)),
            ("oldest_blocked_us", machine.oldest_blocked.map(|id| big(seen.age_us(id)))),
            ("row_bytes", Some(big(store.row_bytes))),
            ("rows", Some(big(store.row_count))),
            ("rows_not_checkpointed", Some(big(store.dirty_count))),
            ("watched", Some(big(machine.watched_count))),
        ])
    };
    seen.stores.iter().enumerate().map(row_of).collect()
}

/// Those coordinated here, then those that stores of this node know and that have not come to their end.
fn transactions(seen: &Seen) -> Vec<VirtualRow> {
    let about = |id: TxnId, place: String, keys: usize, phase: String| {
        vec![
            ("txn_id", text(id)),
            ("place", Field::Text(place)),
            ("age_us", big(seen.age_us(id))),
            ("begun_by", self::id(id.node())),
            ("keys", small(keys)),
            ("kind", text(kind(id.kind()))),
            ("phase", Field::Text(phase)),
        ]
    };
    let coordinated = seen.coordinator.under_way.iter().map(|work| {
        let mut row = about(work.txn_id, "coordinator".to_owned(), work.key_count, work.phase.to_owned());
        row.push(("has_client", Field::Boolean(work.has_client)));
        row.push(("ballot", text(work.ballot.as_timestamp())));
        row
    });
    let stored = seen.stores.iter().enumerate().flat_map(|(at, store)| {
        let about = &about;
        store.machine.unfinished.iter().map(move |one| {
            let phase = one.status.map_or("known by name only".to_owned(), |status| format!("{status:?}"));
            about(one.txn_id, format!("store {at}"), one.key_count, phase)
        })
    });
    coordinated.chain(stored).take(LIST_MAX).collect()
}

fn kind(kind: TxnKind) -> &'static str {
    match kind {
        TxnKind::Read => "read",
        TxnKind::EphemeralRead => "ephemeral read",
        TxnKind::Write => "write",
        _ => "other",
    }
}

fn blocked_by(seen: &Seen) -> Vec<VirtualRow> {
    let of_store = |(at, store): (usize, &command_store::actor::ActorLook)| {
        let row_of = |blocked: &command_store::Blocked| {
            vec![
                ("txn_id", text(blocked.txn_id)),
                ("store", small(at)),
                ("blocked_by", text(blocked.by)),
                ("age_us", big(seen.age_us(blocked.txn_id))),
                ("blocker_age_us", big(seen.age_us(blocked.by))),
                ("blocker_phase", text(format!("{:?}", blocked.by_status))),
            ]
        };
        store.machine.blocked.iter().map(row_of).collect::<Vec<_>>()
    };
    seen.stores.iter().enumerate().flat_map(of_store).take(LIST_MAX).collect()
}

fn journal(seen: &Seen) -> VirtualRow {
    let config = &seen.backend.config.journal;
    let log = seen.backend.log.borrow();
    let stats = log.stats();
    let sync = match config.sync {
        crate::config::Sync::Group => "group",
        crate::config::Sync::Periodic => "periodic",
    };
    row([
        ("key", Some(text("local"))),
        ("appended", Some(big(log.appended().0))),
        ("batches", stats.map(|stats| big(stats.batch_count))),
        ("durable", Some(big(seen.durability.upto.0))),
        ("failure", seen.durability.failed.as_ref().map(text)),
        ("index_bytes", stats.map(|stats| big(stats.index_bytes))),
        ("live_bytes", stats.map(|stats| big(stats.live_bytes))),
        ("max_bytes", Some(big(config.max_bytes))),
        ("pending_bytes", stats.map(|stats| big(stats.pending_bytes))),
        ("pending_max_bytes", Some(big(config.pending_max))),
        ("segments", stats.map(|stats| big(stats.segment_count))),
        ("sync", Some(text(sync))),
        ("syncs", stats.map(|stats| big(stats.sync_count))),
    ])
}

fn caches(seen: &Seen) -> Vec<VirtualRow> {
    let cache = |name: &str, entries: u64, bytes: Option<u64>, max: Option<u64>| {
        row([
            ("name", Some(text(name))),
            ("bytes", bytes.map(big)),
            ("entries", Some(big(entries))),
            ("max_bytes", max.map(big)),
        ])
    };
    let index = seen.backend.log.borrow().stats().map(|stats| stats.index_bytes as u64);
    vec![
        cache("commands", seen.sum(|store| store.machine.command_count), None, None),
        cache("conflicts", seen.sum(|store| store.machine.key_count), None, None),
        cache("journal index", 0, index, None),
        cache(
            "rows",
            seen.sum(|store| store.row_count),
            Some(seen.sum(|store| store.row_bytes)),
            Some(seen.backend.config.rows.memory_max),
        ),
    ]
}

fn peers(seen: &Seen) -> Vec<VirtualRow> {
    let queue_max = seen.backend.config.peer_port.queue_max;
    let row_of = |(node, link): (&NodeId, &transport::Link)| {
        let sent = link.counters();
        let received = seen.inbound.peer(node.0);
        let of = |count: fn(&transport::InboundCounters) -> u64| received.map(|received| big(count(received)));
        row([
            ("node", Some(id(*node))),
            ("clock_lead_us", seen.counters.lead_of(*node, seen.now.mono).map(Field::Bigint)),
            ("connected", Some(Field::Boolean(link.connected_to().is_some()))),
            ("connects", Some(big(sent.connects.get()))),
            ("dropped_messages", Some(big(sent.dropped_messages.get()))),
            ("failure", link.failure().map(Field::Text)),
            ("incarnation", link.connected_to().map(|incarnation| text(format!("{incarnation:016x}")))),
            ("losses", Some(big(sent.losses.get()))),
            ("queue_max_bytes", Some(big(queue_max))),
            ("queued_bytes", Some(big(link.queued_bytes()))),
            ("received_bytes", of(|received| received.bytes.get())),
            ("received_frames", of(|received| received.frames.get())),
            ("received_messages", of(|received| received.messages.get())),
            ("refused_frames", of(transport::InboundCounters::refused_total)),
            ("refused_messages", Some(big(sent.refused_full.get() + sent.refused_new.get()))),
            ("sent_bytes", Some(big(sent.bytes.get()))),
            ("sent_frames", Some(big(sent.frames.get()))),
            ("sent_messages", Some(big(sent.messages.get()))),
        ])
    };
    seen.backend.links.iter().map(row_of).collect()
}

/// Every key and value in force, by section; what leads to a secret is masked.
fn settings(config: &Config) -> Vec<VirtualRow> {
    let table = toml::Table::try_from(config).unwrap_or_default();
    let mut rows = Vec::new();
    for (section, values) in &table {
        for (name, value) in values.as_table().into_iter().flatten() {
            let is_secret = SECRETS.iter().any(|secret| name.contains(secret));
            let shown = match value {
                _ if is_secret => "(hidden)".to_owned(),
                toml::Value::String(value) => value.clone(),
                other => other.to_string(),
            };
            rows.push(vec![("section", text(section)), ("name", text(name)), ("value", Field::Text(shown))]);
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_shown_and_what_leads_to_secrets_is_not() {
        let config = Config::from_text("a", include_str!("../../config/three-node.toml")).expect("valid");
        let rows = settings(&config);
        let value = |section: &str, name: &str| {
            let row = rows.iter().find(|row| row[0].1 == text(section) && row[1].1 == text(name));
            row.map(|row| row[2].1.clone())
        };
        assert_eq!(value("cluster", "name"), Some(text("three-node")));
        assert_eq!(value("journal", "sync"), Some(text("group")));
        assert_eq!(value("limits", "attempts_max"), Some(text("4")));
        for name in ["key_file", "ecdh_key_file"] {
            assert_eq!(value("security", name), Some(text("(hidden)")));
        }
    }

    #[test]
    fn numbers_beyond_their_column_are_shown_as_its_greatest() {
        assert_eq!(big(u64::MAX), Field::Bigint(i64::MAX));
        assert_eq!(small(usize::MAX), Field::Int(i32::MAX));
        assert_eq!(row([("a", None), ("b", Some(big(1u64)))]), vec![("b", Field::Bigint(1))]);
    }
}
