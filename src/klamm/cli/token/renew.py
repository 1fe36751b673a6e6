"""`klamm token renew`: more time for a token."""

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
from klamm.protocol.messages.renew_delegation_token import (
    RenewDelegationTokenRequest,
    RenewDelegationTokenResponse,
)


def renew(
    hmac: Hmac,
    period_ms: Annotated[
        int,
        typer.Option(
            "--period-ms",
            metavar="MS",
            min=-1,
            max=INT64_MAX,
            help="From now on; -1: as the broker allows.",
        ),
    ] = -1,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    properties: Properties = None,
    output: Output = None,
) -> None:
    """Give a token more time, up to the end of its life."""
    request = RenewDelegationTokenRequest(hmac=decoded(hmac), renew_period_ms=period_ms)

    async def ask(connections: Connections) -> int:
        answer = await connections.ask(
            await connections.any_node(), request, RenewDelegationTokenResponse
        )
        check(answer.error_code)
        return answer.expiry_timestamp_ms

    expires = Cluster.at(bootstrap, properties).talk("the token was not renewed", ask)
    show([{"expires": expires}], output)
