"""A client that speaks klamm.protocol messages over one socket: no retries, no metadata, nothing between test and broker."""

import itertools
import socket
from typing import Any, Self

from klamm.protocol.apis import APIS, Api
from klamm.protocol.compile import decode, encode
from klamm.protocol.messages.headers import RequestHeader, ResponseHeader

PATIENCE_SECONDS = 20.0


class ConnectionClosed(Exception):
    """The broker hung up instead of answering."""


class WireClient:
    """`ask` sends a request and gives its decoded answer; the other methods are the halves and the bytes of that."""

    def __init__(self, address: str, *, client_id: str | None = "wire") -> None:
        host, _, port = address.rpartition(":")
        self.client_id = client_id
        self.socket = socket.create_connection((host.strip("[]"), int(port)), PATIENCE_SECONDS)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._input = self.socket.makefile("rb")
        self._ids = itertools.count(1)
        self._asked: dict[int, tuple[Api, int]] = {}

    @property
    def local_port(self) -> int:
        return int(self.socket.getsockname()[1])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._input.close()
        self.socket.close()

    def ask(self, request: Any, version: int | None = None) -> Any:
        """The answer, decoded. Without a version: the newest stable one."""
        self.send(request, version)
        return self.receive()

    def send(self, request: Any, version: int | None = None) -> int:
        """Sends without waiting; gives the correlation id."""
        correlation_id = next(self._ids)
        api = api_of(request)
        version = api.highest_stable if version is None else version
        self._asked[correlation_id] = (api, version)
        frame = request_frame(
            request, version, correlation_id=correlation_id, client_id=self.client_id
        )
        self.send_frame(frame)
        return correlation_id

    def receive(self) -> Any:
        """The next answer, which must be that to the oldest request."""
        frame = self.receive_frame()
        correlation_id = int.from_bytes(frame[:4], "big", signed=True)
        oldest = next(iter(self._asked))
        assert correlation_id == oldest, f"answer {correlation_id} came before {oldest}"
        return read_answer(frame, *self._asked.pop(correlation_id))

    def send_frame_of(self, request: Any, version: int | None = None) -> None:
        """Sends a request that has no answer."""
        version = api_of(request).highest_stable if version is None else version
        self.send_frame(request_frame(request, version, client_id=self.client_id))

    def send_frame(self, frame: bytes) -> None:
        self.socket.sendall(len(frame).to_bytes(4, "big") + frame)

    def receive_frame(self) -> bytes:
        size = int.from_bytes(self._read(4), "big")
        return self._read(size)

    def is_closed_by_the_broker(self) -> bool:
        """True once the broker hung up, without having sent anything more."""
        try:
            return self._input.read(1) == b""
        except ConnectionResetError:
            return True

    def _read(self, size: int) -> bytes:
        try:
            data = self._input.read(size)
        except ConnectionResetError:
            data = b""
        if len(data) < size:
            raise ConnectionClosed
        return data


def api_of(request: Any) -> Api:
    return APIS[type(request).SCHEMA.api_key]


def request_frame(
    request: Any, version: int, *, correlation_id: int = 7, client_id: str | None = "wire"
) -> bytes:
    """Header and body, without the size in front."""
    api = api_of(request)
    header = RequestHeader(
        request_api_key=api.key,
        request_api_version=version,
        correlation_id=correlation_id,
        client_id=client_id,
    )
    return encode(header, api.request_header_version(version)) + encode(request, version)


def read_answer(frame: bytes, api: Api, version: int) -> Any:
    header_size = len(encode(ResponseHeader(), api.response_header_version(version)))
    return decode(api.response, version, frame[header_size:])
