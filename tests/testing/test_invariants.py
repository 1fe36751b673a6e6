"""Invariants tell what is wrong from what only looks so. The cases are those that a seed has shown."""

import pytest

from klamm.base.ids import TopicPartition
from klamm.protocol.records.reader import Record
from klamm.testing.history import History
from klamm.testing.invariants.evidence import Evidence, Look
from klamm.testing.invariants.idempotence import epochs_of_a_producer_rise, sequences_have_no_gaps
from klamm.testing.scan import ScannedBatch, ScannedLog

PLACE = TopicPartition("plain", 1)
DAY_MS = 86_400_000


def a_batch(offset: int, sequence: int, timestamp: int, epoch: int = 0) -> ScannedBatch:
    return ScannedBatch(
        base_offset=offset,
        last_offset=offset,
        max_timestamp=timestamp,
        producer_id=5,
        epoch=epoch,
        base_sequence=sequence,
        last_sequence=sequence,
        is_transactional=False,
        is_control=False,
        marker=None,
        records=(Record(offset=offset, timestamp=timestamp),),
        is_whole=True,
    )


def gaps(silence_ms: int, *, may_lose_unsynced: bool) -> list[str]:
    """Of a producer whose third batch is missing, and whose fourth came after so long a time."""
    batches = [a_batch(0, 0, 0), a_batch(1, 1, 0), a_batch(2, 3, silence_ms)]
    return list(sequences_have_no_gaps(evidence_of(batches, may_lose_unsynced)))


def evidence_of(batches: list[ScannedBatch], may_lose_unsynced: bool) -> Evidence:
    log = ScannedLog(PLACE, None, 0, 3, 3, 3, 0, (0,), is_compacted=False)
    log.batches = batches
    evidence = Evidence(History(), may_lose_unsynced=may_lose_unsynced)
    evidence.looks.append(Look(0.0, {PLACE: log}))
    return evidence


def test_a_lost_batch_leaves_a_gap() -> None:
    (told,) = gaps(1_000, may_lose_unsynced=True)

    assert told == "plain-1: producer (5, 0) has a gap from 1 to 3"


def test_a_gap_is_nobodys_fault_if_the_broker_could_have_forgotten_the_producer() -> None:
    assert gaps(DAY_MS + 1, may_lose_unsynced=True) == []


def test_where_nothing_may_be_lost_a_gap_is_one_after_any_time() -> None:
    assert len(gaps(DAY_MS + 1, may_lose_unsynced=False)) == 1


@pytest.mark.parametrize(
    ("silence_ms", "may_lose_unsynced", "found"),
    [(1_000, True, 1), (DAY_MS + 1, False, 1), (DAY_MS + 1, True, 0)],
)
def test_an_older_epoch_is_written_only_by_who_may_have_been_forgotten(
    silence_ms: int, may_lose_unsynced: bool, found: int
) -> None:
    batches = [a_batch(0, 0, 0, epoch=8), a_batch(1, 0, silence_ms, epoch=3)]

    told = list(epochs_of_a_producer_rise(evidence_of(batches, may_lose_unsynced)))

    assert len(told) == found
