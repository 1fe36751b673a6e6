"""Append, replay, and hold replies until what they saw is committed."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from coordinator.counting import Counting
from klamm.base.errors import ApiError, ErrorCode
from klamm.coordinator.records.framing import CoordinatorRecord
from klamm.coordinator.runtime import Runtime
from klamm.coordinator.shard import Producer


class Writer:
    """A partition with followers, who have as much as the test says."""

    def __init__(self) -> None:
        self.end_offset = self.high_watermark = 0
        self.is_alone = True
        self.fails = False

    def append(
        self, records: Sequence[CoordinatorRecord], producer: Producer | None, now: int
    ) -> int:
        if self.fails:
            raise ApiError(ErrorCode.NOT_LEADER_OR_FOLLOWER)
        first = self.end_offset
        self.end_offset += len(records)
        if self.is_alone:
            self.high_watermark = self.end_offset
        return first


@pytest.fixture
def writer() -> Writer:
    return Writer()


@pytest.fixture
def runtime(writer: Writer) -> Runtime[Counting]:
    return Runtime(Counting(), writer)


def test_a_reply_comes_at_once_where_nobody_else_must_have_the_record(
    runtime: Runtime[Counting],
) -> None:
    assert list(runtime.run(lambda shard: shard.add("a", 7), now=0)) == [(7, 1)]
    assert runtime.shard.counts == {"a": 1}


def test_replay_hears_the_offset_and_the_producer(runtime: Runtime[Counting]) -> None:
    runtime.run(lambda shard: shard.add("a", 1), now=0)
    runtime.run(lambda shard: shard.add("b", 2, Producer(9, 3)), now=0)
    assert runtime.shard.seen == [("a", 0, None), ("b", 1, Producer(9, 3))]


def test_a_reply_waits_until_its_record_is_committed(
    runtime: Runtime[Counting], writer: Writer
) -> None:
    writer.is_alone = False
    assert list(runtime.run(lambda shard: shard.add("a", 7), now=0)) == []
    assert list(runtime.committed()) == []
    writer.high_watermark = 1
    assert list(runtime.committed()) == [(7, 1)]
    assert list(runtime.committed()) == []


def test_a_read_waits_for_what_it_saw(runtime: Runtime[Counting], writer: Writer) -> None:
    writer.is_alone = False
    runtime.run(lambda shard: shard.add("a", 1), now=0)
    assert list(runtime.run(lambda shard: shard.count("a", 2), now=0)) == []
    writer.high_watermark = 1
    assert list(runtime.committed()) == [(1, 1), (2, 1)]


def test_replies_keep_their_order_as_the_high_watermark_rises(
    runtime: Runtime[Counting], writer: Writer
) -> None:
    writer.is_alone = False
    for token in (1, 2, 3):
        runtime.run(lambda shard, token=token: shard.add("a", token), now=0)
    writer.high_watermark = 2
    assert list(runtime.committed()) == [(1, 1), (2, 2)]
    writer.high_watermark = 3
    assert list(runtime.committed()) == [(3, 3)]


def test_nothing_is_replayed_if_the_append_fails(
    runtime: Runtime[Counting], writer: Writer
) -> None:
    writer.fails = True
    with pytest.raises(ApiError):
        runtime.run(lambda shard: shard.add("a", 1), now=0)
    assert runtime.shard.counts == {}


def test_what_the_shard_refuses_is_raised_and_writes_nothing(
    runtime: Runtime[Counting], writer: Writer
) -> None:
    with pytest.raises(ApiError):
        runtime.run(lambda shard: shard.add("refused", 1), now=0)
    assert writer.end_offset == 0
