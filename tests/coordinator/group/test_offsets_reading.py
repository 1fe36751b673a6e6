"""OffsetFetch and offsets in transactions: what is told, and what is not told yet."""

from __future__ import annotations

from coordinator.group.committing import World, an_image, topic_id
from klamm.base.errors import ErrorCode
from klamm.base.ids import ZERO_UUID
from klamm.coordinator.shard import Producer
from klamm.protocol.messages.offset_fetch import (
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopics,
)

OK = ErrorCode.NONE
UNSTABLE = (-1, "", ErrorCode.UNSTABLE_OFFSET_COMMIT)
NOTHING = (-1, "", OK)
ANN = Producer(1, 0)
BOB = Producer(2, 0)


def by_id(world: World, topics: list[OffsetFetchRequestTopics] | None) -> list[object]:
    asked = OffsetFetchRequestGroup(group_id="g", topics=topics)
    return list(world.shard.offsets.fetch(asked, version=10, require_stable=False).topics)


def test_what_was_never_committed_is_minus_one() -> None:
    world = World()
    world.commit("g", {("t", 0): 7}, metadata="m")

    assert world.fetch("g", ("t", 0), ("t", 1), ("none", 0)) == {
        ("t", 0): (7, "m", OK),
        ("t", 1): NOTHING,
        ("none", 0): NOTHING,
    }


def test_a_group_that_does_not_exist_has_committed_nothing() -> None:
    world = World()

    assert world.fetch("gone", ("t", 0)) == {("t", 0): NOTHING}
    assert world.fetch("gone") == {}


def test_topics_by_id_are_answered_by_id() -> None:
    world = World()
    world.commit("g", {("t", 0): 7}, epoch=2)

    answers = by_id(
        world,
        [
            OffsetFetchRequestTopics(topic_id=topic_id("t"), partition_indexes=[0]),
            OffsetFetchRequestTopics(topic_id=topic_id("none"), partition_indexes=[0]),
        ],
    )

    assert answers == [
        OffsetFetchResponseTopics(
            name="t",
            topic_id=topic_id("t"),
            partitions=[
                OffsetFetchResponsePartitions(
                    partition_index=0, committed_offset=7, committed_leader_epoch=2
                )
            ],
        ),
        OffsetFetchResponseTopics(
            topic_id=topic_id("none"),
            partitions=[
                OffsetFetchResponsePartitions(
                    partition_index=0, committed_offset=-1, error_code=ErrorCode.UNKNOWN_TOPIC_ID
                )
            ],
        ),
    ]


def test_an_offset_for_an_earlier_topic_of_that_name_is_not_told() -> None:
    world = World()
    world.commit("g", {("t", 0): 7})
    # Loaded after the topic was made anew: nobody saw it go.
    world.image = an_image({"t": 1})
    world.restart()
    asked = OffsetFetchRequestTopics(topic_id=topic_id("t", 1), partition_indexes=[0])

    (topic,) = by_id(world, [asked])

    assert isinstance(topic, OffsetFetchResponseTopics)
    assert topic.partitions[0].committed_offset == -1


def test_all_topics_by_id_are_those_that_still_exist() -> None:
    world = World()
    world.commit("g", {("t", 0): 7, ("u", 0): 8})
    world.image = an_image({"u": 0})
    world.restart()

    topics = by_id(world, None)

    assert [(t.name, t.topic_id) for t in topics if isinstance(t, OffsetFetchResponseTopics)] == [
        ("u", topic_id("u"))
    ]
    assert ZERO_UUID not in (topic_id("t"), topic_id("u"))


def test_a_transactional_offset_counts_when_the_transaction_commits() -> None:
    world = World()
    world.commit("g", {("t", 0): 1})

    world.commit_in_transaction("g", {("t", 0): 5}, ANN)

    assert world.fetch("g", ("t", 0)) == {("t", 0): (1, "", OK)}
    # The marker carries the next epoch (KIP-890).
    world.end(Producer(ANN.id, 1), is_commit=True)
    assert world.fetch("g", ("t", 0)) == {("t", 0): (5, "", OK)}


def test_an_aborted_transaction_leaves_no_offsets() -> None:
    world = World()
    world.commit("g", {("t", 0): 1})
    world.commit_in_transaction("g", {("t", 0): 5, ("t", 1): 6}, ANN)

    world.end(ANN, is_commit=False)

    assert world.offsets_of("g") == {("t", 0): 1}


def test_who_wants_stable_offsets_waits_for_open_transactions() -> None:
    world = World()
    world.commit("g", {("t", 0): 1, ("t", 1): 2})
    world.commit_in_transaction("g", {("t", 0): 5}, ANN)
    world.commit_in_transaction("g", {("t", 0): 6}, BOB)

    expected = {("t", 0): UNSTABLE, ("t", 1): (2, "", OK)}
    assert world.fetch("g", ("t", 0), ("t", 1), stable=True) == expected
    assert world.fetch("g", stable=True) == expected
    world.end(ANN, is_commit=True)
    assert world.fetch("g", ("t", 0), stable=True) == {("t", 0): UNSTABLE}
    world.end(BOB, is_commit=False)
    assert world.fetch("g", ("t", 0), stable=True) == {("t", 0): (5, "", OK)}


def test_of_two_commits_the_later_in_the_log_counts_whenever_they_end() -> None:
    world = World()
    world.commit_in_transaction("g", {("t", 0): 5}, ANN)
    world.commit_in_transaction("g", {("t", 0): 6}, BOB)
    world.end(BOB, is_commit=True)
    world.end(ANN, is_commit=True)
    assert world.offsets_of("g") == {("t", 0): 6}

    world.commit_in_transaction("g", {("t", 0): 7}, ANN)
    world.commit("g", {("t", 0): 8})
    world.end(ANN, is_commit=True)
    assert world.offsets_of("g") == {("t", 0): 8}


def test_a_producer_that_speaks_for_a_zombie_is_refused() -> None:
    world = World()
    world.a_stable_group("g", {"ann": ("t",)})

    codes = world.commit_in_transaction(
        "g", {("t", 0): 5, ("none", 0): 1}, ANN, member="ann", generation=4
    )

    assert codes == {
        ("t", 0): ErrorCode.ILLEGAL_GENERATION,
        ("none", 0): ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    }
    assert world.commit_in_transaction("gone", {("t", 0): 5}, ANN, generation=1) == {
        ("t", 0): ErrorCode.ILLEGAL_GENERATION
    }


def test_an_open_transaction_survives_a_restart() -> None:
    world = World()
    world.commit_in_transaction("g", {("t", 0): 5}, ANN)

    world.restart()

    assert world.fetch("g", ("t", 0), stable=True) == {("t", 0): UNSTABLE}
    world.end(ANN, is_commit=True)
    assert world.offsets_of("g") == {("t", 0): 5}
