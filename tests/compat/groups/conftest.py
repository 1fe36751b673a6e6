"""A broker whose groups rebalance quickly: what takes heartbeats in production takes tenths of a second here.

Whatever leads to the broker is defined anew: a fixture of the session would otherwise lead other tests here as well.
"""

import os
from collections.abc import Iterator

import pytest
from confluent_kafka.admin import AdminClient

from compat.conftest import SETTINGS
from support.brokers import Broker, start_kafka, start_klamm

QUICK = {
    **SETTINGS,
    "group.consumer.min.heartbeat.interval.ms": 100,
    "group.consumer.heartbeat.interval.ms": 200,
    "group.consumer.min.session.timeout.ms": 2_000,
    "group.consumer.session.timeout.ms": 6_000,
    "group.consumer.assignment.interval.ms": 0,
    "group.min.session.timeout.ms": 1_000,
}


@pytest.fixture(scope="session")
def broker() -> Iterator[Broker | None]:
    choice = os.environ.get("KLAMM_COMPAT_BOOTSTRAP")
    if choice and choice != "kafka":
        yield None
        return
    started = start_kafka(settings=QUICK) if choice else start_klamm(settings=QUICK)
    yield started
    started.stop()


@pytest.fixture(scope="session")
def bootstrap(broker: Broker | None) -> str:
    return broker.address if broker else os.environ["KLAMM_COMPAT_BOOTSTRAP"]


@pytest.fixture(scope="session")
def admin(bootstrap: str) -> AdminClient:
    return AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
