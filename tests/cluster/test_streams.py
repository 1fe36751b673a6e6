"""Kafka Streams with exactly_once_v2 on three nodes, of which one after the other is killed: the counts are exact.

STREAMS_KILLS=20, or `make chaos-streams KILLS=20`, for as many kills.
"""

import asyncio
import os
import random
from collections import Counter
from pathlib import Path

import pytest
from confluent_kafka import Producer

from cluster.conftest import MakeCluster
from cluster.processes import RealCluster
from compat.streams.word_count import (
    INPUT,
    OUTPUT,
    PARTITIONS,
    QUIET,
    Application,
    read_counts,
    send_lines,
    wait_until_committed,
)
from klamm.base.ids import TopicPartition
from klamm.client import Consumer
from support.patience import eventually

pytestmark = pytest.mark.cluster

KILLS = int(os.environ.get("STREAMS_KILLS", "2"))
LINES = 500
# A loaded machine is slow, and an application that missed its session begins anew.
SECONDS = 240


def test_word_counts_are_exact_while_brokers_are_killed(
    make_cluster: MakeCluster, tmp_path: Path
) -> None:
    cluster = make_cluster(
        settings={
            "broker.session.timeout.ms": 3000,
            "group.min.session.timeout.ms": 1000,
            "transaction.abort.timed.out.transaction.cleanup.interval.ms": 500,
        }
    )
    for topic in (INPUT, OUTPUT):
        cluster.create_topic(topic, partitions=PARTITIONS)
        # All know it then: a client that is told that there is none believes it for a while.
        cluster.await_isr(topic, 3)
    application = Application(cluster.bootstrap, tmp_path)
    sent: Counter[str] = Counter()
    chance = random.Random(20)
    writer = Producer(
        {
            "bootstrap.servers": cluster.bootstrap,
            "linger.ms": 5,
            "enable.idempotence": True,
            **QUIET,
        }
    )
    application.start()
    try:
        for _ in range(KILLS):
            before = written(cluster)
            send_lines(writer, sent, chance, LINES)
            # A part of it is counted, the rest is not.
            wait_until_written(cluster, before + LINES, application)
            victim = chance.choice((1, 2, 3))
            cluster.kill(victim)
            cluster.start(victim)
        wait_until_committed(cluster.bootstrap, sent.total(), application, SECONDS)
        counts = read_counts(cluster.bootstrap, "read_committed")
    except AssertionError as failure:
        raise AssertionError(f"{failure}\n{application.output()[-6000:]}") from failure
    finally:
        if application.is_running:
            application.kill()

    assert counts == {word: list(range(1, times + 1)) for word, times in sent.items()}
    assert "gave up" not in application.output()


def written(cluster: RealCluster) -> int:
    """How far the output is written, whatever became of it."""

    async def ask() -> int:
        async with Consumer(cluster.bootstrap) as consumer:
            places = [TopicPartition(OUTPUT, number) for number in range(PARTITIONS)]
            return sum((await consumer.end_offsets(places)).values())

    return asyncio.run(ask())


def wait_until_written(cluster: RealCluster, wanted: int, application: Application) -> None:
    def look() -> None:
        assert application.is_running
        assert written(cluster) >= wanted

    eventually(look, seconds=SECONDS)
