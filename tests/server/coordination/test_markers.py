"""Markers on their way to the leaders of their partitions: batched, tried again, counted when they stand, given up when fenced."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import pytest

from coordinator.transaction.desk import ID, P0, P1, P2, Desk
from klamm.base.errors import ApiError, ErrorCode
from klamm.base.ids import ZERO_UUID, TopicPartition
from klamm.base.settings.broker import build_settings
from klamm.coordinator.shard import Outcome, Producer, Reply
from klamm.coordinator.transaction.states import State
from klamm.metadata.image import BrokerImage, ClusterImage, PartitionImage, TopicImage
from klamm.protocol.messages.write_txn_markers import (
    WritableTxnMarkerPartitionResult,
    WritableTxnMarkerResult,
    WritableTxnMarkerTopicResult,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)
from klamm.server.broker import Broker
from klamm.server.coordination.markers import MarkerWriter
from klamm.testing.clock import ManualClock

HERE, THERE, ELSEWHERE = 1, 2, 3
EPOCH = 5
# Of a marker on this broker.
OFFSET = 41


class Channel:
    """To a broker that answers when the test says so."""

    def __init__(self, host: str, port: int) -> None:
        self.host, self.port = host, port
        self.asked: list[tuple[WriteTxnMarkersRequest, Callable[[Any], None]]] = []

    def send(
        self, request: WriteTxnMarkersRequest, heard: Callable[[Any], None], *, timeout_ms: int
    ) -> None:
        self.asked.append((request, heard))

    def close(self) -> None:
        self.asked.clear()


class Peers:
    def __init__(self) -> None:
        self.channels: dict[int, Channel] = {}

    def address_of(self, broker_id: int) -> tuple[str, int]:
        return "host", broker_id

    def open(self, broker_id: int) -> Channel:
        return self.channels.setdefault(broker_id, Channel("host", broker_id))


class Here:
    """A coordinator with one transaction, P0 led by this broker and the others by whom `leaders` says."""

    def __init__(self, **leaders: int) -> None:
        self.desk = Desk()
        self.peers = Peers()
        self.is_open = True
        self.is_replicated = True
        self.waiting: list[Any] = []
        self.written_here: list[TopicPartition] = []
        self.home = SimpleNamespace(is_leader=True, leader_epoch=EPOCH)
        self.clock = ManualClock()
        self.leaders = {P0: HERE, P1: THERE, P2: THERE}
        self.broker = SimpleNamespace(
            node_id=HERE,
            peers=self.peers,
            clock=self.clock,
            settings=build_settings({}),
            image=ClusterImage(),
            replicas=SimpleNamespace(find=self.find, get=self.get),
            transactions=SimpleNamespace(tell=self.tell, shards=lambda: [self.desk.shard]),
            appended=lambda partition: None,
            await_commit=self.await_commit,
        )
        self.lead(self.leaders)
        self.writer = MarkerWriter(cast(Broker, self.broker))

    def lead(self, leaders: dict[TopicPartition, int]) -> None:
        states = tuple(
            PartitionImage((1, 2, 3), (1, 2, 3), leaders[each], 1, 1) for each in (P0, P1, P2)
        )
        topic = TopicImage("topic", ZERO_UUID, states)
        self.broker.image = replace(
            self.broker.image,
            topics_by_name={"topic": topic},
            brokers={each: BrokerImage(each, each, ZERO_UUID) for each in (1, 2, 3)},
        )

    def find(self, topic: str, index: int) -> Any:
        self.home.high_watermark = self.desk.log.high_watermark
        return self.home

    def get(self, topic: str, index: int) -> Any:
        name = TopicPartition(topic, index)

        def append_marker(*_: object, **__: object) -> Any:
            self.written_here.append(name)
            return SimpleNamespace(base_offset=OFFSET)

        high_watermark = OFFSET + 1 if self.is_replicated else OFFSET
        return SimpleNamespace(append_marker=append_marker, high_watermark=high_watermark)

    def await_commit(self, waiter: Any, ends: list[tuple[Any, int]], timeout_ms: int) -> None:
        assert [end for _, end in ends] == [OFFSET + 1]
        self.waiting.append(waiter)

    def tell(
        self,
        name: str,
        decide: Callable[[Any, int], Outcome],
        answer: Callable[[Reply], None],
    ) -> None:
        if not self.is_open:
            answer(ApiError(ErrorCode.COORDINATOR_NOT_AVAILABLE))
            return
        self.desk.ask(lambda token: decide(self.desk.shard, token))
        answer(True)

    def begin(self, *partitions: TopicPartition) -> Producer:
        producer = self.desk.init()
        self.desk.add(producer, *partitions)
        return producer

    def progress(self) -> None:
        self.writer.progress(0, self.desk.shard)

    async def asked(self, broker_id: int) -> WriteTxnMarkersRequest:
        await asyncio.sleep(0)
        (asked,) = self.peers.channels[broker_id].asked
        return asked[0]

    def answer(self, broker_id: int, code: ErrorCode | None) -> None:
        """None: the connection was lost."""
        request, heard = self.peers.channels[broker_id].asked.pop()
        heard(None if code is None else _response(request, code))

    def is_asked(self, broker_id: int) -> bool:
        channel = self.peers.channels.get(broker_id)
        return channel is not None and bool(channel.asked)


def _response(request: WriteTxnMarkersRequest, code: ErrorCode) -> WriteTxnMarkersResponse:
    return WriteTxnMarkersResponse(
        markers=[
            WritableTxnMarkerResult(
                producer_id=marker.producer_id,
                topics=[
                    WritableTxnMarkerTopicResult(
                        name=topic.name,
                        partitions=[
                            WritableTxnMarkerPartitionResult(partition_index=index, error_code=code)
                            for index in topic.partition_indexes
                        ],
                    )
                    for topic in marker.topics
                ],
            )
            for marker in request.markers
        ]
    )


def run(work: Coroutine[Any, Any, None]) -> None:
    asyncio.run(work)


def test_markers_go_to_each_leader_in_one_request_and_the_last_completes_the_transaction() -> None:
    async def work() -> None:
        here = Here()
        here.desk.end(here.begin(P0, P1, P2), commit=True)

        here.progress()

        request = await here.asked(THERE)
        (marker,) = request.markers
        assert here.written_here == [P0]
        assert (marker.transaction_result, marker.coordinator_epoch) == (True, EPOCH)
        assert [(each.name, each.partition_indexes) for each in marker.topics] == [
            ("topic", [1, 2])
        ]
        assert here.desk.state is State.PREPARE_COMMIT
        here.answer(THERE, ErrorCode.NONE)
        assert here.desk.state is State.COMPLETE_COMMIT

    run(work())


def test_a_marker_counts_when_it_is_replicated() -> None:
    async def work() -> None:
        here = Here()
        here.is_replicated = False
        here.desk.end(here.begin(P0), commit=True)

        here.progress()

        assert here.written_here == [P0]
        assert here.desk.state is State.PREPARE_COMMIT
        (waiter,) = here.waiting
        waiter.heard(None, 0)
        assert here.desk.state is State.COMPLETE_COMMIT

    run(work())


@pytest.mark.parametrize("is_late", [False, True])
def test_a_marker_that_only_its_leader_had_is_written_again(is_late: bool) -> None:
    async def work() -> None:
        here = Here()
        here.is_replicated = False
        here.desk.end(here.begin(P0), commit=True)
        here.progress()
        (waiter,) = here.waiting
        if is_late:
            waiter.timed_out()
        else:
            waiter.heard(None, ErrorCode.NOT_LEADER_OR_FOLLOWER)

        here.lead({**here.leaders, P0: THERE})
        here.writer.follow()

        await here.asked(THERE)
        assert here.desk.state is State.PREPARE_COMMIT
        here.answer(THERE, ErrorCode.NONE)
        assert here.desk.state is State.COMPLETE_COMMIT
        here.writer.close()

    run(work())


@pytest.mark.parametrize(
    "code",
    [
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.NOT_ENOUGH_REPLICAS,
        ErrorCode.REQUEST_TIMED_OUT,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        None,
    ],
)
def test_a_marker_that_was_not_written_is_sent_to_the_new_leader_when_the_metadata_tells_of_it(
    code: ErrorCode | None,
) -> None:
    async def work() -> None:
        here = Here()
        here.desk.end(here.begin(P1), commit=False)
        here.progress()
        await here.asked(THERE)
        here.answer(THERE, code)
        here.progress()
        await asyncio.sleep(0)
        assert not here.is_asked(THERE), "not at once: nothing has changed"

        here.lead({**here.leaders, P1: ELSEWHERE})
        here.writer.follow()

        await here.asked(ELSEWHERE)
        here.answer(ELSEWHERE, ErrorCode.NONE)
        assert here.desk.state is State.COMPLETE_ABORT
        here.writer.close()

    run(work())


def test_a_marker_without_a_leader_waits_for_one() -> None:
    async def work() -> None:
        here = Here()
        here.lead({**here.leaders, P1: -1})
        here.desk.end(here.begin(P0, P1), commit=True)
        here.progress()
        assert here.written_here == [P0]

        here.lead(here.leaders)
        here.writer.follow()

        await here.asked(THERE)
        here.answer(THERE, ErrorCode.NONE)
        assert here.desk.state is State.COMPLETE_COMMIT
        assert here.written_here == [P0], "once"
        here.writer.close()

    run(work())


def test_a_fenced_coordinator_gives_up() -> None:
    async def work() -> None:
        here = Here()
        here.desk.end(here.begin(P1), commit=True)
        here.progress()
        await here.asked(THERE)

        here.answer(THERE, ErrorCode.TRANSACTION_COORDINATOR_FENCED)
        here.writer.follow()
        await asyncio.sleep(0)

        assert not here.is_asked(THERE)
        assert here.desk.state is State.PREPARE_COMMIT

    run(work())


def test_a_partition_that_knows_a_newer_epoch_needs_no_marker() -> None:
    async def work() -> None:
        here = Here()
        here.desk.end(here.begin(P1), commit=True)
        here.progress()
        await here.asked(THERE)

        here.answer(THERE, ErrorCode.INVALID_PRODUCER_EPOCH)

        assert here.desk.state is State.COMPLETE_COMMIT

    run(work())


def test_a_coordinator_that_cannot_write_the_end_down_does_so_later() -> None:
    async def work() -> None:
        here = Here()
        here.desk.end(here.begin(P1), commit=True)
        here.progress()
        await here.asked(THERE)
        here.is_open = False
        here.answer(THERE, ErrorCode.NONE)
        assert here.desk.state is State.PREPARE_COMMIT

        here.is_open = True
        here.writer.follow()

        assert here.desk.state is State.COMPLETE_COMMIT
        await asyncio.sleep(0)
        assert not here.is_asked(THERE), "the marker stands, and is not sent again"
        here.writer.close()

    run(work())


def test_after_a_failover_the_decision_is_found_and_all_its_markers_are_written_again() -> None:
    async def work() -> None:
        here = Here()
        producer = here.begin(P0, P1)
        here.desk.end(producer, commit=True)
        here.progress()
        await here.asked(THERE)
        old, heard = here.peers.channels[THERE].asked.pop()

        here.desk.reload()
        here.progress()
        heard(_response(old, ErrorCode.NONE))
        await asyncio.sleep(0)

        assert here.written_here == [P0, P0]
        if here.is_asked(THERE):
            here.answer(THERE, ErrorCode.NONE)
        assert here.desk.state is State.COMPLETE_COMMIT
        assert here.desk.transaction.transactional_id == ID

    run(work())


def test_decisions_that_come_while_a_request_is_under_way_go_together_in_the_next() -> None:
    async def work() -> None:
        here = Here()
        for name in ("a", "b", "c"):
            producer = here.desk.init(name=name)
            here.desk.add(producer, P1, name=name)
            here.desk.end(producer, commit=True, name=name)
            here.progress()
            await asyncio.sleep(0)
        assert len((await here.asked(THERE)).markers) == 1

        here.answer(THERE, ErrorCode.NONE)

        assert len((await here.asked(THERE)).markers) == 2
        here.answer(THERE, ErrorCode.NONE)
        states = {each.state for each in here.desk.shard.transactions.values()}
        assert states == {State.COMPLETE_COMMIT}

    run(work())
