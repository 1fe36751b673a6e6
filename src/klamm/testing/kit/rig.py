"""A node under test, on its loop: started and stopped, emptied, and whatever else a test does to it.

Every public method is a coroutine, and takes and gives what can be pickled: the same rig serves in a thread of the test
and in a child process (carriers.py).
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field

from klamm.base.errors import ApiError, code_of
from klamm.base.settings.broker import Settings
from klamm.base.settings.load import load
from klamm.protocol.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from klamm.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from klamm.server.loops.housekeeping import Housekeeping
from klamm.server.network.connection import Connection
from klamm.server.node import Node
from klamm.server.storage import Paths, format_directories
from klamm.server.world.memory import memory_directory
from klamm.server.world.ports import World
from klamm.testing.kit.clock import MovedClock, MovedLoop
from klamm.testing.kit.cluster.cuts import Cuts
from klamm.testing.kit.disk import KitDisk
from klamm.testing.kit.faults.rules import ON_DISK, Armed, Rule
from klamm.testing.kit.faults.switchboard import Switchboard
from klamm.testing.kit.notes import Notes
from klamm.testing.kit.topics import NewTopic
from klamm.testing.kit.transcript.exchange import Transcript
from klamm.testing.kit.transcript.recorder import Line, Recorder
from klamm.testing.kit.world import kit_world

# Beside one that asks who is there.
OWN_LISTENER = "KIT"
_TURNS = 50
_TIMEOUT_MS = 30_000
_NEVER_MS = 10 * 365 * 24 * 3_600_000
# Where a test should not wait for what a production cluster is right to wait for.
_SETTINGS: Mapping[str, object] = {
    "group.initial.rebalance.delay.ms": 0,
    "offsets.topic.num.partitions": 1,
    "transaction.state.log.num.partitions": 1,
    "log.segment.delete.delay.ms": 1000,
    # A clock that was moved should end no connection: the client's was not.
    "connections.max.idle.ms": _NEVER_MS,
    # It shares its cores with the test.
    "klamm.busy.poll.us": 0,
}


@dataclass(frozen=True, slots=True)
class Plan:
    """What a broker is to be. Settings have Kafka's names."""

    topics: Sequence[NewTopic] = ()
    settings: Mapping[str, str] = field(default_factory=dict)
    host: str = "127.0.0.1"
    port: int = 0
    # A directory that stays; else one that goes with the broker, in memory or on disk.
    data: str | None = None
    in_memory: bool = True
    # Of a node among others, whose directory must be formatted; a broker alone does that by itself.
    cluster_id: str | None = None
    # Of the listener for clients. If that asks who is there, the kit has one of its own.
    protocol: str = "PLAINTEXT"


class Rig:
    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._clock = MovedClock()
        self._disk = KitDisk()
        self._directories = ExitStack()
        self._data = ""
        self._port = plan.port
        self._own_port = 0
        self._node: Node | None = None
        self._cuts = Cuts()
        self._notes = Notes()
        self._recorder = Recorder()
        self._switchboard = Switchboard(lambda: self.node.broker, self._recorder.struck)
        self._faults: dict[int, Armed] = {}

    @property
    def node(self) -> Node:
        assert self._node is not None, "the broker does not run"
        return self._node

    # Coming and going.

    async def start(self) -> str:
        """Gives the address for clients."""
        self._notes.begin()
        if not self._data:
            self._data = self._plan.data or self._directory()
        try:
            address = await self._start_node()
            await self._create(self._plan.topics)
        except BaseException:
            await self.close()
            raise
        return address

    async def _start_node(self) -> str:
        texts = {
            **_SETTINGS,
            "listeners": self._listeners(),
            "log.dirs": self._data,
            **self._plan.settings,
        }
        settings = load(overrides=[f"{name}={value}" for name, value in texts.items()])
        world = kit_world(self._clock, self._disk, self, self._cuts)
        if self._plan.cluster_id is not None:
            _format(world, settings, self._plan.cluster_id)
        node = Node(settings, world)
        await node.start()
        self._node = node
        self._port = int(node.ready.address.rpartition(":")[2])
        return node.ready.address

    def _listeners(self) -> str:
        protocol, host = self._plan.protocol, self._plan.host
        ours = f",{OWN_LISTENER}://{host}:{self._own_port}" if protocol != "PLAINTEXT" else ""
        return f"{protocol}://{host}:{self._port}{ours}"

    async def own_address(self) -> str:
        """For the kit itself."""
        broker = self.node.broker
        registered = broker.image.brokers[broker.node_id]
        own = registered.endpoint(OWN_LISTENER)
        if own is None:
            return self.node.ready.address
        self._own_port = own.port
        return f"{own.host}:{own.port}"

    async def stop_node(self) -> None:
        """A clean stop; the data stays."""
        if self._node is not None:
            node, self._node = self._node, None
            try:
                await node.stop()
            finally:
                self._disk.close_all()

    async def start_node(self) -> str:
        """On the port and with the data that it had."""
        return await self._start_node()

    async def close(self) -> None:
        """For good: the data goes, too, unless the test has named its place."""
        try:
            await self.stop_node()
        finally:
            self._notes.end()
            self._directories.close()

    def _directory(self) -> str:
        if self._plan.in_memory:
            return self._directories.enter_context(memory_directory())
        return self._directories.enter_context(tempfile.TemporaryDirectory(prefix="klamm-test-"))

    # Who comes to it.

    def opened(self, connection: Connection) -> Line:
        self._switchboard.opened(connection)
        return self._recorder.opened(connection)

    def asks(self, connection: Connection) -> None:
        self._switchboard.asks(connection)

    def closed(self, connection: Connection) -> None:
        self._switchboard.closed(connection)
        self._recorder.closed(connection)

    async def transcript(self) -> Transcript:
        return self._recorder.transcript(self.node.broker.image)

    async def log(self) -> str:
        return self._notes.text()

    # Time.

    async def now(self) -> int:
        return self._clock.wall()

    async def advance(self, ms: int) -> int:
        """Back when what became due is done; gives the new time."""
        loop = asyncio.get_running_loop()
        assert isinstance(loop, MovedLoop)
        self._clock.move(ms)
        loop.move(ms / 1000)
        await _breathe()
        keeper = Housekeeping(self.node.broker)
        await keeper.retain()
        # What retention leaves until it is synced goes then.
        await keeper.checkpoint_recovery_points()
        await keeper.retain()
        await keeper.expire_producers()
        await keeper.remove_deleted()
        return self._clock.wall()

    async def clean(self) -> int:
        """Compact all that may be; how many partitions were."""
        now, count = self._clock.wall(), 0
        for partition in list(self.node.broker.replicas):
            if "compact" in partition.settings.cleanup_policy and not partition.is_offline:
                partition.log.roll(now)
                count += await self.node.cleaner.clean_now(partition)
        return count

    # What goes wrong.

    async def cut(self, ports: Sequence[int]) -> None:
        """The ports of other nodes that this one does not reach from now on."""
        self._cuts.set(ports)

    async def add_fault(self, rule: Rule) -> int:
        """Gives its number."""
        armed = Armed(rule)
        (self._disk.faults if rule.action in ON_DISK else self._switchboard).add(armed)
        number = len(self._faults)
        self._faults[number] = armed
        return number

    async def remove_fault(self, number: int) -> None:
        armed = self._faults[number]
        (self._disk.faults if armed.rule.action in ON_DISK else self._switchboard).remove(armed)

    async def fault_count(self, number: int) -> int:
        return self._faults[number].count

    async def fault_counts(self) -> list[tuple[str, int]]:
        """All there ever were, in their order."""
        return [(str(each.rule), each.count) for each in self._faults.values()]

    async def clear_faults(self) -> None:
        for number in self._faults:
            await self.remove_fault(number)

    # What is in it.

    async def reset(self) -> None:
        """As after the start: no topics but those of the beginning, no groups, no transactions, no time that was moved."""
        self._clock.set_right()
        await self.clear_faults()
        self._faults.clear()
        self._recorder.forget()
        self._notes.forget()
        names = list(self.node.broker.image.topics_by_name)
        if names:
            request = DeleteTopicsRequest(
                topics=[DeleteTopicState(name=name) for name in names], timeout_ms=_TIMEOUT_MS
            )
            answer = await self.node.broker.controller.ask(request)
            for gone in answer.responses:
                _check(gone.error_code, gone.error_message)
        await self._create(self._plan.topics)

    async def _create(self, topics: Sequence[NewTopic]) -> None:
        if not topics:
            return
        request = CreateTopicsRequest(
            topics=[
                CreatableTopic(
                    name=topic.name,
                    num_partitions=topic.partitions,
                    replication_factor=topic.replicas,
                    configs=[
                        CreatableTopicConfig(name=name, value=value)
                        for name, value in topic.configs.items()
                    ],
                )
                for topic in topics
            ],
            timeout_ms=_TIMEOUT_MS,
        )
        answer = await self.node.broker.controller.ask(request)
        for made in answer.topics:
            _check(made.error_code, made.error_message)
        # The last logs are opened in the loop's next turns.
        await asyncio.sleep(0)


def _format(world: World, settings: Settings, cluster_id: str) -> None:
    paths = Paths.of(settings)
    if not world.disk.exists(f"{paths.metadata}/meta.properties"):
        format_directories(
            world.disk,
            paths,
            cluster_id=cluster_id,
            node_id=settings.node.node_id,
            chance=world.chance,
            now=world.clock.wall(),
        )


async def _breathe() -> None:
    """Timers that are due ring, and what they begin goes on for a while."""
    for _ in range(_TURNS):
        await asyncio.sleep(0)


def _check(code: int, message: str | None) -> None:
    if code:
        raise ApiError(code_of(code), message)
