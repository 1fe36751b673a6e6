"""`klamm group list`: which groups there are. librdkafka knows those of consumers; of the others klamm asks by itself."""

from __future__ import annotations

import fnmatch
from typing import TYPE_CHECKING, Annotated

import typer

from klamm.cli.connect import (
    ANSWER_TIMEOUT_S,
    DEFAULT_BOOTSTRAP,
    Bootstrap,
    Cluster,
    Output,
    Properties,
    answer,
    explain,
)
from klamm.cli.output import (
    Row,
    complain,
    show,
)
from klamm.protocol.messages.list_groups import (
    ListedGroup,
    ListGroupsRequest,
    ListGroupsResponse,
)

if TYPE_CHECKING:
    from confluent_kafka.admin import AdminClient

    from klamm.client.cluster import Cluster as Connections

_DEFAULT_TYPE = "classic"


def list_groups(
    pattern: Annotated[
        str, typer.Argument(help="Only names like this, for example 'billing-*'.")
    ] = "*",
    everything: Annotated[
        bool, typer.Option("--all", "-a", help="Also groups that are not of consumers.")
    ] = False,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    properties: Properties = None,
    output: Output = None,
) -> None:
    """List groups."""
    cluster = Cluster.at(bootstrap, properties)
    rows = _all_groups(cluster) if everything else _consumer_groups(cluster.admin())
    named = {str(row["group"]): row for row in rows}
    show((named[name] for name in sorted(named) if fnmatch.fnmatchcase(name, pattern)), output)


def _consumer_groups(admin: AdminClient) -> list[Row]:
    listed = answer(
        admin.list_consumer_groups(request_timeout=ANSWER_TIMEOUT_S), "groups cannot be listed"
    )
    for error in listed.errors or ():
        complain(explain("a broker does not tell its groups", error))
    return [
        {
            "group": group.group_id,
            "state": group.state.name.lower(),
            "type": group.type.name.lower(),
            "protocol": None if group.is_simple_consumer_group else "consumer",
        }
        for group in listed.valid or ()
    ]


def _all_groups(cluster: Cluster) -> list[Row]:
    """Every broker knows the groups that it coordinates."""

    async def ask(connections: Connections) -> list[ListedGroup]:
        from klamm.client.errors import check

        await connections.refresh()
        found: list[ListedGroup] = []
        for node_id in connections.view.nodes:
            answer = await connections.ask(node_id, ListGroupsRequest(), ListGroupsResponse)
            check(answer.error_code)
            found += answer.groups
        return found

    return [
        {
            "group": group.group_id,
            "state": group.group_state.lower(),
            "type": (group.group_type or _DEFAULT_TYPE).lower(),
            "protocol": group.protocol_type or None,
        }
        for group in cluster.talk("groups cannot be listed", ask)
    ]
