"""Who waits until an append is committed: acks=all, and whoever else may answer only then.

A queue per partition. The high watermark passes the offsets in their order, so only the front of a queue is ever looked at;
a repeated batch waits for the offsets that it got the first time, and may have to stand further in front.
Each waiter hears once per partition: 0, or what went wrong.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Hashable
from operator import itemgetter
from typing import Protocol

from klamm.base.clock import Ms
from klamm.base.deadlines import Deadlines
from klamm.base.errors import ErrorCode
from klamm.base.ids import TopicPartition
from klamm.replication.partition import Partition

_offset_of = itemgetter(0)


class Waiter(Hashable, Protocol):
    def heard(self, partition: Partition, code: int) -> None:
        """It is committed (0), or will not be here: another leads."""

    def timed_out(self) -> None:
        """The deadline came first. It hears no more."""


class Acknowledgements:
    __slots__ = ("_queues", "_waits_for", "deadlines")

    def __init__(self) -> None:
        self.deadlines: Deadlines[Waiter] = Deadlines()
        # (end offset, waiter), by offset.
        self._queues: dict[tuple[str, int], list[tuple[int, Waiter]]] = {}
        self._waits_for: dict[Waiter, list[tuple[TopicPartition, int]]] = {}

    def __len__(self) -> int:
        return len(self._waits_for)

    def wait(self, waiter: Waiter, ends: list[tuple[Partition, int]], deadline: Ms) -> None:
        """Until the high watermark of each partition has reached the end that is named with it."""
        self._waits_for[waiter] = [(partition.name, end) for partition, end in ends]
        self.deadlines.set(waiter, deadline)
        for partition, end_offset in ends:
            queue = self._queues.get(partition.name)
            if queue is None:
                self._queues[partition.name] = [(end_offset, waiter)]
            elif queue[-1][0] <= end_offset:
                queue.append((end_offset, waiter))
            else:
                queue.insert(bisect_right(queue, end_offset, key=_offset_of), (end_offset, waiter))

    def committed(self, partition: Partition) -> None:
        """The high watermark rose."""
        queue = self._queues.get(partition.name)
        if queue is None or queue[0][0] > partition.high_watermark:
            return
        reached = bisect_right(queue, partition.high_watermark, key=_offset_of)
        is_enough = len(partition.isr) >= partition.min_isr
        code = ErrorCode.NONE if is_enough else ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND
        done = queue[:reached]
        if reached == len(queue):
            del self._queues[partition.name]
        else:
            del queue[:reached]
        for _, waiter in done:
            self._tell(waiter, partition, code)

    def moved(self, partition: Partition, code: ErrorCode) -> None:
        """This broker leads it no longer: whether what was appended stays is not ours to say."""
        for _, waiter in self._queues.pop(partition.name, ()):
            self._tell(waiter, partition, code)

    def expire(self, waiter: Waiter) -> None:
        """Its deadline has come."""
        if waiter in self._waits_for:
            self._forget(waiter)
            waiter.timed_out()

    def abandon(self, waiter: Waiter) -> None:
        """Nobody is there any more to be told. It may have heard all already."""
        if waiter in self._waits_for:
            self.deadlines.cancel(waiter)
            self._forget(waiter)

    def _forget(self, waiter: Waiter) -> None:
        for name, end_offset in self._waits_for.pop(waiter):
            queue = self._queues.get(name, [])
            at = bisect_left(queue, end_offset, key=_offset_of)
            while at < len(queue) and queue[at][0] == end_offset:
                if queue[at][1] is waiter:
                    del queue[at]
                    break
                at += 1
            if not queue:
                self._queues.pop(name, None)

    def _tell(self, waiter: Waiter, partition: Partition, code: int) -> None:
        waits = self._waits_for.get(waiter)
        if waits is None:
            # Whoever was told just before it had it forgotten: connections end for each other's sake.
            return
        if len(waits) == 1:
            del self._waits_for[waiter]
            self.deadlines.cancel(waiter)
        else:
            self._waits_for[waiter] = [each for each in waits if each[0] != partition.name]
        waiter.heard(partition, code)
