"""Classic groups after a restart: what was written is there, and nothing else."""

import pytest

from coordinator.group.classic.room import DELAY, GROUP, SESSION, Room
from klamm.base.errors import ErrorCode
from klamm.coordinator.group.classic.states import State
from klamm.coordinator.group.records import group_metadata, no_group
from klamm.coordinator.records.group import GroupMetadataValue, MemberMetadata
from klamm.protocol.compile import encode
from klamm.protocol.messages.consumer_protocol import ConsumerProtocolSubscription


def subscription(*topics: str, version: int = 3) -> bytes:
    message = ConsumerProtocolSubscription(topics=list(topics))
    return version.to_bytes(2, "big") + encode(message, version)


def test_members_of_a_stable_group_go_on() -> None:
    room = Room()
    first, second = room.stable(2)

    room.restart()

    assert room.heartbeat(first, 1) is ErrorCode.NONE
    assert room.answer(room.sync(second, 1)).assignment == second.encode()
    assert room.group.leader_id == first
    assert room.group.state is State.STABLE


def test_members_have_a_whole_session_to_be_heard_of() -> None:
    room = Room()
    first, _second = room.stable(2)
    room.advance(SESSION - 1)

    room.restart()
    room.advance(SESSION - 1)
    room.heartbeat(first, 1)
    room.advance(1)

    assert list(room.group.members) == [first]


def test_a_round_that_was_forming_is_forgotten() -> None:
    room = Room()
    first, second = room.stable(2)
    room.join(first, protocols={"range": b"new"})
    third, _ = room.add()

    room.restart()

    assert room.group.state is State.STABLE
    assert list(room.group.members) == [first, second]
    assert room.error(room.join(third)) is ErrorCode.UNKNOWN_MEMBER_ID
    assert room.heartbeat(second, 1) is ErrorCode.NONE


def test_an_assignment_that_was_not_made_yet_leaves_the_old_generation() -> None:
    room = Room()
    first, second = room.stable(2)
    room.join(first)
    room.join(second)
    assert room.group.generation == 2

    room.restart()

    assert room.group.generation == 1
    assert room.heartbeat(first, 2) is ErrorCode.ILLEGAL_GENERATION
    token = room.join(first)
    room.join(second)
    assert room.answer(token).generation_id == 2


def test_static_members_are_known_by_their_instance() -> None:
    room = Room()
    first, second = room.static("one", "two")

    room.restart()

    assert room.group.static_ids == {"one": first, "two": second}
    assert room.answer(room.join(instance="two")).generation_id == 1


def test_an_empty_group_remembers_its_generation() -> None:
    room = Room()
    (member_id,) = room.stable()
    room.leave(member_id)

    room.restart()
    assert (room.group.state, room.group.generation) == (State.EMPTY, 2)
    _, token = room.add()
    room.advance(DELAY)

    assert room.answer(token).generation_id == 3


def test_a_deleted_group_is_gone() -> None:
    room = Room()
    (member_id,) = room.stable()
    room.leave(member_id)
    room.delete()

    room.restart()

    assert room.shard.groups == {}
    assert len(room.shard.deadlines) == 1  # the offsets' own


def test_only_the_chosen_protocol_is_known_after_a_restart() -> None:
    room = Room()
    room.form(1, protocols=("range", "sticky"))
    room.settle(list(room.group.members))

    room.restart()

    token = room.join(protocols=("sticky",))
    assert room.error(token) is ErrorCode.INCONSISTENT_GROUP_PROTOCOL


def test_records_of_old_brokers_can_be_read() -> None:
    room = Room()
    member = MemberMetadata(
        member_id="old", client_id="c", client_host="/h", session_timeout=9_000, subscription=b"s"
    )
    value = GroupMetadataValue(
        protocol_type="connect", generation=5, protocol="p", leader="old", members=[member]
    )
    record = group_metadata(GROUP, value)._replace(version=0)

    room.shard.is_loaded = False
    room.shard.replay(record, 0, None)

    assert room.group.members["old"].rebalance_timeout_ms == 9_000
    assert (room.group.state_since, room.group.generation) == (None, 5)


def test_a_tombstone_without_a_group_does_nothing() -> None:
    room = Room()

    room.shard.replay(no_group("gone"), 0, None)

    assert room.shard.groups == {}


# What the group knows of its topics.


def test_the_topics_of_a_consumer_group_are_read_from_its_members() -> None:
    room = Room()
    room.add(protocols={"range": subscription("a", "b", version=0)})
    room.add(protocols={"range": subscription("b", "c", version=3)})
    room.close_round()
    room.settle(list(room.group.members))

    for _ in range(2):
        assert room.group.subscribed_topics == {"a", "b", "c"}
        assert room.group.is_subscribed_to("a")
        assert not room.group.is_subscribed_to("d")
        room.restart()


@pytest.mark.parametrize("metadata", [b"", b"\0", b"\xff\xff\0\0\0\0", b"\0\0\0\0\0\1\0\5abc"])
def test_a_consumer_group_that_cannot_be_read_may_be_subscribed_to_anything(
    metadata: bytes,
) -> None:
    room = Room()
    room.stable(1, protocols={"range": metadata})

    assert room.group.subscribed_topics is None
    assert room.group.is_subscribed_to("anything")
    assert room.group.retention_start(7) is None


def test_a_subscription_that_names_more_topics_than_it_has_bytes_does_not_stop_the_round() -> None:
    room = Room()

    _, token = room.add(protocols={"range": b"\0\0\x7f\xff\xff\xff"})
    room.close_round()

    assert room.error(token) is ErrorCode.NONE
    assert room.group.subscribed_topics is None


def test_groups_of_other_types_are_subscribed_to_nothing() -> None:
    room = Room()
    room.form(1, protocol_type="connect", protocols=("p",))

    assert not room.group.is_subscribed_to("anything")


def test_when_the_retention_of_offsets_begins() -> None:
    room = Room()
    simple = room.shard.classic.create_simple("simple")
    assert simple.retention_start(7) == 7

    (member_id,) = room.form(1, protocols={"range": subscription("a")})
    assert room.group.retention_start(7) is None
    room.settle([member_id])
    assert room.group.retention_start(7) == 7

    room.advance(1_000)
    room.leave(member_id)
    assert room.group.retention_start(7) == room.now

    room.form(1, protocol_type="connect", protocols=("p",))
    room.sync(next(iter(room.group.members)), 3, protocol="p", protocol_type="connect")
    assert room.group.state is State.STABLE
    assert room.group.retention_start(7) is None
