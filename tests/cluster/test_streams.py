"""Kafka Streams with exactly_once_v2 on three nodes, of which one after the other is killed: the counts are exact.

KLAMM_STREAMS_KILLS=20, or `make chaos-streams KILLS=20`, for as many kills.
"""

import os
import random
from collections import Counter
from pathlib import Path

import pytest
from confluent_kafka import Producer

from cluster.conftest import MakeCluster
from compat.streams.word_count import (
    INPUT,
    OUTPUT,
    PARTITIONS,
    QUIET,
    Application,
    read_counts,
    send_lines,
    wait_until_committed,
    wait_until_written,
    watch,
    written,
)

pytestmark = pytest.mark.cluster

KILLS = int(os.environ.get("KLAMM_STREAMS_KILLS", "2"))
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
    watcher = watch(cluster.bootstrap)
    application.start()
    try:
        for _ in range(KILLS):
            before = written(watcher)
            send_lines(writer, sent, chance, LINES)
            # A part of it is counted, the rest is not.
            wait_until_written(watcher, before + LINES, application, SECONDS)
            victim = chance.choice((1, 2, 3))
            cluster.kill(victim)
            cluster.start(victim)
        wait_until_committed(cluster.bootstrap, sent.total(), application, SECONDS)
        counts = read_counts(cluster.bootstrap, "read_committed")
    except AssertionError as failure:
        raise AssertionError(f"{failure}\n{application.output()[-6000:]}") from failure
    finally:
        watcher.close()
        if application.is_running:
            application.kill()

    assert counts == {word: list(range(1, times + 1)) for word, times in sent.items()}
    assert "gave up" not in application.output()
