"""What a follower's fetch session has still to be told: the partitions that changed since it was last answered.

A follower has one session with thousands of partitions, of which few change between two fetches. A partition is in the
backlog from when its log, high watermark or leadership changed until the follower was told all of it.
"""

from __future__ import annotations

from collections.abc import Callable

from klamm.base.clock import Ms
from klamm.base.ids import Uuid
from klamm.replication.fetch_sessions import FetchPartition
from klamm.replication.partition import Partition

# A topic that is known by its id only has no name yet.
Place = tuple[str | Uuid, int]
Key = tuple[str | Uuid, int]


class Backlog:
    __slots__ = (
        "_asked",
        "_backlogs",
        "_places",
        "changed",
        "fetched_at",
        "on_change",
        "replica_id",
    )

    def __init__(self, backlogs: Backlogs, replica_id: int) -> None:
        self.replica_id = replica_id
        self.fetched_at: Ms = 0
        # Hears of each change while a fetch waits; told whether there is more to fetch, or only something to know.
        self.on_change: Callable[[bool], None] | None = None
        self.changed: dict[Place, FetchPartition] = {}
        self._asked: dict[Place, FetchPartition] = {}
        # By what the session calls them.
        self._places: dict[Key, Place] = {}
        self._backlogs = backlogs

    def follow(self, partition: FetchPartition, place: Place) -> None:
        """It asks for it, for the first time or from a new offset."""
        key = partition.key
        if self._places.get(key) != place:
            self.forget(key)
            self._places[key] = place
            self._asked[place] = partition
            self._backlogs.at.setdefault(place, {})[self] = None
        self.changed[place] = partition

    def forget(self, key: Key) -> None:
        place = self._places.pop(key, None)
        if place is not None and self._asked[place].key == key:
            del self._asked[place]
            self.changed.pop(place, None)
            self._backlogs.leave(place, self)

    def close(self) -> None:
        for key in list(self._places):
            self.forget(key)

    def take(self) -> dict[Place, FetchPartition]:
        taken, self.changed = self.changed, {}
        return taken

    def grew(self, partition: Partition) -> None:
        place = partition.name
        if place not in self.changed:
            self.changed[place] = self._asked[place]
            # Perhaps it had all there was when it last fetched, though that fetch did not name it.
            leadership = partition.leadership
            if leadership is not None and self.replica_id in leadership.followers:
                leadership.followers[self.replica_id].was_caught_up(self.fetched_at)
        if self.on_change is not None:
            self.on_change(True)

    def learned(self, partition: Partition) -> None:
        """There is nothing more to fetch, but something to know: a high watermark, where the log starts."""
        self.changed.setdefault(partition.name, self._asked[partition.name])
        if self.on_change is not None:
            self.on_change(False)


class Backlogs:
    """The backlogs of all followers' sessions, by partition."""

    __slots__ = ("at",)

    def __init__(self) -> None:
        self.at: dict[Place, dict[Backlog, None]] = {}

    def grew(self, partition: Partition) -> None:
        for each in self.at.get(partition.name, ()):
            each.grew(partition)

    def learned(self, partition: Partition) -> None:
        for each in self.at.get(partition.name, ()):
            each.learned(partition)

    def leave(self, place: Place, backlog: Backlog) -> None:
        there = self.at[place]
        del there[backlog]
        if not there:
            del self.at[place]
