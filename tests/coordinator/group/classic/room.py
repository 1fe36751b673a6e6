"""A group shard with a clock, a log and clients that wait: what the tests of classic groups talk to.

Every record goes through its bytes, and the invariants are checked after every step.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

from klamm.base.clock import Now
from klamm.base.errors import ApiError, ErrorCode
from klamm.base.settings.group import GroupSettings
from klamm.coordinator.group.classic.group import ClassicGroup
from klamm.coordinator.group.classic.member import Client
from klamm.coordinator.group.classic.states import State
from klamm.coordinator.group.records import FRAMING
from klamm.coordinator.group.shard import GroupShard
from klamm.coordinator.shard import Outcome
from klamm.metadata.image import ClusterImage
from klamm.protocol.messages.heartbeat import HeartbeatRequest
from klamm.protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from klamm.protocol.messages.leave_group import MemberIdentity
from klamm.protocol.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment

GROUP = "group"
START = 1_750_000_000_000
SESSION = 10_000
REBALANCE = 60_000
DELAY = 3_000


class Room:
    def __init__(self, **settings: int) -> None:
        self.settings = GroupSettings(**{"group_initial_rebalance_delay_ms": DELAY, **settings})
        self.now = START
        self.wall_ahead = 0
        self.chance = random.Random(7)
        self.log: list[tuple[bytes, bytes | None]] = []
        self.replies: dict[int, Any] = {}
        self.waiting: set[int] = set()
        self._tokens = 0
        self.shard = self._load()

    @property
    def moment(self) -> Now:
        """`now` on both clocks. A test that sets the wall clock moves `wall_ahead`."""
        return Now(self.now, self.now + self.wall_ahead)

    @property
    def group(self) -> ClassicGroup:
        group = self.shard.groups[GROUP]
        assert isinstance(group, ClassicGroup)
        return group

    def _load(self) -> GroupShard:
        self.shard = GroupShard(self.settings, self.chance)
        for offset, (key, value) in enumerate(self.log):
            record = FRAMING.decode(key, value)
            assert record is not None
            self.shard.replay(record, offset, None)
        self.carry_out(self.shard.loaded(ClusterImage(), self.moment))
        return self.shard

    def restart(self, **settings: int) -> None:
        """Another broker takes over: it knows what was written, and nobody waits any more."""
        self.settings = GroupSettings(**{"group_initial_rebalance_delay_ms": DELAY, **settings})
        self.waiting.clear()
        self._load()

    # Time.

    def advance(self, ms: int) -> None:
        """Alarms ring on the way, each at its time."""
        end = self.now + ms
        while (at := self.shard.deadlines.next) is not None and at <= end:
            self.now = max(self.now, at)
            self.carry_out(self.shard.wake(self.moment))
        self.now = end

    def close_round(self) -> None:
        """Up to the moment at which the round is formed, and no further."""
        while self.group.state is State.PREPARING_REBALANCE:
            at = self.shard.deadlines.next
            assert at is not None
            self.advance(at - self.now)

    # Requests. Those that may wait give a token; `answer` has its reply.

    def join(
        self,
        member_id: str = "",
        *,
        instance: str | None = None,
        protocols: Sequence[str] | dict[str, bytes] = ("range",),
        version: int = 9,
        session: int = SESSION,
        rebalance: int = REBALANCE,
        protocol_type: str = "consumer",
        client: str = "client",
    ) -> int:
        metadata = protocols if isinstance(protocols, dict) else dict.fromkeys(protocols, b"meta")
        request = JoinGroupRequest(
            group_id=GROUP,
            session_timeout_ms=session,
            rebalance_timeout_ms=rebalance,
            member_id=member_id,
            group_instance_id=instance,
            protocol_type=protocol_type,
            protocols=[JoinGroupRequestProtocol(name=n, metadata=m) for n, m in metadata.items()],
        )
        return self.ask_join(request, version=version, client=client)

    def ask_join(self, request: JoinGroupRequest, *, version: int, client: str = "client") -> int:
        return self._ask(
            lambda token: self.shard.classic.join(
                request, Client(client, "/10.0.0.1"), version=version, token=token, now=self.moment
            )
        )

    def sync(
        self,
        member_id: str,
        generation: int,
        assignments: dict[str, bytes] | None = None,
        *,
        instance: str | None = None,
        protocol_type: str | None = "consumer",
        protocol: str | None = "range",
    ) -> int:
        given = (assignments or {}).items()
        request = SyncGroupRequest(
            group_id=GROUP,
            generation_id=generation,
            member_id=member_id,
            group_instance_id=instance,
            protocol_type=protocol_type,
            protocol_name=protocol,
            assignments=[SyncGroupRequestAssignment(member_id=m, assignment=a) for m, a in given],
        )
        return self._ask(
            lambda token: self.shard.classic.sync(request, token=token, now=self.moment)
        )

    def heartbeat(
        self, member_id: str, generation: int, *, instance: str | None = None
    ) -> ErrorCode:
        request = HeartbeatRequest(
            group_id=GROUP,
            generation_id=generation,
            member_id=member_id,
            group_instance_id=instance,
        )
        token = self._ask(
            lambda token: self.shard.classic.heartbeat(request, token=token, now=self.moment)
        )
        return self.error(token)

    def leave(self, *members: str | tuple[str, str | None]) -> list[ErrorCode]:
        named = [(each, None) if isinstance(each, str) else each for each in members]
        leaving = [MemberIdentity(member_id=m, group_instance_id=i) for m, i in named]
        token = self._ask(
            lambda token: self.shard.classic.leave(
                GROUP, leaving, version=5, token=token, now=self.moment
            )
        )
        reply = self.answer(token)
        if isinstance(reply, ApiError):
            return [reply.code]
        return [ErrorCode(each.error_code) for each in reply.members]

    # Answers.

    def answer(self, token: int) -> Any:
        assert token in self.replies, "it still waits"
        return self.replies[token]

    def error(self, token: int) -> ErrorCode:
        reply = self.answer(token)
        return reply.code if isinstance(reply, ApiError) else _CODES[reply.error_code]

    # Several steps at once.

    def add(self, *, version: int = 9, **join: Any) -> tuple[str, int]:
        """A new dynamic member with the id that it was given; its JoinGroup may wait."""
        given = self.join(version=version, **join)
        assert self.error(given) is ErrorCode.MEMBER_ID_REQUIRED
        member_id = str(self.answer(given).member_id)
        return member_id, self.join(member_id, version=version, **join)

    def form(self, count: int = 1, **join: Any) -> list[str]:
        """A new group whose first round is formed; the leader is the first of the members."""
        added = [self.add(**join) for _ in range(count)]
        self.close_round()
        for _, token in added:
            assert self.error(token) is ErrorCode.NONE
        return [member_id for member_id, _ in added]

    def settle(self, members: Sequence[str], protocol: str = "range") -> None:
        """The members of a formed round get their assignments, each its own id."""
        tokens = [
            self.sync(
                member_id,
                self.group.generation,
                {m: m.encode() for m in members} if member_id == self.group.leader_id else None,
                instance=self.group.members[member_id].group_instance_id,
                protocol=protocol,
            )
            for member_id in members
        ]
        for token in tokens:
            assert self.error(token) is ErrorCode.NONE

    def stable(self, count: int = 1, **join: Any) -> list[str]:
        members = self.form(count, **join)
        self.settle(members)
        return members

    def static(self, *instances: str, **join: Any) -> list[str]:
        """A stable group of static members."""
        tokens = [self.join(instance=instance, **join) for instance in instances]
        self.close_round()
        members = [str(self.answer(token).member_id) for token in tokens]
        self.settle(members)
        return members

    def delete(self) -> ErrorCode:
        token = self._ask(lambda token: self.shard.delete_group(GROUP, token=token))
        return self.error(token)

    def _ask(self, decide: Callable[[int], Outcome]) -> int:
        self._tokens += 1
        token = self._tokens
        self.waiting.add(token)
        try:
            outcome = decide(token)
        except ApiError as e:
            outcome = Outcome(replies=[(token, e)])
        self.carry_out(outcome)
        return token

    def carry_out(self, outcome: Outcome) -> None:
        for record in outcome.records:
            key, value = FRAMING.encode(record)
            self.log.append((key, value))
            again = FRAMING.decode(key, value)
            assert again is not None
            self.shard.replay(again, len(self.log) - 1, None)
        for token, reply in outcome.replies:
            # Nobody is answered twice.
            self.waiting.remove(token)
            self.replies[token] = reply
        self.shard.check_invariants()

    def written(self) -> Any:
        """The value of the last record."""
        record = FRAMING.decode(*self.log[-1])
        assert record is not None
        return record.value


_CODES = {int(code): code for code in ErrorCode}
