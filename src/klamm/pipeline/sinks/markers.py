"""What the markers of a sink say before a run writes its first batch.

A batch is written by so many writers, each with a marker of its own, and a user may change their number between two
runs. Then a batch that the old writers began is finished by as many again, and the old ones are fenced off.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from klamm.pipeline.client import silent
from klamm.pipeline.sinks.transaction import (
    TIMEOUT_SECONDS,
    MarkedTransactions,
    failure,
    marker_reader,
    read_marker,
)


@dataclass(frozen=True, slots=True)
class Markers:
    """The last batch of each part, by the number of writers."""

    by_writers: Mapping[int, tuple[int | None, ...]]

    @property
    def are_lost(self) -> bool:
        """None at all: right for the first batch of a checkpoint only."""
        return all(mark is None for marks in self.by_writers.values() for mark in marks)

    def is_written(self, batch_id: int) -> bool:
        return any(_has_all(marks, batch_id) for marks in self.by_writers.values())

    def writers_for(self, batch_id: int, *, wanted: int) -> int:
        """As many as wanted, unless others have begun this batch."""
        for writers, marks in self.by_writers.items():
            if any(mark is not None and mark >= batch_id for mark in marks):
                return writers
        return wanted

    def may_be_first(self, batch_id: int, *, writers: int) -> bool:
        """Whether a part of these writers may have no marker yet. Where others have some: if none of these has one, or if
        they have begun with this batch, for others wrote the one before."""
        if batch_id == 0 or self.are_lost:
            return batch_id == 0
        others = (marks for number, marks in self.by_writers.items() if number != writers)
        is_unknown = all(mark is None for mark in self.by_writers.get(writers, ()))
        return is_unknown or any(_has_all(marks, batch_id - 1) for marks in others)


def _has_all(marks: tuple[int | None, ...], batch_id: int) -> bool:
    return all(mark is not None and mark >= batch_id for mark in marks)


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkerShelf:
    """Where the markers of one sink of one query are: groups named PREFIX.WRITERS.PART."""

    bootstrap: str
    topic: str
    prefix: str
    settings: dict[str, str]

    def read(self, *, writers: int) -> Markers:
        """The tasks fence their own ids, and end what a dead run left undecided there: until then the marker before it
        is told. Other ids nobody will open again, so they are fenced here."""
        try:
            found = {writers: tuple(self._mark(writers, part) for part in range(writers))}
            for other in sorted(self._numbers_of_writers() - {writers}):
                found[other] = tuple(self._fenced(other, part) for part in range(other))
        except KafkaException as error:
            raise failure(self.topic, error.args[0]) from error
        return Markers(found)

    def prefix_of(self, writers: int) -> str:
        return f"{self.prefix}.{writers}"

    def _mark(self, writers: int, part: int) -> int | None:
        id = f"{self.prefix_of(writers)}.{part}"
        group = marker_reader(self.bootstrap, id, self.settings, waits=False)
        try:
            return read_marker(group, self.topic)
        finally:
            group.close()

    def _fenced(self, writers: int, part: int) -> int | None:
        writer = MarkedTransactions(
            bootstrap=self.bootstrap,
            topic=self.topic,
            id=f"{self.prefix_of(writers)}.{part}",
            settings=self.settings,
        )
        try:
            return writer.open()
        finally:
            writer.close()

    def _numbers_of_writers(self) -> set[int]:
        admin = AdminClient({**self.settings, "bootstrap.servers": self.bootstrap, **silent()})
        groups = admin.list_consumer_groups(request_timeout=TIMEOUT_SECONDS).result()
        ours = re.compile(rf"{re.escape(self.prefix)}\.([0-9]+)\.[0-9]+")
        matches = (ours.fullmatch(group.group_id) for group in groups.valid)
        return {int(match[1]) for match in matches if match}
