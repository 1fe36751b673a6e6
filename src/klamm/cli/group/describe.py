"""`klamm group describe`: state, members and what each of them reads. Other commands of groups ask here, too."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import typer

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
from klamm.cli.output import (
    CommandError,
    Format,
    Row,
    complain,
    format_or_default,
    show,
)

if TYPE_CHECKING:
    from confluent_kafka.admin import AdminClient, ConsumerGroupDescription

# What describing a group that is not there gives: brokers do not say that it never was.
DEAD = "DEAD"
_WITHOUT_MEMBERS = (DEAD, "EMPTY")


def describe(
    names: Groups,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    properties: Properties = None,
    output: Output = None,
) -> None:
    """Show state, members and what each of them reads."""
    check_names("group", names, may_be_empty=True)
    admin = Cluster.at(bootstrap, properties).admin()
    failed = False
    for name in dict.fromkeys(names):
        try:
            group = described_one(admin, name)
        except CommandError as failure:
            complain(failure)
            failed = True
            continue
        if format_or_default(output) is Format.JSON:
            show([{**_facts(group), "members": _member_rows(group)}], Format.JSON)
        else:
            show([_facts(group)], Format.TABLE)
            show(_member_rows(group), Format.TABLE, title=f"\nMembers of {name}")
    if failed:
        raise typer.Exit(1)


def _facts(group: ConsumerGroupDescription) -> Row:
    node = group.coordinator
    return {
        "group": group.group_id,
        "state": state_of(group).lower(),
        "type": str(group.type.name).lower(),
        "assignor": group.partition_assignor or None,
        "coordinator": None if node is None else f"{node.host}:{node.port} (id {node.id})",
    }


def _member_rows(group: ConsumerGroupDescription) -> list[Row]:
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
