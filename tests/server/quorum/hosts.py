"""The quorum's part of a node on simulated machines: log, raft, images and the controllers' listener, and nothing else.

    quorum = SimulatedQuorum(Simulation(1), voters=3)
    await quorum.start(1)

Everything goes over the simulated network in Kafka's messages.
"""

import asyncio
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from klamm.base.ids import Uuid
from klamm.base.settings.broker import Settings
from klamm.base.settings.load import load
from klamm.metadata import framing
from klamm.metadata.image import ConfigKey, Endpoint
from klamm.metadata.records.configs import ConfigRecord
from klamm.raft.messages import Address
from klamm.raft.node import RaftNode
from klamm.raft.voters import Voter, VoterSet
from klamm.server.controller_context import ControllerContext
from klamm.server.dispatch import Dispatcher
from klamm.server.loops.metadata_follower import MetadataFollower
from klamm.server.loops.metadata_log import MetadataLog
from klamm.server.loops.raft_driver import RaftDriver
from klamm.server.network.limits import limits_of
from klamm.server.network.listener import Listener
from klamm.server.network.shared import Shared
from klamm.server.peers.channel import PeerChannel
from klamm.server.quorum.assembly import connect, make_raft
from klamm.server.storage import DataDirectories, Paths, format_directories
from klamm.server.world.ports import World
from klamm.testing.world import SimulatedMachine, Simulation

CLUSTER_ID = "c2ltdWxhdGVkLWNsdXN0ZQ"
_PORT = 9093
_LEVEL = 30
_TOPIC = 2


class QuorumHost:
    """One life of a node; `failure` is what it could not survive."""

    def __init__(self, world: World, settings: Settings) -> None:
        self._world = world
        self._settings = settings
        self.failure: OSError | None = None
        self.published = 0
        self.store: MetadataLog
        self.driver: RaftDriver
        self.follower: MetadataFollower

    @property
    def raft(self) -> RaftNode:
        return self.driver.raft

    @property
    def values(self) -> dict[str, str]:
        """What the records that were committed say."""
        return dict(self.follower.image.configs.get(ConfigKey(_TOPIC, "t"), {}))

    async def start(self) -> None:
        world, settings = self._world, self._settings
        directories = DataDirectories.open(world, settings)
        shared = Shared(limits_of(settings.network, world.machine), world.turns)
        listeners = [
            Listener(
                each.name,
                each.host,
                each.port,
                shared=shared,
                network=world.network,
                is_controller=True,
            )
            for each in settings.listeners.for_controllers()
        ]
        endpoints = [Endpoint(each.name, each.host, each.port) for each in listeners]
        store = self.store = MetadataLog(
            world.disk, directories.metadata.path, settings.quorum, world.clock.wall()
        )
        raft = make_raft(world, settings, directories, store, endpoints)
        self.driver = RaftDriver(
            world,
            store,
            raft,
            on_commit=lambda end: self.follower.committed(end),
            on_role=lambda: None,
            on_failure=self._failed,
        )
        self.follower = MetadataFollower(
            world,
            store,
            settings.quorum,
            image=store.load_snapshot(directories.cluster_id),
            voters_at=raft.replica.history.records_at,
            on_published=self._published,
            on_failure=self.driver.fail,
        )
        connect(world, settings, directories, self.driver, self.follower.restart)
        quorum: Any = SimpleNamespace(
            raft=self.driver,
            controller=None,
            driver=None,
            node_id=raft.me.id,
            kraft_version=0,
            image=self.follower.image,
        )
        context = ControllerContext(settings, world=world, quorum=quorum)
        for listener in listeners:
            listener.open()
            await listener.serve(Dispatcher(context).dispatch)
        self.driver.start()

    def _failed(self, error: OSError) -> None:
        self.failure = error

    def _published(self, end_offset: int) -> None:
        self.published = end_offset


class SimulatedQuorum:
    """Voters have the first numbers, observers those behind.

    `is_dynamic`: the voters stand in the log, and all observers but the last are controllers that may join them.
    """

    def __init__(
        self,
        simulation: Simulation,
        *,
        voters: int = 3,
        observers: int = 0,
        is_dynamic: bool = False,
        **settings: str,
    ) -> None:
        self.simulation = simulation
        self._voters = voters
        self._initial: VoterSet | None = None
        if is_dynamic:
            self._initial = VoterSet(tuple(self.voter(each) for each in range(1, voters + 1)))
        self.ids = range(1, voters + observers + 1)
        self.hosts: dict[int, QuorumHost] = {}
        self._texts = {name.replace("_", "."): text for name, text in settings.items()}
        self._written = 0
        self.acknowledged: list[str] = []
        # Where the controllers listen, if not where all do.
        self.ports: dict[int, int] = {}

    def voter(self, node_id: int) -> Voter:
        directory = Uuid(node_id.to_bytes(16, "big"))
        return Voter(node_id, directory, (("CONTROLLER", Address(f"node{node_id}", _PORT)),))

    def machine(self, node_id: int) -> SimulatedMachine:
        return self.simulation.machine(f"node{node_id}")

    def settings_of(self, node_id: int) -> Settings:
        voters = [each for each in self.ids if each <= self._voters]
        is_voter = node_id <= self._voters
        if self._initial is not None:
            is_voter = is_voter or node_id != self.ids[-1]
            key = "controller.quorum.bootstrap.servers"
            named = [f"node{each}:{_PORT}" for each in voters]
        else:
            key = "controller.quorum.voters"
            named = [f"{each}@node{each}:{_PORT}" for each in voters]
        texts = {
            "process.roles": "controller" if is_voter else "broker",
            "node.id": str(node_id),
            key: ",".join(named),
            "controller.listener.names": "CONTROLLER",
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
            "listeners": f"CONTROLLER://node{node_id}:{self.ports.get(node_id, _PORT)}"
            if is_voter
            else f"PLAINTEXT://node{node_id}:9092",
            "log.dirs": "/data",
            **self._texts,
        }
        return load(overrides=[f"{name}={text}" for name, text in texts.items()])

    # Coming and going

    async def start(self, *ids: int) -> None:
        for node_id in ids or self.ids:
            machine, settings = self.machine(node_id), self.settings_of(node_id)
            world = machine.boot()
            if not world.disk.exists("/data/meta.properties"):
                format_directories(
                    world.disk,
                    Paths.of(settings),
                    cluster_id=CLUSTER_ID,
                    node_id=node_id,
                    chance=world.chance,
                    now=world.clock.wall(),
                    voters=self._initial if node_id <= self._voters else None,
                )
            host = self.hosts[node_id] = QuorumHost(world, settings)
            assert machine.process is not None
            await self.simulation.loop.spawn(machine.process, host.start())

    def kill(self, node_id: int) -> None:
        self.machine(node_id).kill()
        self.hosts.pop(node_id)

    def power_off(self, node_id: int) -> None:
        """What was not synced may be lost."""
        self.machine(node_id).power_off()
        self.hosts.pop(node_id)

    def try_to_write(self, node_id: int) -> None:
        """Without waiting; `acknowledged` has it when it is committed."""
        host, process = self.hosts[node_id], self.machine(node_id).process
        assert process is not None

        async def propose() -> None:
            if not host.raft.is_leader or host.failure is not None:
                return
            self._written += 1
            name, epoch = f"k{self._written}", host.raft.epoch
            end = host.driver.propose([_record(name)])
            while host.published < end and host.raft.epoch == epoch and host.raft.is_leader:
                await asyncio.sleep(0.01)
            if host.published >= end and host.raft.epoch == epoch and host.raft.is_leader:
                self.acknowledged.append(name)

        self.simulation.loop.spawn(process, propose())

    async def ask_leader(self, request: object) -> Any:
        """Over the network, as a tool does."""
        assert self.leader is not None
        client = self.simulation.machine("client")
        world = client.boot() if client.process is None else self._client_world
        self._client_world = world
        channel = PeerChannel(world, f"node{self.leader.raft.me.id}", _PORT, client_id="tool")
        assert client.process is not None
        answer = await self.simulation.loop.spawn(client.process, channel.ask(request))
        channel.close()
        return answer

    # What it is at

    @property
    def leader(self) -> QuorumHost | None:
        leading = [each for each in self.hosts.values() if each.raft.is_leader]
        return max(leading, key=lambda each: each.raft.epoch, default=None)

    async def write(self, count: int = 1) -> None:
        """Returns when all of them are committed."""
        await self.until(lambda: self.leader is not None)
        leader = self.leader
        assert leader is not None
        process = self.machine(leader.raft.me.id).process
        assert process is not None

        async def propose() -> int:
            end = 0
            for _ in range(count):
                self._written += 1
                end = leader.driver.propose([_record(f"k{self._written}")])
            return end

        end = await self.simulation.loop.spawn(process, propose())
        await self.until(lambda: leader.published >= end)

    @property
    def written(self) -> dict[str, str]:
        return {f"k{number}": "v" for number in range(1, self._written + 1)}

    def all_have_all(self) -> bool:
        return all(host.values == self.written for host in self.hosts.values())

    async def passes(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    async def until(self, condition: Callable[[], bool], seconds: float = 60.0) -> float:
        """Returns after how many seconds it holds."""
        began = self.simulation.loop.time()
        async with asyncio.timeout(seconds):
            while not condition():
                await asyncio.sleep(0.005)
        return self.simulation.loop.time() - began


def _record(name: str) -> bytes:
    record = ConfigRecord(resource_type=_TOPIC, resource_name="t", name=name, value="v")
    return framing.encode(record, _LEVEL)
