"""A controller with one registered broker: requests in, replies out, records replayed."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeVar

import pytest

from klamm.base.clock import Now
from klamm.base.ids import Uuid
from klamm.base.settings.broker import build_settings
from klamm.controller.controller import Controller
from klamm.controller.decision import Decision
from klamm.metadata.features import LATEST, SUPPORTED
from klamm.metadata.image import (
    BrokerImage,
    ClusterImage,
    ConfigKey,
    PartitionImage,
    TopicImage,
)
from klamm.metadata.replay import apply

T = TypeVar("T")

DIRECTORY = Uuid(b"directory-of-one")
BROKER_EPOCH = 11


def a_broker(number: int, **facts: Any) -> BrokerImage:
    """One that serves. Its epoch is that of all, its directory its own."""
    wanted: dict[str, Any] = {
        "features": SUPPORTED,
        "is_fenced": False,
        "directories": (DIRECTORY if number == 1 else directory(number),),
        **facts,
    }
    return BrokerImage(number, BROKER_EPOCH, Uuid(b"incarnation-of-%d" % number), **wanted)


def directory(number: int, which: str = "a") -> Uuid:
    return Uuid(b"directory-%05d" % number + which.encode())


class Machine:
    """What the shell does, without a log: decide, replay, hand on the reply."""

    def __init__(self, brokers: int = 1, **settings: str) -> None:
        texts = {name.replace("_", "."): value for name, value in settings.items()}
        image = ClusterImage(
            cluster_id="cluster",
            offset=BROKER_EPOCH,
            brokers={number: a_broker(number) for number in range(1, brokers + 1)},
            features=dict(LATEST),
            configs={ConfigKey(4, ""): {"min.insync.replicas": "1"}},
        )
        base = {"process.roles": "broker,controller", "node.id": "1", "log.dirs": "/data"}
        self.controller = Controller(image, build_settings({**base, **texts}), random.Random(7))
        self.records: list[object] = []

    @property
    def image(self) -> ClusterImage:
        return self.controller.image

    def do(self, operation: Callable[[Controller], Decision[T]]) -> T:
        decision = operation(self.controller)
        self.records = list(decision.records)
        if self.records:
            offset = self.image.offset + len(self.records)
            self.controller.image, _ = apply(self.image, self.records, offset=offset, epoch=1)
        return decision.reply

    def at(self, now: int, operation: Callable[[Controller, Now], Decision[T]]) -> T:
        """At so many milliseconds of both clocks."""
        return self.do(lambda controller: operation(controller, Now(now, now)))

    def put_partition(self, name: str, **state: Any) -> TopicImage:
        """A topic of one partition in a state that takes several steps to get into."""
        state = {"leader_epoch": 5, "partition_epoch": 9, **state}
        replicas = state["replicas"]
        places = tuple(DIRECTORY if each == 1 else directory(each) for each in replicas)
        state.setdefault("directories", places)
        topic = TopicImage(name, Uuid(name.encode().ljust(16, b"-")), (PartitionImage(**state),))
        image = self.image
        self.controller.image = replace(
            image,
            topics_by_name={**image.topics_by_name, name: topic},
            topics_by_id={**image.topics_by_id, topic.topic_id: topic},
        )
        return topic

    def put_broker(self, number: int, **facts: Any) -> None:
        brokers = {**self.image.brokers, number: a_broker(number, **facts)}
        self.controller.image = replace(self.image, brokers=brokers)

    def put_config(self, topic: str, **configs: str) -> None:
        texts = {name.replace("_", "."): value for name, value in configs.items()}
        key = ConfigKey(2, topic)
        self.controller.image = replace(self.image, configs={**self.image.configs, key: texts})

    def state(self, name: str) -> tuple[int, tuple[int, ...], tuple[int, ...]]:
        """Leader, ISR and ELR of a topic's only partition."""
        partition = self.partition(name)
        return partition.leader, partition.isr, partition.elr

    def partition(self, name: str) -> PartitionImage:
        found = self.image.partition(name, 0)
        assert found is not None
        return found


@pytest.fixture
def machine() -> Machine:
    return Machine()


@pytest.fixture
def three() -> Machine:
    """Three brokers, for which two replicas make a commit safe."""
    machine = Machine(brokers=3)
    configs = {ConfigKey(4, ""): {"min.insync.replicas": "2"}}
    machine.controller.image = replace(machine.image, configs=configs)
    return machine


@pytest.fixture
def make_machine() -> type[Machine]:
    return Machine
