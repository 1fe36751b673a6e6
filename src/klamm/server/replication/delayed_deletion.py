"""A DeleteRecords that waits until every living replica has moved the start of its log."""

from __future__ import annotations

from typing import NamedTuple

from klamm.base.errors import ErrorCode
from klamm.protocol.messages.delete_records import DeleteRecordsPartitionResult
from klamm.replication.partition import Partition
from klamm.server.call import Call, Message


class Undeleted(NamedTuple):
    partition: Partition
    target: int
    result: DeleteRecordsPartitionResult


class DelayedDeletion:
    __slots__ = ("_call", "_response", "_waiting")

    def __init__(self, call: Call, response: Message, waiting: list[Undeleted]) -> None:
        self._call = call
        self._response = response
        self._waiting = waiting

    def places(self) -> list[tuple[str, int]]:
        return [each.partition.name for each in self._waiting]

    def retry(self) -> bool:
        """A follower fetched, or the leader is another one: True if all is said now."""
        left = []
        for each in self._waiting:
            partition, target, result = each
            if not partition.is_leader:
                result.error_code = ErrorCode.NOT_LEADER_OR_FOLLOWER
                result.low_watermark = -1
            else:
                result.low_watermark = partition.low_watermark
                if result.low_watermark < target:
                    left.append(each)
        self._waiting = left
        if left:
            return False
        self._finish()
        return True

    def expire(self) -> None:
        for each in self._waiting:
            each.result.error_code = ErrorCode.REQUEST_TIMED_OUT
        self._finish()

    def abandon(self) -> None:
        """Nobody is there any more to be told."""
        self._call.broker.waiting.deletions.done(self)

    def _finish(self) -> None:
        self.abandon()
        self._call.finish(self._response)
