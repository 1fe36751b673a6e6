"""DescribeQuorum (55), v0-2: who leads the metadata log and how far its voters and observers are.

v1  when each was last heard of and caught up (KIP-836)
v2  directory ids, error messages and the voters' addresses (KIP-853)
"""

from __future__ import annotations

from klamm.base.errors import ErrorCode
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
from klamm.server.call import Call


def handle(request: DescribeQuorumRequest, call: Call) -> DescribeQuorumResponse:
    return DescribeQuorumResponse(
        error_message=None,
        topics=[
            DescribeQuorumResponseTopicData(
                topic_name=topic.topic_name,
                partitions=[
                    _describe(topic.topic_name, p.partition_index, call) for p in topic.partitions
                ],
            )
            for topic in request.topics
        ],
        nodes=[
            Node(
                node_id=controller.controller_id,
                listeners=[
                    Listener(name=e.name, host=e.host, port=e.port) for e in controller.endpoints
                ],
            )
            for controller in call.context.image.controllers.values()
            if _asks_for_the_log(request)
        ],
    )


def _asks_for_the_log(request: DescribeQuorumRequest) -> bool:
    asked = (
        (topic.topic_name, p.partition_index) for topic in request.topics for p in topic.partitions
    )
    return (METADATA_TOPIC, 0) in asked


def _describe(topic: str, index: int, call: Call) -> DescribeQuorumResponsePartitionData:
    if topic != METADATA_TOPIC or index != 0:
        return DescribeQuorumResponsePartitionData(
            partition_index=index,
            error_code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
            error_message=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION.text,
        )
    quorum = call.context.quorum
    # The leader is its own only voter: caught up by definition, and never fetching.
    voter = ReplicaState(
        replica_id=call.context.node_id,
        replica_directory_id=quorum.directory_id,
        log_end_offset=quorum.end_offset,
        last_fetch_timestamp=call.now.wall,
        last_caught_up_timestamp=call.now.wall,
    )
    return DescribeQuorumResponsePartitionData(
        partition_index=0,
        error_message=None,
        leader_id=call.context.node_id,
        leader_epoch=quorum.epoch,
        high_watermark=quorum.high_watermark,
        current_voters=[voter],
    )
