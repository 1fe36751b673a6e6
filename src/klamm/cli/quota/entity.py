"""Whose quota: the options that `set` and `remove` share. `--user ''` is the default of all users."""

from __future__ import annotations

from typing import Annotated

import typer

from klamm.cli.connect import Cluster, check_names
from klamm.cli.output import UsageError
from klamm.client.cluster import Cluster as Connections
from klamm.client.errors import check
from klamm.protocol.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasRequestEntryData,
    AlterClientQuotasResponse,
    EntityData,
    OpData,
)

User = Annotated[str | None, typer.Option("--user", "-u", help="A user; '' for all others.")]
ClientId = Annotated[
    str | None, typer.Option("--client-id", "-c", help="A client id; '' for all others.")
]
Address = Annotated[str | None, typer.Option("--ip", "-i", help="An address; '' for all others.")]


def entity_of(user: str | None, client_id: str | None, ip: str | None) -> list[EntityData]:
    named = {"user": user, "client-id": client_id, "ip": ip}
    entity = []
    for kind, name in named.items():
        if name is not None:
            check_names(kind, [name], may_be_empty=True)
            entity.append(EntityData(entity_type=kind, entity_name=name or None))
    if not entity:
        raise UsageError("whose quota?", hint="--user, --client-id, both of them, or --ip")
    return entity


def shown(entity: list[EntityData]) -> dict[str, str]:
    return {each.entity_type: each.entity_name or "(default)" for each in entity}


def alter(cluster: Cluster, what: str, entity: list[EntityData], ops: list[OpData]) -> None:
    request = AlterClientQuotasRequest(
        entries=[AlterClientQuotasRequestEntryData(entity=entity, ops=ops)]
    )

    async def ask(connections: Connections) -> None:
        answer = await connections.ask(
            await connections.any_node(), request, AlterClientQuotasResponse
        )
        for each in answer.entries:
            check(each.error_code, each.error_message)

    cluster.talk(what, ask)
