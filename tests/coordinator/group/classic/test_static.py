"""Static members (KIP-345): they go by an instance id, and may come back without a round."""

import re

import pytest

from coordinator.group.classic.room import REBALANCE, SESSION, Room
from klamm.base.errors import ApiError, ErrorCode
from klamm.coordinator.group.classic.states import State


def test_a_static_member_is_named_after_its_instance_and_is_in_at_once() -> None:
    room = Room()

    token = room.join(instance="one")
    room.close_round()

    answer = room.answer(token)
    assert re.fullmatch("one-[0-9a-f-]{36}", answer.member_id)
    assert [(m.member_id, m.group_instance_id) for m in answer.members] == [
        (answer.member_id, "one")
    ]


def test_a_follower_comes_back_without_a_round() -> None:
    room = Room()
    leader, old = room.static("one", "two")

    answer = room.answer(room.join(instance="two"))

    assert (answer.error_code, answer.generation_id, answer.leader) == (0, 1, leader)
    assert (answer.skip_assignment, answer.members) == (False, [])
    assert answer.member_id != old
    assert room.group.state is State.STABLE
    assert [m.member_id for m in room.written().members] == [leader, answer.member_id]


def test_who_comes_back_gets_what_it_had() -> None:
    room = Room()
    _, old = room.static("one", "two")
    new = room.answer(room.join(instance="two")).member_id

    token = room.sync(new, 1, instance="two")

    assert room.answer(token).assignment == old.encode()


def test_a_leader_that_comes_back_skips_the_assignment() -> None:
    room = Room()
    _, follower = room.static("one", "two")

    answer = room.answer(room.join(instance="one"))

    assert answer.leader == answer.member_id
    assert answer.skip_assignment
    assert [m.member_id for m in answer.members] == [follower, answer.member_id]


def test_a_leader_that_came_back_leads_the_next_round_too() -> None:
    room = Room()
    _, follower = room.static("one", "two")
    leader = room.answer(room.join(instance="one")).member_id

    room.join(leader, instance="one")
    token = room.join(follower, instance="two")

    assert room.answer(token).leader == leader


def test_an_old_leader_that_comes_back_does_not_know_that_it_leads() -> None:
    room = Room()
    old, _ = room.static("one", "two")

    answer = room.answer(room.join(instance="one", version=8))

    assert (answer.leader, answer.members, answer.skip_assignment) == (old, [], False)
    assert room.group.leader_id == answer.member_id


def test_the_predecessor_is_fenced() -> None:
    room = Room()
    (old,) = room.static("one")
    room.join(instance="one")

    assert room.heartbeat(old, 1, instance="one") is ErrorCode.FENCED_INSTANCE_ID
    assert room.error(room.sync(old, 1, instance="one")) is ErrorCode.FENCED_INSTANCE_ID
    assert room.error(room.join(old, instance="one")) is ErrorCode.FENCED_INSTANCE_ID
    assert room.leave((old, "one")) == [ErrorCode.FENCED_INSTANCE_ID]
    with pytest.raises(ApiError) as raised:
        room.group.check_commit(old, "one", 1, is_transactional=False, version=9)
    assert raised.value.code is ErrorCode.FENCED_INSTANCE_ID
    assert room.heartbeat(old, 1) is ErrorCode.UNKNOWN_MEMBER_ID


def test_a_predecessor_that_waits_is_fenced_at_once() -> None:
    room = Room()
    first, old = room.static("one", "two")
    waits = room.join(old, instance="two", protocols={"range": b"new"})

    token = room.join(instance="two")

    assert room.error(waits) is ErrorCode.FENCED_INSTANCE_ID
    assert room.answer(waits).member_id == old
    room.join(first, instance="one")
    assert room.answer(token).generation_id == 2


def test_a_predecessor_that_waits_for_its_assignment_is_fenced_and_the_round_is_void() -> None:
    room = Room()
    tokens = [room.join(instance="one"), room.join(instance="two")]
    room.close_round()
    old = room.answer(tokens[1]).member_id
    waits = room.sync(old, 1, instance="two")

    room.join(instance="two")

    assert room.error(waits) is ErrorCode.FENCED_INSTANCE_ID
    assert room.group.state is State.PREPARING_REBALANCE


def test_coming_back_with_another_choice_of_protocol_makes_a_round() -> None:
    room = Room()
    (_first,) = room.static("one", protocols=("range", "sticky"))

    token = room.join(instance="one", protocols=("sticky", "range"))

    answer = room.answer(token)
    assert (answer.generation_id, answer.protocol_name) == (2, "sticky")
    assert not answer.skip_assignment


def test_the_metadata_of_who_came_back_is_written() -> None:
    room = Room()
    room.static("one")

    room.join(instance="one", protocols={"range": b"other"}, session=7_000, rebalance=8_000)

    (written,) = room.written().members
    assert written.subscription == b"other"
    assert (written.session_timeout, written.rebalance_timeout) == (7_000, 8_000)


def test_an_instance_nobody_knows_is_refused() -> None:
    room = Room()
    (first,) = room.static("one")

    assert room.error(room.join(first, instance="two")) is ErrorCode.UNKNOWN_MEMBER_ID


def test_a_pending_member_cannot_turn_static() -> None:
    room = Room()
    given = room.answer(room.join()).member_id

    assert room.error(room.join(given, instance="one")) is ErrorCode.UNKNOWN_SERVER_ERROR


def test_a_static_member_that_is_away_keeps_its_place_in_the_next_round() -> None:
    room = Room()
    first, second = room.static("one", "two", session=REBALANCE * 2)
    token = room.join(first, instance="one", session=REBALANCE * 2)

    room.advance(REBALANCE)

    assert [m.member_id for m in room.answer(token).members] == [first, second]


def test_a_static_member_that_is_away_is_out_after_its_session() -> None:
    room = Room()
    first, _second = room.static("one", "two")

    room.advance(SESSION - 1)
    room.heartbeat(first, 1, instance="one")
    room.advance(1)

    assert list(room.group.members) == [first]
    assert room.group.static_ids == {"one": first}


def test_a_round_that_no_static_member_joins_stays_open_until_one_does() -> None:
    room = Room()
    first, _second = room.static("one", "two", session=REBALANCE * 4)
    room.leave(("", "two"))
    room.join(first, instance="one", session=REBALANCE * 4)
    room.settle([first])
    third = room.join(instance="three", session=REBALANCE * 4)
    room.leave(("", "three"))
    assert room.error(third) is ErrorCode.UNKNOWN_MEMBER_ID

    room.advance(REBALANCE * 2)
    assert room.group.state is State.PREPARING_REBALANCE

    token = room.join(first, instance="one", session=REBALANCE * 4)
    assert room.error(token) is ErrorCode.NONE


def test_an_administrator_removes_a_member_by_its_instance() -> None:
    room = Room()
    first, _second = room.static("one", "two")

    codes = room.leave(("", "two"), ("", "nobody"), ("", None))

    assert codes == [
        ErrorCode.NONE,
        ErrorCode.UNKNOWN_MEMBER_ID,
        ErrorCode.UNKNOWN_MEMBER_ID,
    ]
    assert list(room.group.members) == [first]


def test_two_come_back_one_after_the_other() -> None:
    room = Room()
    room.static("one", "two")

    answers = [room.answer(room.join(instance=name)) for name in ("one", "two", "one")]

    assert [answer.generation_id for answer in answers] == [1, 1, 1]
    assert [answer.skip_assignment for answer in answers] == [True, False, True]
    assert room.group.state is State.STABLE


def test_who_comes_back_must_ask_for_its_assignment_like_the_others() -> None:
    room = Room()
    tokens = [room.join(instance=name, session=REBALANCE * 2) for name in ("one", "two")]
    room.close_round()
    first, second = (room.answer(token).member_id for token in tokens)
    room.sync(first, 1, {second: b"part"}, instance="one")

    new = room.answer(room.join(instance="two", session=REBALANCE * 2)).member_id
    assert room.answer(room.sync(new, 1, instance="two")).assignment == b"part"
    room.advance(REBALANCE)

    assert room.group.state is State.STABLE
