"""Requests that ask for very much are answered in turns: a few milliseconds of work, then others are served.

A handler that may have much to do is a generator which yields wherever it could be interrupted and returns the
response. Most end within their first turn and are answered like any other. The rest go on one after the other, in a
lane of their own: a hundred of them slow down each other, and hold up nobody else for longer than one turn.
"""

from __future__ import annotations

import asyncio
from typing import Any

from klamm.server.call import EncodedBody, Later, LongBody, Message, Steps
from klamm.server.network.pending import Parked
from klamm.server.world.ports import Turns


class Unfinished:
    """The type of UNFINISHED: there is more to do than fits in a turn."""


UNFINISHED = Unfinished()


class HeavyRequests:
    __slots__ = ("_turns", "lane")

    def __init__(self, turns: Turns) -> None:
        self._turns = turns
        # Held by the one request that goes on.
        self.lane = asyncio.Lock()

    def begin(self, steps: Steps) -> Message | EncodedBody | LongBody | Later | Parked | None:
        """The response, if one turn is enough for it; else a coroutine that does the rest."""
        response = self._take_turn(steps)
        return self.finish(steps) if isinstance(response, Unfinished) else response

    async def finish(self, steps: Steps) -> Any:
        async with self.lane:
            while isinstance(response := self._take_turn(steps), Unfinished):
                await asyncio.sleep(self._turns.seconds)
            return response

    def _take_turn(
        self, steps: Steps
    ) -> Message | EncodedBody | LongBody | Parked | Unfinished | None:
        turn = self._turns.begin()
        try:
            while not turn.is_over():
                next(steps)
        except StopIteration as finished:
            response: Message | EncodedBody | LongBody | Parked | None = finished.value
            return response
        return UNFINISHED
