//! Questions a machine asks its host: is this planted bug on?
//!
//! `accordd sim` and `accordd serve` are one binary with the same machines; only the simulator's hooks ever answer yes.

/// A deliberate bug, to prove that the simulator's checkers can fail.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Mutant {
    /// Applies and serves reads without waiting for dependencies.
    ApplyBeforeDependencies,
    /// Decides the fast path with one vote fewer than the quorum.
    FastQuorumMinusOne,
    /// Recovery does not count the votes and witnesses that rule the fast path out.
    RecoveryIgnoresFastRejects,
    /// Recovery follows the lowest accepted ballot.
    LowestAcceptedBallot,
    /// Answers a repeated request without waiting for the log.
    ReackBeforeSync,
    /// Answers any request without waiting for the log.
    ReplyBeforeSync,
    /// The medium path takes the dependencies of one vote.
    MediumDepsNotMerged,
    /// The slow path executes right after its Accept round.
    SlowWithoutCommit,
    /// Final dependencies from elsewhere replace what a recovery's proposal testified to.
    StableForgetsProposal,
    /// A late PreAccept overwrites an accepted record.
    PreAcceptOverwritesAccepted,
    /// A repeated vote forgets that it was a refusal.
    RejectedLostOnReack,
    /// Recovery does not wait for earlier accepted conflicts.
    NoSimpleWait,
    /// The clock restarts from the wall.
    ClockFromWall,
    /// Promises are not journalled.
    PromiseNotPersisted,
    /// The same node is counted twice.
    DoubleCount,
    /// The slow path proposes the first witnessed time instead of the highest.
    SlowProposesFirst,
    /// Quorums of the Accept round are one too small.
    SlowQuorumMinusOne,
    /// A recovery's proposal adds local dependencies to accepted ones.
    ProposalAddsLocal,
    /// UNSTABLE dependencies count as witnessed.
    UnstableCounts,
}

impl Mutant {
    /// All of them.
    pub const ALL: [Self; 19] = [
        Self::ApplyBeforeDependencies,
        Self::FastQuorumMinusOne,
        Self::RecoveryIgnoresFastRejects,
        Self::LowestAcceptedBallot,
        Self::ReackBeforeSync,
        Self::ReplyBeforeSync,
        Self::MediumDepsNotMerged,
        Self::SlowWithoutCommit,
        Self::StableForgetsProposal,
        Self::PreAcceptOverwritesAccepted,
        Self::RejectedLostOnReack,
        Self::NoSimpleWait,
        Self::ClockFromWall,
        Self::PromiseNotPersisted,
        Self::DoubleCount,
        Self::SlowProposesFirst,
        Self::SlowQuorumMinusOne,
        Self::ProposalAddsLocal,
        Self::UnstableCounts,
    ];
}

/// What the host of a machine may answer.
pub trait Hooks: Clone + 'static {
    /// Whether `mutant` is planted in this run.
    fn mutant(&self, mutant: Mutant) -> bool;

    /// Whether any bug is planted; some of them break rules that are asserted otherwise.
    fn is_planted(&self) -> bool;
}

/// The hooks of a real node: nothing is ever planted. Zero-sized.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct NoHooks;

impl Hooks for NoHooks {
    #[inline(always)]
    fn mutant(&self, _: Mutant) -> bool {
        false
    }

    #[inline(always)]
    fn is_planted(&self) -> bool {
        false
    }
}
