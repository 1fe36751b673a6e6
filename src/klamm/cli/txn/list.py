"""`klamm txn list`: the transactional ids that the cluster knows."""

from __future__ import annotations

from typing import Annotated, NamedTuple

import typer

from klamm.base.errors import ApiError, ErrorCode
from klamm.cli.connect import (
    DEFAULT_BOOTSTRAP,
    INT64_MAX,
    Bootstrap,
    Cluster,
    Output,
    Properties,
    check_names,
)
from klamm.cli.output import show
from klamm.client.cluster import Cluster as Connections
from klamm.client.errors import check
from klamm.protocol.messages.list_transactions import (
    ListTransactionsRequest,
    ListTransactionsResponse,
)


def list_transactions(
    states: Annotated[
        list[str] | None,
        typer.Option("--state", "-s", help="Ongoing, PrepareCommit, ...; may be repeated."),
    ] = None,
    producer_ids: Annotated[
        list[int] | None,
        typer.Option("--producer-id", "-p", min=0, max=INT64_MAX, help="May be repeated."),
    ] = None,
    longer_than_ms: Annotated[
        int,
        typer.Option(
            "--longer-than-ms",
            metavar="MS",
            min=-1,
            max=INT64_MAX,
            help="Open for longer than this.",
        ),
    ] = -1,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    properties: Properties = None,
    output: Output = None,
) -> None:
    """List the transactional ids that the cluster knows."""
    check_names("state", states or ())
    request = ListTransactionsRequest(
        state_filters=states or [],
        producer_id_filters=producer_ids or [],
        duration_filter=longer_than_ms,
    )
    found = Cluster.at(bootstrap, properties).talk(
        "transactions cannot be listed", lambda connections: _list_all(connections, request)
    )
    show((each._asdict() for each in found), output)


class Listed(NamedTuple):
    transactional_id: str
    coordinator: int
    producer_id: int
    state: str


async def _list_all(connections: Connections, request: ListTransactionsRequest) -> list[Listed]:
    """Every broker knows those that it coordinates."""
    await connections.refresh()
    found: list[Listed] = []
    for node_id in sorted(connections.view.nodes):
        answer = await connections.ask(node_id, request, ListTransactionsResponse)
        check(answer.error_code)
        if answer.unknown_state_filters:
            states = ", ".join(answer.unknown_state_filters)
            raise ApiError(ErrorCode.INVALID_REQUEST, f"there is no state {states}")
        found += [
            Listed(each.transactional_id, node_id, each.producer_id, each.transaction_state)
            for each in answer.transaction_states
        ]
    return sorted(found)
