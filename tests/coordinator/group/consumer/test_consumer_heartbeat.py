"""Joining, living and leaving: what is refused, what is written, and what the member is told."""

from __future__ import annotations

from typing import Any

import pytest

from coordinator.group.consumer.consumer_room import (
    GROUP,
    HOST,
    INTERVAL,
    REBALANCE,
    START,
    Room,
    error_of,
    topic_id,
)
from klamm.base.errors import ErrorCode
from klamm.coordinator.records import consumer_group as kinds
from klamm.coordinator.records.framing import CoordinatorRecord
from klamm.coordinator.records.group import GroupMetadataKey
from klamm.coordinator.shard import Outcome

ANN = {"group_id": GROUP, "member_id": "ann"}


# What must hold whatever the group.


@pytest.mark.parametrize(
    "wrong",
    [
        {"member_id": ""},
        {"member_id": " "},
        {"group": ""},
        {"instance": ""},
        {"rack": " "},
        {"rebalance": -1},
        {"owned": None},
        {"owned": {("t", 0)}},
        {"topics": None, "regex": None},
    ],
    ids=str,
)
def test_a_first_heartbeat_that_lacks_something_is_refused(wrong: dict[str, Any]) -> None:
    facts: dict[str, Any] = {
        "member_id": "ann",
        "topics": ["t"],
        "rebalance": REBALANCE,
        "owned": set(),
        **wrong,
    }

    assert error_of(lambda: Room().heartbeat(epoch=0, **facts)) is ErrorCode.INVALID_REQUEST


@pytest.mark.parametrize("epoch", [-2, -3])
def test_an_epoch_that_means_nothing_is_refused(epoch: int) -> None:
    assert error_of(lambda: Room().heartbeat("ann", epoch)) is ErrorCode.INVALID_REQUEST


def test_an_assignor_that_the_broker_does_not_have_is_refused() -> None:
    assert error_of(lambda: Room().join("ann", assignor="mine")) is ErrorCode.UNSUPPORTED_ASSIGNOR


def test_an_old_client_gets_its_member_id_from_the_broker() -> None:
    answer = Room().join("", version=0)

    assert answer.member_id is not None
    assert len(answer.member_id) == 22


@pytest.mark.parametrize("epoch", [1, -1])
def test_a_group_that_is_not_there_is_not_found(epoch: int) -> None:
    assert error_of(lambda: Room().heartbeat("ann", epoch)) is ErrorCode.GROUP_ID_NOT_FOUND


@pytest.mark.parametrize("epoch", [1, -1])
def test_a_member_that_the_group_does_not_know_must_join(epoch: int) -> None:
    room = Room()
    room.join("ann")

    assert error_of(lambda: room.heartbeat("bob", epoch)) is ErrorCode.UNKNOWN_MEMBER_ID


def test_a_full_group_lets_nobody_else_in() -> None:
    room = Room(group_consumer_max_size=1)
    room.join("ann")

    assert error_of(lambda: room.join("bob")) is ErrorCode.GROUP_MAX_SIZE_REACHED
    assert room.join("ann").member_epoch == 2


# What is written.


def test_the_first_member_makes_the_five_records_that_kafka_writes() -> None:
    room = Room({"t": 2})

    room.join("ann", rack="r1")

    everything = kinds.TopicPartition(topic_id=topic_id("t"), partitions=[0, 1])
    assert room.batches == [
        [
            CoordinatorRecord(
                kinds.ConsumerGroupMemberMetadataKey(**ANN),
                kinds.ConsumerGroupMemberMetadataValue(
                    instance_id=None,
                    rack_id="r1",
                    client_id="client",
                    client_host=HOST,
                    subscribed_topic_names=["t"],
                    subscribed_topic_regex="",
                    rebalance_timeout_ms=REBALANCE,
                    server_assignor=None,
                    classic_member_metadata=None,
                ),
            ),
            CoordinatorRecord(
                kinds.ConsumerGroupMetadataKey(group_id=GROUP),
                kinds.ConsumerGroupMetadataValue(epoch=2, metadata_hash=room.group.metadata_hash),
            ),
            CoordinatorRecord(
                kinds.ConsumerGroupTargetAssignmentMemberKey(**ANN),
                kinds.ConsumerGroupTargetAssignmentMemberValue(topic_partitions=[everything]),
            ),
            CoordinatorRecord(
                kinds.ConsumerGroupTargetAssignmentMetadataKey(group_id=GROUP),
                kinds.ConsumerGroupTargetAssignmentMetadataValue(
                    assignment_epoch=2, assignment_timestamp=START
                ),
            ),
            CoordinatorRecord(
                kinds.ConsumerGroupCurrentMemberAssignmentKey(**ANN),
                kinds.ConsumerGroupCurrentMemberAssignmentValue(
                    member_epoch=2,
                    previous_member_epoch=0,
                    state=0,
                    assigned_partitions=[
                        kinds.TopicPartitions(
                            topic_id=topic_id("t"), partitions=[0, 1], assignment_epochs=[2, 2]
                        )
                    ],
                ),
            ),
        ]
    ]


def test_a_member_that_leaves_is_removed_and_the_epoch_rises() -> None:
    room = Room()
    room.join("ann")

    answer = room.leave("ann")

    assert (answer.member_id, answer.member_epoch) == ("ann", -1)
    assert room.batches[-1] == [
        CoordinatorRecord(kinds.ConsumerGroupCurrentMemberAssignmentKey(**ANN)),
        CoordinatorRecord(kinds.ConsumerGroupTargetAssignmentMemberKey(**ANN)),
        CoordinatorRecord(kinds.ConsumerGroupMemberMetadataKey(**ANN)),
        CoordinatorRecord(
            kinds.ConsumerGroupMetadataKey(group_id=GROUP),
            kinds.ConsumerGroupMetadataValue(epoch=3, metadata_hash=0),
        ),
    ]
    assert room.group.state_name == "Empty"


def test_a_member_that_gets_nothing_has_that_written_too() -> None:
    room = Room({"t": 1})
    room.join("ann")

    room.join("bob")

    bob = kinds.ConsumerGroupTargetAssignmentMemberKey(group_id=GROUP, member_id="bob")
    nothing = kinds.ConsumerGroupTargetAssignmentMemberValue()
    assert CoordinatorRecord(bob, nothing) in room.batches[-1]


def test_what_an_older_broker_wrote_of_the_topics_is_removed() -> None:
    room = Room()
    ann = room.consumer("ann")
    old = kinds.ConsumerGroupPartitionMetadataKey(group_id=GROUP)
    value = kinds.ConsumerGroupPartitionMetadataValue()
    room.carry_out(Outcome([CoordinatorRecord(old, value)]))

    room.change_topics({"t": 5})
    ann.beat()

    assert CoordinatorRecord(old) in room.batches[-1]
    assert not room.group.has_partition_metadata


def test_partitions_without_epochs_count_from_the_members_own() -> None:
    room = Room()
    room.join("ann")
    key = kinds.ConsumerGroupCurrentMemberAssignmentKey(**ANN)
    owned = kinds.TopicPartitions(topic_id=topic_id("t"), partitions=[0, 3], assignment_epochs=None)
    value = kinds.ConsumerGroupCurrentMemberAssignmentValue(
        member_epoch=2, assigned_partitions=[owned]
    )

    room.carry_out(Outcome([CoordinatorRecord(key, value)]))

    assert room.member("ann").assigned == {topic_id("t"): {0: 2, 3: 2}}


def test_a_heartbeat_of_a_member_that_is_where_it_should_be_writes_nothing() -> None:
    room = Room()
    ann = room.consumer("ann")

    answer = room.heartbeat("ann", ann.epoch)

    assert len(room.batches) == 1
    assert (answer.member_epoch, answer.heartbeat_interval_ms) == (2, INTERVAL)


def test_an_empty_group_is_deleted_with_all_its_records() -> None:
    room = Room()
    room.join("ann")
    room.leave("ann")

    room.ask(lambda token: room.shard.delete_group(GROUP, token=token))

    assert GROUP not in room.shard.groups
    room.restart()
    assert GROUP not in room.shard.groups


def test_a_group_with_members_cannot_be_deleted() -> None:
    room = Room()
    room.join("ann")

    def delete() -> None:
        room.ask(lambda token: room.shard.delete_group(GROUP, token=token))

    assert error_of(delete) is ErrorCode.NON_EMPTY_GROUP


def test_an_empty_classic_group_makes_way() -> None:
    room = Room()
    room.shard.classic.create_simple(GROUP)

    room.join("ann")

    assert isinstance(room.batches[0][0].key, GroupMetadataKey)
    assert room.batches[0][0].value is None
    assert room.group.state_name == "Stable"


# What the member is told.


def test_the_assignment_is_told_when_it_changed_and_not_again() -> None:
    room = Room()

    first = room.join("ann")
    second = room.heartbeat("ann", first.member_epoch)

    assert first.assignment is not None
    assert second.assignment is None


def test_a_member_that_tells_all_about_itself_is_told_its_assignment() -> None:
    room = Room()
    ann = room.consumer("ann")

    answer = room.heartbeat("ann", ann.epoch, topics=["t"], rebalance=REBALANCE, owned=ann.owned)

    assert answer.assignment is not None
    assert len(room.batches) == 1


def test_a_group_has_its_own_interval_and_session_within_the_brokers_bounds() -> None:
    room = Room()
    room.configure(consumer_heartbeat_interval_ms=7_000, consumer_session_timeout_ms=999_000)

    answer = room.join("ann")

    assert answer.heartbeat_interval_ms == 7_000
    assert room.shard.deadlines.next == START + 60_000


# Epochs.


def test_an_epoch_from_the_future_is_fenced() -> None:
    room = Room()
    room.join("ann")

    assert error_of(lambda: room.heartbeat("ann", 3)) is ErrorCode.FENCED_MEMBER_EPOCH


def test_the_epoch_before_the_last_is_let_pass_if_the_member_claims_no_more_than_it_has() -> None:
    room = Room({"t": 2})
    ann, bob = room.consumer("ann"), room.consumer("bob")
    room.settle(ann, bob)
    previous = room.member("ann").previous_epoch
    kept, lost = ann.owned, {("t", 0), ("t", 1)} - ann.owned

    answer = room.heartbeat("ann", previous, owned=kept)

    assert answer.member_epoch == ann.epoch > previous
    fenced = ErrorCode.FENCED_MEMBER_EPOCH
    assert error_of(lambda: room.heartbeat("ann", previous, owned=lost)) is fenced
    assert error_of(lambda: room.heartbeat("ann", previous)) is fenced
    assert error_of(lambda: room.heartbeat("ann", previous - 1, owned=kept)) is fenced


def test_a_member_that_joins_again_keeps_its_epoch_and_is_told_what_it_has() -> None:
    room = Room()
    ann = room.consumer("ann")

    again = room.join("ann")

    assert again.member_epoch == ann.epoch
    assert again.assignment is not None
    assert len(room.batches) == 1


# Silence.


def test_a_member_that_is_not_heard_of_is_thrown_out() -> None:
    room = Room()
    room.join("ann")

    room.advance(45_000)

    assert room.group.members == {}
    assert room.group.epoch == 3


def test_heartbeats_keep_a_member_in() -> None:
    room = Room()
    ann = room.consumer("ann")
    for _ in range(20):
        room.advance(INTERVAL)
        ann.beat()

    assert "ann" in room.group.members


def test_members_have_a_whole_session_after_the_group_was_loaded() -> None:
    room = Room()
    room.join("ann")
    room.advance(44_000)

    room.restart()
    room.advance(44_999)

    assert "ann" in room.group.members
    room.advance(1)
    assert "ann" not in room.group.members


# Describing.


def test_a_described_group_tells_its_epochs_members_and_assignments() -> None:
    room = Room({"t": 1})
    room.join("ann", assignor="range")

    (group,) = [room.ask(lambda token: room.shard.consumer.describe(GROUP, token=token))]

    assert (group.group_state, group.group_epoch, group.assignment_epoch) == ("Stable", 2, 2)
    assert group.assignor_name == "range"
    (member,) = group.members
    assert (member.member_id, member.member_epoch, member.member_type) == ("ann", 2, 1)
    (place,) = member.assignment.topic_partitions
    assert (place.topic_name, place.partitions) == ("t", [0])
    assert member.target_assignment == member.assignment


def test_a_classic_group_is_not_described_as_a_consumer_group() -> None:
    room = Room()
    room.shard.classic.create_simple(GROUP)

    def describe() -> None:
        room.ask(lambda token: room.shard.consumer.describe(GROUP, token=token))

    assert error_of(describe) is ErrorCode.GROUP_ID_NOT_FOUND
