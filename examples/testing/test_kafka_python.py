"""kafka-python."""

import pytest
from kafka import KafkaConsumer, KafkaProducer

from klamm.testing import Broker, Topic


@pytest.mark.kafka(partitions=2)
def test_a_record_goes_there_and_back(kafka_broker: Broker, kafka_topic: Topic) -> None:
    producer = KafkaProducer(bootstrap_servers=kafka_broker.bootstrap_servers)
    producer.send(kafka_topic.name, b"one", key=b"k")
    producer.close()

    kafka_topic.expect().within(5).equals(("k", "one"))
    consumer = KafkaConsumer(
        kafka_topic.name,
        bootstrap_servers=kafka_broker.bootstrap_servers,
        auto_offset_reset="earliest",
        consumer_timeout_ms=10_000,
    )
    assert next(consumer).value == b"one"
    consumer.close()
