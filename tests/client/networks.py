"""Networks that do what tests need: one that breaks, and one that ends in a broker the test scripts."""

import asyncio
from collections.abc import Callable
from random import Random

from klamm.base.errors import ErrorCode
from klamm.client.environment import Address, open_tcp
from klamm.protocol.apis import APIS
from klamm.protocol.compile import decoder, encode
from klamm.protocol.messages.api_versions import (
    ApiVersion,
    ApiVersionsRequest,
    ApiVersionsResponse,
)
from klamm.protocol.messages.headers import RequestHeader, ResponseHeader


class FlakyNetwork:
    """Breaks connections now and then, when an answer arrives: the client cannot know what became of its request."""

    def __init__(self, rng: Random, chance: float, *, calm_answers: int = 3) -> None:
        self._rng = rng
        self._chance = chance
        self._calm_answers = calm_answers
        self.breaks = 0

    async def open(self, protocol: Callable[[], asyncio.Protocol], address: Address) -> None:
        await open_tcp(lambda: _Flaky(protocol(), self), address)

    def should_break(self, answers: int) -> bool:
        if answers <= self._calm_answers or self._rng.random() >= self._chance:
            return False
        self.breaks += 1
        return True


class _Flaky(asyncio.Protocol):
    def __init__(self, inner: asyncio.Protocol, network: FlakyNetwork) -> None:
        self._inner = inner
        self._network = network
        self._answers = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._inner.connection_made(transport)

    def data_received(self, data: bytes) -> None:
        self._answers += 1
        if self._network.should_break(self._answers):
            self._transport.abort()
        else:
            self._inner.data_received(data)

    def connection_lost(self, exc: Exception | None) -> None:
        self._inner.connection_lost(exc)


Answer = Callable[[object, int], object | None]


class ScriptedBroker:
    """Answers what its functions say, by request type. None: it does not answer at all.

    Everything happens in memory; what it sends arrives at the loop's next turn.
    """

    def __init__(
        self, answers: dict[type, Answer] | None = None, *, versions_up_to: int = 4
    ) -> None:
        self.answers: dict[type, Answer] = {ApiVersionsRequest: self._versions, **(answers or {})}
        self.asked: list[tuple[object, int]] = []
        self.wires: list[Wire] = []
        self.opened: list[Address] = []
        self.is_down = False
        self._newest = versions_up_to

    async def open(self, protocol: Callable[[], asyncio.Protocol], address: Address) -> None:
        self.opened.append(address)
        if self.is_down:
            raise ConnectionRefusedError("down")
        self.wires.append(Wire(self, protocol()))
        self.wires[-1].client.connection_made(self.wires[-1])

    def _versions(self, _: object, version: int) -> ApiVersionsResponse:
        if version > self._newest:
            only = [ApiVersion(api_key=18, min_version=0, max_version=self._newest)]
            return ApiVersionsResponse(error_code=ErrorCode.UNSUPPORTED_VERSION, api_keys=only)
        return ApiVersionsResponse(
            api_keys=[
                ApiVersion(api_key=api.key, min_version=api.lowest, max_version=api.highest_stable)
                for api in APIS.values()
            ]
        )

    def receive(self, wire: "Wire", frame: bytes) -> None:
        key = int.from_bytes(frame[:2], "big")
        version = int.from_bytes(frame[2:4], "big")
        api = APIS[key]
        header, at = decoder(RequestHeader, api.request_header_version(version))(frame)
        request, _ = decoder(api.request, version)(frame, at)
        self.asked.append((request, version))
        answer = self.answers[type(request)](request, version)
        if answer is not None:
            is_refusal = key == 18 and version > self._newest
            wire.answer(header.correlation_id, key, 0 if is_refusal else version, answer)


class Wire(asyncio.Transport):
    """The client's end of a connection to a ScriptedBroker."""

    def __init__(self, broker: ScriptedBroker, client: asyncio.Protocol) -> None:
        super().__init__()
        self._broker = broker
        self.client = client
        self.is_cut = False

    def write(self, data: bytes | bytearray | memoryview) -> None:
        frame = bytes(data)
        assert int.from_bytes(frame[:4], "big") == len(frame) - 4
        self._broker.receive(self, frame[4:])

    def abort(self) -> None:
        if not self.is_cut:
            self.is_cut = True
            asyncio.get_running_loop().call_soon(self.client.connection_lost, None)

    def answer(self, correlation_id: int, key: int, version: int, message: object) -> None:
        header_version = APIS[key].response_header_version(version)
        header = encode(ResponseHeader(correlation_id=correlation_id), header_version)
        self.send(header + encode(message, version))

    def send(self, frame: bytes) -> None:
        self.send_raw(len(frame).to_bytes(4, "big") + frame)

    def send_raw(self, data: bytes) -> None:
        """One byte at a time: a client must not rely on how the network cuts its frames."""
        for at in range(len(data)):
            asyncio.get_running_loop().call_soon(self._deliver, data[at : at + 1])

    def _deliver(self, data: bytes) -> None:
        if not self.is_cut:
            self.client.data_received(data)
