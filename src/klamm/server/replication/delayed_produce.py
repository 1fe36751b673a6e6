"""A produce with acks=all that waits until its batches are committed."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from klamm.base.errors import ErrorCode
from klamm.protocol.messages.produce import PartitionProduceResponse
from klamm.replication.partition import Partition


class Uncommitted(NamedTuple):
    """A batch that was appended, and is not committed yet."""

    partition: Partition
    end_offset: int
    response: PartitionProduceResponse


class DelayedProduce:
    """Implements acks.Waiter. A batch stays where it was appended, whatever is told: its response keeps the offset."""

    __slots__ = ("_finish", "_waiting")

    def __init__(self, waiting: list[Uncommitted], finish: Callable[[], None]) -> None:
        self._waiting = waiting
        self._finish = finish

    def ends(self) -> list[tuple[Partition, int]]:
        """How far each partition must be committed: with several batches to one, up to the last."""
        ends: dict[Partition, int] = {}
        for each in self._waiting:
            ends[each.partition] = max(ends.get(each.partition, 0), each.end_offset)
        return list(ends.items())

    def heard(self, partition: Partition, code: int) -> None:
        left = []
        for each in self._waiting:
            if each.partition is partition:
                each.response.error_code = code
            else:
                left.append(each)
        self._waiting = left
        if not left:
            self._finish()

    def timed_out(self) -> None:
        for each in self._waiting:
            each.response.error_code = ErrorCode.REQUEST_TIMED_OUT
        self._finish()
