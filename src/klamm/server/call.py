"""One request on its way: who asks, through which listener, and the node that answers."""

from __future__ import annotations

from collections.abc import Callable, Collection, Coroutine, Generator, Iterable
from struct import Struct
from typing import TYPE_CHECKING, Any, Protocol, cast

from klamm.base.acl import CLUSTER_NAME, AclResourceType
from klamm.base.errors import ApiError, ErrorCode
from klamm.protocol.compile import encoder
from klamm.server.authorization.operations import all_operations
from klamm.server.authorization.rights import DESCRIBE_CLUSTER, Right
from klamm.server.controller_port import Origin
from klamm.server.network.connection import Connection
from klamm.server.network.long_answer import LongAnswer, Unread
from klamm.server.network.outgoing import Answer
from klamm.server.network.pending import Parked
from klamm.server.world.ports import Buffer

if TYPE_CHECKING:
    from klamm.server.api_table import Route, ServedApi
    from klamm.server.broker import Broker
    from klamm.server.controller_context import ControllerContext, NodeContext
    from klamm.server.quota.request_quota import RequestQuota


_HEADER = Struct(">ii")  # size, correlation id


class Message(Protocol):
    """Any declared message; the codecs know the rest."""


# A handler in steps, for what may take long; see heavy/turns.py.
Steps = Generator[None, None, "Message | EncodedBody | LongBody | Parked | None"]
# The answer of the rare handler that must wait for the controller; dispatch gives it a task.
Later = Coroutine[Any, Any, "Message | EncodedBody | LongBody | Steps | None"]


class EncodedBody:
    """A response body that its handler has encoded itself, in parts, so that record bytes are never copied."""

    __slots__ = ("parts",)

    def __init__(self, parts: list[Buffer]) -> None:
        self.parts = parts


class LongBody:
    """The same for a body whose record bytes are too many to be read before the client takes them."""

    __slots__ = ("parts",)

    def __init__(self, parts: list[Buffer | Unread]) -> None:
        self.parts = parts


def cluster_operations(call: Call) -> int:
    """What a client may do with the cluster, if it may know it."""
    return call.operations(AclResourceType.CLUSTER) if call.may(DESCRIBE_CLUSTER) else 0


class Call:
    __slots__ = (
        "api",
        "broker",
        "client_id",
        "connection",
        "correlation_id",
        "now",
        "peer_host",
        "principal",
        "quota",
        "route",
        "version",
    )

    def __init__(
        self,
        context: Broker | ControllerContext,
        connection: Connection,
        api: ServedApi,
        route: Route,
        version: int,
        correlation_id: int,
    ) -> None:
        # On a controller's listener it is none: what is served there asks for the context only.
        self.broker = cast("Broker", context)
        self.connection = connection
        self.api = api
        self.route = route
        self.version = version
        self.correlation_id = correlation_id
        self.client_id: str | None = None
        # In an envelope: those of the client in whose name a broker asks.
        self.principal = connection.principal
        self.peer_host = connection.peer_host
        # What it is charged for, where clients have quotas.
        self.quota: RequestQuota | None = None
        self.now = context.clock.now()

    @property
    def context(self) -> NodeContext:
        """What a broker and a controller have in common."""
        return self.broker

    # -- may they ---------------------------------------------------------------------------------------------------

    def may(self, right: Right, name: str = CLUSTER_NAME, *, quietly: bool = False) -> bool:
        """`quietly`: that it is denied is nobody's fault, as when one of two rights is enough."""
        authorization = self.broker.authorization
        return authorization is None or authorization.allows(self, right, name, quietly=quietly)

    def require(self, right: Right, name: str = CLUSTER_NAME) -> None:
        """Raises the error that goes with the right."""
        if not self.may(right, name):
            raise ApiError(right.error)

    def require_authorizer(self) -> None:
        """There are rules only where somebody keeps them."""
        if self.broker.authorization is None:
            raise ApiError(ErrorCode.SECURITY_DISABLED, "No Authorizer is configured.")

    def may_any(self, right: Right) -> bool:
        """Whether there is any resource of the kind with which it may be done."""
        authorization = self.broker.authorization
        return authorization is None or authorization.allows_any(self, right)

    def denied(
        self, right: Right, names: Iterable[str], *, quietly: bool = False
    ) -> Collection[str]:
        """Those of the names that the right is missing for."""
        authorization = self.broker.authorization
        if authorization is None:
            return ()
        return authorization.denied(self, right, names, quietly=quietly)

    def seer(self, right: Right) -> Callable[[str], bool] | None:
        """Asks for the right later, when the call is long answered. None: everybody has it."""
        authorization = self.broker.authorization
        return None if authorization is None else authorization.seer(self, right)

    def operations(self, resource_type: AclResourceType, name: str = CLUSTER_NAME) -> int:
        """The bit field of all that may be done with a resource."""
        authorization = self.broker.authorization
        if authorization is None:
            return all_operations(resource_type)
        return authorization.operations(self, resource_type, name)

    # -- answers ----------------------------------------------------------------------------------------------------

    async def forward(self, request: object) -> Any:
        """Ask the active controller in the name of the client that called."""
        origin = Origin(self.version, self.client_id, self.peer_host, self.principal)
        return await self.context.controller.forward(request, origin)

    def encode(self, body: Message | EncodedBody | LongBody) -> Answer:
        """The whole response frame: size, header, body."""
        if self.quota is not None:
            self.quota.settle(self, body)
        flexible = self.route.has_flexible_response_header
        if isinstance(body, LongBody):
            return self._encode_long(body, b"\0" if flexible else b"")
        if isinstance(body, EncodedBody):
            size = 5 if flexible else 4
            for part in body.parts:
                size += len(part)
            head = _HEADER.pack(size, self.correlation_id)
            return [head + b"\0" if flexible else head, *body.parts]
        out = bytearray(_HEADER.size + flexible)
        encoder(type(body), self.version)(body, out)
        _HEADER.pack_into(out, 0, len(out) - 4, self.correlation_id)
        return (out,)

    def _encode_long(self, body: LongBody, tags: bytes) -> LongAnswer:
        size = 4 + len(tags)
        for part in body.parts:
            size += len(part) if isinstance(part, Buffer) else part.size
        head = _HEADER.pack(size, self.correlation_id) + tags
        first, *rest = body.parts
        # One part less to send.
        return LongAnswer(
            [head + first, *rest] if isinstance(first, Buffer) else [head, first, *rest]
        )

    def finish(self, body: Message | EncodedBody | LongBody | None) -> None:
        """Answer a parked call."""
        self.connection.finish(None if body is None else self.encode(body))
