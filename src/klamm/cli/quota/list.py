"""`klamm quota list`: which quotas there are."""

from __future__ import annotations

from klamm.cli.connect import DEFAULT_BOOTSTRAP, Bootstrap, Cluster, Output, Properties
from klamm.cli.output import Row, show
from klamm.client.cluster import Cluster as Connections
from klamm.client.errors import check
from klamm.protocol.messages.describe_client_quotas import (
    DescribeClientQuotasRequest,
    DescribeClientQuotasResponse,
)


def list_quotas(
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP, properties: Properties = None, output: Output = None
) -> None:
    """List all quotas. (default) stands for everybody who has none of their own."""

    async def ask(connections: Connections) -> list[Row]:
        answer = await connections.ask(
            await connections.any_node(),
            DescribeClientQuotasRequest(),
            DescribeClientQuotasResponse,
        )
        check(answer.error_code, answer.error_message)
        rows: list[Row] = []
        for entry in answer.entries or ():
            named = {each.entity_type: each.entity_name or "(default)" for each in entry.entity}
            rows += [
                {
                    "user": named.get("user"),
                    "client_id": named.get("client-id"),
                    "ip": named.get("ip"),
                    "quota": each.key,
                    "value": each.value,
                }
                for each in entry.values
            ]
        return sorted(rows, key=lambda row: [str(value) for value in row.values()])

    show(Cluster.at(bootstrap, properties).talk("the quotas are not known", ask), output)
