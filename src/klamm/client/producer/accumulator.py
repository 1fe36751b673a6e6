"""Records gather here into batches, one queue per partition, until a batch is full or has waited long enough.

Pure: `now` is an argument, in seconds. It knows nothing of brokers or sequences, and sends nothing.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field

from klamm.base.ids import TopicPartition
from klamm.client.producer.batch import Batch, Delivery
from klamm.protocol.records.reader import Record


@dataclass(slots=True)
class Accumulator:
    batch_bytes: int
    linger: float
    delivery_timeout: float
    _queues: dict[TopicPartition, deque[Batch]] = field(default_factory=dict)
    # Batches made before this moment do not linger: somebody waits for all of them.
    _flushed_at: float = -1.0

    def append(
        self,
        partition: TopicPartition,
        record: Record,
        size: int,
        delivery: Delivery,
        now: float,
    ) -> bool:
        """True if this began a batch or filled one: then there may be something to send."""
        queue = self._queues.setdefault(partition, deque())
        last = queue[-1] if queue else None
        is_new = last is None or not self._has_room(last, size)
        if last is None or is_new:
            last = Batch(partition, now)
            queue.append(last)
        last.add(record, size, delivery)
        return is_new or last.size >= self.batch_bytes

    def _has_room(self, batch: Batch, size: int) -> bool:
        # What has a sequence was sent before, so it must stay as it is.
        is_open = not batch.is_closed and not batch.has_sequence and not batch.attempts
        return is_open and batch.size + size <= self.batch_bytes

    def due(self, now: float) -> Iterator[TopicPartition]:
        """Partitions whose first batch should go out."""
        for partition, queue in self._queues.items():
            if queue and self._due_at(queue) <= now:
                yield partition

    def next_due(self, after: float) -> float | None:
        """When the next batch that is not due yet will be, or will expire."""
        times = [
            time
            for queue in self._queues.values()
            if queue
            for time in (self._due_at(queue), queue[0].created_at + self.delivery_timeout)
            if time > after
        ]
        return min(times, default=None)

    def _due_at(self, queue: deque[Batch]) -> float:
        first = queue[0]
        if first.attempts:
            return first.retry_at
        is_full = len(queue) > 1 or first.is_closed or first.size >= self.batch_bytes
        if is_full or first.created_at <= self._flushed_at:
            return first.created_at
        return first.created_at + self.linger

    def flush(self, now: float) -> None:
        self._flushed_at = now

    def first(self, partition: TopicPartition) -> Batch:
        return self._queues[partition][0]

    def pop(self, partition: TopicPartition) -> Batch:
        return self._queues[partition].popleft()

    def put_back(self, batch: Batch) -> None:
        """To the front, behind those that were sent before it."""
        queue = self._queues.setdefault(batch.partition, deque())
        at = 0
        while at < len(queue) and _is_before(queue[at], batch):
            at += 1
        queue.insert(at, batch)

    def expired(self, now: float) -> list[Batch]:
        """Take out what nobody could be given in time."""
        late: list[Batch] = []
        for queue in self._queues.values():
            while queue and queue[0].created_at + self.delivery_timeout <= now:
                late.append(queue.popleft())
        return late

    def take_all(self) -> list[Batch]:
        taken = [batch for queue in self._queues.values() for batch in queue]
        self._queues.clear()
        return taken

    def batches(self) -> Iterator[Batch]:
        for queue in self._queues.values():
            yield from queue


def _is_before(queued: Batch, returned: Batch) -> bool:
    if not queued.has_sequence or not returned.has_sequence:
        return False
    # Sequences wrap: of two that are near each other, the one ahead has the small distance.
    return 0 < (returned.base_sequence - queued.base_sequence) & 0x7FFFFFFF < 0x40000000
