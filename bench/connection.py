"""One raw blocking connection: whole frames out, whole answers in, nothing parsed but their size."""

import socket
import ssl
from struct import Struct
from typing import TypeVar

from klamm.protocol.compile import decode

T = TypeVar("T")

# No broker is this slow; past it the benchmark ends with an error instead of hanging.
TIMEOUT_SECONDS = 30.0

_SIZE = Struct(">i")
_AFTER_HEADER = 4 + 4 + 1  # size, correlation id, no tags
# Room for the largest answer that a workload asks for.
_BUFFER_SIZE = 4 * 1024 * 1024


class UnexpectedAnswer(Exception):
    """The load got something else than it asked for: what was measured means nothing."""


class Connection:
    """`answer` holds the latest answer with its size in front, until the next `receive`."""

    __slots__ = ("_socket", "answer", "fileno", "send")

    # All connections of a process receive here, one after the other: it stays in the processor's cache.
    _buffer = memoryview(bytearray(_BUFFER_SIZE))

    def __init__(self, address: tuple[str, int], tls: ssl.SSLContext | None = None) -> None:
        try:
            self._socket = socket.create_connection(address, TIMEOUT_SECONDS)
        except OSError as e:
            raise ConnectionError(f"no broker at {address[0]}:{address[1]}: {e.strerror}") from e
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if tls is not None:
            self._socket = tls.wrap_socket(self._socket, server_hostname=address[0])
        self.answer = self._buffer[:0]
        self.send = self._socket.sendall
        self.fileno = self._socket.fileno

    def receive(self) -> None:
        buffer = self._buffer
        receive_into = self._socket.recv_into
        filled = receive_into(buffer)
        while filled < 4 or filled < 4 + _SIZE.unpack_from(buffer)[0]:
            more = receive_into(buffer[filled:])
            if not more:
                raise ConnectionError("the broker closed the connection in the middle of an answer")
            filled += more
        self.answer = buffer[:filled]

    def call(self, frame: bytes, response: type[T], version: int) -> T:
        """One request and its decoded answer, for what is not measured."""
        self.send(frame)
        return self.receive_as(response, version)

    def receive_as(self, response: type[T], version: int) -> T:
        self.receive()
        # A copy: decoded bytes are views of what they were decoded from.
        return decode(response, version, bytes(self.answer[_AFTER_HEADER:]))

    def close(self) -> None:
        self._socket.close()
