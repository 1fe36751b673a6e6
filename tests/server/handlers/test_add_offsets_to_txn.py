"""AddOffsetsToTxn: clients of before transaction.version 2 announce that offsets will come."""

import pytest

from klamm.base.errors import ErrorCode
from klamm.coordinator.shard import Producer
from server.asking import Topic
from server.transacting import NONE, Speaker, fetch_offset
from server.wire_client import WireClient

OLD_EPOCH, FENCED = ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.PRODUCER_FENCED


@pytest.mark.parametrize(
    ("version", "code"),
    [(3, ErrorCode.INVALID_TXN_STATE), (4, ErrorCode.TRANSACTION_ABORTABLE)],
)
def test_offsets_come_after_they_were_announced(
    client: WireClient,
    speaker: Speaker,
    topic: Topic,
    group_id: str,
    version: int,
    code: ErrorCode,
) -> None:
    assert speaker.commit_offset(group_id, topic, 5, version=version) is code
    assert speaker.add_offsets(group_id) is NONE
    assert speaker.commit_offset(group_id, topic, 5, version=version) is NONE
    speaker.end(commit=True, version=4)

    assert fetch_offset(client, group_id, topic.name) == (NONE, 5)


@pytest.mark.parametrize(
    ("version", "code"), [(0, OLD_EPOCH), (1, OLD_EPOCH), (2, FENCED), (4, FENCED)]
)
def test_an_epoch_that_was_never_given_is_refused(
    speaker: Speaker, group_id: str, version: int, code: ErrorCode
) -> None:
    zombie = Producer(speaker.producer.id, speaker.producer.epoch + 1)

    assert speaker.add_offsets(group_id, version, producer=zombie) is code
    assert speaker.describe().transaction_state == "Empty"
