"""Batches that a log has from a broker: its leader's, or those of this one's coordinators. They are asked far less.

All are looked at before any is written.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import takewhile

from klamm.base.errors import ApiError, CorruptFrame, ErrorCode
from klamm.log.results import Origin, UnexpectedOffset
from klamm.log.state.producers import ProducerStates
from klamm.log.state.replay import read_marker
from klamm.log.validation.of_clients import Rules, check_size
from klamm.protocol.records.batch import (
    BatchHeader,
    batches,
    check_crc,
    read_header,
    stamp,
    stamp_append_time,
)

Found = list[tuple[BatchHeader, memoryview]]


def replicated(view: memoryview, leader_epoch: int, end_offset: int) -> Found:
    """Those of a leader, as it has them. What it sends may end within a batch; the rest comes again."""
    try:
        found = _of_leader(batches(view, partial_end=True), leader_epoch)
    except CorruptFrame as e:
        raise ApiError(ErrorCode.CORRUPT_MESSAGE, str(e)) from None
    _check_replicated(found, end_offset)
    return _some(found)


def stamped(
    view: memoryview,
    origin: Origin,
    *,
    leader_epoch: int,
    end_offset: int,
    now: int,
    rules: Rules,
    producers: ProducerStates,
) -> Found:
    """Our own. They are given their offsets, in place, and returned as they are then."""
    found = []
    end, at = end_offset, 0
    try:
        for header, batch in batches(view):
            if origin is Origin.COORDINATOR:
                _check_coordinated(header, batch, rules, producers)
                if rules.uses_append_time:
                    stamp_append_time(view, at, now)
            stamp(view, at, end, leader_epoch)
            found.append((read_header(view, at), batch))
            end += header.last_offset_delta + 1
            at += len(batch)
    except CorruptFrame as e:
        raise ApiError(ErrorCode.CORRUPT_MESSAGE, str(e)) from None
    return _some(found)


def _some(found: Found) -> Found:
    if not found:
        raise ApiError(ErrorCode.INVALID_RECORD, "There is no whole batch to append.")
    return found


def _of_leader(
    found: Iterable[tuple[BatchHeader, memoryview]], leader_epoch: int
) -> list[tuple[BatchHeader, memoryview]]:
    """What the leader of this epoch may have in its log: nothing of a later one, and nothing behind that.

    A leader that was deposed cuts its log and follows, perhaps while an answer still reads from the file.
    """
    return list(takewhile(lambda each: each[0].leader_epoch <= leader_epoch, found))


def _check_replicated(found: list[tuple[BatchHeader, memoryview]], end_offset: int) -> None:
    """A follower asks that batches are sound and continue its log; all else was the leader's to judge."""
    end = end_offset
    for header, batch in found:
        if header.base_offset < end:
            raise UnexpectedOffset(header.base_offset, end)
        if not check_crc(batch):
            raise ApiError(ErrorCode.CORRUPT_MESSAGE, "A replicated batch has a wrong checksum.")
        if header.is_control and header.producer_id >= 0:
            read_marker(batch)
        end = header.last_offset + 1


def _check_coordinated(
    header: BatchHeader, batch: memoryview, rules: Rules, producers: ProducerStates
) -> None:
    """A coordinator's writes have no sequences, but an older epoch of producer or coordinator is refused."""
    check_size(batch, rules)
    if header.producer_id < 0:
        return
    marker = read_marker(batch) if header.is_control else None
    if marker is None:
        producers.check_epoch(header.producer_id, header.producer_epoch)
    else:
        producers.check_marker(header.producer_id, header.producer_epoch, marker.coordinator_epoch)
