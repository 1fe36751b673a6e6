"""What a group agrees on: the protocol that it goes by, and how many may be in it."""

import pytest

from coordinator.group.classic.room import SESSION, Room
from klamm.base.errors import ErrorCode
from klamm.coordinator.group.classic.states import State
from klamm.protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol

# Protocols.


def test_the_protocol_with_most_votes_wins() -> None:
    room = Room()
    room.add(protocols=("range", "sticky"))
    room.add(protocols=("sticky", "range"))
    _, token = room.add(protocols=("sticky", "range", "other"))

    room.close_round()

    assert room.answer(token).protocol_name == "sticky"


def test_a_vote_goes_to_what_everybody_knows() -> None:
    room = Room()
    room.add(protocols=("mine", "range"))
    _, token = room.add(protocols=("yours", "range"))

    room.close_round()

    assert room.answer(token).protocol_name == "range"


def test_a_member_without_a_common_protocol_is_refused() -> None:
    room = Room()
    room.stable()

    token = room.join(protocols=("roundrobin",))

    assert room.error(token) is ErrorCode.INCONSISTENT_GROUP_PROTOCOL


def test_a_member_of_another_protocol_type_is_refused() -> None:
    room = Room()
    room.stable()

    token = room.join(protocol_type="connect")

    assert room.error(token) is ErrorCode.INCONSISTENT_GROUP_PROTOCOL


@pytest.mark.parametrize("protocol_type", ["consumer", "connect", "sr", "my own"])
def test_an_empty_group_takes_any_protocol_type(protocol_type: str) -> None:
    room = Room()
    (member_id,) = room.stable()
    room.leave(member_id)

    _, token = room.add(protocol_type=protocol_type, protocols=("any",))
    room.close_round()

    assert room.answer(token).protocol_type == protocol_type
    assert room.group.protocol_type == protocol_type


@pytest.mark.parametrize(
    "join", [{"protocols": ()}, {"protocol_type": ""}], ids=["no protocol", "no type"]
)
def test_a_member_that_can_do_nothing_is_refused(join: dict[str, str]) -> None:
    room = Room()

    assert room.error(room.join(**join)) is ErrorCode.INCONSISTENT_GROUP_PROTOCOL  # type: ignore[arg-type]


def test_a_protocol_that_leaves_with_its_last_member_may_be_chosen_no_more() -> None:
    room = Room()
    first, second = room.stable(2, protocols=("range", "sticky"))
    room.join(first, protocols=("sticky",))
    token = room.join(second, protocols=("range", "sticky"))

    assert room.answer(token).protocol_name == "sticky"


def test_a_protocol_that_is_named_twice_counts_once() -> None:
    room = Room()
    twice = [JoinGroupRequestProtocol(name="range", metadata=m) for m in (b"1", b"2")]
    request = JoinGroupRequest(
        group_id="group",
        session_timeout_ms=SESSION,
        rebalance_timeout_ms=-1,
        protocol_type="consumer",
        protocols=twice,
    )

    token = room.ask_join(request, version=3)
    room.close_round()

    assert room.answer(token).protocol_name == "range"
    assert [member.metadata for member in room.answer(token).members] == [b"1"]


# Size.


def test_a_full_group_takes_nobody() -> None:
    room = Room(group_max_size=2)
    room.stable(2)

    assert room.error(room.join()) is ErrorCode.GROUP_MAX_SIZE_REACHED


def test_a_full_round_takes_nobody() -> None:
    room = Room(group_max_size=2)
    room.add()
    room.add()

    token = room.join()

    assert room.error(token) is ErrorCode.GROUP_MAX_SIZE_REACHED
    assert room.answer(token).member_id == ""


def test_members_of_a_full_group_may_join_again() -> None:
    room = Room(group_max_size=2)
    first, second = room.stable(2)

    tokens = room.join(first), room.join(second)

    assert [room.error(token) for token in tokens] == [ErrorCode.NONE, ErrorCode.NONE]


def test_the_last_to_join_are_out_when_the_limit_was_lowered() -> None:
    room = Room()
    first, second, third = room.stable(3)

    room.restart(group_max_size=2)
    assert room.group.state is State.PREPARING_REBALANCE
    room.join(third)
    room.join(first)
    token = room.join(second)

    assert room.error(token) is ErrorCode.GROUP_MAX_SIZE_REACHED
    assert set(room.group.members) == {first, third}
