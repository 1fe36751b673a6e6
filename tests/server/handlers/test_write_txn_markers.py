"""WriteTxnMarkers, as another broker or an operator sends it."""

from klamm.base.errors import ErrorCode
from klamm.coordinator.shard import Producer
from server.asking import Topic
from server.transacting import NONE, Speaker, committed_values, mark, stable_offset
from server.wire_client import WireClient

OLD_EPOCH, FENCED = ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.PRODUCER_FENCED


def test_an_operator_ends_a_transaction(client: WireClient, speaker: Speaker, topic: Topic) -> None:
    speaker.write(topic, b"hangs")

    assert mark(client, topic, speaker.producer, commit=False, version=1) is NONE
    assert stable_offset(client, topic) == 2
    assert committed_values(client, topic) == []


def test_where_epochs_rise_a_marker_must_have_a_higher_epoch_than_what_is_open(
    client: WireClient, speaker: Speaker, topic: Topic
) -> None:
    speaker.write(topic, b"x")
    same, higher = speaker.producer, Producer(speaker.producer.id, speaker.producer.epoch + 1)

    assert mark(client, topic, same, commit=False, transaction_version=2) is OLD_EPOCH
    assert mark(client, topic, higher, commit=False, transaction_version=2) is NONE
    # Its answer may have been lost.
    assert mark(client, topic, higher, commit=False, transaction_version=2) is NONE
    assert mark(client, topic, same, commit=False) is OLD_EPOCH


def test_an_older_coordinator_is_fenced(client: WireClient, speaker: Speaker, topic: Topic) -> None:
    speaker.write(topic, b"x")
    who = speaker.producer

    assert mark(client, topic, who, commit=False, coordinator_epoch=5) is NONE
    fenced = ErrorCode.TRANSACTION_COORDINATOR_FENCED
    assert mark(client, topic, who, commit=False, coordinator_epoch=4) is fenced


def test_a_partition_that_does_not_exist(
    client: WireClient, speaker: Speaker, topic: Topic
) -> None:
    code = mark(client, topic, speaker.producer, commit=True, partition=9)

    assert code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
