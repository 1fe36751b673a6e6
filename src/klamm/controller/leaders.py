"""ElectLeaders: another leader because somebody asks for it, the preferred one or any that lives."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from klamm.base.errors import ApiError, ErrorCode
from klamm.controller import election
from klamm.controller.decision import Context, Decision
from klamm.metadata.image import NO_LEADER, ClusterImage, PartitionImage
from klamm.metadata.records.topics import PartitionChangeRecord
from klamm.protocol.messages.elect_leaders import (
    ElectLeadersRequest,
    ElectLeadersResponse,
    PartitionResult,
    ReplicaElectionResult,
)

_PREFERRED = 0
_UNCLEAN = 1


def elect(context: Context, request: ElectLeadersRequest) -> Decision[ElectLeadersResponse]:
    """Each partition stands for itself. Without a list all partitions are meant, and those that are led as they
    should be are not spoken of."""
    image = context.image
    kind = request.election_type
    if request.topic_partitions != []:
        _check_kind(kind)
    results: list[ReplicaElectionResult] = []
    records: list[object] = []
    for topic, partitions in _asked(image, request):
        result = ReplicaElectionResult(topic=topic)
        results.append(result)
        for index in partitions:
            answer = PartitionResult(partition_id=index, error_message=None)
            try:
                records.append(_elect(image, topic, index, kind))
            except ApiError as error:
                answer.error_code, answer.error_message = error.code, error.message
            result.partition_result.append(answer)
    return Decision(ElectLeadersResponse(replica_election_results=results), records)


def _check_kind(kind: int) -> None:
    if kind not in (_PREFERRED, _UNCLEAN):
        raise ApiError(ErrorCode.INVALID_REQUEST, f"Unknown election type {kind}")


def _asked(
    image: ClusterImage, request: ElectLeadersRequest
) -> Iterator[tuple[str, Iterable[int]]]:
    if request.topic_partitions is not None:
        for asked in request.topic_partitions:
            yield asked.topic, asked.partitions
        return
    kind = request.election_type
    for topic in image.topics_by_name.values():
        yield (
            topic.name,
            [n for n, each in enumerate(topic.partitions) if not _is_led_as_wanted(each, kind)],
        )


def _elect(image: ClusterImage, name: str, index: int, kind: int) -> PartitionChangeRecord:
    if (topic := image.topics_by_name.get(name)) is None:
        raise ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"No such topic as {name}")
    if (partition := topic.partition(index)) is None:
        text = f"No such partition as {name}-{index}"
        raise ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, text)
    if _is_led_as_wanted(partition, kind):
        raise ApiError(ErrorCode.ELECTION_NOT_NEEDED)

    def is_active(broker_id: int) -> bool:
        broker = image.brokers.get(broker_id)
        return broker is not None and broker.is_active

    choose = election.preferred if kind == _PREFERRED else election.unclean
    if change := choose(topic.topic_id, index, partition, is_active=is_active):
        return change
    raise ApiError(
        ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE
        if kind == _PREFERRED
        else ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE
    )


def _is_led_as_wanted(partition: PartitionImage, kind: int) -> bool:
    if kind == _PREFERRED:
        return partition.leader == partition.replicas[0]
    return partition.leader != NO_LEADER
