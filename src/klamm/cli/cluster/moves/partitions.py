"""Partitions as they are named on the command line: TOPIC for all of a topic, TOPIC:PARTITION for one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from klamm.base.ids import TopicPartition
from klamm.cli.connect import INT32_MAX, Cluster, check_names
from klamm.cli.output import CommandError, UsageError

if TYPE_CHECKING:
    from klamm.client.cluster import Cluster as Connections
    from klamm.client.metadata import ClusterView, PartitionView

METAVAR = "TOPIC[:PARTITION]"


def parse_partition(text: str) -> tuple[str, int | None]:
    topic, colon, number = text.partition(":")
    check_names("topic", [topic])
    if not colon:
        return topic, None
    return topic, parse_number(number, f"{text[:60]!r} is not {METAVAR}", hint="orders or orders:0")


def parse_number(text: str, what: str, *, hint: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) <= 10 and int(text) <= INT32_MAX):
        raise UsageError(what, hint=hint)
    return int(text)


def named_partitions(cluster: Cluster, texts: Sequence[str]) -> dict[TopicPartition, PartitionView]:
    """Those that are named, in that order, as they are now."""
    wanted = [parse_partition(text) for text in texts]

    async def look(connections: Connections) -> ClusterView:
        await connections.refresh({topic for topic, _ in wanted})
        return connections.view

    view = cluster.talk("the topics cannot be read", look)
    found: dict[TopicPartition, PartitionView] = {}
    for topic, number in wanted:
        if topic not in view.topics:
            code = view.errors.get(topic)
            raise CommandError(
                f"topic {topic} cannot be read",
                why=f"{code.text} ({code.name})" if code else "",
                hint="`klamm topic list` shows what exists",
            )
        partitions = view.topics[topic].partitions
        if number is not None and number not in partitions:
            raise CommandError(
                f"there is no partition {topic}-{number}", hint=f"klamm topic describe {topic}"
            )
        for each in partitions if number is None else [number]:
            found[TopicPartition(topic, each)] = partitions[each]
    return found
