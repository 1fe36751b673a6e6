"""TxnOffsetCommit: the offsets of a group are part of a transaction as any partition is."""

from klamm.base.errors import ErrorCode
from klamm.coordinator.shard import Producer
from server.asking import Topic
from server.transacting import NONE, Speaker, committed_values, fetch_offset
from server.wire_client import WireClient


def test_offsets_count_when_the_transaction_commits(
    client: WireClient, speaker: Speaker, topic: Topic, group_id: str
) -> None:
    speaker.write(topic, b"x")
    assert speaker.commit_offset(group_id, topic, 5) is NONE

    unstable = ErrorCode.UNSTABLE_OFFSET_COMMIT
    assert fetch_offset(client, group_id, topic.name) == (unstable, -1)
    assert fetch_offset(client, group_id, topic.name, require_stable=False) == (NONE, -1)
    speaker.end(commit=True)

    assert fetch_offset(client, group_id, topic.name) == (NONE, 5)
    assert committed_values(client, topic) == [b"x"]


def test_offsets_are_forgotten_when_it_aborts(
    client: WireClient, speaker: Speaker, topic: Topic, group_id: str
) -> None:
    assert speaker.commit_offset(group_id, topic, 5) is NONE
    assert speaker.describe().topics[0].topic == "__consumer_offsets"
    speaker.end(commit=False)

    assert fetch_offset(client, group_id, topic.name) == (NONE, -1)


def test_a_stranger_commits_nothing(
    client: WireClient, speaker: Speaker, topic: Topic, group_id: str
) -> None:
    stranger = Producer(speaker.producer.id + 9_999, 0)
    unknown = ErrorCode.INVALID_PRODUCER_ID_MAPPING

    assert speaker.commit_offset(group_id, topic, 5, producer=stranger) is unknown
    assert speaker.commit_offset(group_id, topic, 5, producer=stranger, version=4) is unknown
    assert fetch_offset(client, group_id, topic.name) == (NONE, -1)
