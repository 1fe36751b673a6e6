"""Very many connections that do nothing, and one client that works: how long does it wait, with and without them?"""

import resource
import socket
import time
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

from chaos.real.broker import BrokerProcess
from chaos.real.client import PATIENCE_SECONDS, Client
from klamm.protocol.compile import encode
from klamm.protocol.messages.api_versions import ApiVersionsRequest
from klamm.protocol.messages.headers import RequestHeader
from klamm.protocol.records.builder import build_batch
from klamm.protocol.records.reader import Record

_TOPIC = "orders"
_WARM_UP = 500
# The best of several: what else the machine does is not what is measured.
_ROUNDS = 5
# So many connections ask before the first answer is read.
_AT_ONCE = 500
# A wait that nobody notices is no longer wait, however short the other was.
_LEAST_P99_MS = 1.0
_SPARE_FILES = 200


class Crowd(NamedTuple):
    connections: int
    seconds_to_connect: float
    p99_ms_alone: float
    p99_ms_beside: float
    kb_per_connection: float

    @property
    def is_good(self) -> bool:
        return self.p99_ms_beside <= 2 * max(self.p99_ms_alone, _LEAST_P99_MS)

    def __str__(self) -> str:
        return (
            f"connections={self.connections} connected_in={self.seconds_to_connect:.1f}s "
            f"p99_alone={self.p99_ms_alone:.2f}ms p99_beside={self.p99_ms_beside:.2f}ms "
            f"kb_per_connection={self.kb_per_connection:.1f}"
        )


def hold(home: Path, connections: int, *, requests: int = 2_000) -> Crowd:
    """At most as many connections as the limit of open files allows us, and the broker 80 % of it."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    connections = min(connections, int(most * 0.8) - _SPARE_FILES)
    broker = BrokerProcess(home)
    broker.start()
    try:
        with Client(broker.address) as client, ExitStack() as crowd:
            client.create_topic(_TOPIC)
            _p99_ms(client, _WARM_UP)
            alone = _p99_ms(client, requests)
            before, began = broker.memory_bytes(), time.monotonic()
            _join(crowd, broker.address, connections)
            seconds = time.monotonic() - began
            held = broker.memory_bytes() - before
            beside = _p99_ms(client, requests)
            return Crowd(connections, seconds, alone, beside, held / connections / 1000)
    finally:
        broker.kill()


def _join(crowd: ExitStack, address: tuple[str, int], connections: int) -> None:
    """Each asks once and is answered: so the broker takes it for a client, and it has been accepted."""
    left = connections
    while left:
        joining = [_connect(crowd, address) for _ in range(min(left, _AT_ONCE))]
        for each in joining:
            each.sendall(_HELLO)
        for each in joining:
            if not each.recv(4, socket.MSG_WAITALL):
                raise ConnectionError("the broker closed a connection of the crowd")
        left -= len(joining)


def _connect(crowd: ExitStack, address: tuple[str, int]) -> socket.socket:
    return crowd.enter_context(socket.create_connection(address, PATIENCE_SECONDS))


def _hello() -> bytes:
    header = RequestHeader(
        request_api_key=18, request_api_version=0, correlation_id=1, client_id="crowd"
    )
    frame = encode(header, 1) + encode(ApiVersionsRequest(), 0)
    return len(frame).to_bytes(4, "big") + frame


_HELLO = _hello()


def _p99_ms(client: Client, requests: int) -> float:
    return min(_one_p99_ms(client, requests // _ROUNDS) for _ in range(_ROUNDS))


def _one_p99_ms(client: Client, requests: int) -> float:
    batch = build_batch([Record(timestamp=int(time.time() * 1000), value=b"v" * 100)])
    waits = []
    for _ in range(requests):
        began = time.perf_counter()
        error, _ = client.produce(_TOPIC, batch)
        waits.append(time.perf_counter() - began)
        assert error == 0
    return sorted(waits)[int(len(waits) * 0.99)] * 1000
