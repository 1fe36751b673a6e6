"""Records as an administrator sees them: where logs begin and end, and moving their beginning."""

from __future__ import annotations

from collections.abc import Mapping

from klamm.base.ids import TopicPartition
from klamm.client.cluster import Cluster
from klamm.client.errors import check
from klamm.client.list_offsets import FoundOffset, list_offsets
from klamm.protocol.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopic,
)

# Everything there is.
ALL_RECORDS = -1


class RecordAdmin:
    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    async def delete(self, before: Mapping[TopicPartition, int]) -> dict[TopicPartition, int]:
        """Delete what lies before these offsets; gives the new first offsets."""
        return {
            partition: await self._delete(partition, offset) for partition, offset in before.items()
        }

    async def _delete(self, partition: TopicPartition, offset: int) -> int:
        part = DeleteRecordsPartition(partition_index=partition.partition, offset=offset)
        request = DeleteRecordsRequest(
            topics=[DeleteRecordsTopic(name=partition.topic, partitions=[part])],
            timeout_ms=self._cluster.settings.request_timeout_ms,
        )

        async def attempt() -> int:
            leader, _ = await self._cluster.leader(partition)
            try:
                answer = await self._cluster.ask(leader, request, DeleteRecordsResponse)
                done = answer.topics[0].partitions[0]
                check(done.error_code)
            except BaseException:
                await self._cluster.refresh_quietly([partition.topic])
                raise
            return done.low_watermark

        return await self._cluster.persist(attempt)

    async def list_offsets(
        self, times: Mapping[TopicPartition, int], *, read_committed: bool = False
    ) -> dict[TopicPartition, FoundOffset | None]:
        """By time in ms, or EARLIEST, LATEST, MAX_TIMESTAMP of klamm.client.list_offsets."""
        return await list_offsets(self._cluster, times, isolation_level=int(read_committed))
