"""Fetches ahead of its consumer: one request per broker on its way, and what it brought kept until it is taken.

A partition is asked for only when nothing of it is waiting to be taken. What comes back for a position that has been
left meanwhile, by a seek or a rebalance, is dropped.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator

from klamm.base.errors import ApiError, ErrorCode
from klamm.base.ids import TopicPartition
from klamm.client.cluster import Cluster
from klamm.client.consumer.completed_fetch import Fetched
from klamm.client.consumer.fetch_request import fetch_request, highest_version, parts_of
from klamm.client.consumer.settings import ConsumerSettings
from klamm.client.consumer.state import Assignment, PartitionState
from klamm.client.errors import NoOffset, check, error_of
from klamm.protocol.messages.fetch import FetchResponse, PartitionData
from klamm.protocol.records.batch import BatchHeader
from klamm.protocol.records.reader import Record

Wanted = dict[TopicPartition, PartitionState]


class Fetcher:
    """`run` is a task of the consumer's; `arrived` is called when there is something to take or to raise."""

    def __init__(
        self,
        cluster: Cluster,
        settings: ConsumerSettings,
        assignment: Assignment,
        arrived: Callable[[], None],
    ) -> None:
        self._cluster = cluster
        self._settings = settings
        self._assignment = assignment
        self._arrived = arrived
        self._fetched: dict[TopicPartition, Fetched] = {}
        self._asking: set[int] = set()
        self._failure: ApiError | None = None
        self._woken = asyncio.Event()
        self._is_refreshing = False
        self._group: asyncio.TaskGroup

    def wake(self) -> None:
        """Positions, pauses or the assignment may have changed."""
        self._woken.set()

    async def run(self) -> None:
        async with asyncio.TaskGroup() as group:
            self._group = group
            while True:
                self._woken.clear()
                self._step()
                await self._woken.wait()

    # Taking.

    def take(self, most: int) -> Iterator[tuple[TopicPartition, BatchHeader, Record]]:
        """Up to so many records. Positions move over what is taken."""
        self._raise_failure()
        for partition, fetched in list(self._fetched.items()):
            if most <= 0:
                break
            state = self._assignment.get(partition)
            if state is None or state.position != fetched.next_offset:
                del self._fetched[partition]
                continue
            if not state.is_fetchable:
                continue
            taken = self._take_from(fetched, state, most)
            most -= len(taken)
            for header, record in taken:
                yield partition, header, record

    def _take_from(
        self, fetched: Fetched, state: PartitionState, most: int
    ) -> list[tuple[BatchHeader, Record]]:
        taken = fetched.take(most)
        state.position = fetched.next_offset
        if fetched.leader_epoch >= 0:
            state.leader_epoch = fetched.leader_epoch
        if fetched.is_over:
            del self._fetched[fetched.partition]
        return taken

    def _raise_failure(self) -> None:
        failure, self._failure = self._failure, None
        if failure is not None:
            raise failure

    # Fetching.

    def _step(self) -> None:
        by_node: dict[int, Wanted] = {}
        is_leader_missing = False
        for partition, state in self._assignment.fetchable():
            fetched = self._fetched.get(partition)
            if fetched is not None and fetched.next_offset == state.position:
                continue
            node = self._node_for(partition, state)
            if node is None:
                is_leader_missing = True
            elif node not in self._asking:
                by_node.setdefault(node, {})[partition] = state
        for node, wanted in by_node.items():
            self._asking.add(node)
            self._group.create_task(self._fetch(node, wanted))
        if is_leader_missing and not self._is_refreshing:
            self._is_refreshing = True
            self._group.create_task(self._refresh())

    def _node_for(self, partition: TopicPartition, state: PartitionState) -> int | None:
        view = self._cluster.view.partition(partition)
        if view is None or view.leader is None:
            return None
        if state.read_replica is not None and state.read_replica in self._cluster.view.nodes:
            return state.read_replica
        return view.leader if view.leader in self._cluster.view.nodes else None

    async def _refresh(self) -> None:
        try:
            await self._cluster.refresh_quietly({p.topic for p in self._assignment})
            await self._pause()
        finally:
            self._is_refreshing = False
            self.wake()

    async def _fetch(self, node: int, wanted: Wanted) -> None:
        view = self._cluster.view
        asked = {partition: state.position for partition, state in wanted.items()}
        request = fetch_request(wanted, view, self._settings)
        try:
            answer = await self._cluster.ask(
                node,
                request,
                FetchResponse,
                lane="fetch",
                timeout_ms=self._settings.request_timeout_ms + self._settings.fetch_max_wait_ms,
                at_most=highest_version(wanted, view),
            )
            check(answer.error_code)
            is_stale = False
            for partition, part in parts_of(answer, view):
                state = self._assignment.get(partition)
                if state is not None and partition in asked and state.position == asked[partition]:
                    is_moved = bool(answer.node_endpoints) and self._cluster.learn_leader(
                        partition, part.current_leader, answer.node_endpoints
                    )
                    if not is_moved:
                        is_stale |= self._absorb(partition, state, part)
            if is_stale:
                await self._recover(wanted)
        except ApiError as e:
            if not e.code.retriable:
                self._fail(e)
            await self._recover(wanted)
        finally:
            self._asking.discard(node)
            self.wake()

    async def _recover(self, wanted: Wanted) -> None:
        for state in wanted.values():
            state.read_replica = None
        await self._cluster.refresh_quietly({p.topic for p in wanted})
        await self._pause()

    async def _pause(self) -> None:
        await asyncio.sleep(self._cluster.retry_delay_ms(0) / 1000)

    def _absorb(
        self, partition: TopicPartition, state: PartitionState, part: PartitionData
    ) -> bool:
        """Keep what came of one partition. True if metadata must be looked at again before the next try."""
        assert state.position is not None
        if part.error_code:
            return self._handle_error(partition, state, error_of(part.error_code))
        if part.diverging_epoch.end_offset >= 0:
            self._truncate(partition, state, part)
            return False
        state.high_watermark = part.high_watermark
        state.last_stable_offset = part.last_stable_offset
        if part.preferred_read_replica >= 0:
            state.read_replica = part.preferred_read_replica
        if part.records:
            self._fetched[partition] = Fetched(
                partition,
                state.position,
                part.records,
                aborted=(part.aborted_transactions or ())
                if self._settings.read_committed
                else None,
                check_crcs=self._settings.check_crcs,
            )
            self._arrived()
        return False

    def _handle_error(
        self, partition: TopicPartition, state: PartitionState, error: ApiError
    ) -> bool:
        if error.code == ErrorCode.OFFSET_OUT_OF_RANGE:
            if state.read_replica is not None:
                # The replica may lag behind; the leader knows better.
                state.read_replica = None
                return True
            self._lose_position(partition, state)
            return False
        if not error.code.retriable:
            self._fail(ApiError(error.code, f"{partition}: {error.message}"))
        return True

    def _lose_position(self, partition: TopicPartition, state: PartitionState) -> None:
        if self._settings.auto_offset_reset == "none":
            self._fail(NoOffset({partition: state.position}))
            return
        state.reset_to(self._settings.auto_offset_reset)
        self._arrived()

    def _truncate(
        self, partition: TopicPartition, state: PartitionState, part: PartitionData
    ) -> None:
        """The log was cut behind us: go back to where it parted from what we read (KIP-320)."""
        if self._settings.auto_offset_reset == "none":
            self._fail(NoOffset({partition: state.position}))
            return
        end = part.diverging_epoch
        state.seek(min(state.position or 0, end.end_offset), end.epoch)

    def _fail(self, error: ApiError) -> None:
        self._failure = error
        self._arrived()
