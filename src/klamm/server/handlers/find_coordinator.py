"""FindCoordinator (10), v0-6: which broker coordinates a group or a transactional id.

The internal topic is created with the first question. Kafka sends the client away once with COORDINATOR_NOT_AVAILABLE;
here the answer waits for the topic, which takes some milliseconds.
v4  several keys in one request
v6  share partitions (KIP-932), which this broker does not coordinate
"""

from __future__ import annotations

from collections.abc import Collection

from klamm.base.errors import ApiError, ErrorCode
from klamm.coordinator.placement import partition_of
from klamm.protocol.messages.find_coordinator import (
    Coordinator,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)
from klamm.server.authorization.rights import DESCRIBE_GROUP, DESCRIBE_TRANSACTIONAL_ID
from klamm.server.call import Call, Later
from klamm.server.coordination.internal_topics import OFFSETS_TOPIC, TRANSACTIONS_TOPIC
from klamm.server.metadata.addresses import addresses_for

_FIRST_WITH_MANY = 4
_SHARE = 2
_TOPICS = {0: OFFSETS_TOPIC, 1: TRANSACTIONS_TOPIC}
_RIGHTS = {OFFSETS_TOPIC: DESCRIBE_GROUP, TRANSACTIONS_TOPIC: DESCRIBE_TRANSACTIONAL_ID}


def handle(request: FindCoordinatorRequest, call: Call) -> FindCoordinatorResponse | Later:
    topic = _TOPICS.get(request.key_type)
    if topic is None:
        # Deviation: Kafka 4.3 also coordinates share groups.
        raise ApiError(ErrorCode.INVALID_REQUEST)
    denied = call.denied(_RIGHTS[topic], _keys(request, call.version))
    if not call.broker.internal_topics.exists(topic) and not denied:
        return _create_and_answer(topic, request, call)
    return _answer(topic, request, call, denied)


def fail(request: FindCoordinatorRequest, error: ApiError, version: int) -> FindCoordinatorResponse:
    # Kafka words it for whom it can tell one thing only, and for those who ask for a kind that it has never heard of.
    is_worded = version < _FIRST_WITH_MANY or request.key_type not in (*_TOPICS, _SHARE)
    text = error.code.text if is_worded else ""
    keys = _keys(request, version)
    return _response([_not_found(key, error.code, text) for key in keys], version)


async def _create_and_answer(
    topic: str, request: FindCoordinatorRequest, call: Call
) -> FindCoordinatorResponse:
    if not await call.broker.internal_topics.create(topic):
        raise ApiError(ErrorCode.COORDINATOR_NOT_AVAILABLE)
    return _answer(topic, request, call, ())


def _answer(
    topic: str, request: FindCoordinatorRequest, call: Call, denied: Collection[str]
) -> FindCoordinatorResponse:
    error = _RIGHTS[topic].error
    found = [
        _not_found(key, error, error.text) if key in denied else _find(topic, key, call)
        for key in _keys(request, call.version)
    ]
    return _response(found, call.version)


def _keys(request: FindCoordinatorRequest, version: int) -> list[str]:
    return request.coordinator_keys if version >= _FIRST_WITH_MANY else [request.key]


def _find(topic: str, key: str, call: Call) -> Coordinator:
    image = call.broker.image
    known = image.topics_by_name.get(topic)
    if known is None:
        return _not_found(key, ErrorCode.COORDINATOR_NOT_AVAILABLE)
    leader = known.partitions[partition_of(key, len(known.partitions))].leader
    for address in addresses_for(call.connection, image, node_id=call.broker.node_id):
        if address.node_id == leader:
            return Coordinator(
                key=key, node_id=leader, host=address.host, port=address.port, error_message=""
            )
    return _not_found(key, ErrorCode.COORDINATOR_NOT_AVAILABLE)


def _not_found(key: str, error: ErrorCode, text: str = "") -> Coordinator:
    return Coordinator(key=key, node_id=-1, host="", port=-1, error_code=error, error_message=text)


def _response(found: list[Coordinator], version: int) -> FindCoordinatorResponse:
    if version >= _FIRST_WITH_MANY:
        return FindCoordinatorResponse(coordinators=found)
    (only,) = found
    return FindCoordinatorResponse(
        error_code=only.error_code,
        error_message=only.error_message if only.error_code else "NONE",
        node_id=only.node_id,
        host=only.host,
        port=only.port,
    )
