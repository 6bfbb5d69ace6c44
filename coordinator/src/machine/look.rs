//! What a coordinator shows of itself to people: who is under way. Decides nothing and changes nothing.

use super::{Coordinator, Phase};
use protocol::{Ballot, TxnId};

/// The coordinations of one node.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct CoordinatorLook {
    /// All of them.
    pub count: usize,
    /// Those a client waits for.
    pub live_count: usize,
    /// Those that ask around about, recover or invalidate what somebody else began.
    pub recovering_count: usize,
    /// Ascending by id, no more than asked for.
    pub under_way: Vec<UnderWay>,
}

/// One coordination.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UnderWay {
    /// What is coordinated.
    pub txn_id: TxnId,
    /// At which ballot; zero unless it is a recovery.
    pub ballot: Ballot,
    /// Its phase, in words.
    pub phase: &'static str,
    /// Whether a client waits for it.
    pub has_client: bool,
    /// Keys it touches, as far as known.
    pub key_count: usize,
}

impl<H> Coordinator<H> {
    /// Looks around; `most` bounds the list.
    pub fn look(&self, most: usize) -> CoordinatorLook {
        let shown = self.coordinations.iter().map(|((txn_id, ballot), coordination)| {
            let (phase, subject) = (&coordination.phase, &coordination.subject);
            let (has_client, key_count) = (subject.client.is_some(), subject.scope.keys().len());
            UnderWay { txn_id: *txn_id, ballot: *ballot, phase: phase.name(), has_client, key_count }
        });
        let mut under_way: Vec<UnderWay> = shown.collect();
        under_way.sort_unstable_by_key(|one| (one.txn_id, one.ballot));
        under_way.truncate(most);
        let is_taken_over = |phase: &Phase| {
            matches!(phase, Phase::Inquire(_) | Phase::Recover(_) | Phase::Await(_) | Phase::Invalidate(_))
        };
        CoordinatorLook {
            count: self.coordinations.len(),
            live_count: self.live_count,
            recovering_count: self.coordinations.values().filter(|one| is_taken_over(&one.phase)).count(),
            under_way,
        }
    }
}

impl Phase {
    const fn name(&self) -> &'static str {
        match self {
            Self::PreAccept(_) => "pre-accept",
            Self::Propose(_) => "accept",
            Self::Stabilise(_) => "commit",
            Self::Execute(_) => "execute",
            Self::Persist(_) => "apply",
            Self::NotAccept(_) => "give up",
            Self::Recover(_) => "recover",
            Self::Await(_) => "await conflicts",
            Self::Invalidate(_) => "invalidate",
            Self::Inquire(_) => "ask around",
        }
    }
}
