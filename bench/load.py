"""The load generator: each lane has one request under way and sends the next when the answer is there.

It runs in one thread and touches no more than the first bytes of an answer, so that the broker is what is measured.
"""

import gc
import select
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import cycle

from bench.connection import Connection, UnexpectedAnswer


@dataclass(slots=True)
class Run:
    """What came of it, as the client saw it."""

    seconds: float
    latencies_ns: list[int]
    payload_bytes: int = 0

    @property
    def requests(self) -> int:
        return len(self.latencies_ns)


@dataclass(slots=True)
class Lane:
    """A connection and the frames that it sends in turn."""

    connection: Connection
    frames: Sequence[bytes]
    # How many bytes of every answer must be those of the first: they say that nothing went wrong.
    same_bytes: int
    sent_at: int = 0
    _next: Iterator[bytes] = field(init=False)
    _expected: bytes = b""

    def __post_init__(self) -> None:
        self._next = cycle(self.frames)

    def learn(self) -> None:
        """Take the answer just received as the pattern for all others."""
        self._expected = bytes(self.connection.answer[: self.same_bytes])

    def send(self, now: int) -> None:
        self.sent_at = now
        self.connection.send(next(self._next))

    def receive(self) -> None:
        connection = self.connection
        connection.receive()
        if connection.answer[: self.same_bytes] != self._expected:
            got = bytes(connection.answer[: self.same_bytes])
            raise UnexpectedAnswer(
                f"an unexpected answer: {got.hex(' ')}, not {self._expected.hex(' ')}"
            )


def run_lanes(lanes: Sequence[Lane], seconds: float, *, max_requests: int) -> Run:
    """Keep every lane busy for so long, or until so many requests were sent; all answers are awaited."""
    now = time.perf_counter_ns
    latencies: list[int] = []
    # With one lane there is nothing to wait for but its answer, which `receive` does.
    poller = _Poller(lanes) if len(lanes) > 1 else None
    with no_garbage_collection():
        began = now()
        ends = began + int(seconds * 1e9)
        left = max_requests - len(lanes)
        under_way = len(lanes)
        for lane in lanes:
            lane.send(now())
        while under_way:
            for lane in lanes if poller is None else poller.ready():
                lane.receive()
                received = now()
                latencies.append(received - lane.sent_at)
                if received < ends and left > 0:
                    left -= 1
                    lane.send(received)
                else:
                    under_way -= 1
        return Run((now() - began) / 1e9, latencies)


class _Poller:
    def __init__(self, lanes: Sequence[Lane]) -> None:
        self._poll = select.epoll(len(lanes))
        self._lanes = {lane.connection.fileno(): lane for lane in lanes}
        for descriptor in self._lanes:
            self._poll.register(descriptor, select.EPOLLIN)

    def ready(self) -> Sequence[Lane]:
        return [self._lanes[descriptor] for descriptor, _ in self._poll.poll()]


@contextmanager
def no_garbage_collection() -> Iterator[None]:
    """A collection of ours would look like a slow broker."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
