"""DescribeLogDirs: the bytes of each partition. Expectations hold for Apache Kafka 4.3.1 as well."""

from typing import Any

import pytest

from klamm.protocol.messages.describe_log_dirs import (
    DescribableLogDirTopic,
    DescribeLogDirsRequest,
)
from server.asking import NO_TOPIC, Topic, a_batch, append
from server.conftest import MakeTopic
from server.wire_client import WireClient


def sizes(result: Any) -> dict[tuple[str, int], int]:
    return {
        (t.name, p.partition_index): p.partition_size for t in result.topics for p in t.partitions
    }


def ask_for(*topics: Topic) -> DescribeLogDirsRequest:
    return DescribeLogDirsRequest(
        topics=[DescribableLogDirTopic(topic=topic.name, partitions=[0, 1]) for topic in topics]
    )


@pytest.mark.parametrize("version", range(1, 6))
def test_each_version_tells_the_bytes_of_what_is_asked_for(
    client: WireClient, make_topic: MakeTopic, version: int
) -> None:
    topic = make_topic(3)
    append(client, topic, b"one", partition=1)

    answer = client.ask(ask_for(topic, NO_TOPIC), version)

    (directory,) = answer.results
    assert (answer.error_code, directory.error_code) == (0, 0)
    assert sizes(directory) == {(topic.name, 0): 0, (topic.name, 1): len(a_batch(b"one"))}
    assert directory.log_dir.startswith("/")
    if version >= 4:
        assert 0 < directory.usable_bytes <= directory.total_bytes


def test_null_asks_for_all_and_an_empty_list_for_none(client: WireClient, topic: Topic) -> None:
    (everything,) = client.ask(DescribeLogDirsRequest(topics=None)).results
    (nothing,) = client.ask(DescribeLogDirsRequest(topics=[])).results

    assert (topic.name, 0) in sizes(everything)
    assert sizes(nothing) == {}
