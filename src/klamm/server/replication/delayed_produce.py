"""A produce with acks=all that waits until its batches are committed: of the straight paths, and of the handler."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from klamm.base.errors import ErrorCode
from klamm.protocol.messages.produce import PartitionProduceResponse, ProduceResponse
from klamm.replication.partition import Partition
from klamm.server.metadata.current_leader import tell_leaders
from klamm.server.network.outgoing import Answer
from klamm.server.network.pending import Pending

if TYPE_CHECKING:
    from klamm.server.call import Call
    from klamm.server.replication.waiting import Waiting


class DelayedProduce(Pending):
    """Implements acks.Waiter. A batch stays where it was appended, whatever is told: its answer keeps the offset."""

    __slots__ = ("_missing", "_waiting")

    def wait(self, waiting: Waiting, ends: list[tuple[Partition, int]], timeout_ms: int) -> None:
        self._waiting = waiting
        self._missing = [partition for partition, _ in ends]
        waiting.await_commit(self, ends, timeout_ms)

    def heard(self, partition: Partition, code: int) -> None:
        if code:
            self.fail(partition, code)
        missing = self._missing
        missing.remove(partition)
        if not missing:
            self.finish()

    def timed_out(self) -> None:
        for partition in self._missing:
            self.fail(partition, ErrorCode.REQUEST_TIMED_OUT)
        self.finish()

    def abandon(self) -> None:
        """The client is gone, and with it whoever could be told."""
        self._waiting.acks.abandon(self)

    def fail(self, partition: Partition, code: int) -> None:
        raise NotImplementedError

    def encode(self) -> Answer:
        raise NotImplementedError

    def finish(self) -> None:
        self.settle(self.encode())


class Uncommitted(NamedTuple):
    """A batch that was appended, and is not committed yet."""

    partition: Partition
    end_offset: int
    response: PartitionProduceResponse


class HandledProduce(DelayedProduce):
    """Of the handler, whose connection handles nothing else meanwhile."""

    __slots__ = ("_call", "_response", "_uncommitted")

    def __init__(
        self, call: Call, response: ProduceResponse, uncommitted: list[Uncommitted]
    ) -> None:
        super().__init__()
        self._call = call
        self._response = response
        self._uncommitted = uncommitted

    def ends(self) -> list[tuple[Partition, int]]:
        """How far each partition must be committed: with several batches to one, up to the last."""
        ends: dict[Partition, int] = {}
        for each in self._uncommitted:
            ends[each.partition] = max(ends.get(each.partition, 0), each.end_offset)
        return list(ends.items())

    def fail(self, partition: Partition, code: int) -> None:
        for each in self._uncommitted:
            if each.partition is partition:
                each.response.error_code = code

    def finish(self) -> None:
        self._call.finish(told(self._response, self._call))


def told(response: ProduceResponse, call: Call) -> ProduceResponse:
    """With who leads what is led elsewhere."""
    tell_leaders(response, call.broker, call.connection, call.version)
    return response
