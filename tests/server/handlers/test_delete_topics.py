"""DeleteTopics: by name and by id. Expectations hold for Apache Kafka 4.3.1 as well."""

from pathlib import Path
from typing import Any

import pytest

from klamm.base.errors import ErrorCode
from klamm.base.ids import Uuid
from klamm.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from server.asking import NO_TOPIC, Topic, a_batch, a_produce, append, partition_of
from server.conftest import MakeTopic, create_topic
from server.running_node import RunningNode
from server.wire_client import WireClient
from support.patience import eventually


def delete(
    client: WireClient,
    *names: str,
    ids: tuple[Uuid, ...] = (),
    version: int | None = None,
) -> list[Any]:
    request = DeleteTopicsRequest(
        topic_names=list(names),
        topics=[DeleteTopicState(name=name) for name in names]
        + [DeleteTopicState(name=None, topic_id=each) for each in ids],
        timeout_ms=10_000,
    )
    return list(client.ask(request, version).responses)


@pytest.mark.parametrize("version", range(1, 7))
def test_each_version_deletes_by_name(client: WireClient, topic: Topic, version: int) -> None:
    (gone,) = delete(client, topic.name, version=version)

    assert (gone.error_code, gone.name) == (0, topic.name)

    def look() -> None:
        answer = partition_of(client.ask(a_produce(topic, a_batch())))
        assert answer.error_code == ErrorCode.UNKNOWN_TOPIC_ID

    eventually(look)


def test_a_topic_is_deleted_by_id(client: WireClient, topic: Topic) -> None:
    (gone,) = delete(client, ids=(topic.id,))

    assert (gone.error_code, gone.name, gone.topic_id) == (0, topic.name, topic.id)


def test_what_does_not_exist_cannot_be_deleted(client: WireClient) -> None:
    (by_name,) = delete(client, NO_TOPIC.name)
    (by_id,) = delete(client, ids=(NO_TOPIC.id,))

    assert by_name.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert by_id.error_code == ErrorCode.UNKNOWN_TOPIC_ID


def test_a_topic_made_again_begins_at_zero(client: WireClient, make_topic: MakeTopic) -> None:
    old = make_topic()
    append(client, old, b"one", b"two")

    delete(client, old.name)
    new = create_topic(client, old.name)

    assert append(client, new, b"one") == 0


def test_the_directory_of_a_deleted_topic_is_out_of_the_way_at_once(
    client: WireClient, topic: Topic, node: RunningNode
) -> None:
    data = Path(node.node.ready.data)
    assert (data / f"{topic.name}-0").is_dir()

    delete(client, topic.name)

    left = [each.name for each in data.iterdir() if each.name.startswith(topic.name)]
    assert all(name.endswith("-delete") for name in left)
