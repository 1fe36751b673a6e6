"""The answer that refuses a request, or the partitions of it that a fault is about.

What only reads is asked of the broker and then changed: sessions stay right, and other partitions get their data. Of a
produce the batches in question are taken out before the broker sees it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from klamm.base.errors import ApiError, ErrorCode
from klamm.metadata.image import ClusterImage
from klamm.protocol.messages.fetch import FetchableTopicResponse, PartitionData
from klamm.protocol.messages.produce import (
    PartitionProduceResponse,
    ProduceRequest,
    TopicProduceData,
    TopicProduceResponse,
)
from klamm.replication.fetch_sessions import FetchPartition as InSession
from klamm.server.api_table import ServedApi
from klamm.server.broker import Broker
from klamm.testing.kit.faults.frames import Frame, Named, index_of, topic_of
from klamm.testing.kit.faults.rules import Rule

# Of the whole fetch; all others are told for each partition.
_OF_THE_SESSION = frozenset(
    {
        ErrorCode.FETCH_SESSION_ID_NOT_FOUND,
        ErrorCode.INVALID_FETCH_SESSION_EPOCH,
        ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR,
        ErrorCode.UNKNOWN_SERVER_ERROR,
        ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
    }
)
# Where each has the errors of its partitions in its answer.
_READS = {
    "fetch": ("responses", "partitions"),
    "list_offsets": ("topics", "partitions"),
    "offset_for_leader_epoch": ("topics", "partitions"),
}

Wants = Callable[[Named], bool]


class Refusal(NamedTuple):
    """`rest` is what the broker is asked, None for nothing; `complete` makes the answer of what it says."""

    rest: object | None
    complete: Callable[[Any], Any]


def wants(rule: Rule) -> Wants:
    def is_meant(named: Named) -> bool:
        return rule.topic in (None, named.topic) and (
            rule.partition is None or rule.partition == named.partition
        )

    return is_meant


def can_refuse(api: ServedApi) -> bool:
    """Whether there is a place for an error in its answers."""
    version = api.api.highest_stable
    api.route(version)
    if api.name in ("produce", *_READS):
        return True
    return (
        api.fail(api.api.request(), ApiError(ErrorCode.UNKNOWN_SERVER_ERROR), version) is not None
    )


def refuse(frame: Frame, rule: Rule, broker: Broker) -> Refusal:
    name = frame.api.name
    if name == "produce":
        return _refuse_produce(frame.request, rule, broker.image)
    if name in _READS and not (name == "fetch" and rule.code in _OF_THE_SESSION):
        return _refuse_read(frame, rule, broker)
    answer = frame.api.fail(frame.request, ApiError(rule.code), frame.version)
    return Refusal(None, lambda _: answer)


def _refuse_produce(request: ProduceRequest, rule: Rule, image: ClusterImage) -> Refusal:
    is_meant = wants(rule)
    refused: list[TopicProduceResponse] = []
    rest: list[TopicProduceData] = []
    for topic in request.topic_data:
        name = topic_of(topic, image)
        meant = [p for p in topic.partition_data if is_meant(Named(name, p.index))]
        others = [p for p in topic.partition_data if not is_meant(Named(name, p.index))]
        if meant:
            refused.append(
                TopicProduceResponse(
                    name=topic.name,
                    topic_id=topic.topic_id,
                    partition_responses=[
                        PartitionProduceResponse(
                            index=p.index, error_code=rule.code, base_offset=-1
                        )
                        for p in meant
                    ],
                )
            )
        if others:
            rest.append(
                TopicProduceData(name=topic.name, topic_id=topic.topic_id, partition_data=others)
            )
    request.topic_data = rest

    def complete(answer: Any) -> Any:
        answer.responses = [*answer.responses, *refused]
        return answer

    return Refusal(request if rest else None, complete)


def _refuse_read(frame: Frame, rule: Rule, broker: Broker) -> Refusal:
    request, is_meant = frame.request, wants(rule)
    asked = in_session(frame, broker)
    if frame.api.name == "fetch":
        # What is refused is not waited for, nor read.
        request.max_wait_ms = 0
        request.max_bytes = 1
    topics, partitions = _READS[frame.api.name]

    def complete(answer: Any) -> Any:
        told = set()
        for topic in getattr(answer, topics):
            name = topic_of(topic, broker.image)
            for each in getattr(topic, partitions):
                named = Named(name, index_of(each))
                told.add(named)
                if is_meant(named):
                    _spoil(each, rule.code)
        for named, each in asked:
            if is_meant(named) and named not in told:
                getattr(answer, topics).append(_spoilt(each, rule.code))
        return answer

    return Refusal(request, complete)


def in_session(frame: Frame, broker: Broker) -> list[tuple[Named, InSession]]:
    """What a fetch session has in it, which later requests do not name."""
    if frame.api.name != "fetch" or frame.request.session_epoch <= 0:
        return []
    session = broker.fetch_sessions.find(frame.request.session_id)
    known = broker.image.topics_by_id
    return [
        (
            Named(known[each.topic_id].name if each.topic_id in known else each.topic, each.index),
            each,
        )
        for each in (() if session is None else session.partitions.values())
    ]


def _spoilt(asked: InSession, code: ErrorCode) -> FetchableTopicResponse:
    """An entry for a partition that the answer does not name."""
    entry = PartitionData(partition_index=asked.index)
    _spoil(entry, code)
    return FetchableTopicResponse(topic=asked.topic, topic_id=asked.topic_id, partitions=[entry])


def _spoil(partition: Any, code: ErrorCode) -> None:
    partition.error_code = code
    for name, value in (
        ("records", b""),
        ("high_watermark", -1),
        ("offset", -1),
        ("timestamp", -1),
    ):
        if hasattr(partition, name):
            setattr(partition, name, value)
