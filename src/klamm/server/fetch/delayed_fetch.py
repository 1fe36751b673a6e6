"""A fetch under way: what it would return now, whether that is enough, and its answer.

Kafka's byte rules: partitions are read in the order of the session; each gets at most its own limit and what the others
left of the whole; the first batch found is returned whole even if it is larger than both.
"""

from __future__ import annotations

from collections.abc import Collection, Generator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from klamm.base.errors import ApiError, ErrorCode
from klamm.protocol.messages.fetch import FetchRequest
from klamm.replication.fetch_sessions import FetchContext, FetchPartition
from klamm.replication.partition import Isolation, Partition
from klamm.replication.replica_selector import nearest_replica
from klamm.server.authorization.rights import READ_TOPIC
from klamm.server.fetch.fetch_response import (
    FIRST_WITH_ENDPOINTS,
    Divergence,
    FetchResult,
    encode_fetch_response,
    encode_long_fetch_response,
)
from klamm.server.metadata.addresses import NodeAddress
from klamm.server.metadata.current_leader import current_leader, leader_addresses
from klamm.server.network.long_answer import LONG_BYTES, is_better_sent_directly

if TYPE_CHECKING:
    from klamm.server.broker import Broker
    from klamm.server.call import Call, EncodedBody, LongBody


# From so many partitions on a fetch is read in turns, a step at a time.
_MANY = 1000
_STEP = 64
# From here on a client may read from a follower.
_FIRST_WITH_RACK = 11
# A client that hears these is told who leads (KIP-951).
_LED_ELSEWHERE = (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.FENCED_LEADER_EPOCH)
_UNKNOWN = (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.UNKNOWN_TOPIC_ID)
# What does not change by itself: no reason to hurry as long as there are other partitions.
_NOT_SERVED = (*_UNKNOWN, READ_TOPIC.error)


class DelayedFetch:
    __slots__ = (
        "_call",
        "_context",
        "_denied",
        "_has_changed",
        "_is_urgent",
        "_isolation",
        "_left",
        "_max_bytes",
        "_min_bytes",
        "_rack",
        "_results",
        "_total",
        "_unknown",
        "_unknown_at_first",
        "_waiting_for",
    )

    def __init__(self, call: Call, context: FetchContext, request: FetchRequest) -> None:
        self._call = call
        self._context = context
        # Decided once, when it comes.
        self._denied = () if call.broker.authorization is None else self._find_denied()
        self._isolation = request.isolation_level
        self._max_bytes = min(request.max_bytes, call.broker.settings.network.fetch_max_bytes)
        if call.quota is not None and (most := call.quota.most_fetched(call)) is not None:
            # More than that would only mean a longer silence.
            self._max_bytes = min(self._max_bytes, most)
        self._min_bytes = min(request.min_bytes, self._max_bytes)
        # Of a client that would rather read from a replica near it.
        self._rack = request.rack_id if call.broker.selects_by_rack else ""
        self._unknown_at_first: int | None = None
        # While a fetch of many partitions waits: what each would return, and whether any of them changed.
        self._waiting_for: dict[tuple[str, int], FetchResult] = {}
        self._has_changed = False

    @property
    def cost(self) -> int:
        """About what it takes in memory while it waits."""
        return 1024 + 512 * len(self._context.partitions)

    @property
    def has_many(self) -> bool:
        """So many partitions that they are read in turns, and not again for each of them that grows."""
        return len(self._context.partitions) > _MANY

    def places(self) -> list[tuple[str, int]]:
        """The partitions whose growth may complete this fetch."""
        found: list[tuple[str, int]] = []
        for asked, result in zip(self._context.partitions, self._results, strict=True):
            with suppress(ApiError):
                found.append(name := self._get(asked).name)
                if self.has_many:
                    self._waiting_for[name] = result
        return found

    def is_ready(self) -> bool:
        """Read again. Enough bytes, an error, a divergence or nothing to wait for: all are worth an answer at once.

        A partition that was never here is no reason to hurry as long as there are others: a client that keeps asking
        for it would turn in circles.
        """
        self._begin()
        self._look_at(self._context.partitions)
        return self._is_enough()

    def reading(self) -> Generator[None, None, bool]:
        """The same in steps, for many partitions."""
        partitions = self._context.partitions
        self._begin()
        for start in range(0, len(partitions), _STEP):
            self._look_at(partitions[start : start + _STEP])
            yield
        return self._is_enough()

    def _begin(self) -> None:
        self._results: list[FetchResult] = []
        self._total = self._unknown = 0
        self._is_urgent = False
        self._left = self._max_bytes
        if self._left > LONG_BYTES and not self._call.connection.may_answer_long():
            self._left = LONG_BYTES

    def _look_at(self, partitions: Sequence[FetchPartition]) -> None:
        for asked in partitions:
            result = self._read(asked, self._left, self._total == 0)
            self._results.append(result)
            if result.records is not None:
                size = result.records.size
                self._total += size
                self._left = max(0, self._left - size)
            elif result.error in _NOT_SERVED:
                self._unknown += 1
            elif result.error or result.diverging is not None or result.preferred_replica >= 0:
                self._is_urgent = True

    def _is_enough(self) -> bool:
        unknown = self._unknown
        if self._unknown_at_first is None:
            self._unknown_at_first = unknown
        # All unknown, or one that was here at first is no more.
        if unknown == len(self._results) or unknown > self._unknown_at_first:
            return True
        return self._is_urgent or self._total >= self._min_bytes

    def answer(self) -> EncodedBody | LongBody:
        context = self._context
        results = self._results
        if context.session is not None:
            told = [
                r
                for r in results
                if r.asked.has_news(r.error, r.high_watermark, r.log_start, r.size)
            ]
            for result in results:
                if result.size:
                    context.session.move_to_back(result.asked)
            if context.is_incremental:
                results = told
        return encode_results(self._call, context.session_id, results)

    def retry(self, grown: Partition | None = None) -> bool:
        """A partition grew, or went: answer if that is enough now."""
        if grown is not None and self.has_many and not self._may_be_enough(grown):
            return False
        if not self.is_ready():
            return False
        self.finish()
        return True

    def _may_be_enough(self, grown: Partition) -> bool:
        """Look at the one that grew and not at thousands that did not."""
        self._has_changed = True
        before = self._waiting_for.get(grown.name)
        if before is None:
            return True
        now = self._read(before.asked, self._max_bytes, True)
        self._waiting_for[grown.name] = now
        self._total += now.size - before.size
        is_urgent = now.error != before.error or now.diverging is not None
        return is_urgent or self._total >= self._min_bytes

    def expire(self) -> None:
        if self._has_changed or not self.has_many:
            self.is_ready()
        self.finish()

    def finish(self) -> None:
        self._call.broker.fetches.done(self)
        self._call.finish(self.answer())

    def abandon(self) -> None:
        """The client is gone."""
        self._call.broker.fetches.done(self)

    def _get(self, asked: FetchPartition) -> Partition:
        if self._denied and self._name_of(asked) in self._denied:
            raise ApiError(READ_TOPIC.error)
        return find_partition(self._call.broker, asked)

    def _find_denied(self) -> Collection[str]:
        names = map(self._name_of, self._context.partitions)
        return self._call.denied(READ_TOPIC, filter(None, names))

    def _name_of(self, asked: FetchPartition) -> str:
        """None that a topic could have, for an id that is not known."""
        if asked.topic:
            return asked.topic
        topic = self._call.broker.image.topics_by_id.get(asked.topic_id)
        return "" if topic is None else topic.name

    def _read(self, asked: FetchPartition, left: int, min_one: bool) -> FetchResult:
        isolation = self._isolation
        diverging = records = aborted = None
        try:
            partition = self._get(asked)
            if partition.is_leader or self._call.version < _FIRST_WITH_RACK:
                partition.check_leader(asked.leader_epoch)
            else:
                partition.check_replica_of(asked.leader_epoch)
            if self._rack and (found := self._preferred(partition, asked)) is not None:
                return found
            if asked.last_fetched_epoch >= 0:
                diverging = divergence(partition, asked)
            if diverging is None:
                most = asked.max_bytes if asked.max_bytes < left else left
                records = partition.read(asked.offset, most, isolation=isolation, min_one=min_one)
            stable = partition.last_stable_offset
            if isolation == Isolation.READ_COMMITTED:
                aborted = partition.aborted_transactions(asked.offset, stable) if records else []
        except ApiError as e:
            # Kafka's own answer to a partition that it does not know has an empty list here, to others none.
            return FetchResult(asked, e.code, aborted=[] if e.code in _NOT_SERVED else None)
        return FetchResult(
            asked,
            0,
            partition.high_watermark,
            stable,
            partition.log.start_offset,
            aborted,
            records,
            diverging,
        )

    def _preferred(self, partition: Partition, asked: FetchPartition) -> FetchResult | None:
        """Nothing but the number of a replica that is nearer to the client, if there is one."""
        rack_of = self._call.broker.rack_of
        nearest = nearest_replica(partition, self._rack, asked.offset, rack_of)
        if nearest is None:
            return None
        return FetchResult(
            asked,
            0,
            partition.high_watermark,
            partition.last_stable_offset,
            partition.log.start_offset,
            preferred_replica=nearest,
        )


def find_partition(broker: Broker, asked: FetchPartition) -> Partition:
    if asked.topic:
        return broker.replicas.get(asked.topic, asked.index)
    topic = broker.image.topics_by_id.get(asked.topic_id)
    if topic is None:
        raise ApiError(ErrorCode.UNKNOWN_TOPIC_ID)
    partition = broker.replicas.get(topic.name, asked.index)
    if partition.topic_id != asked.topic_id:
        # The topic was made anew, and its logs are not yet.
        raise ApiError(ErrorCode.INCONSISTENT_TOPIC_ID)
    return partition


def divergence(partition: Partition, asked: FetchPartition) -> Divergence | None:
    epoch, end_offset = partition.end_of_epoch(asked.last_fetched_epoch)
    if epoch < 0 or end_offset < 0 or asked.offset < partition.log.start_offset:
        raise ApiError(ErrorCode.OFFSET_OUT_OF_RANGE)
    if epoch < asked.last_fetched_epoch or end_offset < asked.offset:
        return Divergence(epoch, end_offset)
    return None


def encode_results(
    call: Call, session_id: int, results: Sequence[FetchResult]
) -> EncodedBody | LongBody:
    addresses: list[NodeAddress] = []
    if call.version >= FIRST_WITH_ENDPOINTS and any(
        each.error in _LED_ELSEWHERE for each in results
    ):
        results = [_with_leader(call.broker, each) for each in results]
        leaders = [each.leader for each in results if each.leader is not None]
        addresses = leader_addresses(call.broker, call.connection, leaders)
    try:
        return _encode(call.version, session_id, results, addresses)
    except OSError:
        checked = [_checked(call.broker, result) for result in results]
        return _encode(call.version, session_id, checked, addresses)


def _with_leader(broker: Broker, result: FetchResult) -> FetchResult:
    if result.error not in _LED_ELSEWHERE:
        return result
    asked = result.asked
    leader = current_leader(broker, asked.topic or asked.topic_id, asked.index)
    return result._replace(leader=leader)


def _encode(
    version: int,
    session_id: int,
    results: Sequence[FetchResult],
    leaders: Sequence[NodeAddress],
) -> EncodedBody | LongBody:
    sizes = [result.size for result in results if result.size]
    is_long = is_better_sent_directly(sum(sizes), len(sizes))
    encode = encode_long_fetch_response if is_long else encode_fetch_response
    return encode(version, error=0, session_id=session_id, results=results, leaders=leaders)


def _checked(broker: Broker, result: FetchResult) -> FetchResult:
    """Reading failed while the answer was written: whose bytes cannot be read is told so, the others are served."""
    try:
        if result.records is not None:
            result.records.read()
    except OSError as e:
        return FetchResult(result.asked, find_partition(broker, result.asked).failed(e).code)
    return result
