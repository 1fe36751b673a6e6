"""How patient the nodes of a quorum are, in Kafka's settings, and whom they are speaking to."""

from __future__ import annotations

from dataclasses import dataclass

from klamm.base.clock import Ms
from klamm.raft.messages import Request, Send


@dataclass(frozen=True, slots=True, kw_only=True)
class QuorumTiming:
    # controller.quorum.<name>.ms
    election_timeout: Ms = 1_000
    fetch_timeout: Ms = 2_000
    election_backoff_max: Ms = 1_000
    retry_backoff: Ms = 20

    @property
    def check_quorum(self) -> Ms:
        """A leader that has not heard a majority for so long is perhaps no leader any more."""
        return self.fetch_timeout * 3 // 2

    @property
    def first_election(self) -> Ms:
        """How long a node that has just started looks for a leader before it asks who would vote for it."""
        # Deviation: Kafka's nodes wait for an election timeout at least. A pre-vote disturbs nobody who hears a leader.
        return min(200, self.election_timeout)

    @property
    def begin_epoch(self) -> Ms:
        """How often a voter that does not fetch is told who leads."""
        return self.fetch_timeout // 2


NEVER: Ms = 1 << 62
_ASK_AROUND = 5
# How often the pause is doubled, at most, while a node does not answer.
_MOST_DOUBLINGS = 5


class Outgoing:
    """One request of a kind at a time to each node, and a pause behind one that failed, longer from time to time."""

    __slots__ = ("_failures", "_in_flight", "_pause", "_resting")

    def __init__(self, pause: Ms) -> None:
        self._pause = pause
        self._in_flight: set[tuple[int | None, type[Request]]] = set()
        self._resting: dict[int | None, Ms] = {}
        self._failures: dict[int | None, int] = {}

    def may_send(self, to: int | None, kind: type[Request], now: Ms) -> bool:
        return (to, kind) not in self._in_flight and self._resting.get(to, now) <= now

    def sent(self, send: Send) -> None:
        self._in_flight.add((send.to, type(send.request)))

    def ended(self, send: Send, now: Ms, *, has_failed: bool) -> None:
        self._in_flight.discard((send.to, type(send.request)))
        if has_failed:
            # Whoever asks around for the leader has time: elections take longer than that.
            failures = self._failures.get(send.to, 0)
            self._failures[send.to] = min(failures + 1, _MOST_DOUBLINGS)
            pause = self._pause << failures if send.to is not None else _ASK_AROUND * self._pause
            self._resting[send.to] = now + pause
        else:
            self._resting.pop(send.to, None)
            self._failures.pop(send.to, None)

    def next_wake(self, now: Ms) -> Ms:
        """When the next pause ends."""
        return min((at for at in self._resting.values() if at > now), default=NEVER)
