"""How partitions go from one member to another: given up first, then taken."""

from __future__ import annotations

import pytest

from coordinator.group.consumer.consumer_room import (
    INTERVAL,
    REBALANCE,
    START,
    Room,
    error_of,
    topic_id,
)
from klamm.base.errors import ApiError, ErrorCode
from klamm.base.ids import Uuid
from klamm.coordinator.group.consumer.member import Member, MemberState
from klamm.coordinator.group.consumer.reconciliation import Goal, reconcile

T, U = topic_id("t"), topic_id("u")


def free(topic: Uuid, partition: int) -> bool:
    return False


def taken(topic: Uuid, partition: int) -> bool:
    return True


# One member's step.


def test_a_new_member_takes_what_is_free_and_goes_to_the_targets_epoch() -> None:
    goal = Goal(5, {T: frozenset({0, 1})}, {T}, free)

    after = reconcile(Member("ann"), goal, {}, has_subscription_changed=True)

    assert (after.state, after.epoch, after.previous_epoch) == (MemberState.STABLE, 5, 0)
    assert after.assigned == {T: {0: 5, 1: 5}}


def test_a_partition_that_another_owns_is_waited_for_in_the_new_epoch() -> None:
    goal = Goal(5, {T: frozenset({0, 1})}, {T}, lambda topic, partition: partition == 1)

    after = reconcile(Member("ann"), goal, {}, has_subscription_changed=True)

    assert (after.state, after.epoch) == (MemberState.UNRELEASED_PARTITIONS, 5)
    assert after.assigned == {T: {0: 5}}


def test_what_must_go_is_asked_for_in_the_old_epoch_and_nothing_is_added_meanwhile() -> None:
    member = Member("ann", epoch=4, assigned={T: {0: 3, 1: 4}})
    goal = Goal(5, {T: frozenset({1, 2})}, {T}, free)

    after = reconcile(member, goal, {T: {0, 1}}, has_subscription_changed=False)

    assert (after.state, after.epoch) == (MemberState.UNREVOKED_PARTITIONS, 4)
    assert after.assigned == {T: {1: 4}}
    assert after.pending_revocation == {T: {0: 3}}


@pytest.mark.parametrize("claimed", [None, {T: {0}}])
def test_a_member_that_has_not_said_that_it_gave_up_stays_where_it_is(
    claimed: dict[Uuid, set[int]] | None,
) -> None:
    member = Member(
        "ann", epoch=4, state=MemberState.UNREVOKED_PARTITIONS, pending_revocation={T: {0: 3}}
    )
    goal = Goal(5, {}, {T}, taken)

    assert reconcile(member, goal, claimed, has_subscription_changed=False) is member


def test_a_member_that_gave_up_goes_on_and_keeps_the_epochs_of_what_it_kept() -> None:
    member = Member(
        "ann",
        epoch=4,
        state=MemberState.UNREVOKED_PARTITIONS,
        assigned={T: {1: 4}},
        pending_revocation={T: {0: 3}},
    )
    goal = Goal(5, {T: frozenset({1, 2})}, {T}, free)

    after = reconcile(member, goal, {T: {1}}, has_subscription_changed=False)

    assert (after.state, after.epoch, after.previous_epoch) == (MemberState.STABLE, 5, 4)
    assert after.assigned == {T: {1: 4, 2: 5}}
    assert after.pending_revocation == {}


def test_a_member_may_get_back_what_it_has_just_given_up() -> None:
    member = Member(
        "ann", epoch=4, state=MemberState.UNREVOKED_PARTITIONS, pending_revocation={T: {0: 3}}
    )
    goal = Goal(5, {T: frozenset({0})}, {T}, taken)

    after = reconcile(member, goal, {}, has_subscription_changed=False)

    assert (after.state, after.assigned) == (MemberState.STABLE, {T: {0: 5}})


def test_a_topic_that_is_no_longer_subscribed_to_goes_before_the_target_knows() -> None:
    member = Member("ann", epoch=5, assigned={T: {0: 5}, U: {0: 5}})
    goal = Goal(5, {T: frozenset({0}), U: frozenset({0})}, {T}, taken)

    asked = reconcile(member, goal, {T: {0}, U: {0}}, has_subscription_changed=True)
    done = reconcile(member, goal, {T: {0}}, has_subscription_changed=True)

    assert (asked.state, asked.pending_revocation) == (
        MemberState.UNREVOKED_PARTITIONS,
        {U: {0: 5}},
    )
    assert (done.state, done.assigned) == (MemberState.STABLE, {T: {0: 5}})


def test_a_member_in_a_state_of_a_newer_broker_must_begin_anew() -> None:
    member = Member("ann", epoch=4, state=MemberState.of(9))
    goal = Goal(5, {T: frozenset({0})}, {T}, free)

    with pytest.raises(ApiError):
        reconcile(member, goal, {T: {0}}, has_subscription_changed=False)

    assert reconcile(member, goal, {}, has_subscription_changed=False).epoch == 5


# The group.


def test_a_second_member_gets_its_part_when_the_first_has_given_it_up() -> None:
    room = Room({"t": 4})
    ann = room.consumer("ann")

    bob = room.consumer("bob")
    states = [(room.member("bob").state, bob.owned)]
    bob.beat()
    states.append((room.member("bob").state, bob.owned))
    assert room.group.state_name == "Reconciling"
    ann.beat()
    states.append((room.member("ann").state, ann.owned))
    ann.beat()
    bob.beat()

    waits = MemberState.UNRELEASED_PARTITIONS
    assert states[:2] == [(waits, set()), (waits, set())]
    assert states[2][0] is MemberState.UNREVOKED_PARTITIONS
    assert len(ann.owned) == len(bob.owned) == 2
    assert not ann.owned & bob.owned
    assert room.group.state_name == "Stable"


def test_a_member_that_does_not_give_up_in_time_is_thrown_out() -> None:
    room = Room({"t": 2})
    ann, bob = room.consumer("ann"), room.consumer("bob")
    ann.beat()
    for _ in range(REBALANCE // INTERVAL - 1):
        room.advance(INTERVAL)
        # It lives, but says nothing of what it owns.
        room.heartbeat("ann", ann.epoch)
        bob.beat()
    assert "ann" in room.group.members

    room.advance(INTERVAL)
    room.settle(bob)

    assert "ann" not in room.group.members
    assert bob.owned == {("t", 0), ("t", 1)}


def test_the_time_to_give_up_runs_anew_after_the_group_was_loaded() -> None:
    room = Room({"t": 2})
    ann, bob = room.consumer("ann"), room.consumer("bob")
    ann.beat()
    room.advance(30_000)

    room.restart()

    assert ("consumer", "rebalance", "group", "ann") in room.shard.deadlines
    room.advance(44_000)
    assert set(room.group.members) == {"ann", "bob"}
    assert bob.owned == set()


def test_what_a_member_leaves_behind_goes_to_the_others() -> None:
    room = Room({"t": 3})
    ann, bob = room.consumer("ann"), room.consumer("bob")
    room.settle(ann, bob)

    room.leave("bob")
    room.settle(ann)

    assert ann.owned == {("t", 0), ("t", 1), ("t", 2)}


def test_a_changed_subscription_moves_the_member_to_other_topics() -> None:
    room = Room({"t": 1, "u": 1})
    ann = room.consumer("ann", ["t"])

    ann.beat(topics=["u"])
    assert ann.owned == set()
    room.settle(ann)

    assert ann.owned == {("u", 0)}
    assert room.member("ann").topic_names == {"u"}


def test_a_new_target_is_computed_no_sooner_than_the_interval_allows() -> None:
    room = Room({"t": 2}, group_consumer_assignment_interval_ms=1_000)
    ann = room.consumer("ann")

    bob = room.consumer("bob")

    assert (room.group.epoch, room.group.target_epoch) == (3, 2)
    assert (bob.epoch, bob.owned) == (2, set())
    assert room.group.state_name == "Assigning"
    room.now = START + 1_000
    room.settle(ann, bob)
    assert room.group.target_epoch == 3
    assert len(bob.owned) == 1


def test_most_members_decide_on_the_assignor() -> None:
    room = Room({"t": 4, "u": 4})
    first = room.consumer("ann", ["t", "u"], assignor="range")
    second = room.consumer("bob", ["t", "u"], assignor="range")
    third = room.consumer("cid", ["t", "u"], assignor="uniform")

    room.settle(first, second, third)

    assert room.group.assignor == "range"
    assert first.owned == {("t", 0), ("t", 1), ("u", 0), ("u", 1)}


# Topics.


def test_new_partitions_are_found_at_the_next_heartbeat() -> None:
    room = Room({"t": 1})
    ann = room.consumer("ann")
    before = room.group.metadata_hash

    room.change_topics({"t": 3})
    room.settle(ann)

    assert ann.owned == {("t", 0), ("t", 1), ("t", 2)}
    assert room.group.metadata_hash != before
    assert room.group.epoch == 3


def test_a_topic_that_nobody_subscribes_to_changes_nothing() -> None:
    room = Room({"t": 1})
    ann = room.consumer("ann")
    written = len(room.log)

    room.change_topics({"t": 1, "other": 5})
    ann.beat()

    assert len(room.log) == written


def test_a_topic_may_come_after_its_subscribers_and_go_before_them() -> None:
    room = Room({})
    ann = room.consumer("ann")
    assert (ann.owned, room.group.metadata_hash) == (set(), 0)

    room.change_topics({"t": 2})
    room.settle(ann)
    assert ann.owned == {("t", 0), ("t", 1)}

    room.change_topics({})
    room.settle(ann)
    assert (room.member("ann").assigned, room.group.metadata_hash) == ({}, 0)


def test_a_group_that_was_loaded_finds_out_what_changed_meanwhile() -> None:
    room = Room({"t": 1})
    ann = room.consumer("ann")
    room.image = room._image({"t": 2})

    room.restart()
    room.settle(ann)

    assert ann.owned == {("t", 0), ("t", 1)}


# Commits.


def test_commits_are_checked_against_the_epoch_of_each_partition() -> None:
    room = Room({"t": 2})
    ann, bob = room.consumer("ann"), room.consumer("bob")
    room.settle(ann, bob)
    (kept,) = ann.owned
    (lost,) = bob.owned
    first_epoch = room.member("ann").assigned[T][kept[1]]

    def check(member_id: str, epoch: int) -> object:
        return room.group.check_commit(member_id, None, epoch, is_transactional=False, version=9)

    assert check("ann", ann.epoch) is None
    assert error_of(lambda: check("ann", ann.epoch + 1)) is ErrorCode.STALE_MEMBER_EPOCH
    assert error_of(lambda: check("cid", 1)) is ErrorCode.UNKNOWN_MEMBER_ID
    of_partition = check("ann", first_epoch)
    assert callable(of_partition)
    of_partition("t", T, kept[1])
    assert error_of(lambda: of_partition("t", T, lost[1])) is ErrorCode.STALE_MEMBER_EPOCH
    too_old = check("ann", first_epoch - 1)
    assert callable(too_old)
    assert error_of(lambda: too_old("t", T, kept[1])) is ErrorCode.STALE_MEMBER_EPOCH


def test_old_versions_of_a_commit_cannot_carry_an_epoch() -> None:
    room = Room()
    ann = room.consumer("ann")

    def check() -> None:
        room.group.check_commit("ann", None, ann.epoch, is_transactional=False, version=8)

    assert error_of(check) is ErrorCode.UNSUPPORTED_VERSION


def test_offsets_are_read_by_anybody_without_a_name_and_by_members_in_their_epoch() -> None:
    room = Room()
    ann = room.consumer("ann")

    room.group.check_fetch(None, -1)
    room.group.check_fetch("ann", ann.epoch)

    stale = ErrorCode.STALE_MEMBER_EPOCH
    assert error_of(lambda: room.group.check_fetch("ann", ann.epoch - 1)) is stale
    assert error_of(lambda: room.group.check_fetch("bob", 1)) is ErrorCode.UNKNOWN_MEMBER_ID
