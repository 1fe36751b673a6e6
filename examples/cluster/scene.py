"""Where a story plays: brokers that can be killed, put to sleep and woken, and what clients see of them meanwhile."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from signal import SIGCONT, SIGKILL, SIGSTOP
from tempfile import TemporaryDirectory

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient, NewTopic

from klamm.cli.cluster.local import LocalCluster, LocalNode
from klamm.cli.cluster.ports import free_ports

# Far more than anything takes: past it something is broken.
PATIENCE_SECONDS = 90.0
_LOOK_SECONDS = 0.02
_ANSWER_SECONDS = 2.0


class Broken(Exception):
    """What the story promises did not happen."""


def promise(kept: bool, what: str) -> None:
    if not kept:
        raise Broken(what)


@dataclass(frozen=True, slots=True)
class State:
    """Of a partition: who leads it, if anybody, and which replicas have all that was acknowledged."""

    leader: int | None
    in_sync: tuple[int, ...]

    def __str__(self) -> str:
        who = "nobody leads" if self.leader is None else f"broker {self.leader} leads"
        return f"{who}, in sync: {', '.join(map(str, self.in_sync)) or 'nobody'}"


@dataclass(slots=True)
class Scene:
    cluster: LocalCluster
    _began: float = field(default_factory=time.monotonic)
    _asleep: set[int] = field(default_factory=set)

    def tell(self, text: str) -> None:
        print(f"{time.monotonic() - self._began:5.1f} s  {text}", flush=True)

    # What happens to brokers

    def kill(self, *brokers: int) -> None:
        self.tell(f"kill -9 {_named(brokers)}")
        for broker in brokers:
            self.cluster.signal(self.cluster.node(broker), SIGKILL)

    def start(self, *brokers: int) -> None:
        self.cluster.start([self.cluster.node(broker) for broker in brokers])
        self.tell(f"{_named(brokers)} started")

    def put_to_sleep(self, *brokers: int) -> None:
        """The process stands still in the middle of what it does, as in a long pause of a machine or a collector."""
        self.tell(f"{_named(brokers)} put to sleep (SIGSTOP)")
        for broker in brokers:
            self._asleep.add(broker)
            self.cluster.signal(self.cluster.node(broker), SIGSTOP)

    def wake(self, *brokers: int) -> None:
        for broker in brokers:
            self._asleep.discard(broker)
            self.cluster.signal(self.cluster.node(broker), SIGCONT)
        self.tell(f"{_named(brokers)} awake again")

    # What clients see

    def create(self, topic: str, *placed: Sequence[int], **configs: object) -> None:
        """Partitions with their replicas on these brokers, the preferred leader first."""
        texts = {name.replace("_", "."): str(value) for name, value in configs.items()}
        admin = AdminClient({"bootstrap.servers": self.cluster.bootstrap, "log_level": 0})
        assignment = [list(brokers) for brokers in placed]
        wanted = NewTopic(topic, len(placed), replica_assignment=assignment, config=texts)
        # Until it knows the brokers by their numbers it may drop a request; so it learns them first.
        admin.list_topics(timeout=PATIENCE_SECONDS)
        for made in admin.create_topics([wanted]).values():
            made.result(PATIENCE_SECONDS)
        for number, brokers in enumerate(placed):
            self.wait_until_in_sync(topic, brokers, number)

    def wait_until_in_sync(self, topic: str, brokers: Sequence[int], partition: int = 0) -> State:
        return self.wait(topic, lambda now: set(now.in_sync) == set(brokers), partition)

    def state(self, topic: str, partition: int = 0) -> State | None:
        """As the first broker tells that is there and awake."""
        for node in self.cluster.brokers:
            if node.id not in self._asleep and node.pid is not None:
                found = _ask(node, topic, partition)
                if found is not None:
                    return found
        return None

    def wait(self, topic: str, until: Callable[[State], bool], partition: int = 0) -> State:
        deadline = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < deadline:
            now = self.state(topic, partition)
            if now is not None and until(now):
                return now
            time.sleep(_LOOK_SECONDS)
        raise Broken(f"{topic} did not come to that in time: {self.state(topic, partition)}")


def _named(brokers: Sequence[int]) -> str:
    return (
        f"broker {brokers[0]}" if len(brokers) == 1 else f"brokers {', '.join(map(str, brokers))}"
    )


def _ask(node: LocalNode, topic: str, partition: int) -> State | None:
    admin = AdminClient({"bootstrap.servers": node.address, "log_level": 0})
    try:
        found = admin.list_topics(topic, _ANSWER_SECONDS).topics[topic].partitions
    except KafkaException:
        return None
    if partition not in found:
        return None
    state = found[partition]
    return State(None if state.leader < 0 else state.leader, tuple(sorted(state.isrs)))


@contextmanager
def a_scene(
    *, roles: str, running: Sequence[int] = (), settings: Mapping[str, object] | None = None
) -> Iterator[Scene]:
    """A cluster that goes with the story. Roles are letters: x broker and controller, b and c one of them."""
    small = {"offsets.topic.num.partitions": 3, "group.initial.rebalance.delay.ms": 0}
    with TemporaryDirectory(prefix="klamm-story-") as folder:
        cluster = LocalCluster.create(
            Path(folder, "cluster"),
            roles=roles,
            port=free_ports(len(roles)),
            settings={**small, **(settings or {})},
        )
        try:
            cluster.start([cluster.node(each) for each in running] or None)
            yield Scene(cluster)
        finally:
            for node in cluster.nodes:
                cluster.signal(node, SIGCONT)
            cluster.destroy()
