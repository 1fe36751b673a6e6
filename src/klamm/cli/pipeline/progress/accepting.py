"""`klamm pipeline accept`: go on at the old offsets in topics that were made again, and see what that leaves out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from klamm.base.ids import TopicPartition
from klamm.cli.connect import Cluster
from klamm.cli.offsets import BEGINNING, END, ask
from klamm.cli.output import CommandError, Row
from klamm.pipeline.identity import rules
from klamm.pipeline.identity.keeping import (
    OWN_FOLDER,
    Kept,
    LocalFiles,
    kept_queries,
    positions,
    read_kept,
    write_kept,
)
from klamm.pipeline.identity.rules import Identity

ACCEPT_ELSEWHERE = (
    f"remove the folder {OWN_FOLDER} in it with the tools of that storage: the next run goes on at the old offsets in the "
    "topics that it finds"
)


@dataclass(frozen=True, slots=True)
class Changed:
    """A query whose positions belong to other topics than those that are there."""

    query: str
    kept: Kept
    now: Identity
    # Of the topics that changed: by partition the next offset that the query would read.
    positions: Mapping[str, Mapping[int, int]]


def changed_queries(folder: Path, cluster: Cluster) -> list[Changed]:
    from klamm.pipeline.identity.asking import Topics
    from klamm.pipeline.sources.trouble import SourceUnreachable

    files, topics = LocalFiles(folder), Topics(cluster.admin, cluster.bootstrap)
    changed = []
    for query in kept_queries(files):
        kept, at = read_kept(files, query), positions(files, query)
        if kept is None or at is None:
            continue
        try:
            now = topics.ask(known=kept.identity.topics, with_cluster=True)
        except SourceUnreachable as away:
            raise CommandError(str(away)) from away
        if found := rules.changes(kept.identity, now, at):
            of_topics = {change.topic: at[change.topic] for change in found}
            changed.append(Changed(query, kept, now, of_topics))
    return changed


@dataclass(frozen=True, slots=True)
class Resumed:
    """Where a query goes on in one partition; None where the topic has no such partition any more."""

    query: str
    partition: TopicPartition
    next_offset: int
    start_offset: int | None
    end_offset: int | None

    @property
    def is_beyond(self) -> bool:
        return self.end_offset is None or self.next_offset > self.end_offset

    @property
    def left_out(self) -> int | None:
        """How many records that are there it will never read."""
        if self.start_offset is None or self.end_offset is None:
            return None
        return max(0, min(self.next_offset, self.end_offset) - self.start_offset)

    def row(self, *, accepted: bool) -> Row:
        return {
            "query": self.query,
            "topic": self.partition.topic,
            "partition": self.partition.partition,
            "next_offset": self.next_offset,
            "start_offset": self.start_offset,
            "end_offset": self.end_offset,
            "left_out": self.left_out,
            "accepted": accepted,
        }


def resumed_in(changed: list[Changed], cluster: Cluster) -> list[Resumed]:
    admin = cluster.admin()
    there = {
        TopicPartition(topic, partition)
        for each in changed
        for topic in each.positions
        for partition in range(each.now.topics[topic].partitions)
    }
    starts, ends = ask(admin, sorted(there), BEGINNING), ask(admin, sorted(there), END)
    found = []
    for each in changed:
        for topic, offsets in sorted(each.positions.items()):
            for number, offset in sorted(offsets.items()):
                partition = TopicPartition(topic, number)
                start, end = starts.get(partition), ends.get(partition)
                found.append(Resumed(each.query, partition, offset, start, end))
    return found


def accept(folder: Path, changed: list[Changed]) -> None:
    files = LocalFiles(folder)
    for each in changed:
        write_kept(
            files,
            each.query,
            replace(each.kept, identity=rules.learned(each.kept.identity, each.now)),
        )
