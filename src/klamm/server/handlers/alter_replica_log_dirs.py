"""AlterReplicaLogDirs (34), v1-2: put replicas into another data directory of this broker (KIP-113)."""

from __future__ import annotations

from posixpath import abspath

from klamm.base.errors import ApiError, ErrorCode
from klamm.base.ids import TopicPartition
from klamm.protocol.messages.alter_replica_log_dirs import (
    AlterReplicaLogDirPartitionResult,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirsResponse,
    AlterReplicaLogDirTopicResult,
)
from klamm.server.authorization.rights import ALTER_CLUSTER
from klamm.server.broker import Broker
from klamm.server.call import Call, Steps

# While Kafka copies a replica, its directory has a longer name: <partition>.<32 digits>-future. A file system takes 255.
_MAX_NAME = 255 - len(".-future") - 32


def handle(request: AlterReplicaLogDirsRequest, call: Call) -> Steps:
    is_allowed = call.may(ALTER_CLUSTER)
    # A partition that is named twice goes where it is named last.
    wanted: dict[TopicPartition, str] = {}
    for directory in request.dirs:
        for topic in directory.topics:
            wanted.update((TopicPartition(topic.name, n), directory.path) for n in topic.partitions)
            yield
    topics: dict[str, AlterReplicaLogDirTopicResult] = {}
    for name, path in wanted.items():
        result = AlterReplicaLogDirPartitionResult(partition_index=name.partition)
        try:
            if not is_allowed:
                raise ApiError(ALTER_CLUSTER.error)
            _move(name, path, call.broker)
        except ApiError as error:
            result.error_code = error.code
        known = topics.setdefault(name.topic, AlterReplicaLogDirTopicResult(topic_name=name.topic))
        known.partitions.append(result)
        yield
    return AlterReplicaLogDirsResponse(results=list(topics.values()))


def _move(name: TopicPartition, path: str, broker: Broker) -> None:
    """Raises what the client is told; a replica that is there already has nothing to do."""
    if len(str(name)) > _MAX_NAME:
        raise ApiError(ErrorCode.INVALID_TOPIC_EXCEPTION)
    replicas = broker.replicas
    found = (each for each in replicas.directories if abspath(each.path) == path)
    if (directory := next(found, None)) is None:
        raise ApiError(ErrorCode.LOG_DIR_NOT_FOUND)
    if not directory.is_online:
        raise ApiError(ErrorCode.KAFKA_STORAGE_ERROR)
    home = replicas.home_of(replicas.get(*name))
    if not home.is_online:
        raise ApiError(ErrorCode.KAFKA_STORAGE_ERROR)
    if home is directory:
        # Where it is it stays; a move to elsewhere is called off.
        broker.directory_moves.cancel(name)
    else:
        broker.directory_moves.begin(name, directory)
