"""What must hold whatever happens, one function each. They yield what is wrong, in words."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from klamm.testing.invariants import (
    cleaning,
    durability,
    groups,
    idempotence,
    topics,
    transactions,
)
from klamm.testing.invariants.evidence import Evidence, Look

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
)


def cluster_violations(evidence: Evidence) -> list[str]:
    return [f"{each.__name__}: {text}" for each in OF_A_CLUSTER for text in each(evidence)]


def violations(evidence: Evidence) -> list[str]:
    held = ALWAYS if evidence.may_lose_unsynced else ALWAYS + IF_NOTHING_IS_LOST
    return [f"{each.__name__}: {text}" for each in held for text in each(evidence)]


__all__ = [
    "ALWAYS",
    "IF_NOTHING_IS_LOST",
    "OF_A_CLUSTER",
    "Evidence",
    "Invariant",
    "Look",
    "cluster_violations",
    "violations",
]
