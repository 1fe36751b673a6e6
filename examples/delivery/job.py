"""What all six consumers share: what there is to do, and the points at which they may be killed.

Nothing in here decides what is lost or repeated. That is the order of the steps in the consumers themselves.
"""

import os
import signal
import sys
from dataclasses import astuple, dataclass
from enum import StrEnum
from typing import Self

# The last record of the source. It is never committed, so every later life of a consumer sees that all is done.
END = b"end"

# Names a point, and how often it is to be passed before the killing: "produced:3".
KILL_VARIABLE = "DELIVERY_KILL"
WORKING = "working"


class Point(StrEnum):
    """Places in the loops where being killed shows the difference."""

    COMMITTED = "the offset is committed, the work is not done"
    PRODUCED = "the work is done, the offset is not committed"
    IN_TRANSACTION = "produced in the transaction, before the offset"
    WITH_OFFSET = "produced and offset in the transaction, before its end"
    TRANSACTION_DONE = "the transaction is committed"


@dataclass(frozen=True, slots=True)
class Job:
    """Take every record of `source`, transform it and write it to `target`."""

    bootstrap: str
    source: str
    target: str
    # One name for all that must outlive a process: group, member of the group, transactional id.
    name: str

    @classmethod
    def from_command_line(cls) -> Self:
        return cls(*sys.argv[1:5])

    def as_arguments(self) -> list[str]:
        return list(astuple(self))


def transform(value: bytes) -> bytes:
    """The work. The number of the order stays in it, so that the experiment can count."""
    return b"served " + value


class Progress:
    """Passes points, and stops at the one where it is to be killed. `kill -9` itself comes from outside."""

    def __init__(self) -> None:
        name, _, count = os.environ.get(KILL_VARIABLE, "").partition(":")
        self._fatal = Point[name] if name else None
        self._left = int(count or 0)
        self._has_begun = False

    def begin(self) -> None:
        """A record has arrived: from now on there is something to interrupt."""
        if not self._has_begun:
            self._has_begun = True
            print(WORKING, flush=True)

    def reach(self, point: Point) -> None:
        if point is not self._fatal:
            return
        if self._left == 0:
            print(point.name, flush=True)
            # Nothing further happens in this process: the killer has heard us.
            signal.pause()
        self._left -= 1
