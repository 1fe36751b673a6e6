"""Bugs of coordinators: of groups, of transactions, of their markers."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

from klamm.base.errors import ApiError, ErrorCode
from klamm.coordinator.group.classic.group import ClassicGroup
from klamm.coordinator.runtime import Runtime
from klamm.protocol.records.control import end_marker_batch
from klamm.replication.partition import ACKS_ALL, Partition
from klamm.server.coordination import markers
from klamm.server.coordination.partition_log import PartitionLog
from klamm.testing.mutants.mutant import Patch, mutant


@mutant
def loads_to_the_high_watermark(patch: Patch) -> None:
    """A coordinator that takes over reads only what it knows to be committed."""

    class UpToHighWatermark:
        """The log of the partition, which seems to end there."""

        def __init__(self, partition: Partition) -> None:
            self._log = partition.log
            self.start_offset = partition.log.start_offset
            self.end_offset = max(partition.high_watermark, self.start_offset)

        def read(self, offset: int, max_bytes: int, *, up_to: int) -> Any:
            return self._log.read(offset, max_bytes, up_to=up_to)

    class Shorter:
        def __init__(self, partition: Partition) -> None:
            self.log = UpToHighWatermark(partition)

    def replay(self: PartitionLog, read_at_once: int) -> Iterator[Any]:
        partition, self.partition = self.partition, Shorter(self.partition)  # type: ignore[assignment]
        try:
            steps = list(whole(self, read_at_once))
        finally:
            self.partition = partition
        yield from steps

    whole = patch.set(PartitionLog, "replay", replay)


@mutant
def answers_before_it_is_committed(patch: Patch) -> None:
    """A coordinator's replies do not wait for the high watermark."""
    patch.set(Runtime, "is_settled", property(lambda self: True))


@mutant
def counts_a_marker_before_it_is_replicated(patch: Patch) -> None:
    """The end of a transaction is told when one broker has the marker."""

    def heard_at_once(self: Any, told: Any) -> None:
        self._told = lambda code: None
        told(ErrorCode.NONE)

    patch.set(markers._Unreplicated, "__init__", heard_at_once)


@mutant
def writes_a_marker_twice(patch: Patch) -> None:
    """A marker comes a second time, late, and ends whatever its producer has open then."""

    def append_marker(
        self: Partition, marker: Any, producer_id: int, epoch: int, **more: Any
    ) -> Any:
        def again() -> None:
            state = self.log.producers.get(producer_id)
            if state is None or state.txn_first_offset is None or not self.is_leader:
                return
            batch = end_marker_batch(
                marker, producer_id=producer_id, producer_epoch=state.epoch, timestamp=more["now"]
            )
            self.append_own(batch, acks=ACKS_ALL, now=more["now"])

        asyncio.get_running_loop().call_later(1.0, again)
        return whole(self, marker, producer_id, epoch, **more)

    whole = patch.set(Partition, "append_marker", append_marker)


@mutant
def forgets_a_partition_of_a_transaction(patch: Patch) -> None:
    """The second partition of a topic gets no markers."""
    whole = markers.write_marker

    def write_marker(broker: Any, name: Any, *what: Any, told: Any, **more: Any) -> None:
        if name.partition == 1 and not name.topic.startswith("__"):
            told(ErrorCode.NONE)
        else:
            whole(broker, name, *what, told=told, **more)

    patch.set(markers, "write_marker", write_marker)


@mutant
def takes_commits_of_old_generations(patch: Patch) -> None:
    """A member that was left behind by a rebalance still commits."""

    def check_commit(self: ClassicGroup, *member: Any, **more: Any) -> None:
        try:
            whole(self, *member, **more)
        except ApiError as e:
            if e.code is not ErrorCode.ILLEGAL_GENERATION:
                raise

    whole = patch.set(ClassicGroup, "check_commit", check_commit)
