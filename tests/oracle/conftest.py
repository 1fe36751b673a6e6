"""A real Apache Kafka and klamm, each started once, in the same state.

KLAMM_ORACLE_KAFKA and KLAMM_ORACLE_KLAMM (host:port) take brokers that run already; they must be new.
"""

import os
from collections.abc import Callable, Iterator

import pytest

from oracle.stage import Stage, prepare
from support.brokers import Broker, start_kafka, start_klamm

# Records of 1970 would fall to the first round of retention, half a minute after the start.
SETTINGS = {
    "log.initial.task.delay.ms": 24 * 3_600_000,
    "offsets.topic.replication.factor": 1,
    "transaction.state.log.replication.factor": 1,
    "transaction.state.log.min.isr": 1,
    # A member that nobody hears of any more should not end in the middle of the questions.
    "group.initial.rebalance.delay.ms": 0,
}


def _running(variable: str, start: Callable[..., Broker]) -> Iterator[Stage]:
    address = os.environ.get(variable)
    broker = None if address else start(settings=SETTINGS)
    stage = Stage(broker.address if broker else str(address))
    prepare(stage)
    yield stage
    if broker:
        broker.stop()


@pytest.fixture(scope="session")
def kafka() -> Iterator[Stage]:
    yield from _running("KLAMM_ORACLE_KAFKA", start_kafka)


@pytest.fixture(scope="session")
def klamm() -> Iterator[Stage]:
    yield from _running("KLAMM_ORACLE_KLAMM", start_klamm)
