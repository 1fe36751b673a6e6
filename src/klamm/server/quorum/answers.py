"""What nodes of the quorum answer each other: raft's facts as Kafka's responses, and back.

What cannot be read is no answer (None): whoever asked asks again, or somebody else.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from klamm.base.errors import ErrorCode, code_of
from klamm.base.ids import METADATA_TOPIC, METADATA_TOPIC_ID, OffsetAndEpoch
from klamm.protocol.messages import (
    begin_quorum_epoch,
    end_quorum_epoch,
    fetch,
    fetch_snapshot,
    vote,
)
from klamm.protocol.messages.update_raft_voter import UpdateRaftVoterResponse
from klamm.raft.messages import Address, Answer, FetchAnswer, SnapshotAnswer, VoteAnswer

N = TypeVar("N")
_NOBODY = -1


# Answering


def vote_response(answer: VoteAnswer) -> vote.VoteResponse:
    partition = vote.VoteResponsePartitionData(
        partition_index=0,
        error_code=answer.error,
        leader_id=_number(answer.leader_id),
        leader_epoch=answer.epoch,
        vote_granted=answer.is_granted,
    )
    topic = vote.VoteResponseTopicData(topic_name=METADATA_TOPIC, partitions=[partition])
    return vote.VoteResponse(topics=[topic], node_endpoints=_leader(vote.NodeEndpoint, answer))


def begin_epoch_response(answer: Answer) -> begin_quorum_epoch.BeginQuorumEpochResponse:
    partition = begin_quorum_epoch.BeginQuorumEpochResponsePartitionData(
        partition_index=0,
        error_code=answer.error,
        leader_id=_number(answer.leader_id),
        leader_epoch=answer.epoch,
    )
    topic = begin_quorum_epoch.BeginQuorumEpochResponseTopicData(
        topic_name=METADATA_TOPIC, partitions=[partition]
    )
    return begin_quorum_epoch.BeginQuorumEpochResponse(
        topics=[topic], node_endpoints=_leader(begin_quorum_epoch.NodeEndpoint, answer)
    )


def end_epoch_response(answer: Answer) -> end_quorum_epoch.EndQuorumEpochResponse:
    partition = end_quorum_epoch.EndQuorumEpochResponsePartitionData(
        partition_index=0,
        error_code=answer.error,
        leader_id=_number(answer.leader_id),
        leader_epoch=answer.epoch,
    )
    topic = end_quorum_epoch.EndQuorumEpochResponseTopicData(
        topic_name=METADATA_TOPIC, partitions=[partition]
    )
    return end_quorum_epoch.EndQuorumEpochResponse(
        topics=[topic], node_endpoints=_leader(end_quorum_epoch.NodeEndpoint, answer)
    )


def fetch_response(answer: FetchAnswer, *, log_start: int) -> fetch.FetchResponse:
    partition = fetch.PartitionData(
        partition_index=0,
        error_code=answer.error,
        high_watermark=answer.high_watermark,
        log_start_offset=log_start,
        current_leader=fetch.LeaderIdAndEpoch(
            leader_id=_number(answer.leader_id), leader_epoch=answer.epoch
        ),
        # Java takes null for a fault: where there is nothing, nothing stands.
        records=answer.records,
    )
    if answer.diverging is not None:
        offset, epoch = answer.diverging
        partition.diverging_epoch = fetch.EpochEndOffset(epoch=epoch, end_offset=offset)
    if answer.snapshot is not None:
        offset, epoch = answer.snapshot
        partition.snapshot_id = fetch.SnapshotId(end_offset=offset, epoch=epoch)
    topic = fetch.FetchableTopicResponse(
        topic=METADATA_TOPIC, topic_id=METADATA_TOPIC_ID, partitions=[partition]
    )
    return fetch.FetchResponse(
        responses=[topic], node_endpoints=_leader(fetch.NodeEndpoint, answer)
    )


def snapshot_response(answer: SnapshotAnswer) -> fetch_snapshot.FetchSnapshotResponse:
    partition = fetch_snapshot.FetchSnapshotResponsePartitionSnapshot(
        index=0,
        error_code=answer.error,
        snapshot_id=fetch_snapshot.SnapshotId(
            end_offset=answer.snapshot.offset, epoch=answer.snapshot.epoch
        ),
        current_leader=fetch_snapshot.LeaderIdAndEpoch(
            leader_id=_number(answer.leader_id), leader_epoch=answer.epoch
        ),
        size=answer.size,
        position=answer.position,
        unaligned_records=answer.data,
    )
    topic = fetch_snapshot.FetchSnapshotResponseTopicSnapshot(
        name=METADATA_TOPIC, partitions=[partition]
    )
    return fetch_snapshot.FetchSnapshotResponse(
        topics=[topic], node_endpoints=_leader(fetch_snapshot.NodeEndpoint, answer)
    )


def _leader(kind: Callable[..., N], answer: Answer) -> list[N]:
    address = answer.leader_address
    if answer.leader_id is None or address is None:
        return []
    return [kind(node_id=answer.leader_id, host=address.host, port=address.port)]


def _number(node_id: int | None) -> int:
    return _NOBODY if node_id is None else node_id


# Being answered


def read(response: object) -> Answer | None:
    """Of any of these responses. A refusal of the whole request says nothing of the quorum."""
    if isinstance(response, UpdateRaftVoterResponse):
        return _read_update(response)
    if getattr(response, "error_code", 0) != ErrorCode.NONE:
        return None
    match response:
        case vote.VoteResponse():
            found = _only(response.topics)
            return found and VoteAnswer(
                **_plain(found, response.node_endpoints), is_granted=found.vote_granted
            )
        case begin_quorum_epoch.BeginQuorumEpochResponse():
            found = _only(response.topics)
            return found and Answer(**_plain(found, response.node_endpoints))
        case end_quorum_epoch.EndQuorumEpochResponse():
            found = _only(response.topics)
            return found and Answer(**_plain(found, response.node_endpoints))
        case fetch.FetchResponse():
            found = _only(response.responses)
            return found and _read_fetch(found, response.node_endpoints)
        case fetch_snapshot.FetchSnapshotResponse():
            found = _only(response.topics)
            return found and _read_snapshot(found, response.node_endpoints)
    return None


def _read_fetch(found: fetch.PartitionData, endpoints: Sequence[Any]) -> FetchAnswer:
    diverging, snapshot = found.diverging_epoch, found.snapshot_id
    has_diverged = diverging.epoch >= 0 and diverging.end_offset >= 0
    is_below = snapshot.epoch >= 0 and snapshot.end_offset >= 0
    return FetchAnswer(
        **_led(found, found.current_leader, endpoints),
        high_watermark=found.high_watermark,
        records=found.records or b"",
        diverging=OffsetAndEpoch(diverging.end_offset, diverging.epoch) if has_diverged else None,
        snapshot=OffsetAndEpoch(snapshot.end_offset, snapshot.epoch) if is_below else None,
    )


def _read_snapshot(
    found: fetch_snapshot.FetchSnapshotResponsePartitionSnapshot, endpoints: Sequence[Any]
) -> SnapshotAnswer:
    return SnapshotAnswer(
        **_led(found, found.current_leader, endpoints),
        snapshot=OffsetAndEpoch(found.snapshot_id.end_offset, found.snapshot_id.epoch),
        position=found.position,
        size=found.size,
        data=found.unaligned_records or b"",
    )


def _read_update(response: UpdateRaftVoterResponse) -> Answer | None:
    """Here the error stands beside the leader, not above it."""
    leader = response.current_leader
    if leader.leader_epoch < 0:
        return None
    is_known = leader.leader_id >= 0 and leader.host
    return Answer(
        error=code_of(response.error_code),
        epoch=leader.leader_epoch,
        leader_id=leader.leader_id if leader.leader_id >= 0 else None,
        leader_address=Address(leader.host, leader.port) if is_known else None,
    )


def _plain(found: Any, endpoints: Sequence[Any]) -> dict[str, Any]:
    return _led(found, found, endpoints)


def _led(found: Any, leader: Any, endpoints: Sequence[Any]) -> dict[str, Any]:
    """What every answer says: an error, the epoch, who leads it and where that node is."""
    leader_id = leader.leader_id if leader.leader_id >= 0 else None
    address = next(
        (Address(each.host, each.port) for each in endpoints if each.node_id == leader_id), None
    )
    return {
        "error": code_of(found.error_code),
        "epoch": leader.leader_epoch,
        "leader_id": leader_id,
        "leader_address": address,
    }


def _only(topics: Sequence[Any]) -> Any:
    """The one partition that was asked for; None if there is something else."""
    if len(topics) != 1 or len(topics[0].partitions) != 1:
        return None
    return topics[0].partitions[0]
