"""Admin as its users see it: topics, partitions, configs, groups, records, transactions, and the cluster itself.

    async with Admin("localhost:9092") as admin:
        await admin.topics.create("orders", partitions=6)
        print(await admin.groups.offsets("billing"))

Calls about one thing raise what the broker says of it. Calls about several give a result or an ApiError for each.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Self

from klamm.client.admin.acls import AclAdmin
from klamm.client.admin.cluster import ClusterAdmin, ClusterDescription, QuorumDescription
from klamm.client.admin.configs import ConfigAdmin
from klamm.client.admin.groups import GroupAdmin
from klamm.client.admin.partitions import PartitionAdmin
from klamm.client.admin.records import RecordAdmin
from klamm.client.admin.topics import TopicAdmin
from klamm.client.admin.transactions import TransactionAdmin
from klamm.client.cluster import Cluster, ClusterSettings
from klamm.client.environment import Environment


class Admin:
    def __init__(
        self,
        bootstrap: str | Iterable[str],
        settings: ClusterSettings | None = None,
        *,
        environment: Environment | None = None,
    ) -> None:
        self._cluster = Cluster(
            bootstrap, settings or ClusterSettings(client_id="klamm-admin"), environment
        )
        self.topics = TopicAdmin(self._cluster)
        self.partitions = PartitionAdmin(self._cluster)
        self.configs = ConfigAdmin(self._cluster)
        self.groups = GroupAdmin(self._cluster)
        self.acls = AclAdmin(self._cluster)
        self.records = RecordAdmin(self._cluster)
        self.transactions = TransactionAdmin(self._cluster)
        self._about_cluster = ClusterAdmin(self._cluster)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._cluster.close()

    async def describe_cluster(self) -> ClusterDescription:
        return await self._about_cluster.describe()

    async def features(self) -> dict[str, int]:
        """The finalized level of each feature."""
        return await self._about_cluster.features()

    async def quorum(self) -> QuorumDescription:
        """Who holds the metadata, and how far each of them is."""
        return await self._about_cluster.quorum()

    async def unregister_broker(self, broker_id: int) -> None:
        """Forget a broker that will not come back."""
        await self._about_cluster.unregister(broker_id)
