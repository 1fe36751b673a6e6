"""The straight path for the heartbeat of a classic group's member that has nothing to hear: all is well.

They are most of what a broker with many quiet groups is asked.
"""

from __future__ import annotations

from struct import Struct, error
from typing import TYPE_CHECKING

from klamm.base.errors import ApiError
from klamm.server.authorization.rights import READ_GROUP
from klamm.server.network.outgoing import Answer

if TYPE_CHECKING:
    from klamm.coordinator.group.classic.seat import Seat
    from klamm.server.broker import Broker
    from klamm.server.network.connection import Connection

# What clients of the C library send, and what all others do.
_CLASSIC, _FLEXIBLE = 3, 4
# Of a name whose length (plus one) takes one byte.
_LONGEST_NAME = 127
# What is remembered for each version: at most 5 MB of what clients say.
_MOST_SEATS = 10_000
_LONGEST_SAID = 512

_SHORT = Struct(">h")
# The generation, and the length of the name behind it.
_CLASSIC_MIDDLE = Struct(">ih")
_FLEXIBLE_MIDDLE = Struct(">iB")
_NO_INSTANCE = b"\xff\xff"
_NO_INSTANCE_NO_TAGS = b"\0\0"

# Size, correlation id, throttle time, error code; with tags after the second and the last.
_CLASSIC_ANSWER = Struct(">iiih")
_FLEXIBLE_ANSWER = Struct(">iiBihB")


class StraightHeartbeat:
    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self._authorization = broker.authorization
        self._now = broker.clock.monotonic
        # Clients repeat themselves: what a heartbeat says behind its correlation id, and the seat that it is about.
        self._seats: dict[int, dict[bytes, Seat]] = {_CLASSIC: {}, _FLEXIBLE: {}}

    def answer(
        self,
        connection: Connection,
        frame: memoryview,
        version: int,
        correlation_id: int,
        client_size: int,
    ) -> Answer | None:
        if self._authorization is not None and not self._authorization.permits(
            connection, READ_GROUP, _group_in(frame, version, client_size)
        ):
            return None
        seats = self._seats.get(version)
        if seats is None:
            return None
        said = frame[8:].tobytes()
        seat = seats.get(said)
        now = self._now()
        if seat is None or not seat.keep(now):
            seat = self._find_seat(frame, version, client_size)
            if seat is None or not seat.keep(now):
                return None
            if len(said) <= _LONGEST_SAID:
                if len(seats) >= _MOST_SEATS:
                    seats.clear()
                seats[said] = seat
        if version == _FLEXIBLE:
            return (_FLEXIBLE_ANSWER.pack(_FLEXIBLE_ANSWER.size - 4, correlation_id, 0, 0, 0, 0),)
        return (_CLASSIC_ANSWER.pack(_CLASSIC_ANSWER.size - 4, correlation_id, 0, 0),)

    def _find_seat(self, frame: memoryview, version: int, client_size: int) -> Seat | None:
        if client_size < 0:
            return None
        at = 10 + client_size
        try:
            if version == _FLEXIBLE:
                size = frame[at + 1] - 1
                if frame[at] or not 0 < size < _LONGEST_NAME:
                    return None
                at += 2 + size
                group = frame[at - size : at]
                generation, size = _FLEXIBLE_MIDDLE.unpack_from(frame, at)
                at += 4 + size
                member = frame[at + 1 - size : at]
                if not 0 < size <= _LONGEST_NAME or frame[at:] != _NO_INSTANCE_NO_TAGS:
                    return None
            else:
                (size,) = _SHORT.unpack_from(frame, at)
                at += 2 + size
                group = frame[at - size : at]
                generation, member_size = _CLASSIC_MIDDLE.unpack_from(frame, at)
                at += 6 + member_size
                member = frame[at - member_size : at]
                if size <= 0 or member_size < 0 or frame[at:] != _NO_INSTANCE:
                    return None
            group_id = str(group, "utf-8")
            classic = self._broker.groups.shard(group_id).classic
            return classic.seat(group_id, str(member, "utf-8"), generation)
        except (ApiError, IndexError, UnicodeDecodeError, error):
            return None


def _group_in(frame: memoryview, version: int, client_size: int) -> str:
    """The group that a heartbeat is about; none if it is not as simple as these are."""
    at = 10 + max(client_size, 0)
    try:
        if version == _FLEXIBLE:
            return str(frame[at + 2 : at + 1 + frame[at + 1]], "utf-8")
        (size,) = _SHORT.unpack_from(frame, at)
        return str(frame[at + 2 : at + 2 + size], "utf-8")
    except (IndexError, UnicodeDecodeError, error):
        return ""
