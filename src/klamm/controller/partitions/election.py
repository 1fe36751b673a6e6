"""Who leads when a broker leaves or comes back, and when somebody asks for another leader.

Here it is said which partitions are looked at, who may lead them and by which rules; what becomes of each is worked out in
change.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from klamm.base.errors import ApiError, ErrorCode
from klamm.base.ids import ZERO_UUID, Uuid
from klamm.controller.decision import Context, Decision
from klamm.controller.partitions.change import (
    Election,
    Rules,
    bumps_epoch_on_shrink,
    change,
)
from klamm.metadata.delta import MIGRATING_DIRECTORY
from klamm.metadata.features import ELR_VERSION
from klamm.metadata.image import NO_LEADER, ClusterImage, PartitionImage, TopicImage
from klamm.metadata.records.topics import PartitionChangeRecord
from klamm.metadata.resource_type import ResourceType
from klamm.protocol.messages.elect_leaders import (
    ElectLeadersRequest,
    ElectLeadersResponse,
    PartitionResult,
    ReplicaElectionResult,
)

_PREFERRED = 0
_UNCLEAN = 1
_NOBODY = -1

Place = tuple[TopicImage, int, PartitionImage]


class Acceptable:
    """Who may lead a partition: brokers that serve, with a directory that works. Implements Acceptor.

    `without` is about to leave, `plus` about to come: the image does not have it yet.
    """

    __slots__ = ("_brokers", "_plus", "_without")

    def __init__(self, image: ClusterImage, *, without: int = _NOBODY, plus: int = _NOBODY) -> None:
        self._brokers = image.brokers
        self._without = without
        self._plus = plus

    def __call__(self, partition: PartitionImage, broker_id: int) -> bool:
        broker = self._brokers.get(broker_id)
        if broker is None or broker_id == self._without:
            return False
        if not broker.is_active and broker_id != self._plus:
            return False
        return is_online(directory_of(partition, broker_id), broker.directories)


def directory_of(partition: PartitionImage, broker_id: int) -> Uuid:
    for replica, directory in zip(partition.replicas, partition.directories, strict=False):
        if replica == broker_id:
            return directory
    return ZERO_UUID


def is_online(directory: Uuid, directories: tuple[Uuid, ...]) -> bool:
    """A directory that nobody has named yet may well be one that works."""
    return (
        directory in directories or directory in (ZERO_UUID, MIGRATING_DIRECTORY) or not directories
    )


def rules_of(context: Context, topic: TopicImage) -> Rules:
    image, defaults = context.image, context.topic_defaults
    own = image.config(ResourceType.TOPIC, topic.name)
    min_isr = own.get("min.insync.replicas")
    unclean = own.get("unclean.leader.election.enable")
    return Rules(
        is_elr_enabled=image.features.get(ELR_VERSION, 0) > 0,
        min_isr=min(
            int(min_isr) if min_isr is not None else defaults.min_insync_replicas,
            len(topic.partitions[0].replicas),
        ),
        is_unclean_enabled=(
            unclean.lower() == "true"
            if unclean is not None
            else defaults.unclean_leader_election_enable
        ),
        bumps_epoch_on_shrink=bumps_epoch_on_shrink(image.metadata_version),
    )


def places(image: ClusterImage) -> Iterator[Place]:
    """Every partition. A look at a hundred thousand takes some milliseconds: less than to keep books of who has which."""
    for topic in image.topics_by_id.values():
        for index, partition in enumerate(topic.partitions):
            yield topic, index, partition


def leads_any(image: ClusterImage, broker_id: int) -> bool:
    return any(
        partition.leader == broker_id
        for topic in image.topics_by_id.values()
        for partition in topic.partitions
    )


def without_broker(
    context: Context,
    broker_id: int,
    *,
    has_crashed: bool = False,
    among: Iterable[Place] | None = None,
) -> Iterator[PartitionChangeRecord]:
    """The broker is gone: it leaves every ISR, and others lead in its stead.

    has_crashed: it is known to have stopped without flushing, so it may have lost what was committed.
    """
    acceptable = Acceptable(context.image, without=broker_id)
    rules = _RulesByTopic(context)
    for topic, index, partition in places(context.image) if among is None else among:
        if (
            broker_id in partition.isr
            or partition.leader == broker_id
            or (has_crashed and broker_id in partition.elr)
        ):
            record = change(
                topic.topic_id,
                index,
                partition,
                rules=rules.of(topic),
                is_acceptable=acceptable,
                isr=tuple(each for each in partition.isr if each != broker_id),
                crashed=broker_id if has_crashed else None,
            )
            if record:
                yield record


def with_broker(context: Context, broker_id: int) -> Iterator[PartitionChangeRecord]:
    """The broker is back: what waits for a leader takes it, if it may lead."""
    acceptable = Acceptable(context.image, plus=broker_id)
    rules = _RulesByTopic(context)
    for topic, index, partition in places(context.image):
        if partition.leader == NO_LEADER and broker_id in partition.replicas:
            record = change(
                topic.topic_id, index, partition, rules=rules.of(topic), is_acceptable=acceptable
            )
            if record:
                yield record


class _RulesByTopic:
    """Partitions come topic by topic: the rules of the last one are kept."""

    __slots__ = ("_context", "_rules", "_topic")

    def __init__(self, context: Context) -> None:
        self._context = context
        self._topic: TopicImage | None = None
        self._rules: Rules

    def of(self, topic: TopicImage) -> Rules:
        if topic is not self._topic:
            self._topic = topic
            self._rules = rules_of(self._context, topic)
        return self._rules


# ElectLeaders


def elect(context: Context, request: ElectLeadersRequest) -> Decision[ElectLeadersResponse]:
    """Each partition stands for itself. Without a list all partitions are meant, and those that are led as they
    should be are not spoken of."""
    kind = request.election_type
    if request.topic_partitions != []:
        _check_kind(kind)
    results: list[ReplicaElectionResult] = []
    records: list[object] = []
    for topic, partitions in _asked(context.image, request):
        result = ReplicaElectionResult(topic=topic)
        results.append(result)
        for index in partitions:
            answer = PartitionResult(partition_id=index, error_message=None)
            try:
                records.append(_elect(context, topic, index, kind))
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


def _elect(context: Context, name: str, index: int, kind: int) -> PartitionChangeRecord:
    image = context.image
    if (topic := image.topics_by_name.get(name)) is None:
        raise ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"No such topic as {name}")
    if (partition := topic.partition(index)) is None:
        text = f"No such partition as {name}-{index}"
        raise ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, text)
    if _is_led_as_wanted(partition, kind):
        raise ApiError(ErrorCode.ELECTION_NOT_NEEDED)
    record = change(
        topic.topic_id,
        index,
        partition,
        rules=rules_of(context, topic),
        is_acceptable=Acceptable(image),
        election=Election.PREFERRED if kind == _PREFERRED else Election.UNCLEAN,
    )
    if record:
        return record
    raise ApiError(
        ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE
        if kind == _PREFERRED
        else ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE
    )


def _is_led_as_wanted(partition: PartitionImage, kind: int) -> bool:
    if kind == _PREFERRED:
        return partition.leader == partition.replicas[0]
    return partition.leader != NO_LEADER
