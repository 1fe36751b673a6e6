"""Members of classic groups over raw connections: joining, syncing, heartbeats.

What they send is encoded beforehand. Their ids come from the broker later, and are put where a placeholder was.
"""

from collections.abc import Sequence
from struct import Struct

from bench.connection import Connection, UnexpectedAnswer
from bench.requests import frame
from bench.target import Refused, Target, check, until_it_works
from klamm.base.errors import ErrorCode
from klamm.protocol.messages.find_coordinator import (
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)
from klamm.protocol.messages.heartbeat import HeartbeatRequest
from klamm.protocol.messages.join_group import (
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    JoinGroupResponse,
)
from klamm.protocol.messages.leave_group import (
    LeaveGroupRequest,
    LeaveGroupResponse,
    MemberIdentity,
)
from klamm.protocol.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment

FIND_COORDINATOR, FIND_COORDINATOR_VERSION = 10, 6
JOIN_GROUP, JOIN_GROUP_VERSION = 11, 9
HEARTBEAT, HEARTBEAT_VERSION = 12, 4
LEAVE_GROUP, LEAVE_GROUP_VERSION = 13, 5
SYNC_GROUP, SYNC_GROUP_VERSION = 14, 5
GROUP, TRANSACTION = 0, 1

# How much of an answer says that all is well: size, correlation id, tags, throttle time, error code.
SAME_BYTES = 4 + 4 + 1 + 4 + 2

_ERROR = Struct(">h")
_ERROR_AT = SAME_BYTES - _ERROR.size
# Nobody's session ends while we measure.
_SESSION_TIMEOUT_MS = 300_000
_PROTOCOL_TYPE, _PROTOCOL = "consumer", "range"
# The ids that brokers give are as long as this: the client's id and a UUID.
_SOME_ID = "bench-" + "x" * 36
# A subscription to one topic, and an assignment of one partition of it, as consumers encode them.
_SUBSCRIPTION = bytes.fromhex("0003 00000001 0005 62656e6368 ffffffff 00000000 ffffffff ffff")
_ASSIGNMENT = bytes.fromhex("0003 00000001 0005 62656e6368 00000001 00000000 ffffffff")


class Member:
    """The halves of a request are apart, so that many members may have one on its way."""

    __slots__ = ("_first_join", "_join", "_sync", "connection", "group", "id")

    def __init__(self, connection: Connection, group: str) -> None:
        self.connection = connection
        self.group = group
        self.id = ""
        self._first_join = _join_frame(group, "")
        self._join = _join_frame(group, _SOME_ID)
        self._sync = b""

    def ask_for_id(self) -> None:
        self.connection.send(self._first_join)

    def receive_id(self) -> None:
        answer = self.connection.receive_as(JoinGroupResponse, JOIN_GROUP_VERSION)
        if answer.error_code != ErrorCode.MEMBER_ID_REQUIRED:
            check(answer.error_code or ErrorCode.UNKNOWN_SERVER_ERROR, "asking for a member id")
        self.id = answer.member_id
        if len(self.id) != len(_SOME_ID):
            raise UnexpectedAnswer(f"a member id of another length: {self.id}")

    def expect(self, generation: int) -> None:
        """The generation that the next join leads to."""
        self._sync = _sync_frame(self.group, generation, _SOME_ID, ())

    def join(self) -> None:
        self.connection.send(self._named(self._join))

    def sync(self) -> None:
        self.connection.send(self._named(self._sync))

    def sync_as_leader(self, members: Sequence["Member"], generation: int) -> None:
        ids = [member.id for member in members]
        self.connection.send(_sync_frame(self.group, generation, self.id, ids))

    def receive(self) -> None:
        """Any answer; all that is looked at is its error code."""
        self.connection.receive()
        (code,) = _ERROR.unpack_from(self.connection.answer, _ERROR_AT)
        if code:
            check(code, f"a member of {self.group}")

    def heartbeat_frame(self, generation: int) -> bytes:
        request = HeartbeatRequest(group_id=self.group, generation_id=generation, member_id=self.id)
        return frame(HEARTBEAT, HEARTBEAT_VERSION, request)

    def _named(self, encoded: bytes) -> bytes:
        return encoded.replace(_SOME_ID.encode(), self.id.encode())


def form(groups: Sequence[Sequence[Member]]) -> None:
    """All of them at once, each to its first generation: a broker waits before it closes a first round."""
    members = [member for group in groups for member in group]
    for member in members:
        member.expect(1)
    run_round(groups, new=members, generation=1)


def run_round(
    groups: Sequence[Sequence[Member]], *, new: Sequence[Member], generation: int
) -> None:
    """From the first join to the last assignment. The first of a group is its leader.

    A round stays open as long as somebody who was given an id has not joined, so there is only one of them.
    """
    for member in new:
        member.ask_for_id()
    for member in new:
        member.receive_id()
    for group in groups:
        for member in group:
            member.join()
    for group in groups:
        for member in group:
            member.receive()
            if member is group[0]:
                member.sync_as_leader(group, generation)
            else:
                member.sync()
    for group in groups:
        for member in group:
            member.receive()


def leave(members: Sequence[Member]) -> None:
    """All members of one group, by one word of one of them."""
    request = LeaveGroupRequest(
        group_id=members[0].group,
        members=[MemberIdentity(member_id=member.id) for member in members],
    )
    encoded = frame(LEAVE_GROUP, LEAVE_GROUP_VERSION, request)
    answer = members[0].connection.call(encoded, LeaveGroupResponse, LEAVE_GROUP_VERSION)
    check(answer.error_code, f"leaving {members[0].group}")


def await_coordinator(target: Target, name: str, kind: int) -> None:
    """It may have to make its topic first."""
    request = FindCoordinatorRequest(key_type=kind, coordinator_keys=[name])
    encoded = frame(FIND_COORDINATOR, FIND_COORDINATOR_VERSION, request)
    connection = target.connect()

    def find() -> None:
        answer = connection.call(encoded, FindCoordinatorResponse, FIND_COORDINATOR_VERSION)
        for found in answer.coordinators:
            check(found.error_code, f"finding the coordinator of {name}")
        if not answer.coordinators:
            raise Refused(f"no coordinator of {name}")

    until_it_works(find)
    connection.close()


def _join_frame(group: str, member_id: str) -> bytes:
    request = JoinGroupRequest(
        group_id=group,
        session_timeout_ms=_SESSION_TIMEOUT_MS,
        rebalance_timeout_ms=_SESSION_TIMEOUT_MS,
        member_id=member_id,
        protocol_type=_PROTOCOL_TYPE,
        protocols=[JoinGroupRequestProtocol(name=_PROTOCOL, metadata=_SUBSCRIPTION)],
    )
    return frame(JOIN_GROUP, JOIN_GROUP_VERSION, request)


def _sync_frame(group: str, generation: int, member_id: str, assigned: Sequence[str]) -> bytes:
    request = SyncGroupRequest(
        group_id=group,
        generation_id=generation,
        member_id=member_id,
        protocol_type=_PROTOCOL_TYPE,
        protocol_name=_PROTOCOL,
        assignments=[
            SyncGroupRequestAssignment(member_id=each, assignment=_ASSIGNMENT) for each in assigned
        ],
    )
    return frame(SYNC_GROUP, SYNC_GROUP_VERSION, request)
