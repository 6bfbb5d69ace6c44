//! Clients: each begins its next transaction when the last one is answered, or when it has waited long enough.

use crate::checker::{History, Observed, Op, Outcome, Read, Rng};
use crate::list_append::{Operation, key_of, observations};
use crate::options::Options;
use protocol::{Blob, ClientOutcome, Key, NodeId, RequestId, TxnKind};
use std::collections::BTreeMap;

/// A transaction about to be sent.
pub(crate) struct Begun {
    pub(crate) request: RequestId,
    pub(crate) kind: TxnKind,
    pub(crate) keys: Vec<Key>,
    pub(crate) body: Blob,
}

struct Client {
    /// The transaction it waits for.
    waits_for: Option<u32>,
    generation: u32,
}

/// All clients, and the history they see.
pub(crate) struct Workload {
    rng: Rng,
    clients: Vec<Client>,
    pub(crate) ops: Vec<Op>,
    left: u32,
}

impl Workload {
    pub(crate) fn new(rng: Rng, options: &Options) -> Self {
        let clients = (0..options.client_count).map(|_| Client { waits_for: None, generation: 0 }).collect();
        Self { rng, clients, ops: Vec::new(), left: options.txn_count }
    }

    pub(crate) fn client_count(&self) -> u32 {
        self.clients.len() as u32
    }

    /// Whether `client` is still where it was when its timer `generation` was set.
    pub(crate) fn is_current(&self, client: u32, generation: u32) -> bool {
        self.left > 0 && self.clients[client as usize].generation == generation
    }

    /// Moves `client` on and names its new generation.
    pub(crate) fn advance(&mut self, client: u32) -> u32 {
        let client = &mut self.clients[client as usize];
        client.generation += 1;
        client.generation
    }

    /// Ticks until a client that waits for an answer stops waiting.
    pub(crate) fn patience(&mut self) -> u64 {
        200 + self.rng.below(600)
    }

    /// Ticks between an answer and the next transaction.
    pub(crate) fn pause(&mut self) -> u64 {
        if self.rng.percent(70) { 1 } else { self.rng.below(60) }
    }

    /// One of `nodes`.
    pub(crate) fn pick(&mut self, nodes: &[NodeId]) -> NodeId {
        nodes[self.rng.index(nodes.len())]
    }

    /// The next transaction of `client`, sent at event number `event`.
    pub(crate) fn begin(&mut self, options: &Options, client: u32, event: u64) -> Begun {
        self.left -= 1;
        let mut keys = 1 << self.pick_key(options.keys);
        if self.rng.percent(options.multi_percent) {
            keys |= 1 << self.pick_key(options.keys);
            if self.rng.percent(30) {
                keys |= 1 << self.pick_key(options.keys);
            }
        }
        let is_read = self.rng.percent(options.read_percent);
        let (reads, appends) = if is_read {
            (keys, 0)
        } else {
            let appends = 1 << self.pick_key(keys) | (self.rng.next_u64() as u8 & keys);
            (self.rng.next_u64() as u8 & keys, appends)
        };
        self.enter(options, client, event, keys, reads, appends)
    }

    /// A transaction that does what a script says.
    pub(crate) fn scripted(&mut self, options: &Options, event: u64, reads: u8, appends: u8) -> Begun {
        self.enter(options, u32::MAX, event, reads | appends, reads, appends)
    }

    /// A transaction that reads `key`, for the end of the run.
    pub(crate) fn closing_read(&mut self, options: &Options, key: u32, event: u64) -> Begun {
        let keys = 1 << key;
        self.enter(options, u32::MAX, event, keys, keys, 0)
    }

    fn enter(&mut self, options: &Options, client: u32, event: u64, keys: u8, reads: u8, appends: u8) -> Begun {
        let number = self.ops.len() as u32;
        let appended = (0..8).filter(|key| appends >> key & 1 == 1).collect();
        self.ops.push(Op {
            id: number,
            client,
            invoke: event,
            complete: None,
            outcome: Outcome::Unknown,
            reads: Vec::new(),
            appends: appended,
        });
        if let Some(client) = self.clients.get_mut(client as usize) {
            client.waits_for = Some(number);
        }
        let operation = Operation { number, reads, appends };
        Begun {
            request: RequestId(u64::from(number)),
            kind: if appends == 0 { TxnKind::Read } else { TxnKind::Write },
            keys: (0..8).filter(|key| keys >> key & 1 == 1).map(|key| key_of(key, options.token_of(key))).collect(),
            body: operation.to_body(),
        }
    }

    fn pick_key(&mut self, keys: u8) -> u32 {
        let nth = self.rng.index(keys.count_ones() as usize);
        (0..8).filter(|key| keys >> key & 1 == 1).nth(nth).unwrap_or(0)
    }

    /// Takes in an answer at event number `event`; gives the client to move on, if one waited for it.
    pub(crate) fn answered(&mut self, request: RequestId, outcome: &ClientOutcome, event: u64) -> Option<u32> {
        let number = request.0 as u32;
        let op = &mut self.ops[number as usize];
        match outcome {
            ClientOutcome::Applied { result, .. } => {
                op.outcome = Outcome::Ok;
                op.complete = Some(event);
                let read = |(key, list): (u32, Vec<u32>)| Read { key, list: Observed::List(list) };
                op.reads = observations(result).into_iter().map(read).collect();
            }
            ClientOutcome::NotApplied(_) => {
                op.outcome = Outcome::NotApplied;
                op.complete = Some(event);
            }
            ClientOutcome::Unknown => {}
        }
        let client = op.client;
        let waiting = self.clients.get_mut(client as usize).filter(|waiting| waiting.waits_for == Some(number))?;
        waiting.waits_for = None;
        Some(client)
    }

    /// Whether op `number` was answered with success.
    pub(crate) fn is_ok(&self, number: u32) -> bool {
        self.ops[number as usize].outcome == Outcome::Ok
    }

    /// The history, with the final list of every key.
    pub(crate) fn history(&self, finals: BTreeMap<u32, Vec<u32>>) -> History {
        History { ops: self.ops.clone(), finals }
    }
}
