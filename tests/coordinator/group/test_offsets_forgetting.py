"""Offsets that go: deleted by hand, with their topic, with their group, or with time."""

from __future__ import annotations

import pytest

from coordinator.group.committing import MINUTE, World
from coordinator.room_for import RoomFor
from klamm.base.errors import ApiError, ErrorCode
from klamm.coordinator.group.records import no_group, no_offset
from klamm.coordinator.shard import Producer
from klamm.protocol.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
    OffsetDeleteResponse,
)

ANN = Producer(1, 0)
CHECK = 10 * MINUTE


def a_world() -> World:
    return World(offsets_retention_minutes=60, offsets_retention_check_interval_ms=CHECK)


def delete(world: World, group_id: str, *places: tuple[str, int]) -> list[int]:
    request = OffsetDeleteRequest(
        group_id=group_id,
        topics=[
            OffsetDeleteRequestTopic(
                name=topic, partitions=[OffsetDeleteRequestPartition(partition_index=partition)]
            )
            for topic, partition in places
        ],
    )
    response = world.do(world.shard.offsets.delete(request, token=1))
    assert isinstance(response, OffsetDeleteResponse)
    return [p.error_code for topic in response.topics for p in topic.partitions]


def test_offsets_are_deleted_by_hand() -> None:
    world = a_world()
    world.commit("g", {("t", 0): 1, ("t", 1): 2})

    assert delete(world, "g", ("t", 0), ("t", 2), ("t", 3)) == [
        ErrorCode.NONE,
        ErrorCode.NONE,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ]

    assert world.offsets_of("g") == {("t", 1): 2}
    # Of what was not there nothing is written.
    assert len(world.log) == 3


def test_offsets_of_subscribed_topics_cannot_be_deleted() -> None:
    world = a_world()
    world.a_stable_group("g", {"ann": ("t",)})
    world.commit("g", {("t", 0): 1, ("u", 0): 2}, member="ann", generation=5)

    assert delete(world, "g", ("t", 0), ("u", 0)) == [
        ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC,
        ErrorCode.NONE,
    ]
    assert world.offsets_of("g") == {("t", 0): 1}


@pytest.mark.parametrize(
    ("group_id", "error"),
    [("", ErrorCode.INVALID_GROUP_ID), ("gone", ErrorCode.GROUP_ID_NOT_FOUND)],
)
def test_a_group_that_is_not_there_has_nothing_to_delete(group_id: str, error: ErrorCode) -> None:
    with pytest.raises(ApiError) as refused:
        delete(a_world(), group_id, ("t", 0))
    assert refused.value.code is error


def test_deleting_an_offset_takes_it_from_open_transactions_too() -> None:
    world = a_world()
    world.commit_in_transaction("g", {("t", 0): 5, ("t", 1): 6}, ANN)

    delete(world, "g", ("t", 0))
    world.end(ANN, is_commit=True)

    assert world.offsets_of("g") == {("t", 1): 6}


def test_a_deleted_group_leaves_a_tombstone_for_each_offset() -> None:
    world = a_world()
    world.commit("g", {("t", 0): 1, ("u", 1): 2})
    world.commit_in_transaction("g", {("t", 0): 5, ("t", 2): 6}, ANN)

    assert set(map(str, world.shard.offsets.tombstones("g"))) == set(
        map(str, (no_offset("g", "t", 0), no_offset("g", "u", 1), no_offset("g", "t", 2)))
    )


def test_the_offsets_of_a_deleted_topic_go() -> None:
    world = a_world()
    world.commit("g", {("t", 0): 1, ("u", 0): 2})
    world.commit("h", {("t", 1): 3})
    world.commit_in_transaction("g", {("t", 2): 4}, ANN)

    world.change_topics({"u": 0})

    assert world.offsets_of("g") == {("u", 0): 2}
    assert world.offsets_of("h") == {}
    world.end(ANN, is_commit=True)
    assert world.offsets_of("g") == {("u", 0): 2}


def test_the_offsets_of_a_topic_that_was_made_anew_go() -> None:
    world = a_world()
    world.commit("g", {("t", 0): 1, ("u", 0): 2})

    world.change_topics({"t": 1, "u": 0, "new": 0})

    assert world.offsets_of("g") == {("u", 0): 2}


def test_a_change_that_deletes_no_topic_writes_nothing() -> None:
    world = a_world()
    world.commit("g", {("t", 0): 1})

    assert world.change_topics({"t": 0, "u": 0, "new": 0}).records == ()


def test_offsets_without_members_expire_after_their_commit_and_the_group_with_the_last() -> None:
    world = a_world()
    world.commit("g", {("t", 0): 1})
    world.wake(after=CHECK)
    world.commit("g", {("t", 1): 2})

    for _ in range(5):
        world.wake(after=CHECK)
    assert world.offsets_of("g") == {("t", 1): 2}
    assert "g" in world.shard.groups

    outcome = world.wake(after=CHECK)
    assert outcome.records == [no_offset("g", "t", 1), no_group("g")]
    assert world.shard.groups == {}


def test_more_offsets_than_fit_into_a_batch_expire_in_several() -> None:
    world = a_world()
    world.commit("g", {("t", 0): 1, ("t", 1): 2, ("u", 0): 3, ("u", 1): 4, ("u", 2): 5})
    world.shard.limit(RoomFor(2))

    batches = [len(world.wake(after=60 * MINUTE).records)]
    while world.shard.deadlines.next == world.now:
        batches.append(len(world.wake(after=0).records))

    assert sum(batches) == 6
    assert max(batches) <= 2
    assert world.shard.groups == {}


def test_more_offsets_of_a_deleted_topic_than_fit_into_a_batch_go_in_several() -> None:
    world = a_world()
    world.commit("g", {("t", 0): 1, ("t", 1): 2, ("t", 2): 3, ("u", 0): 4})
    world.commit("h", {("t", 0): 1, ("t", 1): 2})
    world.shard.limit(RoomFor(2))

    batches = [len(world.change_topics({"u": 0}).records)]
    # Before all is gone there is a new topic of the name, and somebody has read some of it.
    world.change_topics({"t": 1, "u": 0})
    world.commit_in_transaction("h", {("t", 1): 9}, ANN)
    world.end(ANN, is_commit=True)
    while world.shard.deadlines.next == world.now:
        batches.append(len(world.wake(after=0).records))

    assert max(batches) <= 2
    assert world.offsets_of("g") == {("u", 0): 4}
    assert world.offsets_of("h") == {("t", 1): 9}


def test_offsets_of_members_expire_after_the_group_became_empty() -> None:
    world = a_world()
    world.a_stable_group("g", {})
    world.commit("g", {("t", 0): 1})
    world.now += 50 * MINUTE
    world.commit("g", {("t", 1): 2})

    world.wake(after=10 * MINUTE)

    assert world.shard.groups == {}
    assert world.offsets_of("g") == {}


def test_what_members_are_subscribed_to_is_kept_and_the_rest_expires() -> None:
    world = World(
        offsets_retention_minutes=60,
        offsets_retention_check_interval_ms=CHECK,
        group_max_session_timeout_ms=10**9,
    )
    world.a_stable_group("g", {"ann": ("t",)})
    world.commit("g", {("t", 0): 1, ("u", 0): 2}, member="ann", generation=5)

    for _ in range(61):
        world.now += MINUTE
        world.shard.classic.renew_session(world.shard.groups["g"], "ann", world.now)
        world.do(world.shard.wake(world.moment))

    assert world.offsets_of("g") == {("t", 0): 1}


def test_a_retention_of_the_clients_own_counts_from_the_commit() -> None:
    world = a_world()
    world.commit("g", {("t", 0): 1}, retention=15 * MINUTE, version=4)

    world.wake(after=CHECK)
    assert world.offsets_of("g") == {("t", 0): 1}
    world.wake(after=CHECK)
    assert world.offsets_of("g") == {}


def test_an_offset_that_a_transaction_may_change_does_not_expire() -> None:
    world = a_world()
    world.commit("g", {("t", 0): 1})
    world.commit_in_transaction("g", {("t", 0): 5}, ANN)

    world.wake(after=120 * MINUTE)
    assert world.offsets_of("g") == {("t", 0): 1}

    world.end(ANN, is_commit=False)
    world.wake(after=CHECK)
    assert world.shard.groups == {}


def test_a_group_that_an_aborted_transaction_made_goes_with_the_next_look() -> None:
    world = a_world()
    world.commit_in_transaction("g", {("t", 0): 5}, ANN)
    world.wake(after=CHECK)
    assert "g" in world.shard.groups

    world.end(ANN, is_commit=False)
    world.wake(after=CHECK)

    assert world.shard.groups == {}
