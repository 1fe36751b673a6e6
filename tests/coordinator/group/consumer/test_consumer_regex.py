"""Subscriptions by pattern: looked up beside the heartbeat, written down, and looked up again when topics come."""

from __future__ import annotations

import pytest

from coordinator.group.consumer.consumer_room import GROUP, Consumer, Room, RoomWithout, error_of
from klamm.base.errors import ErrorCode
from klamm.coordinator.group.consumer.records import ResolvedRegex
from klamm.coordinator.group.consumer.regex import check_regex, matching
from klamm.coordinator.records import consumer_group as kinds
from klamm.coordinator.records.framing import CoordinatorRecord

PAUSE = 10_001
REFRESH = 600_000


def beat_for(room: Room, ms: int, *consumers: Consumer) -> None:
    for _ in range(ms // 5_000 + 1):
        room.advance(5_000)
        for each in consumers:
            each.beat()


# The engine.


def test_a_pattern_matches_whole_names() -> None:
    assert matching("ab+", ["ab", "abb", "xab", "abx"]) == {"ab", "abb"}


@pytest.mark.parametrize("pattern", ["(", "*", "[z-a]", r"(a)\1", "(?=a)", "a{1001}", "(?<n>a"])
def test_what_re2_cannot_match_in_linear_time_or_read_is_refused(pattern: str) -> None:
    assert error_of(lambda: check_regex(pattern)) is ErrorCode.INVALID_REGULAR_EXPRESSION


def test_a_pattern_that_makes_others_backtrack_for_ever_ends_at_once() -> None:
    assert matching("(a+)+b", ["a" * 249]) == frozenset()


# The group.


def test_a_pattern_that_is_not_one_is_refused_and_nothing_is_written() -> None:
    room = Room()

    refused = ErrorCode.INVALID_REGULAR_EXPRESSION
    assert error_of(lambda: room.join("ann", None, regex="(")) is refused
    assert room.log == []
    assert ("consumer", "regex", GROUP) not in room.shard.deadlines


def test_the_first_heartbeat_does_not_wait_for_the_topics_and_the_next_gets_them() -> None:
    room = Room({"ta": 1, "tb": 1, "x": 1})

    first = room.join("ann", None, regex="t.*")
    room.advance(0)
    second = room.heartbeat("ann", first.member_epoch)

    assert (first.member_epoch, second.member_epoch) == (1, 2)
    assert first.assignment is not None
    assert first.assignment.topic_partitions == []
    assert room.owned("ann") == {("ta", 0), ("tb", 0)}


def test_a_pattern_that_matches_more_than_can_be_written_matches_nothing() -> None:
    room = Room({"t1": 1, "t2": 1})
    room.shard.limit(RoomWithout(kinds.ConsumerGroupRegularExpressionKey))

    first = room.join("ann", None, regex="t.*")
    room.advance(0)
    room.heartbeat("ann", first.member_epoch)

    assert room.group.resolved == {}
    assert room.owned("ann") == set()


def test_what_a_pattern_matched_is_written_with_the_groups_new_epoch() -> None:
    room = Room({"ta": 1})
    room.join("ann", None, regex="t.*")

    room.advance(0)

    assert room.batches[1] == [
        CoordinatorRecord(
            kinds.ConsumerGroupRegularExpressionKey(group_id=GROUP, regular_expression="t.*"),
            kinds.ConsumerGroupRegularExpressionValue(
                topics=["ta"], version=room.image.offset, timestamp=room.now
            ),
        ),
        CoordinatorRecord(
            kinds.ConsumerGroupMetadataKey(group_id=GROUP),
            kinds.ConsumerGroupMetadataValue(epoch=2, metadata_hash=room.group.metadata_hash),
        ),
    ]


def test_a_member_with_a_pattern_that_is_known_gets_its_part_at_once() -> None:
    room = Room({"t1": 1, "t2": 1})
    ann = Consumer(room, "ann", (), {"regex": "t.*"})
    ann.join()
    room.advance(0)
    room.settle(ann)

    bob = Consumer(room, "bob", (), {"regex": "t.*"})
    bob.join()
    room.settle(ann, bob)

    assert len(ann.owned) == len(bob.owned) == 1


def test_names_and_patterns_add_up() -> None:
    room = Room({"t1": 1, "x": 1})
    ann = room.consumer("ann", ["x"], regex="t.*")
    room.advance(0)

    room.settle(ann)

    assert ann.owned == {("t1", 0), ("x", 0)}


def test_a_new_topic_is_found_but_no_sooner_than_after_a_pause() -> None:
    room = Room({"t1": 1})
    ann = room.consumer("ann", [], regex="t.*")
    room.advance(0)
    room.settle(ann)

    room.change_topics({"t1": 1, "t2": 1})
    ann.beat()
    room.advance(0)
    room.settle(ann)
    assert ann.owned == {("t1", 0)}

    beat_for(room, PAUSE, ann)
    room.advance(0)
    room.settle(ann)
    assert ann.owned == {("t1", 0), ("t2", 0)}


def test_patterns_are_looked_up_again_from_time_to_time() -> None:
    room = Room({"t1": 1})
    ann = room.consumer("ann", [], regex="t.*")
    room.advance(0)
    room.settle(ann)
    first = room.group.resolved["t.*"].timestamp

    beat_for(room, REFRESH + 5_000, ann)

    assert room.group.resolved["t.*"].timestamp >= first + REFRESH


def test_a_pattern_that_its_last_member_gives_up_is_forgotten() -> None:
    room = Room({"t1": 1, "x1": 1})
    ann = room.consumer("ann", [], regex="t.*")
    room.advance(0)
    room.settle(ann)

    beat_for(room, PAUSE, ann)
    ann.beat(regex="x.*")
    room.advance(0)
    room.settle(ann)

    assert set(room.group.resolved) == {"x.*"}
    assert ann.owned == {("x1", 0)}


def test_a_member_that_goes_from_a_pattern_to_names_gets_them_at_once() -> None:
    room = Room({"t1": 1, "x": 1})
    ann = room.consumer("ann", [], regex="t.*")
    room.advance(0)
    room.settle(ann)

    ann.beat(regex="", topics=["x"])
    room.settle(ann)

    assert room.group.resolved == {}
    assert ann.owned == {("x", 0)}


def test_the_last_member_takes_its_pattern_with_it() -> None:
    room = Room({"t1": 1})
    room.consumer("ann", [], regex="t.*")
    room.advance(0)

    room.leave("ann")

    key = kinds.ConsumerGroupRegularExpressionKey(group_id=GROUP, regular_expression="t.*")
    assert CoordinatorRecord(key) in room.batches[-1]
    assert (room.group.resolved, room.group.metadata_hash) == ({}, 0)


def test_a_pattern_of_another_broker_that_our_engine_cannot_read_matches_nothing() -> None:
    room = Room({"t1": 1})
    ann = room.consumer("ann", [], regex="t.*")
    room.advance(0)
    old = kinds.ConsumerGroupMemberMetadataKey(group_id=GROUP, member_id="bob")
    value = kinds.ConsumerGroupMemberMetadataValue(subscribed_topic_regex="(?=t)")
    room.shard.replay(CoordinatorRecord(old, value), 99, None)

    beat_for(room, PAUSE, ann)
    room.advance(0)

    found = room.group.resolved["(?=t)"]
    assert found == ResolvedRegex(frozenset(), room.image.offset, found.timestamp)


def test_a_group_that_was_loaded_looks_its_patterns_up_again() -> None:
    room = Room({"t1": 1})
    ann = room.consumer("ann", [], regex="t.*")
    room.advance(0)
    room.settle(ann)
    room.now += PAUSE
    room.image = room._image({"t1": 1, "t2": 1})

    room.restart()
    ann.beat()
    room.advance(0)
    room.settle(ann)

    assert ann.owned == {("t1", 0), ("t2", 0)}
