"""AlterReplicaLogDirs: where a replica lies. Expectations hold for Apache Kafka 4.3.1 as well, unless they say otherwise."""

from pathlib import Path

import pytest

from klamm.base.errors import ErrorCode
from klamm.metadata.resource_type import ResourceType
from klamm.protocol.messages.alter_replica_log_dirs import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirTopic,
)
from klamm.protocol.messages.describe_log_dirs import (
    DescribableLogDirTopic,
    DescribeLogDirsRequest,
)
from klamm.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from server.asking import NO_TOPIC, Topic, append, error, fetched
from server.conftest import create_topic
from server.running_node import RunningNode
from server.wire_client import WireClient
from support.patience import eventually

Outcome = dict[tuple[str, int], ErrorCode]


def move(
    client: WireClient, *moves: tuple[str, str, list[int]], version: int | None = None
) -> Outcome:
    """Each move is a path, a topic and its partitions."""
    request = AlterReplicaLogDirsRequest(
        dirs=[
            AlterReplicaLogDir(
                path=path, topics=[AlterReplicaLogDirTopic(name=topic, partitions=partitions)]
            )
            for path, topic, partitions in moves
        ]
    )
    return {
        (topic.topic_name, each.partition_index): error(each.error_code)
        for topic in client.ask(request, version).results
        for each in topic.partitions
    }


def home_of(client: WireClient, topic: Topic, partition: int = 0) -> str:
    asked = DescribableLogDirTopic(topic=topic.name, partitions=[partition])
    directories = client.ask(DescribeLogDirsRequest(topics=[asked])).results
    (path,) = (
        each.log_dir
        for each in directories
        for found in each.topics
        if not found.partitions[0].is_future_key
    )
    return str(path)


@pytest.mark.parametrize("version", [1, 2])
def test_a_replica_that_is_there_already_stays(
    client: WireClient, topic: Topic, version: int
) -> None:
    path = home_of(client, topic)

    assert move(client, (path, topic.name, [0]), version=version) == {
        (topic.name, 0): ErrorCode.NONE
    }


@pytest.mark.parametrize("path", ["", "data", "/nowhere", "{home}/"])
def test_a_path_that_is_no_data_directory_is_not_found(
    client: WireClient, topic: Topic, path: str
) -> None:
    path = path.replace("{home}", home_of(client, topic))

    not_found = ErrorCode.LOG_DIR_NOT_FOUND
    assert move(client, (path, topic.name, [0])) == {(topic.name, 0): not_found}
    assert move(client, (path, NO_TOPIC.name, [0])) == {(NO_TOPIC.name, 0): not_found}


def test_a_partition_that_is_not_here_is_unknown(client: WireClient, topic: Topic) -> None:
    path = home_of(client, topic)
    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION

    assert move(client, (path, topic.name, [7, -1]), (path, NO_TOPIC.name, [0])) == {
        (topic.name, 7): unknown,
        (topic.name, -1): unknown,
        (NO_TOPIC.name, 0): unknown,
    }


@pytest.mark.parametrize(
    ("length", "code"),
    [(213, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION), (214, ErrorCode.INVALID_TOPIC_EXCEPTION)],
)
def test_a_name_must_leave_room_for_that_of_a_copy(
    client: WireClient, topic: Topic, length: int, code: ErrorCode
) -> None:
    name = "x" * length

    assert move(client, (home_of(client, topic), name, [0])) == {(name, 0): code}


def test_a_partition_named_twice_goes_where_it_is_named_last(
    client: WireClient, topic: Topic
) -> None:
    path = home_of(client, topic)

    assert move(client, (path, topic.name, [0]), ("/nowhere", topic.name, [0])) == {
        (topic.name, 0): ErrorCode.LOG_DIR_NOT_FOUND
    }


@pytest.mark.parametrize("moves", [[], [("/nowhere", "topic", [])]])
def test_nothing_asked_is_nothing_answered(
    client: WireClient, moves: list[tuple[str, str, list[int]]]
) -> None:
    assert move(client, *moves) == {}


def test_a_replica_moves_to_another_directory_of_the_broker(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    settings = {"log.dirs": f"{first},{second}"}
    with RunningNode(first, settings) as node, WireClient(node.address) as client:
        topic = create_topic(client, "moved", 1)
        for each in range(20):
            append(client, topic, b"%d" % each * 1000)
        home = home_of(client, topic)
        other = str(second if home == str(first) else first)

        assert move(client, (other, "moved", [0])) == {("moved", 0): ErrorCode.NONE}
        eventually(lambda: is_moved(client, topic, other))

        append(client, topic, b"later")
        assert len(fetched(client, topic)) == 21
        assert not (Path(home) / "moved-0").exists()
    with RunningNode(first, settings) as node, WireClient(node.address) as client:
        assert home_of(client, topic) == other
        assert fetched(client, topic)[-1] == b"later"


def is_moved(client: WireClient, topic: Topic, path: str) -> None:
    assert home_of(client, topic) == path


def test_a_replica_that_is_on_the_move_is_in_both_directories(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    settings = {"log.dirs": f"{first},{second}"}
    with RunningNode(first, settings) as node, WireClient(node.address) as client:
        topic = create_topic(client, "moved", 1)
        for each in range(3):
            append(client, topic, b"%d" % each * 700_000)
        set_broker_config(client, "replica.alter.log.dirs.io.max.bytes.per.second", "1")
        home = home_of(client, topic)
        other = str(second if home == str(first) else first)

        move(client, (other, "moved", [0]))

        def is_copied() -> None:
            (future,) = futures(client)
            assert future[0] == other
            assert 0 < future[1] < 3

        eventually(is_copied)
        # Where it is is where it stays: that calls the move off.
        move(client, (home, "moved", [0]))
        assert futures(client) == []
        assert [each.name for each in Path(other).iterdir() if "moved" in each.name] == []


def futures(client: WireClient) -> list[tuple[str, int]]:
    """Copies under way: the directory, and how far each is behind."""
    answer = client.ask(DescribeLogDirsRequest(topics=None))
    return [
        (directory.log_dir, partition.offset_lag)
        for directory in answer.results
        for topic in directory.topics
        for partition in topic.partitions
        if partition.is_future_key
    ]


def set_broker_config(client: WireClient, name: str, value: str) -> None:
    change = AlterableConfig(name=name, config_operation=0, value=value)
    resource = AlterConfigsResource(
        resource_type=ResourceType.BROKER, resource_name="", configs=[change]
    )
    (answer,) = client.ask(IncrementalAlterConfigsRequest(resources=[resource])).responses
    assert answer.error_code == 0, answer


def test_a_directory_that_has_failed_takes_nothing(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    with (
        RunningNode(first, {"log.dirs": f"{first},{second}"}) as node,
        WireClient(node.address) as client,
    ):
        topic = create_topic(client, "moved", 2)
        failed = home_of(client, topic, 1)
        broker = node.node.broker
        (directory,) = (each for each in broker.replicas.directories if each.path == failed)
        node.call(lambda: broker.directory_failed(directory, OSError("gone")))

        storage = ErrorCode.KAFKA_STORAGE_ERROR
        assert move(client, (failed, "moved", [0])) == {("moved", 0): storage}
        home = home_of(client, topic)
        assert move(client, (home, "moved", [1, 0])) == {
            ("moved", 1): storage,
            ("moved", 0): ErrorCode.NONE,
        }
