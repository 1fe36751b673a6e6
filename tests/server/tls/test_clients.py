"""Clients of a TLS listener: records there and back, and who they are."""

from collections.abc import Callable

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from server.running_node import RunningNode
from support.tls.certificates import Certificates

SecureNode = Callable[..., RunningNode]


def produce(settings: dict[str, object], topic: str, values: list[bytes]) -> None:
    problems: list[object] = []
    producer = Producer({**settings, "linger.ms": 5, "message.max.bytes": 4_000_000})
    for value in values:
        producer.produce(topic, value, on_delivery=lambda e, _: problems.append(e) if e else None)
    assert producer.flush(30) == 0
    assert problems == []


def consume(settings: dict[str, object], topic: str, count: int) -> list[bytes]:
    consumer = Consumer({**settings, "group.id": "g", "enable.auto.commit": False})
    consumer.assign([TopicPartition(topic, 0, 0)])
    found: list[bytes] = []
    try:
        while len(found) < count:
            for message in consumer.consume(count, timeout=30):
                assert message.error() is None, message.error()
                found.append(message.value())
    finally:
        consumer.close()
    return found


@pytest.mark.parametrize("version", ["TLSv1.2", "TLSv1.3"])
def test_records_go_there_and_come_back(
    secure_node: SecureNode, certificates: Certificates, version: str
) -> None:
    node = secure_node(ssl_enabled_protocols=version)
    settings = {"bootstrap.servers": node.address, **certificates.librdkafka()}
    values = [bytes([n % 251]) * size for n, size in enumerate([1, 100, 70_000, *[900_000] * 8])]

    produce(settings, "t", values)

    assert consume(settings, "t", len(values)) == values
