"""One member of a classic group."""

from __future__ import annotations

from collections.abc import Callable, Set
from typing import NamedTuple

from klamm.base.token import Token

# Names and metadata of what a member can follow, the favourite first.
Protocols = tuple[tuple[str, bytes], ...]
NO_ASSIGNMENT = b""


class Client(NamedTuple):
    """Who sent a request; `host` as Java prints an address, with a slash in front."""

    id: str
    host: str
    # Whether it may know of a topic; None if everybody may.
    may_see: Callable[[str], bool] | None = None


class Member:
    __slots__ = (
        "assignment",
        "client",
        "group_instance_id",
        "is_new",
        "join_token",
        "join_version",
        "member_id",
        "protocols",
        "rebalance_timeout_ms",
        "session_key",
        "session_timeout_ms",
        "sync_token",
    )

    def __init__(
        self,
        group_id: str,
        member_id: str,
        *,
        group_instance_id: str | None,
        client: Client,
        rebalance_timeout_ms: int,
        session_timeout_ms: int,
        protocols: Protocols,
        assignment: bytes = NO_ASSIGNMENT,
    ) -> None:
        self.member_id = member_id
        self.group_instance_id = group_instance_id
        self.client = client
        self.rebalance_timeout_ms = rebalance_timeout_ms
        self.session_timeout_ms = session_timeout_ms
        self.protocols = protocols
        self.assignment = assignment
        self.session_key = session_key(group_id, member_id)
        # The JoinGroup and the SyncGroup that wait for the others, and the version the former was asked in.
        self.join_token: Token | None = None
        self.join_version = 0
        self.sync_token: Token | None = None
        # Has not been in a finished round: it may not know its id, and so cannot send heartbeats.
        self.is_new = False

    @property
    def is_waiting(self) -> bool:
        """A member that waits for an answer is alive, though it sends no heartbeats."""
        return not self.is_new and (self.join_token is not None or self.sync_token is not None)

    def metadata(self, protocol: str | None) -> bytes:
        for name, metadata in self.protocols:
            if name == protocol:
                return metadata
        raise AssertionError(f"{self.member_id} does not know {protocol}")

    def vote(self, candidates: Set[str]) -> str:
        """Its favourite among what all members know."""
        return next(name for name, _ in self.protocols if name in candidates)


def session_key(group_id: str, member_id: str) -> tuple[str, str, str, str]:
    return ("classic", "session", group_id, member_id)
