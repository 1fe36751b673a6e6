"""A controller with one registered broker: requests in, replies out, records replayed."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import TypeVar

import pytest

from klamm.base.ids import Uuid
from klamm.base.settings.broker import build_settings
from klamm.controller.controller import Controller
from klamm.controller.decision import Decision
from klamm.metadata.features import LATEST, SUPPORTED
from klamm.metadata.image import BrokerImage, ClusterImage, ConfigKey
from klamm.metadata.replay import apply

T = TypeVar("T")

DIRECTORY = Uuid(b"directory-of-one")
BROKER_EPOCH = 11


class Machine:
    """What the shell does, without a log: decide, replay, hand on the reply."""

    def __init__(self, **settings: str) -> None:
        texts = {name.replace("_", "."): value for name, value in settings.items()}
        broker = BrokerImage(
            1,
            BROKER_EPOCH,
            Uuid(b"incarnation-of-1"),
            features=SUPPORTED,
            is_fenced=False,
            directories=(DIRECTORY,),
        )
        image = ClusterImage(
            cluster_id="cluster",
            offset=BROKER_EPOCH,
            brokers={1: broker},
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


@pytest.fixture
def machine() -> Machine:
    return Machine()


@pytest.fixture
def make_machine() -> type[Machine]:
    return Machine
