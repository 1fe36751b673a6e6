"""For tests with Kafka in them: a real broker in this process. docs/testing.md tells how.

    from klamm.testing import Broker

    with Broker(topics={"orders": 3}) as broker:
        run_my_service(broker.bootstrap_servers)

Beside it in this package is the simulated world in which klamm tests itself (docs/simulation.md). Neither is imported
before it is asked for.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from klamm.testing.kit.broker import Broker
    from klamm.testing.kit.cluster.cluster import Cluster
    from klamm.testing.kit.frameworks.cases import KafkaMixin
    from klamm.testing.kit.frameworks.containers import KafkaContainer
    from klamm.testing.kit.kafka import External, Kafka
    from klamm.testing.kit.records import Record
    from klamm.testing.kit.topics import NewTopic, Topic

__all__ = [
    "Broker",
    "Cluster",
    "External",
    "Kafka",
    "KafkaContainer",
    "KafkaMixin",
    "NewTopic",
    "Record",
    "Topic",
]

_HOMES = {
    "Broker": "broker",
    "Cluster": "cluster.cluster",
    "External": "kafka",
    "Kafka": "kafka",
    "KafkaContainer": "frameworks.containers",
    "KafkaMixin": "frameworks.cases",
    "NewTopic": "topics",
    "Record": "records",
    "Topic": "topics",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"klamm.testing.kit.{_HOMES[name]}"), name)
