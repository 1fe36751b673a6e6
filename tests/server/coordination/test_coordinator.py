"""The shell around shards: who asks is answered, now or later; a shard is as old as its log; a failed write forgets it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from queue import Queue
from typing import Any

import pytest

from coordinator.counting import FRAMING, Counting
from klamm.base.errors import ApiError, ErrorCode
from klamm.coordinator.shard import Producer
from klamm.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from klamm.protocol.records.batch import Codec
from klamm.server.coordination.coordinator import Coordinator
from klamm.server.coordination.loading import Topic
from server.running_node import RunningNode
from support.patience import eventually

TOPIC = Topic("counting", FRAMING, Codec.NONE, read_at_once=1 << 16, write_timeout_ms=5_000)


class Counted:
    """A coordinator of counters on a real node, asked from the test's thread."""

    def __init__(self, data: Path) -> None:
        self.node = RunningNode(data)
        self.broker = self.node.node.broker
        if "counting" not in self.broker.image.topics_by_name:
            topic = CreatableTopic(name="counting", num_partitions=2, replication_factor=1)
            self.node.run(self.broker.quorum.controller.ask(CreateTopicsRequest(topics=[topic])))
        self.coordinator = Coordinator(self.broker, TOPIC, lambda index: Counting())
        self.node.call(lambda: self.coordinator.follow(self.broker.image))

    def tell(self, name: str, decide: Any) -> Any:
        answers: Queue[Any] = Queue()
        self.node.call(lambda: self.coordinator.tell(name, decide, answers.put))
        return answers.get(timeout=10)

    def add(self, name: str) -> Any:
        return self.tell(name, lambda shard, token: shard.add(name, token))

    def count(self, name: str) -> Any:
        return self.tell(name, lambda shard, token: shard.count(name, token))

    def stop(self) -> None:
        self.node.run(self.coordinator.close())
        self.node.stop()


@pytest.fixture
def counted(tmp_path: Path) -> Iterator[Counted]:
    counted = Counted(tmp_path)
    yield counted
    counted.stop()


def test_a_name_has_its_shard_and_its_answer(counted: Counted) -> None:
    assert [counted.add("a"), counted.add("a"), counted.add("b")] == [1, 2, 1]
    assert counted.count("a") == 2


def test_what_a_shard_refuses_is_told_to_who_asked(counted: Counted) -> None:
    refused = counted.tell("a", lambda shard, token: shard.add("refused", token))
    assert refused.code == ErrorCode.INVALID_REQUEST


def test_who_waits_is_answered_when_the_deadline_comes(counted: Counted) -> None:
    counted.add("a")
    soon = counted.broker.clock.monotonic() + 20
    assert counted.tell("a", lambda shard, token: shard.wait(token, soon)) == 1


def test_a_shard_is_loaded_from_its_log(tmp_path: Path) -> None:
    first = Counted(tmp_path)
    for name in ["a", "b", "a", "c"]:
        first.add(name)
    first.stop()
    second = Counted(tmp_path)
    try:
        eventually(lambda: not second.node.call(lambda: second.coordinator.is_loading))
        assert [second.count(name) for name in "abc"] == [2, 1, 1]
    finally:
        second.stop()


def test_records_of_a_transaction_are_loaded_with_their_producer(tmp_path: Path) -> None:
    producer = Producer(4, 1)
    first = Counted(tmp_path)
    first.tell("a", lambda shard, token: shard.add("a", token, producer))
    first.stop()
    second = Counted(tmp_path)
    try:
        eventually(lambda: not second.node.call(lambda: second.coordinator.is_loading))
        shards = second.node.call(second.coordinator.shards)
        assert [seen for shard in shards for seen in shard.seen] == [("a", 0, producer)]
    finally:
        second.stop()


def test_a_record_that_cannot_be_written_fails_all_who_wait_and_the_shard_is_loaded_anew(
    counted: Counted,
) -> None:
    counted.add("a")
    far = counted.broker.clock.monotonic() + 60_000
    answers: Queue[Any] = Queue()
    counted.node.call(
        lambda: counted.coordinator.tell("a", lambda s, token: s.wait(token, far), answers.put)
    )
    too_long = "a" * 2_000_000
    error = counted.tell("a", lambda shard, token: shard.add(too_long, token))
    assert isinstance(error, ApiError)
    assert error.code == ErrorCode.UNKNOWN_SERVER_ERROR
    assert answers.get(timeout=10).code == ErrorCode.NOT_COORDINATOR
    eventually(lambda: not counted.node.call(lambda: counted.coordinator.is_loading))
    assert counted.count("a") == 1


def test_a_failed_write_is_told_once(counted: Counted) -> None:
    answers: Queue[Any] = Queue()
    too_long = "a" * 2_000_000
    counted.node.call(
        lambda: counted.coordinator.tell(
            "a", lambda shard, token: shard.add(too_long, token), answers.put
        )
    )
    assert isinstance(answers.get(timeout=10), ApiError)
    assert answers.empty()


def test_a_deleted_topic_takes_its_shards_with_it(counted: Counted) -> None:
    counted.add("a")
    shard = counted.node.call(lambda: counted.coordinator.shard("a"))
    image = counted.broker.image
    without = type(image)(cluster_id=image.cluster_id)
    counted.node.call(lambda: counted.coordinator.follow(without))
    assert not shard.counts, "who kept the shard sees that it is gone"
    assert counted.add("a").code == ErrorCode.NOT_COORDINATOR


async def turns() -> None:
    """Some, of the loop."""
    for _ in range(10):
        await asyncio.sleep(0)


def test_a_load_that_was_begun_anew_is_given_up_when_the_leadership_is_gone(
    counted: Counted, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two changes of leaders while a long log is read: nobody may go on with what was read."""
    counted.add("a")
    coordinator = counted.coordinator
    index = coordinator.partition_of("a")

    async def story() -> tuple[bool, list[int]]:
        may_end = asyncio.Event()

        async def load(*_: object) -> None:
            await may_end.wait()

        monkeypatch.setattr("klamm.server.coordination.loading.load", load)
        coordinator._reload(index)
        await turns()
        coordinator._reload(index)
        await turns()
        is_loading = coordinator.is_loading
        coordinator._unload(index)
        may_end.set()
        await turns()
        return is_loading, coordinator.indexes

    is_loading, loaded = counted.node.run(story())

    assert is_loading
    assert index not in loaded
