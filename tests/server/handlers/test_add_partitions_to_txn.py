"""AddPartitionsToTxn: partitions are announced by clients, and verified by brokers."""

import pytest

from klamm.base.errors import ErrorCode
from klamm.coordinator.shard import Producer
from server.asking import Topic
from server.conftest import MakeTopic
from server.transacting import NONE, Speaker

OLD_EPOCH, FENCED = ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.PRODUCER_FENCED


@pytest.mark.parametrize(
    ("version", "code"), [(0, OLD_EPOCH), (1, OLD_EPOCH), (2, FENCED), (3, FENCED)]
)
def test_an_epoch_that_was_never_given_is_refused(
    speaker: Speaker, topic: Topic, version: int, code: ErrorCode
) -> None:
    zombie = Producer(speaker.producer.id, speaker.producer.epoch + 1)

    assert speaker.add(topic, 0, version=version, producer=zombie) == {0: code}


def test_if_one_partition_does_not_exist_none_is_added(speaker: Speaker, topic: Topic) -> None:
    assert speaker.add(topic, 0, 9) == {
        0: ErrorCode.OPERATION_NOT_ATTEMPTED,
        9: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    }
    assert speaker.describe().transaction_state == "Empty"


def test_brokers_verify_without_adding(speaker: Speaker, make_topic: MakeTopic) -> None:
    topic = make_topic(partitions=2)
    speaker.write(topic, b"x")

    for version in (4, 5):
        assert speaker.add(topic, 0, 1, version=version, verify_only=True) == {
            0: NONE,
            1: ErrorCode.TRANSACTION_ABORTABLE,
        }
    assert speaker.describe().topics[0].partitions == [0]
