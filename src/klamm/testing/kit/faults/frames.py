"""Requests and answers as bytes and as messages: what a fault needs to know of them, and to change."""

from __future__ import annotations

from collections.abc import Iterator
from struct import Struct
from typing import Any, NamedTuple

from klamm.metadata.image import ClusterImage
from klamm.protocol.compile import decoder, encoder
from klamm.server.api_table import ServedApi
from klamm.server.dispatch import read_client_id
from klamm.server.network.long_answer import LongAnswer
from klamm.server.network.outgoing import Answer
from klamm.server.world.ports import Buffer

_HEADER = Struct(">hhih")
_RESPONSE_HEADER = Struct(">ii")

_TOPIC_FIELDS = ("name", "topic", "topic_name")
_INDEX_FIELDS = ("partition_index", "index", "partition")


class Frame(NamedTuple):
    """A request as it came."""

    api: ServedApi
    version: int
    correlation_id: int
    client_id: str | None
    head: bytes
    request: Any

    @classmethod
    def read(cls, api: ServedApi, frame: memoryview) -> Frame | None:
        """None for a version that is not served."""
        _, version, correlation_id, client_size = _HEADER.unpack_from(frame)
        route = api.routes.get(version) or api.route(version)
        if route is None:
            return None
        client_id, body_at = read_client_id(frame, client_size, route.has_flexible_header)
        data = bytes(frame)
        request, _ = route.decode(memoryview(data), body_at)
        return cls(api, version, correlation_id, client_id, data[:body_at], request)

    def with_request(self, request: object) -> memoryview:
        out = bytearray(self.head)
        encoder(type(request), self.version)(request, out)
        return memoryview(out)

    # Answers.

    @property
    def _has_flexible_response_header(self) -> bool:
        return self.api.api.response_header_version(self.version) == 1

    def answer(self, body: object) -> tuple[Buffer]:
        out = bytearray(_RESPONSE_HEADER.size + self._has_flexible_response_header)
        encoder(type(body), self.version)(body, out)
        _RESPONSE_HEADER.pack_into(out, 0, len(out) - 4, self.correlation_id)
        return (out,)

    def read_answer(self, answer: Answer) -> Any:
        """None for one that still lies in its file."""
        if isinstance(answer, LongAnswer):
            return None
        data = answer[0] if len(answer) == 1 else b"".join(answer)
        at = _RESPONSE_HEADER.size + self._has_flexible_response_header
        return decoder(self.api.api.response, self.version)(data, at)[0]


class Named(NamedTuple):
    topic: str
    partition: int | None


def partitions_in(message: Any, image: ClusterImage) -> Iterator[Named]:
    """All that a message names, wherever it does."""
    topic = _topic_of(message, image)
    for field in message.SCHEMA.fields:
        if field.type.name != "array":
            continue
        elements = getattr(message, field.name) or ()
        if field.type.element.struct is None:
            if topic is not None and "partition" in field.name:
                yield from (Named(topic, each) for each in elements)
            continue
        for each in elements:
            index = index_of(each)
            if topic is not None and index is not None:
                yield Named(topic, index)
            else:
                yield from partitions_in(each, image)
    if topic is not None:
        yield Named(topic, None)


def _topic_of(message: Any, image: ClusterImage) -> str | None:
    topic_id = getattr(message, "topic_id", None)
    if topic_id is not None and topic_id in image.topics_by_id:
        return image.topics_by_id[topic_id].name
    if message.SCHEMA.kind != "struct":
        return None
    return next((v for n in _TOPIC_FIELDS if isinstance(v := getattr(message, n, None), str)), None)


def topic_of(message: Any, image: ClusterImage) -> str:
    return _topic_of(message, image) or ""


def index_of(message: Any) -> int | None:
    return next((v for n in _INDEX_FIELDS if isinstance(v := getattr(message, n, None), int)), None)


def group_of(request: Any) -> str | None:
    group: str | None = getattr(request, "group_id", None) or None
    return group
