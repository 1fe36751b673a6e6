"""The brokers of a run of pytest: started when a test first asks, emptied between tests, stopped at the end."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, NoReturn, cast

import pytest

from klamm.testing.kit.broker import Broker
from klamm.testing.kit.cluster.cluster import Cluster
from klamm.testing.kit.cluster.member import Member
from klamm.testing.kit.kafka import External, Kafka
from klamm.testing.kit.topics import Topics, new_topics

_SECTION = "klamm"


class Elsewhere(External):
    """What KLAMM_BOOTSTRAP names. Tests that need more than any Kafka can do are skipped."""

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("_") or not (hasattr(Broker, name) or hasattr(Cluster, name)):
            raise AttributeError(name)
        pytest.skip(f"{name} needs a broker of klamm's test kit, and KLAMM_BOOTSTRAP names another")


class Managed:
    def __init__(self, bootstrap: str | None) -> None:
        self._elsewhere = Elsewhere(bootstrap) if bootstrap else None
        # By what they were started with.
        self._brokers: dict[str, Broker] = {}
        self._cluster: tuple[str, Cluster] | None = None
        # What the test at hand was given.
        self._in_use: list[Broker | Cluster] = []

    def broker(self, options: Mapping[str, Any]) -> Broker:
        topics: Topics = options.get("topics", ())
        if self._elsewhere is not None:
            self._create(self._elsewhere, topics)
            return cast(Broker, self._elsewhere)
        started = {name: options[name] for name in ("settings", "process") if name in options}
        key = repr(sorted(started.items()))
        broker = self._brokers.get(key)
        if broker is None:
            broker = self._brokers[key] = Broker(**started).start()
        else:
            broker.reset()
        self._create(broker, topics)
        self._in_use = [broker]
        return broker

    def cluster(self, options: Mapping[str, Any]) -> Cluster:
        topics: Topics = options.get("topics", ())
        if self._elsewhere is not None:
            self._create(self._elsewhere, topics)
            return cast(Cluster, self._elsewhere)
        started = {name: options[name] for name in ("settings", "brokers") if name in options}
        key = repr(sorted(started.items()))
        if self._cluster is None or self._cluster[0] != key:
            # One at a time: each is several processes.
            self._stop_cluster()
            self._cluster = key, Cluster(**started).start()
        cluster = self._cluster[1]
        self._create(cluster, topics)
        self._in_use = [cluster]
        return cluster

    def mend_cluster(self) -> None:
        """For the next test: whole, and without topics. One that cannot be mended is replaced."""
        if self._cluster is None:
            return
        cluster = self._cluster[1]
        try:
            cluster.heal()
            for number in cluster.brokers:
                if cluster.broker(number).is_paused:
                    cluster.broker(number).resume()
                if number not in cluster.running:
                    cluster.restart(number)
            cluster.wait_healthy()
            for topic in cluster.topics():
                cluster.delete_topic(topic)
        except Exception:  # noqa: BLE001 - whatever a test has done to it
            self._stop_cluster()

    def stop(self) -> None:
        for broker in self._brokers.values():
            broker.stop()
        self._brokers = {}
        self._stop_cluster()

    def _stop_cluster(self) -> None:
        if self._cluster is not None:
            self._cluster[1].stop()
            self._cluster = None

    def _create(self, kafka: Kafka, topics: Topics) -> None:
        for topic in new_topics(topics):
            kafka.topic(
                topic.name, topic.partitions, replicas=topic.replicas, configs=dict(topic.configs)
            )

    # What the report of a failure has of it.

    def sections(self) -> Iterator[tuple[str, str]]:
        for kafka in self._in_use:
            for title, text in _told(kafka):
                if text:
                    yield f"{_SECTION}: {title}", text


def _told(kafka: Broker | Cluster) -> Iterator[tuple[str, str]]:
    if isinstance(kafka, Broker):
        yield "requests", _tried(partial(_requests, kafka))
        yield "broker log", _tried(kafka.log)
    else:
        for number in kafka.running:
            broker = kafka.broker(number)
            yield f"requests of broker {number}", _tried(partial(_requests, broker))
            yield f"log of broker {number}", _tried(broker.log)
    yield "topics", _tried(kafka.dump)


def _requests(broker: Broker | Member) -> str:
    return broker.transcript().last()


def _tried(tell: Callable[[], str]) -> str:
    """A broker that cannot tell is part of the failure, and not another one."""
    try:
        return tell()
    except Exception as e:  # noqa: BLE001 - as above
        return f"cannot be told: {type(e).__name__}: {e}"
