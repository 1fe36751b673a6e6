"""`klamm token create`: a token that logs in as its owner, for as long as it lasts."""

from __future__ import annotations

from base64 import b64encode
from typing import Annotated

import typer

from klamm.cli.connect import (
    DEFAULT_BOOTSTRAP,
    INT64_MAX,
    Bootstrap,
    Cluster,
    Output,
    Properties,
    check_names,
)
from klamm.cli.output import Row, show
from klamm.client.cluster import Cluster as Connections
from klamm.client.errors import check
from klamm.protocol.messages.create_delegation_token import (
    CreatableRenewers,
    CreateDelegationTokenRequest,
    CreateDelegationTokenResponse,
)


def create(
    owner: Annotated[
        str | None, typer.Option("--owner", help="A user; who asks, if not given.")
    ] = None,
    renewers: Annotated[
        list[str] | None, typer.Option("--renewer", help="A user; may be repeated.")
    ] = None,
    max_lifetime_ms: Annotated[
        int,
        typer.Option(
            "--max-lifetime-ms",
            metavar="MS",
            min=-1,
            max=INT64_MAX,
            help="-1: as the broker allows.",
        ),
    ] = -1,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    properties: Properties = None,
    output: Output = None,
) -> None:
    """Create a token. It is shown once: its id is the user name and its HMAC the password of a SCRAM login."""
    check_names("user", [*(renewers or ()), *([owner] if owner is not None else [])])
    request = CreateDelegationTokenRequest(
        owner_principal_type="User" if owner else None,
        owner_principal_name=owner,
        renewers=[
            CreatableRenewers(principal_type="User", principal_name=each) for each in renewers or ()
        ],
        max_lifetime_ms=max_lifetime_ms,
    )

    async def ask(connections: Connections) -> Row:
        token = await connections.ask(
            await connections.any_node(), request, CreateDelegationTokenResponse
        )
        check(token.error_code)
        return {
            "token_id": token.token_id,
            "hmac": b64encode(bytes(token.hmac)).decode(),
            "owner": token.principal_name,
            "expires": token.expiry_timestamp_ms,
            "ends": token.max_timestamp_ms,
        }

    show([Cluster.at(bootstrap, properties).talk("the token was not created", ask)], output)
