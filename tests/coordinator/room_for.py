"""A log that takes so many records at once and no more."""

from collections.abc import Sequence

from klamm.coordinator.records.framing import CoordinatorRecord


class RoomFor:
    is_open = True

    def __init__(self, count: int) -> None:
        self._count = count

    def fits(self, records: Sequence[CoordinatorRecord]) -> bool:
        return len(records) <= self._count
