"""Shard: the replayed state machine behind one partition of a coordinator's topic.

    handle -> Outcome      decides on what is known and changes nothing that is written down
    replay(record)         the only way in which written state changes, while running as after a restart
    wake(now)              some of the deadlines passed

A shard has no clock, no disk and no socket. It holds tokens in the place of clients that wait, and answers them with
an Outcome, at once or later.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from itertools import islice
from typing import NamedTuple, Protocol

from klamm.base.clock import Now
from klamm.base.deadlines import Deadlines
from klamm.base.errors import ApiError, ErrorCode
from klamm.base.token import Token
from klamm.coordinator.records.framing import CoordinatorRecord
from klamm.metadata.image import ClusterImage

# A response message; or why there is none, which the shell words in the client's version of the API.
Reply = object | ApiError


class Producer(NamedTuple):
    """Who a transactional record belongs to."""

    id: int
    epoch: int


class Outcome(NamedTuple):
    """What was decided. Replies are sent when the records are committed, and all that was written before them."""

    records: Sequence[CoordinatorRecord] = ()
    replies: Sequence[tuple[Token, Reply]] = ()
    # Set where the records take part in a transaction: then they count when it commits.
    producer: Producer | None = None
    # Set where nothing has changed but by these records: if they do not fit into one batch the client hears this, and
    # nobody else notices.
    if_too_large: ErrorCode | None = None


NOTHING = Outcome()


class Room(Protocol):
    """What can be written now. A shard that would move what it does not write down asks first."""

    @property
    def is_open(self) -> bool:
        """Anything at all: enough replicas are in sync."""
        ...

    def fits(self, records: Sequence[CoordinatorRecord]) -> bool:
        """These, in one batch."""
        ...


class _NoLimit:
    is_open = True

    def fits(self, records: Sequence[CoordinatorRecord]) -> bool:
        return True


NO_LIMIT: Room = _NoLimit()
# Nobody waits for long behind so many.
_AT_ONCE = 5_000


def first_that_fit(records: Iterable[CoordinatorRecord], room: Room) -> list[CoordinatorRecord]:
    """Of records that need not be written together: as many as can be. One at least, if there is one."""
    first = list(islice(records, _AT_ONCE))
    while len(first) > 1 and not room.fits(first):
        del first[len(first) // 2 :]
    return first


class Shard(Protocol):
    deadlines: Deadlines[Hashable]

    def limit(self, room: Room) -> None:
        """From here on this says what can be written."""

    def replay(self, record: CoordinatorRecord, offset: int, producer: Producer | None) -> None: ...

    def replay_end(self, producer: Producer, is_commit: bool) -> None:
        """A transaction ended on this partition."""

    def loaded(self, image: ClusterImage, now: Now) -> Outcome:
        """All that was written is replayed: from here on requests come. Sets what deadlines there must be."""
        ...

    def follow(self, image: ClusterImage, now: Now) -> Outcome:
        """The cluster's metadata changed."""
        ...

    def wake(self, now: Now) -> Outcome: ...

    def close(self) -> None:
        """Another may be in charge from here on: whoever keeps a part of this one must see that it is gone."""

    def check_invariants(self) -> None:
        """For tests; raises AssertionError."""
