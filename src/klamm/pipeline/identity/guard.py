"""Holds each query to the topics that its positions belong to: at its start, and before each of its batches."""

from __future__ import annotations

import time
from collections.abc import Collection
from dataclasses import dataclass

from klamm.pipeline.identity import rules
from klamm.pipeline.identity.asking import Topics
from klamm.pipeline.identity.keeping import Files, Kept, positions, read_kept, write_kept
from klamm.pipeline.identity.rules import Identity, TopicsChanged

SETTLING_SECONDS = 3.0
_LOOK_SECONDS = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class Guard:
    """Of one run; its queries share the connection."""

    pipeline: str
    file: str | None
    topics: Topics
    files: Files

    def of(self, query: str) -> QueryGuard:
        return QueryGuard(self, query)


class QueryGuard:
    def __init__(self, guard: Guard, query: str) -> None:
        self._guard = guard
        self._query = query
        self._known = Identity()

    def check_start(self) -> None:
        """Raises TopicsChanged. What is seen for the first time is kept."""
        kept = read_kept(self._guard.files, self._query)
        positioned = positions(self._guard.files, self._query) or {}
        self._known = rules.only(kept.identity, positioned) if kept is not None else Identity()
        now = self._ask_until_there(positioned)
        if found := rules.changes(self._known, now, positioned):
            raise self._changed(found, now)
        self._learn(now, is_new=kept is None)

    def check_batch(self, batch_id: int) -> None:
        """Raises TopicsChanged, or SourceUnreachable if the cluster does not answer: then the batch is tried later."""
        known = self._known
        now = self._guard.topics.ask(known=known.topics)
        if rules.is_plainly_the_same(known, now):
            self._learn(now)
            return
        # Seldom: something changed, or nothing but the cluster's own id can tell.
        now = self._ask_until_there(positions(self._guard.files, self._query) or {})
        positioned = positions(self._guard.files, self._query, before_batch=batch_id)
        # A position that cannot be found could be one of any topic.
        if found := rules.changes(known, now, known.topics if positioned is None else positioned):
            raise self._changed(found, now)
        self._learn(now)

    def _ask_until_there(self, read: Collection[str]) -> Identity:
        """All that can be known. A topic that is to be read and not there may have been made a moment ago, and not every
        broker knows it yet; one that stays away is Spark's to tell of."""
        deadline = time.monotonic() + SETTLING_SECONDS
        while True:
            now = self._guard.topics.ask(known=self._known.topics, with_cluster=True)
            is_there = all(name in now.topics for name in self._known.topics if name in read)
            if is_there or time.monotonic() > deadline:
                return now
            time.sleep(_LOOK_SECONDS)

    def _learn(self, now: Identity, *, is_new: bool = False) -> None:
        learned = rules.learned(self._known, now)
        if is_new or learned != self._known:
            write_kept(self._guard.files, self._query, Kept(learned))
            self._known = learned

    def _changed(self, found: list[rules.Change], now: Identity) -> TopicsChanged:
        return TopicsChanged(
            rules.sentence(
                found, self._known, now, pipeline=self._guard.pipeline, file=self._guard.file
            )
        )
