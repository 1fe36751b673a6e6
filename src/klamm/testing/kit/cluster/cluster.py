"""Cluster: several brokers inside a test, each in a process of its own, so that it can really be killed."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from random import Random
from typing import Self, TypeVar

from klamm.base.errors import ApiError
from klamm.client import Admin
from klamm.server.world.memory import memory_directory
from klamm.testing.kit.client import administer
from klamm.testing.kit.cluster.member import Member
from klamm.testing.kit.kafka import Kafka
from klamm.testing.kit.topics import Topics, new_topics, texts
from klamm.testing.kit.world import free_ports

T = TypeVar("T")
_HOST = "127.0.0.1"
_LOOK_AGAIN_SECONDS = 0.02
# Where a test should not wait as long as production is right to.
_SETTINGS: Mapping[str, object] = {
    "broker.session.timeout.ms": 3000,
    "broker.heartbeat.interval.ms": 300,
    "replica.lag.time.max.ms": 3000,
    "replica.fetch.wait.max.ms": 200,
    "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
    "controller.listener.names": "CONTROLLER",
    "process.roles": "broker,controller",
}


class Cluster(Kafka):
    """Brokers 1, 2, 3, each of them a controller, too.

    with Cluster(brokers=3, topics={"orders": 6}) as cluster:
        cluster.kill(cluster.leader("orders", 0))
        cluster.wait_healthy()
    """

    def __init__(
        self,
        topics: Topics = (),
        *,
        brokers: int = 3,
        settings: Mapping[str, object] | None = None,
    ) -> None:
        if brokers < 1:
            raise ValueError(f"a cluster of {brokers} brokers")
        self._topics = new_topics(topics)
        self._settings = {**_SETTINGS, **_replication(brokers), **(settings or {})}
        self._directories = ExitStack()
        self._ids = range(1, brokers + 1)
        self._members: dict[int, Member] = {}

    # Coming and going.

    def start(self) -> Self:
        if self._members:
            raise RuntimeError("the cluster runs already")
        try:
            self._make_members()
            _side_by_side(self._members.values(), Member.start)
            for topic in self._topics:
                self._create(topic)
            self.wait_healthy()
        except BaseException:
            self.stop()
            raise
        return self

    def stop(self) -> None:
        """At once: what they had goes with them."""
        for member in self._members.values():
            member.kill()
        self._members = {}
        self._directories.close()

    def _make_members(self) -> None:
        data = self._directories.enter_context(memory_directory())
        ports = free_ports(_HOST, 2 * len(self._ids))
        clients, controllers = ports[::2], ports[1::2]
        cluster_id = _cluster_id()
        common = {
            **self._settings,
            "controller.quorum.voters": ",".join(
                f"{number}@{_HOST}:{port}"
                for number, port in zip(self._ids, controllers, strict=True)
            ),
        }
        for number, client, controller in zip(self._ids, clients, controllers, strict=True):
            listeners = f"PLAINTEXT://{_HOST}:{client},CONTROLLER://{_HOST}:{controller}"
            self._members[number] = Member(
                number,
                settings=texts({**common, "node.id": number, "listeners": listeners}),
                data=os.path.join(data, str(number)),
                ports=(client, controller),
                cluster_id=cluster_id,
            )

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    async def __aenter__(self) -> Self:
        return await asyncio.to_thread(self.start)

    async def __aexit__(self, *_: object) -> None:
        await asyncio.to_thread(self.stop)

    # Who is in it.

    @property
    def bootstrap_servers(self) -> str:
        return ",".join(each.bootstrap_servers for each in self._all())

    @property
    def brokers(self) -> list[int]:
        """Their numbers."""
        return list(self._ids)

    @property
    def running(self) -> list[int]:
        return [each.number for each in self._all() if each.is_running]

    def broker(self, number: int) -> Member:
        """One of them: its faults, its transcript, its process."""
        self._all()
        if number not in self._members:
            raise ValueError(f"there is no broker {number}; there are {self.brokers}")
        return self._members[number]

    def leader(self, topic: str, partition: int = 0) -> int:
        """The number of the broker that leads it; waits while there is none."""
        name = self._of(topic)
        return self._until(
            lambda: administer(self._reachable, lambda admin: _leader(admin, name, partition)),
            f"{name}-{partition} has no leader",
        )

    def isr(self, topic: str, partition: int = 0) -> set[int]:
        """The brokers whose replicas are in sync."""
        name = self._of(topic)

        async def ask(admin: Admin) -> set[int]:
            return set((await admin.topics.describe(name)).partitions[partition].isr)

        return administer(self._reachable, ask)

    # What happens to it.

    def kill(self, number: int) -> None:
        """As kill -9 does."""
        self.broker(number).kill()

    def stop_broker(self, number: int) -> None:
        """It hands over and stops."""
        self.broker(number).stop()

    def restart(self, number: int) -> None:
        """Stopped, if it runs, and started on its ports with its data."""
        self.broker(number).restart()

    def cut(self, *sides: Collection[int]) -> None:
        """Brokers of different sides do not reach each other: `cut({1}, {2, 3})`. Clients reach all of them."""
        side_of = {number: index for index, side in enumerate(sides) for number in side}
        for number in side_of:
            self.broker(number)
        for member in self._members.values():
            mine = side_of.get(member.number)
            away = [
                port
                for other in self._members.values()
                if mine is not None and side_of.get(other.number, mine) != mine
                for port in other.ports
            ]
            member.cut(away)

    def heal(self) -> None:
        """The network is whole again."""
        for member in self._all():
            member.cut(())

    def wait_healthy(self, seconds: float = 60.0) -> None:
        """All that run are registered, every partition has a leader, and all replicas on running brokers are in sync."""
        running = set(self.running)

        def ask() -> str | None:
            return administer(self._reachable, lambda admin: _trouble(admin, running)) or None

        deadline = time.monotonic() + seconds
        while True:
            try:
                trouble = ask()
            except ApiError as e:
                trouble = str(e)
            if trouble is None:
                return
            if time.monotonic() > deadline:
                raise AssertionError(f"the cluster is not well after {seconds:g} s: {trouble}")
            time.sleep(_LOOK_AGAIN_SECONDS)

    # Inside.

    def _all(self) -> list[Member]:
        if not self._members:
            raise RuntimeError(
                "the cluster does not run: use `with Cluster() as cluster`, or start()"
            )
        return list(self._members.values())

    @property
    def _reachable(self) -> str:
        """Those that can know how the cluster is: one that is cut off from most others cannot."""
        running = [each for each in self._all() if each.is_running and not each.is_paused]
        informed = [each for each in running if each.away < len(self._ids) / 2]
        return ",".join(each.bootstrap_servers for each in informed or running)

    def _until(self, ask: Callable[[], T | None], problem: str, seconds: float = 60.0) -> T:
        deadline = time.monotonic() + seconds
        while (found := ask()) is None:
            if time.monotonic() > deadline:
                raise AssertionError(f"{problem} after {seconds:g} s")
            time.sleep(_LOOK_AGAIN_SECONDS)
        return found


def _replication(brokers: int) -> dict[str, object]:
    return {
        "default.replication.factor": min(3, brokers),
        "offsets.topic.replication.factor": min(3, brokers),
        "transaction.state.log.replication.factor": min(3, brokers),
        "transaction.state.log.min.isr": min(2, brokers),
    }


def _cluster_id() -> str:
    import base64

    return base64.urlsafe_b64encode(Random().randbytes(16)).decode().rstrip("=")


def _side_by_side(members: Iterable[Member], work: Callable[[Member], object]) -> None:
    """Each waits for the others: a node is ready when the quorum has a majority."""
    every = list(members)
    with ThreadPoolExecutor(max_workers=len(every)) as threads:
        for done in [threads.submit(work, member) for member in every]:
            done.result()


async def _leader(admin: Admin, topic: str, partition: int) -> int | None:
    view = await admin.topics.describe(topic)
    return view.partitions[partition].leader


async def _trouble(admin: Admin, running: set[int]) -> str:
    """In words; "" if all is well."""
    known = {each.node_id for each in (await admin.describe_cluster()).nodes}
    if not running <= known:
        return f"of brokers {sorted(running)} the cluster knows {sorted(known)}"
    for topic in await admin.topics.list(internal=True):
        for index, partition in sorted(topic.partitions.items()):
            if partition.leader not in running:
                return f"{topic.name}-{index} has no leader that runs"
            missing = (set(partition.replicas) & running) - set(partition.isr)
            if missing:
                return f"{topic.name}-{index} is not in sync on {sorted(missing)}"
    return ""
