"""A follower's fetch: up to the end of the log, and what it asks for tells how far it is.

Only what changed since the last answer is looked at (replication/backlog.py), however many partitions the session has. While
it waits, growth wakes it at the end of the loop's turn, with all that the turn appended; a high watermark alone is not worth
an answer of its own, unless nothing grows for a while.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import TYPE_CHECKING

from klamm.base.errors import ApiError, ErrorCode
from klamm.log.results import Slice
from klamm.protocol.messages.fetch import FetchRequest
from klamm.replication.backlog import Backlog, Key, Place
from klamm.replication.fetch_sessions import FetchContext, FetchPartition
from klamm.replication.partition import Partition
from klamm.server.fetch.delayed_fetch import divergence, encode_results, find_partition
from klamm.server.fetch.fetch_response import FetchResult
from klamm.server.network.long_answer import LONG_BYTES
from klamm.server.network.pending import PARKED, Parked

if TYPE_CHECKING:
    from klamm.server.broker import Broker
    from klamm.server.call import Call, EncodedBody, LongBody

# Deviation: Kafka's followers hear of a high watermark when their fetch is answered, up to 500 ms later. Here
# they hear soon how far the log is committed: consumers may read from them, and one of them may lead next.
_TELL_SECONDS = 0.05
_COST = 4096


class ReplicaFetch:
    __slots__ = (
        "_backlog",
        "_call",
        "_context",
        "_epoch",
        "_is_parked",
        "_is_urgent",
        "_left",
        "_min_bytes",
        "_results",
        "_soon",
        "_told_by",
        "_total",
        "replica_id",
    )

    def __init__(
        self,
        call: Call,
        context: FetchContext,
        request: FetchRequest,
        backlog: Backlog,
        broker_epoch: int,
    ) -> None:
        self._call = call
        self._context = context
        self._backlog = backlog
        self.replica_id = backlog.replica_id
        self._epoch = broker_epoch
        self._left = min(request.max_bytes, call.broker.settings.network.fetch_max_bytes)
        if self._left > LONG_BYTES and not call.connection.may_answer_long():
            self._left = LONG_BYTES
        self._min_bytes = min(request.min_bytes, self._left)
        self._results: dict[Place, FetchResult] = {}
        self._total = 0
        self._is_urgent = False
        self._is_parked = False
        self._soon: asyncio.Handle | None = None
        self._told_by: asyncio.TimerHandle | None = None

    def begin(self, max_wait_ms: int) -> EncodedBody | LongBody | Parked:
        self._look(is_first=True)
        if self._is_enough() or max_wait_ms <= 0 or not self._call.connection.may_park(_COST):
            return self._answer()
        self._is_parked = True
        self._backlog.on_change = self._changed
        self._call.broker.waiting.park_replica_fetch(self, self._call.now.monotonic + max_wait_ms)
        self._call.connection.on_lost = self.abandon
        if self._backlog.changed:
            # What it made known led to appends, of markers for example, when nobody listened yet.
            self._changed(True)
            self._changed(False)
        return PARKED

    # -- while it waits -----------------------------------------------------------------------------------------------

    def _changed(self, is_more: bool) -> None:
        loop = asyncio.get_running_loop()
        if is_more:
            if self._soon is None:
                self._soon = loop.call_soon(self._go_on)
        elif self._told_by is None:
            self._told_by = loop.call_later(_TELL_SECONDS, self.expire)

    def _go_on(self) -> None:
        self._soon = None
        if self._is_parked:
            self._look(is_first=False)
            if self._is_enough():
                self._finish()

    def expire(self) -> None:
        if self._is_parked:
            self._look(is_first=False)
            self._finish()

    def abandon(self) -> None:
        """The follower is gone; it begins a new session if it comes back."""
        self._leave()
        self._close()

    def _finish(self) -> None:
        self._leave()
        self._call.finish(self._answer())

    def _leave(self) -> None:
        self._is_parked = False
        self._backlog.on_change = None
        self._call.broker.waiting.replica_fetches.cancel(self)
        for handle in (self._soon, self._told_by):
            if handle is not None:
                handle.cancel()
        self._soon = self._told_by = None

    # -- reading ------------------------------------------------------------------------------------------------------

    def _look(self, *, is_first: bool) -> None:
        backlog = self._backlog
        for place, asked in backlog.take().items():
            before = self._results.get(place)
            if before is not None:
                self._total -= before.size
                self._left += before.size
            result, is_passed_over = self._read(asked, is_first=is_first)
            self._results[place] = result
            self._total += result.size
            self._left -= result.size
            if result.error or result.diverging is not None:
                self._is_urgent = True
                backlog.changed[place] = asked
            elif self._left <= 0 or is_passed_over:
                # Some of it, or all, is left for the next time.
                backlog.changed[place] = asked
            else:
                # What its own fetch made known is in the answer.
                backlog.changed.pop(place, None)

    def _is_enough(self) -> bool:
        return self._is_urgent or self._total >= self._min_bytes or not self._context.partitions

    def _read(self, asked: FetchPartition, *, is_first: bool) -> tuple[FetchResult, bool]:
        """The result, and whether there was something to read but no room for its first batch."""
        diverging = None
        is_passed_over = False
        records: Slice | None = None
        try:
            partition = find_partition(self._call.broker, asked)
            partition.check_replica(self.replica_id, self._epoch, asked.leader_epoch)
            if asked.last_fetched_epoch >= 0:
                diverging = divergence(partition, asked)
            if diverging is None:
                if is_first:
                    self._note(partition, asked)
                if asked.offset != partition.log.end_offset:
                    most = min(asked.max_bytes, max(self._left, 0))
                    is_none_yet = self._total == 0
                    records = partition.read_to_end(asked.offset, most, min_one=is_none_yet)
                    is_passed_over = records is None
        except ApiError as e:
            return FetchResult(asked, e.code), False
        result = FetchResult(
            asked,
            ErrorCode.NONE,
            partition.high_watermark,
            partition.last_stable_offset,
            partition.log.start_offset,
            None,
            records,
            diverging,
        )
        return result, is_passed_over

    def _note(self, partition: Partition, asked: FetchPartition) -> None:
        """How far the follower is."""
        broker = self._call.broker
        is_risen = partition.fetched_by(
            self.replica_id, self._epoch, asked.offset, asked.log_start, self._call.now.monotonic
        )
        if partition.wishes_isr_change(self.replica_id):
            broker.isr_changes.submit(partition)
        if is_risen:
            broker.committed(partition)
        if broker.waiting.deletions:
            broker.waiting.low_watermark_moved(partition)

    def _close(self) -> None:
        if self._context.session is None:
            self._backlog.close()

    def _answer(self) -> EncodedBody | LongBody:
        self._close()
        results = list(self._results.values())
        if self._context.session is not None:
            told = [
                r
                for r in results
                if r.asked.has_news(r.error, r.high_watermark, r.log_start, r.size)
            ]
            if self._context.is_incremental:
                results = told
        return encode_results(self._call, self._context.session_id, results)


def backlog_of(
    broker: Broker,
    context: FetchContext,
    replica_id: int,
    asked: Iterable[FetchPartition],
    forgotten: Iterable[Key],
) -> Backlog:
    """That of the session, with what this request says; without a session one for this request alone."""
    session = context.session
    backlog = None if session is None else session.backlog
    if backlog is None:
        backlog = Backlog(broker.backlogs, replica_id)
        if session is not None:
            session.backlog = backlog
    for each in asked:
        known = each if session is None else session.partitions.get(each.key, each)
        backlog.follow(known, _place_of(broker, known))
    for key in forgotten:
        backlog.forget(key)
    return backlog


def _place_of(broker: Broker, asked: FetchPartition) -> Place:
    if asked.topic:
        return asked.topic, asked.index
    topic = broker.image.topics_by_id.get(asked.topic_id)
    return (asked.topic_id if topic is None else topic.name), asked.index
