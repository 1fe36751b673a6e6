"""ElectLeaders: on one node every partition is led as it should be. Expectations hold for Apache Kafka 4.3.1 as well."""

from typing import Any

import pytest

from klamm.base.errors import ErrorCode
from klamm.protocol.messages.elect_leaders import ElectLeadersRequest, TopicPartitions
from server.asking import NO_TOPIC, Topic, error
from server.wire_client import WireClient

UNKNOWN_KIND = 7


def elect(
    client: WireClient, *topics: Topic, kind: int = 0, version: int | None = None
) -> tuple[ErrorCode, Any]:
    asked = [TopicPartitions(topic=topic.name, partitions=[0]) for topic in topics]
    request = ElectLeadersRequest(election_type=kind, topic_partitions=asked, timeout_ms=5_000)
    answer = client.ask(request, version)
    results = answer.replica_election_results
    return error(answer.error_code), {
        (topic.topic, each.partition_id): error(each.error_code)
        for topic in results
        for each in topic.partition_result
    }


@pytest.mark.parametrize("version", range(3))
def test_each_version_tells_each_partition_its_outcome(
    client: WireClient, topic: Topic, version: int
) -> None:
    assert elect(client, topic, NO_TOPIC, version=version) == (
        ErrorCode.NONE,
        {
            (topic.name, 0): ErrorCode.ELECTION_NOT_NEEDED,
            (NO_TOPIC.name, 0): ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        },
    )


def test_null_asks_for_all_and_nothing_is_to_be_done(client: WireClient, topic: Topic) -> None:
    answer = client.ask(ElectLeadersRequest(topic_partitions=None, timeout_ms=5_000))

    assert answer.error_code == 0
    found = {each.topic: each.partition_result for each in answer.replica_election_results}
    assert found[topic.name] == []


def test_an_unknown_kind_of_election_is_refused_as_a_whole_and_for_each(
    client: WireClient, topic: Topic
) -> None:
    refused = ErrorCode.INVALID_REQUEST

    assert elect(client, topic, kind=UNKNOWN_KIND) == (refused, {(topic.name, 0): refused})
