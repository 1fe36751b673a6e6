"""DescribeQuorum (55), v0-2: who leads the metadata log and how far its voters and observers are.

v1  when each was last heard of and caught up (KIP-836)
v2  directory ids, error messages and the voters' addresses (KIP-853)
"""

from __future__ import annotations

from klamm.base.clock import Ms, Now
from klamm.base.errors import ApiError, ErrorCode
from klamm.base.ids import METADATA_TOPIC
from klamm.protocol.messages.describe_quorum import (
    DescribeQuorumRequest,
    DescribeQuorumResponse,
    DescribeQuorumResponsePartitionData,
    DescribeQuorumResponseTopicData,
    Listener,
    Node,
    ReplicaState,
)
from klamm.raft.leadership import progress_of_voter
from klamm.raft.node import RaftNode
from klamm.raft.roles import Leader, Progress
from klamm.raft.voters import Voter, VoterSet
from klamm.server.authorization.rights import DESCRIBE_CLUSTER
from klamm.server.call import Call, Later

# An observer that has not been heard for so long is not one any more.
_OBSERVER_MS = 300_000
# It may be passed on.
KEEPS_REQUEST = True


def handle(request: DescribeQuorumRequest, call: Call) -> DescribeQuorumResponse | Later:
    call.require(DESCRIBE_CLUSTER)
    raft = call.context.quorum.raft.raft
    leader = raft.state
    if not isinstance(leader, Leader):
        # Only the leader knows how far the others are. Brokers ask it; who asks a controller finds it by itself.
        if not call.connection.listener.is_controller:
            return call.forward(request)
        raise ApiError(ErrorCode.NOT_LEADER_OR_FOLLOWER)
    return DescribeQuorumResponse(
        error_message=None,
        topics=[
            DescribeQuorumResponseTopicData(
                topic_name=topic.topic_name,
                partitions=[
                    _describe(topic.topic_name, p.partition_index, raft, leader, call.now)
                    for p in topic.partitions
                ],
            )
            for topic in request.topics
        ],
        nodes=_nodes(raft.voters, call) if _asks_for_the_log(request) else [],
    )


def _nodes(voters: VoterSet, call: Call) -> list[Node]:
    """Where the voters are: as the quorum says, or as they have registered."""
    registered = call.context.image.controllers
    nodes = []
    for voter in voters.voters:
        endpoints = [
            Listener(name=name, host=at.host, port=at.port) for name, at in voter.endpoints
        ]
        if voter.id in registered and registered[voter.id].endpoints:
            endpoints = [
                Listener(name=each.name, host=each.host, port=each.port)
                for each in registered[voter.id].endpoints
            ]
        nodes.append(Node(node_id=voter.id, listeners=endpoints))
    return nodes


def _asks_for_the_log(request: DescribeQuorumRequest) -> bool:
    asked = (
        (topic.topic_name, p.partition_index) for topic in request.topics for p in topic.partitions
    )
    return (METADATA_TOPIC, 0) in asked


def _describe(
    topic: str, index: int, raft: RaftNode, leader: Leader, now: Now
) -> DescribeQuorumResponsePartitionData:
    if topic != METADATA_TOPIC or index != 0:
        return DescribeQuorumResponsePartitionData(
            partition_index=index,
            error_code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
            error_message=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION.text,
        )
    voters = {each.id: progress_of_voter(leader, each) for each in raft.voters.voters}
    others = [
        _state(each, now)
        for each in leader.progress.values()
        if each is not voters.get(each.key.id) and _is_heard(each, now)
    ]
    return DescribeQuorumResponsePartitionData(
        partition_index=0,
        error_message=None,
        leader_id=raft.me.id,
        leader_epoch=raft.epoch,
        high_watermark=raft.high_watermark if raft.high_watermark > leader.epoch_start else -1,
        current_voters=[
            _own_state(raft, each, now)
            if each.id == raft.me.id
            else _state(voters[each.id] or Progress(each.key), now, each)
            for each in raft.voters.voters
        ],
        observers=others,
    )


def _own_state(raft: RaftNode, voter: Voter, now: Now) -> ReplicaState:
    """The leader is caught up by definition, and never fetches."""
    return ReplicaState(
        replica_id=voter.id,
        replica_directory_id=voter.directory,
        log_end_offset=raft.end_offset,
        last_fetch_timestamp=now.wall,
        last_caught_up_timestamp=now.wall,
    )


def _state(progress: Progress, now: Now, voter: Voter | None = None) -> ReplicaState:
    """Where the voters stand in the settings nobody knows their directories, as Kafka has it."""
    return ReplicaState(
        replica_id=progress.key.id,
        replica_directory_id=voter.directory if voter else progress.key.directory,
        log_end_offset=progress.end_offset,
        last_fetch_timestamp=_wall(progress.fetched_at, now),
        last_caught_up_timestamp=_wall(progress.caught_up_at, now),
    )


def _is_heard(progress: Progress, now: Now) -> bool:
    return progress.heard_at is not None and now.monotonic - progress.heard_at < _OBSERVER_MS


def _wall(at: Ms | None, now: Now) -> Ms:
    return -1 if at is None else now.wall - (now.monotonic - at)
