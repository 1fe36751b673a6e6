"""World: everything that a node takes from outside. Whoever replaces it replaces time, chance, disk, network and threads.

Waiting is not among it: it is the event loop's, which a simulation replaces as well.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ParamSpec, Protocol, TypeVar

from klamm.base.chance import Chance
from klamm.base.clock import Clock
from klamm.base.settings.ssl import SslSettings
from klamm.log.disk import Disk, File
from klamm.server.world.compaction import CompactionWorker

Buffer = bytes | bytearray | memoryview
Parameters = ParamSpec("Parameters")
T = TypeVar("T")


class Wire(Protocol):
    """The way past a transport that has nothing to send itself. BlockingIOError: it takes no more now."""

    @property
    def send(self) -> Callable[[Buffer], int]:
        """A bound method, to be kept: it is called for nearly every answer."""
        ...

    def send_more(self, data: Buffer) -> int:
        """More follows at once, so this need not leave alone."""
        ...

    def send_file(self, file: File, position: int, size: int) -> int | None:
        """Straight from the file; None if this file and this wire do not go together."""
        ...


class Arrival(Protocol):
    """A client that has connected and is not served yet."""

    @property
    def host(self) -> str: ...
    @property
    def wire(self) -> Wire: ...
    async def adopt(self, protocol: asyncio.BufferedProtocol) -> None: ...
    def close(self) -> None: ...


class Port(Protocol):
    """An address of ours. It is taken as soon as it is made; clients come when it listens."""

    @property
    def host(self) -> str: ...
    @property
    def number(self) -> int: ...

    def listen(self, backlog: int, on_arrival: Callable[[], None]) -> None:
        """Calls back as long as somebody waits to be accepted."""

    def accept(self) -> Arrival:
        """BlockingIOError if nobody waits."""
        ...

    def pause(self) -> None: ...
    def resume(self) -> None: ...
    def close(self) -> None: ...


class BadStore(Exception):
    """A key store or trust store that cannot be used: one sentence, with the file."""


class HandshakeFailed(ConnectionError):
    """There was a connection, and no secure one came of it."""


class Certificates(Protocol):
    """Keys, certificates and whom to trust: what a network needs to speak TLS. Nobody else looks into it."""


class Network(Protocol):
    """`tls`, where it is given, is the name under which `secure` was told the certificates."""

    def bind(self, host: str, port: int, tls: str | None = None) -> Port: ...

    async def connect(
        self, host: str, port: int, protocol: asyncio.BufferedProtocol, tls: str | None = None
    ) -> None:
        """To another node. OSError if it cannot be reached, ConnectionRefusedError if nobody listens there,
        HandshakeFailed if it is not who it should be."""

    def get(self, url: str, seconds: float) -> bytes:
        """A small document of the web. Blocks: for a worker. OSError: it cannot be had."""
        ...

    def certificates(
        self, settings: SslSettings, replacing: Certificates | None = None
    ) -> Certificates:
        """Read all stores; it takes its time, and may be called in a worker. BadStore: they cannot be used.

        The key store of those that they replace tells whose names it must have (ssl.allow.dn.changes).
        """
        ...

    def secure(self, name: str, certificates: Certificates) -> None:
        """Connections that begin from now on have these. Those that are open keep what they have."""


class Worker(Protocol):
    """Does one thing after the other, beside the loop."""

    async def run(
        self, work: Callable[Parameters, T], /, *args: Parameters.args, **kwargs: Parameters.kwargs
    ) -> T: ...

    def run_now(self, work: Callable[[], T]) -> T:
        """The loop waits for it, and for all that was asked for before."""
        ...

    async def close(self) -> None:
        """Returns when all that was asked for is done."""


class Workers(Protocol):
    def worker(self, name: str) -> Worker: ...

    async def run(
        self, work: Callable[Parameters, T], /, *args: Parameters.args, **kwargs: Parameters.kwargs
    ) -> T:
        """Beside the loop and beside everything else."""
        ...

    def side_by_side(self, works: Sequence[Callable[[], None]]) -> None:
        """All at once if that can be, and the loop waits. An OSError of any of them is raised."""

    def compaction(self, disk: Disk) -> CompactionWorker: ...


class Turn(Protocol):
    def is_over(self) -> bool: ...


class Turns(Protocol):
    """How long something may go on before others are served."""

    @property
    def seconds(self) -> float:
        """How long the pause behind a turn is, where others need one."""
        ...

    def begin(self) -> Turn: ...

    @property
    def time(self) -> Callable[[], float]:
        """Seconds, finer than the loop's. A function to be kept: it is called for every read."""
        ...


@dataclass(frozen=True, slots=True)
class Machine:
    """What this process may use."""

    memory_bytes: int
    cores: float
    open_files: int


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    clock: Clock
    chance: Chance
    disk: Disk
    network: Network
    workers: Workers
    turns: Turns
    machine: Machine
