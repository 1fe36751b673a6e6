"""Counts out of batch headers: what a reader of committed records would find."""

from collections.abc import Callable
from threading import Event

import pytest
from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import AdminClient

from klamm.cli.sql.count_records import CannotCount, asks_for_a_count, count_records
from pipeline.reading.records import records_of

Topic = Callable[..., str]
SECONDS = 60.0


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("SELECT count(*) FROM clicks", ("clicks", "count(1)")),
        ("select COUNT( 1 )\nfrom clicks ;", ("clicks", "count(1)")),
        ("SELECT count(*) AS n FROM `page-views`", ("page-views", "n")),
        ("SELECT count(*) n FROM clicks", None),
        ("SELECT count(*) FROM clicks WHERE a", None),
        ("SELECT count(*) FROM clicks c", None),
        ("SELECT count(a) FROM clicks", None),
        ("SELECT count(*), 1 FROM clicks", None),
        ("SELECT count(*) FROM lake.default.clicks", None),
        ("SELECT count(*) FROM (SELECT 1)", None),
    ],
)
def test_only_plain_counts_are_taken(sql: str, expected: tuple[str, str] | None) -> None:
    assert asks_for_a_count(sql) == expected


def test_every_visible_record_counts_once(bootstrap: str, topic: Topic) -> None:
    name = topic("counted", b"{}", None, b"no json", partitions=3)
    _in_transaction(bootstrap, name, 4).commit_transaction(SECONDS)
    _in_transaction(bootstrap, name, 5).abort_transaction(SECONDS)
    several = Producer(
        {"bootstrap.servers": bootstrap, "linger.ms": 1000, "compression.type": "lz4"}
    )
    for _ in range(100):
        several.produce(name, b"x", partition=2)
    assert several.flush(SECONDS) == 0

    assert count_records(bootstrap, name, {}) == 107 == len(records_of(bootstrap, name))


def test_records_that_were_deleted_do_not_count(bootstrap: str, topic: Topic) -> None:
    name = topic("counted_rest", partitions=1)
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 1000})
    for _ in range(10):
        producer.produce(name, b"x")
    assert producer.flush(SECONDS) == 0
    admin = AdminClient({"bootstrap.servers": bootstrap})
    for deleted in admin.delete_records([TopicPartition(name, 0, 3)]).values():
        deleted.result(SECONDS)

    assert count_records(bootstrap, name, {}) == 7


def test_empty_topic_counts_nothing(bootstrap: str, topic: Topic) -> None:
    assert count_records(bootstrap, topic("counted_empty"), {}) == 0


def test_what_cannot_be_counted_is_left_to_spark(bootstrap: str, topic: Topic) -> None:
    name = topic("counted_not", b"x")
    stop = Event()
    stop.set()

    with pytest.raises(CannotCount):
        count_records(bootstrap, name, {"security.protocol": "ssl"})
    with pytest.raises(CannotCount):
        count_records(bootstrap, name, {}, stop=stop)


def _in_transaction(bootstrap: str, topic: str, count: int) -> Producer:
    producer = Producer({"bootstrap.servers": bootstrap, "transactional.id": f"counting-{count}"})
    producer.init_transactions(SECONDS)
    producer.begin_transaction()
    for _ in range(count):
        producer.produce(topic, b"x", partition=0)
    assert producer.flush(SECONDS) == 0
    return producer
