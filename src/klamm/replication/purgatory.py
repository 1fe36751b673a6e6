"""Requests that wait for something to happen in a partition, or for their deadline (Kafka's purgatory).

Holds whatever tokens the shell gives it and never looks into them. A token is parked under every partition it asked
for and under one deadline; the shell asks who is touched by a change and who is overdue, and says when one is done.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Generic, TypeVar

from klamm.base.deadlines import Deadlines

Token = TypeVar("Token", bound=Hashable)
Place = Hashable


class Purgatory(Generic[Token]):
    __slots__ = ("_at", "deadlines", "parked")

    def __init__(self) -> None:
        self.deadlines: Deadlines[Token] = Deadlines()
        self._at: dict[Place, dict[Token, None]] = {}
        # Who waits, and where. Always the same dictionary: the hot path holds it, to see at a glance that nobody does.
        self.parked: dict[Token, tuple[Place, ...]] = {}

    def __len__(self) -> int:
        return len(self.parked)

    def park(self, token: Token, places: Iterable[Place], deadline: int) -> None:
        self.parked[token] = tuple(places)
        for place in self.parked[token]:
            self._at.setdefault(place, {})[token] = None
        self.deadlines.set(token, deadline)

    def touched(self, place: Place) -> Sequence[Token]:
        """Who waits there, first come first served. They stay parked until `done`."""
        tokens = self._at.get(place)
        return tuple(tokens) if tokens else ()

    def overdue(self, now: int) -> list[Token]:
        return self.deadlines.due(now)

    def done(self, token: Token) -> None:
        self.deadlines.cancel(token)
        for place in self.parked.pop(token, ()):
            tokens = self._at[place]
            del tokens[token]
            if not tokens:
                del self._at[place]
