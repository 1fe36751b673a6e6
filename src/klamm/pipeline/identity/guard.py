"""Holds each query to the topics that its positions belong to: at its start, and before each of its batches."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field

from klamm.pipeline.identity import rules
from klamm.pipeline.identity.asking import Topics
from klamm.pipeline.identity.definition import Definition
from klamm.pipeline.identity.keeping import (
    Files,
    Kept,
    forget_batches,
    forget_query,
    has_committed,
    positions,
    read_kept,
    write_kept,
)
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
    # By the name of the query.
    definitions: Mapping[str, Definition] = field(default_factory=dict)
    notice: Callable[[str], None] = lambda line: None

    def of(self, query: str) -> QueryGuard:
        return QueryGuard(self, query)


class QueryGuard:
    def __init__(self, guard: Guard, query: str) -> None:
        self._guard = guard
        self._files = guard.files
        self._query = query
        self._definition = guard.definitions.get(query)
        self._known = Identity()

    def check_start(self) -> None:
        """Raises TopicsChanged. What is seen for the first time is kept.

        A query that never finished a batch blocks nobody: it is begun anew if it is another now.
        """
        kept = read_kept(self._files, self._query)
        found, now = self._compare(kept)
        is_another = bool(found) or (
            kept is not None and kept.definition not in (None, self._definition)
        )
        if is_another and not has_committed(self._files, self._query):
            self._begin_anew(kept, now, are_same_topics=not found)
        elif found:
            raise self._changed(found, now)
        else:
            self._keep(rules.learned(self._known, now), kept)

    def check_cause(self) -> None:
        """Raises TopicsChanged if that may be why the query failed."""
        found, now = self._compare(read_kept(self._files, self._query))
        if found:
            raise self._changed(found, now)

    def _compare(self, kept: Kept | None) -> tuple[list[rules.Change], Identity]:
        known = kept.identity if kept is not None else Identity()
        positioned: Collection[str] | None = positions(self._files, self._query)
        if positioned is None:
            # Where it starts is a position, too. Spark notes it before the first batch, and not as text that can be read.
            positioned = known.topics if self._files.names(f"{self._query}/sources") else ()
        self._known = rules.only(known, positioned)
        now = self._ask_until_there(positioned)
        return rules.changes(self._known, now, positioned), now

    def _begin_anew(self, kept: Kept | None, now: Identity, *, are_same_topics: bool) -> None:
        before, definition = kept.definition if kept is not None else None, self._definition
        if positions(self._files, self._query) is not None:
            self._guard.notice(
                f"{self._query}: its first batch was never finished and the pipeline changed since, so it is begun anew; "
                "what the batch had written already is written again"
            )
        is_start_kept = (
            are_same_topics
            and before is not None
            and definition is not None
            and definition.is_one_topic
            and before.sources == definition.sources
        )
        if is_start_kept and self._files.names(self._query):
            # With `start: latest` it would be another start by now.
            forget_batches(self._files, self._query)
        else:
            forget_query(self._files, self._query)
        self._keep(now, None)

    def check_batch(self, batch_id: int) -> None:
        """Raises TopicsChanged, or SourceUnreachable if the cluster does not answer: then the batch is tried later."""
        known = self._known
        now = self._guard.topics.ask(known=known.topics)
        if rules.is_plainly_the_same(known, now):
            self._learn(now)
            return
        # Seldom: something changed, or nothing but the cluster's own id can tell.
        now = self._ask_until_there(positions(self._files, self._query) or {})
        positioned = positions(self._files, self._query, before_batch=batch_id)
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

    def _learn(self, now: Identity) -> None:
        learned = rules.learned(self._known, now)
        if learned != self._known:
            self._keep(learned, None)

    def _keep(self, identity: Identity, before: Kept | None) -> None:
        kept = Kept(identity, self._definition)
        if kept != before:
            write_kept(self._files, self._query, kept)
        self._known = identity

    def _changed(self, found: list[rules.Change], now: Identity) -> TopicsChanged:
        return TopicsChanged(
            rules.sentence(
                found, self._known, now, pipeline=self._guard.pipeline, file=self._guard.file
            )
        )
