"""JoinGroup: who gets in, when the round closes, who leads it and by which protocol."""

import re

import pytest

from coordinator.group.classic.room import DELAY, REBALANCE, SESSION, START, Room
from klamm.base.errors import ErrorCode
from klamm.coordinator.group.classic.rebalance import NEW_MEMBER_JOIN_TIMEOUT_MS
from klamm.coordinator.group.classic.states import State

UUID = "[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"


# Ids.


def test_a_new_member_is_named_after_its_client_and_must_come_again() -> None:
    room = Room()

    token = room.join(client="app")

    answer = room.answer(token)
    assert room.error(token) is ErrorCode.MEMBER_ID_REQUIRED
    assert re.fullmatch(f"app-{UUID}", answer.member_id)
    assert room.group.members == {}
    assert room.group.state is State.EMPTY


def test_a_new_member_of_an_old_version_is_in_at_once() -> None:
    room = Room()

    token = room.join(version=3)
    room.advance(DELAY)

    answer = room.answer(token)
    assert (answer.error_code, answer.generation_id) == (0, 1)
    assert answer.leader == answer.member_id


def test_the_first_version_has_one_timeout_for_session_and_rebalance() -> None:
    room = Room()

    room.join(version=0, rebalance=-1)

    (member,) = room.group.members.values()
    assert (member.session_timeout_ms, member.rebalance_timeout_ms) == (SESSION, SESSION)


def test_an_id_that_was_given_out_is_forgotten_after_a_session() -> None:
    room = Room()
    member_id = room.answer(room.join()).member_id

    room.advance(SESSION)

    assert room.error(room.join(member_id)) is ErrorCode.UNKNOWN_MEMBER_ID


def test_an_id_that_was_given_out_is_good_for_a_session() -> None:
    room = Room()
    member_id = room.answer(room.join()).member_id

    room.advance(SESSION - 1)
    token = room.join(member_id)
    room.close_round()

    assert room.answer(token).member_id == member_id


def test_an_id_that_was_given_out_holds_the_round_open() -> None:
    room = Room()
    (first,) = room.stable(session=REBALANCE * 2)
    given = room.answer(room.join()).member_id
    token = room.join(first, session=REBALANCE * 2)
    assert token in room.waiting

    room.advance(SESSION)

    assert room.error(token) is ErrorCode.NONE
    assert given not in room.group.pending_joins


def test_an_id_that_was_given_out_may_leave() -> None:
    room = Room()
    (first,) = room.stable()
    given = room.answer(room.join()).member_id
    token = room.join(first)

    assert room.leave(given) == [ErrorCode.NONE]

    assert room.error(token) is ErrorCode.NONE


def test_a_member_nobody_knows_is_told_so() -> None:
    room = Room()
    room.stable()

    assert room.error(room.join("stranger")) is ErrorCode.UNKNOWN_MEMBER_ID


def test_a_member_of_a_group_nobody_knows_does_not_make_one() -> None:
    room = Room()

    token = room.join("stranger")

    assert room.error(token) is ErrorCode.UNKNOWN_MEMBER_ID
    assert room.answer(token).member_id == "stranger"
    assert room.shard.groups == {}
    assert room.log == []


def test_a_member_of_an_empty_group_must_begin_anew() -> None:
    room = Room()
    (member_id,) = room.stable()
    room.leave(member_id)

    assert room.error(room.join(member_id)) is ErrorCode.UNKNOWN_MEMBER_ID


@pytest.mark.parametrize(("version", "name"), [(6, ""), (7, None)])
def test_a_refusal_names_no_protocol_as_its_version_can_say_it(
    version: int, name: str | None
) -> None:
    room = Room()

    token = room.join("stranger", version=version)

    assert room.answer(token).protocol_name == name


# Writing.


def test_a_new_group_is_written_before_it_has_members() -> None:
    room = Room()

    room.join()

    value = room.written()
    assert (value.protocol_type, value.protocol, value.leader) == ("", None, None)
    assert (value.generation, value.members) == (0, [])
    assert value.current_state_timestamp == START


def test_a_group_that_becomes_empty_is_written() -> None:
    room = Room()
    (member_id,) = room.stable()

    room.leave(member_id)

    value = room.written()
    assert (value.protocol_type, value.protocol, value.leader) == ("consumer", None, None)
    assert (value.generation, value.members) == (2, [])
    assert value.current_state_timestamp == room.now


# The first round.


def test_the_first_round_waits_for_others() -> None:
    room = Room()
    _first, first_token = room.add()
    room.advance(DELAY - 1)
    assert first_token in room.waiting

    room.advance(1)

    assert room.answer(first_token).generation_id == 1


def test_the_first_round_waits_again_while_members_keep_coming() -> None:
    room = Room()
    tokens = [room.add(session=REBALANCE)[1]]
    for _ in range(3):
        room.advance(DELAY - 1)
        tokens.append(room.add(session=REBALANCE)[1])
        room.advance(1)
        assert set(tokens) == room.waiting

    room.advance(DELAY)

    assert {room.answer(token).generation_id for token in tokens} == {1}


def test_the_first_round_waits_no_longer_than_the_rebalance_timeout() -> None:
    room = Room()
    tokens = [room.add(rebalance=7_000)[1]]
    for _ in range(6):
        room.advance(1_000)
        tokens.append(room.add(rebalance=7_000)[1])
    assert set(tokens) == room.waiting

    room.advance(1_000)

    assert all(room.error(token) is ErrorCode.NONE for token in tokens)


def test_a_group_that_was_empty_waits_as_a_new_one_does() -> None:
    room = Room()
    (member_id,) = room.stable()
    room.leave(member_id)

    _, token = room.add()

    assert token in room.waiting
    room.advance(DELAY)
    assert room.answer(token).generation_id == 3


def test_who_joined_a_later_round_does_not_make_the_next_first_one_longer() -> None:
    room = Room()
    (first,) = room.stable()
    second, _ = room.add()
    room.join(first)
    room.leave(first, second)

    _, token = room.add()
    room.advance(DELAY)

    assert room.error(token) is ErrorCode.NONE


# Closing.


def test_only_the_leader_hears_of_the_others() -> None:
    room = Room()
    first, first_token = room.add(protocols={"range": b"one"})
    second, second_token = room.add(protocols={"range": b"two"})

    room.close_round()

    leader, follower = room.answer(first_token), room.answer(second_token)
    assert [(m.member_id, m.metadata) for m in leader.members] == [
        (first, b"one"),
        (second, b"two"),
    ]
    assert (follower.members, follower.leader, follower.member_id) == ([], first, second)
    assert (leader.protocol_type, leader.protocol_name) == ("consumer", "range")


def test_a_member_that_did_not_join_again_is_out() -> None:
    room = Room()
    first, second = room.stable(2, session=REBALANCE * 2)
    _, token = room.add(session=REBALANCE * 2)
    room.join(second, session=REBALANCE * 2)

    room.advance(REBALANCE)

    assert room.answer(token).generation_id == 2
    assert first not in room.group.members
    assert room.heartbeat(first, 1) is ErrorCode.UNKNOWN_MEMBER_ID


def test_the_lead_goes_to_one_that_has_joined() -> None:
    room = Room()
    _first, second = room.stable(2, session=REBALANCE * 2)
    token = room.join(second, protocols={"range": b"new"}, session=REBALANCE * 2)

    room.advance(REBALANCE)

    assert room.answer(token).leader == second


def test_the_leader_stays_while_it_joins() -> None:
    room = Room()
    first, second = room.stable(2)
    token = room.join(second, protocols={"range": b"new"})

    room.join(first)

    assert room.answer(token).leader == first


def test_a_round_is_as_long_as_its_most_patient_member_asks_for() -> None:
    room = Room()
    first, second = room.form(2, session=REBALANCE * 3)
    room.settle([first, second])
    room.join(first, rebalance=REBALANCE * 2, session=REBALANCE * 3)

    room.advance(REBALANCE * 2 - 1)
    assert room.group.state is State.PREPARING_REBALANCE

    room.advance(1)
    assert room.group.state is State.COMPLETING_REBALANCE


def test_a_new_member_that_waits_too_long_is_given_up() -> None:
    room = Room()
    _first, _ = room.stable(2, session=REBALANCE * 20, rebalance=REBALANCE * 15)
    _, token = room.add(rebalance=REBALANCE * 15)

    room.advance(NEW_MEMBER_JOIN_TIMEOUT_MS)

    assert room.error(token) is ErrorCode.UNKNOWN_MEMBER_ID
    assert room.answer(token).member_id == ""


def test_a_member_that_joins_twice_has_its_first_request_sent_back() -> None:
    room = Room()
    first, second = room.stable(2)
    lost = room.join(first)

    token = room.join(first)
    room.join(second)

    assert room.error(lost) is ErrorCode.REBALANCE_IN_PROGRESS
    assert room.answer(token).generation_id == 2


def test_a_formed_round_answers_who_joins_again_with_the_same() -> None:
    room = Room()
    first, second = room.form(2)

    again, follower = room.answer(room.join(first)), room.answer(room.join(second))

    assert [m.member_id for m in again.members] == [first, second]
    assert (follower.members, follower.generation_id) == ([], 1)
    assert room.group.state is State.COMPLETING_REBALANCE


def test_generations_count_as_java_does() -> None:
    room = Room()
    (member_id,) = room.stable()
    room.group.generation = (1 << 31) - 1

    token = room.join(member_id)

    assert room.answer(token).generation_id == -(1 << 31)
