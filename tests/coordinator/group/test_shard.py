"""What the shard does for groups of all kinds: list, describe, delete; and that one alarm at a time writes."""

import pytest

from coordinator.group.classic.room import GROUP, SESSION, Room
from klamm.base.clock import Now
from klamm.base.errors import ApiError, ErrorCode
from klamm.coordinator.group.classic.states import State
from klamm.coordinator.records.group import GroupMetadataKey
from klamm.coordinator.shard import Outcome
from klamm.protocol.messages.describe_groups import DescribedGroup, DescribedGroupMember
from klamm.protocol.messages.list_groups import ListedGroup

EVERYTHING: frozenset[str] = frozenset()


def describe(room: Room) -> DescribedGroup:
    ((_, described),) = room.shard.describe_classic(GROUP, token=1).replies
    assert isinstance(described, DescribedGroup)
    return described


def test_groups_are_listed_with_state_and_type() -> None:
    room = Room()
    room.stable()

    assert room.shard.list_groups(EVERYTHING, EVERYTHING) == [
        ListedGroup(
            group_id=GROUP, protocol_type="consumer", group_state="Stable", group_type="classic"
        )
    ]


def test_groups_are_listed_by_state_and_type() -> None:
    room = Room()
    room.stable()

    def is_listed(states: set[str], types: set[str]) -> bool:
        return bool(room.shard.list_groups(states, types))

    assert is_listed({"stable", "dead"}, set())
    assert is_listed(set(), {"classic"})
    assert not is_listed({"empty"}, set())
    assert not is_listed(set(), {"consumer"})
    assert not is_listed({"stable"}, {"nonsense"})


def test_a_stable_group_is_described_with_what_its_members_told() -> None:
    room = Room()
    (member_id,) = room.stable()

    assert describe(room) == DescribedGroup(
        group_id=GROUP,
        group_state="Stable",
        protocol_type="consumer",
        protocol_data="range",
        members=[
            DescribedGroupMember(
                member_id=member_id,
                client_id="client",
                client_host="/10.0.0.1",
                member_metadata=b"meta",
                member_assignment=member_id.encode(),
            )
        ],
    )


def test_a_group_that_is_not_stable_is_described_without() -> None:
    room = Room()
    (member_id,) = room.form()

    described = describe(room)

    assert (described.group_state, described.protocol_data) == ("CompletingRebalance", "")
    assert [(m.member_id, m.member_metadata) for m in described.members] == [(member_id, b"")]


def test_a_group_that_is_not_there_cannot_be_described_or_deleted() -> None:
    room = Room()

    for ask in (room.shard.describe_classic, room.shard.delete_group):
        with pytest.raises(ApiError, match="Group none not found") as raised:
            ask("none", token=1)
        assert raised.value.code is ErrorCode.GROUP_ID_NOT_FOUND


def test_only_an_empty_group_can_be_deleted() -> None:
    room = Room()
    (member_id,) = room.stable()
    assert room.delete() is ErrorCode.NON_EMPTY_GROUP

    room.leave(member_id)

    assert room.delete() is ErrorCode.NONE
    assert room.shard.groups == {}
    assert room.written() is None


def test_a_group_with_an_id_given_out_can_be_deleted() -> None:
    room = Room()
    given = room.answer(room.join()).member_id

    assert room.delete() is ErrorCode.NONE

    assert room.error(room.join(given)) is ErrorCode.UNKNOWN_MEMBER_ID


def test_an_empty_group_without_offsets_goes_with_the_next_look_for_what_has_expired() -> None:
    room = Room()
    (member_id,) = room.stable()
    room.leave(member_id)

    room.advance(room.settings.offsets_retention_check_interval_ms)

    assert room.shard.groups == {}
    assert room.written() is None


def test_a_group_with_members_does_not_expire() -> None:
    room = Room()
    interval = room.settings.offsets_retention_check_interval_ms
    (member_id,) = room.stable(session=2 * interval)

    room.advance(interval)

    assert member_id in room.group.members


def test_an_alarm_sees_what_the_one_before_it_wrote() -> None:
    room = Room()
    room.stable(2)

    outcomes: list[Outcome] = []
    room.now += SESSION
    while (at := room.shard.deadlines.next) is not None and at <= room.now:
        outcome = room.shard.wake(room.moment)
        room.carry_out(outcome)
        outcomes.append(outcome)

    # Both sessions ended. The group is written once, when the last member is gone.
    assert [len(outcome.records) for outcome in outcomes] == [1]
    assert isinstance(outcomes[0].records[0].key, GroupMetadataKey)
    assert room.group.state is State.EMPTY


def test_waking_stops_at_the_first_alarm_that_writes() -> None:
    room = Room()
    room.stable()
    room.shard.deadlines.set(("classic", "join", "other"), room.now + SESSION)

    outcome = room.shard.wake(Now(room.now + SESSION, room.now + SESSION))

    assert len(outcome.records) == 1
    assert room.shard.deadlines.next == room.now + SESSION
