"""What was promised to last."""

from __future__ import annotations

from collections.abc import Iterator

from klamm.testing.invariants.catalogue import invariant
from klamm.testing.invariants.evidence import Evidence


@invariant("P3", "D3")
def what_was_acknowledged_is_at_its_offset(evidence: Evidence) -> Iterator[str]:
    """An acknowledged record is there, at the offset that the client was told."""
    for sent in evidence.history.acknowledged():
        log = evidence.log_of(sent.place, sent.began)
        if log is None or sent.offset < log.start or log.is_compacted:
            continue
        found = log.by_offset().get(sent.offset)
        if found is None or (found.key, found.value) != (sent.key, sent.value):
            yield (
                f"{sent.place}: {sent.value!r} was acknowledged at {sent.offset}, which holds "
                f"{found.value if found else None!r}; the log is [{log.start}, {log.end})"
            )


@invariant("D1")
def what_was_synced_survives(evidence: Evidence) -> Iterator[str]:
    """What lay below the recovery point before a crash is there after it, unchanged."""
    before = evidence.before
    if not evidence.looks[-1].is_after_crash or before is None:
        return
    for place, old in before.scan.items():
        new = evidence.scan.get(place)
        if new is None or new.topic_id != old.topic_id:
            continue
        if new.end < old.recovery_point:
            yield f"{place}: ends at {new.end}, and was safe up to {old.recovery_point}"
        found = new.by_offset()
        for _, record in old.records():
            if new.start <= record.offset < old.recovery_point and not new.is_compacted:
                other = found.get(record.offset)
                if other is None or (other.key, other.value) != (record.key, record.value):
                    yield f"{place}: the record at {record.offset} was synced and is not there"


@invariant("D1")
def every_batch_is_whole(evidence: Evidence) -> Iterator[str]:
    """Recovery cuts at the first bad batch; none is left behind, and offsets rise."""
    for log in evidence.scan.values():
        last = -1
        for batch in log.batches:
            if not batch.is_whole:
                yield f"{log.place}: the batch at {batch.base_offset} has a wrong checksum"
            if batch.base_offset <= last:
                yield f"{log.place}: the batch at {batch.base_offset} comes after offset {last}"
            last = batch.last_offset


@invariant("D2")
def nothing_is_acknowledged_after_a_failed_sync(evidence: Evidence) -> Iterator[str]:
    """A failed sync is final: it takes the directory offline, and the one directory has everything."""
    since, crashed = evidence.broken_since, evidence.crashed_at
    if since is None:
        return
    for sent in evidence.history.acknowledged():
        if since < sent.began and sent.ended < crashed:
            yield f"{sent.place}: {sent.value!r} was acknowledged after a sync had failed"
