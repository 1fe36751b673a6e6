"""How resources, users and operations are named on the command line."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, NamedTuple

import typer

from klamm.base.acl import CLUSTER_NAME, AclOperation, AclResourceType
from klamm.cli.connect import check_names
from klamm.cli.output import Row, UsageError
from klamm.client.admin.acls import Acl

Topic = Annotated[str | None, typer.Option("--topic", "-t", metavar="NAME", help="A topic, or *.")]
Group = Annotated[str | None, typer.Option("--group", "-g", metavar="NAME", help="A group, or *.")]
TransactionalId = Annotated[
    str | None, typer.Option("--transactional-id", metavar="NAME", help="A transactional id, or *.")
]
Token = Annotated[
    str | None, typer.Option("--delegation-token", metavar="ID", help="A delegation token, or *.")
]
User = Annotated[
    str | None,
    typer.Option("--user", metavar="USER", help="A user whose tokens it is about, or *."),
]
OfCluster = Annotated[bool, typer.Option("--cluster", help="The cluster as such.")]
Principal = Annotated[
    str | None,
    typer.Option(
        "--principal", "-p", metavar="USER", help="User:ann, or ann; User:* is everybody."
    ),
]
Host = Annotated[
    str | None, typer.Option("--host", metavar="ADDRESS", help="An address, a network, or *.")
]


class Resource(NamedTuple):
    type: AclResourceType
    name: str


def resource_of(
    *,
    topic: str | None,
    group: str | None,
    transactional_id: str | None,
    token: str | None,
    user: str | None,
    cluster: bool,
) -> Resource | None:
    """The one that is named; None if none is."""
    named = {
        AclResourceType.TOPIC: topic,
        AclResourceType.GROUP: group,
        AclResourceType.TRANSACTIONAL_ID: transactional_id,
        AclResourceType.DELEGATION_TOKEN: token,
        AclResourceType.USER: None if user is None or user == "*" else full_name(user),
        AclResourceType.CLUSTER: CLUSTER_NAME if cluster else None,
    }
    if user == "*":
        named[AclResourceType.USER] = user
    found = [Resource(kind, name) for kind, name in named.items() if name is not None]
    if len(found) > 1:
        raise UsageError("a rule is about one resource", hint="run the command once for each")
    check_names("resource", (each.name for each in found))
    return found[0] if found else None


def needed(resource: Resource | None) -> Resource:
    if resource is None:
        raise UsageError(
            "no resource is named",
            hint="--topic, --group, --transactional-id, --delegation-token, --user or --cluster",
        )
    return resource


def full_name(user: str) -> str:
    """`ann` is short for `User:ann`."""
    check_names("user", [user])
    return user if ":" in user else f"User:{user}"


def operation_of(word: str) -> AclOperation:
    name = word.strip().upper().replace("-", "_")
    known = {each.name: each for each in AclOperation if each > AclOperation.ANY}
    # As Kafka's own tool has them.
    known |= {each.name.replace("_", ""): each for each in known.values()}
    if name not in known:
        words = ", ".join(
            each.name.lower().replace("_", "-") for each in AclOperation if each > AclOperation.ANY
        )
        raise UsageError(f"{word[:60]!r} is not an operation", hint=words)
    return known[name]


def row(acl: Acl) -> Row:
    return {
        "permission": acl.permission.name.lower(),
        "principal": acl.principal,
        "operation": acl.operation.name.lower(),
        "type": acl.resource_type.name.lower(),
        "resource": acl.name,
        "pattern": acl.pattern_type.name.lower(),
        "host": acl.host,
    }


def rows(acls: Iterable[Acl]) -> Iterable[Row]:
    return (row(each) for each in acls)
