"""Static members: they leave for a while, and come back under another member id to what was theirs."""

from __future__ import annotations

from coordinator.group.consumer.consumer_room import SESSION, Room, error_of
from klamm.base.errors import ErrorCode


def test_a_static_member_that_leaves_for_a_while_keeps_its_partitions() -> None:
    room = Room({"t": 2})
    ann, bob = room.consumer("ann", instance="i1"), room.consumer("bob", instance="i2")
    room.settle(ann, bob)
    before = room.group.epoch

    answer = room.leave("ann", -2, instance="i1")
    room.settle(bob)

    assert answer.member_epoch == -2
    assert room.owned("ann") == ann.owned
    assert len(bob.owned) == 1
    assert room.group.epoch == before


def test_a_static_member_comes_back_under_a_new_id_without_a_rebalance() -> None:
    room = Room({"t": 2})
    ann, bob = room.consumer("ann", instance="i1"), room.consumer("bob", instance="i2")
    room.settle(ann, bob)
    before = room.group.epoch
    room.leave("ann", -2, instance="i1")

    again = room.consumer("ann2", instance="i1")

    assert again.owned == ann.owned
    assert again.epoch == before == room.group.epoch
    assert set(room.group.members) == {"ann2", "bob"}
    room.restart()
    assert room.owned("ann2") == ann.owned


def test_the_alarms_of_the_member_that_was_replaced_are_gone() -> None:
    room = Room()
    room.consumer("ann", instance="i1")
    room.leave("ann", -2, instance="i1")

    room.consumer("ann2", instance="i1")

    assert ("consumer", "session", "group", "ann") not in room.shard.deadlines


def test_a_static_member_that_does_not_come_back_is_thrown_out() -> None:
    room = Room({"t": 2})
    ann, bob = room.consumer("ann", instance="i1"), room.consumer("bob")
    room.settle(ann, bob)
    room.leave("ann", -2, instance="i1")
    for _ in range(9):
        room.advance(SESSION // 9)
        bob.beat()

    room.settle(bob)

    assert set(room.group.members) == {"bob"}
    assert len(bob.owned) == 2


def test_an_instance_id_in_use_cannot_be_taken() -> None:
    room = Room()
    room.consumer("ann", instance="i1")

    taken = ErrorCode.UNRELEASED_INSTANCE_ID
    assert error_of(lambda: room.join("bob", instance="i1")) is taken


def test_a_static_member_that_was_replaced_is_fenced() -> None:
    room = Room()
    ann = room.consumer("ann", instance="i1")
    room.leave("ann", -2, instance="i1")
    room.consumer("ann2", instance="i1")

    fenced = ErrorCode.FENCED_INSTANCE_ID
    assert error_of(lambda: room.heartbeat("ann", ann.epoch, instance="i1")) is fenced
    assert error_of(lambda: room.leave("ann", -1, instance="i1")) is fenced


def test_an_instance_id_that_nobody_has_is_unknown() -> None:
    room = Room()
    room.consumer("ann")

    unknown = ErrorCode.UNKNOWN_MEMBER_ID
    assert error_of(lambda: room.heartbeat("ann", 2, instance="i9")) is unknown
    assert error_of(lambda: room.leave("ann", -2, instance="i9")) is unknown


def test_a_static_member_that_leaves_for_good_is_removed() -> None:
    room = Room()
    room.consumer("ann", instance="i1")

    room.leave("ann", -1, instance="i1")

    assert room.group.members == {}
    assert room.group.static_ids == {}


def test_a_static_member_that_was_away_may_not_heartbeat_in_its_old_epoch() -> None:
    room = Room()
    ann = room.consumer("ann", instance="i1")
    room.leave("ann", -2, instance="i1")

    fenced = ErrorCode.FENCED_MEMBER_EPOCH
    assert error_of(lambda: room.heartbeat("ann", ann.epoch, instance="i1")) is fenced


def test_a_static_member_that_comes_back_with_other_topics_starts_a_rebalance() -> None:
    room = Room({"t": 1, "u": 1})
    room.consumer("ann", ["t"], instance="i1")
    room.leave("ann", -2, instance="i1")

    again = room.consumer("ann2", ["u"], instance="i1")
    room.settle(again)

    assert again.owned == {("u", 0)}
