"""SyncGroup, Heartbeat and LeaveGroup of dynamic members, and who may commit."""

import pytest

from coordinator.group.classic.room import REBALANCE, SESSION, Room
from klamm.base.errors import ApiError, ErrorCode
from klamm.coordinator.group.classic.states import State
from klamm.coordinator.group.draft import Draft

# SyncGroup.


def test_followers_wait_for_the_leader() -> None:
    room = Room()
    leader, follower = room.form(2)
    waits = room.sync(follower, 1)
    assert waits in room.waiting

    token = room.sync(leader, 1, {leader: b"left", follower: b"right"})

    assert room.answer(token).assignment == b"left"
    assert room.answer(waits).assignment == b"right"
    assert room.answer(waits).protocol_type == "consumer"
    assert room.answer(waits).protocol_name == "range"


def test_a_late_follower_gets_its_part_of_a_stable_group() -> None:
    room = Room()
    leader, follower = room.form(2)
    room.sync(leader, 1, {leader: b"left", follower: b"right"})

    assert room.answer(room.sync(follower, 1)).assignment == b"right"


def test_whom_the_leader_forgot_gets_nothing() -> None:
    room = Room()
    leader, follower = room.form(2)
    room.sync(leader, 1, {leader: b"all", "a ghost": b"nothing"})

    assert room.answer(room.sync(follower, 1)).assignment == b""
    assert {m.member_id: m.assignment for m in room.written().members} == {
        leader: b"all",
        follower: b"",
    }


def test_the_assignment_of_another_round_is_refused() -> None:
    room = Room()
    (leader,) = room.form()

    assert room.error(room.sync(leader, 2)) is ErrorCode.ILLEGAL_GENERATION
    assert room.error(room.sync(leader, 0)) is ErrorCode.ILLEGAL_GENERATION


def test_nobody_gets_an_assignment_while_a_round_forms() -> None:
    room = Room()
    first, second = room.stable(2)
    room.join(first)

    assert room.error(room.sync(second, 1)) is ErrorCode.REBALANCE_IN_PROGRESS


def test_a_stranger_gets_no_assignment() -> None:
    room = Room()
    room.form()

    assert room.error(room.sync("stranger", 1)) is ErrorCode.UNKNOWN_MEMBER_ID


def test_there_is_no_assignment_in_an_empty_group_or_none() -> None:
    room = Room()
    assert room.error(room.sync("stranger", 1)) is ErrorCode.UNKNOWN_MEMBER_ID

    (member_id,) = room.stable()
    room.leave(member_id)

    assert room.error(room.sync(member_id, 1)) is ErrorCode.UNKNOWN_MEMBER_ID


@pytest.mark.parametrize(
    "sync",
    [{"protocol": "roundrobin"}, {"protocol_type": "connect"}],
    ids=["other protocol", "other type"],
)
def test_a_member_that_means_another_protocol_is_refused(sync: dict[str, str]) -> None:
    room = Room()
    (leader,) = room.form()

    assert room.error(room.sync(leader, 1, **sync)) is ErrorCode.INCONSISTENT_GROUP_PROTOCOL  # type: ignore[arg-type]


def test_old_clients_need_not_say_which_protocol_they_mean() -> None:
    room = Room()
    (leader,) = room.form()

    token = room.sync(leader, 1, {leader: b"all"}, protocol=None, protocol_type=None)

    assert room.answer(token).assignment == b"all"


def test_who_waits_for_the_leader_is_sent_back_when_a_new_round_begins() -> None:
    room = Room()
    _leader, follower = room.form(2)
    waits = room.sync(follower, 1)

    room.add()

    assert room.error(waits) is ErrorCode.REBALANCE_IN_PROGRESS
    assert room.answer(waits).assignment == b""


def test_a_member_that_asks_twice_has_its_first_request_sent_back() -> None:
    room = Room()
    leader, follower = room.form(2)
    lost = room.sync(follower, 1)
    token = room.sync(follower, 1)

    room.sync(leader, 1, {follower: b"mine"})

    assert room.error(lost) is ErrorCode.REBALANCE_IN_PROGRESS
    assert room.answer(token).assignment == b"mine"


def test_a_follower_that_waits_for_the_leader_is_alive() -> None:
    room = Room()
    leader, follower = room.form(2)
    waits = room.sync(follower, 1)

    room.advance(SESSION - 1)
    room.heartbeat(leader, 1)
    room.advance(SESSION - 1)
    assert follower in room.group.members
    room.sync(leader, 1, {})

    assert room.error(waits) is ErrorCode.NONE
    room.advance(SESSION - 1)
    assert follower in room.group.members
    room.advance(1)
    assert follower not in room.group.members


def test_a_member_of_a_stable_group_that_never_asks_is_out_after_the_rebalance_timeout() -> None:
    room = Room()
    leader, _follower = room.form(2, session=REBALANCE * 2)
    room.sync(leader, 1, {})

    room.advance(REBALANCE)

    assert list(room.group.members) == [leader]
    assert room.group.state is State.PREPARING_REBALANCE


# Heartbeat.


def test_a_member_hears_of_a_new_round() -> None:
    room = Room()
    first, second = room.stable(2)
    assert room.heartbeat(second, 1) is ErrorCode.NONE

    room.join(first)

    assert room.heartbeat(second, 1) is ErrorCode.REBALANCE_IN_PROGRESS


def test_a_heartbeat_before_the_assignment_is_fine() -> None:
    room = Room()
    (member_id,) = room.form()

    assert room.heartbeat(member_id, 1) is ErrorCode.NONE


def test_a_heartbeat_of_another_generation_is_refused() -> None:
    room = Room()
    (member_id,) = room.stable()

    assert room.heartbeat(member_id, 2) is ErrorCode.ILLEGAL_GENERATION


def test_a_heartbeat_of_a_stranger_is_refused() -> None:
    room = Room()
    assert room.heartbeat("stranger", 1) is ErrorCode.UNKNOWN_MEMBER_ID

    given = room.answer(room.join()).member_id

    assert room.heartbeat(given, 0) is ErrorCode.UNKNOWN_MEMBER_ID


def test_heartbeats_keep_a_member_for_ever() -> None:
    room = Room()
    (member_id,) = room.stable()

    for _ in range(20):
        room.advance(SESSION - 1)
        assert room.heartbeat(member_id, 1) is ErrorCode.NONE


def test_heartbeats_while_a_round_forms_keep_a_member() -> None:
    room = Room()
    first, second = room.stable(2)
    room.join(first)
    room.advance(SESSION - 1)

    assert room.heartbeat(second, 1) is ErrorCode.REBALANCE_IN_PROGRESS
    room.advance(SESSION - 1)

    assert second in room.group.members


def test_a_commit_keeps_a_member_as_a_heartbeat_does() -> None:
    room = Room()
    (member_id,) = room.stable()
    room.advance(SESSION - 1)

    room.shard.classic.renew_session(room.group, member_id, room.now)
    room.advance(SESSION - 1)

    assert member_id in room.group.members


def test_a_member_that_waits_for_the_round_is_alive() -> None:
    room = Room()
    first, second = room.stable(2)
    room.join(first)

    for _ in range(4):
        room.advance(SESSION - 1)
        room.heartbeat(second, 1)

    assert first in room.group.members


@pytest.mark.parametrize("days", [-400, 400])
def test_who_sets_the_clock_ends_no_session(days: int) -> None:
    room = Room()
    (member_id,) = room.stable()

    room.wall_ahead = days * 86_400_000
    room.advance(SESSION - 1)
    assert room.heartbeat(member_id, 1) is ErrorCode.NONE
    assert member_id in room.group.members

    room.advance(SESSION)
    assert member_id not in room.group.members


# LeaveGroup.


def test_members_may_leave_together() -> None:
    room = Room()
    first, second, third = room.stable(3)

    assert room.leave(first, "stranger", second, second) == [
        ErrorCode.NONE,
        ErrorCode.UNKNOWN_MEMBER_ID,
        ErrorCode.NONE,
        ErrorCode.UNKNOWN_MEMBER_ID,
    ]

    assert list(room.group.members) == [third]
    assert room.group.leader_id == third


def test_nothing_happens_when_nobody_leaves() -> None:
    room = Room()
    room.stable()

    assert room.leave("stranger") == [ErrorCode.UNKNOWN_MEMBER_ID]
    assert room.leave() == []

    assert room.group.state is State.STABLE


def test_the_round_closes_when_the_last_that_was_missing_leaves() -> None:
    room = Room()
    first, second = room.stable(2)
    token = room.join(first)

    room.leave(second)

    assert room.answer(token).generation_id == 2


def test_who_is_removed_is_told_so_whatever_it_waits_for() -> None:
    room = Room()
    first, second = room.form(2)
    waits = room.sync(second, 1)
    room.leave(second)
    token = room.join(first)

    assert room.error(waits) is ErrorCode.UNKNOWN_MEMBER_ID
    third, joins = room.add()
    room.leave(third)

    assert room.error(joins) is ErrorCode.UNKNOWN_MEMBER_ID
    assert room.error(token) is ErrorCode.NONE


def test_nobody_can_leave_a_group_that_is_not_there() -> None:
    assert Room().leave("stranger") == [ErrorCode.UNKNOWN_MEMBER_ID]


@pytest.mark.parametrize("is_forming", [True, False])
def test_who_waits_is_told_to_join_again_when_the_group_becomes_one_of_another_kind(
    is_forming: bool,
) -> None:
    room = Room()
    _, follower = room.stable(2) if is_forming else room.form(2)
    changed = {"range": b"new"}
    waits = room.join(follower, protocols=changed) if is_forming else room.sync(follower, 1)
    assert room.waiting == {waits}
    draft = Draft()

    room.shard.classic.dissolve(room.group, draft)
    room.carry_out(draft.outcome())

    assert room.error(waits) is ErrorCode.REBALANCE_IN_PROGRESS
    assert len(room.shard.deadlines) == 1  # the offsets' own


# Who may commit.


def commit(room: Room, member_id: str, generation: int, **more: object) -> ErrorCode:
    facts = {"is_transactional": False, "version": 9, **more}
    try:
        room.group.check_commit(member_id, None, generation, **facts)  # type: ignore[arg-type]
    except ApiError as e:
        return e.code
    return ErrorCode.NONE


def test_a_member_of_this_generation_may_commit() -> None:
    room = Room()
    first, second = room.stable(2)
    assert commit(room, first, 1) is ErrorCode.NONE

    room.join(first)

    # Before it joins again it hands in what it has done.
    assert commit(room, second, 1) is ErrorCode.NONE


def test_a_member_of_an_old_generation_may_not_commit() -> None:
    room = Room()
    first, second = room.stable(2)
    room.join(first)
    room.join(second)
    room.settle([first, second])

    assert commit(room, first, 1) is ErrorCode.ILLEGAL_GENERATION
    assert commit(room, "stranger", 2) is ErrorCode.UNKNOWN_MEMBER_ID


def test_nobody_may_commit_before_the_assignment() -> None:
    room = Room()
    (member_id,) = room.form()

    assert commit(room, member_id, 1) is ErrorCode.REBALANCE_IN_PROGRESS
    assert commit(room, member_id, 1, is_transactional=True) is ErrorCode.NONE


def test_who_says_something_about_itself_must_say_all_of_it() -> None:
    room = Room()
    (member_id,) = room.stable()

    for is_transactional in (False, True):
        facts = {"is_transactional": is_transactional}
        assert commit(room, "", 1, **facts) is ErrorCode.UNKNOWN_MEMBER_ID
        assert commit(room, member_id, -1, **facts) is ErrorCode.ILLEGAL_GENERATION


def test_who_is_no_member_may_commit_to_an_empty_group_only() -> None:
    room = Room()
    (member_id,) = room.stable()
    assert commit(room, "", -1) is ErrorCode.UNKNOWN_MEMBER_ID
    # Old transactional producers do not say who they are.
    assert commit(room, "", -1, is_transactional=True) is ErrorCode.NONE

    room.leave(member_id)

    assert commit(room, "", -1) is ErrorCode.NONE
    assert commit(room, "", 0) is ErrorCode.UNKNOWN_MEMBER_ID
    assert commit(room, member_id, 1) is ErrorCode.UNKNOWN_MEMBER_ID


@pytest.mark.parametrize(("protocol_type", "is_allowed"), [("consumer", True), ("connect", False)])
def test_single_offsets_of_a_running_group_can_go_if_its_topics_can_be_known(
    protocol_type: str, is_allowed: bool
) -> None:
    room = Room()
    (member_id,) = room.form(1, protocol_type=protocol_type)

    if is_allowed:
        room.group.check_offset_delete()
    else:
        with pytest.raises(ApiError) as raised:
            room.group.check_offset_delete()
        assert raised.value.code is ErrorCode.NON_EMPTY_GROUP

    room.leave(member_id)
    room.group.check_offset_delete()
