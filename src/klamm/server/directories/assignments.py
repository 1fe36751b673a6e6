"""Which data directory holds which replica: told to the controller where its records say something else (KIP-858).

The controller needs it when a directory fails: only the replicas in it go offline.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable
from typing import TYPE_CHECKING

from klamm.base.errors import ApiError, ErrorCode
from klamm.base.ids import TopicPartition, Uuid
from klamm.protocol.messages.assign_replicas_to_dirs import (
    AssignReplicasToDirsRequest,
    AssignReplicasToDirsRequestDirectoryData,
    AssignReplicasToDirsRequestPartitionData,
    AssignReplicasToDirsRequestTopicData,
)
from klamm.replication.partition import Partition

if TYPE_CHECKING:
    from klamm.server.broker import Broker

log = logging.getLogger(__name__)

# As many in a request as Kafka puts into one.
_AT_ONCE = 2250
_PAUSE_SECONDS = 0.5


class DirectoryAssignments:
    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        # What may have to be told, in the order in which it was noticed.
        self._noticed: dict[TopicPartition, None] = {}
        self._is_telling = False

    def follow(self, partitions: Iterable[Partition]) -> None:
        for partition in partitions:
            if self._directory_to_tell(partition.name) is not None:
                self._noticed[partition.name] = None
        if self._noticed and not self._is_telling:
            self._is_telling = True
            self._broker.run(self._tell())

    def _directory_to_tell(self, name: TopicPartition) -> Uuid | None:
        """Where it is, if the metadata says something else."""
        broker = self._broker
        partition, state = broker.replicas.find(*name), broker.image.partition(*name)
        if partition is None or state is None or broker.node_id not in state.replicas:
            return None
        home = broker.replicas.home_of(partition)
        known = state.directory_of(broker.node_id)
        if known is None or not home.is_online:
            # Without directories: the metadata version is too old for them.
            return None
        return None if known == home.id else home.id

    async def _tell(self) -> None:
        try:
            while self._noticed:
                names = list(self._noticed)[:_AT_ONCE]
                for name in names:
                    del self._noticed[name]
                request = self._request(names)
                if request.directories and not await self._ask(request):
                    self._noticed.update(dict.fromkeys(names))
                    await asyncio.sleep(_PAUSE_SECONDS)
        finally:
            self._is_telling = False

    def _request(self, names: Iterable[TopicPartition]) -> AssignReplicasToDirsRequest:
        directories: dict[Uuid, dict[Uuid, list[int]]] = {}
        for name in names:
            directory, partition = self._directory_to_tell(name), self._broker.replicas.find(*name)
            if directory is not None and partition is not None:
                topics = directories.setdefault(directory, {})
                topics.setdefault(partition.topic_id, []).append(name.partition)
        return AssignReplicasToDirsRequest(
            broker_id=self._broker.node_id,
            broker_epoch=self._broker.quorum.broker_epoch,
            directories=[
                AssignReplicasToDirsRequestDirectoryData(
                    id=directory,
                    topics=[
                        AssignReplicasToDirsRequestTopicData(
                            topic_id=topic_id,
                            partitions=[
                                AssignReplicasToDirsRequestPartitionData(partition_index=each)
                                for each in indexes
                            ],
                        )
                        for topic_id, indexes in topics.items()
                    ],
                )
                for directory, topics in directories.items()
            ],
        )

    async def _ask(self, request: AssignReplicasToDirsRequest) -> bool:
        """False: it must be told again. What the controller refuses of one replica is not asked a second time."""
        try:
            answer = await self._broker.controller.ask(request)
        except ApiError as e:
            log.info("the controller did not hear of directories: %s", e)
            return False
        if answer.error_code:
            log.info("the controller did not hear of directories: error=%s", answer.error_code)
            return answer.error_code == ErrorCode.UNSUPPORTED_VERSION
        return True
