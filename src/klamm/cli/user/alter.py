"""AlterUserScramCredentials, as `create` and `delete` send it."""

from __future__ import annotations

from klamm.cli.connect import Cluster
from klamm.client.cluster import Cluster as Connections
from klamm.client.errors import check
from klamm.protocol.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
)


def alter(cluster: Cluster, what: str, request: AlterUserScramCredentialsRequest) -> None:
    async def ask(connections: Connections) -> None:
        answer = await connections.ask(
            await connections.any_node(), request, AlterUserScramCredentialsResponse
        )
        for each in answer.results:
            check(each.error_code, each.error_message)

    cluster.talk(what, ask)
