"""AssignReplicasToDirs: a broker with several directories says in which of them it keeps which replica (KIP-858)."""

from __future__ import annotations

from klamm.base.errors import ApiError, ErrorCode
from klamm.base.ids import Uuid
from klamm.controller.decision import Context, Decision
from klamm.controller.fencing import KNOWS_DIRECTORIES, check_epoch
from klamm.controller.partitions.change import change
from klamm.controller.partitions.election import (
    Acceptable,
    Place,
    is_online,
    rules_of,
    without_broker,
)
from klamm.metadata.image import BrokerImage, TopicImage
from klamm.protocol.messages.assign_replicas_to_dirs import (
    AssignReplicasToDirsRequest,
    AssignReplicasToDirsRequestTopicData,
    AssignReplicasToDirsResponse,
    AssignReplicasToDirsResponseDirectoryData,
    AssignReplicasToDirsResponsePartitionData,
    AssignReplicasToDirsResponseTopicData,
)


def assign(
    context: Context, request: AssignReplicasToDirsRequest
) -> Decision[AssignReplicasToDirsResponse]:
    """A replica in a directory that has failed meanwhile leaves the ISR."""
    if context.image.metadata_version < KNOWS_DIRECTORIES:
        text = "Directory assignment is not supported yet."
        raise ApiError(ErrorCode.UNSUPPORTED_VERSION, text)
    broker = check_epoch(context.image, request.broker_id, request.broker_epoch)
    records: list[object] = []
    answers: list[AssignReplicasToDirsResponseDirectoryData] = []
    lost: list[Place] = []
    for asked in request.directories:
        places: list[Place] = []
        topics = [
            _assign(context, broker, asked.id, each, records, places) for each in asked.topics
        ]
        answers.append(AssignReplicasToDirsResponseDirectoryData(id=asked.id, topics=topics))
        if not is_online(asked.id, broker.directories):
            lost += places
    records += without_broker(context, broker.broker_id, among=lost)
    return Decision(AssignReplicasToDirsResponse(directories=answers), records)


def _assign(
    context: Context,
    broker: BrokerImage,
    directory: Uuid,
    asked: AssignReplicasToDirsRequestTopicData,
    records: list[object],
    places: list[Place],
) -> AssignReplicasToDirsResponseTopicData:
    topic = context.image.topics_by_id.get(asked.topic_id)
    answers: list[AssignReplicasToDirsResponsePartitionData] = []
    for each in asked.partitions:
        answer = AssignReplicasToDirsResponsePartitionData(partition_index=each.partition_index)
        answers.append(answer)
        if problem := _problem(topic, each.partition_index, broker.broker_id):
            answer.error_code = problem
            continue
        assert topic is not None
        partition = topic.partitions[each.partition_index]
        record = change(
            topic.topic_id,
            each.partition_index,
            partition,
            rules=rules_of(context, topic),
            is_acceptable=Acceptable(context.image),
            directories={broker.broker_id: directory},
        )
        if record is not None:
            records.append(record)
        places.append((topic, each.partition_index, partition))
    return AssignReplicasToDirsResponseTopicData(topic_id=asked.topic_id, partitions=answers)


def _problem(topic: TopicImage | None, index: int, broker_id: int) -> ErrorCode | None:
    if topic is None:
        return ErrorCode.UNKNOWN_TOPIC_ID
    partition = topic.partition(index)
    if partition is None:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    if broker_id not in partition.replicas:
        return ErrorCode.NOT_LEADER_OR_FOLLOWER
    return None
