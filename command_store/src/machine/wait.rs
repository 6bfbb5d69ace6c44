//! Recoveries that wait here for another transaction to be decided.
//!
//! *Source*: [SPEC 7.5].

use super::{Asked, CommandStore, Turn};
use crate::cfk::EntryStatus;
use protocol::message::{AwaitUntil, AwaitVerdict, RecoverAwait, RecoverAwaitReply, ReplyVerb};
use protocol::{Ballot, DepSet, Hooks, Key, Mutant, Participants, Scope, Timestamp, TxnId};
use smallvec::SmallVec;

/// Recoveries held per awaited transaction; beyond it the oldest is let go without an answer and asks again.
const WAITERS_MAX: usize = 128;

/// One recovery that waits.
#[derive(Clone)]
pub(super) struct Waiter {
    asked: Asked,
    keys: SmallVec<[Key; 2]>,
    until: AwaitUntil,
}

/// What is known here of the awaited transaction.
struct Awaited {
    status: EntryStatus,
    at: Timestamp,
    /// Its dependencies at each key it shares with the question.
    deps: Vec<(Key, Option<DepSet>)>,
}

impl<H: Hooks> CommandStore<H> {
    pub(super) fn on_recover_await(&mut self, turn: &mut Turn<'_>, asked: Asked, scope: &Scope, wait: RecoverAwait) {
        let waiter = Waiter { asked, keys: self.own_keys(scope.keys()), until: wait.until };
        if let Some(verdict) = self.verdict(wait.awaited, &waiter) {
            return self.answer_waiter(turn, wait.awaited, &waiter, verdict);
        }
        let keys = Scope::Part(Participants::of_keys(waiter.keys.to_vec()));
        self.progress.watch_blocker(wait.awaited, &keys, turn.now.mono);
        let waiters = self.waiters.entry(wait.awaited).or_default();
        waiters.retain(|other| {
            (other.asked.txn_id, other.asked.ballot, other.asked.from) != (asked.txn_id, asked.ballot, asked.from)
        });
        if waiters.len() >= WAITERS_MAX {
            waiters.remove(0);
        }
        waiters.push(waiter);
    }

    /// `id` has changed: answer the recoveries that waited for just that.
    pub(super) fn answer_waiters(&mut self, turn: &mut Turn<'_>, id: TxnId) {
        let Some(waiters) = self.waiters.remove(&id) else { return };
        let mut left = Vec::new();
        for waiter in waiters {
            match self.verdict(id, &waiter) {
                Some(verdict) => self.answer_waiter(turn, id, &waiter, verdict),
                None => left.push(waiter),
            }
        }
        if !left.is_empty() {
            self.waiters.insert(id, left);
        }
    }

    fn answer_waiter(&self, turn: &mut Turn<'_>, awaited: TxnId, waiter: &Waiter, verdict: AwaitVerdict) {
        let covering = Participants::of_keys(waiter.keys.to_vec());
        self.answer(
            turn,
            waiter.asked,
            ReplyVerb::RecoverAwaitReply(RecoverAwaitReply { awaited, verdict, covering }),
            true,
        );
    }

    /// What `awaited` says of the recovered transaction, or `None` while it must still be waited for.
    fn verdict(&self, awaited: TxnId, waiter: &Waiter) -> Option<AwaitVerdict> {
        let known = self.awaited(awaited, &waiter.keys)?;
        let promised = self.commands.get(&awaited).map_or(Ballot::ZERO, |tracked| tracked.command.promised());
        let is_coordinator = awaited.node() == self.config.node && awaited.shape().fast_path.is_privileged();
        let has_come = match waiter.until {
            AwaitUntil::HasStableDeps => known.status >= EntryStatus::Stable,
            AwaitUntil::HasDecidedExecuteAt => known.status.is_decided(),
            AwaitUntil::CommittedOrNotFastPathCommit => {
                known.status.is_decided() || (is_coordinator && !promised.is_zero())
            }
        };
        has_come.then(|| self.judge(awaited, &known, waiter, is_coordinator && promised.is_zero()))
    }

    fn judge(&self, awaited: TxnId, known: &Awaited, waiter: &Waiter, may_still_be_fast: bool) -> AwaitVerdict {
        let id = waiter.asked.txn_id;
        // decided here by now: with elision the other may well have left it out, which proves nothing
        if self
            .awaited(id, &waiter.keys)
            .is_some_and(|own| own.status.is_decided() && own.status != EntryStatus::Invalidated)
        {
            return AwaitVerdict::Unknown;
        }
        let is_committed = known.status.is_decided() && known.status != EntryStatus::Invalidated;
        if known.status < EntryStatus::Accepted || known.status == EntryStatus::Invalidated {
            let is_open = waiter.until == AwaitUntil::CommittedOrNotFastPathCommit && may_still_be_fast;
            let is_open = is_open && known.status != EntryStatus::Invalidated;
            return if is_open { AwaitVerdict::Unknown } else { AwaitVerdict::Accept };
        }
        let bound = if is_committed { known.at } else { awaited.as_timestamp() };
        if bound < id.as_timestamp() {
            return AwaitVerdict::Accept;
        }
        let count_unstable = self.hooks.mutant(Mutant::UnstableCounts);
        let names = |deps: &Option<DepSet>| {
            deps.as_ref().is_some_and(|deps| if count_unstable { deps.contains(id) } else { deps.contains_stable(id) })
        };
        if known.deps.iter().all(|(_, deps)| names(deps)) { AwaitVerdict::Accept } else { AwaitVerdict::Reject }
    }

    /// What the entries of `id` at `keys` say; `None` if there are none.
    fn awaited(&self, id: TxnId, keys: &[Key]) -> Option<Awaited> {
        let entry = |key: &Key| self.keys.get(key).and_then(|cfk| cfk.get(id)).map(|entry| (key.clone(), entry));
        let entries: Vec<_> = keys.iter().filter_map(entry).collect();
        let (_, first) = entries.iter().max_by_key(|(_, entry)| entry.status)?;
        let deps = entries.iter().map(|(key, entry)| (key.clone(), entry.deps.clone())).collect();
        Some(Awaited { status: first.status, at: first.at, deps })
    }
}
