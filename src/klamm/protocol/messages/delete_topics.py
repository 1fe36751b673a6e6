"""DeleteTopics, API 20."""

from klamm.base.ids import ZERO_UUID, Uuid
from klamm.protocol.declare import (
    Array,
    Int16,
    Int32,
    NullableString,
    String,
    field,
    message,
    struct,
)


@struct
class DeleteTopicState:
    name: NullableString = None
    topic_id: Uuid = ZERO_UUID


@message(api_key=20, versions="1-6", flexible="4+")
class DeleteTopicsRequest:
    """Delete topics, by name or by id."""

    topics: Array[DeleteTopicState] = field(since=6, default=[])
    topic_names: Array[String] = field(until=5, default=[])
    timeout_ms: Int32 = 0


@struct
class DeletableTopicResult:
    name: NullableString = field(nullable_since=6, default="")
    topic_id: Uuid = field(since=6, default=ZERO_UUID)
    error_code: Int16 = 0
    error_message: NullableString = field(since=5, default=None)


@message(api_key=20, versions="1-6", flexible="4+")
class DeleteTopicsResponse:
    """The outcome for each topic."""

    throttle_time_ms: Int32 = 0
    responses: Array[DeletableTopicResult] = []
