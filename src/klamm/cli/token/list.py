"""`klamm token list`: the tokens that one owns or may renew."""

from __future__ import annotations

from base64 import b64encode

from klamm.cli.connect import DEFAULT_BOOTSTRAP, Bootstrap, Cluster, Output, Properties
from klamm.cli.output import Row, show
from klamm.client.cluster import Cluster as Connections
from klamm.client.errors import check
from klamm.protocol.messages.describe_delegation_token import (
    DescribeDelegationTokenRequest,
    DescribeDelegationTokenResponse,
)


def list_tokens(
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP, properties: Properties = None, output: Output = None
) -> None:
    """List the tokens that you own or may renew, with their HMACs."""

    async def ask(connections: Connections) -> list[Row]:
        answer = await connections.ask(
            await connections.any_node(),
            DescribeDelegationTokenRequest(owners=None),
            DescribeDelegationTokenResponse,
        )
        check(answer.error_code)
        return [
            {
                "token_id": each.token_id,
                "hmac": b64encode(bytes(each.hmac)).decode(),
                "owner": each.principal_name,
                "renewers": ",".join(renewer.principal_name for renewer in each.renewers),
                "expires": each.expiry_timestamp,
                "ends": each.max_timestamp,
            }
            for each in sorted(answer.tokens, key=lambda each: each.issue_timestamp)
        ]

    show(Cluster.at(bootstrap, properties).talk("the tokens are not known", ask), output)
