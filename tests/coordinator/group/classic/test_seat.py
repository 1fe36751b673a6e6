"""A seat answers heartbeats as long as there is nothing to say but that all is well."""

from coordinator.group.classic.room import GROUP, SESSION, Room
from klamm.coordinator.group.classic.seat import Seat


def seat_of(room: Room, member_id: str, generation: int = 1) -> Seat:
    seat = room.shard.classic.seat(GROUP, member_id, generation)
    assert seat is not None
    return seat


def test_a_heartbeat_keeps_the_member_for_another_session() -> None:
    room = Room()
    (member,) = room.stable()
    seat = seat_of(room, member)
    room.advance(SESSION - 1)

    assert seat.keep(room.now)

    room.advance(SESSION - 1)
    assert member in room.group.members
    room.advance(1)
    assert member not in room.group.members


def test_only_members_have_a_seat() -> None:
    room = Room()
    room.stable()

    assert room.shard.classic.seat(GROUP, "nobody", 1) is None
    assert room.shard.classic.seat("nothing", "nobody", 1) is None


def test_the_seat_of_another_generation_is_not_kept() -> None:
    room = Room()
    (member,) = room.stable()

    assert not seat_of(room, member, generation=0).keep(room.now)
    assert not seat_of(room, member, generation=2).keep(room.now)


def test_a_seat_is_kept_until_the_assignment_is_asked_for() -> None:
    room = Room()
    (member,) = room.form()

    assert seat_of(room, member).keep(room.now)


def test_a_seat_is_not_kept_while_a_round_forms_nor_in_the_next_generation() -> None:
    room = Room()
    first, second = room.stable(2)
    seat = seat_of(room, second)
    room.join(first)
    assert not seat.keep(room.now)

    room.join(second)

    assert room.group.generation == 2
    assert not seat.keep(room.now)
    assert seat_of(room, second, generation=2).keep(room.now)


def test_who_left_has_no_seat_any_more() -> None:
    room = Room()
    (member,) = room.stable()
    seat = seat_of(room, member)

    room.leave(member)

    assert not seat.keep(room.now)


def test_who_was_silent_for_too_long_has_no_seat_any_more() -> None:
    room = Room()
    (member,) = room.stable()
    seat = seat_of(room, member)

    room.advance(SESSION)

    assert not seat.keep(room.now)


def test_a_seat_in_a_group_that_another_took_the_place_of_is_not_kept() -> None:
    room = Room()
    (member,) = room.stable()
    seat = seat_of(room, member)

    room.shard.classic.create_simple(GROUP)

    assert not seat.keep(room.now)


def test_a_shard_that_is_given_up_takes_its_seats_with_it() -> None:
    room = Room()
    (member,) = room.stable()
    seat = seat_of(room, member)

    room.shard.close()

    assert not seat.keep(room.now)
