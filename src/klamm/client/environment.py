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
from klamm.base.errors import ApiError, ErrorCode
from klamm.client.security import Security


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


async def open_tls(
    protocol: Callable[[], asyncio.Protocol], address: Address, security: Security
) -> None:
    """ApiError: it is not who it should be. OSError, ssl.SSLError among them: whatever else is wrong."""
    # Loaded here: most clients in a test, and brokers, have no use for it.
    import ssl

    context = ssl.create_default_context(cafile=security.ca or None)
    if security.certificate:
        context.load_cert_chain(
            security.certificate, security.key or None, security.key_password or None
        )
    context.check_hostname = security.checks_host_name and security.checks_certificate
    if not security.checks_certificate:
        context.verify_mode = ssl.CERT_NONE
    try:
        await asyncio.get_running_loop().create_connection(
            protocol, address.host, address.port, ssl=context, server_hostname=address.host
        )
    except ssl.SSLCertVerificationError as e:
        # To try again would not help.
        raise ApiError(
            ErrorCode.SASL_AUTHENTICATION_FAILED,
            f"the certificate of {address} is not to be believed: {e.verify_message}",
        ) from None


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    clock: Clock = field(default_factory=SystemClock)
    rng: Random = field(default_factory=Random)
    open: Opener = open_tcp
