//! What a caller fixes instead of leaving it to the seed.

use clap::ValueEnum;
use sim::{Generator, Layout, Overrides};
use std::fmt;

/// Flags that belong to a seed: a replay needs the same ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::Args)]
pub(super) struct Choice {
    /// Which faults the run is made of; drawn if not given.
    #[arg(long, value_enum)]
    pub(super) generator: Option<GeneratorName>,
    /// Nodes and shards; drawn if not given.
    #[arg(long, value_enum)]
    pub(super) layout: Option<LayoutName>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum GeneratorName {
    /// Every fault class with some probability.
    Swarm,
    /// Conflicting transactions whose coordinators die on one side of a split.
    Island,
    /// An island on which coordinators die while proposing, so that ballots compete.
    Duel,
    /// An island on which coordinators answer their client and die before they tell the replicas.
    Orphan,
    /// No fault at all.
    Calm,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum LayoutName {
    Three,
    ThreeTwoShards,
    FourOverlapping,
    FiveOverlapping,
    SixDisjoint,
    Five,
    Seven,
}

impl Choice {
    pub(super) fn overrides(self) -> Overrides {
        Overrides {
            generator: self.generator.map(Into::into),
            layout: self.layout.map(Into::into),
            ..Overrides::default()
        }
    }
}

/// As flags, with a space in front of each.
impl fmt::Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let generator = self.generator.as_ref().and_then(ValueEnum::to_possible_value);
        let layout = self.layout.as_ref().and_then(ValueEnum::to_possible_value);
        generator.map_or(Ok(()), |value| write!(f, " --generator {}", value.get_name()))?;
        layout.map_or(Ok(()), |value| write!(f, " --layout {}", value.get_name()))
    }
}

impl From<GeneratorName> for Generator {
    fn from(name: GeneratorName) -> Self {
        match name {
            GeneratorName::Swarm => Self::Swarm,
            GeneratorName::Island => Self::Island,
            GeneratorName::Duel => Self::Duel,
            GeneratorName::Orphan => Self::Orphan,
            GeneratorName::Calm => Self::Calm,
        }
    }
}

impl From<LayoutName> for Layout {
    fn from(name: LayoutName) -> Self {
        match name {
            LayoutName::Three => Self::Three,
            LayoutName::ThreeTwoShards => Self::ThreeTwoShards,
            LayoutName::FourOverlapping => Self::FourOverlapping,
            LayoutName::FiveOverlapping => Self::FiveOverlapping,
            LayoutName::SixDisjoint => Self::SixDisjoint,
            LayoutName::Five => Self::Five,
            LayoutName::Seven => Self::Seven,
        }
    }
}
