"""A network in memory between named hosts: late, in pieces, cut one way or both, and with ends that vanish."""

from __future__ import annotations

import asyncio
import errno
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from random import Random

from klamm.base.settings.ssl import SslSettings
from klamm.client.environment import Address, Opener
from klamm.server.world.ports import BadStore, Certificates
from klamm.testing.loop import Incarnation, SimulatedLoop
from klamm.testing.trace import Trace
from klamm.testing.transport import Arrived, End

# Who does not reach whom.
Cut = frozenset[tuple[str, str]]
# How long one tries to connect to a host that does not answer.
_CONNECT_SECONDS = 20.0


class Host:
    """A machine on the network. It is up or not; which process runs on it is not its business."""

    __slots__ = ("is_up", "name")

    def __init__(self, name: str) -> None:
        self.name = name
        self.is_up = True


@dataclass(slots=True)
class Weather:
    """What the network is like. A packet that is lost is sent again, so what TCP shows of it is time."""

    latency: float = 0.000_5
    loss: float = 0.0
    # How likely it is that what was written together arrives in pieces.
    pieces: float = 0.2


class Network:
    def __init__(self, loop: SimulatedLoop, rng: Random, trace: Trace) -> None:
        self.loop = loop
        self.weather = Weather()
        # Bytes that may be on their way, or lie unread, in one direction of a connection.
        self.window = 64 * 1024
        # What it takes longer to reach a host, or to hear from it, in seconds.
        self.slow_hosts: dict[str, float] = {}
        self.connections = 0
        # Somebody tried to connect, with success or without.
        self.attempts = 0
        self._rng = rng
        self._trace = trace
        self._ports: dict[tuple[str, int], SimulatedPort] = {}
        self._ends: dict[End, None] = {}
        self._cuts: set[tuple[str, str]] = set()
        self._stalled: dict[End, None] = {}

    # Faults ------------------------------------------------------------------------------------

    def cut(self, senders: Iterable[str], receivers: Iterable[str], *, both: bool = True) -> Cut:
        """Nothing gets from these hosts to those; by default nothing gets back either."""
        receivers = list(receivers)
        made = {(sender, receiver) for sender in senders for receiver in receivers}
        if both:
            made |= {(receiver, sender) for sender, receiver in made}
        self._cuts |= made
        return frozenset(made)

    def heal(self, cut: Cut | None = None) -> None:
        """This cut is over, or all are: what was held up goes on."""
        self._cuts = self._cuts - cut if cut is not None else set()
        stalled, self._stalled = self._stalled, {}
        for end in stalled:
            end.pump_soon()

    def reset_connections(self, host: str | None = None) -> None:
        """As a middlebox does that has forgotten them."""
        for end in list(self._ends):
            if host is None or end.host.name == host:
                end.lose(ConnectionResetError("reset by the network"))
                end.other.lose(ConnectionResetError("reset by the network"))

    def host_died(self, host: Host, owner: Incarnation, *, silently: bool) -> None:
        """A process is gone. Its machine tells the others, unless it is gone as well: then connections are half open."""
        for key in [key for key, port in self._ports.items() if port.owner is owner]:
            self._ports.pop(key).close()
        for end in [end for end in self._ends if end.owner is owner]:
            self.forget(end)
            if end.other.owner.is_dead:
                continue
            if silently or self.is_cut(host, end.other.host):
                end.other.other_is_gone()
            else:
                self.loop.call_later(
                    self.delay(host, end.other.host),
                    end.other.lose,
                    ConnectionResetError("the process is gone"),
                    context=end.other.owner.context,
                )

    # What ends ask -----------------------------------------------------------------------------

    @property
    def latency(self) -> float:
        return self.weather.latency

    def is_cut(self, sender: Host, receiver: Host) -> bool:
        return (sender.name, receiver.name) in self._cuts

    def stall(self, end: End) -> None:
        self._stalled[end] = None

    def forget(self, end: End) -> None:
        self._ends.pop(end, None)

    def delay(self, sender: Host, receiver: Host) -> float:
        if sender is receiver:
            return 0.000_02
        weather = self.weather
        latency = weather.latency
        if self.slow_hosts:
            latency += self.slow_hosts.get(sender.name, 0.0) + self.slow_hosts.get(
                receiver.name, 0.0
            )
        delay = latency * (0.5 + self._rng.random())
        while weather.loss and self._rng.random() < weather.loss:
            delay += 0.2
        return delay

    def pieces(self, size: int) -> Iterator[int]:
        while size > 1 and self._rng.random() < self.weather.pieces:
            piece = self._rng.randint(1, size - 1)
            yield piece
            size -= piece
        yield size

    def note(self, what: str, end: End, chunk: bytes) -> None:
        self._trace.note(self.loop.time(), what, f"{end.number} {end.other.host.name}", chunk)

    # Connecting --------------------------------------------------------------------------------

    def port_of(self, host: Host, owner: Incarnation, number: int) -> SimulatedPort:
        key = (host.name, number)
        if key in self._ports:
            raise OSError(errno.EADDRINUSE, "taken by another process")
        self._ports[key] = port = SimulatedPort(self, host, owner, number)
        return port

    def free(self, port: SimulatedPort) -> None:
        if self._ports.get((port.host, port.number)) is port:
            del self._ports[port.host, port.number]

    def opener(self, host: Host, owner: Incarnation, hosts: Callable[[str], Host]) -> Opener:
        """The way out of that host, for a client's Environment."""

        async def open_one(protocol: Callable[[], asyncio.Protocol], address: Address) -> None:
            near = await self.open(host, owner, hosts(address.host), address.port)
            near.attach(protocol())

        return open_one

    async def open(self, host: Host, owner: Incarnation, there: Host, number: int) -> End:
        end = self.loop.time() + _CONNECT_SECONDS
        while not there.is_up or self.is_cut(host, there) or self.is_cut(there, host):
            if self.loop.time() >= end:
                raise TimeoutError(f"{there.name}:{number} does not answer")
            await asyncio.sleep(1)
        self.attempts += 1
        await asyncio.sleep(self.delay(host, there))
        port = self._ports.get((there.name, number))
        if port is None or not port.is_listening:
            raise ConnectionRefusedError(f"nobody listens on {there.name}:{number}")
        near = self._connect(host, owner, port)
        await asyncio.sleep(self.delay(there, host))
        return near

    def _connect(self, host: Host, owner: Incarnation, port: SimulatedPort) -> End:
        self.connections += 1
        near = End(self, host, owner, self.connections)
        far = End(self, port.at, port.owner, self.connections)
        near.other, far.other = far, near
        self._ends[near] = self._ends[far] = None
        port.arrived(far)
        return near


class SimulatedPort:
    """See server.world.ports.Port."""

    def __init__(self, network: Network, host: Host, owner: Incarnation, number: int) -> None:
        self._network = network
        self.at = host
        self.owner = owner
        self.host = host.name
        self.number = number
        self.is_listening = False
        self._on_arrival: Callable[[], None] | None = None
        self._is_paused = False
        self._waiting: deque[End] = deque()

    def listen(self, backlog: int, on_arrival: Callable[[], None]) -> None:
        self.is_listening = True
        self._on_arrival = on_arrival

    def arrived(self, end: End) -> None:
        self._waiting.append(end)
        self._call()

    def _call(self) -> None:
        if self._waiting and not self._is_paused and self._on_arrival is not None:
            self._network.loop.call_soon(self._on_arrival, context=self.owner.context)

    def accept(self) -> Arrived:
        if not self._waiting:
            raise BlockingIOError
        return Arrived(self._waiting.popleft())

    def pause(self) -> None:
        self._is_paused = True

    def resume(self) -> None:
        self._is_paused = False
        self._call()

    def close(self) -> None:
        self.is_listening = False
        self._on_arrival = None
        self._network.free(self)
        for end in self._waiting:
            end.abort()
        self._waiting.clear()


class HostNetwork:
    """The network as one process on one host sees it: see server.world.ports.Network."""

    __slots__ = ("_host", "_hosts", "_network", "_owner")

    def __init__(
        self, network: Network, host: Host, owner: Incarnation, hosts: Callable[[str], Host]
    ) -> None:
        self._network = network
        self._host = host
        self._owner = owner
        self._hosts = hosts

    def bind(self, host: str, port: int, tls: str | None = None) -> SimulatedPort:
        """Whatever name it is asked for, a host has one address."""
        assert tls is None, "a simulated network is plain text"
        return self._network.port_of(self._host, self._owner, port)

    def get(self, url: str, seconds: float) -> bytes:
        raise OSError("there is no web here")

    def certificates(
        self, settings: SslSettings, replacing: Certificates | None = None
    ) -> Certificates:
        raise BadStore("a simulated network is plain text")

    def secure(self, name: str, certificates: Certificates) -> None:
        raise AssertionError("a simulated network is plain text")

    async def connect(
        self, host: str, port: int, protocol: asyncio.BufferedProtocol, tls: str | None = None
    ) -> None:
        assert tls is None, "a simulated network is plain text"
        near = await self._network.open(self._host, self._owner, self._hosts(host), port)
        near.attach(protocol)
