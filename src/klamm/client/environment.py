"""What a client takes from the world: the time, chance, and the way to open a connection.

All three are arguments, so that the same client runs on virtual time and a simulated network. Waiting needs nothing
here: it is the event loop's, which such a simulation replaces.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from random import Random
from typing import NamedTuple, TypeAlias

from klamm.base.clock import Clock, SystemClock


class Address(NamedTuple):
    host: str
    port: int

    @classmethod
    def parse(cls, text: str) -> Address:
        """`host:port`; an IPv6 host stands in brackets."""
        host, colon, port = text.strip().rpartition(":")
        if not colon or not port.isdigit():
            raise ValueError(f"{text!r} is not host:port")
        return cls(host.strip("[]"), int(port))

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


Opener: TypeAlias = Callable[[Callable[[], asyncio.Protocol], Address], Awaitable[None]]


async def open_tcp(protocol: Callable[[], asyncio.Protocol], address: Address) -> None:
    """The real network. The loop switches Nagle's delay off by itself."""
    await asyncio.get_running_loop().create_connection(protocol, address.host, address.port)


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    clock: Clock = field(default_factory=SystemClock)
    rng: Random = field(default_factory=Random)
    open: Opener = open_tcp
