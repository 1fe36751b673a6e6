"""One connection to a broker that sends exactly the request it is given, in exactly the version it is given."""

import socket
import struct
from typing import Any

from klamm.protocol.apis import API_BY_NAME
from klamm.protocol.compile import decode, encode
from klamm.protocol.messages.headers import RequestHeader, ResponseHeader

TIMEOUT_SECONDS = 15.0


class ConnectionClosed(Exception):
    """The broker hung up instead of answering."""


class RawClient:
    def __init__(self, address: str) -> None:
        host, port = address.rsplit(":", 1)
        self._socket = socket.create_connection((host, int(port)), timeout=TIMEOUT_SECONDS)
        self._correlation = 0

    def __enter__(self) -> "RawClient":
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def ask(self, api: str, version: int, request: object) -> Any:
        """Sends a request and gives the decoded response; ConnectionClosed when there is none."""
        row = API_BY_NAME[api]
        body = encode(request, version)
        answer = self.ask_bytes(row.key, version, body, header=row.request_header_version(version))
        header = encode(
            ResponseHeader(correlation_id=self._correlation), row.response_header_version(version)
        )
        assert answer.startswith(header), f"unexpected response header: {answer[:8].hex()}"
        return decode(row.response, version, answer[len(header) :])

    def ask_bytes(self, key: int, version: int, body: bytes, *, header: int) -> bytes:
        """Sends a header and any bytes after it; gives what comes back behind the size."""
        self._correlation += 1
        head = RequestHeader(
            request_api_key=key,
            request_api_version=version,
            correlation_id=self._correlation,
            client_id="oracle",
        )
        frame = encode(head, header) + body
        self.send(struct.pack(">i", len(frame)) + frame)
        return self.receive()

    def send(self, data: bytes) -> None:
        self._socket.sendall(data)

    def receive(self) -> bytes:
        """The next frame; ConnectionClosed when the broker hung up."""
        (size,) = struct.unpack(">i", self._exactly(4))
        return self._exactly(size)

    def _exactly(self, size: int) -> bytes:
        data = bytearray()
        while len(data) < size:
            try:
                chunk = self._socket.recv(size - len(data))
            except ConnectionResetError:
                chunk = b""
            if not chunk:
                raise ConnectionClosed
            data += chunk
        return bytes(data)
