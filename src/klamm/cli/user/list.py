"""`klamm user list`: who can log in by SCRAM, with which mechanisms."""

from __future__ import annotations

from klamm.cli.connect import DEFAULT_BOOTSTRAP, Bootstrap, Cluster, Output, Properties
from klamm.cli.output import Row, show
from klamm.client.cluster import Cluster as Connections
from klamm.client.errors import check
from klamm.protocol.messages.describe_user_scram_credentials import (
    DescribeUserScramCredentialsRequest,
    DescribeUserScramCredentialsResponse,
)
from klamm.security.sasl.scram import BY_NUMBER


def list_users(
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP, properties: Properties = None, output: Output = None
) -> None:
    """List the users that log in by SCRAM."""

    async def ask(connections: Connections) -> list[Row]:
        answer = await connections.ask(
            await connections.any_node(),
            DescribeUserScramCredentialsRequest(users=None),
            DescribeUserScramCredentialsResponse,
        )
        check(answer.error_code, answer.error_message)
        return [
            {
                "user": user.user,
                "mechanism": BY_NUMBER[each.mechanism].name,
                "iterations": each.iterations,
            }
            for user in sorted(answer.results, key=lambda each: each.user)
            for each in user.credential_infos
            if each.mechanism in BY_NUMBER
        ]

    show(Cluster.at(bootstrap, properties).talk("the users are not known", ask), output)
