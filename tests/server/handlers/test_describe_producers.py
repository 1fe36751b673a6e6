"""DescribeProducers: whom a partition remembers. Expectations hold for Apache Kafka 4.3.1 as well."""

from klamm.base.errors import ErrorCode
from klamm.protocol.messages.describe_producers import (
    DescribeProducersRequest,
    PartitionResponse,
    ProducerState,
    TopicRequest,
)
from server.asking import NO_TOPIC, Topic, append
from server.transacting import Speaker
from server.wire_client import WireClient


def describe(client: WireClient, topic: Topic, partition: int = 0) -> PartitionResponse:
    asked = TopicRequest(name=topic.name, partition_indexes=[partition])
    (answer,) = client.ask(DescribeProducersRequest(topics=[asked])).topics
    (found,) = answer.partitions
    assert isinstance(found, PartitionResponse)
    return found


def test_an_idempotent_producer_is_remembered(client: WireClient, topic: Topic) -> None:
    append(client, topic, b"anonymous")
    append(
        client, topic, b"x", b"y", timestamp=99, producer_id=7, producer_epoch=3, base_sequence=0
    )

    found = describe(client, topic)

    assert found.error_code == 0
    assert found.active_producers == [
        ProducerState(
            producer_id=7,
            producer_epoch=3,
            last_sequence=1,
            last_timestamp=99,
            coordinator_epoch=-1,
            current_txn_start_offset=-1,
        )
    ]


def test_a_partition_without_producers_remembers_none(client: WireClient, topic: Topic) -> None:
    assert describe(client, topic).active_producers == []


def test_what_is_not_here_is_unknown(client: WireClient, topic: Topic) -> None:
    for found in (describe(client, NO_TOPIC), describe(client, topic, 1)):
        assert found.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_producers_show_where_the_transaction_began(
    client: WireClient, speaker: Speaker, topic: Topic
) -> None:
    speaker.write(topic, b"x")

    (open_one,) = describe(client, topic).active_producers
    speaker.end(commit=True)
    (ended,) = describe(client, topic).active_producers

    assert (open_one.current_txn_start_offset, open_one.producer_epoch) == (0, 0)
    assert (ended.current_txn_start_offset, ended.producer_epoch) == (-1, 1)
    assert (ended.last_sequence, ended.coordinator_epoch) == (-1, 0)
