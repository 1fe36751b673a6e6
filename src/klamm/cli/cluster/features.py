"""`klamm cluster features`: at which level each feature is, and which levels the broker that answers can work with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from klamm.cli.connect import DEFAULT_BOOTSTRAP, Bootstrap, Cluster, Output, Properties
from klamm.cli.output import show

if TYPE_CHECKING:
    from klamm.client.cluster import Cluster as Connections


def features(
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP, properties: Properties = None, output: Output = None
) -> None:
    """Show the level of each feature, and the lowest and highest that are supported."""

    async def look(
        connections: Connections,
    ) -> tuple[Mapping[str, int], Mapping[str, tuple[int, int]]]:
        connection = await connections.connection(await connections.any_node())
        return connection.features, connection.supported_features

    cluster = Cluster.at(bootstrap, properties)
    levels, supported = cluster.talk("the features are not known", look)
    ranges = {name: supported.get(name, (None, None)) for name in sorted({*levels, *supported})}
    show(
        [
            # What was never finalized is off, which is level 0.
            {"feature": name, "level": levels.get(name, 0), "lowest": lowest, "highest": highest}
            for name, (lowest, highest) in ranges.items()
        ],
        output,
    )
