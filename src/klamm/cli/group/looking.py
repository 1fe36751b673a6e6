"""What a cluster says about its groups: members, committed offsets, lag. Asks and words; changes nothing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from klamm.base.ids import TopicPartition
from klamm.cli.connect import ANSWER_TIMEOUT_S, answer
from klamm.cli.offsets import END, ask
from klamm.cli.output import CommandError, Row

if TYPE_CHECKING:
    from confluent_kafka.admin import AdminClient, ConsumerGroupDescription, MemberDescription

# What describing a group that is not there gives: brokers do not say that it never was.
DEAD = "DEAD"
_WITHOUT_MEMBERS = (DEAD, "EMPTY")
_NO_OFFSET = -1001


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


def described(admin: AdminClient, groups: Iterable[str]) -> dict[str, ConsumerGroupDescription]:
    futures = admin.describe_consumer_groups(list(groups), request_timeout=ANSWER_TIMEOUT_S)
    return {
        name: answer(future, f"group {name} cannot be described")
        for name, future in futures.items()
    }


def described_one(admin: AdminClient, group: str) -> ConsumerGroupDescription:
    found = described(admin, [group])[group]
    if state_of(found) == DEAD:
        raise CommandError(
            f"there is no group {group}", hint="`klamm group list` shows what exists"
        )
    return found


def state_of(group: ConsumerGroupDescription) -> str:
    return str(group.state.name)


def check_has_no_members(group: ConsumerGroupDescription, what: str) -> None:
    if state_of(group) not in _WITHOUT_MEMBERS:
        raise CommandError(
            f"group {group.group_id} {what}",
            why=f"it has members and is {state_of(group).lower()}",
            hint="stop its consumers first, or `klamm group remove-member`",
        )


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


def lag_rows(admin: AdminClient, group: ConsumerGroupDescription) -> list[Row]:
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


def facts(group: ConsumerGroupDescription) -> Row:
    node = group.coordinator
    return {
        "group": group.group_id,
        "state": state_of(group).lower(),
        "type": str(group.type.name).lower(),
        "assignor": group.partition_assignor or None,
        "coordinator": None if node is None else f"{node.host}:{node.port} (id {node.id})",
    }


def member_rows(group: ConsumerGroupDescription) -> list[Row]:
    return [
        {
            "member_id": member.member_id,
            "instance_id": member.group_instance_id or None,
            "client_id": member.client_id,
            "host": member.host,
            "partitions": [
                f"{place.topic}-{place.partition}"
                for place in sorted(
                    member.assignment.topic_partitions, key=lambda p: (p.topic, p.partition)
                )
            ],
        }
        for member in sorted(group.members, key=lambda each: (each.client_id, each.member_id))
    ]
