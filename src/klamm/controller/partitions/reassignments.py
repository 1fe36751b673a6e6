"""Reassignments: replicas move to other brokers while the partition goes on.

While a partition moves, its replicas are those it shall have and, behind them, those that will go. The move ends by itself
when all who stay are in sync (change.py). It can be changed on the way, or taken back with a null.
"""

from __future__ import annotations

from klamm.base.errors import ApiError, ErrorCode
from klamm.controller.decision import Context, Decision
from klamm.controller.partitions.change import Assignment, Election, change
from klamm.controller.partitions.creation import check_assignment, directory_for
from klamm.controller.partitions.election import Acceptable, rules_of
from klamm.metadata.image import ClusterImage, PartitionImage, TopicImage
from klamm.metadata.records.topics import PartitionChangeRecord
from klamm.protocol.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ReassignablePartition,
    ReassignablePartitionResponse,
    ReassignableTopicResponse,
)
from klamm.protocol.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
    OngoingPartitionReassignment,
    OngoingTopicReassignment,
)

# More than this would make one batch of the metadata log too large to handle.
_MAX_RECORDS = 10_000


def alter(
    context: Context, request: AlterPartitionReassignmentsRequest
) -> Decision[AlterPartitionReassignmentsResponse]:
    """Each partition stands for itself."""
    if not request.topics:
        return Decision(AlterPartitionReassignmentsResponse())
    may_change_factor = request.allow_replication_factor_change
    records: list[object] = []
    topics: list[ReassignableTopicResponse] = []
    for asked in request.topics:
        answers: list[ReassignablePartitionResponse] = []
        topics.append(ReassignableTopicResponse(name=asked.name, partitions=answers))
        for target in asked.partitions:
            answer = ReassignablePartitionResponse(
                partition_index=target.partition_index, error_message=None
            )
            answers.append(answer)
            try:
                record = _alter_one(context, asked.name, target, may_change_factor)
            except ApiError as error:
                answer.error_code, answer.error_message = error.code, error.message
                if error.code == ErrorCode.NO_REASSIGNMENT_IN_PROGRESS:
                    # Kafka gives the code without a sentence here.
                    answer.error_message = None
            else:
                records += [] if record is None else [record]
                if len(records) > _MAX_RECORDS:
                    text = "Unable to perform excessively large batch operation."
                    raise ApiError(ErrorCode.POLICY_VIOLATION, text)
    reply = AlterPartitionReassignmentsResponse(
        allow_replication_factor_change=may_change_factor, error_message=None, responses=topics
    )
    return Decision(reply, records)


def _alter_one(
    context: Context, name: str, target: ReassignablePartition, may_change_factor: bool
) -> PartitionChangeRecord | None:
    topic = context.image.topics_by_name.get(name)
    if topic is None:
        raise ApiError(
            ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"Unable to find a topic named {name}."
        )
    index = target.partition_index
    partition = topic.partition(index)
    if partition is None:
        text = f"Unable to find partition {name}:{index}."
        raise ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, text)
    if target.replicas is None:
        return _cancel(context, topic, index, partition)
    if not may_change_factor:
        _check_factor(partition, len(target.replicas))
    check_assignment(context.image, target.replicas, None)
    return _move(context, topic, index, partition, tuple(target.replicas))


def _check_factor(partition: PartitionImage, wanted: int) -> None:
    factor = len({*partition.replicas, *partition.adding} - {*partition.removing})
    if factor != wanted:
        raise ApiError(
            ErrorCode.INVALID_REPLICATION_FACTOR,
            f"The replication factor is changed from {factor} to {wanted}",
        )


def _move(
    context: Context,
    topic: TopicImage,
    index: int,
    partition: PartitionImage,
    target: tuple[int, ...],
) -> PartitionChangeRecord | None:
    removing = tuple(sorted(set(partition.replicas) - set(target)))
    # Who is still on its way in from an earlier move has nothing yet, either.
    # Deviation: a move that is changed on the way leads to what was asked for last. In Kafka a replica that was to go still
    # goes although the new goal keeps it, and one that was to come and now is not waits until the ISR changes.
    coming = (set(target) - set(partition.replicas)) | (set(target) & set(partition.adding))
    adding = tuple(sorted(coming))
    brokers = context.image.brokers
    return change(
        topic.topic_id,
        index,
        partition,
        rules=rules_of(context, topic),
        is_acceptable=Acceptable(context.image),
        election=Election.ONLINE,
        assignment=Assignment((*target, *removing), adding, removing),
        directories={
            each: directory_for(brokers[each]) for each in adding if each not in partition.replicas
        },
    )


def _cancel(
    context: Context, topic: TopicImage, index: int, partition: PartitionImage
) -> PartitionChangeRecord | None:
    """Back to the replicas from before the move. If only new ones are in sync, that loses records."""
    if not is_moving(partition):
        raise ApiError(ErrorCode.NO_REASSIGNMENT_IN_PROGRESS)
    rules = rules_of(context, topic)
    replicas = tuple(each for each in partition.replicas if each not in partition.adding)
    isr = tuple(each for each in partition.isr if each not in partition.adding)
    if not replicas:
        raise ApiError(
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            "Invalid replica assignment: addingReplicas contains all replicas.",
        )
    if not isr:
        if not rules.is_unclean_enabled:
            raise ApiError(
                ErrorCode.INVALID_REPLICA_ASSIGNMENT,
                f"Unable to revert partition assignment for {topic.name}:{index} because "
                "it would require an unclean leader election.",
            )
        isr = replicas[:1]
    return change(
        topic.topic_id,
        index,
        partition,
        rules=rules,
        is_acceptable=Acceptable(context.image),
        isr=isr,
        assignment=Assignment(replicas, (), ()),
    )


def is_moving(partition: PartitionImage) -> bool:
    return bool(partition.adding or partition.removing)


# ListPartitionReassignments


def list_ongoing(
    context: Context, request: ListPartitionReassignmentsRequest
) -> Decision[ListPartitionReassignmentsResponse]:
    """Those that were asked for, or all."""
    image = context.image
    if request.topics is None:
        topics = [_ongoing(each, range(len(each.partitions))) for each in _topics(image)]
    else:
        topics = [
            _ongoing(topic, asked.partition_indexes)
            for asked in request.topics
            if (topic := image.topics_by_name.get(asked.name)) is not None
        ]
    found = [each for each in topics if each.partitions]
    return Decision(ListPartitionReassignmentsResponse(error_message=None, topics=found))


def _topics(image: ClusterImage) -> list[TopicImage]:
    return [
        topic
        for topic in image.topics_by_id.values()
        if any(is_moving(each) for each in topic.partitions)
    ]


def _ongoing(topic: TopicImage, indexes: range | list[int]) -> OngoingTopicReassignment:
    return OngoingTopicReassignment(
        name=topic.name,
        partitions=[
            OngoingPartitionReassignment(
                partition_index=index,
                replicas=list(partition.replicas),
                adding_replicas=list(partition.adding),
                removing_replicas=list(partition.removing),
            )
            for index in indexes
            if (partition := topic.partition(index)) is not None and is_moving(partition)
        ],
    )
