"""`klamm token expire`: less time for a token, or none."""

from __future__ import annotations

from typing import Annotated

import typer

from klamm.cli.connect import (
    DEFAULT_BOOTSTRAP,
    INT64_MAX,
    Bootstrap,
    Cluster,
    Output,
    Properties,
)
from klamm.cli.output import show
from klamm.cli.token.hmac import Hmac, decoded
from klamm.client.cluster import Cluster as Connections
from klamm.client.errors import check
from klamm.protocol.messages.expire_delegation_token import (
    ExpireDelegationTokenRequest,
    ExpireDelegationTokenResponse,
)


def expire(
    hmac: Hmac,
    period_ms: Annotated[
        int,
        typer.Option(
            "--period-ms",
            metavar="MS",
            min=-1,
            max=INT64_MAX,
            help="From now on; -1: at once.",
        ),
    ] = -1,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    properties: Properties = None,
    output: Output = None,
) -> None:
    """Give a token less time, or end it at once."""
    request = ExpireDelegationTokenRequest(hmac=decoded(hmac), expiry_time_period_ms=period_ms)

    async def ask(connections: Connections) -> int:
        answer = await connections.ask(
            await connections.any_node(), request, ExpireDelegationTokenResponse
        )
        check(answer.error_code)
        return answer.expiry_timestamp_ms

    expires = Cluster.at(bootstrap, properties).talk("the token was not changed", ask)
    show([{"expires": expires}], output)
