//! One simulated node: the machines, their inboxes, a log with a synced prefix, rows, and a clock with an offset.

use crate::hooks::SimHooks;
use crate::list_append::ListAppend;
use crate::options::Options;
use command_store::{CommandStore, FanIn, Replay, StoreInput};
use coordinator::{Coordinator, CoordinatorInput};
use protocol::message::Reply;
use protocol::{
    Bytes, Command, CommandDiff, Epoch, Hlc, Hooks, Key, Lsn, Micros, Mutant, NodeClock, NodeId, Now, RowStore,
    StoreId, Ticket, TxnId,
};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A record of the node's log.
#[derive(Clone, Debug)]
pub(crate) enum Record {
    /// A delta of a store, and the store's batch it belongs to.
    Delta(StoreId, Lsn, TxnId, Box<CommandDiff>),
    /// A reservation of the node's clock.
    Reserved(Hlc),
}

/// Rows in memory.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Rows(pub(crate) BTreeMap<Key, Bytes>);

impl RowStore for Rows {
    fn get(&self, key: &Key) -> Option<Bytes> {
        self.0.get(key).cloned()
    }

    fn put(&mut self, key: &Key, rows: Option<Bytes>) {
        match rows {
            Some(rows) => self.0.insert(key.clone(), rows),
            None => self.0.remove(key),
        };
    }
}

/// An answer that waits for the log.
#[derive(Clone, Debug)]
pub(crate) struct Held {
    pub(crate) store: StoreId,
    pub(crate) after: Lsn,
    pub(crate) to: NodeId,
    pub(crate) ticket: Ticket,
    pub(crate) reply: Reply,
}

pub(crate) struct SimStore {
    pub(crate) machine: CommandStore<SimHooks>,
    pub(crate) inbox: Vec<StoreInput>,
    pub(crate) rows: Rows,
    pub(crate) durable: Lsn,
    pub(crate) wake_at: Option<Micros>,
    pub(crate) is_turn_queued: bool,
}

pub(crate) struct SimNode {
    pub(crate) id: NodeId,
    pub(crate) is_up: bool,
    pub(crate) is_lost: bool,
    pub(crate) incarnation: u32,
    pub(crate) clock: NodeClock,
    pub(crate) clock_offset: u64,
    pub(crate) stores: Vec<SimStore>,
    pub(crate) coordinator: Coordinator<SimHooks>,
    pub(crate) coordinator_inbox: Vec<CoordinatorInput>,
    pub(crate) coordinator_wake_at: Option<Micros>,
    pub(crate) is_coordinator_turn_queued: bool,
    pub(crate) fan_in: FanIn,
    pub(crate) log: Vec<Record>,
    pub(crate) synced: usize,
    pub(crate) is_syncing: bool,
    /// Syncs that were asked for do not finish.
    pub(crate) is_stalled: bool,
    pub(crate) held: Vec<Held>,
}

impl SimNode {
    pub(crate) fn new(id: NodeId, options: &Options, clock_offset: u64) -> Self {
        let stores = (0..options.store_count).map(|store| empty_store(options, id, StoreId(store))).collect();
        let node = Self {
            id,
            is_up: true,
            is_lost: false,
            incarnation: 0,
            clock: NodeClock::new(id, Epoch(1), Hlc(0)),
            clock_offset,
            stores,
            coordinator: coordinator(options, id),
            coordinator_inbox: Vec::new(),
            coordinator_wake_at: None,
            is_coordinator_turn_queued: false,
            fan_in: FanIn::new(options.slices()),
            log: Vec::new(),
            synced: 0,
            is_syncing: false,
            is_stalled: false,
            held: Vec::new(),
        };
        // the first reservation is durable before the node serves
        node.reserve_at_start(Vec::new())
    }

    fn reserve_at_start(mut self, mut log: Vec<Record>) -> Self {
        let now = self.now(0);
        if let Some(upto) = self.clock.reservation_due(now) {
            log.push(Record::Reserved(upto));
            self.clock.reserved(upto);
        }
        self.synced = log.len();
        self.log = log;
        self
    }

    /// The clocks of this node at virtual time `time`, in microseconds.
    pub(crate) fn now(&self, time: u64) -> Now {
        Now { mono: Micros(time), wall: Micros(time + self.clock_offset + WALL_START) }
    }

    /// Everything the log was synced for may leave now.
    pub(crate) fn release(&mut self) -> Vec<Held> {
        let stores = &self.stores;
        let (free, held) = std::mem::take(&mut self.held)
            .into_iter()
            .partition(|held| held.after <= stores[usize::from(held.store.0)].durable);
        self.held = held;
        free
    }

    /// Takes the synced prefix of the log as durable.
    pub(crate) fn sync_upto(&mut self, upto: usize) {
        for record in &self.log[self.synced..upto] {
            match record {
                Record::Delta(store, lsn, ..) => self.stores[usize::from(store.0)].durable = *lsn,
                Record::Reserved(upto) => self.clock.reserved(*upto),
            }
        }
        self.synced = upto;
    }

    /// The fold of a command's deltas, synced or not.
    pub(crate) fn load(&self, store: StoreId, id: TxnId) -> Command {
        let mut command = Command::default();
        for record in &self.log {
            match record {
                Record::Delta(at, _, of, diff) if *at == store && *of == id => command.fold(diff),
                _ => {}
            }
        }
        command
    }

    /// The node goes down; what was not synced is gone.
    pub(crate) fn crash(&mut self) {
        self.is_up = false;
        self.incarnation += 1;
        self.log.truncate(self.synced);
        self.is_syncing = false;
        self.held.clear();
        self.coordinator_inbox.clear();
        for store in &mut self.stores {
            store.inbox.clear();
        }
    }

    /// The node as it comes back from its log.
    pub(crate) fn restarted(&self, options: &Options, time: u64) -> Self {
        let now = self.now(time);
        let reserved = self.log.iter().map(|record| match record {
            Record::Reserved(upto) => *upto,
            Record::Delta(_, _, _, diff) => own_reading(self.id, diff),
        });
        let resume_at = reserved.max().unwrap_or_default();
        let from_wall = SimHooks::planting(options.mutant).mutant(Mutant::ClockFromWall);
        let resume_at = if from_wall { Hlc(0) } else { resume_at };
        let node = Self {
            incarnation: self.incarnation,
            clock: NodeClock::new(self.id, Epoch(1), resume_at),
            stores: replay(&self.log, options, self.id, now.mono),
            ..Self::new(self.id, options, self.clock_offset)
        };
        node.reserve_at_start(self.log.clone())
    }
}

/// Virtual time starts here on the wall, so that clocks can differ both ways.
const WALL_START: u64 = 1_000_000_000;

/// The highest value of this node's own clock that a delta shows.
fn own_reading(node: NodeId, diff: &CommandDiff) -> Hlc {
    let times = [diff.execute_at, diff.promised.map(|ballot| ballot.as_timestamp())];
    times.into_iter().flatten().filter(|time| time.node() == node).map(|time| time.hlc()).max().unwrap_or_default()
}

fn coordinator(options: &Options, id: NodeId) -> Coordinator<SimHooks> {
    Coordinator::new(options.coordinator_config(id), Arc::new(ListAppend), SimHooks::planting(options.mutant))
}

fn empty_store(options: &Options, id: NodeId, store: StoreId) -> SimStore {
    let machine =
        CommandStore::new(options.store_config(id, store), Arc::new(ListAppend), SimHooks::planting(options.mutant));
    stored(machine, Rows::default())
}

fn stored(machine: CommandStore<SimHooks>, rows: Rows) -> SimStore {
    SimStore { machine, inbox: Vec::new(), rows, durable: Lsn::default(), wake_at: None, is_turn_queued: false }
}

/// The stores of a node as the fold of its log.
pub(crate) fn replay(log: &[Record], options: &Options, id: NodeId, now: Micros) -> Vec<SimStore> {
    let hooks = SimHooks::planting(options.mutant);
    let fold = |store: StoreId| {
        let mut replay = Replay::new(options.store_config(id, store), Arc::new(ListAppend), hooks);
        let mut rows = Rows::default();
        for record in log {
            match record {
                Record::Delta(at, _, of, diff) if *at == store => replay.fold(*of, diff, &mut rows),
                _ => {}
            }
        }
        stored(replay.finish(now), rows)
    };
    (0..options.store_count).map(|store| fold(StoreId(store))).collect()
}
