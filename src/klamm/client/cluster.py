"""The client's view of a cluster and its connections: who leads, who coordinates, and how to ask them.

Producers, consumers and Admin share it. It decides nothing about records; it retries what only finding the right broker
takes, and hands every other error on.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Protocol, TypeVar

from klamm.base.errors import ApiError, ErrorCode
from klamm.base.ids import TopicPartition
from klamm.client.backoff import Backoff
from klamm.client.connection import Connection, connect
from klamm.client.environment import Address, Environment
from klamm.client.errors import ConnectionLost, TimedOut, check
from klamm.client.metadata import ClusterView, Node, PartitionView, TopicView
from klamm.client.security import Security
from klamm.protocol.messages.find_coordinator import (
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)
from klamm.protocol.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
)

T = TypeVar("T")

# Codes after which the coordinator must be looked up anew before the next try.
COORDINATOR_MOVED = frozenset(
    {
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NETWORK_EXCEPTION,
        ErrorCode.REQUEST_TIMED_OUT,
    }
)


# Codes that may be true only for a moment, but are the answer if one asks about a thing by its name.
NO_SUCH_THING = frozenset({ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.UNKNOWN_TOPIC_ID})


class CoordinatorKind(IntEnum):
    GROUP = 0
    TRANSACTION = 1


class LeaderHint(Protocol):
    """Produce and Fetch each have a struct of this shape in their answers."""

    leader_id: int
    leader_epoch: int


class Endpoint(Protocol):
    node_id: int
    host: str
    port: int
    rack: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterSettings:
    client_id: str = "klamm"
    request_timeout_ms: int = 30_000
    connect_timeout_ms: int = 10_000
    # How long a call of Admin, or one that looks something up, tries again before it gives up.
    api_timeout_ms: int = 60_000
    retry_backoff: Backoff = field(default_factory=Backoff)
    metadata_max_age_ms: int = 300_000
    # Whether asking about a topic may create it, where the broker allows that at all.
    auto_create_topics: bool = False
    security: Security = field(default_factory=Security)


class Cluster:
    """Made before there is a loop; the first request opens the first connection. `close` ends all of them."""

    def __init__(
        self,
        bootstrap: str | Iterable[str],
        settings: ClusterSettings | None = None,
        environment: Environment | None = None,
    ) -> None:
        texts = bootstrap.split(",") if isinstance(bootstrap, str) else bootstrap
        self._bootstrap = [Address.parse(text) for text in texts]
        self.settings = settings or ClusterSettings()
        self.environment = environment or Environment()
        self.view = ClusterView()
        self._connections: dict[tuple[Address, str], Connection] = {}
        self._opening: dict[tuple[Address, str], asyncio.Lock] = {}
        self._coordinators: dict[tuple[CoordinatorKind, str], int] = {}
        self._is_closed = False

    def close(self) -> None:
        self._is_closed = True
        for connection in self._connections.values():
            connection.close()
        self._connections.clear()

    async def settle(self) -> None:
        """Wait until brokers have worked on all that was sent without asking for an answer.

        A broker answers in order, so the answer to any later question will do.
        """
        for connection in list(self._connections.values()):
            if connection.is_open:
                with suppress(ApiError):
                    await connection.negotiate(self.settings.request_timeout_ms)

    # Asking.

    async def ask(
        self,
        node_id: int,
        request: object,
        answer: type[T],
        *,
        lane: str = "main",
        timeout_ms: int | None = None,
        at_most: int | None = None,
    ) -> T:
        """Ask one broker, once. Lanes are connections of their own: a fetch that waits holds up its own lane only."""
        connection = await self.connection(node_id, lane)
        return await connection.ask(
            request,
            answer,
            timeout_ms=timeout_ms or self.settings.request_timeout_ms,
            at_most=at_most,
        )

    async def ask_any(self, request: object, answer: type[T]) -> T:
        """Ask whichever broker can be reached: first those known, at last those of the beginning."""
        known = [node.address for node in self.view.nodes.values()]
        self.environment.rng.shuffle(known)
        failure: ApiError = ConnectionLost("there is no broker to ask")
        # Open connections first: they cost nothing and work.
        known.sort(key=lambda address: self.open_connection(address) is None)
        for address in dict.fromkeys([*known, *self._bootstrap]):
            try:
                connection = await self._connection(address, "main")
                return await connection.ask(
                    request, answer, timeout_ms=self.settings.request_timeout_ms
                )
            except (ConnectionLost, TimedOut) as e:
                failure = e
        raise failure

    async def connection(self, node_id: int, lane: str = "main") -> Connection:
        node = self.view.nodes.get(node_id)
        if node is None:
            raise ConnectionLost(f"broker {node_id} is not known")
        return await self._connection(node.address, lane)

    def open_connection(self, place: Address | int, lane: str = "main") -> Connection | None:
        """The connection if it is there and can be used at once."""
        if isinstance(place, int):
            node = self.view.nodes.get(place)
            if node is None:
                return None
            place = node.address
        connection = self._connections.get((place, lane))
        return connection if connection is not None and connection.is_open else None

    async def _connection(self, address: Address, lane: str) -> Connection:
        key = (address, lane)
        async with self._opening.setdefault(key, asyncio.Lock()):
            if self._is_closed:
                raise ConnectionLost("the client is closed")
            known = self.open_connection(address, lane)
            if known is not None:
                return known
            made = await connect(
                address,
                self.environment,
                client_id=self.settings.client_id,
                timeout_ms=self.settings.connect_timeout_ms,
                security=self.settings.security,
            )
            if self._is_closed:
                made.close()
                raise ConnectionLost("the client is closed")
            self._connections[key] = made
            return made

    # Trying again.

    async def persist(
        self,
        attempt: Callable[[], Awaitable[T]],
        *,
        within_ms: int | None = None,
        also: Collection[ErrorCode] = (),
        never: Collection[ErrorCode] = (),
    ) -> T:
        """Try until it works, fails for good, or time is up.

        What is worth another try is in the table of errors; `also` and `never` are exceptions from it.
        """
        loop = asyncio.get_running_loop()
        deadline = loop.time() + (within_ms or self.settings.api_timeout_ms) / 1000
        tries = 0
        while True:
            try:
                async with asyncio.timeout_at(deadline):
                    return await attempt()
            except TimeoutError:
                raise TimedOut("there was no answer in the time given") from None
            except ApiError as e:
                delay = self.retry_delay_ms(tries) / 1000
                is_hopeless = e.code in never or not (e.code.retriable or e.code in also)
                if is_hopeless or self._is_closed or loop.time() + delay >= deadline:
                    raise
            tries += 1
            await asyncio.sleep(delay)

    def retry_delay_ms(self, attempt: int) -> float:
        return self.settings.retry_backoff.delay_ms(attempt, self.environment.rng)

    # Metadata.

    async def refresh(self, topics: Collection[str] | None = ()) -> None:
        """Learn of these topics, of all (None), or only of the brokers."""
        request = MetadataRequest(
            topics=None
            if topics is None
            else [MetadataRequestTopic(name=t) for t in sorted(topics)],
            allow_auto_topic_creation=self.settings.auto_create_topics,
        )
        answer = await self.ask_any(request, MetadataResponse)
        if answer.error_code == ErrorCode.REBOOTSTRAP_REQUIRED:
            self.view = ClusterView()
        check(answer.error_code)
        self.view = self.view.absorb(answer, is_complete=topics is None)

    def learn_leader(
        self, partition: TopicPartition, hint: LeaderHint, endpoints: Iterable[Endpoint]
    ) -> bool:
        """Take a hint of who leads. False: it says nothing new, so metadata must be asked for."""
        nodes = [Node(e.node_id, Address(e.host, e.port), e.rack) for e in endpoints]
        before = self.view
        self.view = before.with_leader(partition, hint.leader_id, hint.leader_epoch, nodes)
        return self.view is not before

    async def refresh_quietly(self, topics: Collection[str]) -> None:
        """When a failure is not worth more than being tried again later."""
        with suppress(ApiError):
            await self.refresh(topics)

    async def topic(self, name: str, *, within_ms: int | None = None) -> TopicView:
        """The topic with all its partitions; asked for if it is not known yet."""
        known = self.view.topics.get(name)
        if known is not None:
            return known

        async def look_up() -> TopicView:
            await self.refresh([name])
            found = self.view.topics.get(name)
            if found is None:
                code = self.view.errors.get(name, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
                raise ApiError(code, f"{name}: {code.text}")
            return found

        return await self.persist(look_up, within_ms=within_ms)

    async def leader(self, partition: TopicPartition) -> tuple[int, PartitionView]:
        """Who leads the partition now; one look. LEADER_NOT_AVAILABLE is worth another."""
        view = self.view.partition(partition)
        if view is None or view.leader is None or view.leader not in self.view.nodes:
            await self.refresh([partition.topic])
            view = self.view.partition(partition)
        if view is None:
            code = self.view.errors.get(partition.topic, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
            raise ApiError(code, f"{partition}: {code.text}")
        if view.leader is None or view.leader not in self.view.nodes:
            raise ApiError(ErrorCode.LEADER_NOT_AVAILABLE, f"{partition} has no leader")
        return view.leader, view

    async def any_node(self) -> int:
        if not self.view.nodes:
            await self.refresh()
        return self.environment.rng.choice(sorted(self.view.nodes))

    # Coordinators.

    async def coordinator(self, kind: CoordinatorKind, key: str) -> int:
        """The broker that answers for the group or transactional id; one look."""
        known = self._coordinators.get((kind, key))
        if known is not None and known in self.view.nodes:
            return known
        request = FindCoordinatorRequest(key=key, key_type=kind, coordinator_keys=[key])
        answer = await self.ask_any(request, FindCoordinatorResponse)
        if answer.coordinators:
            found = answer.coordinators[0]
            check(found.error_code, found.error_message)
            node_id = found.node_id
        else:
            check(answer.error_code, answer.error_message)
            node_id = answer.node_id
        if node_id not in self.view.nodes:
            await self.refresh()
        self._coordinators[kind, key] = node_id
        return node_id

    def forget_coordinator(self, kind: CoordinatorKind, key: str) -> None:
        self._coordinators.pop((kind, key), None)

    def hang_up(self, kind: CoordinatorKind, key: str) -> None:
        """Close the connection to a coordinator, whatever waits on it; the next question opens a new one."""
        node_id = self._coordinators.get((kind, key))
        connection = None if node_id is None else self.open_connection(node_id, "coordinator")
        if connection is not None:
            connection.close()

    async def ask_coordinator(
        self,
        kind: CoordinatorKind,
        key: str,
        request: object,
        answer: type[T],
        *,
        timeout_ms: int | None = None,
        at_most: int | None = None,
    ) -> T:
        """Ask the coordinator, once. The caller reads the error code, and calls `forget_coordinator` if it moved."""
        node_id = await self.coordinator(kind, key)
        try:
            return await self.ask(
                node_id,
                request,
                answer,
                lane="coordinator",
                timeout_ms=timeout_ms,
                at_most=at_most,
            )
        except (ConnectionLost, TimedOut):
            self.forget_coordinator(kind, key)
            raise

    def judge(self, kind: CoordinatorKind, key: str, code: int, message: str | None = None) -> None:
        """Raise what a coordinator's answer says, having forgotten a coordinator that is none."""
        if code in COORDINATOR_MOVED:
            self.forget_coordinator(kind, key)
        check(code, message)
