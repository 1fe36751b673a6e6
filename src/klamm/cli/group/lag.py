"""`klamm group lag`: how far groups have read, and how much is left to read."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from klamm.base.ids import TopicPartition
from klamm.cli.connect import (
    ANSWER_TIMEOUT_S,
    DEFAULT_BOOTSTRAP,
    Bootstrap,
    Cluster,
    Output,
    Properties,
    answer,
    check_names,
)
from klamm.cli.group.arguments import Groups
from klamm.cli.group.describe import described_one
from klamm.cli.offsets import END, ask
from klamm.cli.output import (
    CommandError,
    Row,
    flush,
    show,
    write,
)
from klamm.cli.watch import Interval, Watch

if TYPE_CHECKING:
    from confluent_kafka.admin import AdminClient, ConsumerGroupDescription, MemberDescription

_CLEAR_SCREEN = b"\x1b[2J\x1b[H"
_NO_OFFSET = -1001


def lag(
    names: Groups,
    watch: Watch = False,
    interval: Interval = 2.0,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    properties: Properties = None,
    output: Output = None,
) -> None:
    """Show how far groups have read, and how much is left to read."""
    check_names("group", names, may_be_empty=True)
    admin = Cluster.at(bootstrap, properties).admin()
    try:
        while True:
            rows = [row for name in names for row in _lag_rows(admin, described_one(admin, name))]
            if watch and sys.stdout.isatty():
                write(_CLEAR_SCREEN)
            show(rows, output)
            if not watch:
                return
            flush()
            time.sleep(interval)
    except KeyboardInterrupt:
        # The only way to end a watch, so not a failure.
        return


def _lag_rows(admin: AdminClient, group: ConsumerGroupDescription) -> list[Row]:
    return [
        {
            "group": group.group_id,
            "topic": reading.place.topic,
            "partition": reading.place.partition,
            "committed": reading.committed,
            "end_offset": reading.end,
            "lag": reading.lag,
            "client_id": reading.member.client_id if reading.member else None,
            "member_id": reading.member.member_id if reading.member else None,
        }
        for reading in readings(admin, group)
    ]


class Reading(NamedTuple):
    """How far a group is in one partition."""

    place: TopicPartition
    committed: int | None
    end: int | None
    member: MemberDescription | None

    @property
    def lag(self) -> int | None:
        if self.committed is None or self.end is None:
            return None
        return max(0, self.end - self.committed)


def readings(admin: AdminClient, group: ConsumerGroupDescription) -> list[Reading]:
    """What was committed, and what is assigned though nothing was committed for it yet."""
    offsets = committed(admin, group.group_id)
    owners = {
        TopicPartition(place.topic, place.partition): member
        for member in group.members
        for place in member.assignment.topic_partitions
    }
    places = sorted({*offsets, *owners})
    ends = _ends(admin, places)
    return [
        Reading(place, offsets.get(place), ends.get(place), owners.get(place)) for place in places
    ]


def committed(admin: AdminClient, group: str) -> dict[TopicPartition, int]:
    """Everything that the group has committed."""
    from confluent_kafka import ConsumerGroupTopicPartitions

    (future,) = admin.list_consumer_group_offsets(
        [ConsumerGroupTopicPartitions(group)], request_timeout=ANSWER_TIMEOUT_S
    ).values()
    found = answer(future, f"the offsets of group {group} are not known")
    return {
        TopicPartition(place.topic, place.partition): place.offset
        for place in sorted(found.topic_partitions, key=lambda p: (p.topic, p.partition))
        if place.offset not in (_NO_OFFSET, -1)
    }


def _ends(admin: AdminClient, places: list[TopicPartition]) -> Mapping[TopicPartition, int]:
    try:
        return ask(admin, places, END) if places else {}
    except CommandError:
        # One of them is gone: the others are still worth knowing.
        ends: dict[TopicPartition, int] = {}
        for place in places:
            try:
                ends |= ask(admin, [place], END)
            except CommandError:
                continue
        return ends
