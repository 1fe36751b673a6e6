"""DescribeLogDirs (35), v1-5: how many bytes each partition holds in each data directory.

v4  size and free space of the file system (KIP-827)
v5  whether the directory is cordoned (KIP-1066): none ever is
"""

from __future__ import annotations

from collections.abc import Iterable
from posixpath import abspath

from klamm.base.errors import ErrorCode
from klamm.protocol.messages.describe_log_dirs import (
    DescribeLogDirsPartition,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
    DescribeLogDirsTopic,
)
from klamm.server.authorization.rights import DESCRIBE_CLUSTER
from klamm.server.call import Call
from klamm.storage.future_replica import FutureReplica
from klamm.storage.log_directories import LogDirectory


def handle(request: DescribeLogDirsRequest, call: Call) -> DescribeLogDirsResponse:
    call.require(DESCRIBE_CLUSTER)
    asked = None
    if request.topics is not None:
        asked = {(topic.topic, index) for topic in request.topics for index in topic.partitions}
    futures = call.broker.directory_moves.futures.values()
    return DescribeLogDirsResponse(
        results=[
            _describe(each, asked, [future for future in futures if future.target is each])
            for each in call.broker.replicas.directories
        ]
    )


def _describe(
    directory: LogDirectory, asked: set[tuple[str, int]] | None, futures: Iterable[FutureReplica]
) -> DescribeLogDirsResult:
    if not directory.is_online:
        return DescribeLogDirsResult(
            error_code=ErrorCode.KAFKA_STORAGE_ERROR, log_dir=abspath(directory.path)
        )
    topics: dict[str, list[DescribeLogDirsPartition]] = {}
    for name, log in directory.logs.items():
        if asked is None or name in asked:
            topics.setdefault(name.topic, []).append(
                DescribeLogDirsPartition(
                    partition_index=name.partition, partition_size=log.size_bytes(), offset_lag=0
                )
            )
    for future in futures:
        if asked is None or future.name in asked:
            topics.setdefault(future.name.topic, []).append(
                DescribeLogDirsPartition(
                    partition_index=future.name.partition,
                    partition_size=future.log.size_bytes(),
                    offset_lag=future.lag,
                    is_future_key=True,
                )
            )
    space = directory.disk.space(directory.path)
    return DescribeLogDirsResult(
        log_dir=abspath(directory.path),
        topics=[
            DescribeLogDirsTopic(name=name, partitions=partitions)
            for name, partitions in topics.items()
        ],
        total_bytes=space.total_bytes,
        usable_bytes=space.usable_bytes,
    )
