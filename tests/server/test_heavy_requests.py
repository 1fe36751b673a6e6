"""Requests that are valid and ask for very much: answered in turns, as whole as small ones, while others are served."""

import select

import pytest

from klamm.base.errors import ErrorCode
from klamm.metadata.resource_type import ResourceType
from klamm.protocol.messages.api_versions import ApiVersionsRequest
from klamm.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from klamm.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from klamm.protocol.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
)
from klamm.protocol.messages.describe_producers import DescribeProducersRequest, TopicRequest
from klamm.protocol.messages.fetch import FetchPartition
from klamm.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from klamm.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from klamm.protocol.messages.produce import PartitionProduceData
from server.asking import (
    Topic,
    a_batch,
    a_fetch,
    a_fetch_of,
    a_produce,
    append,
    fetched,
    partition_of,
    values_in,
)
from server.conftest import Connect
from server.running_node import RunningNode
from server.wire_client import ConnectionClosed, WireClient, request_frame

APIS = ApiVersionsRequest(client_software_name="a", client_software_version="1")


def much_metadata(count: int) -> MetadataRequest:
    names = [MetadataRequestTopic(name=f"unknown-{i}") for i in range(count)]
    return MetadataRequest(topics=names, allow_auto_topic_creation=False)


def offsets_of(topic: Topic, count: int) -> ListOffsetsRequest:
    asked = [ListOffsetsPartition(partition_index=i, timestamp=-1) for i in range(count)]
    return ListOffsetsRequest(
        replica_id=-1, topics=[ListOffsetsTopic(name=topic.name, partitions=asked)]
    )


def has_answer(client: WireClient) -> bool:
    return bool(select.select([client.socket], [], [], 0)[0])


@pytest.mark.parametrize("api", ["metadata", "list_offsets"])
def test_others_are_served_while_a_heavy_request_is_answered(
    connect: Connect, topic: Topic, api: str, node: RunningNode
) -> None:
    heavy, other = connect(), connect()
    other.ask(APIS)
    heavy.send(much_metadata(40_000) if api == "metadata" else offsets_of(topic, 60_000))

    served = 0
    while not has_answer(heavy):
        other.ask(APIS)
        served += 1

    assert served >= 5
    assert heavy.receive().topics


def test_every_item_of_a_heavy_request_is_answered(client: WireClient, topic: Topic) -> None:
    (answer,) = client.ask(offsets_of(topic, 20_000)).topics

    codes = [partition.error_code for partition in answer.partitions]
    assert codes == [0] + [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION] * 19_999

    unknown = client.ask(much_metadata(3_000)).topics
    assert [each.name for each in unknown] == [f"unknown-{i}" for i in range(3_000)]


@pytest.mark.parametrize("version", range(1, 5))
def test_configs_of_many_resources_are_those_of_each(
    client: WireClient, topic: Topic, version: int
) -> None:
    resource = DescribeConfigsResource(
        resource_type=ResourceType.TOPIC, resource_name=topic.name, configuration_keys=None
    )
    request = DescribeConfigsRequest(resources=[resource], include_synonyms=True)
    (one,) = client.ask(request, version).results
    assert len(one.configs) > 20

    request.resources *= 300

    assert client.ask(request, version).results == [one] * 300


def test_an_answer_larger_than_a_request_may_be_closes_the_connection(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    settings = {"socket.request.max.bytes": 200_000}
    broker = DescribeConfigsResource(
        resource_type=ResourceType.BROKER, resource_name="1", configuration_keys=None
    )
    request = DescribeConfigsRequest(resources=[broker] * 100, include_synonyms=True)
    with (
        RunningNode(tmp_path_factory.mktemp("small") / "data", settings) as node,
        WireClient(node.address) as client,
        pytest.raises(ConnectionClosed),
    ):
        client.ask(request)


def test_a_fetch_of_very_many_partitions_waits_for_any_of_them(
    connect: Connect, topic: Topic, until_parked: object
) -> None:
    waiting, producer = connect(), connect()
    asked = [FetchPartition(partition=i, partition_max_bytes=1000) for i in range(3_000)]
    waiting.send(a_fetch_of([(topic, asked)], max_wait_ms=15_000))
    until_parked()  # type: ignore[operator]

    append(producer, topic, b"news")

    (answer,) = waiting.receive().responses
    assert values_in(answer.partitions[0].records) == [b"news"]


def test_a_fetch_of_very_many_partitions_ends_in_time(client: WireClient, topic: Topic) -> None:
    asked = [FetchPartition(partition=i, partition_max_bytes=1000) for i in range(3_000)]

    (answer,) = client.ask(a_fetch_of([(topic, asked)], max_wait_ms=100)).responses

    assert len(answer.partitions) == 3_000


def test_batches_of_a_heavy_produce_are_kept_while_others_use_the_buffer(
    connect: Connect, topic: Topic
) -> None:
    heavy, other = connect(), connect()
    request = a_produce(topic, a_batch(b"0"))
    batches = [bytes(a_batch(b"%d" % i)) for i in range(2_000)]
    request.topic_data[0].partition_data = [
        PartitionProduceData(index=0, records=batch) for batch in batches
    ]
    heavy.send(request)
    while not has_answer(heavy):
        other.ask(APIS)

    (answer,) = heavy.receive().responses

    assert {partition.error_code for partition in answer.partition_responses} == {0}
    assert fetched(other, topic, max_bytes=1 << 30) == [b"%d" % i for i in range(2_000)]


def test_a_fetch_larger_than_memory_should_hold_comes_whole(
    client: WireClient, topic: Topic
) -> None:
    values = [bytes([i]) * 900_000 for i in range(10)]
    for value in values:
        append(client, topic, value)
    large = a_fetch(topic, partition_max_bytes=50 << 20, max_bytes=50 << 20)

    # Three at once: each waits until the one before it is taken.
    for _ in range(3):
        client.send(large)

    for _ in range(3):
        assert values_in(partition_of(client.receive()).records) == values


def test_topics_are_created_in_portions_and_answered_in_order(client: WireClient) -> None:
    names = [f"portion-{i}" for i in range(250)] + ["twice", "twice", "bad name"]
    request = CreateTopicsRequest(
        topics=[CreatableTopic(name=n, num_partitions=1, replication_factor=1) for n in names],
        timeout_ms=10_000,
        validate_only=True,
    )

    answer = client.ask(request).topics

    expected = [(name, 0) for name in names[:250]]
    expected += [("bad name", ErrorCode.INVALID_TOPIC_EXCEPTION)]
    expected += [("twice", ErrorCode.INVALID_REQUEST)]
    assert [(topic.name, topic.error_code) for topic in answer] == expected


def test_too_many_changes_in_one_request_are_refused(client: WireClient) -> None:
    def deletion_of(count: int) -> DeleteTopicsRequest:
        names = [DeleteTopicState(name=f"gone-{i}") for i in range(count)]
        return DeleteTopicsRequest(topics=names, timeout_ms=1000)

    answers = client.ask(deletion_of(10_001)).responses

    assert {each.error_code for each in answers} == {ErrorCode.POLICY_VIOLATION}
    with pytest.raises(ConnectionClosed):
        client.ask(deletion_of(20_001))


def test_the_producers_of_a_partition_are_not_told_without_end(
    connect: Connect, topic: Topic
) -> None:
    request = DescribeProducersRequest(
        topics=[TopicRequest(name=topic.name, partition_indexes=[0] * 100_001)]
    )

    with pytest.raises(ConnectionClosed):
        connect().ask(request)


def test_a_header_with_countless_tagged_fields_is_refused_at_once(
    connect: Connect, node: RunningNode
) -> None:
    client = connect()
    start = request_frame(APIS, 3).index(b"wire") + 4
    count = b"\xc0\x9a\x0c"  # 200,000
    client.send_frame(request_frame(APIS, 3)[:start] + count + b"\x7f\0" * 200_000)

    assert client.is_closed_by_the_broker()
