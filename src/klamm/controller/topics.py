"""Topics come and go: CreateTopics, DeleteTopics, CreatePartitions.

Each topic of a request stands for itself: one that is refused does not hold up the others. The order of the
checks is Kafka's, because a client sees only the first that fails.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from klamm.base.chance import random_uuid
from klamm.base.errors import ApiError, ErrorCode
from klamm.base.ids import METADATA_TOPIC, ZERO_UUID, Uuid
from klamm.controller import configs
from klamm.controller.decision import Context, Decision
from klamm.controller.names import check_new_name
from klamm.controller.partitions.creation import assigned_partition, placed_partitions
from klamm.metadata.image import ClusterImage
from klamm.metadata.records.topics import PartitionRecord, RemoveTopicRecord, TopicRecord
from klamm.protocol.messages.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopic,
    CreatePartitionsTopicResult,
)
from klamm.protocol.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfigs,
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from klamm.protocol.messages.delete_topics import (
    DeletableTopicResult,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
)

# More than this would make one batch of the metadata log too large to handle.
MAX_RECORDS = 10_000
_USE_DEFAULT = -1


def create(context: Context, request: CreateTopicsRequest) -> Decision[CreateTopicsResponse]:
    try:
        results, records = _create_all(context, request.topics)
    except ApiError as error:
        # Too much at once: nothing is created, and every topic is told.
        names = dict.fromkeys(topic.name for topic in request.topics)
        return Decision(CreateTopicsResponse(topics=[_refused(name, error) for name in names]))
    reply = CreateTopicsResponse(topics=results)
    return Decision(reply, () if request.validate_only else records)


def _create_all(
    context: Context, topics: Sequence[CreatableTopic]
) -> tuple[list[CreatableTopicResult], list[object]]:
    """Answers stand in the order of the request; names given twice come last, once."""
    counts = Counter(topic.name for topic in topics)
    _check_total_partitions(context, topics)
    results: list[CreatableTopicResult] = []
    records: list[object] = []
    for topic in topics:
        if counts[topic.name] == 1 and topic.name != METADATA_TOPIC:
            try:
                result, new_records = _create_one(context, topic)
            except ApiError as error:
                results.append(_refused(topic.name, error))
            else:
                results.append(result)
                records += new_records
                _check_size(len(records))
    results += [_refused(name, _DUPLICATE_NAME) for name, count in counts.items() if count > 1]
    if counts[METADATA_TOPIC] == 1:
        results.append(_refused(METADATA_TOPIC, _METADATA_IS_INTERNAL))
    return results, records


def _create_one(
    context: Context, topic: CreatableTopic
) -> tuple[CreatableTopicResult, list[object]]:
    check_new_name(context.image, topic.name)
    overrides = _wanted_configs(topic)
    config_records = configs.for_new_topic(context, topic.name, overrides)
    topic_id = random_uuid(context.chance)
    partitions = _new_partitions(context, topic, topic_id)
    result = CreatableTopicResult(
        name=topic.name,
        topic_id=topic_id,
        error_message=None,
        num_partitions=len(partitions),
        replication_factor=len(partitions[0].replicas),
        configs=_shown_configs(context, overrides),
    )
    # Configs stand between the topic and its partitions: whoever opens the logs needs them first.
    return result, [TopicRecord(name=topic.name, topic_id=topic_id), *config_records, *partitions]


def _wanted_configs(topic: CreatableTopic) -> dict[str, str]:
    if missing := [config.name for config in topic.configs if config.value is None]:
        text = f"Null value not supported for topic configs: {','.join(missing)}"
        raise ApiError(ErrorCode.INVALID_CONFIG, text)
    return {config.name: config.value for config in topic.configs if config.value is not None}


def _new_partitions(
    context: Context, topic: CreatableTopic, topic_id: Uuid
) -> list[PartitionRecord]:
    if topic.assignments:
        return _assigned(context.image, topic, topic_id)
    if topic.replication_factor < _USE_DEFAULT or topic.replication_factor == 0:
        raise ApiError(
            ErrorCode.INVALID_REPLICATION_FACTOR,
            "Replication factor must be larger than 0, or -1 to use the default value.",
        )
    if topic.num_partitions < _USE_DEFAULT or topic.num_partitions == 0:
        raise ApiError(
            ErrorCode.INVALID_PARTITIONS,
            "Number of partitions was set to an invalid non-positive value.",
        )
    factor = topic.replication_factor
    return placed_partitions(
        context.image,
        topic_id,
        first=0,
        count=_partition_count(context, topic),
        replication_factor=context.default_replication_factor if factor == -1 else factor,
        chance=context.chance,
    )


def _assigned(image: ClusterImage, topic: CreatableTopic, topic_id: Uuid) -> list[PartitionRecord]:
    """The client says which broker holds what; it may list the partitions in any order."""
    what = "A manual partition assignment was specified, but"
    if topic.replication_factor != _USE_DEFAULT:
        text = f"{what} replication factor was not set to -1."
        raise ApiError(ErrorCode.INVALID_REQUEST, text)
    if topic.num_partitions != _USE_DEFAULT:
        raise ApiError(ErrorCode.INVALID_REQUEST, f"{what} numPartitions was not set to -1.")
    partitions: dict[int, PartitionRecord] = {}
    factor: int | None = None
    for assignment in topic.assignments:
        index = assignment.partition_index
        if index in partitions:
            text = f"Found multiple manual partition assignments for partition {index}"
            raise ApiError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, text)
        partitions[index] = assigned_partition(
            image, topic_id, index, assignment.broker_ids, replication_factor=factor
        )
        factor = len(assignment.broker_ids)
    if any(index not in partitions for index in range(len(partitions))):
        text = "partitions should be a consecutive 0-based integer sequence"
        raise ApiError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, text)
    return [partitions[index] for index in range(len(partitions))]


def _shown_configs(context: Context, overrides: Mapping[str, str]) -> list[CreatableTopicConfigs]:
    return [
        CreatableTopicConfigs(
            name=entry.name,
            value=entry.value,
            read_only=entry.read_only,
            config_source=entry.source,
            is_sensitive=entry.sensitive,
        )
        for entry in configs.effective_for_topic(context, overrides)
    ]


def _partition_count(context: Context, topic: CreatableTopic) -> int:
    count = topic.num_partitions
    return context.default_partitions if count == _USE_DEFAULT else count


def _check_total_partitions(context: Context, topics: Sequence[CreatableTopic]) -> None:
    total = sum(len(each.assignments) or _partition_count(context, each) for each in topics)
    if total > MAX_RECORDS:
        text = "Excessively large number of partitions per request."
        raise ApiError(ErrorCode.POLICY_VIOLATION, text)


def _check_size(records: int) -> None:
    if records > MAX_RECORDS:
        text = "Unable to perform excessively large batch operation."
        raise ApiError(ErrorCode.POLICY_VIOLATION, text)


def _refused(name: str, error: ApiError) -> CreatableTopicResult:
    return CreatableTopicResult(
        name=name,
        error_code=error.code,
        error_message=error.message,
        num_partitions=-1,
        replication_factor=-1,
        configs=[],
    )


_DUPLICATE_NAME = ApiError(ErrorCode.INVALID_REQUEST, "Duplicate topic name.")
_METADATA_IS_INTERNAL = ApiError(
    ErrorCode.INVALID_REQUEST, f"Creation of internal topic {METADATA_TOPIC} is prohibited."
)


# Deletion


def delete(context: Context, request: DeleteTopicsRequest) -> Decision[DeleteTopicsResponse]:
    """Topics are named, or given by id; one that is asked for twice, in whatever way, is not deleted."""
    asked: list[tuple[str | None, Uuid]] = [(name, ZERO_UUID) for name in request.topic_names]
    asked += [(topic.name, topic.topic_id) for topic in request.topics]
    counts = Counter(asked)
    if not context.is_deletion_enabled:
        code = ErrorCode.TOPIC_DELETION_DISABLED
        refused = [
            DeletableTopicResult(name=name, topic_id=topic_id, error_code=code)
            for name, topic_id in counts
        ]
        return Decision(DeleteTopicsResponse(responses=refused))
    image = context.image
    found_topics = (image.topics_by_name.get(name) for name, _ in counts if name is not None)
    named = {topic.topic_id for topic in found_topics if topic}
    results: list[DeletableTopicResult] = []
    records: list[object] = []
    for (name, topic_id), count in counts.items():
        if name is None and count == 1 and topic_id in named:
            continue  # The answer to the name speaks for both.
        try:
            found = _topic_to_delete(image, name, topic_id, count)
            if name is not None and (None, found) in counts:
                topic_id = found
                raise ApiError(ErrorCode.INVALID_REQUEST, _ALREADY_SUPPLIED)
        except ApiError as error:
            results.append(
                DeletableTopicResult(
                    name=name, topic_id=topic_id, error_code=error.code, error_message=error.message
                )
            )
        else:
            topic = image.topics_by_id[found]
            results.append(DeletableTopicResult(name=topic.name, topic_id=found))
            records.append(RemoveTopicRecord(topic_id=found))
    _check_size(len(records))
    return Decision(DeleteTopicsResponse(responses=results), records)


_ALREADY_SUPPLIED = "The provided topic name maps to an ID that was already supplied."


def _topic_to_delete(image: ClusterImage, name: str | None, topic_id: Uuid, count: int) -> Uuid:
    if name is None:
        if topic_id == ZERO_UUID:
            text = "Neither topic name nor id were specified."
            raise ApiError(ErrorCode.INVALID_REQUEST, text)
        if count > 1:
            raise ApiError(ErrorCode.INVALID_REQUEST, "Duplicate topic id.")
        if topic_id not in image.topics_by_id:
            raise ApiError(ErrorCode.UNKNOWN_TOPIC_ID, "This server does not host this topic ID.")
        return topic_id
    if topic_id != ZERO_UUID:
        text = "You may not specify both topic name and topic id."
        raise ApiError(ErrorCode.INVALID_REQUEST, text)
    if count > 1:
        raise ApiError(ErrorCode.INVALID_REQUEST, "Duplicate topic name.")
    if (topic := image.topics_by_name.get(name)) is None:
        text = "This server does not host this topic-partition."
        raise ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, text)
    return topic.topic_id


# More partitions


def create_partitions(
    context: Context, request: CreatePartitionsRequest
) -> Decision[CreatePartitionsResponse]:
    counts = Counter(topic.name for topic in request.topics)
    results: list[CreatePartitionsTopicResult] = []
    records: list[object] = []
    for topic in request.topics:
        if counts[topic.name] > 1:
            continue
        result = CreatePartitionsTopicResult(name=topic.name, error_message=None)
        if topic.name not in context.image.topics_by_name:
            # Kafka gives the code without a sentence here.
            result.error_code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        else:
            try:
                more = _more_partitions(context, topic)
                _check_size(len(records) + len(more))
                records += more
            except ApiError as error:
                result.error_code, result.error_message = error.code, error.message
        results.append(result)
    for name, count in counts.items():
        if count > 1:
            result = CreatePartitionsTopicResult(name=name)
            result.error_code, result.error_message = _DUPLICATE_NAME.code, _DUPLICATE_NAME.message
            results.append(result)
    return Decision(
        CreatePartitionsResponse(results=results), () if request.validate_only else records
    )


def _more_partitions(context: Context, wanted: CreatePartitionsTopic) -> list[PartitionRecord]:
    image = context.image
    topic = image.topics_by_name[wanted.name]
    present = len(topic.partitions)
    if wanted.count == present:
        text = f"Topic already has {present} partition(s)."
        raise ApiError(ErrorCode.INVALID_PARTITIONS, text)
    if wanted.count < present:
        raise ApiError(
            ErrorCode.INVALID_PARTITIONS,
            f"The topic {wanted.name} currently has {present} partition(s); "
            f"{wanted.count} would not be an increase.",
        )
    additional = wanted.count - present
    _check_size(additional)
    factor = len(topic.partitions[0].replicas)
    if wanted.assignments is None:
        return placed_partitions(
            image,
            topic.topic_id,
            first=present,
            count=additional,
            replication_factor=factor,
            chance=context.chance,
        )
    if len(wanted.assignments) != additional:
        raise ApiError(
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            f"Attempted to add {additional} additional partition(s), but only "
            f"{len(wanted.assignments)} assignment(s) were specified.",
        )
    return [
        assigned_partition(
            image, topic.topic_id, index, assignment.broker_ids, replication_factor=factor
        )
        for index, assignment in enumerate(wanted.assignments, present)
    ]
