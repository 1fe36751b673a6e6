"""What invariants are held against: the history of the clients, and looks into the node's logs."""

from __future__ import annotations

from dataclasses import dataclass, field

from klamm.base.ids import TopicPartition
from klamm.testing.history import History, Outcome
from klamm.testing.scan import Scan, ScannedLog


@dataclass(slots=True)
class Look:
    """Into the node at one moment."""

    at: float
    scan: Scan
    # The node had just come up after a crash; and whether the power had failed.
    is_after_crash: bool = False
    is_after_power_failure: bool = False
    # Committed offsets by group, where somebody asked, and from when to when that took.
    offsets: dict[str, dict[TopicPartition, int]] = field(default_factory=dict)
    asked: tuple[float, float] = (0.0, 0.0)
    # Of topics: name of the topic, name and value, as they were ever committed.
    configs: set[tuple[str, str, str]] = field(default_factory=set)


@dataclass(slots=True)
class Evidence:
    history: History
    # The newest is the last; the one before it is from right before the crash, if there was one.
    looks: list[Look] = field(default_factory=list)
    # Records are acknowledged before they are synced, so a power failure may take the newest away.
    may_lose_unsynced: bool = False
    # When a sync failed: after it nothing that needs one may be acknowledged, until the node was started again.
    broken_since: float | None = None
    crashed_at: float = 0.0

    @property
    def scan(self) -> Scan:
        return self.looks[-1].scan

    @property
    def before(self) -> Look | None:
        return self.looks[-2] if len(self.looks) > 1 else None

    def log_of(self, place: TopicPartition, when: float) -> ScannedLog | None:
        """The log that something of that time is in, if its topic has not been deleted since."""
        return self.scan.get(place) if self.history.is_current(place.topic, when) else None

    def forget_what_was_lost(self) -> None:
        """After a power failure, and after the check that only unsynced records are gone."""
        for sent in self.history.acknowledged():
            log = self.log_of(sent.place, sent.began)
            if log is not None and sent.offset >= log.end:
                sent.outcome, sent.offset = Outcome.NOT_DONE, -1
