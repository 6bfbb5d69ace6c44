//! The network: delay, reordering, loss, duplication, laggard links per transaction, and islands.

use crate::checker::Rng;
use crate::island::Islands;
use crate::options::{Generator, Options};
use crate::script::{Rule, Ruling};
use protocol::message::Message;
use protocol::{NodeId, TxnId};
use std::collections::BTreeMap;

/// What becomes of one message: the delays after which copies of it arrive, in ticks.
pub(crate) type Fate = Vec<u64>;

/// Links of one transaction that are laggard: from these nodes to those.
type Lag = (u8, u8);

pub(crate) struct Network {
    rng: Rng,
    /// A script's rule, in place of chance.
    pub(crate) rule: Option<Rule>,
    /// What a script holds back.
    pub(crate) held: Vec<(NodeId, NodeId, Message)>,
    lags: BTreeMap<TxnId, Lag>,
    pub(crate) islands: Islands,
}

impl Network {
    pub(crate) fn new(rng: Rng, options: &Options) -> Self {
        Self { rng, rule: None, held: Vec::new(), lags: BTreeMap::new(), islands: Islands::new(options) }
    }

    /// Draws what becomes of `message` from `from` to `to`.
    pub(crate) fn fate(
        &mut self,
        options: &Options,
        is_faulty: bool,
        from: NodeId,
        to: NodeId,
        message: &Message,
    ) -> Fate {
        if let Some(rule) = &mut self.rule {
            match rule(from, to, message) {
                Ruling::Pass => {}
                Ruling::Drop => return Vec::new(),
                Ruling::Hold => {
                    self.held.push((from, to, message.clone()));
                    return Vec::new();
                }
                Ruling::Repeat { copies, first, apart } => {
                    return (0..u64::from(copies)).map(|copy| first + copy * apart).collect();
                }
            }
        }
        if from == to {
            return vec![self.rng.below(2)];
        }
        if is_faulty && self.islands.loses(options, &mut self.rng, from, to, message) {
            return Vec::new();
        }
        let is_laggard = is_faulty && self.is_laggard(options, from, to, message);
        if is_laggard && options.is_cut && self.rng.percent(90) {
            return Vec::new();
        }
        if is_faulty && self.rng.percent(options.drop_percent) {
            return Vec::new();
        }
        let mut fate = vec![self.delay(options, is_faulty, is_laggard)];
        if is_faulty && self.rng.percent(options.duplicate_percent) {
            fate.push(self.delay(options, is_faulty, is_laggard) + self.rng.below(300));
        }
        fate
    }

    fn delay(&mut self, options: &Options, is_faulty: bool, is_laggard: bool) -> u64 {
        if is_laggard && self.rng.percent(90) {
            return 20 + self.rng.below(options.slow);
        }
        if is_faulty && self.rng.percent(options.slow_percent) {
            return 1 + self.rng.below(options.slow);
        }
        1 + self.rng.below(options.base)
    }

    fn is_laggard(&mut self, options: &Options, from: NodeId, to: NodeId, message: &Message) -> bool {
        if options.generator != Generator::Swarm || options.lag_percent == 0 {
            return false;
        }
        let Some(id) = subject_of(message) else { return false };
        let rng = &mut self.rng;
        let lag = *self.lags.entry(id).or_insert_with(|| {
            if rng.percent(options.lag_percent) { (rng.next_u64() as u8, rng.next_u64() as u8) } else { (0, 0) }
        });
        lag.0 >> (from.0 - 1) & 1 == 1 && lag.1 >> (to.0 - 1) & 1 == 1
    }
}

/// The transaction a message is about.
pub(crate) fn subject_of(message: &Message) -> Option<TxnId> {
    match message {
        Message::Request(request) => Some(request.txn_id),
        Message::Reply(reply) => Some(reply.txn_id),
        Message::InformDurable(_) => None,
    }
}
