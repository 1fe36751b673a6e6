"""`klamm cluster info`: who is in the cluster."""

from __future__ import annotations

from klamm.cli.connect import (
    ANSWER_TIMEOUT_S,
    DEFAULT_BOOTSTRAP,
    Bootstrap,
    Cluster,
    Output,
    Properties,
    answer,
    cluster_metadata,
)
from klamm.cli.output import Format, Row, format_or_default, show


def info(
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP, properties: Properties = None, output: Output = None
) -> None:
    """Show the cluster id, the brokers and how much they hold."""
    admin = Cluster.at(bootstrap, properties).admin()
    described = answer(
        admin.describe_cluster(request_timeout=ANSWER_TIMEOUT_S), "the cluster cannot be described"
    )
    topics = cluster_metadata(admin).topics.values()
    controller = described.controller.id if described.controller else None
    brokers: list[Row] = [
        {
            "id": node.id,
            "host": node.host,
            "port": node.port,
            "rack": node.rack,
            "controller": node.id == controller,
        }
        for node in sorted(described.nodes, key=lambda node: node.id)
    ]
    facts: Row = {
        "cluster_id": described.cluster_id,
        "controller": controller,
        "topics": len(topics),
        "partitions": sum(len(topic.partitions) for topic in topics),
    }
    if format_or_default(output) is Format.JSON:
        show([{**facts, "brokers": brokers}], Format.JSON)
        return
    show([facts], Format.TABLE)
    show(brokers, Format.TABLE, title="\nBrokers")
