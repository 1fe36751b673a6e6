"""What readers have seen."""

from __future__ import annotations

from collections.abc import Iterator

from klamm.base.ids import TopicPartition
from klamm.testing.invariants.catalogue import invariant
from klamm.testing.invariants.evidence import Evidence


@invariant("P7")
def what_was_read_stays(evidence: Evidence) -> Iterator[str]:
    """Nothing above the high watermark is shown: whatever anybody has read is at that offset in the end."""
    for read in evidence.history.reads:
        log = evidence.log_of(read.place, read.at)
        if log is None or read.offset < log.start:
            continue
        found = log.by_offset().get(read.offset)
        if found is None and log.is_compacted:
            continue
        if found is None or found.value != read.value:
            yield (
                f"{read.reader} read {read.value!r} at {read.place} {read.offset}, which holds "
                f"{found.value if found else None!r}; the log is [{log.start}, {log.end})"
            )


@invariant("P7")
def readers_pass_over_nothing(evidence: Evidence) -> Iterator[str]:
    """Between two records that one reader got one after the other lies nothing that it should have got, too."""
    last: dict[tuple[str, int, TopicPartition], int] = {}
    for read in evidence.history.reads:
        if read.session < 0:
            continue
        log = evidence.log_of(read.place, read.at)
        if log is None or log.is_compacted:
            continue
        where = read.reader, read.session, read.place
        before, last[where] = last.get(where), read.offset
        if before is None:
            continue
        if read.offset <= before:
            yield f"{read.reader} read {read.place} at {read.offset} after {before}"
        decisions = log.decisions()
        for offset in range(max(before + 1, log.start), read.offset):
            is_there = offset in log.by_offset()
            if is_there and not (read.is_committed and decisions.get(offset, True) is not True):
                yield f"{read.reader} passed over {read.place} at {offset}"
