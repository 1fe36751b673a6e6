"""Append, replay, and hold replies until what they saw is committed."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from coordinator.counting import Counting
from klamm.base.clock import Now
from klamm.base.errors import ApiError, ErrorCode
from klamm.coordinator.records.framing import CoordinatorRecord
from klamm.coordinator.runtime import Runtime
from klamm.coordinator.shard import Outcome, Producer

TIMEOUT = 5_000
BEGIN = Now(0, 0)


class Writer:
    """A partition with followers, who have as much as the test says."""

    def __init__(self) -> None:
        self.end_offset = self.high_watermark = 0
        self.is_alone = True
        self.is_open = True
        self.fails = False

    @property
    def commits_at_once(self) -> bool:
        return self.is_alone

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
    return Runtime(Counting(), writer, TIMEOUT)


def run(
    runtime: Runtime[Counting], decide: Callable[[Counting], Outcome], now: Now = BEGIN
) -> list[tuple[int, object]]:
    return list(runtime.carry_out(decide(runtime.shard), now))


def test_a_reply_comes_at_once_where_nobody_else_must_have_the_record(
    runtime: Runtime[Counting],
) -> None:
    assert run(runtime, lambda shard: shard.add("a", 7)) == [(7, 1)]
    assert runtime.shard.counts == {"a": 1}


def test_replay_hears_the_offset_and_the_producer(runtime: Runtime[Counting]) -> None:
    run(runtime, lambda shard: shard.add("a", 1))
    run(runtime, lambda shard: shard.add("b", 2, Producer(9, 3)))
    assert runtime.shard.seen == [("a", 0, None), ("b", 1, Producer(9, 3))]


def test_a_reply_waits_until_its_record_is_committed(
    runtime: Runtime[Counting], writer: Writer
) -> None:
    writer.is_alone = False
    assert run(runtime, lambda shard: shard.add("a", 7)) == []
    assert list(runtime.committed()) == []
    writer.high_watermark = 1
    assert list(runtime.committed()) == [(7, 1)]
    assert list(runtime.committed()) == []


def test_a_read_waits_for_what_it_saw(runtime: Runtime[Counting], writer: Writer) -> None:
    writer.is_alone = False
    run(runtime, lambda shard: shard.add("a", 1))
    assert run(runtime, lambda shard: shard.count("a", 2)) == []
    writer.high_watermark = 1
    assert list(runtime.committed()) == [(1, 1), (2, 1)]


def test_replies_keep_their_order_as_the_high_watermark_rises(
    runtime: Runtime[Counting], writer: Writer
) -> None:
    writer.is_alone = False
    for token in (1, 2, 3):
        run(runtime, lambda shard, token=token: shard.add("a", token))
    writer.high_watermark = 2
    assert list(runtime.committed()) == [(1, 1), (2, 2)]
    writer.high_watermark = 3
    assert list(runtime.committed()) == [(3, 3)]


def test_nothing_is_replayed_if_the_append_fails(
    runtime: Runtime[Counting], writer: Writer
) -> None:
    writer.fails = True
    with pytest.raises(ApiError):
        run(runtime, lambda shard: shard.add("a", 1))
    assert runtime.shard.counts == {}


def test_what_the_shard_refuses_is_raised_and_writes_nothing(
    runtime: Runtime[Counting], writer: Writer
) -> None:
    with pytest.raises(ApiError):
        run(runtime, lambda shard: shard.add("refused", 1))
    assert writer.end_offset == 0


def test_a_reply_that_waits_for_too_long_is_given_up_and_what_was_written_stands(
    runtime: Runtime[Counting], writer: Writer
) -> None:
    writer.is_alone = False
    run(runtime, lambda shard: shard.add("a", 7), Now(100, 0))
    run(runtime, lambda shard: shard.add("a", 8), Now(200, 0))
    assert runtime.next_deadline == 100 + TIMEOUT
    assert list(runtime.overdue(99 + TIMEOUT)) == []

    assert list(runtime.overdue(100 + TIMEOUT)) == [7]

    assert runtime.shard.counts == {"a": 2}
    writer.high_watermark = 2
    assert list(runtime.committed()) == [(8, 2)]
    assert runtime.next_deadline is None


def test_after_a_reply_was_given_up_a_read_still_waits_for_what_it_saw(
    runtime: Runtime[Counting], writer: Writer
) -> None:
    writer.is_alone = False
    run(runtime, lambda shard: shard.add("a", 7))
    assert list(runtime.overdue(TIMEOUT)) == [7]

    assert run(runtime, lambda shard: shard.count("a", 8)) == []

    writer.high_watermark = 1
    assert list(runtime.committed()) == [(8, 1)]
