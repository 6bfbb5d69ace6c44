//! Everything a run is made of, drawn from its seed.
//!
//! *Source*: [SPEC 19.1], reliability.md 3.7.

use crate::checker::Rng;
use command_store::{ProgressConfig, Slices, StoreConfig};
use coordinator::CoordinatorConfig;
use protocol::{Epoch, Micros, Mutant, NodeId, NodeSet, Range, Shard, StoreId, Token, Topology};
use std::sync::Arc;

/// One tick of virtual time, as the generators count.
pub(crate) const TICK: u64 = 1000;

/// Which faults a run is made of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Generator {
    /// Every fault class with some probability, up to a dozen transactions.
    Swarm,
    /// A few conflicting transactions; every coordination reaches one side of a split well and dies in a drawn phase.
    Island,
    /// An island on which coordinations die while proposing, so that proposals of several ballots compete.
    Duel,
    /// An island on which coordinations answer their client and die before they tell the replicas.
    Orphan,
    /// No fault at all.
    Calm,
}

impl Generator {
    const fn has_island(self) -> bool {
        matches!(self, Self::Island | Self::Duel | Self::Orphan)
    }
}

/// Nodes and shards.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Layout {
    /// Three nodes, one shard.
    Three,
    /// Three nodes, two shards with the same replicas.
    ThreeTwoShards,
    /// Four nodes, shards {1,2,3} and {2,3,4}.
    FourOverlapping,
    /// Five nodes, shards {1,2,3} and {3,4,5}.
    FiveOverlapping,
    /// Six nodes, disjoint shards of three.
    SixDisjoint,
    /// Five nodes, one shard.
    Five,
    /// Seven nodes, one shard.
    Seven,
}

impl Layout {
    const DRAWN: [Self; 7] = [
        Self::Three,
        Self::ThreeTwoShards,
        Self::FourOverlapping,
        Self::FiveOverlapping,
        Self::SixDisjoint,
        Self::Five,
        Self::Seven,
    ];

    fn node_count(self) -> u32 {
        match self {
            Self::Three | Self::ThreeTwoShards => 3,
            Self::FourOverlapping => 4,
            Self::FiveOverlapping | Self::Five => 5,
            Self::SixDisjoint => 6,
            Self::Seven => 7,
        }
    }

    fn shards(self) -> Vec<Vec<u32>> {
        let all = (1..=self.node_count()).collect();
        match self {
            Self::Three | Self::Five | Self::Seven => vec![all],
            Self::ThreeTwoShards => vec![all.clone(), all],
            Self::FourOverlapping => vec![vec![1, 2, 3], vec![2, 3, 4]],
            Self::FiveOverlapping => vec![vec![1, 2, 3], vec![3, 4, 5]],
            Self::SixDisjoint => vec![vec![1, 2, 3], vec![4, 5, 6]],
        }
    }

    fn topology(self) -> Topology {
        let shards = self.shards();
        let shard = |(at, nodes): (usize, &Vec<u32>)| {
            let nodes: NodeSet = nodes.iter().map(|node| NodeId(*node)).collect();
            let is_last = at + 1 == shards.len();
            let end = if is_last { Token(i64::MAX) } else { Token(-1) };
            let start = (at > 0).then_some(Token(-1));
            Shard { range: Range { group: 1, start, end }, electorate: nodes.clone(), nodes }
        };
        let shards = shards.iter().enumerate().map(shard).collect();
        Topology::of_shards(Epoch(1), shards).expect("hand-made layouts cover the ring")
    }
}

/// What a caller fixes instead of having it drawn.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Overrides {
    /// The generator.
    pub generator: Option<Generator>,
    /// The layout.
    pub layout: Option<Layout>,
    /// A planted bug.
    pub mutant: Option<Mutant>,
    /// Let the checks of single steps pass, to see what the outcome alone reveals.
    pub outcome_only: bool,
}

/// The drawn parameters of one run.
#[derive(Clone, Debug)]
pub struct Options {
    pub(crate) generator: Generator,
    pub(crate) layout: Layout,
    pub(crate) topology: Arc<Topology>,
    pub(crate) mutant: Option<Mutant>,
    pub(crate) outcome_only: bool,
    pub(crate) store_count: u16,
    pub(crate) is_batched: bool,
    pub(crate) txn_count: u32,
    pub(crate) client_count: u32,
    pub(crate) keys: u8,
    pub(crate) read_percent: u32,
    pub(crate) multi_percent: u32,
    pub(crate) drop_percent: u32,
    pub(crate) duplicate_percent: u32,
    pub(crate) slow_percent: u32,
    pub(crate) slow: u64,
    pub(crate) base: u64,
    pub(crate) sync: u64,
    /// Chance per thousand sends that the coordination dies.
    pub(crate) death_permille: u64,
    pub(crate) crashes: u32,
    pub(crate) has_permanent_loss: bool,
    pub(crate) skew: u64,
    pub(crate) progress: u64,
    pub(crate) timeout: u64,
    pub(crate) expire: u64,
    /// Ticks after which a client is told that the outcome is unknown.
    pub(crate) deadline: u64,
    pub(crate) fault_end: u64,
    pub(crate) is_medium: bool,
    pub(crate) is_fast: bool,
    pub(crate) is_elided: bool,
    pub(crate) is_evicted: bool,
    pub(crate) is_thrifty: bool,
    pub(crate) is_eager: bool,
    pub(crate) lag_percent: u32,
    pub(crate) is_cut: bool,
    pub(crate) island: NodeSet,
    /// In a duel every recovery hears a bare quorum, not one side.
    pub(crate) hears_bare_quorum: bool,
}

impl Options {
    /// Draws a run.
    pub fn draw(rng: &mut Rng, overrides: &Overrides) -> Self {
        let drawn = match rng.below(100) {
            0..36 => Generator::Island,
            36..44 => Generator::Duel,
            44..52 => Generator::Orphan,
            52..95 => Generator::Swarm,
            _ => Generator::Calm,
        };
        let generator = overrides.generator.unwrap_or(drawn);
        let layout = Layout::DRAWN[rng.index(Layout::DRAWN.len())];
        // recovery shows little at three replicas: an island run is at five more often than not
        let layout = if generator.has_island() && rng.percent(40) { Layout::Five } else { layout };
        let layout = overrides.layout.unwrap_or(layout);
        let mut options = Self::swarm(rng, generator, layout);
        options.mutant = overrides.mutant;
        options.outcome_only = overrides.outcome_only;
        if options.has_island() {
            options.make_island(rng);
        }
        match generator {
            Generator::Duel => options.make_duel(rng),
            Generator::Orphan => options.make_orphan(rng),
            Generator::Swarm | Generator::Island | Generator::Calm => {}
        }
        options
    }

    fn swarm(rng: &mut Rng, generator: Generator, layout: Layout) -> Self {
        let is_calm = generator == Generator::Calm;
        let keys = Self::draw_keys(rng, layout);
        let has = |rng: &mut Rng, percent: u32| rng.percent(percent) && !is_calm;
        let drop_percent = if has(rng, 60) { 1 + rng.below(20) as u32 } else { 0 };
        let duplicate_percent = if has(rng, 50) { 15 } else { 0 };
        let slow_percent = if has(rng, 80) { 5 + rng.below(35) as u32 } else { 0 };
        let death_permille = if has(rng, 70) { 5 + rng.below(60) } else { 0 };
        let crashes = if has(rng, 50) { 1 + rng.below(4) as u32 } else { 0 };
        let span = if rng.percent(50) { 4 } else { 11 };
        // now and then a run with many transactions a key
        let is_long = generator == Generator::Swarm && rng.percent(8);
        Self {
            generator,
            layout,
            topology: Arc::new(layout.topology()),
            mutant: None,
            outcome_only: false,
            store_count: [1, 2, 4][rng.index(3)],
            is_batched: rng.percent(67),
            txn_count: if is_long { 60 + rng.below(140) as u32 } else { 2 + rng.below(span) as u32 },
            client_count: if is_long { 4 + rng.below(12) as u32 } else { 1 + rng.below(4) as u32 },
            keys,
            read_percent: [0, 30, 50][rng.index(3)],
            multi_percent: [20, 50, 90][rng.index(3)],
            drop_percent,
            duplicate_percent,
            slow_percent,
            slow: [60, 200, 600][rng.index(3)],
            base: 1 + rng.below(12),
            sync: rng.below(6),
            death_permille,
            crashes,
            has_permanent_loss: has(rng, 15),
            skew: [0, 20, 200, 1000][rng.index(4)],
            progress: [25, 60, 150, 500][rng.index(4)],
            timeout: [30, 60, 150][rng.index(3)],
            expire: if rng.percent(20) { 100 } else { 1 << 40 },
            deadline: 1500,
            fault_end: if is_calm { 0 } else { 400 + rng.below(1200) },
            is_medium: !rng.percent(10),
            is_fast: !rng.percent(10),
            is_elided: rng.percent(60),
            is_evicted: rng.percent(60),
            is_thrifty: rng.percent(60),
            is_eager: rng.percent(50),
            lag_percent: if has(rng, 70) { [30, 60, 90][rng.index(3)] } else { 0 },
            is_cut: rng.percent(30),
            island: NodeSet::new(),
            hears_bare_quorum: false,
        }
    }

    fn draw_keys(rng: &mut Rng, layout: Layout) -> u8 {
        if layout.shards().len() == 2 {
            return [0b0101, 0b0111, 0b1111, 0b1101][rng.index(4)];
        }
        let count = 1 + rng.below(3) as u32 + u32::from(rng.percent(30));
        ((1u16 << count.min(4)) - 1) as u8
    }

    fn make_island(&mut self, rng: &mut Rng) {
        let nodes = self.layout.node_count();
        let failures = (nodes as usize - 1) / 2;
        while self.island.len() < failures {
            self.island.insert(NodeId(1 + rng.below(u64::from(nodes)) as u32));
        }
        let is_two = self.layout.shards().len() == 2;
        self.txn_count = 2 + rng.below(3) as u32;
        self.client_count = self.txn_count;
        self.keys = if is_two {
            0b0101
        } else if rng.percent(70) {
            1
        } else {
            3
        };
        (self.lag_percent, self.death_permille, self.drop_percent, self.duplicate_percent) = (0, 0, 0, 0);
        self.slow_percent = [0, 10, 30][rng.index(3)];
        self.slow = [40, 150][rng.index(2)];
        self.progress = [15, 40, 100][rng.index(3)];
        self.timeout = [20, 40][rng.index(2)];
        self.base = 1 + rng.below(4);
        self.sync = rng.below(2);
        (self.crashes, self.has_permanent_loss) = (0, false);
        self.skew = [20, 60, 200][rng.index(3)];
        self.expire = 1 << 40;
        self.read_percent = [0, 0, 30][rng.index(3)];
        self.multi_percent = if is_two { 70 } else { 30 };
        self.fault_end = 300 + rng.below(400);
        self.is_eager = rng.percent(80);
        // everything that spares messages or dependencies also hides mistakes: seldom here
        self.is_elided = rng.percent(25);
        self.is_thrifty = rng.percent(25);
        self.is_fast = rng.percent(97);
    }

    fn make_duel(&mut self, rng: &mut Rng) {
        self.hears_bare_quorum = rng.percent(60);
        let skew = if self.hears_bare_quorum { 60 } else { 200 };
        (self.keys, self.skew, self.read_percent) = (1, skew, 0);
        (self.progress, self.timeout) = (15, 20);
        self.fault_end = 600 + rng.below(600);
    }

    /// Only the readers learn the stable dependencies, so an orphan's decision lives at a minority.
    fn make_orphan(&mut self, rng: &mut Rng) {
        (self.keys, self.read_percent, self.is_thrifty, self.is_elided) = (1, 0, true, false);
        self.is_medium = rng.percent(50);
        self.txn_count = 3 + rng.below(2) as u32;
        self.client_count = self.txn_count;
    }

    /// Whether nodes are cut off from each other per coordination.
    pub(crate) fn has_island(&self) -> bool {
        self.generator.has_island()
    }

    /// Where the keys lie: the lower two in the first shard where there are two, and apart in their stores.
    pub(crate) fn token_of(&self, key: u32) -> Token {
        let quarter = 1i64 << 62;
        match key {
            0 => Token(-quarter * 2 + 5),
            1 => Token(-quarter + 5),
            2 => Token(5),
            _ => Token(quarter + 5),
        }
    }

    pub(crate) fn node_ids(&self) -> Vec<NodeId> {
        (1..=self.layout.node_count()).map(NodeId).collect()
    }

    pub(crate) fn slices(&self) -> Slices {
        Slices::new(self.store_count)
    }

    pub(crate) fn store_config(&self, node: NodeId, store: StoreId) -> StoreConfig {
        let ticks = |ticks: u64| Micros(ticks * TICK);
        StoreConfig {
            node,
            store,
            slices: self.slices(),
            topology: Arc::clone(&self.topology),
            pre_accept_timeout: ticks(self.expire),
            max_clock_skew: Micros::from_secs(3600),
            elide: self.is_elided,
            evict: self.is_evicted,
            progress: ProgressConfig {
                delay: ticks(self.progress),
                blocked_delay: ticks(self.progress / 2),
                stagger: ticks(self.progress / 3),
                delay_max: ticks(self.progress * 12),
            },
        }
    }

    pub(crate) fn coordinator_config(&self, node: NodeId) -> CoordinatorConfig {
        let ticks = |ticks: u64| Micros(ticks * TICK);
        CoordinatorConfig {
            slow_pre_accept: ticks(self.timeout),
            slow_read: ticks(self.timeout),
            rpc_timeout: ticks(self.timeout * 3 / 2),
            client_deadline: ticks(self.deadline),
            fast_path: self.is_fast,
            medium_path: self.is_medium,
            thrifty_stable: self.is_thrifty,
            eager_recovery: self.is_eager,
            inform_delay: ticks(2),
            max_clock_skew: Micros::from_secs(3600),
            ..CoordinatorConfig::new(node, Arc::clone(&self.topology))
        }
    }
}
