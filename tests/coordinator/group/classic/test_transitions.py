"""Each transition of a classic group by name, and that there are no others."""

from itertools import product

import pytest

from coordinator.group.classic.room import DELAY, REBALANCE, SESSION, Room
from klamm.base.errors import ErrorCode
from klamm.coordinator.group.classic.group import ClassicGroup
from klamm.coordinator.group.classic.states import MAY_FOLLOW, State


def test_empty_to_preparing_when_the_first_member_joins() -> None:
    room = Room()

    room.add()

    assert room.group.state is State.PREPARING_REBALANCE


def test_preparing_to_completing_when_all_members_have_joined() -> None:
    room = Room()
    first, second = room.stable(2)
    room.join(first, protocols={"range": b"new"})
    assert room.group.state is State.PREPARING_REBALANCE

    room.join(second)

    assert room.group.state is State.COMPLETING_REBALANCE
    assert room.group.generation == 2


def test_preparing_to_completing_when_time_is_up() -> None:
    room = Room()
    first, second = room.stable(2, session=REBALANCE * 2)
    token = room.join(first, protocols={"range": b"new"}, session=REBALANCE * 2)

    room.advance(REBALANCE - 1)
    assert room.group.state is State.PREPARING_REBALANCE
    room.advance(1)

    assert room.group.state is State.COMPLETING_REBALANCE
    assert [m.member_id for m in room.answer(token).members] == [first]
    assert second not in room.group.members


def test_preparing_to_empty_when_all_members_are_gone() -> None:
    room = Room()
    member_id, _ = room.add()

    room.leave(member_id)
    room.advance(DELAY)

    assert room.group.state is State.EMPTY
    assert (room.group.generation, room.written().generation) == (1, 1)
    assert room.written().members == []


def test_completing_to_stable_when_the_assignment_is_written() -> None:
    room = Room()
    (member_id,) = room.form()

    room.sync(member_id, 1, {member_id: b"all"})

    assert room.group.state is State.STABLE
    assert [m.assignment for m in room.written().members] == [b"all"]


def test_completing_to_preparing_when_a_member_joins() -> None:
    room = Room()
    room.form()

    room.add()

    assert room.group.state is State.PREPARING_REBALANCE


def test_completing_to_preparing_when_some_did_not_ask_for_their_assignment() -> None:
    room = Room()
    _first, second = room.form(2, session=REBALANCE * 2)
    waits = room.sync(second, 1)

    room.advance(REBALANCE)

    assert room.group.state is State.PREPARING_REBALANCE
    assert room.error(waits) is ErrorCode.REBALANCE_IN_PROGRESS
    assert list(room.group.members) == [second]


@pytest.mark.parametrize("is_stable", [False, True])
def test_to_preparing_when_a_member_leaves(is_stable: bool) -> None:
    room = Room()
    _first, second = room.stable(2) if is_stable else room.form(2)

    assert room.leave(second) == [ErrorCode.NONE]

    assert room.group.state is State.PREPARING_REBALANCE


@pytest.mark.parametrize("is_stable", [False, True])
def test_to_preparing_when_a_member_is_not_heard_of(is_stable: bool) -> None:
    room = Room()
    first, _second = room.stable(2) if is_stable else room.form(2)

    room.advance(SESSION - 1)
    room.heartbeat(first, 1)
    room.advance(1)

    assert room.group.state is State.PREPARING_REBALANCE
    assert list(room.group.members) == [first]


def test_stable_to_preparing_when_the_leader_joins_again() -> None:
    room = Room()
    first, _second = room.stable(2)

    room.join(first)

    assert room.group.state is State.PREPARING_REBALANCE


def test_stable_to_preparing_when_the_metadata_of_a_member_changed() -> None:
    room = Room()
    _first, second = room.stable(2)

    room.join(second, protocols={"range": b"other topics"})

    assert room.group.state is State.PREPARING_REBALANCE


def test_stable_stays_stable_when_a_follower_joins_as_it_was() -> None:
    room = Room()
    first, second = room.stable(2)

    token = room.join(second)

    answer = room.answer(token)
    assert (answer.error_code, answer.generation_id, answer.leader) == (0, 1, first)
    assert answer.members == []
    assert room.group.state is State.STABLE


def test_to_dead_when_the_group_is_deleted() -> None:
    room = Room()
    (member_id,) = room.stable()
    room.leave(member_id)
    group = room.group

    assert room.delete() is ErrorCode.NONE

    assert group.state is State.DEAD
    assert room.shard.groups == {}


@pytest.mark.parametrize(
    ("before", "after"),
    [(a, b) for a, b in product(State, State) if b not in MAY_FOLLOW[a]],
    ids=lambda state: state.value,
)
def test_no_other_transition_is_possible(before: State, after: State) -> None:
    group = ClassicGroup("group", state=before, since=0)

    with pytest.raises(AssertionError):
        group.become(after, 1)
