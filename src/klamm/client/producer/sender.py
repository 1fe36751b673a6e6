"""Takes batches that are due to their leaders, and brings back what the brokers said.

One task decides what goes out next; each request then has a task that waits for its answer. A request is written in the
same breath in which its batches are taken, so batches of a partition reach the broker in order.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable
from contextlib import suppress

from klamm.base.errors import ApiError, ErrorCode
from klamm.base.ids import ZERO_UUID, TopicPartition
from klamm.client.cluster import Cluster
from klamm.client.connection import Connection
from klamm.client.errors import ConnectionLost, TimedOut, check, error_of
from klamm.client.producer.accumulator import Accumulator
from klamm.client.producer.batch import Batch, ProducerId
from klamm.client.producer.produce import outcomes, produce_request
from klamm.client.producer.sequences import Sequences
from klamm.client.producer.settings import ProducerSettings
from klamm.client.producer.transactions import PRODUCE_BEFORE_V2, Transactions
from klamm.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from klamm.protocol.messages.produce import PartitionProduceResponse, ProduceResponse

# The last version that names topics; brokers that give topics no ids do not know the next one.
_PRODUCE_BY_NAME = 12
# Errors that leave open whether the broker has the batch.
_OUTCOME_UNKNOWN = frozenset(
    {
        ErrorCode.NETWORK_EXCEPTION,
        ErrorCode.REQUEST_TIMED_OUT,
        ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
        ErrorCode.UNKNOWN_SERVER_ERROR,
    }
)
_IDLE_SECONDS = 60.0


class Sender:
    """`run` is a task of the producer's; `wake` tells it that there may be something to do."""

    def __init__(
        self,
        cluster: Cluster,
        settings: ProducerSettings,
        accumulator: Accumulator,
        *,
        sequences: Sequences,
        transactions: Transactions | None,
        finished: Callable[[Batch], None],
    ) -> None:
        self._cluster = cluster
        self._settings = settings
        self._accumulator = accumulator
        self._sequences = sequences
        self._transactions = transactions
        self._finished = finished
        self._woken = asyncio.Event()
        self._in_flight: dict[int, int] = {}
        # Partitions with a batch on its way: without sequences, a second one could overtake it.
        self._busy: set[TopicPartition] = set()
        self._errands: set[str] = set()
        self._refresh_wanted: set[str] = set()
        self._group: asyncio.TaskGroup

    def wake(self) -> None:
        self._woken.set()

    async def run(self) -> None:
        """Until it is cancelled."""
        async with asyncio.TaskGroup() as group:
            self._group = group
            while True:
                self._step()
                await self._sleep()

    async def _sleep(self) -> None:
        now = self._now()
        due = self._accumulator.next_due(now)
        with suppress(TimeoutError):
            async with asyncio.timeout(_IDLE_SECONDS if due is None else due - now):
                await self._woken.wait()
        self._woken.clear()

    def _step(self) -> None:
        now = self._now()
        for batch in self._accumulator.expired(now):
            self._give_up(batch, TimedOut("it could not be delivered in time"), is_known=False)
        failure = self._transactions.failure if self._transactions is not None else None
        if failure is not None:
            self.drop_unsent(failure)
        if self._settings.is_idempotent and self._sequences.needs_new_id:
            if self._transactions is None:
                self._errand("id", self._obtain_id)
            return
        by_leader: dict[int, list[TopicPartition]] = {}
        for partition in self._accumulator.due(now):
            leader = self._leader_of(partition)
            if leader is not None and self._may_send(partition):
                by_leader.setdefault(leader, []).append(partition)
        for leader, partitions in by_leader.items():
            self._serve(leader, partitions)
        if self._transactions is not None and self._transactions.has_partitions_to_add:
            self._errand("add partitions", self._transactions.add_partitions)
        if self._refresh_wanted:
            self._errand("metadata", self._refresh)

    def _leader_of(self, partition: TopicPartition) -> int | None:
        view = self._cluster.view.partition(partition)
        if view is None or view.leader is None or view.leader not in self._cluster.view.nodes:
            self._refresh_wanted.add(partition.topic)
            return None
        return view.leader

    def _may_send(self, partition: TopicPartition) -> bool:
        batch = self._accumulator.first(partition)
        if not self._settings.is_idempotent:
            return partition not in self._busy
        if self._transactions is not None and not self._transactions.admits(partition):
            return False
        return self._sequences.may_send(batch)

    def _serve(self, leader: int, partitions: list[TopicPartition]) -> None:
        if self._in_flight.get(leader, 0) >= self._settings.max_in_flight:
            return
        connection = self._cluster.open_connection(leader)
        if connection is None:
            self._errand(f"connect {leader}", lambda: self._connect(leader, partitions))
            return
        batches: list[Batch] = []
        size = 0
        # Not always the same first: a request has room for only so many.
        self._cluster.environment.rng.shuffle(partitions)
        for partition in partitions:
            first = self._accumulator.first(partition)
            if batches and size + first.size > self._settings.max_request_bytes:
                continue
            size += first.size
            batches.append(self._accumulator.pop(partition))
        self._send(leader, connection, batches)
        # A partition may have more than one batch that is due.
        self.wake()

    def _send(self, leader: int, connection: Connection, batches: list[Batch]) -> None:
        for batch in batches:
            self._busy.add(batch.partition)
            if self._settings.is_idempotent:
                self._sequences.sent(batch)
        view = self._cluster.view
        request = produce_request(batches, view, self._settings)
        at_most = self._highest_version(batches)
        try:
            if self._settings.acks == 0:
                connection.send_unanswered(request, at_most=at_most)
                self._answered(batches, None)
                return
            answer = connection.send(request, ProduceResponse, at_most=at_most)
        except ApiError as e:
            self._failed(batches, e)
            return
        self._in_flight[leader] = self._in_flight.get(leader, 0) + 1
        self._group.create_task(self._await(leader, connection, answer, batches))

    def _highest_version(self, batches: Iterable[Batch]) -> int | None:
        if self._transactions is not None and not self._transactions.is_version_2:
            return PRODUCE_BEFORE_V2
        topics = self._cluster.view.topics
        has_ids = all(topics[b.partition.topic].topic_id != ZERO_UUID for b in batches)
        return None if has_ids else _PRODUCE_BY_NAME

    async def _await(
        self,
        leader: int,
        connection: Connection,
        answer: asyncio.Future[ProduceResponse],
        batches: list[Batch],
    ) -> None:
        try:
            # The broker may wait as long for its replicas, and then has to say so.
            async with asyncio.timeout(self._settings.request_timeout_ms * 1.5 / 1000):
                response = await answer
        except ApiError as e:
            self._failed(batches, e)
        except TimeoutError:
            error = TimedOut(f"broker {leader} did not answer in time")
            connection.abort(error)
            self._failed(batches, error)
        else:
            self._answered(batches, response)
        finally:
            self._in_flight[leader] -= 1
            self.wake()

    def _answered(self, batches: list[Batch], response: ProduceResponse | None) -> None:
        found = outcomes(response, self._cluster.view) if response is not None else {}
        for batch in batches:
            self._back(batch)
            outcome = found.get(batch.partition)
            if response is None:
                self._succeed(batch, None)
            elif outcome is None:
                self._fail(batch, ConnectionLost("the answer does not mention the partition"))
            elif outcome.error_code:
                is_led_elsewhere = response.node_endpoints and self._cluster.learn_leader(
                    batch.partition, outcome.current_leader, response.node_endpoints
                )
                if is_led_elsewhere:
                    self._resend(batch)
                    continue
                self._fail(batch, error_of(outcome.error_code, outcome.error_message))
            else:
                self._succeed(batch, outcome)

    def _failed(self, batches: list[Batch], error: ApiError) -> None:
        for batch in batches:
            self._back(batch)
            self._fail(batch, error)

    def _back(self, batch: Batch) -> None:
        self._busy.discard(batch.partition)
        if self._settings.is_idempotent:
            self._sequences.returned(batch)

    # The fate of one batch.

    def _succeed(self, batch: Batch, outcome: PartitionProduceResponse | None) -> None:
        if self._settings.is_idempotent:
            self._sequences.acked(batch)
        base_offset = append_time = None
        if outcome is not None:
            base_offset = outcome.base_offset if outcome.base_offset >= 0 else None
            append_time = outcome.log_append_time_ms if outcome.log_append_time_ms >= 0 else None
        batch.succeed(base_offset, append_time)
        self._finished(batch)

    def _fail(self, batch: Batch, error: ApiError) -> None:
        code = error.code
        if code == ErrorCode.DUPLICATE_SEQUENCE_NUMBER:
            self._succeed(batch, None)
        elif code == ErrorCode.MESSAGE_TOO_LARGE and batch.count > 1:
            self._split(batch)
        elif self._is_worth_another_try(batch, code):
            self._retry(batch, code)
        else:
            self._give_up(batch, error, is_known=code not in _OUTCOME_UNKNOWN)

    def _is_worth_another_try(self, batch: Batch, code: ErrorCode) -> bool:
        if self._settings.is_idempotent:
            if code == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER:
                return self._sequences.out_of_order(batch)
            if code == ErrorCode.UNKNOWN_PRODUCER_ID:
                return self._sequences.unknown_producer(batch)
        return code.retriable

    def _retry(self, batch: Batch, code: ErrorCode) -> None:
        # A batch out of order waits for the one before it, not for the broker to recover.
        is_out_of_order = code == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
        delay_ms = 0 if is_out_of_order else self._cluster.retry_delay_ms(batch.attempts)
        batch.attempts += 1
        batch.retry_at = self._now() + delay_ms / 1000
        if not is_out_of_order:
            self._refresh_wanted.add(batch.partition.topic)
        self._accumulator.put_back(batch)
        self.wake()

    def _resend(self, batch: Batch) -> None:
        """At once, to the leader that the answer named."""
        batch.attempts += 1
        batch.retry_at = self._now()
        self._accumulator.put_back(batch)

    def _split(self, batch: Batch) -> None:
        parts = batch.split()
        if self._settings.is_idempotent:
            self._sequences.replaced(batch, parts)
        for part in reversed(parts):
            self._accumulator.put_back(part)

    def _give_up(self, batch: Batch, error: ApiError, *, is_known: bool) -> None:
        if self._settings.is_idempotent:
            self._sequences.failed(batch, is_known=is_known)
        if self._transactions is not None:
            self._transactions.batch_failed(error)
        batch.fail(error)
        if self._transactions is not None:
            batch.hush()
        self._finished(batch)

    def drop_unsent(self, error: ApiError) -> None:
        """Fail what waits to be sent, and leave what is on its way."""
        for batch in self._accumulator.take_all():
            self._give_up(batch, error, is_known=not batch.has_sequence)

    # Errands: one of each kind at a time, beside the sending.

    def _errand(self, name: str, run: Callable[[], Coroutine[object, object, None]]) -> None:
        if name not in self._errands:
            self._errands.add(name)
            self._group.create_task(self._run_errand(name, run))

    async def _run_errand(
        self, name: str, run: Callable[[], Coroutine[object, object, None]]
    ) -> None:
        try:
            await run()
        finally:
            self._errands.discard(name)
            self.wake()

    async def _connect(self, leader: int, partitions: list[TopicPartition]) -> None:
        try:
            await self._cluster.connection(leader)
        except ApiError:
            # Perhaps the broker is gone and somebody else leads.
            await asyncio.sleep(self._cluster.retry_delay_ms(0) / 1000)
            self._refresh_wanted.update(p.topic for p in partitions)

    async def _refresh(self) -> None:
        topics, self._refresh_wanted = self._refresh_wanted, set()
        try:
            await self._cluster.refresh(topics)
            has_failed = False
        except ApiError:
            self._refresh_wanted |= topics
            has_failed = True
        waiting = (batch.partition for batch in self._accumulator.batches())
        if has_failed or any(self._leader_of(partition) is None for partition in waiting):
            await asyncio.sleep(self._cluster.retry_delay_ms(0) / 1000)

    async def _obtain_id(self) -> None:
        async def ask() -> InitProducerIdResponse:
            request = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=-1)
            answer = await self._cluster.ask_any(request, InitProducerIdResponse)
            check(answer.error_code)
            return answer

        try:
            answer = await self._cluster.persist(ask)
        except ApiError as e:
            if not e.code.retriable:
                self.drop_unsent(e)
            return
        self._sequences.begin(ProducerId(answer.producer_id, answer.producer_epoch))

    def _now(self) -> float:
        return asyncio.get_running_loop().time()
