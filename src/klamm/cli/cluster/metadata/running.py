"""The metadata of a running cluster, fetched from the controller that leads, as an observer of the quorum does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from klamm.base.errors import ApiError, ErrorCode, code_of
from klamm.base.ids import METADATA_TOPIC, METADATA_TOPIC_ID
from klamm.cli.connect import Cluster
from klamm.cli.output import CommandError
from klamm.protocol.messages.describe_quorum import (
    DescribeQuorumRequest,
    DescribeQuorumRequestPartitionData,
    DescribeQuorumRequestTopicData,
    DescribeQuorumResponse,
)
from klamm.protocol.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    PartitionData,
)
from klamm.protocol.messages.fetch_snapshot import (
    FetchSnapshotRequest,
    FetchSnapshotRequestPartitionSnapshot,
    FetchSnapshotRequestTopicSnapshot,
    FetchSnapshotResponse,
    SnapshotId,
)
from klamm.protocol.records.batch import batches

if TYPE_CHECKING:
    from klamm.client.cluster import Cluster as Connections

_WHAT = "the metadata could not be read"
_AT_ONCE = 4 * 1024 * 1024


class _Leader(NamedTuple):
    address: str
    epoch: int


class _Position(NamedTuple):
    offset: int = 0
    epoch: int = 0


def fetch_metadata(bootstrap: str, properties: Sequence[str] | None) -> list[tuple[str, bytes]]:
    """What it is, and its bytes: a snapshot, if the log no longer begins at 0, and the log behind it."""
    leader = Cluster.at(bootstrap, properties).talk(_WHAT, _find_leader)
    controller = Cluster.at(leader.address, properties)
    return controller.talk(_WHAT, lambda connections: _read(connections, leader.epoch))


async def _find_leader(connections: Connections) -> _Leader:
    topic = DescribeQuorumRequestTopicData(
        topic_name=METADATA_TOPIC, partitions=[DescribeQuorumRequestPartitionData()]
    )
    answer = await connections.ask_any(
        DescribeQuorumRequest(topics=[topic]), DescribeQuorumResponse
    )
    _check(answer.error_code)
    state = answer.topics[0].partitions[0]
    _check(state.error_code)
    for node in answer.nodes:
        if node.node_id == state.leader_id and node.listeners:
            where = node.listeners[0]
            return _Leader(f"{where.host}:{where.port}", state.leader_epoch)
    raise CommandError(
        _WHAT,
        why=f"controller {state.leader_id} has no listener of its own",
        hint="name its data directory: `klamm cluster metadata dump DIR`",
    )


async def _read(connections: Connections, epoch: int) -> list[tuple[str, bytes]]:
    parts: list[tuple[str, bytes]] = []
    log = bytearray()
    position = _Position()
    while True:
        found = await _fetch(connections, epoch, position)
        if found.snapshot_id.end_offset >= 0:
            snapshot = found.snapshot_id.end_offset, found.snapshot_id.epoch
            parts.append(("snapshot", await _fetch_snapshot(connections, epoch, *snapshot)))
            log.clear()
            position = _Position(*snapshot)
            continue
        records = bytes(found.records or b"")
        whole = 0
        for header, batch in batches(memoryview(records), partial_end=True):
            if header.last_offset >= found.high_watermark:
                # It is not committed yet.
                break
            whole += len(batch)
            position = _Position(header.last_offset + 1, header.leader_epoch)
        log += records[:whole]
        if not whole:
            return [*parts, ("log", bytes(log))]


async def _fetch(connections: Connections, epoch: int, position: _Position) -> PartitionData:
    wanted = FetchPartition(
        partition=0,
        current_leader_epoch=epoch,
        fetch_offset=position.offset,
        last_fetched_epoch=position.epoch,
        partition_max_bytes=_AT_ONCE,
    )
    request = FetchRequest(
        max_wait_ms=0,
        min_bytes=0,
        max_bytes=_AT_ONCE,
        session_id=0,
        session_epoch=-1,
        topics=[FetchTopic(topic_id=METADATA_TOPIC_ID, partitions=[wanted])],
    )
    answer = await connections.ask_any(request, FetchResponse)
    _check(answer.error_code)
    found = answer.responses[0].partitions[0]
    _check(found.error_code)
    return found


async def _fetch_snapshot(
    connections: Connections, epoch: int, end_offset: int, its_epoch: int
) -> bytes:
    data = bytearray()
    while True:
        piece = FetchSnapshotRequestPartitionSnapshot(
            partition=0,
            current_leader_epoch=epoch,
            snapshot_id=SnapshotId(end_offset=end_offset, epoch=its_epoch),
            position=len(data),
        )
        topic = FetchSnapshotRequestTopicSnapshot(name=METADATA_TOPIC, partitions=[piece])
        request = FetchSnapshotRequest(max_bytes=_AT_ONCE, topics=[topic])
        answer = await connections.ask_any(request, FetchSnapshotResponse)
        _check(answer.error_code)
        found = answer.topics[0].partitions[0]
        _check(found.error_code)
        data += found.unaligned_records
        if len(data) >= found.size or not found.unaligned_records:
            return bytes(data)


def _check(code: int) -> None:
    if code != ErrorCode.NONE:
        raise ApiError(code_of(code))
