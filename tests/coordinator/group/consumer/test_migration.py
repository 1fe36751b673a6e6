"""Groups that change their kind while their members go on: both ways, and the policy that forbids it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from coordinator.group.consumer.consumer_room import (
    GROUP,
    HOST,
    REBALANCE,
    Consumer,
    Places,
    Room,
    RoomWithout,
    error_of,
    topic_id,
)
from klamm.base.errors import ApiError, ErrorCode
from klamm.coordinator.group import consumer_protocol
from klamm.coordinator.group.classic.group import ClassicGroup
from klamm.coordinator.group.classic.member import Client
from klamm.coordinator.group.classic.states import State
from klamm.coordinator.group.consumer.group import ConsumerGroup
from klamm.coordinator.records.group import GroupMetadataKey
from klamm.protocol.compile import encode
from klamm.protocol.messages.consumer_protocol import (
    ConsumerProtocolAssignment,
    ConsumerProtocolSubscription,
    ConsumerProtocolSubscriptionTopicPartition,
)
from klamm.protocol.messages.heartbeat import HeartbeatRequest
from klamm.protocol.messages.join_group import (
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    JoinGroupResponse,
)
from klamm.protocol.messages.leave_group import MemberIdentity
from klamm.protocol.messages.sync_group import (
    SyncGroupRequest,
    SyncGroupRequestAssignment,
    SyncGroupResponse,
)

SESSION = 20_000


@dataclass
class OldConsumer:
    """A consumer that speaks the classic protocol, and gives up its partitions before it joins again."""

    room: Room
    topics: Sequence[str] = ("t",)
    instance: str | None = None
    protocol: str = "range"
    member_id: str = ""
    generation: int = -1
    owned: Places = field(default_factory=set)

    def metadata(self) -> bytes:
        owned: dict[str, list[int]] = {}
        for name, partition in sorted(self.owned):
            owned.setdefault(name, []).append(partition)
        subscription = ConsumerProtocolSubscription(
            topics=list(self.topics),
            owned_partitions=[
                ConsumerProtocolSubscriptionTopicPartition(topic=name, partitions=partitions)
                for name, partitions in owned.items()
            ],
        )
        return b"\0\1" + encode(subscription, 1)

    def ask_to_join(self, protocol_type: str = "consumer") -> JoinGroupResponse | None:
        request = JoinGroupRequest(
            group_id=GROUP,
            session_timeout_ms=SESSION,
            rebalance_timeout_ms=REBALANCE,
            member_id=self.member_id,
            group_instance_id=self.instance,
            protocol_type=protocol_type,
            protocols=[JoinGroupRequestProtocol(name=self.protocol, metadata=self.metadata())],
        )
        answer: JoinGroupResponse | None = self.room.ask(
            lambda token: self.room.shard.classic.join(
                request, Client("old", HOST), version=9, token=token, now=self.room.moment
            )
        )
        return answer

    def join(self) -> None:
        """Of a group that answers at once; a new member gets its id first."""
        answer = self.ask_to_join()
        assert answer is not None
        if answer.error_code == ErrorCode.MEMBER_ID_REQUIRED:
            self.member_id = answer.member_id
            answer = self.ask_to_join()
            assert answer is not None
        assert answer.error_code == ErrorCode.NONE
        self.member_id, self.generation = answer.member_id, answer.generation_id

    def sync(self, assignments: dict[str, bytes] | None = None) -> ErrorCode:
        request = SyncGroupRequest(
            group_id=GROUP,
            generation_id=self.generation,
            member_id=self.member_id,
            group_instance_id=self.instance,
            protocol_type="consumer",
            protocol_name=self.protocol,
            assignments=[
                SyncGroupRequestAssignment(member_id=m, assignment=a)
                for m, a in (assignments or {}).items()
            ],
        )
        answer = self.room.ask(
            lambda token: self.room.shard.classic.sync(request, token=token, now=self.room.moment)
        )
        assert isinstance(answer, SyncGroupResponse)
        if answer.error_code == ErrorCode.NONE:
            given = consumer_protocol.read_assignment(bytes(answer.assignment))
            self.owned = {(t.topic, p) for t in given.assigned_partitions for p in t.partitions}
        return ErrorCode(answer.error_code)

    def heartbeat(self) -> ErrorCode:
        request = HeartbeatRequest(
            group_id=GROUP,
            generation_id=self.generation,
            member_id=self.member_id,
            group_instance_id=self.instance,
        )
        try:
            answer = self.room.ask(
                lambda token: self.room.shard.classic.heartbeat(
                    request, token=token, now=self.room.moment
                )
            )
        except ApiError as e:
            return e.code
        return ErrorCode(answer.error_code)

    def leave(self) -> None:
        leaving = [MemberIdentity(member_id=self.member_id, group_instance_id=self.instance)]
        self.room.ask(
            lambda token: self.room.shard.classic.leave(
                GROUP, leaving, version=5, token=token, now=self.room.moment
            )
        )

    # In a consumer group.

    def beat(self) -> None:
        code = self.heartbeat()
        if code is ErrorCode.REBALANCE_IN_PROGRESS:
            self.join()
            assert self.sync() is ErrorCode.NONE
        elif code is not ErrorCode.NONE:
            raise ApiError(code)

    def enter(self) -> None:
        self.join()
        assert self.sync() is ErrorCode.NONE


def classic_group(room: Room) -> OldConsumer:
    """One member, who leads the group and has all of topic t."""
    old = OldConsumer(room)
    first = old.ask_to_join()
    assert first is None or first.error_code == ErrorCode.MEMBER_ID_REQUIRED
    if first is not None:
        old.member_id = first.member_id
        assert old.ask_to_join() is None
    room.advance(room.settings.group_initial_rebalance_delay_ms)
    joined = room.replies[max(room.replies)]
    old.member_id, old.generation = joined.member_id, joined.generation_id
    everything = {topic_id("t"): range(len(room.image.topics_by_name["t"].partitions))}
    mine = consumer_protocol.write_assignment(everything, room.image, 1)
    assert old.sync({old.member_id: mine}) is ErrorCode.NONE
    return old


def settle(room: Room, *consumers: Consumer | OldConsumer) -> None:
    for _ in range(20):
        before = len(room.log)
        for each in consumers:
            each.beat()
        if len(room.log) == before:
            return
    raise AssertionError("the rebalance does not end")


def classic(room: Room) -> ClassicGroup:
    group = room.shard.groups[GROUP]
    assert isinstance(group, ClassicGroup)
    return group


# From classic to consumer.


def test_a_new_member_makes_a_consumer_group_of_a_classic_one_and_nothing_is_lost() -> None:
    room = Room({"t": 4})
    old = classic_group(room)

    new = room.consumer("new")

    assert isinstance(room.shard.groups[GROUP], ConsumerGroup)
    assert room.owned(old.member_id) == old.owned == {("t", n) for n in range(4)}
    assert room.group.members[old.member_id].epoch == old.generation
    assert isinstance(room.batches[-1][0].key, GroupMetadataKey)
    assert room.batches[-1][0].value is None
    assert new.owned == set()


def test_old_and_new_members_share_the_partitions() -> None:
    room = Room({"t": 4})
    old = classic_group(room)
    new = room.consumer("new")

    settle(room, old, new)

    assert len(old.owned) == len(new.owned) == 2
    assert not old.owned & new.owned
    assert room.group.state_name == "Stable"


def test_more_old_members_may_come() -> None:
    room = Room({"t": 3})
    old, new = classic_group(room), room.consumer("new")
    settle(room, old, new)

    third = OldConsumer(room)
    third.enter()
    settle(room, old, new, third)

    assert [len(each.owned) for each in (old, new, third)] == [1, 1, 1]


def test_an_old_member_that_becomes_a_new_one_completes_the_migration() -> None:
    room = Room({"t": 2})
    old, new = classic_group(room), room.consumer("new")
    settle(room, old, new)

    old.leave()
    again = room.consumer("again")
    settle(room, new, again)

    assert room.group.classic_count == 0
    assert len(new.owned) == len(again.owned) == 1


def test_members_that_wait_in_a_round_are_told_to_join_again() -> None:
    room = Room({"t": 2})
    old = classic_group(room)
    second = OldConsumer(room)
    first = second.ask_to_join()
    assert first is not None
    second.member_id = first.member_id
    assert second.ask_to_join() is None
    waiting = room._tokens

    room.consumer("new")

    assert room.replies[waiting].error_code == ErrorCode.REBALANCE_IN_PROGRESS
    assert set(room.group.members) == {old.member_id, second.member_id, "new"}


def test_the_group_is_the_same_after_it_was_loaded_again() -> None:
    room = Room({"t": 4})
    old, new = classic_group(room), room.consumer("new")
    settle(room, old, new)
    before = room.group.members

    room.restart()

    assert room.group.members == before
    settle(room, old, new)


@pytest.mark.parametrize(
    "settings",
    [
        {"group_consumer_migration_policy": "DISABLED"},
        {"group_consumer_migration_policy": "downgrade"},
        {"group_consumer_max_size": 0},
    ],
    ids=["disabled", "wrong way", "too many members"],
)
def test_a_classic_group_that_may_not_migrate_stays_as_it_is(settings: dict[str, Any]) -> None:
    room = Room({"t": 2}, **settings)
    classic_group(room)
    written = len(room.log)

    assert error_of(lambda: room.join("new")) is ErrorCode.GROUP_ID_NOT_FOUND
    assert len(room.log) == written
    assert classic(room).state is State.STABLE


@pytest.mark.parametrize(
    "assignment",
    [b"\0\0" + encode(ConsumerProtocolAssignment(user_data=b"mine"), 0), b"\0", b"\xff\xff"],
    ids=["of a custom assignor", "too short", "of no version"],
)
def test_a_classic_group_whose_assignment_cannot_be_read_stays_as_it_is(assignment: bytes) -> None:
    room = Room({"t": 2})
    old = classic_group(room)
    classic(room).members[old.member_id].assignment = assignment

    assert error_of(lambda: room.join("new")) is ErrorCode.GROUP_ID_NOT_FOUND
    assert old.heartbeat() is ErrorCode.NONE


def test_a_group_of_another_protocol_stays_as_it_is() -> None:
    room = Room()
    worker = OldConsumer(room)
    first = worker.ask_to_join("connect")
    assert first is not None
    worker.member_id = first.member_id
    worker.ask_to_join("connect")

    assert error_of(lambda: room.join("new")) is ErrorCode.GROUP_ID_NOT_FOUND


def test_a_partition_that_the_leader_gave_to_two_members_has_one_owner() -> None:
    room = Room({"t": 2})
    old = classic_group(room)
    second = OldConsumer(room)
    first = second.ask_to_join()
    assert first is not None
    second.member_id = first.member_id
    second.ask_to_join()
    members = classic(room).members
    members[second.member_id].assignment = members[old.member_id].assignment

    room.consumer("new")

    assert room.owned(old.member_id) == {("t", 0), ("t", 1)}
    assert room.owned(second.member_id) == set()


# Members of a consumer group that speak the classic protocol.


def test_a_classic_member_of_another_protocol_is_refused() -> None:
    room = Room()
    settle(room, classic_group(room), room.consumer("new"))

    inconsistent = ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert error_of(lambda: OldConsumer(room).ask_to_join("connect")) is inconsistent
    other = OldConsumer(room, protocol="sticky")
    assert error_of(other.ask_to_join) is inconsistent


def test_a_classic_member_is_refused_where_migration_is_disabled() -> None:
    room = Room(group_consumer_migration_policy="disabled")
    room.consumer("new")

    inconsistent = ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert error_of(OldConsumer(room).ask_to_join) is inconsistent


def test_a_wrong_generation_is_told() -> None:
    room = Room()
    old, _ = classic_group(room), room.consumer("new")
    old.generation += 7

    assert old.heartbeat() is ErrorCode.ILLEGAL_GENERATION
    assert error_of(old.sync) is ErrorCode.ILLEGAL_GENERATION


def test_a_member_of_the_new_protocol_cannot_use_the_old_one() -> None:
    room = Room()
    new = room.consumer("new")
    impostor = OldConsumer(room, member_id="new", generation=new.epoch)

    assert impostor.heartbeat() is ErrorCode.UNKNOWN_MEMBER_ID


def test_a_classic_member_that_is_silent_is_thrown_out_after_its_own_session() -> None:
    room = Room({"t": 2})
    old, new = classic_group(room), room.consumer("new")

    for _ in range(SESSION // 5_000):
        room.advance(5_000)
        new.beat()

    assert old.member_id not in room.group.members


def test_a_classic_member_that_does_not_come_for_its_new_part_is_thrown_out() -> None:
    room = Room({"t": 2})
    old, new = classic_group(room), room.consumer("new")

    for _ in range(REBALANCE // 5_000 + 1):
        room.advance(5_000)
        if old.member_id in room.group.members:
            old.heartbeat()
        new.beat()

    assert set(room.group.members) == {"new"}


def test_a_classic_member_that_does_not_fetch_its_assignment_is_thrown_out() -> None:
    room = Room({"t": 2})
    new = room.consumer("new")
    old = OldConsumer(room)
    old.join()

    for _ in range(REBALANCE // 5_000 + 1):
        room.advance(5_000)
        if old.member_id in room.group.members:
            old.heartbeat()
        new.beat()

    assert set(room.group.members) == {"new"}


# From consumer to classic.


def test_the_last_new_member_leaves_a_classic_group_behind() -> None:
    room = Room({"t": 2})
    old, new = classic_group(room), room.consumer("new")
    settle(room, old, new)

    room.leave("new")

    group = classic(room)
    assert set(group.members) == {old.member_id}
    assert group.state is State.PREPARING_REBALANCE
    assert old.heartbeat() is ErrorCode.REBALANCE_IN_PROGRESS
    answer = old.ask_to_join()
    assert answer is not None
    assert (answer.error_code, answer.leader) == (ErrorCode.NONE, old.member_id)


def test_a_new_member_that_is_lost_leaves_a_classic_group_behind_too() -> None:
    room = Room({"t": 2})
    old, new = classic_group(room), room.consumer("new")
    settle(room, old, new)

    for _ in range(9):
        room.advance(5_000)
        old.heartbeat()

    assert set(classic(room).members) == {old.member_id}


def test_a_classic_group_that_there_is_no_room_for_goes_on_as_it_is() -> None:
    room = Room({"t": 2})
    old, new = classic_group(room), room.consumer("new")
    settle(room, old, new)
    room.shard.limit(RoomWithout(GroupMetadataKey))

    room.leave("new")
    settle(room, old)

    assert set(room.group.members) == {old.member_id}
    assert room.owned(old.member_id) == {("t", 0), ("t", 1)}


def test_the_classic_group_is_the_same_after_it_was_loaded() -> None:
    room = Room({"t": 2})
    old, new = classic_group(room), room.consumer("new")
    settle(room, old, new)
    epoch = room.group.epoch
    room.leave("new")

    room.restart()

    group = classic(room)
    assert group.state is State.STABLE
    assert group.generation == epoch
    owned = consumer_protocol.read_assignment(group.members[old.member_id].assignment)
    assert [(t.topic, t.partitions) for t in owned.assigned_partitions] == [
        (name, [partition]) for name, partition in old.owned
    ]


def test_a_static_member_that_goes_back_to_the_old_protocol_makes_the_group_classic_at_once() -> (
    None
):
    room = Room({"t": 2})
    new = room.consumer("new", instance="i1")
    room.leave("new", -2, instance="i1")

    old = OldConsumer(room, instance="i1")
    old.join()

    group = classic(room)
    assert set(group.members) == {old.member_id}
    assert group.state is State.STABLE
    assert old.generation == group.generation
    assert old.sync() is ErrorCode.NONE
    assert old.owned == new.owned


def test_a_group_may_not_go_back_where_the_policy_forbids_it() -> None:
    room = Room({"t": 2}, group_consumer_migration_policy="upgrade")
    old, new = classic_group(room), room.consumer("new")
    settle(room, old, new)

    room.leave("new")
    settle(room, old)

    assert room.group.classic_count == 1
    assert old.owned == {("t", 0), ("t", 1)}


def test_an_empty_consumer_group_makes_way_for_a_classic_member() -> None:
    room = Room({"t": 2})
    room.consumer("new")
    room.leave("new")

    classic_group(room)

    assert classic(room).state is State.STABLE
    room.restart()
    assert classic(room).state is State.STABLE
