"""What a producer sends is written once."""

from __future__ import annotations

from collections.abc import Iterator

from klamm.testing.invariants.catalogue import invariant
from klamm.testing.invariants.evidence import Evidence
from klamm.testing.scan import ScannedBatch

# producer.id.expiration.ms, less what clocks may be set by.
_FORGOTTEN_AFTER_MS = 86_400_000 - 60_000


@invariant("I1")
def each_sequence_is_written_once_and_in_order(evidence: Evidence) -> Iterator[str]:
    """Of each producer id and epoch, sequences rise without a repetition."""
    for log in evidence.scan.values():
        last: dict[tuple[int, int], int] = {}
        for batch in log.batches:
            if batch.producer_id < 0 or batch.is_control:
                continue
            producer = batch.producer_id, batch.epoch
            before = last.get(producer, -1)
            if batch.base_sequence <= before:
                yield (
                    f"{log.place}: producer {producer} wrote sequence {batch.base_sequence} "
                    f"at offset {batch.base_offset} after {before}"
                )
            last[producer] = batch.last_sequence


@invariant("I1")
def sequences_have_no_gaps(evidence: Evidence) -> Iterator[str]:
    """Nothing was lost between two batches of one producer id and epoch.

    A power failure may take what was not synced, and the producer hears of that with its next batch; but a producer that was
    silent for longer than brokers remember is let go on with any sequence.
    """
    for log in evidence.scan.values():
        last: dict[tuple[int, int], ScannedBatch] = {}
        for batch in log.batches:
            producer = batch.producer_id, batch.epoch
            if batch.producer_id < 0 or batch.is_control or log.is_compacted:
                continue
            before = last.get(producer)
            last[producer] = batch
            if before is None or batch.base_sequence == before.last_sequence + 1:
                continue
            if not _may_be_forgotten(evidence, before, batch):
                yield (
                    f"{log.place}: producer {producer} has a gap from {before.last_sequence} "
                    f"to {batch.base_sequence}"
                )


@invariant("I1")
def no_value_is_written_twice(evidence: Evidence) -> Iterator[str]:
    """As the client sees it: it sent each value once, however often it had to try."""
    seen: dict[bytes, str] = {}
    for log in evidence.scan.values():
        for _, record in log.records():
            if record.value is not None:
                where = f"{log.place} at {record.offset}"
                if record.value in seen:
                    yield f"{record.value!r} is written twice: {seen[record.value]}, {where}"
                seen[record.value] = where


@invariant("T3")
def epochs_of_a_producer_rise(evidence: Evidence) -> Iterator[str]:
    """As the log shows it: after a newer epoch of a producer id nothing of an older one is written.

    A power failure may take the coordinator's newest records, and so its newest epochs, too.
    """
    for log in evidence.scan.values():
        newest: dict[int, int] = {}
        last: dict[int, ScannedBatch] = {}
        for batch in log.batches:
            producer = batch.producer_id
            if producer < 0:
                continue
            before = last.get(producer)
            last[producer] = batch
            if before is not None and _may_be_forgotten(evidence, before, batch):
                newest.pop(producer, None)
            if batch.epoch < newest.get(producer, -1):
                yield (
                    f"{log.place}: producer {producer} wrote in epoch {batch.epoch} "
                    f"at {batch.base_offset} after epoch {newest[producer]}"
                )
            newest[producer] = max(batch.epoch, newest.get(producer, -1))


def _may_be_forgotten(evidence: Evidence, before: ScannedBatch, batch: ScannedBatch) -> bool:
    """Whether a broker that lost what was not synced may have known nothing of the producer any more."""
    silence = batch.max_timestamp - before.max_timestamp
    return evidence.may_lose_unsynced and silence > _FORGOTTEN_AFTER_MS
