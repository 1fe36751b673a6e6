"""`klamm pipeline accept`: go on at the old offsets in topics that were made again, and see what that leaves out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from klamm.base.ids import TopicPartition
from klamm.cli.connect import Cluster, Output, Properties
from klamm.cli.offsets import BEGINNING, END, ask
from klamm.cli.output import CommandError, Row, notice, show
from klamm.cli.pipeline.progress.folder import held_still
from klamm.cli.pipeline.targets import Bootstrap, Checkpoint, Execute, NameOrFile, find
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


def accept(
    target: NameOrFile,
    execute: Execute = False,
    checkpoint: Checkpoint = None,
    bootstrap: Bootstrap = None,
    properties: Properties = None,
    output: Output = None,
) -> None:
    """Go on at the old offsets in topics made again.

    That is, deleted and created anew under the same name, or on another cluster. The column left_out counts the
    records that are there and will never be read: `replay` reads them. Shows what it would do, unless told to --execute.
    """
    found = find(target)
    with held_still(found, found.checkpoint(checkpoint), if_elsewhere=ACCEPT_ELSEWHERE) as folder:
        cluster = found.cluster(bootstrap, properties)
        changed = changed_queries(folder, cluster)
        resumed = resumed_in(changed, cluster) if changed else []
        if execute:
            accept_topics(folder, changed)
    show((each.row(accepted=execute) for each in resumed), output)
    if not resumed:
        notice(f"the topics of {found.name} are those that it has read: there is nothing to accept")
        return
    if any(each.is_beyond for each in resumed):
        notice(
            "a position lies behind the end of its partition: the next run stops there, as records are gone; "
            "`klamm pipeline replay` begins anew"
        )
    notice(
        f"the next run of {found.name} goes on at next_offset"
        if execute
        else "nothing was changed; --execute does it"
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


def accept_topics(folder: Path, changed: list[Changed]) -> None:
    files = LocalFiles(folder)
    for each in changed:
        write_kept(
            files,
            each.query,
            replace(each.kept, identity=rules.learned(each.kept.identity, each.now)),
        )
