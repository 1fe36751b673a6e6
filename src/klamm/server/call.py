"""One request on its way: who asks, through which listener, and the broker that answers."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any, Protocol

from klamm.protocol.compile import encoder
from klamm.server.network.connection import Answer, Buffer, Connection

if TYPE_CHECKING:
    from klamm.server.api_table import ServedApi
    from klamm.server.broker import Broker


class Message(Protocol):
    """Any declared message; the codecs know the rest."""


# The answer of the rare handler that must wait for the controller; dispatch gives it a task.
Later = Coroutine[Any, Any, "Message | EncodedBody | None"]


class EncodedBody:
    """A response body that its handler has encoded itself, in parts, so that record bytes are never copied."""

    __slots__ = ("parts",)

    def __init__(self, parts: list[Buffer]) -> None:
        self.parts = parts


class Call:
    __slots__ = ("api", "broker", "client_id", "connection", "correlation_id", "now", "version")

    def __init__(
        self,
        broker: Broker,
        connection: Connection,
        api: ServedApi,
        *,
        version: int,
        correlation_id: int,
    ) -> None:
        self.broker = broker
        self.connection = connection
        self.api = api
        self.version = version
        self.correlation_id = correlation_id
        self.client_id: str | None = None
        self.now = broker.clock.now()

    def encode(self, body: Message | EncodedBody) -> Answer:
        """The whole response frame: size, header, body."""
        out = bytearray(4)
        out += self.correlation_id.to_bytes(4, "big", signed=True)
        if self.api.has_flexible_response_header(self.version):
            out.append(0)
        if isinstance(body, EncodedBody):
            size = len(out) - 4 + sum(map(len, body.parts))
            out[:4] = size.to_bytes(4, "big")
            return [out, *body.parts]
        encoder(type(body), self.version)(body, out)
        out[:4] = (len(out) - 4).to_bytes(4, "big")
        return (out,)

    def finish(self, body: Message | EncodedBody | None) -> None:
        """Answer a parked call."""
        self.connection.finish(None if body is None else self.encode(body))
