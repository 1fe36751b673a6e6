"""What retention and compaction may take away."""

from __future__ import annotations

from collections.abc import Iterator

from klamm.base.ids import TopicPartition
from klamm.testing.history import Sent
from klamm.testing.invariants.catalogue import invariant
from klamm.testing.invariants.evidence import Evidence


@invariant("C1")
def the_last_value_of_a_key_stays(evidence: Evidence) -> Iterator[str]:
    """Of each key of a compacted log the newest acknowledged value is there, at its offset."""
    newest: dict[tuple[TopicPartition, bytes], Sent] = {}
    for sent in filter(evidence.history.counts, evidence.history.sent):
        log = evidence.log_of(sent.place, sent.began)
        if log is not None and log.is_compacted and sent.key is not None:
            where = sent.place, sent.key
            if where not in newest or newest[where].offset < sent.offset:
                newest[where] = sent
    for (place, key), sent in newest.items():
        log = evidence.scan[place]
        found = log.by_offset()
        # A later one whose client never heard of it may have taken its place; a tombstone goes after a while.
        is_outdone = any(
            record.key == key and record.offset > sent.offset for record in found.values()
        )
        if sent.value is None or is_outdone or sent.offset < log.start:
            continue
        record = found.get(sent.offset)
        if record is None or record.value != sent.value:
            yield f"{place}: the last value of {key!r}, {sent.value!r} at {sent.offset}, is gone"


@invariant("C1")
def compaction_moves_nothing(evidence: Evidence) -> Iterator[str]:
    """What is left of a compacted log is at the offset that its client was told."""
    told: dict[tuple[TopicPartition, bytes | None], int] = {
        (sent.place, sent.value): sent.offset
        for sent in evidence.history.acknowledged()
        if sent.value is not None and evidence.log_of(sent.place, sent.began) is not None
    }
    for log in evidence.scan.values():
        for _, record in log.records():
            offset = told.get((log.place, record.value), record.offset)
            if offset != record.offset:
                yield f"{log.place}: {record.value!r} was at {offset} and is at {record.offset}"


@invariant("C2")
def retention_removes_whole_segments_from_the_front(evidence: Evidence) -> Iterator[str]:
    """A log begins where a segment begins, or where somebody asked to delete up to; never above what is committed."""
    for place, log in evidence.scan.items():
        asked = evidence.history.deleted_before.get(place, 0)
        if log.start > max(log.segment_starts[0], asked):
            yield f"{place}: begins at {log.start}, its first segment at {log.segment_starts[0]}"
        if not log.start <= log.high_watermark <= log.end:
            yield f"{place}: [{log.start}, {log.end}) is committed up to {log.high_watermark}"


@invariant("C2")
def the_start_of_a_log_never_goes_back(evidence: Evidence) -> Iterator[str]:
    """But for crashes, which may take away the note of a deletion by hand: Kafka writes it down every minute, too."""
    before = evidence.before
    if before is None or evidence.looks[-1].is_after_power_failure:
        return
    for place, old in before.scan.items():
        new = evidence.scan.get(place)
        if new is None or new.topic_id != old.topic_id or new.start >= old.start:
            continue
        asked = evidence.history.deleted_before.get(place, 0)
        if not (evidence.looks[-1].is_after_crash and old.start <= asked):
            yield f"{place}: began at {old.start} and begins at {new.start} now"
