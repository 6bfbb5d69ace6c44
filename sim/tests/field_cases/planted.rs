//! The cases against planted bugs: a case that no bug can fail says nothing.

use crate::kit::PLANTED;
use crate::{load::*, recovery::*, votes::*};
use sim::Mutant;
use std::panic::catch_unwind;

/// Each case with a bug that must fail it.
const CAUGHT: [(fn(), Mutant); 22] = [
    (p01_recovery_follows_the_accepted_ballot, Mutant::LowestAcceptedBallot),
    (p02_recovery_keeps_the_union_of_dependencies, Mutant::SlowProposesFirst),
    (p02_recovery_keeps_the_union_of_dependencies, Mutant::SlowWithoutCommit),
    (p03_a_round_without_the_last_vote_ends, Mutant::FastQuorumMinusOne),
    (p03_a_round_with_a_node_down_ends, Mutant::SlowQuorumMinusOne),
    (p05_a_parked_outcome_is_stored_and_not_applied, Mutant::ApplyBeforeDependencies),
    (p05_no_vote_leaves_before_its_sync, Mutant::ReackBeforeSync),
    (p05_no_vote_leaves_before_its_sync, Mutant::ReplyBeforeSync),
    (p07_an_abandoned_insert_cannot_come_back_under_a_later_one, Mutant::RecoveryIgnoresFastRejects),
    (p07_a_later_insert_waits_until_the_abandoned_one_is_settled, Mutant::ApplyBeforeDependencies),
    (p07_what_a_condition_saw_stays_true_when_an_older_transaction_is_recovered, Mutant::RecoveryIgnoresFastRejects),
    (p08_a_read_of_many_keys_never_sees_half_of_a_transfer, Mutant::ApplyBeforeDependencies),
    (p11_duplicates_and_late_messages_are_harmless, Mutant::DoubleCount),
    (p11_copies_of_two_votes_do_not_make_a_third, Mutant::DoubleCount),
    (p12_a_promise_binds_a_replica_that_never_saw_the_transaction, Mutant::PromiseNotPersisted),
    (p12_a_promise_binds_after_a_power_loss, Mutant::PromiseNotPersisted),
    (p13_an_answered_fast_path_survives_its_coordinator, Mutant::FastQuorumMinusOne),
    (p13_an_answered_medium_path_survives_its_coordinator, Mutant::SlowQuorumMinusOne),
    (p13_an_answered_slow_path_survives_its_coordinator, Mutant::SlowWithoutCommit),
    (p14_a_chain_of_abandoned_transactions_clears_in_one_sweep, Mutant::ApplyBeforeDependencies),
    (p18_an_unknown_append_is_never_tried_again, Mutant::ApplyBeforeDependencies),
    (j10_a_promise_survives_a_power_loss, Mutant::PromiseNotPersisted),
];

#[test]
fn every_planted_bug_fails_the_case_it_belongs_to() {
    for (nth, (case, mutant)) in CAUGHT.into_iter().enumerate() {
        PLANTED.set(Some(mutant));
        let is_caught = catch_unwind(case).is_err();
        PLANTED.set(None);
        assert!(is_caught, "{mutant:?} passes the case in line {nth} of the table");
    }
}
