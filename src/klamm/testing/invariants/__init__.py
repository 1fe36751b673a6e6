"""What must hold whatever happens, one function each. They yield what is wrong, in words."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from klamm.testing.invariants import (
    cleaning,
    durability,
    groups,
    idempotence,
    quorum,
    reading,
    replicas,
    topics,
    transactions,
)
from klamm.testing.invariants.catalogue import CATALOGUE, CODES, told
from klamm.testing.invariants.evidence import Evidence, Look
from klamm.testing.invariants.watching import Watched

Invariant = Callable[[Evidence], Iterable[str]]

# These hold also where a power failure may take away the newest records.
ALWAYS: tuple[Invariant, ...] = (
    durability.every_batch_is_whole,
    durability.what_was_synced_survives,
    durability.nothing_is_acknowledged_after_a_failed_sync,
    idempotence.each_sequence_is_written_once_and_in_order,
    idempotence.sequences_have_no_gaps,
    idempotence.no_value_is_written_twice,
    idempotence.epochs_of_a_producer_rise,
    cleaning.retention_removes_whole_segments_from_the_front,
    cleaning.the_start_of_a_log_never_goes_back,
    cleaning.compaction_moves_nothing,
    transactions.nothing_is_stable_behind_an_open_transaction,
    transactions.the_last_stable_offset_never_goes_back,
    transactions.a_decision_stands,
    topics.nothing_of_a_deleted_topic_is_seen_again,
)
IF_NOTHING_IS_LOST: tuple[Invariant, ...] = (
    durability.what_was_acknowledged_is_at_its_offset,
    cleaning.the_last_value_of_a_key_stays,
    transactions.a_transaction_is_seen_whole_or_not_at_all,
    transactions.offsets_of_a_transaction_are_committed_with_it,
    transactions.readers_of_committed_records_see_no_others,
    transactions.an_older_run_of_a_producer_is_fenced,
    groups.a_partition_has_one_owner_in_a_generation,
    groups.an_older_generation_commits_nothing,
    groups.a_committed_offset_stays,
)


# Of a cluster, where each partition is looked at as its leader has it, at the end.
OF_A_CLUSTER: tuple[Invariant, ...] = (
    durability.every_batch_is_whole,
    durability.what_was_acknowledged_is_at_its_offset,
    idempotence.each_sequence_is_written_once_and_in_order,
    idempotence.sequences_have_no_gaps,
    idempotence.no_value_is_written_twice,
    idempotence.epochs_of_a_producer_rise,
    cleaning.compaction_moves_nothing,
    cleaning.the_last_value_of_a_key_stays,
    transactions.nothing_is_stable_behind_an_open_transaction,
    transactions.a_transaction_is_seen_whole_or_not_at_all,
    transactions.offsets_of_a_transaction_are_committed_with_it,
    transactions.readers_of_committed_records_see_no_others,
    transactions.an_older_run_of_a_producer_is_fenced,
    groups.a_partition_has_one_owner_in_a_generation,
    groups.an_older_generation_commits_nothing,
    groups.a_committed_offset_stays,
    topics.nothing_of_a_deleted_topic_is_seen_again,
    topics.a_topic_that_was_made_is_there,
    topics.a_config_that_was_set_was_committed,
    groups.commits_never_fall,
    transactions.a_transaction_is_ended_once,
    transactions.every_transaction_ends,
    reading.what_was_read_stays,
    reading.readers_pass_over_nothing,
)
# Of a cluster, again and again.
WATCHED: tuple[Watched, ...] = (
    quorum.an_epoch_has_one_controller,
    quorum.a_vote_stands,
    quorum.a_new_controller_has_all_that_was_committed,
    quorum.nodes_know_the_same_at_the_same_offset,
    quorum.voters_change_one_at_a_time,
    replicas.an_epoch_has_one_leader,
    replicas.leaders_change_as_they_may,
    replicas.the_isr_has_only_who_lives,
    replicas.the_isr_is_what_the_controller_says,
    replicas.high_watermarks_never_fall,
    replicas.all_in_sync_have_what_is_committed,
    replicas.a_new_leader_has_all_that_was_committed,
    replicas.nothing_is_committed_below_min_isr,
    replicas.nobody_cuts_below_its_high_watermark,
    replicas.what_was_safe_is_there_after_a_crash,
    replicas.a_failed_disk_leads_nothing,
    replicas.the_start_of_a_replica_never_goes_back,
    replicas.last_stable_offsets_never_fall,
    replicas.nobody_serves_before_it_knows_itself,
)


def cluster_violations(evidence: Evidence) -> list[str]:
    return [text for each in OF_A_CLUSTER for text in told(each, evidence)]


def violations(evidence: Evidence) -> list[str]:
    held = ALWAYS if evidence.may_lose_unsynced else ALWAYS + IF_NOTHING_IS_LOST
    return [text for each in held for text in told(each, evidence)]


__all__ = [
    "ALWAYS",
    "CATALOGUE",
    "CODES",
    "IF_NOTHING_IS_LOST",
    "OF_A_CLUSTER",
    "WATCHED",
    "Evidence",
    "Invariant",
    "Look",
    "cluster_violations",
    "violations",
]
