"""Answers that come later.

PARKED stops a connection: nothing behind the request is handled until `Connection.finish`. A Pending one does not: up to five
produces of a connection may wait for followers at once, and what is behind them is handled, and answered after them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from klamm.server.network.outgoing import Answer, Outgoing

# As many as clients have under way when they ask for the order to be kept.
MOST_PENDING = 5
# About what one takes in memory.
PENDING_COST = 512


class Parked:
    """The type of PARKED: the answer comes later, through Connection.finish."""

    __slots__ = ()


PARKED = Parked()


class Pending(Parked):
    __slots__ = ("answer", "connection")

    def __init__(self, answer: Answer | None = None) -> None:
        self.answer = answer
        self.connection: Outgoing | None = None

    def abandon(self) -> None:
        """The connection is gone."""

    def settle(self, answer: Answer) -> None:
        self.answer = answer
        if self.connection is not None:
            self.connection.send_settled()
