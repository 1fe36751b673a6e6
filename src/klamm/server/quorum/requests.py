"""What nodes of the quorum ask each other: raft's facts as Kafka's requests, and back.

Kafka's messages have room for many topics and partitions; the quorum has one of each. A request about anything else makes no
sense, and one of another cluster is refused before it is looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from klamm.base.clock import Ms
from klamm.base.errors import ApiError, ErrorCode
from klamm.base.ids import METADATA_TOPIC, METADATA_TOPIC_ID, OffsetAndEpoch
from klamm.protocol.messages import (
    begin_quorum_epoch,
    end_quorum_epoch,
    fetch,
    fetch_snapshot,
    update_raft_voter,
    vote,
)
from klamm.protocol.messages.add_raft_voter import AddRaftVoterRequest
from klamm.protocol.messages.update_raft_voter import KRaftVersionFeature, UpdateRaftVoterRequest
from klamm.raft.messages import (
    Address,
    BeginEpoch,
    EndEpoch,
    Fetch,
    FetchSnapshot,
    ReplicaKey,
    Request,
    UpdateVoter,
    Vote,
)
from klamm.raft.voters import KRAFT_VERSIONS, Voter

P = TypeVar("P")
_NOBODY = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """What this node says in every request beside the question itself."""

    cluster_id: str
    # The listener by which controllers know each other.
    listener: str
    fetch_max_bytes: int = 1 << 20
    snapshot_max_bytes: int = 1 << 20
    # How long a leader may hold back an answer that has nothing new.
    fetch_wait_ms: Ms = 500


# Asking


def to_wire(request: Request, terms: Terms, *, may_wait: bool = True) -> object:
    """may_wait: False for a fetch that asks who leads: the answer is wanted, whatever it is."""
    match request:
        case Vote():
            return _vote(request, terms)
        case BeginEpoch():
            return _begin_epoch(request, terms)
        case EndEpoch():
            return _end_epoch(request, terms)
        case Fetch():
            return _fetch(request, terms, terms.fetch_wait_ms if may_wait else 0)
        case FetchSnapshot():
            return _fetch_snapshot(request, terms)
        case UpdateVoter():
            return _update_voter(request, terms)


def _vote(request: Vote, terms: Terms) -> vote.VoteRequest:
    voter = request.voter or ReplicaKey(_NOBODY)
    partition = vote.VoteRequestPartitionData(
        partition_index=0,
        replica_epoch=request.epoch,
        replica_id=request.candidate.id,
        replica_directory_id=request.candidate.directory,
        voter_directory_id=voter.directory,
        last_offset_epoch=request.log_end.epoch,
        last_offset=request.log_end.offset,
        pre_vote=request.is_pre_vote,
    )
    topic = vote.VoteRequestTopicData(topic_name=METADATA_TOPIC, partitions=[partition])
    return vote.VoteRequest(cluster_id=terms.cluster_id, voter_id=voter.id, topics=[topic])


def _begin_epoch(request: BeginEpoch, terms: Terms) -> begin_quorum_epoch.BeginQuorumEpochRequest:
    voter = request.voter or ReplicaKey(_NOBODY)
    partition = begin_quorum_epoch.BeginQuorumEpochRequestPartitionData(
        partition_index=0,
        voter_directory_id=voter.directory,
        leader_id=request.leader_id,
        leader_epoch=request.epoch,
    )
    topic = begin_quorum_epoch.BeginQuorumEpochRequestTopicData(
        topic_name=METADATA_TOPIC, partitions=[partition]
    )
    return begin_quorum_epoch.BeginQuorumEpochRequest(
        cluster_id=terms.cluster_id,
        voter_id=voter.id,
        topics=[topic],
        leader_endpoints=_endpoints(begin_quorum_epoch.LeaderEndpoint, request.address, terms),
    )


def _end_epoch(request: EndEpoch, terms: Terms) -> end_quorum_epoch.EndQuorumEpochRequest:
    partition = end_quorum_epoch.EndQuorumEpochRequestPartitionData(
        partition_index=0,
        leader_id=request.leader_id,
        leader_epoch=request.epoch,
        preferred_successors=[each.id for each in request.preferred],
        preferred_candidates=[
            end_quorum_epoch.ReplicaInfo(
                candidate_id=each.id, candidate_directory_id=each.directory
            )
            for each in request.preferred
        ],
    )
    topic = end_quorum_epoch.EndQuorumEpochRequestTopicData(
        topic_name=METADATA_TOPIC, partitions=[partition]
    )
    return end_quorum_epoch.EndQuorumEpochRequest(
        cluster_id=terms.cluster_id,
        topics=[topic],
        leader_endpoints=_endpoints(end_quorum_epoch.LeaderEndpoint, request.address, terms),
    )


def _fetch(request: Fetch, terms: Terms, wait_ms: Ms) -> fetch.FetchRequest:
    partition = fetch.FetchPartition(
        partition=0,
        current_leader_epoch=request.epoch,
        fetch_offset=request.log_end.offset,
        last_fetched_epoch=request.log_end.epoch,
        partition_max_bytes=terms.fetch_max_bytes,
        replica_directory_id=request.replica.directory,
        high_watermark=request.high_watermark,
    )
    topic = fetch.FetchTopic(
        topic=METADATA_TOPIC, topic_id=METADATA_TOPIC_ID, partitions=[partition]
    )
    return fetch.FetchRequest(
        cluster_id=terms.cluster_id,
        replica_id=request.replica.id,
        replica_state=fetch.ReplicaState(replica_id=request.replica.id),
        max_wait_ms=wait_ms,
        max_bytes=terms.fetch_max_bytes,
        topics=[topic],
    )


def _fetch_snapshot(request: FetchSnapshot, terms: Terms) -> fetch_snapshot.FetchSnapshotRequest:
    partition = fetch_snapshot.FetchSnapshotRequestPartitionSnapshot(
        partition=0,
        current_leader_epoch=request.epoch,
        snapshot_id=fetch_snapshot.SnapshotId(
            end_offset=request.snapshot.offset, epoch=request.snapshot.epoch
        ),
        position=request.position,
        replica_directory_id=request.replica.directory,
    )
    topic = fetch_snapshot.FetchSnapshotRequestTopicSnapshot(
        name=METADATA_TOPIC, partitions=[partition]
    )
    return fetch_snapshot.FetchSnapshotRequest(
        cluster_id=terms.cluster_id,
        replica_id=request.replica.id,
        max_bytes=terms.snapshot_max_bytes,
        topics=[topic],
    )


def _update_voter(request: UpdateVoter, terms: Terms) -> UpdateRaftVoterRequest:
    host, port = request.address
    lowest, highest = KRAFT_VERSIONS
    return UpdateRaftVoterRequest(
        cluster_id=terms.cluster_id,
        current_leader_epoch=request.epoch,
        voter_id=request.voter.id,
        voter_directory_id=request.voter.directory,
        listeners=[update_raft_voter.Listener(name=terms.listener, host=host, port=port)],
        kraft_version_feature=KRaftVersionFeature(
            min_supported_version=lowest, max_supported_version=highest
        ),
    )


def _endpoints(kind: Callable[..., P], address: Address | None, terms: Terms) -> list[P]:
    if address is None:
        return []
    return [kind(name=terms.listener, host=address.host, port=address.port)]


# Being asked


def read_vote(request: vote.VoteRequest, terms: Terms) -> Vote:
    check_cluster(request.cluster_id, terms)
    asked: vote.VoteRequestPartitionData = _only(request.topics, "topic_name", "partition_index")
    if asked.replica_epoch < 0 or asked.replica_id < 0:
        raise ApiError(ErrorCode.INVALID_REQUEST)
    return Vote(
        ReplicaKey(asked.replica_id, asked.replica_directory_id),
        asked.replica_epoch,
        OffsetAndEpoch(asked.last_offset, asked.last_offset_epoch),
        asked.pre_vote,
        ReplicaKey(request.voter_id, asked.voter_directory_id),
    )


def read_begin_epoch(
    request: begin_quorum_epoch.BeginQuorumEpochRequest, terms: Terms
) -> BeginEpoch:
    check_cluster(request.cluster_id, terms)
    asked: begin_quorum_epoch.BeginQuorumEpochRequestPartitionData = _only(
        request.topics, "topic_name", "partition_index"
    )
    if asked.leader_epoch < 0 or asked.leader_id < 0:
        raise ApiError(ErrorCode.INVALID_REQUEST)
    return BeginEpoch(
        asked.leader_id,
        asked.leader_epoch,
        ReplicaKey(request.voter_id, asked.voter_directory_id),
        address_in(request.leader_endpoints, terms),
    )


def read_end_epoch(request: end_quorum_epoch.EndQuorumEpochRequest, terms: Terms) -> EndEpoch:
    check_cluster(request.cluster_id, terms)
    asked: end_quorum_epoch.EndQuorumEpochRequestPartitionData = _only(
        request.topics, "topic_name", "partition_index"
    )
    if asked.leader_epoch < 0 or asked.leader_id < 0:
        raise ApiError(ErrorCode.INVALID_REQUEST)
    candidates = [
        ReplicaKey(each.candidate_id, each.candidate_directory_id)
        for each in asked.preferred_candidates
    ]
    return EndEpoch(
        asked.leader_id,
        asked.leader_epoch,
        tuple(candidates or map(ReplicaKey, asked.preferred_successors)),
        address_in(request.leader_endpoints, terms),
    )


def read_fetch(request: fetch.FetchRequest, terms: Terms, version: int) -> Fetch:
    check_cluster(request.cluster_id, terms)
    if version >= 13:
        topics = [each for each in request.topics if each.topic_id == METADATA_TOPIC_ID]
    else:
        topics = [each for each in request.topics if each.topic == METADATA_TOPIC]
    if len(request.topics) != 1 or not topics or len(topics[0].partitions) != 1:
        raise ApiError(ErrorCode.INVALID_REQUEST)
    asked = topics[0].partitions[0]
    if asked.partition != 0:
        raise ApiError(ErrorCode.INVALID_REQUEST)
    replica_id = request.replica_state.replica_id if version >= 15 else request.replica_id
    return Fetch(
        ReplicaKey(replica_id, asked.replica_directory_id),
        asked.current_leader_epoch,
        OffsetAndEpoch(asked.fetch_offset, asked.last_fetched_epoch),
        asked.high_watermark,
    )


def read_fetch_snapshot(
    request: fetch_snapshot.FetchSnapshotRequest, terms: Terms
) -> FetchSnapshot:
    check_cluster(request.cluster_id, terms)
    asked: fetch_snapshot.FetchSnapshotRequestPartitionSnapshot = _only(
        request.topics, "name", "partition", error=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    )
    return FetchSnapshot(
        ReplicaKey(request.replica_id, asked.replica_directory_id),
        asked.current_leader_epoch,
        OffsetAndEpoch(asked.snapshot_id.end_offset, asked.snapshot_id.epoch),
        asked.position,
    )


def read_voter(
    request: AddRaftVoterRequest | UpdateRaftVoterRequest,
    versions: KRaftVersionFeature | None = None,
) -> Voter:
    voter = Voter(
        request.voter_id,
        request.voter_directory_id,
        tuple((each.name, Address(each.host, each.port)) for each in request.listeners),
    )
    if versions is None:
        return voter
    lowest, highest = versions.min_supported_version, versions.max_supported_version
    return voter._replace(kraft_versions=(lowest, highest))


def check_cluster(cluster_id: str | None, terms: Terms) -> None:
    """Old versions do not say which cluster they mean."""
    if cluster_id is not None and cluster_id != terms.cluster_id:
        raise ApiError(ErrorCode.INCONSISTENT_CLUSTER_ID)


class Endpoint(Protocol):
    name: Any
    host: Any
    port: Any


def address_in(endpoints: Sequence[Endpoint], terms: Terms) -> Address | None:
    """By the listener that controllers use here; a node that has named its own otherwise has one at least."""
    named = [each for each in endpoints if each.name == terms.listener]
    for each in (*named, *endpoints):
        return Address(each.host, each.port)
    return None


def _only(
    topics: Sequence[Any],
    name: str,
    index: str,
    *,
    error: ErrorCode = ErrorCode.INVALID_REQUEST,
) -> Any:
    if len(topics) != 1 or getattr(topics[0], name) != METADATA_TOPIC:
        raise ApiError(error)
    partitions = topics[0].partitions
    if len(partitions) != 1 or getattr(partitions[0], index) != 0:
        raise ApiError(error)
    return partitions[0]
